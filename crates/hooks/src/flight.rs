//! Data in flight to the prefixes of a line: the word of `bpf/flight.h`.

use firstflight_contract::Nanos;

/// Counts of a word, and the bits of each.
const COUNTS: u32 = 4;
const BITS: u32 = 11;
const MOST: u64 = (1 << BITS) - 1;
/// Places of the number of the unit and of the newest part of time.
const UNIT_AT: u32 = COUNTS * BITS;
const PART_AT: u32 = 48;
/// Exponent of the shortest unit, nanoseconds.
const LEAST_UNIT: u32 = 20;

/// Segments that a word counts at this time: those of parts that are not over.
pub(crate) fn segments(word: u64, now: Nanos) -> u32 {
    let unit = (word >> UNIT_AT & 15) as u32;
    let newest = (word >> PART_AT) as u16;
    let passed = ((now.0 >> (LEAST_UNIT + unit)) as u16).wrapping_sub(newest);
    // Another processor was later by a moment.
    let passed = if passed >= 0xfffe { 0 } else { u32::from(passed) };
    let counted = (passed.min(COUNTS)..COUNTS).map(|age| {
        let part = u32::from(newest).wrapping_add(COUNTS).wrapping_sub(age - passed);
        (word >> (part % COUNTS * BITS) & MOST) as u32
    });
    counted.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word with these counts for the parts that end with `newest`, oldest first.
    fn word(unit: u64, newest: u16, counts: [u64; 4]) -> u64 {
        let parts = (0..4).map(|at| (u64::from(newest.wrapping_sub(3 - at)), counts[usize::from(at)]));
        parts
            .fold(unit << 44 | u64::from(newest) << 48, |word, (part, count)| word | count << (part % 4 * 11))
    }

    #[test]
    fn a_count_is_dropped_when_four_parts_have_passed() {
        // A unit of 2^25 ns, 33.6 ms. The parts 97 to 100 have 1, 20, 300 and 2000 segments.
        let word = word(5, 100, [1, 20, 300, 2000]);
        let at = |part: u64| segments(word, Nanos((part << 25) + 7));
        assert_eq!([100, 101, 102, 103, 104, 105].map(at), [2321, 2320, 2300, 2000, 0, 0]);
        // A processor whose clock was read before the part began.
        assert_eq!(at(99), 2321);
    }

    #[test]
    fn the_numbers_of_parts_go_round() {
        let word = word(0, 1, [4, 5, 6, 7]);
        let at = |part: u64| segments(word, Nanos((0x10000 + part) << 20));
        assert_eq!([1, 2, 3, 4, 5].map(at), [22, 18, 13, 7, 0]);
    }
}
