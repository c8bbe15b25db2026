//! Rows that the tables of the format are made of.

use super::{Absent, Floor, Key, Kind, Range};

pub(super) const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, absent: Absent::Refused, doc }
}

pub(super) const fn optional(name: &'static str, kind: Kind, means: &'static str, doc: &'static str) -> Key {
    Key { name, kind, absent: Absent::Means(means), doc }
}

pub(super) const fn habit(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, absent: Absent::Profile, doc }
}

pub(super) const fn words(words: &'static [&'static str]) -> Kind {
    Kind::Word(words)
}

/// Keys of two lists.
pub(super) const fn joined<const N: usize>(first: &[Key], second: &[Key]) -> [Key; N] {
    let mut all = [first[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
        i += 1;
    }
    all
}

pub(super) const PROBABILITY: Range = Range { min: 0.0, min_taken: true, max: 1.0, max_taken: false };
pub(super) const FRACTION: Range = Range { min: 0.0, min_taken: false, max: 1.0, max_taken: true };
// A Pareto variable has no finite mean at a shape of 1 or below, and is constant to four digits at 10 000.
pub(super) const SHAPE: Range = Range { min: 1.0, min_taken: false, max: 10_000.0, max_taken: true };

pub(super) const TIME: Kind = Kind::Time(Floor::AboveZero);
pub(super) const TIME_OR_ZERO: Kind = Kind::Time(Floor::Zero);
pub(super) const DELAY: Kind = Kind::Delay(Floor::Zero);
