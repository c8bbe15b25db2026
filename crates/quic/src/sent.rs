//! Times of sent packets: quinn names packets by the time at which they left.

use std::collections::VecDeque;

use firstflight_contract::Nanos;
use firstflight_host::rate_sampler::Stamp;

/// Data that left at one time. Positions count all bytes that the connection sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Time of sending.
    pub(crate) at: Nanos,
    /// Position of the first byte.
    pub(crate) start: u64,
    /// Position after the last byte.
    pub(crate) end: u64,
    /// State of the connection when the batch left.
    pub(crate) stamp: Stamp,
}

/// Batches that may still be acknowledged, oldest first. Times and positions ascend.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    batches: VecDeque<Batch>,
}

impl Sent {
    /// `bytes` left at `at`, from position `start`.
    pub(crate) fn add(&mut self, at: Nanos, start: u64, bytes: u64, stamp: Stamp) {
        match self.batches.back_mut() {
            Some(last) if last.at == at => last.end = start + bytes,
            _ => self.batches.push_back(Batch { at, start, end: start + bytes, stamp }),
        }
    }

    /// The batch that left at `at`; `None` if it was forgotten.
    pub(crate) fn find(&self, at: Nanos) -> Option<Batch> {
        let index = self.batches.partition_point(|batch| batch.at < at);
        self.batches.get(index).filter(|batch| batch.at == at).copied()
    }

    /// Forgets batches that left before `at`.
    pub(crate) fn forget_before(&mut self, at: Nanos) {
        let count = self.batches.partition_point(|batch| batch.at < at);
        self.batches.drain(..count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_left_at_one_time_are_one_batch() {
        let mut sent = Sent::default();
        let stamp = Stamp::default();
        sent.add(Nanos(5), 0, 1200, stamp);
        sent.add(Nanos(5), 1200, 1200, stamp);
        sent.add(Nanos(9), 2400, 600, stamp);
        assert_eq!(sent.find(Nanos(5)), Some(Batch { at: Nanos(5), start: 0, end: 2400, stamp }));
        assert_eq!(sent.find(Nanos(9)), Some(Batch { at: Nanos(9), start: 2400, end: 3000, stamp }));
        assert_eq!(sent.find(Nanos(6)), None);
        sent.forget_before(Nanos(9));
        assert_eq!(sent.find(Nanos(5)), None);
        assert!(sent.find(Nanos(9)).is_some());
    }
}
