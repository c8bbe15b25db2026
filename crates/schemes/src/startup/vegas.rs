//! The slow start of Vegas: L. S. Brakmo, L. L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet",
//! IEEE JSAC 13(8), 1995, section III.C; in the form of ns-2.35 (`tcp-vegas.cc`), which R. Wang, G. Pau, K. Yamada, M. Y.
//! Sanadidi, M. Gerla measured in "TCP Startup Performance in Large Bandwidth Delay Networks", INFOCOM 2004, section III.D.
//!
//! The window doubles every other round trip and is constant in between, so that a round trip can be measured under one
//! window. Slow start ends when more than `gamma` segments of a flight are queued at the bottleneck.

use crate::estimate::backlog::{Backlog, limits, segments};
use crate::scheme;
use crate::scheme::Fixed;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Phase, Role, Signals, Step, Why, mul_shift, slow_start,
};

/// Parts are kept in 2^-32.
const ONE_BITS: u32 = 32;
const ONE: u64 = 1 << ONE_BITS;

/// Slow start that measures every other round trip.
#[derive(Clone, Debug, Default)]
pub struct Vegas {
    parameters: Parameters,
    backlog: Backlog,
    /// Whether the window grows with the ACKs of this flight.
    growing: bool,
}

scheme! {
    impl Scheme for Vegas {
        label: "vegas",
        role: Role::Startup,
        source: "Brakmo, Peterson, IEEE JSAC 13(8), 1995, section III.C",
        summary: "doubles every other round trip until segments of a flight are queued at the bottleneck",
        needs: Signals::RTT,
    }

    pub struct Parameters {
        /// segments of a flight that may wait at the bottleneck (ns-2 and Linux: 1)
        gamma: u64 = 1 packets,
        // ns-2: "cwnd_-=(cwnd_/8)".
        /// part of the window given up when more wait (ns-2: 1/8)
        cut: Fixed<ONE> in 0.0..=0.9 = 0.125,
    }
}

impl Phase for Vegas {
    fn enter(&mut self, entry: &Entry, _: &mut Control) {
        self.growing = false;
        if entry.why == Why::Connect {
            self.backlog = Backlog::default();
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        let waiting = self.backlog.on_ack(ack, u64::from(ack.mss));
        if ack.is(Ack::RECOVERY) {
            return Step::Stay;
        }
        if control.cwnd >= control.ssthresh {
            return Step::Exit(Exit::Threshold);
        }
        if let Some(waiting) = waiting {
            // "Vegas allows exponential growth only every other RTT. In between, the congestion window stays fixed so that a
            // valid comparison of the expected and actual rates can be made."
            self.growing = !self.growing;
            if self.growing && segments(waiting, u64::from(ack.mss)) > self.parameters.gamma {
                // ns-2: "slow-down a bit to ensure the net is not so congested". The threshold falls below any window, so
                // that no slow start follows before the next timeout.
                let cut = mul_shift(control.cwnd, self.parameters.cut.0, ONE_BITS);
                control.ssthresh = 2 * u64::from(ack.mss);
                control.cwnd = (control.cwnd - cut).max(control.ssthresh).min(control.cwnd);
                return Step::Exit(Exit::Delay);
            }
        }
        if self.growing && limits(control.cwnd, ack, u64::from(ack.mss)) {
            return slow_start(ack, control);
        }
        Step::Stay
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        Step::Exit(event.trigger.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Value;
    use crate::startup::test_sender::{MSS, RTT_US, Sender};
    use firstflight_contract::Nanos;

    const BASE: Nanos = Nanos::from_micros(RTT_US);

    /// A sender whose path has an RTT of `BASE` without a queue.
    fn sender(cwnd: u64, ssthresh: u64, params: &[(&str, Value)]) -> Sender<Vegas> {
        let mut sender = Sender::<Vegas>::entered(Why::Connect, cwnd, ssthresh, params);
        sender.phase.backlog = Backlog::over(BASE);
        sender
    }

    #[test]
    fn the_window_doubles_every_other_round_trip() {
        let mut sender = sender(1, u64::MAX, &[]);
        let mut windows = vec![];
        for _ in 0..8 {
            assert_eq!(sender.flight(RTT_US), Step::Stay);
            windows.push(sender.control.cwnd / MSS);
        }
        // ns-2 at 40 Mbit/s and 100 ms: 2 at 0.2 s, 4 at 0.4 s, 8 at 0.6 s, 16 at 0.8 s.
        assert_eq!(windows, [1, 2, 2, 4, 4, 8, 8, 16]);
    }

    #[test]
    fn it_ends_at_a_flight_of_which_more_than_gamma_segments_waited_and_gives_up_the_cut() {
        // 64 segments under an RTT of 103.2 ms: 64 - 64 x 100/103.2 = 1.98, to the nearest 2. ns-2 leaves 56 = 64 - 64/8;
        // Table 3 of AS has 48 = 64 - 64/4. With gamma = 2 it goes on.
        for (gamma, cut, left) in [(1, 0.125, Some(56)), (1, 0.25, Some(48)), (2, 0.25, None)] {
            let params = [("gamma", Value::Packets(gamma)), ("cut", Value::Number(cut))];
            let mut sender = sender(64, u64::MAX, &params);
            let late = 103_200;
            assert_eq!(sender.flight(late), Step::Stay);
            let step = sender.ack(0, late);
            match left {
                Some(window) => {
                    assert_eq!(step, Step::Exit(Exit::Delay));
                    assert_eq!((sender.control.cwnd, sender.control.ssthresh), (window * MSS, 2 * MSS));
                }
                None => assert_eq!((step, sender.control.cwnd), (Step::Stay, 65 * MSS)),
            }
        }
    }

    #[test]
    fn only_a_flight_under_a_window_that_stood_is_judged() {
        let mut sender = sender(32, u64::MAX, &[]);
        // The first flight stands and meets no queue, the second doubles the window and queues, the third stands again.
        for (rtt_ms, step) in [(100, Step::Stay), (150, Step::Stay), (100, Step::Stay)] {
            assert_eq!(sender.flight(rtt_ms * 1000), step);
        }
        assert_eq!(sender.control.cwnd, 64 * MSS);
        assert_eq!(sender.ack(0, RTT_US), Step::Stay);
        assert_eq!(sender.control.cwnd, 65 * MSS);
    }

    #[test]
    fn the_threshold_ends_it() {
        let mut sender = sender(4, 6 * MSS, &[]);
        assert_eq!(sender.flight(RTT_US), Step::Stay);
        assert_eq!(sender.flight(RTT_US), Step::Exit(Exit::Threshold));
        assert_eq!(sender.control.cwnd, 6 * MSS);
    }

    #[test]
    fn a_window_of_which_more_than_two_segments_are_unused_does_not_grow() {
        let mut sender = sender(4, u64::MAX, &[]);
        assert_eq!(sender.flight(RTT_US), Step::Stay);
        assert_eq!(sender.ack(0, RTT_US), Step::Stay);
        assert!(sender.phase.growing && sender.control.cwnd == 5 * MSS);
        // ns-2: cwnd - (t_seqno - last_ack) <= 2, the latter with the segment just acknowledged.
        for (cwnd, pipe, grown) in [(10, 7, 1), (10, 6, 0)] {
            let mut control = Control { cwnd: cwnd * MSS, ..Control::default() };
            let delivered = sender.delivered;
            let ack = Ack {
                rtt: BASE,
                growth: MSS,
                pipe: pipe * MSS,
                delivered,
                mss: MSS as u32,
                ..Ack::default()
            };
            assert_eq!(sender.phase.on_ack(&ack, &mut control), Step::Stay);
            assert_eq!(control.cwnd, (cwnd + grown) * MSS);
        }
    }
}
