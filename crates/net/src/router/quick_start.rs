//! A router that grants Quick-Start requests: RFC 4782; the algorithm and its constants are those of ns-2.35 (its third,
//! "Target Algorithm" of the RFC's section 3.3.2): the peak use of the link in the last second counts, and what was
//! granted in the last two tenths of a second, of which that use may not show anything yet.

use crate::queue::Arrival;
use firstflight_contract::Rate;

/// Bit/s. RFC 4782 section 3.1: a request of N is for a rate of 40 kbit/s times 2^N.
const UNIT: u64 = 40_000;
/// The largest N.
const MOST: u8 = 15;
/// Nanoseconds. ns-2's `util_check_intv_`: use is averaged over this.
const SPAN: u64 = 200_000_000;
/// ns-2's `util_records_`: the peak is over this many of them.
const SPANS: usize = 5;

/// A request on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// N of the rate request; zero asks for nothing, or was refused.
    pub n: u8,
    /// Routers that took part: by how much the Quick-Start TTL went down. Only if that is every router on the path has the
    /// TTL difference stayed what it was (section 3.4).
    pub hops: u8,
}

impl Request {
    /// A request for `rate`, or less: the largest that can be said.
    pub fn of(rate: Rate) -> Self {
        let units = rate.0 / UNIT;
        let n = if units < 2 { 0 } else { units.ilog2().min(MOST.into()) as u8 };
        Self { n, hops: 0 }
    }

    /// The rate it asks for.
    pub fn rate(self) -> Rate {
        if self.n == 0 { Rate::NONE } else { Rate(UNIT << self.n) }
    }
}

/// Parameters of a router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuickStartConfig {
    /// Share of the link in use below which something is granted (ns-2: `threshold_`).
    pub threshold: f64,
    /// Share of the link up to which it is granted (ns-2: `alloc_rate_`).
    pub share: f64,
    /// Nanoseconds; what was granted counts for this long, and for the rest of the span it falls into (ns-2:
    /// `state_delay_`).
    pub memory: u64,
}

impl Default for QuickStartConfig {
    fn default() -> Self {
        Self { threshold: 0.85, share: 0.85, memory: 200_000_000 }
    }
}

/// What a Quick-Start router knows.
#[derive(Clone, Debug)]
pub struct QuickStart {
    /// Bit/s.
    capacity: f64,
    config: QuickStartConfig,
    /// The number of the current span, and the idle time in it so far.
    span: u64,
    idle: u64,
    /// Idle times of the spans before it, the newest last.
    before: [u64; SPANS],
    /// The number of the current memory span, what was granted in it, and in the one before, bit/s.
    memory: u64,
    granted: u64,
    granted_before: u64,
}

impl QuickStart {
    /// A router in front of an idle link of this rate.
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

    /// Takes note of the time that the link was idle before this arrival.
    pub(super) fn watch(&mut self, arrival: &Arrival) {
        let mut from = arrival.free_at.max(self.span * SPAN);
        while self.span < arrival.now / SPAN {
            let end = (self.span + 1) * SPAN;
            self.idle += end.saturating_sub(from);
            from = from.max(end);
            self.before.rotate_left(1);
            self.before[SPANS - 1] = std::mem::take(&mut self.idle);
            self.span += 1;
        }
        self.idle += arrival.now.saturating_sub(from);
    }

    /// The largest share of the link that was in use over one of the last spans.
    fn peak(&self) -> f64 {
        let idle = self.before.iter().min().copied().unwrap_or(SPAN);
        (SPAN - idle) as f64 / SPAN as f64
    }

    /// Lowers a request to what can be granted; refuses it where that is nothing.
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
        // 0.85 of 10 Mbit/s is 8.5: 5.12 is the largest that can be said below it.
        assert_eq!(asks(&mut router(), 0, 0, 1_310_720), (5_120, 1));
        assert_eq!(asks(&mut router(), 0, 0, 1_280), (1_280, 1));
    }

    #[test]
    fn what_was_granted_lately_is_not_granted_again() {
        let mut router = router();
        assert_eq!(asks(&mut router, 0, 0, 5_120), (5_120, 1));
        // 8.5 - 5.12 = 3.38: 2.56 can be said. Then 0.82: 0.64. Then 0.18: 0.16; 0.02 is below the least, 0.08.
        assert_eq!(asks(&mut router, MS, MS, 5_120), (2_560, 1));
        assert_eq!(asks(&mut router, 2 * MS, 2 * MS, 5_120), (640, 1));
        assert_eq!(asks(&mut router, 3 * MS, 3 * MS, 5_120), (160, 1));
        assert_eq!(asks(&mut router, 4 * MS, 4 * MS, 5_120), (0, 1));
        // It counts through the span that follows, until 400 ms.
        assert_eq!(asks(&mut router, 399 * MS, 5 * MS, 5_120), (0, 1));
        assert_eq!(asks(&mut router, 400 * MS, 400 * MS, 5_120), (5_120, 1));
    }

    #[test]
    fn the_peak_use_of_the_last_second_is_subtracted() {
        let mut router = router();
        // From 200 to 300 ms the link is busy: half of the second span of 200 ms.
        router.watch(&arrival(200 * MS, 0));
        // 10 - 5 of use: 8.5 - 5 = 3.5 are left, of which 2.56 can be said.
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
    fn a_refused_request_stays_refused() {
        let mut request = Request { n: 0, hops: 1 };
        router().answer(0, &mut request);
        assert_eq!(request.rate(), Rate::NONE);
    }
}
