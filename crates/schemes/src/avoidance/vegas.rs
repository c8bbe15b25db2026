//! Vegas: L. S. Brakmo, L. L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8),
//! 1995, section III.B; in the form of ns-2.35 (`tcp-vegas.cc`).
//!
//! Once a round trip the window grows or shrinks by a segment, so that between `alpha` and `beta` segments of the
//! connection are queued at the bottleneck.

use crate::estimate::backlog::{Backlog, limits, segments};
use crate::{choice, scheme};
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Phase, Role, Signals, Step, Trigger, Why, mul_add_div,
};

/// Growth is in 2^-32 bytes.
const BYTE_BITS: u32 = 32;

/// Additive increase and decrease by delay.
#[derive(Clone, Debug, Default)]
pub struct Vegas {
    parameters: Parameters,
    backlog: Backlog,
    /// Window at the decision to grow in this round trip, bytes; zero if the window stays constant.
    growing_from: u64,
    /// Growth below one byte, 2^-32.
    fraction: u64,
    /// Remainder of the division for the last ACK, in units of 2^-32/`growing_from` bytes.
    remainder: u64,
}

scheme! {
    impl Scheme for Vegas {
        label: "vegas",
        role: Role::Avoidance,
        source: "Brakmo, Peterson, IEEE JSAC 13(8), 1995, section III.B",
        summary: "a segment more or less a round trip, so that a few segments are queued at the bottleneck",
        needs: Signals::RTT,
        watches: true,
    }

    pub struct Parameters {
        // Segments; ns-2's `v_alpha_` and `v_beta_`.
        /// queued segments below which the window grows (ns-2: 1, Linux: 2)
        alpha: u64 = 1 packets,
        /// queued segments above which the window shrinks (ns-2: 3, Linux: 4)
        beta: u64 = 3 packets,
        /// exact: a window of ACKs adds a segment; per-ack: 1/cwnd for each ACK, truncated, which adds slightly less,
        /// as in ns-2
        growth: Growth = Exact,
    }
}

choice! {
    /// Values of the parameter `growth`.
    pub enum Growth {
        /// A window of ACKs adds a segment.
        Exact = "exact",
        /// Each ACK adds its fraction of a segment, truncated.
        PerAck = "per-ack",
    }
}

impl Vegas {
    fn decide(&mut self, waiting: u64, control: &mut Control, mss: u64) {
        let waiting = segments(waiting, mss);
        self.remainder = 0;
        self.growing_from = 0;
        if waiting > self.parameters.beta {
            control.cwnd = (control.cwnd - mss.min(control.cwnd)).max(2 * mss).min(control.cwnd);
            // A window that delay has lowered does not go back to slow start.
            control.ssthresh = control.ssthresh.min(control.cwnd);
        } else if waiting < self.parameters.alpha {
            self.growing_from = control.cwnd;
        }
    }
}

impl Phase for Vegas {
    fn enter(&mut self, entry: &Entry, _: &mut Control) {
        self.growing_from = 0;
        if entry.why == Why::Connect {
            self.backlog = Backlog::default();
        }
    }

    fn on_watched(&mut self, ack: &Ack, _: u64) {
        let _ = self.backlog.on_ack(ack, u64::from(ack.mss));
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        let waiting = self.backlog.on_ack(ack, u64::from(ack.mss));
        if ack.is(Ack::RECOVERY) {
            return Step::Stay;
        }
        if let Some(waiting) = waiting {
            self.decide(waiting, control, ack.mss.into());
        }
        if self.growing_from > 0 && limits(control.cwnd, ack, u64::from(ack.mss)) {
            // 1/cwnd for each segment that the host lets count, with the window of the decision: a segment a round trip.
            let counted = ack.growth.min(self.growing_from) * u64::from(ack.mss);
            let (grown, remainder) = mul_add_div(counted, 1 << BYTE_BITS, self.remainder, self.growing_from);
            self.remainder = if self.parameters.growth == Growth::PerAck { 0 } else { remainder };
            let grown = grown + self.fraction;
            control.cwnd += grown >> BYTE_BITS;
            self.fraction = grown & ((1 << BYTE_BITS) - 1);
        }
        Step::Stay
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        // ns-2: a quarter of the window for a loss that duplicate ACKs show, the half for a timeout.
        let part = if event.trigger == Trigger::Timeout { 2 } else { 4 };
        event.reduce_to(event.base - event.base / part, control);
        self.growing_from = 0;
        Step::Stay
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::AnyPhase;
    use crate::scheme::{Scheme as _, Value};
    use firstflight_contract::Nanos;
    use firstflight_host::chain::Chain;

    const MSS: u64 = 1000;
    const BASE: Nanos = Nanos::from_millis(100);

    fn vegas(params: &[(&str, Value)]) -> Vegas {
        let mut phase = Vegas::default();
        for &(name, value) in params {
            phase.set(name, value);
        }
        phase.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut Control::default());
        phase
    }

    /// `acks` ACKs of one segment each, the `first` to begin with, with `window` segments outstanding before each.
    fn acks(first: u64, acks: u64, window: u64, rtt: Nanos) -> impl Iterator<Item = Ack> {
        (first..first + acks).map(move |n| Ack {
            rtt,
            acked: MSS,
            growth: MSS,
            delivered: n * MSS,
            in_flight: window * MSS,
            pipe: (window - 1) * MSS,
            mss: MSS as u32,
            ..Ack::default()
        })
    }

    /// The window, bytes, after flights of 20 segments under each of these RTTs.
    fn after(phase: &mut Vegas, control: &mut Control, rtts_us: &[u64]) -> Vec<u64> {
        let mut first = 1;
        let windows = rtts_us.iter().map(|&us| {
            for ack in acks(first, 20, 20, Nanos::from_micros(us)) {
                assert_eq!(phase.on_ack(&ack, control), Step::Stay);
            }
            first += 20;
            control.cwnd
        });
        windows.collect()
    }

    #[test]
    fn fewer_than_alpha_waiting_add_a_segment_a_round_trip_and_more_than_beta_take_one() {
        // Of 20 segments wait 20 (1 - 100/RTT): none at 100 ms, 1 at 105.26, 3 at 117.65, 4 at 125. Each flight is judged at
        // the first ACK of the next.
        let mut control = Control { cwnd: 20 * MSS, ssthresh: 2 * MSS, ..Control::default() };
        let rtts = [100_000, 105_263, 117_647, 125_000, 100_000, 100_000];
        let windows = after(&mut vegas(&[]), &mut control, &rtts);
        assert_eq!(windows, [20, 21, 21, 21, 20, 21].map(|packets| packets * MSS));
        // Linux's 2 and 4 grow with one waiting, too, by 20/21 of a segment, and leave four alone.
        let mut control = Control { cwnd: 20 * MSS, ssthresh: 2 * MSS, ..Control::default() };
        let linux = [("alpha", Value::Packets(2)), ("beta", Value::Packets(4))];
        let windows = after(&mut vegas(&linux), &mut control, &rtts[..5]);
        assert_eq!(windows, [20_000, 21_000, 21_952, 21_952, 21_952]);
    }

    #[test]
    fn the_growth_of_an_ack_is_truncated_or_carried() {
        // 960 x 960/20 160 = 45.714... for each of 21 ACKs, a segment together; cut in 2^-32 bytes it is a byte less, and a
        // whole window no longer.
        for (growth, left) in [(0, 22 * 960), (1, 22 * 960 - 1)] {
            let mut phase = Vegas::default();
            phase.set("growth", Value::Choice(growth));
            phase.enter(&Entry { mss: 960, ..Entry::default() }, &mut Control::default());
            let mut control = Control { cwnd: 21 * 960, ssthresh: 2 * 960, ..Control::default() };
            for n in 1..=42 {
                let ack = Ack {
                    rtt: BASE,
                    acked: 960,
                    growth: 960,
                    delivered: n * 960,
                    in_flight: 21 * 960,
                    pipe: 20 * 960,
                    mss: 960,
                    ..Ack::default()
                };
                let _ = phase.on_ack(&ack, &mut control);
            }
            assert_eq!(control.cwnd, left);
        }
    }

    #[test]
    fn a_loss_takes_a_quarter_and_a_timeout_the_half() {
        for (trigger, base, left) in [
            (Trigger::Loss, 40, 30),
            (Trigger::Mark, 40, 30),
            (Trigger::Timeout, 40, 20),
            (Trigger::Loss, 2, 2),
        ] {
            let mut control = Control { cwnd: base * MSS, ..Control::default() };
            let event = Congestion { base: base * MSS, trigger, mss: MSS as u32, ..Congestion::default() };
            assert_eq!(vegas(&[]).on_congestion(&event, &mut control), Step::Stay);
            assert_eq!((control.cwnd, control.ssthresh), (left * MSS, left * MSS), "{trigger:?}");
        }
    }

    #[test]
    fn a_window_that_delay_lowers_stays_out_of_slow_start() {
        // Out of slow start at a threshold of 20, then 25 % of each flight waits: a segment less for each, and not back to
        // the slow start that a window below the threshold would mean.
        let mut chain =
            Chain::new(AnyPhase::chain(&["slow-start", "vegas"]).expect("registered")).expect("a chain");
        chain.start(&Entry { mss: MSS as u32, ..Entry::default() }, 19 * MSS, 20 * MSS);
        let mut windows = vec![];
        for flight in 0..5 {
            for ack in acks(1 + 20 * flight, 20, 20, Nanos::from_millis(125)) {
                // The very first met no queue.
                let rtt = if windows.is_empty() && ack.delivered == MSS { BASE } else { ack.rtt };
                chain.on_ack(&Ack { rtt, ..ack });
            }
            windows.push(chain.control.cwnd / MSS);
        }
        assert_eq!(windows, [20, 19, 18, 17, 16]);
        assert!(chain.control.ssthresh <= chain.control.cwnd);
    }

    #[test]
    fn the_flight_in_which_avoidance_begins_is_judged_from_its_beginning() {
        // Slow start ends with the fifth ACK of a flight; at the first of the next the flight is judged, not one later.
        let mut chain =
            Chain::new(AnyPhase::chain(&["slow-start", "vegas"]).expect("registered")).expect("a chain");
        chain.start(&Entry { mss: MSS as u32, ..Entry::default() }, 20 * MSS, 25 * MSS);
        for ack in acks(1, 1, 20, BASE).chain(acks(2, 19, 20, Nanos::from_millis(125))) {
            chain.on_ack(&ack);
        }
        assert_eq!(chain.control.cwnd, 25 * MSS);
        for ack in acks(21, 1, 20, Nanos::from_millis(125)) {
            chain.on_ack(&ack);
        }
        assert_eq!(chain.control.cwnd, 24 * MSS);
    }
}
