//! The retransmission timeout as Linux computes it: A. Kuznetsov's variant of Jacobson's estimator, described in
//! P. Sarolahti, A. Kuznetsov, "Congestion Control in Linux TCP", USENIX 2002, section 3.4.
//!
//! It differs from RFC 6298 in three ways. The minimum bounds the deviation, not the sum, so that the timeout is never
//! below SRTT + 200 ms. A falling RTT hardly raises the deviation. And the deviation in force is the largest one of
//! the last round trip: it rises at once and falls by a quarter a round.

use super::rto::Rto;

/// The deviation, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deviation {
    /// Four times the mean deviation (`mdev`).
    mdev4: u64,
    /// The largest of the round, never below the minimum (`mdev_max`).
    largest: u64,
    /// The deviation in force (`rttvar`), never below the minimum.
    rttvar: u64,
    /// The round ends when this segment is acknowledged.
    round_end: u32,
}

impl Rto {
    /// A sample of `rtt` nanoseconds; the cumulative ACK is at `una` and `nxt` is the next segment to send.
    #[inline]
    pub(crate) fn sample_linux(&mut self, rtt: u64, una: u32, nxt: u32) {
        let least = self.config.min;
        let dev = &mut self.deviation;
        if self.srtt8 == 0 {
            self.srtt8 = rtt << 3;
            dev.mdev4 = rtt << 1;
            dev.rttvar = dev.mdev4.max(least);
            dev.largest = dev.rttvar;
            dev.round_end = nxt;
        } else {
            let error = rtt as i64 - (self.srtt8 >> 3) as i64;
            self.srtt8 = (self.srtt8 as i64 + error).max(1) as u64;
            let mut rise = error.abs() - (dev.mdev4 >> 2) as i64;
            if error < 0 && rise > 0 {
                rise >>= 3;
            }
            dev.mdev4 = (dev.mdev4 as i64 + rise) as u64;
            if dev.mdev4 > dev.largest {
                dev.largest = dev.mdev4;
                dev.rttvar = dev.rttvar.max(dev.largest);
            }
            if una > dev.round_end {
                if dev.largest < dev.rttvar {
                    dev.rttvar -= (dev.rttvar - dev.largest) >> 2;
                }
                dev.round_end = nxt;
                dev.largest = least;
            }
        }
        self.doublings = 0;
        // Only readers of the timeout see whole ticks; a timer is rounded when it fires.
        self.timeout = ((self.srtt8 >> 3) + self.deviation.rttvar).min(self.config.max);
        self.base = self.timeout;
    }

    /// A segment was split.
    pub(crate) fn renumber(&mut self, beyond: impl Fn(&mut u32)) {
        beyond(&mut self.deviation.round_end);
    }

    /// The timeout in force, in whole ticks of the kernel's clock.
    pub(crate) fn timeout_in_ticks(&self) -> u64 {
        self.in_ticks(self.timeout)
    }

    /// Timers count in ticks of the kernel's clock, rounded up.
    #[inline]
    pub(crate) fn in_ticks(&self, time: u64) -> u64 {
        time.div_ceil(self.config.granularity) * self.config.granularity
    }

    /// The timer fired: the timeout doubles, up to its maximum.
    pub(crate) fn back_off_linux(&mut self) {
        self.doublings += 1;
        self.timeout = (self.timeout_in_ticks() << 1).min(self.config.max);
    }
}

#[cfg(test)]
mod tests {
    use super::super::rto::RtoConfig;
    use super::*;

    const MS: u64 = 1_000_000;

    fn linux() -> Rto {
        let max = 120_000 * MS;
        Rto::linux(RtoConfig { initial: 1000 * MS, min: 200 * MS, max, granularity: 4 * MS, phase: 0 })
    }

    #[test]
    fn the_minimum_is_added_to_the_round_trip_time() {
        let mut rto = linux();
        // First sample 60 ms: mdev = 30 ms, rttvar = max(2 * 60, 200) = 200 ms: 260 ms.
        rto.sample_linux(60 * MS, 0, 10);
        assert_eq!((rto.srtt(), rto.timeout_in_ticks()), (60 * MS, 260 * MS));
        // A slow path: 150 ms gives rttvar = 300 ms: 450 ms, which is 113 ticks of 4 ms.
        let mut rto = linux();
        rto.sample_linux(150 * MS, 0, 10);
        assert_eq!(rto.timeout_in_ticks(), 452 * MS);
    }

    #[test]
    fn a_steady_path_comes_down_to_the_minimum_by_a_quarter_a_round() {
        let mut rto = linux();
        rto.sample_linux(200 * MS, 0, 10);
        // The deviation is 400 and falls by a quarter a sample: 300, 225, 169. The largest of a round, never below 200,
        // is 400, then 225, then 200, and rttvar goes a quarter of the way there: 400, 356.25, 317.2, 287.9. With the
        // RTT, in ticks of 4 ms:
        let mut seen = vec![];
        for round in 1..=4_u32 {
            rto.sample_linux(200 * MS, round * 20, round * 20 + 10);
            seen.push(rto.timeout_in_ticks() / MS);
        }
        assert_eq!(seen, [600, 560, 520, 488]);
    }

    #[test]
    fn a_long_round_trip_time_gives_no_more_than_the_maximum() {
        // A sample of 60 s: rttvar = 2 * 60 s, and 60 + 120 s is above TCP_RTO_MAX, to which `tcp_bound_rto` cuts it.
        let mut rto = linux();
        rto.sample_linux(60_000 * MS, 0, 10);
        assert_eq!(rto.timeout_in_ticks(), 120_000 * MS);
    }

    #[test]
    fn each_timeout_doubles() {
        let mut rto = linux();
        rto.sample_linux(60 * MS, 0, 10);
        rto.back_off_linux();
        rto.back_off_linux();
        assert_eq!(rto.timeout_in_ticks(), 1040 * MS);
    }
}
