//! The times at which an application began its writes.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use firstflight_sim::sender::app::AppConfig;

/// Beginnings of an application's writes, nanoseconds since the start of the run. Its thread notes them; the emulator's thread
/// reads them and never waits for it.
#[derive(Debug)]
pub(crate) struct Writes {
    begun: AtomicUsize,
    at: Box<[AtomicU64]>,
}

impl Writes {
    /// Writes of `app`, of which none has begun.
    pub(crate) fn of(app: &AppConfig) -> Self {
        let at = (0..=app.pauses.len()).map(|_| AtomicU64::new(0));
        Self { begun: AtomicUsize::new(0), at: at.collect() }
    }

    /// The next write begins at `now`. It is noted before the kernel has any of its bytes, so that an ACK always finds its write.
    pub(crate) fn begin(&self, now: u64) {
        let number = self.begun.load(Ordering::Relaxed);
        if let Some(at) = self.at.get(number) {
            at.store(now, Ordering::Relaxed);
            self.begun.store(number + 1, Ordering::Release);
        }
    }

    /// Beginning of the write `number`, from 0; `None` if it has not begun.
    pub(crate) fn began(&self, number: usize) -> Option<u64> {
        let begun = self.begun.load(Ordering::Acquire);
        self.at.get(number).filter(|_| number < begun).map(|at| at.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_has_a_time_once_it_has_begun() {
        let writes = Writes::of(&AppConfig { pauses: vec![5], ..AppConfig::default() });
        assert_eq!([0, 1, 2].map(|number| writes.began(number)), [None; 3]);
        // A write may begin at the start of the run.
        writes.begin(0);
        assert_eq!([0, 1, 2].map(|number| writes.began(number)), [Some(0), None, None]);
        writes.begin(7);
        writes.begin(9);
        assert_eq!([0, 1, 2].map(|number| writes.began(number)), [Some(0), Some(7), None]);
    }
}
