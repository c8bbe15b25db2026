//! The initial threshold from several packet pairs: M. Aron, P. Druschel, "TCP: Improving Startup Dynamics by Adaptive
//! Timers and Congestion Control", Technical Report TR98-318, Rice University, 1998, as Yu and Newman describe it.
//!
//! Slow start sends packets in pairs: two for each ACK. The spacing of a pair's ACKs gives the bottleneck's rate. Once
//! enough pairs are acknowledged, the slow-start threshold is that rate times the round-trip time. A single pair is
//! often wrong.

use crate::estimate::packet_pair::{MOST, PairFinder, Pairs};
use crate::{choice, scheme};
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Phase, Role, Signals, Step, Why, slow_start,
};

/// Slow start up to a threshold from packet pairs.
#[derive(Clone, Debug, Default)]
pub struct AronDruschel {
    parameters: Parameters,
    /// Whether the threshold is still to be estimated.
    measuring: bool,
    /// Whether the threshold in force is an estimate.
    estimated: bool,
    finder: PairFinder,
    pairs: Pairs,
}

scheme! {
    impl Scheme for AronDruschel {
        label: "aron-druschel",
        role: Role::Startup,
        source: "Aron and Druschel, Rice University TR98-318; Yu and Newman, section 2",
        summary: "slow start up to the BDP that several packet pairs show",
        needs: Signals::RTT,
    }

    pub struct Parameters {
        // Neither source defines "multiple"; from a window of two this many pairs arrive within four round trips.
        /// how many packet pairs the threshold is estimated from
        pairs: u32 in 1..=MOST = 8,
        /// median: the middle of the rates; mean: the rate of the mean gap
        estimate: Estimate = Median,
    }
}

choice! {
    /// Values of the parameter `estimate`.
    pub enum Estimate {
        /// The median of the rates.
        Median = "median",
        /// The rate of the mean gap.
        Mean = "mean",
    }
}

impl AronDruschel {
    fn measure(&mut self, ack: &Ack, control: &mut Control) {
        let Some(pair) = self.finder.on_ack(ack) else { return };
        self.pairs.add(pair);
        if self.pairs.len() >= self.parameters.pairs as usize {
            let rate = if self.parameters.estimate == Estimate::Mean {
                self.pairs.mean()
            } else {
                self.pairs.median()
            };
            control.ssthresh = rate.bytes_in(ack.min_rtt).max(2 * u64::from(ack.mss));
            self.measuring = false;
            self.estimated = true;
        }
    }
}

impl Phase for AronDruschel {
    fn enter(&mut self, entry: &Entry, _: &mut Control) {
        // After a loss the threshold is that of the reduction.
        self.measuring = entry.why == Why::Connect;
        self.estimated = false;
        (self.finder, self.pairs) = Default::default();
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if self.measuring {
            self.measure(ack, control);
        }
        match slow_start(ack, control) {
            Step::Exit(Exit::Threshold) if self.estimated => Step::Exit(Exit::Estimate),
            step => step,
        }
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        Step::Exit(event.trigger.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Value;
    use crate::startup::test_sender::{MSS, Sender};

    fn sender(pairs: f64, estimate: usize) -> Sender<AronDruschel> {
        let params = [("pairs", Value::Number(pairs)), ("estimate", Value::Choice(estimate))];
        Sender::entered(Why::Connect, 10, 32 * MSS, &params)
    }

    #[test]
    fn the_threshold_is_the_rate_of_the_median_pair_times_the_round_trip() {
        // Gaps of 200 us are 40 Mbit/s, BDP 500 packets. One packet of another flow doubles a gap, two ACKs caught up.
        let mut s = sender(5.0, 0);
        for us in [0, 200, 400, 10, 200] {
            assert_eq!(s.ack_of_first_flight(us), Step::Stay);
            assert_eq!(s.control.ssthresh, 32 * MSS, "four pairs are not enough");
        }
        assert_eq!(s.ack_of_first_flight(200), Step::Stay);
        assert_eq!(s.control.ssthresh, 500 * MSS);
        // It does not move again.
        let _ = s.ack_of_first_flight(5);
        assert_eq!((s.control.ssthresh, s.control.cwnd), (500 * MSS, 17 * MSS));
    }

    #[test]
    fn the_parameter_mean_selects_the_mean_gap() {
        let mut s = sender(4.0, 1);
        for us in [0, 200, 600, 200, 600] {
            let _ = s.ack_of_first_flight(us);
        }
        // 4000 bytes in 1.6 ms: 20 Mbit/s, 250 packets in 100 ms.
        assert_eq!(s.control.ssthresh, 250 * MSS);
    }

    #[test]
    fn a_window_at_the_estimate_ends_start_up_for_that_reason_and_one_at_the_old_threshold_does_not() {
        // 8 ms: 1 Mbit/s, 12.5 packets.
        let mut s = sender(2.0, 0);
        for us in [0, 8000] {
            assert_eq!(s.ack_of_first_flight(us), Step::Stay);
        }
        assert_eq!(s.ack_of_first_flight(8000), Step::Exit(Exit::Estimate));
        assert_eq!((s.control.ssthresh, s.control.cwnd), (12_500, 13 * MSS));
        let mut s = sender(2.0, 0);
        s.control.ssthresh = 11 * MSS;
        assert_eq!(s.ack_of_first_flight(0), Step::Exit(Exit::Threshold));
    }

    #[test]
    fn after_a_timeout_the_threshold_is_that_of_the_reduction() {
        let mut s = sender(1.0, 0);
        s.enter(Why::Timeout);
        for us in [0, 200, 200] {
            let _ = s.ack_of_first_flight(us);
        }
        assert_eq!(s.control.ssthresh, 32 * MSS);
    }
}
