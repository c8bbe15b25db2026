//! Random early detection: S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
//! IEEE/ACM ToN 1(4), 1993 ("the paper" below); gentle mode: S. Floyd, "Recommendation on using the gentle_
//! variant of RED", 2000; marks: RFC 3168. Queues are counted in packets.

use super::{Arrival, Verdict};
use crate::random::Stream;

/// Parameters of RED. Queue lengths are packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Average queue below which nothing is dropped.
    pub min: f64,
    /// Average queue at which the drop probability reaches `max_p`.
    pub max: f64,
    /// Weight of a sample in the average, `w_q` in the paper.
    pub weight: f64,
    /// Drop probability at `max`.
    pub max_p: f64,
    /// Whether the probability rises linearly to one between `max` and twice `max` instead of jumping to one
    /// at `max`.
    pub gentle: bool,
    /// Whether ECN-capable packets are marked instead of dropped below `max`.
    pub ecn: bool,
    /// Whether a drop waits until `1/p` packets have passed (ns-2's `wait_`), which spaces drops more evenly.
    pub wait: bool,
    /// Maximum number of waiting packets.
    pub limit: u32,
    /// Time to transmit a typical packet, nanoseconds. Idle time divided by this counts as that many arrivals
    /// to an empty queue (the paper's section 4, `s`).
    pub typical_ns: u64,
}

/// A RED queue.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    stream: Stream,
    average: f64,
    /// Packets since the last drop or mark.
    count: u32,
    /// Whether the average was in the dropping range at the last arrival.
    dropping: bool,
}

impl Red {
    /// Creates an empty queue that draws from `stream`.
    pub fn new(config: RedConfig, stream: Stream) -> Self {
        Self { config, stream, average: 0.0, count: 0, dropping: false }
    }

    /// Average queue, packets.
    pub fn average(&self) -> f64 {
        self.average
    }

    pub(super) fn admit(&mut self, arrival: &Arrival) -> Verdict {
        self.sample(arrival);
        self.decide(arrival)
    }

    /// Updates the average queue on an arrival.
    pub(super) fn sample(&mut self, arrival: &Arrival) {
        let config = self.config;
        let waiting = f64::from(arrival.waiting_packets);
        // The paper's Figure 2: "if the queue is nonempty: avg = (1 - w_q) avg + w_q q; else
        // m = f(time - q_time), avg = (1 - w_q)^m avg".
        if arrival.free_at <= arrival.now {
            let idle = (arrival.now - arrival.free_at) / config.typical_ns.max(1);
            self.average *= (1.0 - config.weight).powi(idle.min(i32::MAX as u64) as i32);
        }
        self.average += config.weight * (waiting - self.average);
    }

    /// Decision under the current average.
    pub(super) fn decide(&mut self, arrival: &Arrival) -> Verdict {
        let config = self.config;
        self.count += 1;
        // With at most one waiting packet there is no queue to control, even if the average is still high.
        if self.average < config.min || arrival.waiting_packets <= 1 {
            self.dropping = false;
            return self.limit(arrival, Verdict::Accept);
        }
        let certain = if config.gentle { 2.0 * config.max } else { config.max };
        if self.average >= certain {
            self.count = 0;
            return Verdict::Drop;
        }
        if !self.dropping {
            self.dropping = true;
            self.count = 1;
            return self.limit(arrival, Verdict::Accept);
        }
        let p_b = self.probability();
        if self.stream.unit() > self.spaced(p_b) {
            return self.limit(arrival, Verdict::Accept);
        }
        self.count = 0;
        // RFC 3168 section 7: above max_th "dropping packets, rather than ... marking" them.
        if config.ecn && arrival.ecn_capable && self.average < config.max {
            return self.limit(arrival, Verdict::Mark);
        }
        Verdict::Drop
    }

    /// The paper's `p_b` and its gentle-mode continuation.
    fn probability(&self) -> f64 {
        let RedConfig { min, max, max_p, .. } = self.config;
        if self.average < max {
            // "p_b = max_p (avg - min_th) / (max_th - min_th)"
            return max_p * (self.average - min) / (max - min);
        }
        max_p + (1.0 - max_p) * (self.average - max) / max
    }

    /// The paper's `p_a = p_b / (1 - count p_b)`: gaps between drops are distributed uniformly, not
    /// geometrically.
    fn spaced(&self, p_b: f64) -> f64 {
        let passed = f64::from(self.count) * p_b;
        if self.config.wait {
            return match passed {
                x if x < 1.0 => 0.0,
                x if x < 2.0 => p_b / (2.0 - x),
                _ => 1.0,
            };
        }
        if passed < 1.0 { p_b / (1.0 - passed) } else { 1.0 }
    }

    fn limit(&mut self, arrival: &Arrival, verdict: Verdict) -> Verdict {
        // Before waiting packets a free link is not free: one of them is about to leave.
        let busy = arrival.free_at > arrival.now || arrival.waiting_packets > 0;
        if arrival.waiting_packets >= self.config.limit && busy {
            self.count = 0;
            return Verdict::Drop;
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: RedConfig = RedConfig {
        min: 5.0,
        max: 15.0,
        weight: 1.0,
        max_p: 0.1,
        gentle: true,
        ecn: false,
        wait: false,
        limit: 100,
        typical_ns: 1000,
    };

    fn offer(red: &mut Red, waiting: u32) -> Verdict {
        red.admit(&Arrival {
            now: 1000,
            free_at: 2000,
            waiting_packets: waiting,
            waiting_bytes: 0,
            size: 1000,
            ecn_capable: true,
        })
    }

    #[test]
    fn a_packet_that_comes_as_a_transmission_ends_finds_the_queue_as_it_was() {
        let config = RedConfig { limit: 2, ..CONFIG };
        let at_end = |waiting| {
            let arrival = Arrival {
                now: 1000,
                free_at: 1000,
                waiting_packets: waiting,
                waiting_bytes: 0,
                size: 1000,
                ecn_capable: true,
            };
            Red::new(config, Stream::named(1, "red")).admit(&arrival)
        };
        assert_eq!([0, 1, 2].map(at_end), [Verdict::Accept, Verdict::Accept, Verdict::Drop]);
    }

    /// Share of packets with this verdict. With `w_q = 1` the average equals the queue, so each share can be
    /// computed by hand.
    fn share(config: RedConfig, waiting: u32, verdict: Verdict) -> f64 {
        let mut red = Red::new(config, Stream::named(1, "red"));
        let n = 20_000;
        (0..n).filter(|_| offer(&mut red, waiting) == verdict).count() as f64 / f64::from(n)
    }

    #[test]
    fn below_min_no_packet_is_dropped_and_above_twice_max_every_packet() {
        assert_eq!(share(CONFIG, 4, Verdict::Drop), 0.0);
        assert_eq!(share(CONFIG, 30, Verdict::Drop), 1.0);
        assert_eq!(share(RedConfig { gentle: false, ..CONFIG }, 15, Verdict::Drop), 1.0);
    }

    #[test]
    fn halfway_one_in_ten_and_a_half_packets_is_dropped() {
        // p_b = 0.1 * (10 - 5) / 10 = 0.05. The paper, section 7: with p_a the gap between drops is uniform
        // on 1 ... 1/p_b = 20, so its mean is 10.5.
        let share = share(CONFIG, 10, Verdict::Drop);
        assert!((share * 10.5 - 1.0).abs() < 0.03, "{share}");
    }

    #[test]
    fn waiting_doubles_the_mean_gap() {
        // No drop until 1/p_b = 20 packets have passed, then uniform on 20 ... 39: the mean is 29.5.
        let share = share(RedConfig { wait: true, ..CONFIG }, 10, Verdict::Drop);
        assert!((share * 29.5 - 1.0).abs() < 0.03, "{share}");
    }

    #[test]
    fn the_gentle_slope_is_halfway_to_one_halfway_between_max_and_twice_max() {
        let mut red = Red::new(CONFIG, Stream::named(1, "red"));
        red.average = 22.5;
        // 0.1 + 0.9 * (22.5 - 15) / 15 = 0.55
        assert!((red.probability() - 0.55).abs() < 1e-12);
    }

    #[test]
    fn below_max_ecn_marks_packets_instead_of_dropping_them() {
        let ecn = RedConfig { ecn: true, ..CONFIG };
        assert_eq!(share(ecn, 10, Verdict::Drop), 0.0);
        assert!((share(ecn, 10, Verdict::Mark) * 10.5 - 1.0).abs() < 0.03);
        assert_eq!(share(ecn, 20, Verdict::Mark), 0.0);
    }

    #[test]
    fn an_idle_link_lets_the_average_decay_once_per_packet_time() {
        let mut red = Red::new(RedConfig { weight: 0.5, ..CONFIG }, Stream::named(1, "red"));
        red.average = 16.0;
        // Idle for three packet times: 16 / 2^3 = 2, then one sample of an empty queue: 1.
        let arrival = Arrival {
            now: 5000,
            free_at: 2000,
            waiting_packets: 0,
            waiting_bytes: 0,
            size: 1000,
            ecn_capable: false,
        };
        assert_eq!(red.admit(&arrival), Verdict::Accept);
        assert!((red.average() - 1.0).abs() < 1e-12);
    }
}
