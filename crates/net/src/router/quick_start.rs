//! Quick-Start router: RFC 4782. The algorithm and its constants are those of ns-2.35 (its third, "Target
//! Algorithm" of the RFC's section 3.3.2). It subtracts two amounts from the capacity: the peak use of the
//! link in the last second, and the rates granted in the last two tenths of a second, which that use may not
//! show yet.

use crate::arrival::Arrival;
use firstflight_contract::Rate;

/// Bit/s. RFC 4782 section 3.1: a request of N is for a rate of 40 kbit/s times 2^N.
const UNIT: u64 = 40_000;
/// Largest N.
const MOST: u8 = 15;
/// Nanoseconds. ns-2's `util_check_intv_`: the averaging span of link use.
const SPAN: u64 = 200_000_000;
/// ns-2's `util_records_`: number of spans over which the peak is taken.
const SPANS: usize = 5;

/// A rate request in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// N of the rate request; zero requests no rate or marks a refusal.
    pub n: u8,
    /// Number of routers that processed the request: the decrease of the Quick-Start TTL. The TTL difference
    /// is unchanged only if this is every router on the path (section 3.4).
    pub hops: u8,
}

impl Request {
    /// Request for `rate`, rounded down to the nearest rate that can be encoded.
    pub fn of(rate: Rate) -> Self {
        let units = rate.0 / UNIT;
        let n = if units < 2 { 0 } else { units.ilog2().min(MOST.into()) as u8 };
        Self { n, hops: 0 }
    }

    /// Requested rate.
    pub fn rate(self) -> Rate {
        if self.n == 0 { Rate::NONE } else { Rate(UNIT << self.n) }
    }
}

/// Parameters of a Quick-Start router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuickStartConfig {
    /// Share of the link in use below which rates are granted (ns-2: `threshold_`).
    pub threshold: f64,
    /// Share of the link up to which rates are granted (ns-2: `alloc_rate_`).
    pub share: f64,
    /// Nanoseconds. A grant counts for this long, and for the rest of the span in which that ends (ns-2:
    /// `state_delay_`).
    pub memory: u64,
}

impl Default for QuickStartConfig {
    fn default() -> Self {
        Self { threshold: 0.85, share: 0.85, memory: 200_000_000 }
    }
}

/// State of a Quick-Start router.
#[derive(Clone, Debug)]
pub struct QuickStart {
    /// Rate of the link, bit/s.
    capacity: f64,
    config: QuickStartConfig,
    /// Number of the current span, and the idle time in it so far, nanoseconds.
    span: u64,
    idle: u64,
    /// Idle times of the previous spans, nanoseconds, newest last.
    before: [u64; SPANS],
    /// Number of the current memory span, and the rates granted in it and in the previous one, bit/s.
    memory: u64,
    granted: u64,
    granted_before: u64,
}

impl QuickStart {
    /// Creates a router in front of an idle link of this rate.
    pub fn new(config: QuickStartConfig, rate: Rate) -> Self {
        Self {
            capacity: rate.0 as f64,
            config,
            span: 0,
            idle: 0,
            before: [SPAN; SPANS],
            memory: 0,
            granted: 0,
            granted_before: 0,
        }
    }

    /// Counts the idle time of the link before this arrival.
    pub(super) fn watch(&mut self, arrival: &Arrival) {
        let current = arrival.now / SPAN;
        if current - self.span > SPANS as u64 {
            // Spans before the last ones are forgotten: a silence of years costs no more than one of seconds.
            (self.span, self.idle) = (current - SPANS as u64, 0);
        }
        let mut from = arrival.free_at.max(self.span * SPAN);
        while self.span < current {
            let end = (self.span + 1) * SPAN;
            self.idle += end.saturating_sub(from);
            from = from.max(end);
            self.before.rotate_left(1);
            self.before[SPANS - 1] = std::mem::take(&mut self.idle);
            self.span += 1;
        }
        self.idle += arrival.now.saturating_sub(from);
    }

    /// Largest share of the link in use over one of the recent spans.
    fn peak(&self) -> f64 {
        let idle = self.before.iter().min().copied().unwrap_or(SPAN);
        (SPAN - idle) as f64 / SPAN as f64
    }

    /// Lowers a request to the rate that can be granted, or refuses it.
    pub(super) fn answer(&mut self, now: u64, request: &mut Request) {
        if request.n == 0 {
            return;
        }
        self.forget(now);
        let used = self.capacity * self.peak() + (self.granted + self.granted_before) as f64;
        let mut approved = Request::default();
        if used < self.config.threshold * self.capacity {
            let left = self.config.share * self.capacity - used;
            approved = Request::of(request.rate().min(Rate(left.max(0.0) as u64)));
        }
        self.granted += approved.rate().0;
        *request = Request { n: approved.n, hops: request.hops.saturating_add(1) };
    }

    fn forget(&mut self, now: u64) {
        let memory = now / self.config.memory;
        self.granted_before = match memory - self.memory {
            0 => return,
            1 => self.granted,
            _ => 0,
        };
        self.granted = 0;
        self.memory = memory;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// 10 Mbit/s.
    fn router() -> QuickStart {
        QuickStart::new(QuickStartConfig::default(), Rate(10_000_000))
    }

    fn arrival(now: u64, free_at: u64) -> Arrival {
        Arrival { now, free_at, waiting_packets: 0, waiting_bytes: 0, size: 40, ecn_capable: false }
    }

    fn asks(router: &mut QuickStart, now: u64, free_at: u64, kbit_s: u64) -> (u64, u8) {
        let mut request = Request::of(Rate(kbit_s * 1000));
        router.watch(&arrival(now, free_at));
        router.answer(now, &mut request);
        (request.rate().0 / 1000, request.hops)
    }

    /// Arrivals of no bytes keep one of two routers from skipping anything.
    #[test]
    fn a_silence_of_any_length_leaves_the_state_of_its_last_spans() {
        for free_at in [100, 8_900, 9_100, 9_900, 11_000].map(|ms| ms * MS) {
            let [mut silent, mut steady] = [router(), router()];
            let arrival = |ms: u64, free_at| Arrival {
                now: ms * MS,
                free_at,
                waiting_packets: 0,
                waiting_bytes: 0,
                size: 0,
                ecn_capable: false,
            };
            for router in [&mut silent, &mut steady] {
                router.watch(&arrival(50, 0));
            }
            silent.watch(&arrival(9_950, free_at.max(50 * MS)));
            // A link is free no earlier than at its last arrival.
            let mut last = 50;
            for ms in (57..9_950).step_by(7).chain([9_950]) {
                steady.watch(&arrival(ms, free_at.max(last * MS)));
                last = ms;
            }
            let state = |router: &QuickStart| (router.span, router.idle, router.before);
            assert_eq!(state(&silent), state(&steady), "{free_at}");
        }
    }

    /// Such a silence had 5 x 10^8 spans.
    #[test]
    fn a_silence_of_the_longest_run_is_passed_at_once() {
        let mut router = router();
        let now = 100_000_000_000 * MS;
        let arrival =
            Arrival { now, free_at: 1, waiting_packets: 0, waiting_bytes: 0, size: 1, ecn_capable: false };
        router.watch(&arrival);
        assert_eq!((router.span, router.before), (now / SPAN, [SPAN; SPANS]));
    }

    #[test]
    fn a_request_is_rounded_down_to_forty_kbit_s_times_a_power_of_two() {
        // RFC 4782 section 3.1: 80 kbit/s for N = 1 to 1.31072 Gbit/s for N = 15.
        for (kbit_s, n) in
            [(79, 0), (80, 1), (159, 1), (160, 2), (5_120, 7), (1_310_720, 15), (9_000_000, 15)]
        {
            assert_eq!(Request::of(Rate(kbit_s * 1000)).n, n, "{kbit_s} kbit/s");
        }
        assert_eq!(
            (Request { n: 1, hops: 0 }.rate(), Request { n: 15, hops: 0 }.rate()),
            (Rate(80_000), Rate(1_310_720_000))
        );
    }

    #[test]
    fn an_idle_link_grants_up_to_its_share() {
        // 0.85 of 10 Mbit/s is 8.5 Mbit/s: the largest rate that can be encoded below it is 5.12.
        assert_eq!(asks(&mut router(), 0, 0, 1_310_720), (5_120, 1));
        assert_eq!(asks(&mut router(), 0, 0, 1_280), (1_280, 1));
    }

    #[test]
    fn recent_grants_are_subtracted() {
        let mut router = router();
        assert_eq!(asks(&mut router, 0, 0, 5_120), (5_120, 1));
        // 8.5 - 5.12 = 3.38 encodes as 2.56; then 0.82 as 0.64; then 0.18 as 0.16; 0.02 is below the minimum,
        // 0.08.
        assert_eq!(asks(&mut router, MS, MS, 5_120), (2_560, 1));
        assert_eq!(asks(&mut router, 2 * MS, 2 * MS, 5_120), (640, 1));
        assert_eq!(asks(&mut router, 3 * MS, 3 * MS, 5_120), (160, 1));
        assert_eq!(asks(&mut router, 4 * MS, 4 * MS, 5_120), (0, 1));
        // Grants count through the following span, until 400 ms.
        assert_eq!(asks(&mut router, 399 * MS, 5 * MS, 5_120), (0, 1));
        assert_eq!(asks(&mut router, 400 * MS, 400 * MS, 5_120), (5_120, 1));
    }

    #[test]
    fn the_peak_use_of_the_last_second_is_subtracted() {
        let mut router = router();
        // From 200 to 300 ms the link is busy: half of the second span of 200 ms.
        router.watch(&arrival(200 * MS, 0));
        // 8.5 - 5 of use = 3.5 Mbit/s, which encodes as 2.56.
        assert_eq!(asks(&mut router, 500 * MS, 300 * MS, 5_120), (2_560, 1));
        // Five spans later, at 1.4 s, that span has left the record.
        assert_eq!(asks(&mut router, 1_399 * MS, 500 * MS, 5_120), (2_560, 1));
        assert_eq!(asks(&mut router, 1_800 * MS, 1_400 * MS, 5_120), (5_120, 1));
    }

    #[test]
    fn a_busy_link_grants_nothing() {
        let mut router = router();
        // One transmission from 0 to 180 ms: 0.9 of the first span, above the threshold of 0.85.
        router.watch(&arrival(0, 0));
        assert_eq!(asks(&mut router, 210 * MS, 180 * MS, 80), (0, 1));
    }

    #[test]
    fn a_later_router_does_not_revive_a_refused_request() {
        let mut request = Request { n: 0, hops: 1 };
        router().answer(0, &mut request);
        assert_eq!(request.rate(), Rate::NONE);
    }
}
