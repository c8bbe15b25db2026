//! XCP router: D. Katabi, M. Handley, C. Rohrs, "Congestion Control for High Bandwidth-Delay Product
//! Networks", SIGCOMM 2002, section 3.5 ("the paper"). Timers and residues follow A. Falk and others,
//! "Specification for the Explicit Control Protocol (XCP)", draft-falk-xcp-spec-03, 2007, and ns-2.35, which
//! implements it.
//!
//! Once per control interval the efficiency controller computes the change of the aggregate rate, and the
//! fairness controller divides it: increases equally between flows, decreases in proportion to their rates.
//! The router keeps no state per flow; everything it needs is in the packets.

use crate::arrival::Arrival;
use firstflight_contract::Rate;

/// Seconds. ns-2: control interval while no RTT is known.
const FIRST_INTERVAL: f64 = 0.05;
/// Seconds. The draft: minimum control interval.
const LEAST_INTERVAL: f64 = 0.001;
/// Seconds. The draft: maximum RTT that enters the mean.
const MOST_RTT: f64 = 1.0;
/// Seconds. ns-2: minimum period over which the queue is observed.
const LEAST_WATCH: f64 = 0.002;

/// Congestion header of a packet. Bytes are bytes on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Congestion {
    /// `H_rtt`: sender's RTT estimate, microseconds; zero while the sender has none.
    pub rtt: u32,
    /// `H_cwnd`: sender's window, bytes.
    pub cwnd: f32,
    /// `H_feedback`: window change for this packet, bytes. The sender requests it, routers lower it.
    pub feedback: f32,
}

/// Parameters of an XCP router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct XcpConfig {
    /// Share of the spare bandwidth allocated per interval (`alpha`).
    pub alpha: f64,
    /// Share of the standing queue reclaimed per interval (`beta`).
    pub beta: f64,
    /// Share of the traffic that is shuffled between flows when the aggregate does not change (`gamma`).
    pub gamma: f64,
}

impl Default for XcpConfig {
    /// The paper, section 3.5: stable for any delay and capacity with `0 < alpha < pi / (4 sqrt 2)` and
    /// `beta = alpha^2 sqrt 2`.
    fn default() -> Self {
        Self { alpha: 0.4, beta: 0.226, gamma: 0.1 }
    }
}

/// State of an XCP router. Rates are bytes per second, times are seconds.
#[derive(Clone, Debug)]
pub struct Xcp {
    config: XcpConfig,
    capacity: f64,
    /// End of the control interval, nanoseconds, and its length.
    ends_at: u64,
    interval: f64,
    /// Sums over the packets of the interval: bytes, `rtt s / cwnd`, and `rtt^2 s / cwnd`.
    input: f64,
    sum: f64,
    sum_rtt: f64,
    mean_rtt: f64,
    /// Increase and decrease not yet allocated in this interval, and their shares per packet.
    increase: f64,
    decrease: f64,
    per_spacing: f64,
    per_byte: f64,
    /// End of the queue observation, nanoseconds; smallest queue that an arrival found in it; result of the
    /// previous observation.
    watched_until: u64,
    least_queue: f64,
    queue: f64,
}

impl Xcp {
    /// Creates a router in front of an idle link of this rate.
    pub fn new(config: XcpConfig, rate: Rate) -> Self {
        Self {
            config,
            capacity: rate.0 as f64 / 8.0,
            ends_at: nanos(FIRST_INTERVAL),
            interval: FIRST_INTERVAL,
            input: 0.0,
            sum: 0.0,
            sum_rtt: 0.0,
            mean_rtt: FIRST_INTERVAL,
            increase: 0.0,
            decrease: 0.0,
            per_spacing: 0.0,
            per_byte: 0.0,
            watched_until: nanos(FIRST_INTERVAL),
            least_queue: 0.0,
            queue: 0.0,
        }
    }

    /// Counts an arriving packet, even if it is dropped.
    pub(super) fn watch(&mut self, arrival: &Arrival, header: Option<&Congestion>) {
        self.watch_queue(arrival.now, arrival.waiting_bytes as f64);
        if arrival.now >= self.ends_at {
            self.end_interval(arrival.now);
        }
        self.input += f64::from(arrival.size);
        if let Some(header) = header.filter(|header| header.rtt > 0) {
            let rtt = f64::from(header.rtt) * 1e-6;
            let spacing = rtt * f64::from(arrival.size) / f64::from(header.cwnd);
            self.sum += spacing;
            self.sum_rtt += spacing * rtt.min(MOST_RTT);
        }
    }

    /// The paper: Q is "the minimum queue seen by an arriving packet during the last propagation delay".
    fn watch_queue(&mut self, now: u64, waiting: f64) {
        self.least_queue = self.least_queue.min(waiting);
        if now >= self.watched_until {
            self.queue = self.least_queue;
            self.least_queue = waiting;
            let watch = (self.mean_rtt - waiting / self.capacity) / 2.0;
            self.watched_until = now + nanos(watch.max(LEAST_WATCH));
        }
    }

    /// Ends the control interval at its own time. Of several intervals without a packet, only the last has an
    /// effect.
    fn end_interval(&mut self, now: u64) {
        self.control();
        self.ends_at += nanos(self.interval);
        if now >= self.ends_at {
            self.control();
            let length = nanos(self.interval);
            self.ends_at += ((now - self.ends_at) / length + 1) * length;
        }
    }

    fn control(&mut self) {
        let XcpConfig { alpha, beta, gamma } = self.config;
        self.mean_rtt = if self.sum > 0.0 { self.sum_rtt / self.sum } else { FIRST_INTERVAL };
        (self.increase, self.decrease) = (0.0, 0.0);
        (self.per_spacing, self.per_byte) = (0.0, 0.0);
        if self.input > 0.0 {
            let rate = self.input / self.interval;
            // Equation (1), phi = alpha d S - beta Q, here over d: a change of the rate.
            let phi = alpha * (self.capacity - rate) - beta * self.queue / self.mean_rtt;
            // Equation (3): h = max(0, gamma y - |phi|).
            let shuffled = (gamma * rate - phi.abs()).max(0.0);
            self.increase = phi.max(0.0) + shuffled;
            self.decrease = (-phi).max(0.0) + shuffled;
            // Equations (6) and (9): xi_p and xi_n.
            self.per_spacing = if self.sum > 0.0 { self.increase / self.sum } else { 0.0 };
            self.per_byte = self.decrease / self.input;
        }
        (self.input, self.sum, self.sum_rtt) = (0.0, 0.0, 0.0);
        self.interval = self.mean_rtt.max(LEAST_INTERVAL);
    }

    /// Lowers the feedback of an accepted packet to its share.
    pub(super) fn answer(&mut self, size: u32, header: &mut Congestion) {
        if header.rtt == 0 {
            header.feedback = 0.0;
            return;
        }
        let rtt = f64::from(header.rtt) * 1e-6;
        let size = f64::from(size);
        // Equations (4) and (7): p_i = xi_p rtt_i^2 s_i / cwnd_i and n_i = xi_n rtt_i s_i, here over rtt_i, as rates.
        let mut more = (self.per_spacing * rtt * size / f64::from(header.cwnd)).min(self.increase);
        let mut less = (self.per_byte * size).min(self.decrease);
        let demanded = f64::from(header.feedback) / rtt;
        if demanded >= more - less {
            // Equation (10): H_feedback_i = p_i - n_i.
            header.feedback = ((more - less) * rtt) as f32;
        } else {
            // The sender or an upstream router requests less than this router allows: the unused part is left
            // for later packets.
            less = (less + (more - less - demanded)).min(self.decrease);
            more = demanded + less;
        }
        self.increase = (self.increase - more).max(0.0);
        self.decrease = (self.decrease - less).max(0.0);
        if self.increase == 0.0 {
            self.per_spacing = 0.0;
        }
        if self.decrease == 0.0 {
            self.per_byte = 0.0;
        }
    }
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Router of 8 Mbit/s, a million bytes per second.
    fn router() -> Xcp {
        Xcp::new(XcpConfig::default(), Rate(8_000_000))
    }

    fn arrival(now: u64, waiting_bytes: u64) -> Arrival {
        Arrival { now, free_at: 0, waiting_packets: 0, waiting_bytes, size: 1000, ecn_capable: false }
    }

    fn header(rtt_ms: u32, cwnd: f32) -> Congestion {
        Congestion { rtt: rtt_ms * 1000, cwnd, feedback: f32::INFINITY }
    }

    /// Feedback to a packet of 1000 bytes at this time.
    fn feedback(router: &mut Xcp, ms: u64, waiting: u64, mut header: Congestion) -> f32 {
        router.watch(&arrival(ms * MS, waiting), Some(&header));
        router.answer(1000, &mut header);
        header.feedback
    }

    #[test]
    fn the_spare_bandwidth_is_divided_between_the_packets_of_an_interval() {
        let mut router = router();
        // Ten packets of two flows with RTTs of 100 ms and windows of 5000 bytes: 10 000 bytes in the first
        // 50 ms, before any feedback.
        for i in 0..10 {
            assert_eq!(feedback(&mut router, i, 0, header(100, 5000.0)), 0.0);
        }
        // y = 200 000 bytes/s, S = 800 000, phi = 0.4 * 800 000 = 320 000 bytes/s; h = max(0, 20 000 - 320 000) = 0.
        // Each packet stands for 100 ms * 1000 / 5000 = 20 ms, ten of them for 200 ms. xi_p = 320 000 / 0.2,
        // so each packet gets 1.6e6 * 20 ms = 32 000 bytes/s, which over 100 ms is 3200 bytes of window.
        assert_eq!(feedback(&mut router, 50, 0, header(100, 5000.0)), 3200.0);
        // Feedback per packet is inverse to the window and grows with the square of the RTT:
        // 3200 * (5000 / 10 000) * (200 / 100)^2 = 6400.
        assert_eq!(feedback(&mut router, 51, 0, header(200, 10_000.0)), 6400.0);
    }

    #[test]
    fn the_feedback_never_exceeds_the_spare_bandwidth() {
        let mut router = router();
        feedback(&mut router, 0, 0, header(100, 1000.0));
        // y = 20 000 bytes/s; phi = 0.4 * 980 000 = 392 000 bytes/s, all for one packet: 39 200 bytes of
        // window.
        assert_eq!(feedback(&mut router, 50, 0, header(100, 1000.0)), 39_200.0);
        assert_eq!(feedback(&mut router, 51, 0, header(100, 1000.0)), 0.0);
    }

    #[test]
    fn a_standing_queue_is_drained_in_proportion_to_the_rates_of_flows() {
        let mut router = router();
        // 50 packets in the first 50 ms: y = C; in the second half the queue never falls below 20 000 bytes.
        for i in 0..50 {
            feedback(&mut router, i, 20_000, header(100, 50_000.0));
        }
        // The first interval began with an empty queue. From 50 to 150 ms, y = C again.
        for i in 50..150 {
            feedback(&mut router, i, 20_000, header(100, 50_000.0));
        }
        // phi = -0.226 * 20 000 / 0.1 = -45 200 bytes/s; h = 100 000 - 45 200 = 54 800. The increase is 54
        // 800 and the decrease 100 000 over 100 packets: 0.1 s * (548 - 1000) = -45.2 bytes of window for
        // each.
        let feedback = feedback(&mut router, 150, 20_000, header(100, 50_000.0));
        assert!((feedback + 45.2).abs() < 1e-3, "{feedback}");
    }

    #[test]
    fn at_full_utilisation_the_faster_flow_yields_to_the_slower_one() {
        let mut router = router();
        let (rich, poor) = (header(100, 75_000.0), header(100, 25_000.0));
        // Three of four packets belong to the faster flow.
        let mut last = [0.0; 2];
        for i in 0..150 {
            let is_poor = i % 4 == 3;
            last[usize::from(is_poor)] = feedback(&mut router, i, 0, if is_poor { poor } else { rich });
        }
        // y = C in the second interval: phi = 0, h = 100 000 bytes/s. A packet of the fast flow stands for
        // 100/75 ms, a packet of the slow flow for 4 ms; 75 and 25 packets for 200 ms. Increase: 0.1 * 100
        // 000 * 4/200 = 200 bytes for a slow packet, 66.7 for a fast one; decrease: 0.1 * 100 000 / 100 = 100
        // for each.
        let poor_gets = feedback(&mut router, 151, 0, poor);
        let rich_gets = feedback(&mut router, 152, 0, rich);
        assert!((poor_gets - 100.0).abs() < 1.0 && (rich_gets + 33.3).abs() < 1.0, "{poor_gets} {rich_gets}");
    }

    #[test]
    fn bandwidth_that_a_sender_does_not_request_goes_to_others() {
        let mut router = router();
        for i in 0..10 {
            feedback(&mut router, i, 0, header(100, 5000.0));
        }
        let modest = Congestion { feedback: 200.0, ..header(100, 5000.0) };
        assert_eq!(feedback(&mut router, 50, 0, modest), 200.0);
        // The modest sender used 2000 of 320 000 bytes/s; packets that request all of it get the remaining
        // 318 000.
        let left: f32 = (51..61).map(|ms| feedback(&mut router, ms, 0, header(100, 5000.0))).sum();
        assert!((left - 31_800.0).abs() < 1.0, "{left}");
    }

    #[test]
    fn a_sender_without_an_rtt_gets_no_feedback_and_counts_as_traffic() {
        let mut router = router();
        for i in 0..10 {
            assert_eq!(feedback(&mut router, i, 0, header(0, 5000.0)), 0.0);
        }
        feedback(&mut router, 40, 0, header(100, 1000.0));
        // y = 11 000 / 0.05 = 220 000 bytes/s: 0.4 * 780 000 = 312 000 for the only packet that can use it.
        assert_eq!(feedback(&mut router, 50, 0, header(100, 1000.0)), 31_200.0);
    }

    #[test]
    fn no_feedback_is_allocated_after_a_long_silence() {
        let mut router = router();
        for i in 0..10 {
            feedback(&mut router, i, 0, header(100, 5000.0));
        }
        assert_eq!(feedback(&mut router, 60_000, 0, header(100, 5000.0)), 0.0);
    }
}
