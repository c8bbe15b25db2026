//! Hybrid Slow Start of its paper: S. Ha, I. Rhee, "Hybrid Slow Start for High-Bandwidth and Long-Distance Networks",
//! PFLDnet 2008, Algorithm 1.
//!
//! Slow start that stops at the first of two signs. ACK train: closely spaced ACKs of a round last half the smallest
//! RTT, so the packets in flight span the forward path. Delay: the first RTT samples of a round exceed those of the
//! round before, so a queue grows. Linux and RFC 9406 derive other algorithms from it; this file follows the paper,
//! which measures time in jiffies and compares with the round before.

use crate::scheme;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Nanos, Phase, Role, Signals, Step, slow_start,
};

/// Slow start with the ACK-train and delay signs.
#[derive(Clone, Debug, Default)]
pub struct HybridSlowStart {
    parameters: Parameters,

    /// `low_ssthresh` in bytes.
    low_window: u64,
    // The following are in jiffies, as in Algorithm 1. `None` is its infinity.
    round_start: u64,
    last_jiffies: u64,
    d_min: Option<u64>,
    last_rtt: Option<u64>,
    cur_rtt: Option<u64>,
    /// Samples left to take in this round.
    sampling: u32,
    /// Sign found; slow start ends once the window reaches `low_ssthresh`.
    found: Option<Exit>,
}

scheme! {
    impl Scheme for HybridSlowStart {
        label: "hybrid-slow-start",
        role: Role::Startup,
        source: "Ha and Rhee, Hybrid Slow Start, PFLDnet 2008, Algorithm 1",
        summary: "slow start that stops when the ACK train spans half the RTT or the RTT of a round rises",
        needs: Signals::RTT,
    }

    pub struct Parameters {
        // Algorithm 1: "low_ssthresh <- 16", segments.
        /// window below which a sign is remembered and does not end slow start (Algorithm 1)
        low_ssthresh: u64 = 16 packets,
        // Algorithm 1: "nSampling <- 8", RTT samples a round.
        /// RTT samples taken at the start of a round (Algorithm 1)
        n_sampling: u32 in 1..=1024 = 8,
        // Algorithm 1: ACKs at most "msec_to_jiffies(2)" apart belong to one train.
        /// largest gap between ACKs of one train, rounded up to jiffies (Algorithm 1)
        ack_gap: Nanos = 2 ms,
        // Algorithm 1: the RTT must rise by "max(2, lastRTT/16)", the 2 in jiffies.
        /// smallest RTT rise that counts, in jiffies (Algorithm 1)
        eta_floor: u64 in 0..=1024 = 2,
        // The 16 of the same line.
        /// fraction of the last round's RTT that a rise must reach (Algorithm 1)
        eta_divisor: u64 in 1..=1024 = 16,
        // The paper does not state its kernel's tick; at 1000 Hz a jiffy is 1 ms.
        /// tick of all times: 1 ms at HZ = 1000, 4 ms at 250, 10 ms at 100; 0 is 1 ns
        jiffy: Nanos = 1 ms,
    }
}

impl HybridSlowStart {
    /// A jiffy, nanoseconds.
    fn jiffy(&self) -> u64 {
        self.parameters.jiffy.0.max(1)
    }

    /// The jiffies counter at `now`: it has ticked for every whole jiffy.
    fn clock(&self, now: Nanos) -> u64 {
        now.0 / self.jiffy()
    }

    /// A span in jiffies, rounded up as `usecs_to_jiffies` and `msecs_to_jiffies` do.
    fn span(&self, time: Nanos) -> u64 {
        time.0.div_ceil(self.jiffy())
    }

    /// "At the start of each RTT round".
    fn start_round(&mut self, jiffies: u64) {
        // "roundStart <- lastJiffies <- Jiffies, lastRTT <- curRTT, curRTT <- infinity, samplingCnt <-
        // nSampling"
        self.round_start = jiffies;
        self.last_jiffies = jiffies;
        self.last_rtt = self.cur_rtt.take();
        self.sampling = self.parameters.n_sampling;
    }

    /// "On each ACK", while no sign was found.
    fn look(&mut self, ack: &Ack, jiffies: u64) {
        // "ACK is closely spaced, and the train length reaches to T_forward?"
        if jiffies - self.last_jiffies <= self.span(self.parameters.ack_gap) {
            self.last_jiffies = jiffies;
            // "if Jiffies - roundStart >= dMin/2 then found <- 1"; doubled, the half needs no rounding.
            if self.d_min.is_some_and(|d_min| 2 * (jiffies - self.round_start) >= d_min) {
                self.found = Some(Exit::AckTrain);
            }
        }
        // "Samples the delay": "if samplingCnt then curRTT <- min(curRTT, RTT), samplingCnt <- samplingCnt -
        // 1"
        if self.sampling == 0 || ack.rtt == Nanos::ZERO {
            return;
        }
        let cur_rtt = smaller(self.cur_rtt, self.span(ack.rtt));
        self.cur_rtt = Some(cur_rtt);
        self.sampling -= 1;
        // The first round has no earlier round to compare with.
        if let (0, Some(last_rtt)) = (self.sampling, self.last_rtt) {
            // "eta <- max(2, ceil(lastRTT/16))"; "if !samplingCnt and curRTT >= lastRTT + eta then found <-
            // 2"
            let eta = self.parameters.eta_floor.max(last_rtt.div_ceil(self.parameters.eta_divisor));
            if cur_rtt >= last_rtt + eta {
                self.found = Some(Exit::Delay);
            }
        }
    }
}

/// The smaller of two spans, of which the first may be infinite.
fn smaller(known: Option<u64>, span: u64) -> u64 {
    known.map_or(span, |known| known.min(span))
}

impl Phase for HybridSlowStart {
    fn enter(&mut self, entry: &Entry, _: &mut Control) {
        self.low_window = self.parameters.low_ssthresh.saturating_mul(entry.mss.into());
        // "Timeout: dMin <- infinity, found <- 0". Every slow start begins so.
        self.d_min = None;
        self.found = None;
        self.cur_rtt = None;
        let jiffies = self.clock(entry.now);
        self.start_round(jiffies);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if self.found.is_none() {
            let jiffies = self.clock(ack.now);
            // "dMin <- min(dMin, RTT)"
            if ack.rtt != Nanos::ZERO {
                self.d_min = Some(smaller(self.d_min, self.span(ack.rtt)));
            }
            if ack.is(Ack::ROUND_START) {
                self.start_round(jiffies);
            }
            self.look(ack, jiffies);
        }
        if let Some(sign) = self.found {
            // "if found and cwnd >= low_ssthresh then ssthresh <- cwnd"
            if control.cwnd >= self.low_window && !ack.is(Ack::RECOVERY) {
                control.ssthresh = control.cwnd;
                return Step::Exit(sign);
            }
        }
        slow_start(ack, control)
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        Step::Exit(event.trigger.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JIFFY: Nanos = Nanos::from_millis(1);
    use crate::scheme::Value;
    use crate::startup::test_sender::{self, MSS};
    use firstflight_contract::Why;

    type Sender = test_sender::Sender<HybridSlowStart>;

    fn sender(window: u64, jiffy: Nanos) -> Sender {
        Sender::new(window, &[("jiffy", Value::Time(jiffy))])
    }

    #[test]
    fn a_train_of_half_the_smallest_rtt_ends_slow_start() {
        let mut s = sender(100, JIFFY);
        assert_eq!(s.begin(0, 100_000), Step::Stay);
        // dMin is 100 ms; ACKs 1 ms apart: 49 ACKs after the first span 49 ms, the fiftieth 50 ms.
        assert_eq!(s.acks_until_exit(80, 1_000, 100_000), (50, Step::Exit(Exit::AckTrain)));
        // The window holds what was in flight then: 100 and one for each ACK before the last.
        assert_eq!((s.control.cwnd, s.control.ssthresh), (150 * MSS, 150 * MSS));
    }

    #[test]
    fn acks_more_than_2_ms_apart_are_no_train() {
        // Paper, section IV.B: delayed ACKs spread over the whole round give no train.
        let mut s = sender(100, JIFFY);
        assert_eq!(s.begin(0, 100_000), Step::Stay);
        assert_eq!(s.acks_until_exit(30, 3_000, 100_000), (30, Step::Stay));
    }

    #[test]
    fn a_gap_breaks_the_train_for_the_rest_of_the_round() {
        // lastJiffies moves with close ACKs only, so after one gap of 3 ms every later ACK is more than 2 ms
        // from it.
        let mut s = sender(100, JIFFY);
        assert_eq!(s.begin(0, 100_000), Step::Stay);
        assert_eq!(s.acks_until_exit(10, 1_000, 100_000).1, Step::Stay);
        assert_eq!(s.ack(3_000, 100_000), Step::Stay);
        assert_eq!(s.acks_until_exit(80, 1_000, 100_000).1, Step::Stay);
    }

    #[test]
    fn an_rtt_rise_of_a_sixteenth_over_the_round_before_ends_slow_start_at_the_eighth_sample() {
        // lastRTT 100 jiffies: eta = max(2, ceil(100/16)) = 7.
        for (rtt, step) in [(106_000, Step::Stay), (107_000, Step::Exit(Exit::Delay))] {
            let mut s = sender(100, JIFFY);
            assert_eq!(s.begin(0, 100_000), Step::Stay);
            assert_eq!(s.acks_until_exit(9, 100, 100_000).1, Step::Stay);
            assert_eq!(s.begin(100_000, rtt), Step::Stay);
            // Seven more make eight; later ones are not looked at.
            assert_eq!(s.acks_until_exit(6, 100, rtt).1, Step::Stay);
            assert_eq!(s.ack(100, rtt), step, "{rtt} us");
        }
    }

    #[test]
    fn the_comparison_is_with_the_round_before_not_with_the_smallest_rtt() {
        // Rises of 6 jiffies a round stay below eta = 7 however often they come.
        let mut s = sender(100, JIFFY);
        for rtt in (100_000..112_000).step_by(6_000) {
            assert_eq!(s.begin(100_000, rtt), Step::Stay);
            assert_eq!(s.acks_until_exit(9, 100, rtt).1, Step::Stay);
        }
    }

    #[test]
    fn the_floor_of_two_jiffies_depends_on_the_clock() {
        // RTT 20 ms rising to 24 ms. HZ = 1000: 20 jiffies, eta = max(2, 2) = 2, 24 >= 22: out.
        // HZ = 250: 5 jiffies, eta 2, 6 < 7: stays.
        for (jiffy, step) in [(1, Step::Exit(Exit::Delay)), (4, Step::Stay)] {
            let mut s = sender(100, Nanos::from_millis(jiffy));
            assert_eq!(s.begin(0, 20_000), Step::Stay);
            assert_eq!(s.acks_until_exit(7, 10, 20_000).1, Step::Stay);
            assert_eq!(s.begin(20_000, 24_000), Step::Stay);
            assert_eq!(s.acks_until_exit(7, 10, 24_000).1, step, "jiffy {jiffy} ms");
        }
    }

    #[test]
    fn a_sign_below_16_segments_is_kept_until_the_window_is_there() {
        let mut s = sender(10, JIFFY);
        assert_eq!(s.begin(0, 4_000), Step::Stay);
        // dMin 4 ms: found at the ACK 2 ms into the round, window 11. Five more ACKs make 16, the next
        // leaves.
        assert_eq!(s.acks_until_exit(10, 2_000, 4_000), (6, Step::Exit(Exit::AckTrain)));
        assert_eq!(s.control.ssthresh, 16 * MSS);
    }

    #[test]
    fn a_timeout_resets_the_smallest_rtt_and_the_sign() {
        let mut s = sender(10, JIFFY);
        assert_eq!(s.begin(0, 4_000), Step::Stay);
        assert_eq!(s.ack(2_000, 4_000), Step::Stay);
        assert_eq!(s.phase.found, Some(Exit::AckTrain));
        s.enter(Why::Timeout);
        assert_eq!((s.phase.found, s.phase.d_min), (None, None));
    }
}
