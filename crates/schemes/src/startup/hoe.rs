//! Slow start to an estimated bandwidth-delay product: J. C. Hoe, "Improving the Start-up Behavior of a Congestion Control
//! Scheme for TCP", SIGCOMM 1996, as R. Wang, G. Pau, K. Yamada, M. Y. Sanadidi, M. Gerla describe it in "TCP Startup
//! Performance in Large Bandwidth Delay Networks", INFOCOM 2004, section III.C ("AS" below), and as ns-2.35 has it
//! (`tcp-newreno.cc`).
//!
//! The bottleneck spreads segments that leave back to back, and their ACKs arrive at its rate. Three ACKs give the
//! rate, the first segment gives the round-trip time, and the product of the two becomes the slow-start threshold.

use crate::estimate::flights::Flights;
use crate::{choice, scheme};
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Nanos, Phase, Role, Step, Why, least_squares_slope, slow_start,
};

/// An ACK: its arrival time, and the bytes delivered up to and with it.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    at: Nanos,
    delivered: u64,
}

/// Slow start under an estimated threshold.
#[derive(Clone, Debug, Default)]
pub struct Hoe {
    parameters: Parameters,
    /// Round-trip time of the first segment; zero before its ACK.
    rtt: Nanos,
    /// The first ACKs, of a round trip or of the connection.
    points: [Point; 3],
    taken: usize,
    flights: Flights,
    /// Whether the estimation is over, with or without a result.
    done: bool,
    /// Whether the threshold is the estimate.
    in_force: bool,
}

scheme! {
    impl Scheme for Hoe {
        label: "hoe",
        role: Role::Startup,
        source: "Hoe, SIGCOMM 1996; Wang, Pau, Yamada, Sanadidi, Gerla, INFOCOM 2004, section III.C",
        summary: "slow start to the bandwidth-delay product that three closely spaced ACKs give",
    }

    pub struct Parameters {
        /// least-squares: the slope through three ACKs of one round trip (Hoe); gap: a segment over the time between
        /// the second and the third ACK of the connection (ns-2)
        estimator: Estimator = LeastSquares,
        /// set: the estimate becomes the threshold (Hoe, AS); lower: only if it is below the threshold (ns-2)
        apply: Apply = Set,
    }
}

choice! {
    /// Values of the parameter `estimator`.
    pub enum Estimator {
        /// The slope of the least-squares line through three ACKs of one round trip.
        LeastSquares = "least-squares",
        /// A segment over the time between the second and the third ACK of the connection.
        Gap = "gap",
    }
}

choice! {
    /// Values of the parameter `apply`.
    pub enum Apply {
        /// The estimate becomes the threshold.
        Set = "set",
        /// The estimate may only lower the threshold.
        Lower = "lower",
    }
}

impl Hoe {
    /// Processes an ACK; returns the bandwidth-delay product in bytes on the ACK that completes the estimate.
    fn estimate(&mut self, ack: &Ack) -> Option<u64> {
        if self.done {
            return None;
        }
        if self.rtt == Nanos::ZERO {
            if ack.rtt == Nanos::ZERO {
                // The first segment was lost or retransmitted: it has no RTT sample.
                self.done = true;
                return None;
            }
            self.rtt = ack.rtt;
        }
        if self.parameters.estimator != Estimator::Gap && ack.is(Ack::RECOVERY) {
            // During recovery the bottleneck does not space the ACKs.
            self.done = true;
            return None;
        }
        // Only ACKs of one flight are closely spaced: between two flights the path may be idle.
        if self.flights.begins(ack) && self.parameters.estimator != Estimator::Gap {
            self.taken = 0;
        }
        self.points[self.taken] = Point { at: ack.now, delivered: ack.delivered };
        self.taken += 1;
        if self.taken < 3 {
            return None;
        }
        self.taken = 0;
        let product = if self.parameters.estimator == Estimator::Gap {
            self.by_gap(ack.mss.into())
        } else {
            self.by_least_squares()
        };
        self.done = self.parameters.estimator == Estimator::Gap || product.is_some();
        product.map(|bytes| bytes.max(2 * u64::from(ack.mss)))
    }

    /// ns-2: the RTT over the gap between the second and the third ACK, in whole segments.
    fn by_gap(&self, mss: u64) -> Option<u64> {
        let gap = self.points[2].at.saturating_sub(self.points[1].at);
        (gap > Nanos::ZERO).then(|| (self.rtt.0 / gap.0).saturating_mul(mss))
    }

    /// RTT times the slope of the line of least squares through delivered bytes over time.
    fn by_least_squares(&self) -> Option<u64> {
        let [first, second, third] = self.points;
        let since_first = |point: Point| {
            (point.at.saturating_sub(first.at).0, point.delivered.saturating_sub(first.delivered))
        };
        least_squares_slope(self.rtt.0, since_first(second), since_first(third))
    }
}

impl Phase for Hoe {
    fn enter(&mut self, entry: &Entry, _: &mut Control) {
        // "the initial ssthresh": after a timeout or an idle time the threshold is what congestion left.
        self.done = entry.why != Why::Connect;
        self.in_force = false;
        self.taken = 0;
        self.flights = Flights::default();
        self.rtt = Nanos::ZERO;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if let Some(product) = self.estimate(ack)
            && (self.parameters.apply != Apply::Lower || product < control.ssthresh)
        {
            // AS: "setting the initial ssthresh to the product of delay and estimated bandwidth"
            control.ssthresh = product;
            self.in_force = true;
        }
        if self.in_force && control.cwnd >= control.ssthresh {
            return Step::Exit(Exit::Estimate);
        }
        match slow_start(ack, control) {
            Step::Exit(Exit::Threshold) if self.in_force => Step::Exit(Exit::Estimate),
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
    use crate::scheme::{Scheme as _, Value};

    const MSS: u64 = 1000;
    const RTT: Nanos = Nanos::from_millis(100);
    /// 40 Mbit/s in packets of 1000 bytes: the path of AS, Figure 3, its bandwidth-delay product 500 packets.
    const GAP: Nanos = Nanos::from_micros(200);

    fn hoe(params: &[(&str, usize)], control: &mut Control) -> Hoe {
        let mut phase = Hoe::default();
        for &(name, index) in params {
            phase.set(name, Value::Choice(index));
        }
        phase.enter(&Entry { mss: MSS as u32, ..Entry::default() }, control);
        phase
    }

    /// ACK number `n` of a slow start from one segment, `packets` at a time.
    fn ack(at: Nanos, n: u64) -> Ack {
        Ack {
            now: at,
            rtt: RTT,
            delivered: n * MSS,
            pipe: (n - 1) * MSS,
            acked: MSS,
            growth: MSS,
            mss: MSS as u32,
            ..Ack::default()
        }
    }

    /// The ACKs of the first three flights, 1, 2 and 4 segments, at the bottleneck's pace.
    fn slow_start() -> impl Iterator<Item = Ack> {
        (1..=7u64).map(|n| {
            let (flight, place) = match n {
                1 => (1, 0),
                2..4 => (2, n - 2),
                _ => (3, n - 4),
            };
            ack(Nanos(flight * RTT.0 + place * GAP.0), n)
        })
    }

    #[test]
    fn three_acks_of_one_flight_and_the_first_rtt_give_the_bandwidth_delay_product() {
        let mut control = Control { cwnd: MSS, ssthresh: 32 * MSS, ..Control::default() };
        let mut phase = hoe(&[], &mut control);
        for (n, ack) in slow_start().enumerate() {
            assert_eq!(phase.on_ack(&ack, &mut control), Step::Stay);
            // Neither the one ACK of the first flight nor the two of the second are three. The third ACK of the third is the
            // sixth: 5 MB/s x 100 ms = 500 packets, raised from 32 (AS: 32 -> 500).
            assert_eq!(control.ssthresh, if n < 5 { 32 * MSS } else { 500 * MSS }, "ACK {}", n + 1);
        }
    }

    #[test]
    fn the_line_of_least_squares_through_uneven_acks() {
        // Delivered 0, 2, 3 packets at 0, 300, 600 us. Slope by hand: sum(xy) = 600 + 1800 = 2400, sum(x) = 900, sum(y) = 5,
        // sum(x^2) = 450 000: (3 x 2400 - 900 x 5) / (3 x 450 000 - 810 000) = 2700/540 000 = 1/200 packets per us.
        let mut control = Control { cwnd: 10 * MSS, ..Control::default() };
        let mut phase = hoe(&[], &mut control);
        for (us, delivered) in [(0, 1), (300, 3), (600, 4)] {
            let at = RTT + Nanos::from_micros(us);
            let _ =
                phase.on_ack(&Ack { delivered: delivered * MSS, pipe: 9 * MSS, ..ack(at, 1) }, &mut control);
        }
        assert_eq!(control.ssthresh, 500 * MSS);
    }

    #[test]
    fn the_gap_is_between_the_second_and_the_third_ack_of_the_connection() {
        // From an initial window of 1 they are a pair: 100 ms / 0.2 ms = 500. From 2, the second ends a flight and the third
        // begins the next, 99.8 ms later: int(100/99.8) = 1, here the two segments of the smallest threshold.
        for (third, packets) in [(2 * RTT.0 + GAP.0, 500), (2 * RTT.0 + RTT.0 - GAP.0, 2)] {
            let mut control = Control { cwnd: MSS, ..Control::default() };
            let mut phase = hoe(&[("estimator", 1)], &mut control);
            for (n, at) in [(1, RTT), (2, Nanos(2 * RTT.0)), (3, Nanos(third))] {
                let _ = phase.on_ack(&ack(at, n), &mut control);
            }
            assert_eq!(control.ssthresh, packets * MSS);
        }
    }

    #[test]
    fn ns_2s_estimate_only_lowers_the_threshold() {
        for (ssthresh, packets) in [(32 * MSS, 32), (1_000_000 * MSS, 500), (u64::MAX, 500)] {
            let mut control = Control { cwnd: MSS, ssthresh, ..Control::default() };
            let mut phase = hoe(&[("estimator", 1), ("apply", 1)], &mut control);
            for ack in slow_start() {
                let _ = phase.on_ack(&ack, &mut control);
            }
            assert_eq!(control.ssthresh, packets * MSS);
        }
    }

    #[test]
    fn it_ends_at_the_estimate_at_once_if_the_window_is_above_it() {
        // An initial window of 10 into 0.48 Mbit/s, a packet every 16.7 ms: int(100/16.7 ...) = 6 packets fit.
        let mut control = Control { cwnd: 10 * MSS, ..Control::default() };
        let mut phase = hoe(&[], &mut control);
        let acks =
            [0, 1, 2].map(|n| Ack { pipe: 9 * MSS, ..ack(RTT + Nanos::from_micros(n * 16_667), n + 1) });
        assert_eq!(phase.on_ack(&acks[0], &mut control), Step::Stay);
        assert_eq!(phase.on_ack(&acks[1], &mut control), Step::Stay);
        assert_eq!(phase.on_ack(&acks[2], &mut control), Step::Exit(Exit::Estimate));
        assert!((5_999..=6_000).contains(&control.ssthresh), "{}", control.ssthresh);
        assert_eq!(control.cwnd, 12 * MSS);
    }

    #[test]
    fn a_window_at_the_estimate_ends_the_phase_and_without_an_estimate_the_threshold_does() {
        for (estimated, reason) in [(true, Exit::Estimate), (false, Exit::Threshold)] {
            let mut control = Control { cwnd: MSS, ssthresh: 500 * MSS, ..Control::default() };
            let mut phase = hoe(&[], &mut control);
            if estimated {
                for ack in slow_start() {
                    assert_eq!(phase.on_ack(&ack, &mut control), Step::Stay);
                }
            } else {
                // The first segment was sent twice.
                let _ = phase.on_ack(&Ack { rtt: Nanos::ZERO, ..ack(RTT, 1) }, &mut control);
            }
            control.cwnd = 499 * MSS;
            assert_eq!(phase.on_ack(&ack(Nanos(4 * RTT.0), 8), &mut control), Step::Exit(reason));
        }
    }

    #[test]
    fn acks_that_come_at_once_tell_nothing_and_the_next_three_are_taken() {
        let mut control = Control { cwnd: 20 * MSS, ..Control::default() };
        let mut phase = hoe(&[], &mut control);
        for n in 1..=3 {
            let _ = phase.on_ack(&Ack { pipe: 20 * MSS, ..ack(RTT, n) }, &mut control);
        }
        assert_eq!(control.ssthresh, u64::MAX);
        for n in 4..=6 {
            let _ = phase.on_ack(&ack(Nanos(RTT.0 + n * GAP.0), n), &mut control);
        }
        assert_eq!(control.ssthresh, 500 * MSS);
    }

    #[test]
    fn after_a_timeout_it_is_slow_start() {
        let mut control = Control { cwnd: MSS, ssthresh: 8 * MSS, ..Control::default() };
        let mut phase = hoe(&[], &mut control);
        phase.enter(&Entry { mss: MSS as u32, why: Why::Timeout, ..Entry::default() }, &mut control);
        let steps: Vec<Step> = slow_start().map(|ack| phase.on_ack(&ack, &mut control)).collect();
        assert_eq!(steps[6], Step::Exit(Exit::Threshold));
        assert_eq!(control.ssthresh, 8 * MSS);
    }
}
