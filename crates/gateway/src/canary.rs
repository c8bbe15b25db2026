//! A canary: plans in force for a share of the networks first, and for more of them while planned connections do no worse than those
//! that are held out.
//!
//! 1. **Share.** A keyed hash of a network decides whether it is among a share. The networks of a share are among every greater one, so
//!    that a network stays in.
//! 2. **Ramp.** A step lasts for its time, and until [`Rules::evidence`] held-out connections were compared in it. Its time is that of a
//!    running gateway with plans in force; a restart neither shortens nor lengthens it.
//! 3. **Comparison.** Planned connections are compared with the held-out ones of the same step, whose start is drawn by lot. It is done
//!    when a step has 1, 2, 4, 8 … times the evidence of held-out connections. The steps share an error of [`ERROR`], the looks of a
//!    step share its part as 1/2, 1/6, 1/12 …, and the five tests of a look share its part evenly (Bonferroni). So a ramp without
//!    harm beyond its bounds is stopped with a probability of at most [`ERROR`].
//! 4. **Retransmissions.** The share of segments that were retransmitted, planned less held out, with the standard error of a ratio of
//!    sums over connections: segments of one connection are not independent.
//! 5. **Times.** The 95th percentile of completion times in each size class, with bounds by order statistics, which assume no
//!    distribution. A class with fewer than 59 connections in a group has no upper bound at 95 %, and so no evidence.
//! 6. **End.** If the lower end of an interval is beyond its bound, the canary stops: no network is in it.

use core::fmt;

use firstflight_contract::Nanos;
use firstflight_paths::{Destination, Prefix};
use firstflight_random::normal;
use serde::{Deserialize, Serialize};

use crate::connection::{Arm, Connection, Stage};
use crate::serial;
use crate::table::hash;
use crate::trial::{CLASSES, class};

/// Probability that a ramp without harm beyond its bounds is stopped, at most.
pub(crate) const ERROR: f64 = 0.05;
/// Tests of one look: retransmissions, and the times of each size class.
const TESTS: f64 = 1.0 + CLASSES as f64;
/// Share of every network, thousandths.
pub const WHOLE: u16 = 1000;
/// Longest time by which one tick lets a step run: a longer one is a pause of the gateway.
const LONGEST_TICK: Nanos = Nanos::from_secs(60);
/// Most steps of a ramp.
pub(crate) const MOST_STEPS: usize = 16;

/// Rules of a canary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Local ports whose connections may have plans; empty for every port.
    pub ports: Vec<u16>,
    /// Folders of the cgroups whose connections may have plans; empty for every cgroup that the gateway sees.
    pub cgroups: Vec<String>,
    /// Steps, each with a greater share than the one before.
    pub ramp: Vec<Step>,
    /// Most by which the retransmitted share of segments may be greater than that of the held-out connections, percentage points.
    pub retransmissions: f64,
    /// Most by which a 95th percentile of completion times may be later than that of the held-out connections, per cent.
    pub p95: f64,
    /// Held-out connections that a comparison needs.
    pub evidence: u32,
}

/// A step of a ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Share of the networks, thousandths.
    pub share: u16,
    /// Its time; [`None`] without an end.
    pub time: Option<Span>,
}

/// A time in the saved state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span(#[serde(with = "serial::nanos")] pub Nanos);

/// A change of the share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The next step began.
    Next,
    /// The last step is over: its share stays.
    Finished,
    /// Planned connections did worse, for this reason.
    Stopped(String),
}

/// Phase of a canary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// A step is under way.
    Running,
    /// It ended at this wall time, and the share of the last step stays.
    Finished(u64),
    /// It ended at this wall time for this reason, and no network has a plan.
    Stopped(u64, String),
}

/// A canary and what it has seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Canary {
    rules: Rules,
    /// Key of the hash of networks.
    key: u64,
    /// Wall time of its beginning, nanoseconds since 1970.
    begun: u64,
    phase: Phase,
    /// Steps that have begun.
    steps: Vec<Course>,
    /// Time of the newest tick since boot.
    #[serde(skip)]
    ticked: Option<Nanos>,
}

/// Course of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Course {
    /// Wall time of its beginning, nanoseconds since 1970.
    pub begun: u64,
    /// Time for which it ran.
    pub ran: Span,
    /// Comparisons that were made.
    looks: u32,
    planned: Group,
    holdout: Group,
}

/// Connections of one group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    connections: u64,
    sent: u64,
    retransmits: u64,
    /// Sums over connections of squares and products, for the error of a ratio.
    sent_squared: f64,
    product: f64,
    retransmits_squared: f64,
    times: [Times; CLASSES],
}

/// Completion times, counted by place: 32 to a doubling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Times(std::collections::BTreeMap<u16, u64>);

/// Parts of a doubling.
const PARTS: u16 = 32;

impl Times {
    fn note(&mut self, time: Nanos) {
        // 5 bits behind the first one.
        let time = time.0.max(u64::from(PARTS));
        let shift = 63 - time.leading_zeros() - 5;
        let place = shift as u16 * PARTS + (time >> shift) as u16 - PARTS;
        *self.0.entry(place).or_default() += 1;
    }

    /// Least and greatest time of a place, nanoseconds.
    fn bounds(place: u16) -> (f64, f64) {
        let (shift, part) = (place / PARTS, place % PARTS + PARTS);
        let unit = libm::exp2(f64::from(shift));
        (f64::from(part) * unit, f64::from(part + 1) * unit)
    }

    fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// Place of the value with this rank, of which the least is 1.
    fn at(&self, rank: u64) -> Option<u16> {
        let mut seen = 0;
        self.0
            .iter()
            .find(|(_, count)| {
                seen += *count;
                seen >= rank
            })
            .map(|(place, _)| *place)
    }
}

impl Group {
    fn note(&mut self, connection: &Connection) {
        let (sent, lost) = (f64::from(connection.sent), f64::from(connection.retransmits));
        self.connections += 1;
        self.sent = self.sent.saturating_add(connection.sent.into());
        self.retransmits = self.retransmits.saturating_add(connection.retransmits.into());
        self.sent_squared += sent * sent;
        self.product += sent * lost;
        self.retransmits_squared += lost * lost;
        self.times[class(connection)].note(connection.busy);
    }

    /// Retransmitted share of the segments, and the variance of this ratio of sums.
    fn retransmitted(&self) -> Option<(f64, f64)> {
        if self.sent == 0 {
            return None;
        }
        let sent = self.sent as f64;
        let ratio = self.retransmits as f64 / sent;
        let squares =
            self.retransmits_squared - 2.0 * ratio * self.product + ratio * ratio * self.sent_squared;
        Some((ratio, squares.max(0.0) / (sent * sent)))
    }

    fn is_sound(&self) -> bool {
        let sums = [self.sent_squared, self.product, self.retransmits_squared];
        let places = self.times.iter().flat_map(|times| times.0.keys()).all(|place| *place < 59 * PARTS);
        // The rank of a percentile is a number of 64 bits.
        let mut counts = self.times.iter().flat_map(|times| times.0.values());
        let count = counts.try_fold(0_u64, |sum, count| sum.checked_add(*count));
        sums.iter().all(|sum| sum.is_finite() && *sum >= 0.0)
            && places
            && count.is_some_and(|count| count <= self.connections)
            && self.connections <= MOST
    }
}

/// Most connections of a group in a saved canary: a million a second for 2000 years.
const MOST: u64 = 1 << 56;

/// A figure of both groups, and the interval of their difference or ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// Of planned connections.
    pub planned: f64,
    /// Of held-out ones.
    pub holdout: f64,
    /// Ends of the interval; the upper one may be infinite.
    pub interval: (f64, f64),
    /// Whether the whole interval is beyond the bound.
    pub worse: bool,
}

/// Comparison of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Planned and held-out connections.
    pub connections: (u64, u64),
    /// Retransmitted share of the segments, per cent; the interval is that of the difference.
    pub retransmissions: Option<Compared>,
    /// 95th percentile of the completion times of each size class, seconds; the interval is that of the ratio. [`None`] without
    /// enough connections for an interval.
    pub p95: [Option<Compared>; CLASSES],
}

/// Most values of which the ranks are exact; those of more have a deviation of 69 ranks at least, which the normal distribution describes.
const EXACT: u64 = 100_000;

/// Ranks between which the 95th percentile of `count` values lies: below the first one, and above the second one, with a probability of
/// at most `error` each. [`None`] where too few values bound it.
fn ranks(count: u64, error: f64) -> (Option<u64>, Option<u64>) {
    const Q: f64 = 0.95;
    let n = count as f64;
    if count > EXACT {
        let half = -normal::quantile(error) * libm::sqrt(n * Q * (1.0 - Q));
        let (low, high) = (libm::floor(n * Q - half) as u64, libm::ceil(n * Q + half) as u64 + 1);
        return (Some(low).filter(|rank| *rank > 0), Some(high).filter(|rank| *rank <= count));
    }
    // Logarithm of the probability that all values are below the percentile.
    let (mut term, mut tail, mut upper) = (n * libm::log(Q), 0.0, None);
    for below in (0..=count).rev() {
        tail += libm::exp(term);
        if tail <= error {
            upper = Some(below);
        }
        if tail >= 1.0 - error {
            return (Some(below).filter(|rank| *rank > 0), upper.filter(|rank| *rank > 0));
        }
        let k = below as f64;
        term += libm::log(k) - libm::log(n - k + 1.0) + libm::log((1.0 - Q) / Q);
    }
    (None, upper)
}

impl Canary {
    /// A canary that begins now, with its first step. `key` is that of the hash of networks, `wall` the nanoseconds since 1970.
    pub fn begin(rules: Rules, key: u64, wall: u64) -> Self {
        Self { rules, key, begun: wall, phase: Phase::Running, steps: vec![Course::new(wall)], ticked: None }
    }

    /// Its rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Its phase.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Wall time of its beginning, nanoseconds since 1970.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// The steps that have begun, each with its rule.
    pub fn steps(&self) -> impl Iterator<Item = (&Step, &Course)> {
        self.rules.ramp.iter().zip(&self.steps)
    }

    /// Share of the networks that may have plans now, thousandths.
    pub fn share(&self) -> u16 {
        match self.phase {
            Phase::Stopped(..) => 0,
            _ => self.steps().last().map_or(0, |(step, _)| step.share),
        }
    }

    /// Whether a network may have a plan now.
    pub fn has(&self, network: &Prefix) -> bool {
        let place = hash(self.key, Destination::from(network.first()).0, network.length());
        // The hash has 64 bits: the remainder is uniform to 1 in 10^16.
        place % u64::from(WHOLE) < u64::from(self.share())
    }

    /// Takes a connection. One whose plan made no difference is in no group.
    pub fn report(&mut self, connection: &Connection) {
        if self.phase != Phase::Running || connection.stage != Stage::Ended || !connection.arm.is_compared() {
            return;
        }
        let Some(course) = self.steps.last_mut() else { return };
        match connection.arm {
            Arm::Planned(_) => course.planned.note(connection),
            Arm::Holdout(_) => course.holdout.note(connection),
            Arm::Stock => {}
        }
    }

    /// Lets time pass: `now` since boot, and `wall` since 1970 for what is shown. `in_force` is whether plans are used at all.
    pub fn tick(&mut self, now: Nanos, wall: u64, in_force: bool) -> Option<Change> {
        let passed = self.ticked.map_or(Nanos::ZERO, |before| now.saturating_sub(before).min(LONGEST_TICK));
        self.ticked = Some(now);
        if self.phase != Phase::Running {
            return None;
        }
        let at = self.steps.len() - 1;
        let (rule, course) = (self.rules.ramp[at], &mut self.steps[at]);
        if in_force {
            course.ran = Span(course.ran.0.saturating_add(passed));
        }
        let (evidence, held) = (u64::from(self.rules.evidence), course.holdout.connections);
        if held >= evidence.saturating_mul(1 << course.looks.min(40)) {
            course.looks += 1;
            if let Some(why) = self.worse(at) {
                self.stop(wall, why.clone());
                return Some(Change::Stopped(why));
            }
        }
        let over = rule.time.is_some_and(|time| self.steps[at].ran.0 >= time.0) && held >= evidence;
        if !over {
            return None;
        }
        if at + 1 == self.rules.ramp.len() {
            self.phase = Phase::Finished(wall);
            return Some(Change::Finished);
        }
        self.steps.push(Course::new(wall));
        Some(Change::Next)
    }

    /// Ends it for a reason: no network has a plan.
    pub fn stop(&mut self, wall: u64, why: String) {
        self.phase = Phase::Stopped(wall, why);
    }

    /// Level of each test of a look, in each direction.
    fn level(&self, look: u32) -> f64 {
        let look = f64::from(look.max(1));
        ERROR / self.rules.ramp.len() as f64 / (look * (look + 1.0)) / TESTS
    }

    /// The comparison of the step at this place, with intervals of the newest look's level.
    pub fn compare(&self, at: usize) -> Option<Comparison> {
        let course = self.steps.get(at)?;
        let (planned, holdout, level) = (&course.planned, &course.holdout, self.level(course.looks));
        let retransmissions =
            planned.retransmitted().zip(holdout.retransmitted()).map(|(planned, holdout)| {
                let half = -normal::quantile(level) * libm::sqrt(planned.1 + holdout.1);
                let (own, other) = (100.0 * planned.0, 100.0 * holdout.0);
                let interval = (own - other - 100.0 * half, own - other + 100.0 * half);
                Compared {
                    planned: own,
                    holdout: other,
                    interval,
                    worse: interval.0 > self.rules.retransmissions,
                }
            });
        let most = 1.0 + self.rules.p95 / 100.0;
        let p95 =
            core::array::from_fn(|class| p95(&planned.times[class], &holdout.times[class], level, most));
        Some(Comparison { connections: (planned.connections, holdout.connections), retransmissions, p95 })
    }

    /// The reason for which planned connections of a step do worse.
    fn worse(&self, at: usize) -> Option<String> {
        let found = self.compare(at)?;
        if let Some(Compared { planned, holdout, interval, worse: true }) = found.retransmissions {
            return Some(format!(
                "planned connections retransmit {planned:.2} % of their segments, held-out ones {holdout:.2} %: the difference is at least \
                 {:.2} points, and {:.2} are allowed",
                interval.0, self.rules.retransmissions
            ));
        }
        let class = found.p95.iter().position(|found| found.is_some_and(|found| found.worse))?;
        let Compared { planned, holdout, interval, .. } = found.p95[class]?;
        Some(format!(
            "the 95th percentile of connections of {} is {planned:.3} s, of held-out ones {holdout:.3} s: at least {:.1} % later, and \
             {:.1} % are allowed",
            SIZES[class],
            100.0 * (interval.0 - 1.0),
            self.rules.p95
        ))
    }

    /// Reason for which the present step goes on, in words; [`None`] if none is under way.
    pub fn waits_for(&self) -> Option<String> {
        if self.phase != Phase::Running {
            return None;
        }
        let (rule, course) = self.steps().last()?;
        let missing = u64::from(self.rules.evidence).saturating_sub(course.holdout.connections);
        Some(match rule.time {
            None => "an order: its last step has no end".to_owned(),
            Some(time) if course.ran.0 < time.0 => {
                format!("{} s of its time", time.0.saturating_sub(course.ran.0).0.div_ceil(1_000_000_000))
            }
            Some(_) => format!("{missing} more held-out connections"),
        })
    }

    /// Whether a saved canary can be one: its values are in their ranges.
    pub fn is_sound(&self) -> bool {
        let begun = (1..=self.rules.ramp.len()).contains(&self.steps.len());
        let groups = self.steps.iter().flat_map(|course| [&course.planned, &course.holdout]);
        begun && self.rules.check().is_ok() && groups.into_iter().all(Group::is_sound)
    }
}

impl Course {
    fn new(wall: u64) -> Self {
        let (planned, holdout) = Default::default();
        Self { begun: wall, ran: Span::default(), looks: 0, planned, holdout }
    }
}

/// Names of the size classes.
pub const SIZES: [&str; CLASSES] =
    ["fewer than 10 segments", "10 to 44 segments", "45 to 199 segments", "200 segments or more"];

/// The 95th percentiles of both groups, and the interval of their ratio.
fn p95(planned: &Times, holdout: &Times, level: f64, most: f64) -> Option<Compared> {
    let middle = |times: &Times| {
        let (low, high) = Times::bounds(times.at((95 * times.count()).div_ceil(100).max(1))?);
        Some((low + high) / 2.0)
    };
    // The two ends of a ratio share its level.
    let of = |times: &Times| ranks(times.count(), level / 2.0);
    let ((low, high), (other_low, other_high)) = (of(planned), of(holdout));
    let least = |times: &Times, rank: u64| times.at(rank).map(|place| Times::bounds(place).0);
    let greatest = |times: &Times, rank: u64| times.at(rank).map(|place| Times::bounds(place).1);
    let low = least(planned, low?)? / greatest(holdout, other_high?)?;
    let high = high
        .zip(other_low)
        .and_then(|(own, other)| Some(greatest(planned, own)? / least(holdout, other)?))
        .unwrap_or(f64::INFINITY);
    let seconds = |time: f64| time / 1e9;
    Some(Compared {
        planned: seconds(middle(planned)?),
        holdout: seconds(middle(holdout)?),
        interval: (low, high),
        worse: low > most,
    })
}

/// Why rules are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Key of the configuration.
    pub key: &'static str,
    /// The problem.
    pub why: String,
    /// The expected value.
    pub expected: &'static str,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "canary.{}: {}; expected {}", self.key, self.why, self.expected)
    }
}

impl Rules {
    /// Checks the ramp: shares grow, and each step but the last one has a time.
    ///
    /// # Errors
    /// [`Wrong`].
    pub fn check(&self) -> Result<(), Wrong> {
        let wrong = |why: String, expected| Err(Wrong { key: "ramp", why, expected });
        if !(1..=MOST_STEPS).contains(&self.ramp.len()) {
            return wrong(format!("it has {} steps", self.ramp.len()), "1 to 16 steps");
        }
        for (number, step) in self.ramp.iter().enumerate() {
            if !(1..=WHOLE).contains(&step.share) {
                return wrong(format!("step {}: the share is out of range", number + 1), "0.1 % to 100 %");
            }
            if number > 0 && step.share <= self.ramp[number - 1].share {
                return wrong(
                    format!("step {}: its share is no greater than the one before", number + 1),
                    "shares that grow",
                );
            }
            if step.time.is_none() && number + 1 < self.ramp.len() {
                return wrong(
                    format!("step {} has no time", number + 1),
                    "a time for each step but the last one",
                );
            }
        }
        let finite = |number: f64| number.is_finite() && number >= 0.0;
        match finite(self.retransmissions) && finite(self.p95) && self.evidence > 0 {
            true => Ok(()),
            false => Err(Wrong {
                key: "evidence",
                why: "a bound is out of range".into(),
                expected: "bounds of zero or more",
            }),
        }
    }

    /// Reads a ramp such as `1 % 60 min, 5 % 240 min, 100 %`.
    ///
    /// # Errors
    /// The problem and the expected value.
    pub fn ramp(text: &str) -> Result<Vec<Step>, (String, &'static str)> {
        const EXPECTED: &str = "steps as in \"1 % 60 min, 5 % 240 min, 100 %\"";
        let steps = text.split(',').map(|step| {
            let (share, time) =
                step.split_once('%').ok_or((format!("\"{}\" has no share", step.trim()), EXPECTED))?;
            let number: f64 =
                share.trim().parse().map_err(|_| (format!("\"{}\" is no share", share.trim()), EXPECTED))?;
            let thousandths = number * 10.0;
            if !(1.0..=1000.0).contains(&thousandths) || (thousandths - libm::round(thousandths)).abs() > 1e-6
            {
                return Err((
                    format!("{} % is out of range", share.trim()),
                    "0.1 % to 100 %, in steps of 0.1 %",
                ));
            }
            let time = match time.trim() {
                "" => None,
                time => match firstflight_document::quantity::parse_time(time) {
                    Ok(time) if time > Nanos::ZERO => Some(Span(time)),
                    Ok(_) => return Err((format!("\"{time}\" is no time of a step"), "a time above zero")),
                    Err(_) => return Err((format!("\"{time}\" is no time of a step"), EXPECTED)),
                },
            };
            Ok(Step { share: libm::round(thousandths) as u16, time })
        });
        steps.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_95th_percentile_is_bounded_from_above_by_59_values() {
        // S. S. Wilks 1941: 0.95^59 = 0.0485, 0.95^58 = 0.0510. The greatest of 59 values is above the percentile at 95 %, and that of 58 is
        // not; the second greatest is from 93 values on: 0.95^93 + 93 * 0.05 * 0.95^92 = 0.0500.
        assert_eq!(ranks(58, 0.05).1, None);
        assert_eq!(ranks(59, 0.05).1, Some(59));
        assert_eq!(ranks(92, 0.05).1, Some(92));
        assert_eq!(ranks(93, 0.05).1, Some(92));
        // Large counts: 95 000 +- 1.645 sqrt(100 000 * 0.95 * 0.05), to a few ranks.
        let (low, high) = ranks(100_000, 0.05);
        let (low, high) = (low.expect("many values") as f64, high.expect("many values") as f64);
        let half = 1.644_854 * libm::sqrt(4750.0);
        assert!(
            (low - (95_000.0 - half)).abs() < 3.0 && (high - (95_000.0 + half)).abs() < 3.0,
            "{low} {high}"
        );
        assert_eq!(ranks(0, 0.05), (None, None));
    }

    #[test]
    fn places_of_times_are_a_32nd_wide_at_most() {
        let mut times = Times::default();
        for time in [1, 31, 32, 33, 1000, 1_000_000, 123_456_789, u64::MAX] {
            let mut one = Times::default();
            one.note(Nanos(time));
            times.note(Nanos(time));
            let (low, high) = Times::bounds(one.at(1).expect("a value"));
            let time = time.max(32) as f64;
            assert!(low <= time && time <= high && high - low <= low / 32.0, "{time}: {low} {high}");
        }
        assert_eq!((times.count(), times.at(9)), (8, None));
        assert!(times.at(8) > times.at(7));
    }
}
