//! The trial: planned connections against those that start without the plan, the holdout.
//!
//! 1. **Blocks.** Connections of a size class ([`class`]) form blocks of one held-out connection and four to six planned
//!    ones: the first held-out one, and the newest planned ones at the time when both are there. The kernel chooses
//!    the holdout by lot, so that without an effect every member of a block is equally likely to be the slowest.
//! 2. **Score.** The score of a block is the share of its planned connections that were slower than the held-out one by
//!    more than a fiftieth, less the share of those that were faster. Without harm its mean is at most zero. Only the
//!    order counts, so that the heavy tail of completion times has no influence.
//! 3. **Wealth.** A bet of the share `b` multiplies the wealth by `1 + b score`, whose mean is at most 1 without
//!    harm. The wealth is the mean of three bets, `b` = 0.3, 0.6 and 0.9. By Ville's inequality it ever reaches
//!    `1 / p` with a probability of at most `p`: the test may be looked at after each block (G. Shafer, "Testing by
//!    betting", J. R. Stat. Soc. A 184, 2021). Harm is significant when it does. A trial has at most [`BLOCKS`] blocks;
//!    then a new one begins, so that a path that turns bad late is found too.
//! 4. **Losses.** A second wealth bets on losses: a planned connection counts as worse with more timeouts, or with
//!    equally many and at least two retransmissions more; as better with any fewer.
//! 5. **Effect.** The mean over blocks of ln(planned) - ln(held-out), with the confidence sequence of
//!    I. Waudby-Smith et al., "Time-uniform central limit theory and asymptotic confidence sequences", Ann. Stat. 52,
//!    2024, equation (6): it holds for all blocks at once, asymptotically.

use firstflight_contract::Nanos;
use serde::{Deserialize, Serialize};

use crate::connection::Connection;

/// Size classes: fewer than 10 segments, fewer than 45, fewer than 200, more.
pub const CLASSES: usize = 4;
/// Blocks of a trial.
pub(crate) const BLOCKS: u16 = 256;

/// Size class of a connection. The first holds what the stack's own first window carries.
pub fn class(connection: &Connection) -> usize {
    match connection.bytes / u64::from(connection.mss.max(1)) {
        0..10 => 0,
        10..45 => 1,
        45..200 => 2,
        _ => 3,
    }
}

/// Result of one connection.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    /// Completion time, code of [`coded`].
    time: u16,
    /// Retransmissions up to 127, or 128 and the timeouts.
    losses: u8,
}

impl Outcome {
    fn of(connection: &Connection, unit: Nanos) -> Self {
        let busy = connection.busy.0 / unit.0.max(1);
        let losses = match connection.timeouts {
            0 => connection.retransmits.min(127),
            timeouts => 128 + timeouts.min(127),
        };
        Self { time: coded(busy), losses: losses as u8 }
    }

    /// 1 if it is slower than `other` by more than a fiftieth, -1 if it is faster.
    fn slower(self, other: Self) -> i32 {
        let (own, other_time) = (decoded(self.time), decoded(other.time));
        let worse = own.saturating_sub(other_time) > other_time / 50;
        i32::from(worse) - i32::from(self.time < other.time)
    }

    /// 1 if it lost more than `other`, by a timeout or two retransmissions, -1 if it lost less.
    fn lossier(self, other: Self) -> i32 {
        let margin = if self.losses >= 128 { 0 } else { 1 };
        let worse = self.losses > other.losses.saturating_add(margin);
        i32::from(worse) - i32::from(self.losses < other.losses)
    }
}

/// A number in 16 bits: 11 significant bits and their shift. Greater numbers have greater codes.
fn coded(value: u64) -> u16 {
    let shift = (64 - value.leading_zeros()).saturating_sub(11);
    (shift * 1024) as u16 + (value >> shift) as u16
}

fn decoded(code: u16) -> u64 {
    let shift = (code / 1024).saturating_sub(1).min(50);
    u64::from(code - shift * 1024) << shift
}

/// Most planned connections of a block.
const MOST: usize = 6;
/// Planned connections that complete a block.
const ENOUGH: u8 = 4;

/// A block that is being collected. 24 bytes, with its class.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Block {
    /// Of planned connections and, last, of the held-out one.
    times: [u16; MOST + 1],
    losses: [u8; MOST + 1],
    /// Planned connections.
    count: u8,
    /// Place of the next planned connection.
    next: u8,
    held_out: bool,
}

/// A block with the size class of its connections, in as many bytes: an allocation of 24 bytes has none to spare.
#[derive(Clone, Copy, Debug)]
struct Open {
    times: [u16; MOST + 1],
    losses: [u8; MOST + 1],
    count: u8,
    next: u8,
    /// The class, and [`HELD_OUT`].
    class: u8,
}

/// Bit of [`Open::class`]: the held-out connection is there.
const HELD_OUT: u8 = 0x80;

impl Open {
    fn new(class: usize, block: Block) -> Self {
        let Block { times, losses, count, next, held_out } = block;
        let held_out = if held_out { HELD_OUT } else { 0 };
        Self { times, losses, count, next, class: class as u8 | held_out }
    }

    fn class(&self) -> usize {
        usize::from(self.class & !HELD_OUT)
    }

    fn block(&self) -> Block {
        let Self { times, losses, count, next, class } = *self;
        Block { times, losses, count, next, held_out: class & HELD_OUT != 0 }
    }
}

impl Block {
    fn put(&mut self, at: usize, outcome: Outcome) {
        (self.times[at], self.losses[at]) = (outcome.time, outcome.losses);
    }

    fn at(&self, at: usize) -> Outcome {
        Outcome { time: self.times[at], losses: self.losses[at] }
    }
}

/// Arm of a connection in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// It followed the plan.
    Planned,
    /// It did not.
    Holdout,
}

/// A trial of a prefix, or of the whole host. Most prefixes have few planned connections, all of one size class: a trial has memory
/// for what it knows alone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub(crate) struct Trial {
    /// Blocks that have a connection, one of a class at most.
    open: Box<[Open]>,
    /// Made by the first complete block.
    results: Option<Box<Results>>,
}

/// Results of the complete blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Results {
    slower: Wealth,
    lossier: Wealth,
    blocks: u16,
    effect: Moments,
}

/// A trial as it is saved.
#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    open: [Block; CLASSES],
    slower: Wealth,
    lossier: Wealth,
    blocks: u16,
    effect: Moments,
}

impl From<Trial> for Saved {
    fn from(trial: Trial) -> Self {
        let mut open = [Block::default(); CLASSES];
        trial.open.iter().for_each(|block| open[block.class()] = block.block());
        let Results { slower, lossier, blocks, effect } = trial.results();
        Self { open, slower, lossier, blocks, effect }
    }
}

impl From<Saved> for Trial {
    fn from(saved: Saved) -> Self {
        let Saved { open, slower, lossier, blocks, effect } = saved;
        let open = open.into_iter().enumerate().filter(|(_, block)| block.held_out || block.count > 0);
        let results = Results { slower, lossier, blocks, effect };
        let results = (effect.count > 0 || blocks > 0).then(|| Box::new(results));
        Self { open: open.map(|(class, block)| Open::new(class, block)).collect(), results }
    }
}

/// A trial that may be empty, saved as [`None`] then.
pub(crate) mod optional {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::Trial;

    pub(crate) fn serialize<S: Serializer>(trial: &Trial, to: S) -> Result<S::Ok, S::Error> {
        (!trial.is_empty()).then_some(trial).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Trial, D::Error> {
        Option::<Trial>::deserialize(from).map(Option::unwrap_or_default)
    }
}

impl Trial {
    /// Whether no connection was noted.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.results.is_none()
    }

    fn results(&self) -> Results {
        self.results.as_deref().copied().unwrap_or_default()
    }

    /// Puts a block in the place of that of its class; [`None`] leaves none.
    fn put(&mut self, class: usize, block: Option<Block>) {
        let block = block.map(|block| Open::new(class, block));
        let at = self.open.iter().position(|open| open.class() == class);
        if let (Some(at), Some(block)) = (at, block) {
            self.open[at] = block;
            return;
        }
        let mut open = core::mem::take(&mut self.open).into_vec();
        if let Some(at) = at {
            open.swap_remove(at);
        }
        if let Some(block) = block {
            open.reserve_exact(1);
            open.push(block);
        }
        self.open = open.into_boxed_slice();
    }

    /// Takes a connection; times are counted in `unit`. Returns harm that is significant at the level `false_alarm`.
    pub(crate) fn note(
        &mut self,
        group: Group,
        connection: &Connection,
        unit: Nanos,
        false_alarm: f64,
    ) -> Option<Harm> {
        let outcome = Outcome::of(connection, unit);
        let class = class(connection);
        let found = self.open.iter().find(|open| open.class() == class);
        let mut block = found.map_or_else(Block::default, Open::block);
        match group {
            Group::Holdout if block.held_out => return None,
            Group::Holdout => {
                block.put(MOST, outcome);
                block.held_out = true;
            }
            Group::Planned => {
                block.put(block.next.into(), outcome);
                block.next = (block.next + 1) % MOST as u8;
                block.count = (block.count + 1).min(MOST as u8);
            }
        }
        let complete = block.held_out && block.count >= ENOUGH;
        self.put(class, (!complete).then_some(block));
        if !complete {
            return None;
        }
        let results = self.results.get_or_insert_default();
        if results.blocks == BLOCKS {
            (results.slower, results.lossier, results.blocks) = Default::default();
        }
        results.blocks += 1;
        let held_out = block.at(MOST);
        let planned = || (0..block.count.into()).map(|at| block.at(at));
        let count = f64::from(block.count);
        let score = |compare: fn(Outcome, Outcome) -> i32| {
            f64::from(planned().map(|outcome| compare(outcome, held_out)).sum::<i32>()) / count
        };
        results.slower.bet(score(Outcome::slower));
        results.lossier.bet(score(Outcome::lossier));
        let ln = |outcome: Outcome| libm::log(decoded(outcome.time).max(1) as f64);
        results.effect.note(planned().map(ln).sum::<f64>() / count - ln(held_out));
        self.harm(false_alarm)
    }

    /// Whether its values are in their ranges, after a restore.
    pub(crate) fn is_sound(&self) -> bool {
        let most = MOST as u8;
        let open = self.open.iter().all(|block| block.count <= most && block.next < most);
        let wealth = |wealth: &Wealth| wealth.0.iter().all(|part| part.is_finite() && *part >= 0.0);
        let Results { slower, lossier, blocks, effect } = self.results();
        open && blocks <= BLOCKS && wealth(&slower) && wealth(&lossier) && effect.is_sound()
    }

    /// Reads all of it; the result has no meaning.
    pub(crate) fn touch(&self) -> u32 {
        let open: u32 = self.open.iter().map(|block| u32::from(block.count)).sum();
        open + self.results.as_ref().map_or(0, |results| results.effect.count)
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.open) + self.results.as_deref().map_or(0, size_of_val)
    }

    /// Harm that is significant at this level.
    fn harm(&self, false_alarm: f64) -> Option<Harm> {
        let Results { slower, lossier, .. } = self.results();
        let [slower, lossier] = [slower, lossier].map(|wealth| 2.0 * wealth.bound() <= false_alarm);
        // Each of the two tests has half of the level.
        let kind = if slower { HarmKind::Slower } else { HarmKind::Lossier };
        (slower || lossier).then(|| Harm { kind, verdict: self.verdict() })
    }

    /// The results so far.
    pub(crate) fn verdict(&self) -> Verdict {
        let Results { slower, lossier, effect, .. } = self.results();
        Verdict {
            blocks: effect.count,
            effect: effect.interval().map(|interval| interval.map(libm::exp)),
            slower: slower.bound(),
            lossier: lossier.bound(),
        }
    }
}

/// Wealth of the three bets of rule 3.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Wealth([f32; 3]);

const BETS: [f32; 3] = [0.3, 0.6, 0.9];

impl Default for Wealth {
    fn default() -> Self {
        Self([1.0; 3])
    }
}

impl Wealth {
    fn bet(&mut self, score: f64) {
        for (wealth, bet) in self.0.iter_mut().zip(BETS) {
            *wealth *= 1.0 + bet * score as f32;
        }
    }

    /// Greatest probability, without harm, of a wealth that ever reaches the present one.
    fn bound(&self) -> f64 {
        let mean = f64::from(self.0.iter().sum::<f32>()) / 3.0;
        if mean <= 1.0 { 1.0 } else { 1.0 / mean }
    }
}

/// Count, mean and sum of squared deviations.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Moments {
    count: u32,
    mean: f32,
    squares: f32,
}

/// Probability that the interval misses the effect at any block.
const MISS: f64 = 0.05;
/// Block at which the interval is about as narrow as it can be.
const TIGHT_AT: f64 = 50.0;

impl Moments {
    /// Adds a value: Welford's update.
    pub(crate) fn note(&mut self, value: f64) {
        self.count = self.count.saturating_add(1);
        let (mean, squares) = (f64::from(self.mean), f64::from(self.squares));
        let new = mean + (value - mean) / f64::from(self.count);
        self.squares = (squares + (value - mean) * (value - new)) as f32;
        self.mean = new as f32;
    }

    /// Whether the sums are those of logarithms of times, after a restore: a time has fewer than 2^64 nanoseconds.
    pub(crate) fn is_sound(&self) -> bool {
        const MOST: f32 = 45.0;
        let squares = 0.0..=4.1 * MOST * MOST * self.count as f32;
        self.mean.abs() <= MOST && squares.contains(&self.squares)
    }

    /// Number of values.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Mean; zero without a value.
    pub(crate) fn mean(&self) -> f64 {
        self.mean.into()
    }

    /// Lower end, mean and upper end of the confidence sequence; [`None`] before the third value.
    fn interval(&self) -> Option<[f64; 3]> {
        if self.count < 3 {
            return None;
        }
        let count = f64::from(self.count);
        let deviation = libm::sqrt(f64::from(self.squares) / (count - 1.0));
        let rho = 1.0 / libm::sqrt(TIGHT_AT);
        let spread = count * rho * rho + 1.0;
        let log = libm::log(libm::sqrt(spread) / MISS);
        let half = deviation * libm::sqrt(2.0 * spread / (count * count * rho * rho) * log);
        let mean = f64::from(self.mean);
        Some([mean - half, mean, mean + half])
    }
}

/// Results of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Blocks in all.
    pub blocks: u32,
    /// Geometric mean of planned over held-out completion time between the ends of its 95 % confidence sequence: low,
    /// mean, high; [`None`] before the third block.
    pub effect: Option<[f64; 3]>,
    /// Greatest probability of such evidence if no planned connection were slower.
    pub slower: f64,
    /// Greatest probability of such evidence if planned connections had no more losses.
    pub lossier: f64,
}

/// Significant harm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Harm {
    /// Kind.
    pub kind: HarmKind,
    /// The evidence.
    pub verdict: Verdict,
}

/// Kind of a harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HarmKind {
    /// Planned connections complete later.
    Slower,
    /// Planned connections have more timeouts or retransmissions.
    Lossier,
}
