//! Adaptive Start (Astart): R. Wang, G. Pau, K. Yamada, M. Y. Sanadidi, M. Gerla, "TCP Startup Performance in
//! Large Bandwidth Delay Networks", INFOCOM 2004, section IV.
//!
//! Slow start whose threshold follows the eligible rate estimate upwards. The window doubles each round trip while it
//! is below the estimated bandwidth-delay product and otherwise grows by a segment a round trip, until the first loss.
//! The scheme only raises the threshold: with an infinite threshold it is plain slow start.

use crate::avoidance::reno::Reno;
use crate::estimate::eligible_rate::{EligibleRate, Filter};
use crate::scheme;
use firstflight_contract::{Ack, Congestion, Control, Entry, Nanos, Phase, Role, Step, Why, slow_start};

/// Slow start under an adaptive threshold.
#[derive(Clone, Debug, Default)]
pub struct AdaptiveStart {
    parameters: Parameters,
    eligible: EligibleRate,
    /// The linear phases are Reno's.
    linear: Reno,
}

scheme! {
    impl Scheme for AdaptiveStart {
        label: "adaptive-start",
        role: Role::Startup,
        source: "Wang, Pau, Yamada, Sanadidi, Gerla, INFOCOM 2004, section IV",
        summary: "slow start whose threshold is raised to the estimated eligible rate times the smallest RTT",
    }
    on set: configure;

    pub struct Parameters {
        /// smoothing of rate samples: tustin (section II.B), adaptive (tau as in ABSE, 2002), none
        filter: Filter = Tustin,
        /// time constant of tustin; 0 is the smoothed RTT (the paper states none)
        tau: Nanos = 0 s,
    }
}

impl AdaptiveStart {
    fn configure(&mut self) {
        let Parameters { filter, tau } = self.parameters;
        self.eligible.configure(filter, tau);
    }
}

impl Phase for AdaptiveStart {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        // "both connection startup, and after every coarse timeout": the estimate outlives the timeout.
        if entry.why == Why::Connect {
            self.eligible.start(entry.now);
        }
        self.linear.enter(entry, control);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        // "In TCPW, an eligible rate estimate is determined after every ACK reception."
        self.eligible.on_ack(ack, control.cwnd);
        if ack.is(Ack::RECOVERY) {
            return Step::Stay;
        }
        // "if (ssthresh < (ERE*RTTmin)/seg_size) ssthresh = (ERE*RTTmin)/seg_size"
        control.ssthresh = control.ssthresh.max(self.eligible.window(ack.min_rtt));
        if control.cwnd >= control.ssthresh {
            // "mini linear increase phase: increase cwnd by 1/cwnd"
            self.linear.on_ack(ack, control)
        } else {
            // "mini exponential increase phase: increase cwnd by 1". Reaching the threshold does not end it.
            let before = control.cwnd;
            let _ = slow_start(ack, control);
            let rest = ack.growth.saturating_sub(control.cwnd - before);
            if rest == 0 {
                return Step::Stay;
            }
            self.linear.on_ack(&Ack { acked: 0, rtt: Nanos::ZERO, growth: rest, ..*ack }, control)
        }
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        // "if (3 DUPACKS are received) switch to congestion avoidance phase"
        Step::Exit(event.trigger.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Value;
    use crate::startup::test_sender::{MSS, RTT_US, Sender};
    use firstflight_contract::{Exit, Trigger};

    fn sender(ssthresh: u64) -> Sender<AdaptiveStart> {
        let mut sender = Sender::entered(Why::Connect, 2, ssthresh, &[("filter", Value::Choice(2))]);
        sender.now_us = RTT_US;
        sender
    }

    #[test]
    fn the_threshold_rises_to_the_window_the_estimate_fills_and_growth_is_exponential_below_it() {
        // AS base case: ACKs 200 us apart (40 Mbit/s), RTT 100 ms, BDP 500 packets, threshold 32. The flow is
        // steady at the bottleneck's rate, so the achieved rate exceeds what the small window expects,
        // samples are single gaps, and the threshold is 5 MB/s x 100 ms = 500 packets once an RTT of ACKs has
        // been seen.
        let mut s = sender(32 * MSS);
        for _ in 0..520 {
            assert_eq!(s.ack(200, RTT_US), Step::Stay);
        }
        assert_eq!(s.control.ssthresh, 500 * MSS);
        // One segment an ACK from 2 until the threshold; then linear.
        assert!((500 * MSS..502 * MSS).contains(&s.control.cwnd), "{}", s.control.cwnd);
    }

    #[test]
    fn at_the_threshold_a_window_of_acks_adds_one_segment() {
        let mut s = sender(2 * MSS);
        s.control.cwnd = 10 * MSS;
        // An ACK every 50 ms: 20 kB/s x 100 ms = 2 packets, never above the window.
        for _ in 0..10 {
            assert_eq!(s.ack(50_000, RTT_US), Step::Stay);
        }
        assert_eq!(s.control.cwnd, 11 * MSS);
    }

    #[test]
    fn the_threshold_is_never_lowered() {
        let mut s = sender(32 * MSS);
        for _ in 0..50 {
            let _ = s.ack(50_000, RTT_US);
        }
        assert_eq!(s.control.ssthresh, 32 * MSS);
    }

    #[test]
    fn from_an_infinite_threshold_it_is_slow_start() {
        // Ha and Rhee measured: "Adaptive Start shows the same behavior with Slow Start".
        let mut s = sender(u64::MAX);
        let mut plain = s.control;
        for _ in 0..2000 {
            let _ = s.ack(200, RTT_US);
            let _ = slow_start(&Ack { growth: MSS, mss: MSS as u32, ..Ack::default() }, &mut plain);
            assert_eq!(s.control, plain);
        }
    }

    #[test]
    fn a_loss_ends_the_phase_and_a_timeout_keeps_the_estimate() {
        let mut s = sender(32 * MSS);
        for _ in 0..520 {
            let _ = s.ack(200, RTT_US);
        }
        let event =
            Congestion { trigger: Trigger::Loss, base: MSS, mss: MSS as u32, ..Congestion::default() };
        assert_eq!(s.phase.on_congestion(&event, &mut s.control), Step::Exit(Exit::Loss));
        (s.control.cwnd, s.control.ssthresh) = (MSS, 2 * MSS);
        s.enter(Why::Timeout);
        let _ = s.ack(200, RTT_US);
        assert_eq!(s.control.ssthresh, 500 * MSS);
    }
}
