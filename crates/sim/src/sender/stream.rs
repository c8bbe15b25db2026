//! Bytes that each segment of a stream carries. The sender counts segments; applications and scripts count bytes.
//!
//! A write makes full segments and a rest. A short segment that is the last and has not been sent takes
//! the beginning of the next write; once sent it stays short. So a stream is runs of full segments, each of which
//! may end in a short one.

/// The bytes written so far, cut into segments. Sequence numbers are relative: the first byte is 1.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Beginnings of runs of full segments: the first byte, the byte after every short segment that was sent, and where the size of
    /// full segments changes. A segment without data is a run of size zero.
    runs: Vec<Run>,
    /// One past the last byte.
    end: u64,
}

/// Segments of full size; only the last may be short.
#[derive(Clone, Copy, Debug)]
struct Run {
    segment: u32,
    byte: u64,
    /// Bytes of a full segment.
    mss: u64,
}

/// Most segments of one connection: the simulator numbers them in 32 bits.
const SEGMENTS: u64 = 1 << 31;

/// Runs that are kept although all of their segments are acknowledged: to forget them costs time.
const KEPT: usize = 64;

impl Stream {
    /// Nothing written yet, in segments of `mss` bytes.
    pub fn new(mss: u32) -> Self {
        Self { runs: vec![Run { segment: 0, byte: 1, mss: mss.into() }], end: 1 }
    }

    /// Appends `bytes`, after `sent` segments have been sent, all of them where the bytes are to begin a segment; returns the
    /// number of new segments. Returns `None`, and changes nothing, where they would be too many.
    pub fn write(&mut self, bytes: u64, sent: u32) -> Option<u32> {
        let (before, current) = (self.segments(), self.current());
        if u64::from(before) + bytes.div_ceil(current.mss.max(1)) > SEGMENTS {
            return None;
        }
        let short = current.mss > 0 && !(self.end - current.byte).is_multiple_of(current.mss);
        if short && sent >= before {
            self.drop_from(before);
            self.runs.push(Run { segment: before, byte: self.end, ..current });
        }
        self.end += bytes;
        Some(self.segments() - before)
    }

    /// The same, of as many of `bytes` as can be numbered.
    pub(super) fn write_at_most(&mut self, bytes: u64, sent: u32) {
        let room = (SEGMENTS - u64::from(self.segments())).saturating_mul(self.last().mss);
        self.write(bytes.min(room), sent).expect("no more than there is room for");
    }

    /// `segment` becomes two, the first of `bytes` bytes.
    pub fn split(&mut self, segment: u32, bytes: u32) {
        let (start, length) = self.bytes(segment);
        let at = self.runs.partition_point(|run| run.segment <= segment);
        let mss = self.runs[at - 1].mss;
        let first = self.runs[at - 1].segment < segment;
        let goes_on = self.runs.get(at).is_none_or(|next| next.segment > segment + 1);
        for later in &mut self.runs[at..] {
            later.segment += 1;
        }
        let rest = Run { segment: segment + 1, byte: start + u64::from(bytes), mss };
        let after = Run { segment: segment + 2, byte: start + length, mss };
        let runs = [first.then_some(Run { segment, byte: start, mss }), Some(rest), goes_on.then_some(after)];
        self.runs.splice(at..at, runs.into_iter().flatten());
    }

    /// Segments written.
    pub fn segments(&self) -> u32 {
        let current = self.current();
        current.segment + (self.end - current.byte).div_ceil(current.mss.max(1)) as u32
    }

    /// One past the last byte written.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The first byte of `segment`; of the one after the last, where it will begin.
    pub fn start(&self, segment: u32) -> u64 {
        self.planned(segment).min(self.end)
    }

    /// The first byte of `segment`, as if there were data without end.
    fn planned(&self, segment: u32) -> u64 {
        let run = self.runs[self.runs.partition_point(|run| run.segment <= segment) - 1];
        run.byte + u64::from(segment - run.segment) * run.mss
    }

    /// First byte and length of `segment`.
    pub fn bytes(&self, segment: u32) -> (u64, u64) {
        let start = self.start(segment);
        (start, self.start(segment + 1) - start)
    }

    /// Number of segments whose end, one past the last byte, is at most `byte`.
    pub fn ended_by(&self, byte: u64) -> u32 {
        if byte >= self.end {
            return self.segments();
        }
        let run = self.runs[self.runs.partition_point(|run| run.byte <= byte).max(1) - 1];
        run.segment + (byte.saturating_sub(run.byte) / run.mss.max(1)) as u32
    }

    /// The first segment that begins at or after `byte`.
    pub fn first_from(&self, byte: u64) -> u32 {
        let ended = self.ended_by(byte);
        ended + u32::from(self.start(ended) < byte)
    }

    /// Number of segments that end by `byte`; data that is not written yet counts as full segments.
    pub fn room_by(&self, byte: u64) -> u64 {
        u64::from(self.ended_by(byte)) + byte.saturating_sub(self.end) / self.current().mss.max(1)
    }

    /// Whether a short segment that has been sent, or the first part of one that was split, is the one before `segment`.
    pub(super) fn breaks_before(&self, segment: u32) -> bool {
        self.runs.binary_search_by_key(&segment, |run| run.segment).is_ok()
    }

    /// A segment without data comes before `segment`, which has not been sent, and moves it by one.
    pub(super) fn insert_empty(&mut self, segment: u32) {
        let Run { mss, .. } = self.last();
        let byte = self.planned(segment);
        self.drop_from(segment);
        self.runs.push(Run { segment, byte, mss: 0 });
        self.runs.push(Run { segment: segment + 1, byte, mss });
    }

    /// `segment`, which has not been sent, and all after it have `mss` bytes.
    pub(super) fn resize_from(&mut self, segment: u32, mss: u32) {
        let byte = self.planned(segment);
        self.drop_from(segment);
        self.runs.push(Run { segment, byte, mss: mss.into() });
    }

    /// Forgets the runs that begin at `segment` or later, which has not been sent.
    fn drop_from(&mut self, segment: u32) {
        self.runs.truncate(self.runs.partition_point(|run| run.segment < segment));
    }

    /// The stream ends with `bytes` bytes, as if they had been written at once instead of all that was written.
    pub(super) fn end_with(&mut self, bytes: u64) {
        let last = self.last();
        let room = (SEGMENTS - u64::from(last.segment)).saturating_mul(last.mss);
        self.end = bytes.saturating_add(1).min(last.byte.saturating_add(room));
    }

    /// Nobody asks for segments before `segment` any more.
    pub(super) fn forget_before(&mut self, segment: u32) {
        let of = self.runs.partition_point(|run| run.segment <= segment) - 1;
        if of > KEPT && 2 * of > self.runs.len() {
            self.runs.drain(..of);
        }
    }

    /// The run that has the last byte.
    fn current(&self) -> Run {
        self.runs[self.runs.partition_point(|run| run.byte < self.end).max(1) - 1]
    }

    /// The last run; it may begin behind the last byte.
    fn last(&self) -> Run {
        self.runs[self.runs.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(stream: &Stream) -> Vec<(u64, u64)> {
        (0..stream.segments()).map(|segment| stream.bytes(segment)).collect()
    }

    #[test]
    fn a_short_segment_grows_until_it_is_sent_and_stays_short_afterwards() {
        let mut stream = Stream::new(1000);
        assert_eq!(stream.write(1500, 0), Some(2));
        // The second segment waits with 500 bytes: 600 more fill it and begin a third.
        assert_eq!(stream.write(600, 1), Some(1));
        assert_eq!(cut(&stream), [(1, 1000), (1001, 1000), (2001, 100)]);
        // All three are out: the next write begins a new segment.
        assert_eq!(stream.write(2500, 3), Some(3));
        assert_eq!(
            cut(&stream),
            [(1, 1000), (1001, 1000), (2001, 100), (2101, 1000), (3101, 1000), (4101, 500)]
        );
    }

    #[test]
    fn bytes_inside_a_segment_count_down_for_acks_and_up_for_blocks() {
        let mut stream = Stream::new(1000);
        stream.write(2500, 0);
        stream.write(1000, 3);
        // Segments 1-1001, 1001-2001, 2001-2501, 2501-3501.
        let ended =
            [1, 1000, 1001, 2000, 2001, 2500, 2501, 3500, 3501, 9000].map(|byte| stream.ended_by(byte));
        assert_eq!(ended, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
        let first = [1, 2, 1001, 2001, 2002, 2501, 2502, 3501].map(|byte| stream.first_from(byte));
        assert_eq!(first, [0, 1, 1, 2, 3, 3, 4, 4]);
        assert_eq!((stream.room_by(3500), stream.room_by(3501), stream.room_by(5501)), (3, 4, 6));
    }

    #[test]
    fn a_segment_may_be_split_in_the_middle_and_at_the_end() {
        let mut stream = Stream::new(1000);
        stream.write(3500, 0);
        stream.split(1, 600);
        assert_eq!(cut(&stream), [(1, 1000), (1001, 600), (1601, 400), (2001, 1000), (3001, 500)]);
        stream.split(4, 200);
        stream.split(0, 1);
        let head = [(1, 1), (2, 999), (1001, 600), (1601, 400), (2001, 1000)];
        assert_eq!(cut(&stream), [&head[..], &[(3001, 200), (3201, 300)]].concat());
        // Sent segments stay as they are; the next write begins a segment.
        stream.write(1000, 7);
        assert_eq!(cut(&stream)[7..], [(3501, 1000)]);
        assert_eq!([1600, 1601, 3200, 3201].map(|byte| stream.ended_by(byte)), [2, 3, 5, 6]);
    }

    #[test]
    fn sizes_change_from_a_segment_on_and_segments_without_data_move_the_others() {
        let mut stream = Stream::new(1000);
        stream.write(5000, 0);
        stream.insert_empty(0);
        assert_eq!(cut(&stream)[..3], [(1, 0), (1, 1000), (1001, 1000)]);
        stream.resize_from(3, 600);
        // A size that is planned beyond the last byte changes nothing before there is data.
        stream.resize_from(9, 100);
        let sizes: Vec<_> = cut(&stream).into_iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(sizes, [0, 1000, 1000, 600, 600, 600, 600, 600]);
        assert_eq!((stream.segments(), stream.ended_by(5001), stream.first_from(5001)), (8, 8, 8));
        // Behind the last byte it counts for no write.
        stream.insert_empty(8);
        assert_eq!((stream.segments(), stream.first_from(5001), stream.start(8)), (8, 8, 5001));
        stream.write(100, 9);
        assert_eq!((stream.segments(), stream.bytes(9)), (10, (5001, 100)));
        stream.end_with(7000);
        assert_eq!(stream.end(), 7001);
    }

    #[test]
    fn more_segments_than_can_be_numbered_are_refused() {
        let mut stream = Stream::new(1);
        assert_eq!(stream.write(1 << 31, 0), Some(1 << 31));
        assert_eq!(stream.write(1, 0), None);
        assert_eq!(stream.end(), (1 << 31) + 1);
    }
}
