//! Progress over all networks, as one bar.

use std::sync::{Mutex, MutexGuard, PoisonError};

use firstflight_hosts::progress::Progress;

/// Steps of the bar.
const STEPS: u64 = 100;

/// Share of a network's time that each of its parts takes, in tenths: the search for its path, and the simulations.
const PARTS: [u64; 2] = [3, 7];

/// Progress of all networks. Each of them reports its parts; what reaches the observer is their share of the whole.
pub(super) struct Whole<'a> {
    inner: &'a dyn Progress,
    networks: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Networks that have ended, and those of them with an answer.
    ended: u64,
    answered: u64,
    /// Parts of the present network that have begun, and the steps of the last one.
    parts: usize,
    done: u64,
    total: u64,
    /// Steps of the bar that are reported.
    shown: u64,
}

impl<'a> Whole<'a> {
    pub(super) fn begin(inner: &'a dyn Progress, networks: usize) -> Self {
        inner.begin(&format!("{networks} networks, per cent"), STEPS);
        Self { inner, networks: networks as u64, state: Mutex::default() }
    }

    /// A network has ended, with or without an answer.
    pub(super) fn end_network(&self, answered: bool) {
        let mut state = self.state();
        state.ended += 1;
        state.answered += u64::from(answered);
        (state.parts, state.done, state.total) = (0, 0, 0);
        self.show(state);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, mut state: MutexGuard<'_, State>) {
        let before: u64 = PARTS.iter().take(state.parts.saturating_sub(1)).sum();
        let part = state.parts.checked_sub(1).and_then(|part| PARTS.get(part)).copied().unwrap_or(0);
        let within = (part * state.done).checked_div(state.total).unwrap_or(0);
        let all: u64 = PARTS.iter().sum();
        let reached = STEPS * (state.ended * all + before + within) / (self.networks * all).max(1);
        let more = reached.saturating_sub(state.shown);
        state.shown += more;
        drop(state);
        if more > 0 {
            self.inner.advance(more);
        }
    }
}

impl Progress for Whole<'_> {
    fn begin(&self, _: &str, total: u64) {
        let mut state = self.state();
        state.parts += 1;
        (state.done, state.total) = (0, total);
    }

    fn advance(&self, by: u64) {
        let mut state = self.state();
        state.done = (state.done + by).min(state.total);
        self.show(state);
    }

    fn finish(&self) {}

    /// Without an answer of any network there is none to stop with.
    fn stopped(&self) -> bool {
        self.state().answered > 0 && self.inner.stopped()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[derive(Default)]
    struct Bar(AtomicU64);

    impl Progress for Bar {
        fn begin(&self, _: &str, total: u64) {
            assert_eq!(total, STEPS);
        }
        fn advance(&self, by: u64) {
            self.0.fetch_add(by, Ordering::Relaxed);
        }
        fn finish(&self) {}
        fn stopped(&self) -> bool {
            true
        }
    }

    #[test]
    fn parts_of_networks_are_shares_of_one_bar() {
        let bar = Bar::default();
        let whole = Whole::begin(&bar, 2);
        let shown = || bar.0.load(Ordering::Relaxed);
        // half of the search: 1.5 of 20 tenths, which are 7.5 %
        whole.begin("paths", 4);
        whole.advance(2);
        assert_eq!(shown(), 5);
        whole.advance(2);
        assert_eq!(shown(), 15);
        whole.begin("simulations", 10);
        whole.advance(10);
        assert_eq!(shown(), 50);
        assert!(!whole.stopped(), "no network has an answer yet");
        whole.end_network(true);
        assert_eq!(shown(), 50);
        assert!(whole.stopped());
        // one that ends early
        whole.end_network(false);
        assert_eq!(shown(), 100);
    }
}
