//! Segmentation of the writes of an application: each write ends with a short segment, unless it waits for the window and
//! the next write joins it.

use super::stream::Stream;

/// The segments of `mss` payload bytes that writes make.
#[derive(Clone, Debug)]
pub struct Segmentation {
    /// Segments of each write where all are equal, `u32::MAX` where it never ends; 1 where they are not equal, and of a stream.
    write: u32,
    /// Payload bytes of the last segment of each write where all are equal.
    last: u32,
    /// For unequal writes: segments and payload bytes up to the end of each.
    ends: Box<[(u32, u64)]>,
    /// For writes that may wait for the window when the next one comes: the bytes written so far.
    stream: Option<Box<Stream>>,
}

impl Segmentation {
    /// Of a first write of `bytes`, `None` without end, and further ones of `sizes`; each as the first where that is empty.
    pub(super) fn new(bytes: Option<u64>, sizes: &[u64], mss: u32) -> Self {
        let segments = |bytes: u64| bytes.div_ceil(mss.into()).clamp(1, (u32::MAX - 1).into()) as u32;
        let Some(bytes) = bytes else {
            return Self { write: u32::MAX, last: mss, ends: Box::default(), stream: None };
        };
        if sizes.is_empty() {
            let write = segments(bytes);
            let last = bytes.saturating_sub(u64::from(write - 1) * u64::from(mss)).min(mss.into());
            return Self { write, last: last as u32, ends: Box::default(), stream: None };
        }
        let mut upto = (0_u32, 0_u64);
        let ends = std::iter::once(&bytes).chain(sizes).map(|&bytes| {
            upto = (upto.0.saturating_add(segments(bytes)), upto.1 + bytes);
            upto
        });
        Self { write: 1, last: 0, ends: ends.collect(), stream: None }
    }

    /// Of a stream into which nothing has been written.
    pub(super) fn stream(mss: u32) -> Self {
        Self { write: 1, last: 0, ends: Box::default(), stream: Some(Box::new(Stream::new(mss))) }
    }

    /// The stream, where segments are cut as they leave.
    pub fn as_stream(&self) -> Option<&Stream> {
        self.stream.as_deref()
    }

    /// The same, to be written into.
    pub(super) fn as_stream_mut(&mut self) -> Option<&mut Stream> {
        self.stream.as_deref_mut()
    }

    /// Segments up to the end of so many writes.
    pub(super) fn end(&self, writes: usize) -> u32 {
        debug_assert!(self.stream.is_none(), "the writes of a stream have no segments of their own");
        match writes.checked_sub(1) {
            None => 0,
            Some(_) if self.ends.is_empty() => {
                u64::from(self.write).saturating_mul(writes as u64).min(u32::MAX.into()) as u32
            }
            Some(last) => self.ends[last.min(self.ends.len() - 1)].0,
        }
    }

    /// Whether `segment` is the last of a write.
    #[cold]
    pub(super) fn ends_with(&self, segment: u32) -> bool {
        if let Some(stream) = &self.stream {
            return stream.breaks_before(segment + 1);
        }
        match self.ends.is_empty() {
            true => (segment + 1).is_multiple_of(self.write),
            false => self.ends.binary_search_by_key(&(segment + 1), |end| end.0).is_ok(),
        }
    }

    /// Payload bytes of `segment`.
    #[inline(always)]
    pub(crate) fn bytes(&self, segment: u32, mss: u32) -> u32 {
        if (segment + 1).is_multiple_of(self.write) { self.bytes_at_end(segment, mss) } else { mss }
    }

    #[inline(never)]
    fn bytes_at_end(&self, segment: u32, mss: u32) -> u32 {
        if let Some(stream) = &self.stream {
            return stream.bytes(segment).1 as u32;
        }
        if self.ends.is_empty() {
            return self.last;
        }
        let upto = |segments: u32| self.bytes_in(segments, mss.into());
        (upto(segment + 1) - upto(segment)) as u32
    }

    /// Payload bytes in the first `segments` segments.
    pub(super) fn bytes_in(&self, segments: u32, mss: u64) -> u64 {
        if let Some(stream) = &self.stream {
            return stream.start(segments) - 1;
        }
        if self.write == u32::MAX {
            return u64::from(segments) * mss;
        }
        if self.ends.is_empty() {
            let (writes, rest) = (segments / self.write, segments % self.write);
            let each = u64::from(self.write - 1) * mss + u64::from(self.last);
            return u64::from(writes) * each + u64::from(rest) * mss;
        }
        let whole = self.ends.partition_point(|end| end.0 <= segments);
        let (before, bytes) = whole.checked_sub(1).map_or((0, 0), |last| self.ends[last]);
        bytes + u64::from(segments - before) * mss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(writes: &Segmentation, segments: u32) -> Vec<u32> {
        (0..segments).map(|segment| writes.bytes(segment, 1000)).collect()
    }

    #[test]
    fn the_last_segment_of_every_write_carries_what_is_left() {
        let writes = Segmentation::new(Some(2500), &[], 1000);
        assert_eq!(sizes(&writes, 6), [1000, 1000, 500, 1000, 1000, 500]);
        assert_eq!((writes.bytes_in(4, 1000), writes.end(2)), (3500, 6));
        let endless = Segmentation::new(None, &[], 1000);
        assert_eq!(
            (endless.end(1), endless.bytes_in(7, 1000), endless.bytes(6, 1000)),
            (u32::MAX, 7000, 1000)
        );
    }

    #[test]
    fn writes_may_differ() {
        let writes = Segmentation::new(Some(2500), &[40, 2000, 1001], 1000);
        assert_eq!(sizes(&writes, 8), [1000, 1000, 500, 40, 1000, 1000, 1000, 1]);
        assert_eq!((1..5).map(|count| writes.end(count)).collect::<Vec<_>>(), [3, 4, 6, 8]);
        assert_eq!(
            (0..9).map(|n| writes.bytes_in(n, 1000)).collect::<Vec<_>>(),
            [0, 1000, 2000, 2500, 2540, 3540, 4540, 5540, 5541]
        );
    }
}
