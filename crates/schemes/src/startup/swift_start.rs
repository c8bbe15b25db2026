//! Swift Start: C. Partridge, D. Rockwell, M. Allman, R. Krishnan, J. P. G. Sterbenz, "A Swifter Start for TCP", BBN
//! Technical Report 8339, March 2002; described in D. Liu's thesis, section 2.2.
//!
//! Four packets are sent as a burst. The spacing of their ACKs gives the rate of the path's slowest link. An eighth of
//! the bandwidth-delay product at that rate becomes the window, which is paced for the first round trip.

use crate::estimate::packet_pair::{PairFinder, Pairs};
use crate::scheme;
use crate::scheme::Fixed;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Phase, Role, Signals, Step, Why, mul_shift, slow_start,
};

/// Fractions are kept in 2^-16.
const ONE_BITS: u32 = 16;
const ONE: u64 = 1 << ONE_BITS;

/// Stage of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum State {
    /// The ACKs of the first flight are being timed.
    Probing,
    /// The estimated window is being paced, until this many bytes are delivered.
    Pacing { until: u64 },
    /// Standard slow start.
    #[default]
    SlowStart,
}

/// Slow start that jumps to a window that packet pairs show to be safe.
#[derive(Clone, Debug, Default)]
pub struct SwiftStart {
    parameters: Parameters,
    state: State,
    finder: PairFinder,
    pairs: Pairs,
}

scheme! {
    impl Scheme for SwiftStart {
        label: "swift-start",
        role: Role::Startup,
        source: "Partridge, Rockwell, Allman, Krishnan, Sterbenz, BBN TR-8339; Liu, thesis, section 2.2",
        summary: "after the first round trip an eighth of the BDP that packet pairs show, paced once, then slow start",
        needs: Signals::PACING.union(Signals::RTT),
    }

    pub struct Parameters {
        // "an initial cwnd of four packets per RTT", segments.
        /// size of the first burst, which replaces the flow's initial window; 0 counts as 1
        first_window: u64 = 4 packets,
        // "a fixed fraction (e.g. 1/8th) of this BDP estimate".
        /// part of the estimated bandwidth-delay product that becomes the window
        fraction: Fixed<ONE> in 0.01..=1.0 = 0.125,
    }
}

impl SwiftStart {
    fn first_flight(&self, mss: u64) -> u64 {
        // 2^40 bytes exceed the bandwidth-delay product of every path.
        self.parameters.first_window.max(1).saturating_mul(mss).min(1 << 40)
    }

    /// The first flight is acknowledged: the window becomes a fraction of the estimated BDP.
    fn settle(&mut self, ack: &Ack, control: &mut Control) {
        self.state = State::SlowStart;
        // "It then calculates the network BDP by multiplying the estimated bandwidth by the RTT measurement"
        let bdp = self.pairs.median().bytes_in(ack.min_rtt);
        let window = mul_shift(bdp, self.parameters.fraction.0, ONE_BITS).min(control.ssthresh);
        // If the window of slow start is already larger, it stays.
        if window > control.cwnd {
            control.cwnd = window;
            // "packet pacing is also used to avoid initial burst"
            control.pace(window, ack.min_rtt, u64::from(ack.mss));
            self.state = State::Pacing { until: ack.sent };
        }
    }
}

impl Phase for SwiftStart {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        control.stop_pacing();
        self.state = State::SlowStart;
        if entry.why == Why::Connect {
            (self.finder, self.pairs) = Default::default();
            control.cwnd = self.first_flight(entry.mss.into());
            self.state = State::Probing;
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        let step = slow_start(ack, control);
        match self.state {
            State::SlowStart => {}
            State::Probing => {
                if let Some(pair) = self.finder.on_ack(ack) {
                    self.pairs.add(pair);
                }
                let all = ack.delivered >= self.first_flight(ack.mss.into());
                if all && ack.growth > 0 && !ack.is(Ack::RECOVERY) && step == Step::Stay {
                    self.settle(ack, control);
                }
            }
            State::Pacing { until } => {
                // All that had left before the estimate is acknowledged: a round trip has passed.
                if ack.delivered >= until || step != Step::Stay {
                    control.stop_pacing();
                    self.state = State::SlowStart;
                }
            }
        }
        step
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        control.stop_pacing();
        self.state = State::SlowStart;
        Step::Exit(event.trigger.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Value;
    use crate::startup::test_sender::{MSS, Sender};
    use firstflight_contract::{Exit, Rate, Trigger};

    fn sender(fraction: Option<f64>) -> Sender<SwiftStart> {
        let params: Vec<_> = fraction.map(|x| ("fraction", Value::Number(x))).into_iter().collect();
        Sender::new(10, &params)
    }

    #[test]
    fn four_packets_are_the_first_flight_whatever_the_initial_window_is() {
        assert_eq!(sender(None).control.cwnd, 4 * MSS);
    }

    #[test]
    fn an_eighth_of_the_bdp_is_the_window_after_the_first_flight_and_it_is_paced_over_a_round_trip() {
        // 200 us between ACKs of 1000 bytes: 40 Mbit/s, times 100 ms 500 packets, an eighth 62.5.
        for (fraction, window) in [(None, 62_500), (Some(0.5), 250_000)] {
            let mut s = sender(fraction);
            for gap in [0, 200, 200] {
                assert_eq!(s.ack_of_first_flight(gap), Step::Stay);
                assert_eq!(s.control.pacing, Rate::NONE);
            }
            assert_eq!(s.control.cwnd, 7 * MSS, "slow start while the first flight is acknowledged");
            assert_eq!(s.ack_of_first_flight(200), Step::Stay);
            assert_eq!(s.control.cwnd, window);
            // The window in 100 ms.
            assert_eq!((s.control.pacing, s.control.burst), (Rate(window * 80), MSS));
        }
    }

    #[test]
    fn the_pacing_ends_with_the_round_trip_and_slow_start_continues() {
        let mut s = sender(None);
        for gap in [0, 200, 200, 200] {
            let _ = s.ack_of_first_flight(gap);
        }
        // When the fourth ACK came, the 3 packets delivered before and slow start's window of 7 had left. All 10 are acknowledged
        // six ACKs later.
        for _ in 0..5 {
            let _ = s.ack_of_first_flight(1000);
            assert_ne!(s.control.pacing, Rate::NONE);
        }
        let before = s.control.cwnd;
        assert_eq!(s.ack_of_first_flight(1000), Step::Stay);
        assert_eq!((s.control.pacing, s.control.cwnd), (Rate::NONE, before + MSS));
    }

    #[test]
    fn an_estimate_below_slow_starts_window_changes_nothing() {
        // 4 ms between ACKs: 2 Mbit/s, BDP 25, an eighth 3.
        let mut s = sender(None);
        for gap in [0, 4, 4, 4] {
            let _ = s.ack_of_first_flight(gap * 1000);
        }
        assert_eq!((s.control.cwnd, s.control.pacing), (8 * MSS, Rate::NONE));
    }

    #[test]
    fn the_threshold_bounds_the_estimate() {
        let mut s = sender(None);
        s.control.ssthresh = 32 * MSS;
        for gap in [0, 200, 200, 200] {
            let _ = s.ack_of_first_flight(gap);
        }
        assert_eq!(s.control.cwnd, 32 * MSS);
        assert_eq!(s.ack_of_first_flight(1000), Step::Exit(Exit::Threshold));
        assert_eq!(s.control.pacing, Rate::NONE);
    }

    #[test]
    fn a_loss_ends_pacing_and_start_up_and_after_a_timeout_it_is_slow_start() {
        let mut s = sender(None);
        for gap in [0, 200, 200, 200] {
            let _ = s.ack_of_first_flight(gap);
        }
        let loss = Congestion { trigger: Trigger::Loss, mss: MSS as u32, ..Congestion::default() };
        assert_eq!(s.phase.on_congestion(&loss, &mut s.control), Step::Exit(Exit::Loss));
        assert_eq!(s.control.pacing, Rate::NONE);
        s.control.cwnd = MSS;
        s.enter(Why::Timeout);
        assert_eq!(s.control.cwnd, MSS);
    }
}
