//! Records of the segments in flight, in rings: the time of the last departure and the marks, one word for each segment.

/// The segment was sent more than once.
pub(crate) const RETRANSMITTED: u64 = 1;
/// The receiver reported to hold it.
pub(crate) const SACKED: u64 = 2;
/// It was declared lost.
pub(crate) const LOST: u64 = 4;
/// It was declared lost and retransmitted, and that retransmission is in flight.
pub(crate) const RETRANS: u64 = 8;
/// Bits of a word that are not time.
const BITS: u32 = 4;

/// Places of a ring at first: room for a first flight of the usual size.
const FIRST: usize = 16;

/// A ring with one entry for each segment in flight, by segment number.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T>(Vec<T>);

impl<T: Copy + Default> Ring<T> {
    /// Room for a first flight, or for nothing.
    pub(crate) fn new(wanted: bool) -> Self {
        Self(if wanted { vec![T::default(); FIRST] } else { Vec::new() })
    }

    #[inline(always)]
    fn slot(&self, segment: u32) -> usize {
        segment as usize & (self.0.len() - 1)
    }

    /// The record of a segment in flight.
    #[inline(always)]
    pub(crate) fn get(&self, segment: u32) -> T {
        self.0[self.slot(segment)]
    }

    /// The same, to be changed.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, segment: u32) -> &mut T {
        let slot = self.slot(segment);
        &mut self.0[slot]
    }

    /// Keeps `value` of a segment that leaves; `una` is the first one in flight.
    #[inline(always)]
    pub(crate) fn put(&mut self, segment: u32, una: u32, value: T) {
        if (segment - una) as usize >= self.0.len() {
            self.grow(una, segment - una);
        }
        *self.get_mut(segment) = value;
    }

    /// `segment` becomes two that have its value, of those in `una..nxt`.
    #[cold]
    pub(crate) fn split(&mut self, segment: u32, una: u32, nxt: u32) {
        if self.0.is_empty() {
            return;
        }
        for later in (segment..nxt).rev() {
            self.put(later + 1, una, self.get(later));
        }
    }

    #[cold]
    fn grow(&mut self, una: u32, offset: u32) {
        let (old, new) = (self.0.len(), (offset as usize + 1).next_power_of_two().max(FIRST));
        let mut words = vec![T::default(); new];
        for segment in una as usize..una as usize + old {
            words[segment & (new - 1)] = self.0[segment & (old - 1)];
        }
        self.0 = words;
    }
}

/// The words of the segments; empty where nothing is stamped.
impl Ring<u64> {
    /// The segment leaves at `now`.
    #[inline(always)]
    pub(crate) fn set(&mut self, now: u64, segment: u32, una: u32, flags: u64) {
        self.put(segment, una, now << BITS | flags);
    }
}

/// Time at which the segment of this word last left.
#[inline(always)]
pub(crate) fn sent(word: u64) -> u64 {
    word >> BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_growing_while_in_flight() {
        let mut stamps = Ring::<u64>::new(true);
        for segment in 100..900 {
            stamps.set(
                u64::from(segment) * 7,
                segment,
                100,
                if segment % 3 == 0 { RETRANSMITTED } else { 0 },
            );
        }
        for segment in 100..900 {
            let word = stamps.get(segment);
            assert_eq!((sent(word), word & RETRANSMITTED != 0), (u64::from(segment) * 7, segment % 3 == 0));
        }
    }
}
