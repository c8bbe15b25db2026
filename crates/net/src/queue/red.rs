//! Random early detection: S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
//! IEEE/ACM ToN 1(4), 1993 ("the paper" below); gentle mode: S. Floyd, "Recommendation on using the gentle_
//! variant of RED", 2000; marks: RFC 3168. Queues are counted in packets, or in bytes as in ns-2.

use super::settings::{self, Conflict, Domain, Field, Key, Needed};
use super::{Arrival, Info, Place, QueueConfig, Room, Site, Verdict};
use firstflight_random::Stream;

pub(super) const MIN: Key = Key::new(
    "min",
    Domain::Threshold,
    "`\"0.1 BDP\"`; required on a link",
    "average queue from which packets are dropped or marked",
)
.needed(Needed::WithoutBdp);
pub(super) const MAX: Key = Key::new(
    "max",
    Domain::Threshold,
    "`\"0.3 BDP\"`; required on a link",
    "average queue at which the probability is `max_p`",
)
.needed(Needed::WithoutBdp);
pub(super) const WEIGHT: Key =
    Key::new("weight", Domain::Share, "0.002", "weight of a new sample in the average");
pub(super) const MAX_P: Key = Key::new("max_p", Domain::Share, "0.1", "probability at `max`");
pub(super) const GENTLE: Key = Key::new(
    "gentle",
    Domain::Flag,
    "true",
    "beyond `max` the probability rises to 1 at twice `max`, instead of at once",
);
pub(super) const ECN: Key = Key::new(
    "ecn",
    Domain::Flag,
    "false",
    "mark packets instead of dropping them, except if there is no room",
);

/// Description.
pub const INFO: Info = Info::queue(
    "red",
    "Floyd, Jacobson, IEEE/ACM ToN 1(4), 1993; gentle: Floyd, 2000",
    "drops or marks at random as the average queue grows",
    &[
        MIN,
        MAX,
        WEIGHT,
        MAX_P,
        GENTLE,
        ECN,
        Key::new(
            "mean_packet",
            Domain::Bytes,
            "packet mode",
            "byte mode, as ns-2 has it: the queue is counted in bytes; `min`, `max` and the buffer count packets of this mean size; a packet is dropped or marked in proportion to its size",
        ),
    ],
);

/// Random early detection: the average queue is counted in packets, or in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Average queue from which packets are dropped or marked, packets.
    pub min: f64,
    /// Average queue at which the probability is `max_p`, packets.
    pub max: f64,
    /// Weight of a new sample in the average.
    pub weight: f64,
    /// Probability at `max`.
    pub max_p: f64,
    /// Beyond `max` the probability rises to 1 at twice `max`, instead of at once.
    pub gentle: bool,
    /// Packets are marked instead of dropped, except if there is no room.
    pub ecn: bool,
    /// Byte mode: mean size of a packet, bytes. Thresholds and the buffer count packets of this size. `None` is packet mode.
    pub mean_packet: Option<u32>,
}

impl Settings {
    /// Default settings on a path with a bandwidth-delay product of `bdp` packets: thresholds of 0.1 and 0.3 BDP, gentle.
    const fn for_bdp(bdp: f64) -> Self {
        Self {
            min: 0.1 * bdp,
            max: 0.3 * bdp,
            weight: 0.002,
            max_p: 0.1,
            gentle: true,
            ecn: false,
            mean_packet: None,
        }
    }
}

impl settings::Settings for Settings {
    fn usual(bdp: f64) -> Self {
        Self::for_bdp(bdp)
    }

    fn fields(&mut self) -> Vec<(&'static str, Field<'_>)> {
        let Self { min, max, weight, max_p, gentle, ecn, mean_packet } = self;
        vec![
            ("min", Field::Threshold(min)),
            ("max", Field::Threshold(max)),
            ("weight", Field::Share(weight)),
            ("max_p", Field::Share(max_p)),
            ("gentle", Field::Flag(gentle)),
            ("ecn", Field::Flag(ecn)),
            ("mean_packet", Field::Size(mean_packet)),
        ]
    }

    fn draws(&self) -> bool {
        true
    }

    fn marks(&self) -> bool {
        self.ecn
    }

    fn check(&self, _packet: u32) -> Result<(), Conflict> {
        if self.min < self.max {
            return Ok(());
        }
        let why = format!("RED's max ({} packets) is not above its min ({} packets)", self.max, self.min);
        Err(Conflict { keys: &["max", "min"], why, least: None })
    }
}

pub(super) fn configure(settings: &Settings, place: &Place) -> QueueConfig {
    QueueConfig::Red(config(settings, place))
}

/// Parameters at a place.
pub(super) fn config(settings: &Settings, place: &Place) -> RedConfig {
    let Settings { min, max, weight, max_p, gentle, ecn, mean_packet } = *settings;
    RedConfig {
        min,
        max,
        weight,
        max_p,
        gentle,
        ecn,
        wait: true,
        limit: match place.room {
            Room::Packets(n) => n,
            Room::Bytes(n) => (n / u64::from(place.packet)).clamp(1, u32::MAX.into()) as u32,
        },
        mean_bytes: mean_packet,
        typical_ns: place.rate.time_for(mean_packet.unwrap_or(place.packet).into()).0,
    }
}

pub(super) const DROPS_EARLY: bool = true;

pub(super) fn room(config: RedConfig) -> Room {
    Room::Packets(config.limit)
}

pub(super) fn build(config: RedConfig, site: &Site<'_>) -> Red {
    Red::new(config, (site.stream)("red"))
}

/// Parameters of RED. Queue lengths are packets, in byte mode packets of [`mean_bytes`](Self::mean_bytes).
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
    /// Maximum number of waiting packets; in byte mode of the mean size, where the packet that reaches the limit may exceed it.
    pub limit: u32,
    /// Byte mode (ns-2's `queue_in_bytes_` and `bytes_`): queues are counted in bytes, divided by this mean size of a packet,
    /// and a packet is dropped or marked in proportion to its size. `None` is packet mode.
    pub mean_bytes: Option<u32>,
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
    /// Bytes since the last drop or mark.
    count_bytes: u64,
    /// Whether the average was in the dropping range at the last arrival.
    dropping: bool,
}

/// Odds that an arrival is dropped or marked.
enum Odds {
    Never,
    Random(f64),
    Always,
}

impl Red {
    /// Creates an empty queue that draws from `stream`.
    pub fn new(config: RedConfig, stream: Stream) -> Self {
        Self { config, stream, average: 0.0, count: 0, count_bytes: 0, dropping: false }
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
        let waiting = self.waiting(arrival);
        // The paper's Figure 2: "if the queue is nonempty: avg = (1 - w_q) avg + w_q q; else
        // m = f(time - q_time), avg = (1 - w_q)^m avg".
        if arrival.free_at <= arrival.now {
            let idle = (arrival.now - arrival.free_at) / config.typical_ns.max(1);
            self.average *= (1.0 - config.weight).powi(idle.min(i32::MAX as u64) as i32);
        }
        self.average += config.weight * (waiting - self.average);
    }

    /// Probability that an arrival is dropped or marked before the queue is full, given all arrivals so far and their fates
    /// ([`Red::chose`]).
    pub fn chance(&mut self, arrival: &Arrival) -> f64 {
        self.sample(arrival);
        match self.odds(arrival) {
            Odds::Never => 0.0,
            Odds::Random(p) => p.min(1.0),
            Odds::Always => 1.0,
        }
    }

    /// Begins a new gap: the arrival was dropped or marked.
    pub fn chose(&mut self) {
        self.restart();
    }

    /// Odds of an arrival under the current average.
    fn odds(&mut self, arrival: &Arrival) -> Odds {
        let config = self.config;
        self.count += 1;
        self.count_bytes += u64::from(arrival.size);
        // With at most one waiting packet there is no queue to control, even if the average is still high. In byte mode ns-2 has
        // one byte in place of one packet.
        let controllable = match config.mean_bytes {
            None => arrival.waiting_packets > 1,
            Some(_) => arrival.waiting_bytes > 1,
        };
        if self.average < config.min || !controllable {
            self.dropping = false;
            return Odds::Never;
        }
        let certain = if config.gentle { 2.0 * config.max } else { config.max };
        if self.average >= certain {
            return Odds::Always;
        }
        if !self.dropping {
            self.dropping = true;
            self.count = 1;
            self.count_bytes = arrival.size.into();
            return Odds::Never;
        }
        Odds::Random(self.spaced(self.probability(), arrival.size))
    }

    /// Decision under the current average.
    pub(super) fn decide(&mut self, arrival: &Arrival) -> Verdict {
        let config = self.config;
        match self.odds(arrival) {
            Odds::Never => return self.limit(arrival, Verdict::Accept),
            Odds::Random(p) if self.stream.unit() > p => return self.limit(arrival, Verdict::Accept),
            Odds::Random(_) => self.restart(),
            Odds::Always => {
                self.restart();
                return Verdict::Drop;
            }
        }
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
    /// geometrically. In byte mode `count` is the number of whole packets of the mean size, and `p_a` is for a packet of that
    /// size: others have it in proportion to theirs.
    fn spaced(&self, p_b: f64, size: u32) -> f64 {
        let count = match self.config.mean_bytes {
            None => f64::from(self.count),
            Some(mean) => (self.count_bytes / u64::from(mean.max(1))) as f64,
        };
        let passed = count * p_b;
        let p_a = match (self.config.wait, passed) {
            (true, x) if x < 1.0 => 0.0,
            (true, x) if x < 2.0 => p_b / (2.0 - x),
            (false, x) if x < 1.0 => p_b / (1.0 - x),
            _ => return 1.0,
        };
        match self.config.mean_bytes {
            None => p_a,
            Some(mean) => p_a * f64::from(size) / f64::from(mean.max(1)),
        }
    }

    /// Length of the queue, packets.
    fn waiting(&self, arrival: &Arrival) -> f64 {
        match self.config.mean_bytes {
            None => f64::from(arrival.waiting_packets),
            Some(mean) => arrival.waiting_bytes as f64 / f64::from(mean.max(1)),
        }
    }

    /// Begins a new gap between drops or marks.
    fn restart(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
    }

    fn limit(&mut self, arrival: &Arrival, verdict: Verdict) -> Verdict {
        // Before waiting packets a free link is not free: one of them is about to leave.
        let busy = arrival.free_at > arrival.now || arrival.waiting_packets > 0;
        if self.waiting(arrival) >= f64::from(self.config.limit) && busy {
            self.restart();
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
        mean_bytes: None,
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
        let n = 100_000;
        (0..n).filter(|_| offer(&mut red, waiting) == verdict).count() as f64 / f64::from(n)
    }

    #[test]
    fn below_min_no_packet_is_dropped_and_above_twice_max_every_packet() {
        assert_eq!(share(CONFIG, 4, Verdict::Drop), 0.0);
        assert_eq!(share(CONFIG, 30, Verdict::Drop), 1.0);
        assert_eq!(share(RedConfig { gentle: false, ..CONFIG }, 15, Verdict::Drop), 1.0);
    }

    #[test]
    fn halfway_one_in_ten_packets_is_dropped() {
        // p_b = 0.1 * (10 - 5) / 10 = 0.05. The first packet after a drop has count = 1 (the paper's Figure 2): packet n is
        // dropped with 0.05 / (1 - 0.05 n), so the gap is uniform on 1 ... 19 and its mean 10.
        let share = share(CONFIG, 10, Verdict::Drop);
        assert!((share * 10.0 - 1.0).abs() < 0.03, "{share}");
    }

    #[test]
    fn the_chance_of_a_drop_rises_from_gap_to_gap() {
        let mut red = Red::new(RedConfig { gentle: false, ..CONFIG }, Stream::named(1, "red"));
        let mut chance = |waiting| {
            red.chance(&Arrival {
                now: 1000,
                free_at: 2000,
                waiting_packets: waiting,
                waiting_bytes: 0,
                size: 1000,
                ecn_capable: false,
            })
        };
        // p_b = 0.05, and p_a = 0.05 / (1 - 0.05 n) for the nth packet; the first one above the threshold is never dropped.
        assert_eq!(chance(10), 0.0);
        assert!((chance(10) - 0.05 / 0.9).abs() < 1e-12);
        assert!((chance(10) - 0.05 / 0.85).abs() < 1e-12);
        assert_eq!((chance(15), chance(4)), (1.0, 0.0));
    }

    #[test]
    fn waiting_doubles_the_mean_gap() {
        // No drop until 1/p_b = 20 packets have passed, then uniform on 20 ... 39: the mean is 29.5.
        let share = share(RedConfig { wait: true, ..CONFIG }, 10, Verdict::Drop);
        assert!((share * 29.5 - 1.0).abs() < 0.03, "{share}");
    }

    /// Packets of `size` bytes for one drop, in byte mode, with ten packets of 1000 bytes waiting.
    fn gap(mean: u32, size: u32, waiting_bytes: u64) -> f64 {
        let mut red = Red::new(RedConfig { mean_bytes: Some(mean), ..CONFIG }, Stream::named(1, "red"));
        let arrival =
            Arrival { now: 1000, free_at: 2000, waiting_packets: 1, waiting_bytes, size, ecn_capable: false };
        let n = 400_000;
        let drops = (0..n).filter(|_| red.admit(&arrival) == Verdict::Drop).count();
        f64::from(n) / drops as f64
    }

    /// Mean gap between drops, packets, if `p_b` is 0.05: packet `n` after a drop is dropped with `p_a` of the comment at
    /// [`Red::spaced`]. Sum over `n` of the probability that `n - 1` packets have passed.
    fn mean_gap(size: f64, mean: f64) -> f64 {
        let (mut passed, mut sum, mut n) = (1.0, 0.0, 0.0);
        while passed > 1e-12 {
            sum += passed;
            n += 1.0;
            let count = (n * size / mean).floor();
            passed *= 1.0 - if count >= 20.0 { 1.0 } else { 0.05 / (1.0 - 0.05 * count) * size / mean };
        }
        sum
    }

    #[test]
    fn in_byte_mode_small_packets_are_dropped_in_proportion_to_their_size() {
        // Ten mean packets wait in each case: p_b = 0.05. Packets of 40 bytes: one in 256, where packet mode has one in ten.
        for (mean, size, waiting) in [(1000, 500, 10_000), (1000, 40, 10_000), (500, 250, 5_000)] {
            let expected = mean_gap(f64::from(size), f64::from(mean));
            let gap = gap(mean, size, waiting);
            assert!((gap / expected - 1.0).abs() < 0.03, "{gap} {expected}");
        }
        assert!((mean_gap(40.0, 1000.0) - 255.7).abs() < 0.1);
    }

    #[test]
    fn in_byte_mode_thresholds_and_limit_count_packets_of_the_mean_size() {
        let offer = |mean_bytes, waiting_bytes| {
            let config =
                RedConfig { mean_bytes: Some(mean_bytes), limit: 12, gentle: false, max: 11.0, ..CONFIG };
            let mut red = Red::new(config, Stream::named(1, "red"));
            let arrival = Arrival {
                now: 1000,
                free_at: 2000,
                waiting_packets: 5,
                waiting_bytes,
                size: 1000,
                ecn_capable: false,
            };
            (red.admit(&arrival), red.average())
        };
        assert_eq!(offer(1000, 5_000), (Verdict::Accept, 5.0));
        // 5500 bytes are eleven packets of 500, which is `max`, and below the limit of twelve.
        assert_eq!(offer(500, 5_500), (Verdict::Drop, 11.0));
        assert_eq!(offer(1000, 11_000), (Verdict::Drop, 11.0));
    }

    #[test]
    fn in_byte_mode_the_buffer_holds_its_number_of_mean_packets() {
        let config = RedConfig { min: 100.0, max: 200.0, limit: 2, mean_bytes: Some(500), ..CONFIG };
        let offer = |waiting_bytes| {
            let arrival = Arrival {
                now: 1000,
                free_at: 2000,
                waiting_packets: 9,
                waiting_bytes,
                size: 40,
                ecn_capable: false,
            };
            Red::new(config, Stream::named(1, "red")).admit(&arrival)
        };
        assert_eq!([999, 1000].map(offer), [Verdict::Accept, Verdict::Drop]);
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
        assert!((share(ecn, 10, Verdict::Mark) * 10.0 - 1.0).abs() < 0.03);
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
