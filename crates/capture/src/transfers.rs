//! Transfers of a connection: what one side sends until the other side sends again. A connection that is kept alive
//! carries many.
//!
//! The other side's data begins a new transfer only if it acknowledges all data sent before: a client that asks again has
//! the whole answer. Frames that a client sends inside an answer (window updates of HTTP/2) begin none, and answers that
//! are interleaved on one connection count as one, as they do for the congestion window.

use std::collections::BTreeMap;

use crate::side::Side;

/// Transfers in one direction, by size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Number of transfers and their bytes, by the number of their class.
    classes: BTreeMap<u8, (u64, u64)>,
}

/// Transfers of similar size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeClass {
    /// Smallest size of the class, bytes.
    pub from: u64,
    /// Largest size of the class, bytes; less than 1.25 times the smallest, plus a byte.
    pub to: u64,
    /// Number of transfers.
    pub count: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// Classes for each power of two.
const STEPS: u32 = 4;

impl Sizes {
    /// Counts a transfer of `bytes`, which are more than zero.
    pub(crate) fn add(&mut self, bytes: u64) {
        let class = self.classes.entry(class_of(bytes)).or_default();
        class.0 += 1;
        class.1 = class.1.saturating_add(bytes);
    }

    /// The classes with transfers, by size.
    pub fn classes(&self) -> impl Iterator<Item = SizeClass> {
        self.classes.iter().map(|(&class, &(count, bytes))| SizeClass {
            from: least(class.into()),
            to: least(u32::from(class) + 1) - 1,
            count,
            bytes,
        })
    }

    /// Number of transfers.
    pub fn count(&self) -> u64 {
        self.classes.values().map(|(count, _)| count).sum()
    }

    /// Bytes of all transfers.
    pub fn bytes(&self) -> u64 {
        self.classes.values().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }
}

/// Class of a size: its power of two, and the two bits below the highest.
fn class_of(bytes: u64) -> u8 {
    let power = bytes.max(1).ilog2();
    let step = if power >= 2 {
        (bytes >> (power - 2)) as u32 % STEPS
    } else {
        (bytes << (2 - power)) as u32 % STEPS
    };
    (power * STEPS + step) as u8
}

/// Smallest size of a class.
fn least(class: u32) -> u64 {
    let (power, step) = (class / STEPS, u128::from(class % STEPS));
    let bytes = ((u128::from(STEPS) + step) << power).div_ceil(u128::from(STEPS));
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// The transfers of a connection while it is read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exchange {
    /// Side that sends, and the bytes of its transfer so far.
    turn: Option<(Side, u64)>,
    /// Bytes that the other side sent without beginning a transfer.
    pending: u64,
}

impl Exchange {
    /// Counts `bytes` new bytes of `side`; `has_all` says whether their packet acknowledges all data of the other side.
    /// Returns the transfer that they end.
    pub(crate) fn add(&mut self, side: Side, bytes: u64, has_all: bool) -> Option<(Side, u64)> {
        match &mut self.turn {
            Some((turn, sum)) if *turn == side => {
                *sum += bytes;
                None
            }
            Some(_) if !has_all => {
                self.pending += bytes;
                None
            }
            turn => {
                let begun = Some((side, bytes + std::mem::take(&mut self.pending)));
                std::mem::replace(turn, begun)
            }
        }
    }

    /// The transfers that the end of the connection ends.
    pub(crate) fn end(self) -> impl Iterator<Item = (Side, u64)> {
        let other = self.turn.map(|(side, _)| (side.other(), self.pending));
        self.turn.into_iter().chain(other).filter(|(_, bytes)| *bytes > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_sizes_within_a_quarter() {
        // 1000 lies in 896..1024, the last quarter of 512..1024; 1024 begins the next power
        let mut sizes = Sizes::default();
        [1, 1000, 1023, 1024, 1_000_000].into_iter().for_each(|bytes| sizes.add(bytes));
        let classes: Vec<_> =
            sizes.classes().map(|class| (class.from, class.to, class.count, class.bytes)).collect();
        assert_eq!(
            classes,
            [(1, 1, 1, 1), (896, 1023, 2, 2023), (1024, 1279, 1, 1024), (917_504, 1_048_575, 1, 1_000_000)]
        );
        assert_eq!((sizes.count(), sizes.bytes()), (5, 1_003_048));
    }

    #[test]
    fn every_size_lies_in_its_class() {
        let around =
            (0..64).flat_map(|power| [(1u64 << power) - 1, 1 << power, (1 << power) + 1, 3 << (power / 2)]);
        for bytes in around.chain([u64::MAX]).filter(|bytes| *bytes > 0) {
            let mut sizes = Sizes::default();
            sizes.add(bytes);
            let class = sizes.classes().next().unwrap();
            assert!(class.from <= bytes && (bytes <= class.to || bytes == u64::MAX), "{bytes} {class:?}");
            assert!(u128::from(class.to) < u128::from(class.from) * 5 / 4 + 2, "{class:?}");
        }
    }

    #[test]
    fn each_answer_of_a_connection_kept_alive_is_a_transfer() {
        use Side::{First, Second};
        let mut exchange = Exchange::default();
        assert_eq!(exchange.add(First, 300, true), None);
        assert_eq!(exchange.add(Second, 1000, true), Some((First, 300)));
        assert_eq!(exchange.add(Second, 500, true), None);
        // a frame inside the answer, which is then part of the next request
        assert_eq!(exchange.add(First, 13, false), None);
        assert_eq!(exchange.add(Second, 500, true), None);
        assert_eq!(exchange.add(First, 200, true), Some((Second, 2000)));
        assert_eq!(exchange.add(Second, 40, true), Some((First, 213)));
        assert_eq!(exchange.end().collect::<Vec<_>>(), [(Second, 40)]);
    }
}
