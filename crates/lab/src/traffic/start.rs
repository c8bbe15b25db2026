//! The start of a run, for which its threads wait.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::clock::Clock;

/// Holds threads back until all of them are ready.
#[derive(Debug, Default)]
pub(crate) struct Start {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ready: usize,
    /// The clock of the run; `Some(None)` if the run was called off.
    decided: Option<Option<Clock>>,
}

impl Start {
    /// The calling thread is ready. Waits for the start; returns the clock, or `None` if the run was called off.
    pub(crate) fn wait(&self) -> Option<Clock> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.ready += 1;
        self.changed.notify_all();
        let state = self.changed.wait_while(state, |state| state.decided.is_none());
        state.unwrap_or_else(PoisonError::into_inner).decided.flatten()
    }

    /// Waits until `threads` are ready, and starts the clock after `delay` nanoseconds.
    pub(crate) fn when_ready(&self, threads: usize, delay: u64) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.changed.wait_while(state, |state| state.ready < threads && state.decided.is_none());
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.decided.get_or_insert_with(|| Some(Clock::starting_in(delay)));
        self.changed.notify_all();
    }

    /// Calls the run off, unless it has started.
    pub(crate) fn call_off(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.decided.get_or_insert(None);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn all_threads_start_on_one_clock_or_none_does() {
        for called_off in [false, true] {
            let start = Start::default();
            let clocks: Vec<_> = thread::scope(|scope| {
                let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| start.wait())).collect();
                if called_off {
                    start.call_off();
                }
                start.when_ready(3, 1_000_000_000_000);
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
            });
            assert!(clocks.iter().all(|clock| clock.is_none() == called_off), "{clocks:?}");
            // The run starts in a quarter of an hour.
            assert!(clocks.iter().flatten().all(|clock| clock.now() == 0));
        }
    }
}
