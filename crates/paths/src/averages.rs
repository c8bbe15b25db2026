//! Averages over a sliding window in bounded space: the window consists of equal parts, each with a sum.

use firstflight_contract::Nanos;

use crate::settings::{Reporting, Sampling};
use firstflight_schemes::startup::spand::Estimate;

/// Number of parts of SPAND's window, which therefore covers between nine and ten tenths of its length.
pub(crate) const PARTS: u64 = 10;
/// Maximum number of parts of a sampled window.
pub(crate) const MOST_PARTS: u64 = 60;

/// Sums over the values in one part.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Part {
    /// Number of the part, counted from time zero.
    number: u64,
    count: u64,
    cwnd: u64,
    rtt: u64,
}

impl Part {
    fn add(&mut self, times: u64, count: u64, cwnd: u64, rtt: u64) {
        self.count = self.count.saturating_add(times.saturating_mul(count));
        self.cwnd = self.cwnd.saturating_add(times.saturating_mul(cwnd));
        self.rtt = self.rtt.saturating_add(times.saturating_mul(rtt));
    }
}

/// The newest parts that contain values, in order.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Parts(Vec<Part>);

impl Parts {
    /// Part with this number, after dropping parts that are `kept` or more before it. A late value counts for
    /// the newest part.
    fn part(&mut self, number: u64, kept: u64) -> &mut Part {
        if self.0.last().is_none_or(|newest| newest.number < number) {
            self.0.retain(|part| part.number + kept > number);
            self.0.reserve_exact(1);
            self.0.push(Part { number, ..Part::default() });
        }
        self.0.last_mut().expect("the list is not empty")
    }

    /// Sums over the parts with these numbers that are still kept.
    fn sum(&self, numbers: core::ops::Range<u64>) -> Part {
        let mut sum = Part::default();
        for part in self.0.iter().filter(|part| numbers.contains(&part.number)) {
            sum.add(1, part.count, part.cwnd, part.rtt);
        }
        sum
    }
}

/// An average, and the data that it is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Average {
    /// Mean window, bytes.
    pub cwnd: u64,
    /// Mean RTT of the values with an RTT; zero if none had one.
    pub rtt: Nanos,
    /// Number of values.
    pub samples: u64,
    /// Time since the average was computed.
    pub age: Nanos,
}

/// Samples of all live windows at regular times. They are exact, since windows are constant between events.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Sampled {
    /// Number of the next sample, counted from time zero.
    next: u64,
    parts: Parts,
}

impl Sampled {
    /// Resets the samples.
    pub(crate) fn forget(&mut self) {
        self.next = 0;
        self.parts.0.clear();
    }

    /// Takes the samples due up to `now`, during which the `count` live connections had windows of `cwnd`
    /// bytes in total.
    #[inline]
    pub(crate) fn advance(&mut self, settings: &Sampling, now: Nanos, count: u64, cwnd: u64) {
        if self.next.saturating_mul(settings.every.0) <= now.0 {
            self.take(settings, now, count, cwnd);
        }
    }

    #[cold]
    fn take(&mut self, settings: &Sampling, now: Nanos, count: u64, cwnd: u64) {
        let end = now.0 / settings.every.0 + 1;
        if count == 0 {
            self.next = end;
            return;
        }
        let last = now.0 / settings.refresh.0;
        // The current part, and the parts in the window.
        let kept = parts(settings) + 1;
        let first = (self.next * settings.every.0 / settings.refresh.0).max((last + 1).saturating_sub(kept));
        for number in first..=last {
            let from = samples_before(settings, number * settings.refresh.0).max(self.next);
            let to = samples_before(settings, (number + 1).saturating_mul(settings.refresh.0)).min(end);
            self.parts.part(number, kept).add(to.saturating_sub(from), count, cwnd, 0);
        }
        self.next = end;
    }

    /// Average at the last refresh. `count` and `cwnd` apply to the samples that are due but not yet taken.
    pub(crate) fn average(&self, settings: &Sampling, now: Nanos, count: u64, cwnd: u64) -> Option<Average> {
        let made = now.0 / settings.refresh.0;
        let from = made.saturating_sub(parts(settings));
        let mut sum = self.parts.sum(from..made);
        let due = samples_before(settings, made * settings.refresh.0)
            .saturating_sub(self.next.max(samples_before(settings, from * settings.refresh.0)));
        sum.add(due, count, cwnd, 0);
        Some(Average {
            cwnd: sum.cwnd.checked_div(sum.count)?,
            rtt: Nanos::ZERO,
            samples: sum.count,
            age: Nanos(now.0 - made * settings.refresh.0),
        })
    }
}

fn parts(settings: &Sampling) -> u64 {
    settings.window.0 / settings.refresh.0
}

/// Number of samples before this time.
fn samples_before(settings: &Sampling, time: u64) -> u64 {
    time.div_ceil(settings.every.0)
}

/// Reports of windows and RTTs, averaged according to [`Estimate`].
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Reports {
    /// Time of the newest report.
    #[cfg_attr(feature = "serde", serde(with = "crate::saved::nanos"))]
    last: Nanos,
    sums: Sums,
}

#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Sums {
    Sliding(Parts),
    /// Sums of weights, windows and RTTs, weighted as of the newest report.
    Decaying {
        weight: f64,
        cwnd: f64,
        rtt: f64,
        count: u64,
    },
}

impl Reports {
    pub(crate) fn new(settings: &Reporting) -> Self {
        let sums = match settings.estimate {
            Estimate::Sliding | Estimate::Fading => Sums::Sliding(Parts::default()),
            Estimate::Decaying => Sums::Decaying { weight: 0.0, cwnd: 0.0, rtt: 0.0, count: 0 },
        };
        Self { last: Nanos::ZERO, sums }
    }

    /// Whether they are averaged as `settings` ask for.
    #[cfg(feature = "serde")]
    pub(crate) fn fits(&self, settings: &Reporting) -> bool {
        matches!(self.sums, Sums::Decaying { .. }) == (settings.estimate == Estimate::Decaying)
    }

    /// Resets the reports.
    pub(crate) fn forget(&mut self) {
        match &mut self.sums {
            Sums::Sliding(parts) => parts.0.clear(),
            Sums::Decaying { weight, cwnd, rtt, count } => {
                (*weight, *cwnd, *rtt, *count) = (0.0, 0.0, 0.0, 0)
            }
        }
    }

    /// Adds a report of a window and an RTT.
    pub(crate) fn note(&mut self, settings: &Reporting, now: Nanos, cwnd: u64, rtt: Nanos) {
        let elapsed = now.saturating_sub(self.last);
        self.last = now.max(self.last);
        match &mut self.sums {
            Sums::Sliding(parts) => parts.part(part_of(settings, now), PARTS).add(1, 1, cwnd, rtt.0),
            Sums::Decaying { weight, cwnd: windows, rtt: rtts, count } => {
                let kept = libm::exp(-(elapsed.0 as f64) / settings.window.0 as f64);
                *weight = *weight * kept + 1.0;
                *windows = *windows * kept + cwnd as f64;
                *rtts = *rtts * kept + rtt.0 as f64;
                *count += 1;
            }
        }
    }

    /// Average at `now`; [`None`] if no report counts any more.
    pub(crate) fn average(&self, settings: &Reporting, now: Nanos) -> Option<Average> {
        let age = now.saturating_sub(self.last);
        let mean = match (&self.sums, settings.estimate) {
            (Sums::Decaying { weight, cwnd, rtt, count }, _) => {
                let [cwnd, rtt] = [cwnd, rtt].map(|sum| (sum / weight) as u64);
                let average = Average { cwnd, rtt: Nanos(rtt), samples: *count, age };
                Some(average).filter(|_| *count > 0 && age <= settings.window)
            }
            (Sums::Sliding(parts), Estimate::Fading) => mean(parts, settings, now).or_else(|| {
                let last = mean(parts, settings, self.last)?;
                let over = age.saturating_sub(settings.window).0 as f64 / settings.window.0 as f64;
                Some(Average { cwnd: (last.cwnd as f64 * libm::exp2(-over)) as u64, ..last })
            }),
            (Sums::Sliding(parts), _) => mean(parts, settings, now),
        };
        mean.map(|mean| Average { age, ..mean })
    }
}

/// Mean of the window that ends at `now`.
fn mean(parts: &Parts, settings: &Reporting, now: Nanos) -> Option<Average> {
    let newest = part_of(settings, now);
    let Part { count, cwnd, rtt, .. } = parts.sum((newest + 1).saturating_sub(PARTS)..newest + 1);
    let cwnd = cwnd.checked_div(count)?;
    Some(Average { cwnd, rtt: Nanos(rtt / count), samples: count, age: Nanos::ZERO })
}

fn part_of(settings: &Reporting, now: Nanos) -> u64 {
    now.0 / (settings.window.0 / PARTS)
}
