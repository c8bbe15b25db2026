//! The retransmission timeout: V. Jacobson's estimator in his integer arithmetic, RFC 6298.

use super::rto_linux::Deviation;

/// RTT estimate and timeout of one connection. Times are nanoseconds.
#[derive(Clone, Debug)]
pub struct Rto {
    /// Timeout in force: `base` within its bounds, doubled.
    pub(super) timeout: u64,
    /// Eight times the smoothed RTT, in clock units; zero before the first sample.
    pub(super) srtt8: u64,
    /// Four times the RTT's mean deviation, in clock units.
    var4: u64,
    /// Timeout before backing off.
    pub(super) base: u64,
    /// Number of doublings in force.
    pub(super) doublings: u32,
    /// The deviation as Linux has it; nothing elsewhere.
    pub(super) deviation: Deviation,
    /// The smallest timeout in force: none while [`Rto::fine`].
    floor: u64,
    /// Unit of the smoothed RTT, nanoseconds.
    unit: u64,
    pub(super) config: RtoConfig,
}

/// Parameters of the timeout that a stack fixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Timeout before the first sample (RFC 6298: 1 s; ns-2: 3 s).
    pub initial: u64,
    /// Smallest timeout.
    pub min: u64,
    /// Largest timeout (RFC 6298: at least 60 s).
    pub max: u64,
    /// Clock granularity `G`: RTTs are measured in ticks of it. One for an exact clock.
    pub granularity: u64,
    /// Time of the first tick.
    pub phase: u64,
}

impl Rto {
    /// A connection without a sample.
    pub fn new(config: RtoConfig) -> Self {
        let mut rto = Self {
            timeout: 0,
            srtt8: 0,
            var4: 0,
            base: config.initial,
            doublings: 0,
            deviation: Deviation::default(),
            floor: config.min,
            unit: config.granularity,
            config,
        };
        rto.settle();
        rto
    }

    /// The same with Linux's estimator: an exact clock, timers in ticks of `granularity`.
    pub fn linux(config: RtoConfig) -> Self {
        Self { unit: 1, ..Self::new(config) }
    }

    #[inline]
    fn settle(&mut self) {
        self.timeout = (self.base.max(self.floor) << self.doublings).min(self.config.max);
    }

    /// A segment sent at `sent` was acknowledged at `now`, and was sent only once.
    #[inline]
    pub fn sample(&mut self, sent: u64, now: u64) {
        let RtoConfig { granularity, phase, .. } = self.config;
        let rtt = if granularity == 1 {
            now - sent
        } else {
            // A coarse clock counts the ticks it saw in between, and never less than one.
            ((now + phase) / granularity - (sent + phase) / granularity).max(1)
        };
        // RFC 6298 (2.3): "RTTVAR <- 3/4 RTTVAR + 1/4 |SRTT - R'|; SRTT <- 7/8 SRTT + 1/8 R'",
        // scaled as in appendix A of Jacobson's paper so that nothing is lost to rounding.
        if self.srtt8 == 0 {
            self.srtt8 = rtt << 3;
            self.var4 = rtt << 1;
        } else {
            let error = rtt as i64 - (self.srtt8 >> 3) as i64;
            self.srtt8 = (self.srtt8 as i64 + error).max(1) as u64;
            self.var4 = (self.var4 as i64 + error.abs() - (self.var4 >> 2) as i64).max(1) as u64;
        }
        // (2.3): "RTO <- SRTT + max (G, K*RTTVAR)" with K = 4; var4 is in ticks, so at least G.
        self.base = ((self.srtt8 >> 3) + self.var4) * granularity;
        self.doublings = 0;
        self.settle();
    }

    /// The timer fired.
    pub(crate) fn back_off(&mut self) {
        if self.timeout() < self.config.max {
            self.doublings += 1;
        }
        // RFC 6298 section 5: "a TCP implementation MAY clear SRTT and RTTVAR after backing off the timer
        // multiple times"; done after the fourth doubling, as BSD and ns-2 do.
        if self.doublings > 3 {
            self.var4 += self.srtt8 >> 3;
            self.srtt8 = 0;
        }
        self.settle();
    }

    /// Forgets the doublings: the path delivers again.
    pub(crate) fn end_back_off(&mut self) {
        self.doublings = 0;
        self.settle();
    }

    /// Waits no longer than SRTT + 4 RTTVAR, or again at least the smallest timeout.
    pub(crate) fn set_fine(&mut self, fine: bool) {
        let floor = if fine { 0 } else { self.config.min };
        if floor != self.floor {
            self.floor = floor;
            self.settle();
        }
    }

    /// Whether it has no lower bound.
    pub(crate) fn is_fine(&self) -> bool {
        self.floor < self.config.min
    }

    /// RFC 6298 (5.7): after a lost SYN "the RTO MUST be re-initialized to 3 seconds when data transmission begins".
    pub(crate) fn restart_after_lost_syn(&mut self) {
        self.doublings = 0;
        self.base = self.base.max(3_000_000_000);
        self.settle();
    }

    /// Whether the timer fired since the last sample.
    pub(crate) fn backed_off(&self) -> bool {
        self.doublings > 0
    }

    /// The timeout in force.
    #[inline]
    pub fn timeout(&self) -> u64 {
        self.timeout
    }

    /// The smoothed RTT, or zero.
    #[inline]
    pub fn srtt(&self) -> u64 {
        (self.srtt8 >> 3) * self.unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn exact() -> Rto {
        Rto::new(RtoConfig { initial: 1000 * MS, min: 200 * MS, max: 60_000 * MS, granularity: 1, phase: 0 })
    }

    #[test]
    fn first_and_second_samples_follow_rfc_6298() {
        let mut rto = exact();
        assert_eq!(rto.timeout(), 1000 * MS);
        // (2.2) SRTT = 100, RTTVAR = 50, RTO = 100 + 4 * 50 = 300 ms.
        rto.sample(0, 100 * MS);
        assert_eq!((rto.srtt(), rto.timeout()), (100 * MS, 300 * MS));
        // (2.3) R' = 180: RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5, SRTT = 110, RTO = 110 + 230 = 340 ms.
        rto.sample(0, 180 * MS);
        assert_eq!((rto.srtt(), rto.timeout()), (110 * MS, 340 * MS));
    }

    #[test]
    fn each_timeout_doubles_up_to_the_maximum_and_a_sample_ends_it() {
        let mut rto = exact();
        rto.sample(0, 100 * MS);
        let mut seen = vec![];
        for _ in 0..10 {
            rto.back_off();
            seen.push(rto.timeout() / MS);
        }
        assert_eq!(seen, [600, 1200, 2400, 4800, 9600, 19_200, 38_400, 60_000, 60_000, 60_000]);
        rto.sample(0, 100 * MS);
        assert_eq!(rto.timeout(), 300 * MS);
    }

    #[test]
    fn a_coarse_clock_counts_the_ticks_in_between() {
        let config =
            RtoConfig { initial: 3000 * MS, min: 0, max: 60_000 * MS, granularity: 10 * MS, phase: 0 };
        let mut rto = Rto::new(config);
        // From 5 to 25 ms the clock ticks at 10 and 20: two ticks, so SRTT = 20 ms, RTTVAR = 10 ms.
        rto.sample(5 * MS, 25 * MS);
        assert_eq!((rto.srtt(), rto.timeout()), (20 * MS, 60 * MS));
        // From 1 to 9 ms it does not tick; one tick is the least.
        let mut rto = Rto::new(config);
        rto.sample(MS, 9 * MS);
        assert_eq!(rto.srtt(), 10 * MS);
    }
}
