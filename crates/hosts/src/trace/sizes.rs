//! Sizes of the segments of a connection, and the offsets of their data.

/// Data of the segments of a connection, bytes: runs of segments of one size.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sizes {
    /// First segment, the offset of its data, and the size of it and of those behind it up to the next run.
    runs: Vec<(u32, u64, u32)>,
}

impl Sizes {
    /// All segments have `full` bytes.
    pub(super) fn new(full: u32) -> Self {
        Self { runs: vec![(0, 0, full)] }
    }

    fn run_at(&self, segment: u32) -> (u32, u64, u32) {
        self.runs[self.runs.partition_point(|run| run.0 <= segment) - 1]
    }

    /// Data before `segment`.
    pub(super) fn offset(&self, segment: u32) -> u64 {
        let (first, offset, each) = self.run_at(segment);
        offset + u64::from(segment - first) * u64::from(each)
    }

    /// `segment` and those behind it have `data` bytes, until another size is noted. Segments come in the order of their numbers.
    pub(super) fn note(&mut self, segment: u32, data: u32) {
        let (first, _, each) = self.run_at(segment);
        if data == each {
            return;
        }
        let run = (segment, self.offset(segment), data);
        match self.runs.last_mut() {
            Some(last) if first == segment => *last = run,
            _ => self.runs.push(run),
        }
    }
}
