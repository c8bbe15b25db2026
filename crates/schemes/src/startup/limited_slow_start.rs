//! Limited slow-start: S. Floyd, "Limited Slow-Start for TCP with Large Congestion Windows", RFC 3742 section
//! 2.
//!
//! Slow start doubles the window every round trip, so at a window of thousands of segments it overshoots by
//! thousands. Above `max_ssthresh` this scheme adds about half of `max_ssthresh` a round trip instead.

use crate::scheme;
use firstflight_contract::{Ack, Congestion, Control, Entry, Phase, Role, Step, slow_start};

/// Slow start up to a window, linear growth above it.
#[derive(Clone, Debug, Default)]
pub struct LimitedSlowStart {
    parameters: Parameters,
    limited: Limited,
}

scheme! {
    impl Scheme for LimitedSlowStart {
        label: "limited-slow-start",
        role: Role::Startup,
        source: "RFC 3742 section 2",
        summary: "slow start that adds at most about max_ssthresh/2 a round trip once above max_ssthresh",
    }

    pub struct Parameters {
        // `max_ssthresh` in segments. RFC 3742 section 2: "max_ssthresh SHOULD be set to 100 MSS".
        /// window above which growth is limited (RFC 3742 section 2); below 2 packets counts as 2
        max_ssthresh: u64 = 100 packets,
    }
}

impl Phase for LimitedSlowStart {
    fn enter(&mut self, entry: &Entry, _: &mut Control) {
        self.limited = Limited::above(self.parameters.max_ssthresh.max(2).saturating_mul(entry.mss.into()));
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        self.limited.grow(ack, control)
    }

    fn spent(&self, grown: u64) -> u64 {
        self.limited.spent(grown)
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        Step::Exit(event.trigger.into())
    }
}

/// The growth that RFC 3742 limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limited {
    /// Half of `max_ssthresh`, bytes.
    half: u64,
    /// Growth below one byte, in units of 1/K byte: `int(MSS/K)` would lose it on every ACK.
    remainder: u64,
    /// `K` of the last ACK.
    k: u64,
}

impl Default for Limited {
    /// No limit: slow start's growth.
    fn default() -> Self {
        Self::above(u64::MAX)
    }
}

impl Limited {
    /// Growth limited above a window of `max_ssthresh` bytes, two at least.
    pub(crate) const fn above(max_ssthresh: u64) -> Self {
        Self { half: max_ssthresh / 2, remainder: 0, k: 1 }
    }

    /// Acknowledged bytes that a growth by `grown` bytes took.
    pub(crate) fn spent(&self, grown: u64) -> u64 {
        grown.saturating_mul(self.k)
    }

    #[inline]
    pub(crate) fn grow(&mut self, ack: &Ack, control: &mut Control) -> Step {
        // RFC 3742: "if (cwnd <= max_ssthresh) cwnd += MSS"
        self.k = 1;
        if control.cwnd <= self.half.saturating_mul(2) {
            return slow_start(ack, control);
        }
        // "else K = int(cwnd/(0.5 max_ssthresh)); cwnd += int(MSS/K)"
        let k = control.cwnd / self.half;
        self.k = k;
        let growth = ack.growth + self.remainder;
        self.remainder = growth % k;
        slow_start(&Ack { growth: growth / k, ..*ack }, control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Scheme as _, Value};
    use firstflight_contract::Exit;

    const MSS: u64 = 1000;

    fn phase(max_ssthresh: u64) -> LimitedSlowStart {
        let mut phase = LimitedSlowStart::default();
        phase.set("max_ssthresh", Value::Packets(max_ssthresh));
        phase.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut Control::default());
        phase
    }

    fn round(phase: &mut LimitedSlowStart, control: &mut Control) {
        for _ in 0..control.cwnd / MSS {
            assert_eq!(
                phase.on_ack(&Ack { acked: MSS, growth: MSS, mss: MSS as u32, ..Ack::default() }, control),
                Step::Stay
            );
        }
    }

    #[test]
    fn below_max_ssthresh_the_window_doubles_every_round() {
        let (mut phase, mut control) = (phase(100), Control { cwnd: 4 * MSS, ..Control::default() });
        for expected in [8, 16, 32, 64] {
            round(&mut phase, &mut control);
            assert_eq!(control.cwnd, expected * MSS);
        }
    }

    #[test]
    fn an_ack_adds_one_kth_of_a_segment_with_k_from_the_rfc() {
        // max_ssthresh 100, so K = int(cwnd/50): 101 -> 2, 149 -> 2, 150 -> 3, 1000 -> 20.
        for (window, k) in [(101, 2), (149, 2), (150, 3), (1000, 20)] {
            let (mut phase, mut control) = (phase(100), Control { cwnd: window * MSS, ..Control::default() });
            let _ = phase
                .on_ack(&Ack { acked: MSS, growth: MSS, mss: MSS as u32, ..Ack::default() }, &mut control);
            assert_eq!(control.cwnd, window * MSS + MSS / k, "window {window}");
        }
    }

    #[test]
    fn five_thousand_segments_take_no_more_than_the_105_rounds_of_the_hybrid_slow_start_paper() {
        // Ha and Rhee, section II: log2(100) + (5000-100)/(100/2) = 6.6 + 98 = 105 rounds. The RFC's K is cut
        // to an integer, so a round adds 50 to 75 segments just above 100 and hardly more than 50 at 5000.
        // The same recurrence in segments and f64, from the RFC's text:
        let (mut w, mut expected) = (1.0f64, 0);
        while w < 5000.0 {
            for _ in 0..w as u64 {
                w += if w <= 100.0 { 1.0 } else { 1.0 / (w / 50.0).floor() };
            }
            expected += 1;
        }
        let (mut phase, mut control) = (phase(100), Control { cwnd: MSS, ..Control::default() });
        let mut rounds = 0;
        while control.cwnd < 5000 * MSS {
            round(&mut phase, &mut control);
            rounds += 1;
        }
        assert_eq!(rounds, expected);
        assert!((95..=105).contains(&rounds), "{rounds}");
    }

    #[test]
    fn growth_below_one_byte_an_ack_is_carried() {
        // Window 100 000 segments: K = int(100000/50) = 2000, so an ACK of 1000 bytes adds half a byte, which
        // int(MSS/K) would lose: 1000 ACKs add 500 bytes.
        let (mut phase, mut control) = (phase(100), Control { cwnd: 100_000 * MSS, ..Control::default() });
        for _ in 0..1000 {
            let _ = phase
                .on_ack(&Ack { acked: MSS, growth: MSS, mss: MSS as u32, ..Ack::default() }, &mut control);
        }
        assert_eq!(control.cwnd, 100_000 * MSS + 500);
    }

    #[test]
    fn the_threshold_ends_it() {
        let (mut phase, mut control) =
            (phase(100), Control { cwnd: 199_600, ssthresh: 200 * MSS, ..Control::default() });
        // K = int(199.6/50) = 3: 333 bytes, then 333 more reach 200 000.
        let ack = Ack { acked: MSS, growth: MSS, mss: MSS as u32, ..Ack::default() };
        assert_eq!(phase.on_ack(&ack, &mut control), Step::Stay);
        assert_eq!(phase.on_ack(&ack, &mut control), Step::Exit(Exit::Threshold));
    }
}
