//! Whether the window limits the sender: only then may it grow (RFC 7661's premise, in Linux's way).

use firstflight_contract::Moment;

/// Recent use of the window. Amounts are segments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// The window was full at some time since `since`.
    limited: bool,
    /// Most segments out since then, while it was not.
    most_out: u32,
    /// The record holds until this segment is acknowledged.
    until: u32,
    /// Time at which the window was last found to be the limit, and the most that was out since. It begins with the window
    /// (`tcp_init_transfer` sets `snd_cwnd_stamp`).
    pub(super) limited_at: Moment,
    pub(super) used: u32,
}

impl Usage {
    /// A segment was sent, or could not be sent because the window was full.
    #[inline(always)]
    pub(super) fn record(&mut self, full: bool, una: u32, nxt: u32) {
        let out = nxt - una;
        if una >= self.until || full || (!self.limited && out > self.most_out) {
            self.limited = full;
            self.most_out = out;
            self.until = nxt;
        }
    }

    /// A segment was split.
    pub(super) fn renumber(&mut self, beyond: impl Fn(&mut u32)) {
        beyond(&mut self.until);
    }

    /// Whether a window of `cwnd` bytes limits the sender. In slow start it may grow to twice the outstanding segments, so that
    /// a sender whose application pauses between writes is not held back by one window that it did not fill.
    #[inline(always)]
    pub(super) fn limits(&self, cwnd: u64, mss: u64, in_slow_start: bool) -> bool {
        self.limited || in_slow_start && cwnd < 2 * u64::from(self.most_out) * mss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_window_counts_until_what_was_sent_under_it_is_acknowledged() {
        let mut usage = Usage::default();
        usage.record(true, 0, 10);
        usage.record(false, 4, 12);
        assert!(usage.limits(10, 1, false));
        usage.record(false, 10, 13);
        assert!(!usage.limits(10, 1, false));
    }

    #[test]
    fn slow_start_grows_to_twice_what_was_out() {
        let mut usage = Usage::default();
        usage.record(false, 0, 6);
        assert!(usage.limits(11, 1, true) && !usage.limits(12, 1, true) && !usage.limits(11, 1, false));
    }
}
