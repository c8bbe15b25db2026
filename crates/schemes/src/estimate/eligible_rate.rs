//! Eligible rate estimation of TCP Westwood: R. Wang, G. Pau, K. Yamada, M. Y. Sanadidi, M. Gerla, "TCP
//! Startup Performance in Large Bandwidth Delay Networks", INFOCOM 2004, section II.B ("AS" below); constants
//! it does not state from R. Wang, M. Valla, M. Y. Sanadidi, M. Gerla, "Adaptive Bandwidth Share Estimation
//! in TCP Westwood", GLOBECOM 2002 ("ABSE").
//!
//! Each ACK gives a sample: the bytes delivered in the last `T_k`, divided by `T_k`. On an empty path `T_k` is short,
//! so that the sample is that of a packet pair and measures the capacity. On a congested path `T_k` is up to a round
//! trip, so that the sample measures the share obtained. A low-pass filter smooths the samples.

use crate::choice;
use firstflight_contract::{Ack, Nanos, forget, mul_div, weighted_mean, weighted_mean_round};

choice! {
    /// Smoothing of the samples.
    pub enum Filter {
        /// First order, by the Tustin approximation, with a fixed time constant.
        Tustin = "tustin",
        /// First order, with ABSE's time constant, which grows from one RTT to eleven while samples disagree.
        Adaptive = "adaptive",
        /// The samples as they come.
        None = "none",
    }
}

/// A rate in 2^-20 bytes per second: 44 bits before the point, so that thousands of small steps do not drift.
type FineRate = u64;
const FRACTION_BITS: u32 = 20;

/// ABSE: weight of the old value in the achieved rate and in the instability, 0.6, as tenths.
const OLD_WEIGHT: u64 = 6;
/// ABSE: the time constant is RTT (1 + N U/U_max) with N = 10.
const INSTABILITY_GAIN: u64 = 10;
/// Longest time constant.
const MAX_TAU: Nanos = Nanos::from_secs(1000);

/// Points of delivery history. They lie at least 1/32 of an RTT apart, so the history spans two RTTs.
const POINTS: usize = 64;
const POINTS_PER_RTT: u64 = 32;

/// Total of delivered bytes at a time.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    at: Nanos,
    delivered: u64,
}

impl Point {
    /// Mean rate since an earlier point; the span is not empty.
    fn rate_since(self, earlier: Self) -> FineRate {
        let bytes = self.delivered - earlier.delivered;
        mul_div(bytes, 1_000_000_000 << FRACTION_BITS, (self.at - earlier.at).0)
    }
}

/// The estimator. It survives losses and timeouts.
#[derive(Clone, Debug)]
pub struct EligibleRate {
    filter: Filter,
    /// Time constant of [`Filter::Tustin`]; zero is the smoothed RTT.
    tau: Nanos,
    /// Ring of points, `newest` the last written.
    history: [Point; POINTS],
    newest: usize,
    /// The ACK before this one; at first, the beginning of the measurement.
    last: Option<Point>,
    averages: Averages,
}

/// Averages of the samples so far.
#[derive(Clone, Copy, Debug, Default)]
struct Averages {
    /// `RE`: the rate achieved over the latest RTT, averaged.
    achieved: FineRate,
    sample: FineRate,
    /// `ERE`.
    estimate: FineRate,
    instability: FineRate,
    most_unstable: FineRate,
    samples: u64,
}

impl Default for EligibleRate {
    fn default() -> Self {
        Self {
            filter: Filter::Tustin,
            tau: Nanos::ZERO,
            history: [Point::default(); POINTS],
            newest: 0,
            last: None,
            averages: Averages::default(),
        }
    }
}

impl EligibleRate {
    /// Smooths with `filter`; `tau` is the time constant of [`Filter::Tustin`], zero for the smoothed RTT.
    pub(crate) fn configure(&mut self, filter: Filter, tau: Nanos) {
        self.filter = filter;
        self.tau = tau;
    }

    /// The connection begins at `now`: nothing is delivered.
    pub fn start(&mut self, now: Nanos) {
        self.averages = Averages::default();
        self.begin(Point { at: now, delivered: 0 });
    }

    fn begin(&mut self, first: Point) {
        self.last = Some(first);
        self.history.fill(first);
    }

    /// Processes an ACK; `cwnd` is the window at its arrival. ACKs that deliver nothing in sequence (duplicate,
    /// partial) count once, through the host's total of delivered bytes.
    pub fn on_ack(&mut self, ack: &Ack, cwnd: u64) {
        let now = Point { at: ack.now, delivered: ack.delivered };
        // In the middle of a connection the measurement begins with the first ACK.
        let Some(last) = self.last else { return self.begin(now) };
        // ACKs of the same instant form one sample with the next ACK.
        if ack.now <= last.at || ack.srtt == Nanos::ZERO || ack.min_rtt == Nanos::ZERO {
            return;
        }
        let gap = now.at - last.at;
        let rtt = ack.srtt;

        // AS: "RE is the achieved rate computed based on the amount of data acknowledged during the latest
        // RTT, and exponentially averaged over time using a low-pass filter".
        let achieved = now.rate_since(self.point_before(now.at.saturating_sub(rtt)));
        self.averages.achieved = if self.averages.samples == 0 {
            achieved
        } else {
            average(self.averages.achieved, achieved, OLD_WEIGHT)
        };

        let interval = interval(rtt, ack.min_rtt, cwnd, self.averages.achieved);
        // ABSE: a sample spans one ACK spacing at least.
        let from = if interval <= gap { last } else { self.point_before(now.at.saturating_sub(interval)) };
        let sample = now.rate_since(from);
        self.smooth(sample, gap, rtt);

        self.last = Some(now);
        let spacing = rtt.0 / POINTS_PER_RTT;
        if (now.at - self.history[self.newest].at).0 >= spacing {
            self.newest = (self.newest + 1) % POINTS;
            self.history[self.newest] = now;
        }
    }

    /// `ERE * RTT_min`: the window this rate fills, bytes.
    pub fn window(&self, min_rtt: Nanos) -> u64 {
        bytes_in(self.averages.estimate, min_rtt)
    }

    /// Whether there has been a sample.
    pub(crate) fn is_known(&self) -> bool {
        self.averages.samples > 0
    }

    /// The estimate in bytes per second.
    #[cfg(test)]
    fn bytes_per_second(&self) -> u64 {
        self.averages.estimate >> FRACTION_BITS
    }

    fn smooth(&mut self, sample: FineRate, gap: Nanos, rtt: Nanos) {
        let a = &mut self.averages;
        let previous = core::mem::replace(&mut a.sample, sample);
        a.samples += 1;
        if a.samples == 1 {
            a.estimate = sample;
            return;
        }
        let tau = match self.filter {
            Filter::None => {
                a.estimate = sample;
                return;
            }
            Filter::Tustin if self.tau == Nanos::ZERO => rtt,
            Filter::Tustin => self.tau,
            Filter::Adaptive => {
                // ABSE: U_k = 0.6 U_{k-1} + 0.4 |s_k - s_{k-1}|, tau_k = RTT + N RTT U_k / U_max
                a.instability = average(a.instability, sample.abs_diff(previous), OLD_WEIGHT);
                a.most_unstable = a.most_unstable.max(a.instability).max(1);
                let longest = rtt.0.saturating_mul(INSTABILITY_GAIN);
                rtt.saturating_add(Nanos(mul_div(longest, a.instability, a.most_unstable)))
            }
        };
        a.estimate = tustin(a.estimate, sample, previous, gap, tau);
    }

    /// The newest point not after `at`, or the oldest point.
    fn point_before(&self, at: Nanos) -> Point {
        // Positions count back from the newest; times fall with the position.
        let get = |back: usize| self.history[(self.newest + POINTS - back) % POINTS];
        let (mut after, mut found) = (0, POINTS - 1);
        for _ in 0..POINTS.ilog2() {
            let middle = (after + found) / 2;
            if get(middle).at <= at {
                found = middle;
            } else {
                after = (middle + 1).min(found);
            }
            after = forget(after as u64) as usize % POINTS;
            found = forget(found as u64) as usize % POINTS;
        }
        get(found)
    }
}

/// AS: `T_k = RTT * (cwin/RTT_min - RE) / (cwin/RTT_min)`; none if the achieved rate exceeds the expected
/// one.
fn interval(rtt: Nanos, min_rtt: Nanos, cwnd: u64, achieved: FineRate) -> Nanos {
    // Both sides times RTT_min: the windows that the expected and the achieved rate fill.
    let missing = cwnd.saturating_sub(bytes_in(achieved, min_rtt));
    Nanos(mul_div(rtt.0, missing, cwnd.max(1)))
}

fn bytes_in(rate: FineRate, span: Nanos) -> u64 {
    mul_div(rate, span.0, 1_000_000_000 << FRACTION_BITS)
}

/// Moving average with `old_weight` tenths for the old value.
fn average(old: FineRate, new: FineRate, old_weight: u64) -> FineRate {
    weighted_mean([(old, old_weight), (new, 10 - old_weight)])
}

/// One step of the first-order low-pass filter 1/(1 + tau s) under the Tustin approximation:
/// `y_k = ((2 tau - dt) y_{k-1} + dt (x_k + x_{k-1})) / (2 tau + dt)`.
fn tustin(y: FineRate, x: FineRate, x_before: FineRate, dt: Nanos, tau: Nanos) -> FineRate {
    let two_tau = 2 * tau.min(MAX_TAU).0.max(1);
    // A gap beyond 2 tau would give the old value a negative weight; the filter has forgotten it by then.
    let dt = dt.0.min(two_tau);
    weighted_mean_round([(y, two_tau - dt), (x, dt), (x_before, dt)])
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn fine(bytes_per_second: u64) -> FineRate {
        bytes_per_second << FRACTION_BITS
    }

    const RTT: Nanos = Nanos::from_millis(100);

    fn estimator(filter: Filter) -> EligibleRate {
        EligibleRate { filter, ..EligibleRate::default() }
    }

    /// ACKs of 1000 bytes every `gap_us` under a constant window; returns the estimate in bytes per second.
    fn steady(filter: Filter, gap_us: u64, acks: u64, cwnd: u64, rtt: Nanos) -> u64 {
        let mut ere = estimator(filter);
        ere.start(Nanos::ZERO);
        for n in 1..=acks {
            let ack = Ack {
                now: rtt + Nanos::from_micros(n * gap_us),
                delivered: n * 1000,
                srtt: rtt,
                min_rtt: RTT,
                ..Ack::default()
            };
            ere.on_ack(&ack, cwnd);
        }
        ere.bytes_per_second()
    }

    #[test]
    fn the_interval_is_the_rtt_times_the_missing_part_of_the_expected_rate() {
        // Expected: 1 MB / 100 ms = 10 MB/s. Achieved 5 MB/s, RTT 200 ms: T = 200 (10 - 5)/10 = 100 ms.
        let t = |re, rtt| interval(Nanos::from_millis(rtt), RTT, 1_000_000, fine(re));
        assert_eq!(t(5_000_000, 200), Nanos::from_millis(100));
        // Uncongested: RE = cwin/RTT_min gives none, and more than that gives none either.
        assert_eq!(t(10_000_000, 100), Nanos::ZERO);
        assert_eq!(t(12_000_000, 100), Nanos::ZERO);
        // Nothing achieved: the whole RTT.
        assert_eq!(t(0, 150), Nanos::from_millis(150));
    }

    #[test]
    fn acks_at_the_bottleneck_rate_make_the_estimate_that_rate() {
        // AS base case, 40 Mbit/s and 1000-byte packets: an ACK every 200 us is 5 MB/s; times 100 ms the BDP
        // of 500 packets. Exact after some RTTs, whatever the filter.
        for filter in [Filter::None, Filter::Tustin, Filter::Adaptive] {
            let rate = steady(filter, 200, 20_000, 500_000, RTT);
            assert!((4_999_990..=5_000_000).contains(&rate), "{filter:?}: {rate}");
        }
    }

    #[test]
    fn in_the_middle_of_a_connection_the_measurement_begins_with_the_first_ack() {
        // 10 s after the host's clock began, 50 packets are delivered; from then on a packet each 10 ms, 100 kB/s.
        let mut ere = estimator(Filter::None);
        for n in 0..=20u64 {
            let ack = Ack {
                now: Nanos::from_millis(10_000 + 10 * n),
                delivered: 50_000 + 1000 * n,
                srtt: RTT,
                min_rtt: RTT,
                ..Ack::default()
            };
            ere.on_ack(&ack, 10_000);
            assert_eq!((ere.is_known(), ere.bytes_per_second()), (n > 0, if n > 0 { 100_000 } else { 0 }));
        }
    }

    #[test]
    fn a_congested_flow_sees_its_share_not_the_packet_pair() {
        // Half the ACKs come in pairs 20 us apart (a packet pair of 50 MB/s), two packets every 800 us: a
        // share of 2.5 MB/s. With 500 packets in flight over an RTT of 200 ms, twice the smallest, RE = 2.5
        // MB/s against an expected 5 MB/s: T = 100 ms, so each sample spans 125 pairs and is within one
        // packet in 250 (and the spacing of points, 1/32 RTT, does not matter to a mean rate).
        let mut ere = estimator(Filter::None);
        ere.start(Nanos::ZERO);
        for n in 1..=4000u64 {
            let at = 200_000 + n / 2 * 800 + n % 2 * 20;
            let ack = Ack {
                now: Nanos::from_micros(at),
                delivered: n * 1000,
                srtt: Nanos::from_millis(200),
                min_rtt: RTT,
                ..Ack::default()
            };
            ere.on_ack(&ack, 500_000);
        }
        let rate = ere.bytes_per_second();
        assert!((2_475_000..=2_525_000).contains(&rate), "{rate}");
    }

    #[test]
    fn the_filter_follows_the_recurrence_for_uneven_gaps() {
        let inputs = [(1000u64, 3u64), (5000, 1), (0, 40), (7000, 7), (7000, 300), (100, 2)];
        let tau = Nanos::from_millis(50);
        let (mut y, mut before, mut expected) = (fine(2000), fine(2000), 2000.0f64);
        let mut x_before = 2000.0;
        for (x, gap_ms) in inputs {
            y = tustin(y, fine(x), before, Nanos::from_millis(gap_ms), tau);
            before = fine(x);
            // The same filter in f64, gaps cut at 2 tau = 100 ms.
            let (dt, x) = ((gap_ms as f64).min(100.0), x as f64);
            expected = ((100.0 - dt) * expected + dt * (x + x_before)) / (100.0 + dt);
            x_before = x;
            let got = y as f64 / f64::from(1u32 << FRACTION_BITS);
            assert!((got - expected).abs() < 1e-3, "{got} {expected}");
        }
    }

    #[test]
    fn a_hundred_thousand_tiny_steps_reach_the_input() {
        // 8 us gaps against tau = 1 s: each step moves 8e-6 of the way; rounding must not stop it short.
        // After 0.8 s the distance is e^-0.8 of the first: 1e9 (1 - 0.4493) = 550.7e6.
        let mut y = 0;
        for _ in 0..100_000 {
            let x = fine(1_000_000_000);
            y = tustin(y, x, x, Nanos::from_micros(8), Nanos::from_secs(1));
        }
        let got = (y >> FRACTION_BITS) as f64;
        let expected = 1e9 * (1.0 - (-0.8f64).exp());
        assert!((got / expected - 1.0).abs() < 1e-6, "{got} {expected}");
    }

    #[test]
    fn the_adaptive_time_constant_is_eleven_rtts_when_samples_disagree_most() {
        // First two samples 0 apart from each other, then a jump: U = 0.4 |jump| = U_max, tau = 11 RTT = 1.1
        // s.
        let mut ere = estimator(Filter::Adaptive);
        let gap = Nanos::from_millis(10);
        ere.smooth(fine(1000), gap, RTT);
        ere.smooth(fine(1_001_000), gap, RTT);
        // ((2200 - 10) 1000 + 10 (1001000 + 1000)) / 2210 = 5524.9
        assert_eq!(ere.bytes_per_second(), 5524);
    }

    #[test]
    fn history_gives_the_newest_point_not_after_a_time() {
        let mut ere = estimator(Filter::None);
        ere.start(Nanos(5));
        for n in 1..=100u64 {
            let at = Nanos::from_millis(10 * n);
            let ack = Ack { now: at, delivered: n, srtt: RTT, min_rtt: RTT, ..Ack::default() };
            ere.on_ack(&ack, 1);
        }
        // Points every 10 ms (more than RTT/32 = 3.1 ms): 37 to 100 are kept.
        assert_eq!(ere.point_before(Nanos::from_millis(505)).delivered, 50);
        assert_eq!(ere.point_before(Nanos::from_millis(500)).delivered, 50);
        assert_eq!(ere.point_before(Nanos::from_millis(5000)).delivered, 100);
        assert_eq!(ere.point_before(Nanos::from_millis(1)).delivered, 37);
    }
}
