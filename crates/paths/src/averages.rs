//! Averages over a sliding window, in constant space: the window is a ring of equal parts, each a sum.

use firstflight_control::units::Nanos;

use crate::settings::{Estimate, Reporting, Sampling};

/// The parts SPAND's window is made of: it reaches back over between nine and ten of them.
pub(crate) const PARTS: u64 = 10;
/// Most parts of a sampled window.
pub(crate) const MOST_PARTS: u64 = 60;

/// Sums over the values of one part.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
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

/// Parts of equal length, numbered from time zero; the newest few are kept.
#[derive(Clone, Debug)]
struct Ring {
    newest: u64,
    parts: Box<[Part]>,
}

impl Ring {
    fn of(parts: u64) -> Self {
        Self { newest: 0, parts: vec![Part::default(); parts as usize].into() }
    }

    fn kept(&self) -> u64 {
        self.parts.len() as u64
    }

    /// The part of this number, all that is too old for it forgotten; a part no longer kept counts as the oldest.
    fn part(&mut self, number: u64) -> &mut Part {
        let kept = self.kept();
        for fresh in (self.newest + 1..=number).rev().take(kept as usize) {
            self.parts[(fresh % kept) as usize] = Part::default();
        }
        self.newest = self.newest.max(number);
        let number = number.max((self.newest + 1).saturating_sub(kept));
        &mut self.parts[(number % kept) as usize]
    }

    /// The sums of the parts with these numbers, as far as they are kept.
    fn sum(&self, numbers: core::ops::Range<u64>) -> Part {
        let oldest = (self.newest + 1).saturating_sub(self.kept());
        let mut sum = Part::default();
        for number in numbers.start.max(oldest)..numbers.end.min(self.newest + 1) {
            let part = self.parts[(number % self.kept()) as usize];
            sum.add(1, part.count, part.cwnd, part.rtt);
        }
        sum
    }
}

/// An average and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Average {
    /// Mean window, bytes.
    pub cwnd: u64,
    /// Mean RTT of the values that had one; zero if none had.
    pub rtt: Nanos,
    /// How many values.
    pub samples: u64,
    /// Time since it was made.
    pub age: Nanos,
}

/// Every live window, sampled at multiples of a second: exact, since windows are constant between events.
#[derive(Clone, Debug)]
pub(crate) struct Sampled {
    /// Samples taken so far, by number from time zero: this is the next.
    next: u64,
    ring: Ring,
}

impl Sampled {
    pub(crate) fn new(settings: &Sampling) -> Self {
        Self { next: 0, ring: Ring::of(parts(settings) + 1) }
    }

    /// Takes the samples due up to `now`: until then the live connections were `count`, their windows `cwnd` together.
    #[inline]
    pub(crate) fn advance(&mut self, settings: &Sampling, now: Nanos, count: u64, cwnd: u64) {
        if self.next.saturating_mul(settings.every.0) <= now.0 {
            self.take(settings, now, count, cwnd);
        }
    }

    #[cold]
    fn take(&mut self, settings: &Sampling, now: Nanos, count: u64, cwnd: u64) {
        let end = now.0 / settings.every.0 + 1;
        let last = now.0 / settings.refresh.0;
        let first = (self.next * settings.every.0 / settings.refresh.0)
            .max((last + 1).saturating_sub(self.ring.kept()));
        for number in first..=last {
            let from = samples_before(settings, number * settings.refresh.0).max(self.next);
            let to = samples_before(settings, (number + 1).saturating_mul(settings.refresh.0)).min(end);
            self.ring.part(number).add(to.saturating_sub(from), count, cwnd, 0);
        }
        self.next = end;
    }

    /// The average as it was last made anew. `count` and `cwnd` hold for the samples due and not yet taken.
    pub(crate) fn average(&self, settings: &Sampling, now: Nanos, count: u64, cwnd: u64) -> Option<Average> {
        let made = now.0 / settings.refresh.0;
        let from = made.saturating_sub(parts(settings));
        let mut sum = self.ring.sum(from..made);
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

/// How many samples lie before this time.
fn samples_before(settings: &Sampling, time: u64) -> u64 {
    time.div_ceil(settings.every.0)
}

/// Reports of windows and RTTs, averaged as [`Estimate`] says.
#[derive(Clone, Debug)]
pub(crate) struct Reports {
    /// When the newest came.
    last: Nanos,
    /// The mean when it came.
    mean: Option<Average>,
    sums: Sums,
}

#[derive(Clone, Debug)]
enum Sums {
    Ring(Ring),
    /// Sums of weights, of windows and of RTTs, as weighted when the newest report came.
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
            Estimate::Sliding | Estimate::Fading => Sums::Ring(Ring::of(PARTS)),
            Estimate::Decaying => Sums::Decaying { weight: 0.0, cwnd: 0.0, rtt: 0.0, count: 0 },
        };
        Self { last: Nanos::ZERO, mean: None, sums }
    }

    /// A window and an RTT were reported.
    pub(crate) fn note(&mut self, settings: &Reporting, now: Nanos, cwnd: u64, rtt: Nanos) {
        let elapsed = now.saturating_sub(self.last);
        self.last = now.max(self.last);
        match &mut self.sums {
            Sums::Ring(ring) => ring.part(part_of(settings, now)).add(1, 1, cwnd, rtt.0),
            Sums::Decaying { weight, cwnd: windows, rtt: rtts, count } => {
                let kept = libm::exp(-(elapsed.0 as f64) / settings.window.0 as f64);
                *weight = *weight * kept + 1.0;
                *windows = *windows * kept + cwnd as f64;
                *rtts = *rtts * kept + rtt.0 as f64;
                *count += 1;
            }
        }
        self.mean = self.mean_at(settings, self.last);
    }

    /// What the reports say at `now`.
    pub(crate) fn average(&self, settings: &Reporting, now: Nanos) -> Option<Average> {
        let age = now.saturating_sub(self.last);
        let mean = match settings.estimate {
            Estimate::Sliding => self.mean_at(settings, now)?,
            Estimate::Decaying => self.mean.filter(|_| age <= settings.window)?,
            Estimate::Fading => self.mean_at(settings, now).or_else(|| {
                let over = age.saturating_sub(settings.window).0 as f64 / settings.window.0 as f64;
                let mean = self.mean?;
                Some(Average { cwnd: (mean.cwnd as f64 * libm::exp2(-over)) as u64, ..mean })
            })?,
        };
        Some(Average { age, ..mean })
    }

    fn mean_at(&self, settings: &Reporting, now: Nanos) -> Option<Average> {
        let age = Nanos::ZERO;
        match &self.sums {
            Sums::Ring(ring) => {
                let newest = part_of(settings, now);
                let Part { count, cwnd, rtt } = ring.sum((newest + 1).saturating_sub(PARTS)..newest + 1);
                let cwnd = cwnd.checked_div(count)?;
                Some(Average { cwnd, rtt: Nanos(rtt / count), samples: count, age })
            }
            Sums::Decaying { weight, cwnd, rtt, count } => {
                let rtt = Nanos((rtt / weight) as u64);
                (*count > 0).then(|| Average { cwnd: (cwnd / weight) as u64, rtt, samples: *count, age })
            }
        }
    }
}

fn part_of(settings: &Reporting, now: Nanos) -> u64 {
    now.0 / (settings.window.0 / PARTS)
}
