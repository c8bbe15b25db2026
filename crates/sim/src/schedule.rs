//! Next arrival of a stage: a winner tree over the heads of its feeds.
//!
//! A feed is an ordered stream of arrivals at one place, so only its head competes. The key is the arrival
//! time followed by the number of the feed: ties are broken by that number, never by the order of insertion.

use crate::packet::Packet;

/// Key of an empty feed.
pub const IDLE: u64 = u64::MAX;

/// Winner tree with one key per feed.
#[derive(Clone, Debug)]
pub struct WinnerTree {
    /// `keys[1]` is the winner, `keys[leaves + i]` the key of feed `i`.
    keys: Vec<u64>,
    leaves: usize,
    bits: u32,
}

impl WinnerTree {
    /// Creates a tree for `feeds` idle feeds.
    pub fn new(feeds: usize) -> Self {
        let leaves = feeds.max(2).next_power_of_two();
        Self { keys: vec![IDLE; 2 * leaves], leaves, bits: leaves.trailing_zeros() }
    }

    /// Last time that can be scheduled, nanoseconds.
    pub(crate) fn horizon(&self) -> u64 {
        (u64::MAX >> self.bits) - 1
    }

    /// Last time that can be scheduled with so many feeds, nanoseconds.
    pub fn horizon_of(feeds: usize) -> u64 {
        (u64::MAX >> feeds.max(2).next_power_of_two().trailing_zeros()) - 1
    }

    /// Time of the next arrival, nanoseconds; later than [`WinnerTree::horizon`] if there is none.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        self.keys[1] >> self.bits
    }

    /// Time and feed of the next arrival if it comes before `until`, which must not lie beyond the horizon.
    #[inline]
    pub(crate) fn next_before(&self, until: u64) -> Option<(u64, usize)> {
        debug_assert!(until <= self.horizon() + 1);
        let key = self.keys[1];
        (key < until << self.bits).then_some((key >> self.bits, (key & (self.leaves as u64 - 1)) as usize))
    }

    #[inline]
    fn key(&self, feed: usize, at: u64) -> u64 {
        at << self.bits | feed as u64
    }

    /// Sets the next arrival of the winning feed to `at`; `None` if it is idle.
    #[inline]
    pub fn replace(&mut self, feed: usize, at: Option<u64>) {
        let mut key = at.map_or(IDLE, |at| self.key(feed, at));
        assert!(feed < self.leaves);
        let mut i = self.leaves + feed;
        let keys = self.keys.as_mut_slice();
        // SAFETY: `keys` has 2 * `leaves` elements and `leaves` is a power of two of at least 2. `i` begins below
        // 2 * `leaves` and only halves, and `i ^ 1` differs from it in the lowest bit, so both stay below.
        unsafe {
            *keys.get_unchecked_mut(i) = key;
            while i > 1 {
                key = key.min(*keys.get_unchecked(i ^ 1));
                i >>= 1;
                *keys.get_unchecked_mut(i) = key;
            }
        }
    }

    /// Sets the arrival of an idle feed. Keys on the way up can only decrease, so the climb stops at the
    /// first key that does not.
    #[inline]
    pub fn insert(&mut self, feed: usize, at: u64) {
        let key = self.key(feed, at);
        assert!(feed < self.leaves);
        let mut i = self.leaves + feed;
        let keys = self.keys.as_mut_slice();
        // SAFETY: as in `replace`: `i` begins below the length of `keys` and only halves.
        unsafe {
            loop {
                *keys.get_unchecked_mut(i) = key;
                i >>= 1;
                if i == 0 || *keys.get_unchecked(i) <= key {
                    return;
                }
            }
        }
    }
}

/// An ordered stream of packets: a ring buffer that doubles when full.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub struct Feed {
    /// The length is a power of two and at least one.
    ring: Vec<Packet>,
    head: u32,
    len: u32,
}

impl Default for Feed {
    /// A place for one packet: most feeds of large networks hold few.
    fn default() -> Self {
        Self { ring: vec![Packet::default()], head: 0, len: 0 }
    }
}

impl Feed {
    /// Appends a packet that arrives no earlier than the last one; returns whether the feed was empty.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet) -> bool {
        debug_assert!(self.len == 0 || self.ring[self.slot(self.len - 1)].at <= packet.at);
        if self.len as usize == self.ring.len() {
            self.grow();
        }
        let slot = self.slot(self.len);
        // SAFETY: `slot` answers indices inside the ring.
        unsafe { *self.ring.get_unchecked_mut(slot) = packet };
        self.len += 1;
        self.len == 1
    }

    /// Removes the first packet; returns it with the arrival time of the next one. The feed must not be
    /// empty.
    #[inline(always)]
    pub fn pop(&mut self) -> (Packet, Option<u64>) {
        debug_assert!(self.len > 0);
        // SAFETY: `slot` answers indices inside the ring.
        let (packet, next) =
            unsafe { (*self.ring.get_unchecked(self.slot(0)), self.ring.get_unchecked(self.slot(1)).at) };
        self.len = self.len.wrapping_sub(1);
        // An emptied feed restarts at the front, so that few packets touch little memory.
        self.head = if self.len == 0 { 0 } else { self.head.wrapping_add(1) };
        (packet, (self.len > 0).then_some(next))
    }

    /// Index of the `i`th packet. The mask keeps it inside the ring, whose length is a power of two (only
    /// `default` and `grow` set it).
    #[inline(always)]
    fn slot(&self, i: u32) -> usize {
        debug_assert!(self.ring.len().is_power_of_two());
        self.head.wrapping_add(i) as usize & (self.ring.len() - 1)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut ring = Vec::with_capacity(2 * self.ring.len());
        ring.extend((0..self.len).map(|i| self.ring[self.slot(i)]));
        ring.resize(2 * self.ring.len(), Packet::default());
        self.ring = ring;
        self.head = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_ordered_by_time_and_then_by_feed() {
        let mut tree = WinnerTree::new(5);
        for (feed, at) in [(4, 30), (2, 10), (3, 20), (0, 20)] {
            tree.insert(feed, at);
        }
        let mut order = vec![];
        while let Some((at, feed)) = tree.next_before(100) {
            order.push((at, feed));
            // Feed 2 has a second arrival at 25.
            tree.replace(feed, (feed == 2 && at == 10).then_some(25));
        }
        assert_eq!(order, [(10, 2), (20, 0), (20, 3), (25, 2), (30, 4)]);
    }

    #[test]
    fn a_feed_keeps_its_order_while_it_wraps_and_grows() {
        let mut feed = Feed::default();
        let mut expected = 0;
        for i in 0..1000_u32 {
            assert_eq!(feed.push(Packet { at: u64::from(i), seq: i, ..Packet::default() }), feed.len == 1);
            if i % 3 == 0 {
                assert_eq!(feed.pop().0.seq, expected);
                expected += 1;
            }
        }
        while feed.len > 0 {
            let (packet, next) = feed.pop();
            assert_eq!(packet.seq, expected);
            assert_eq!(next, (expected < 999).then_some(u64::from(expected) + 1));
            expected += 1;
        }
        assert_eq!(expected, 1000);
    }
}
