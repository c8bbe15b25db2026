//! Packets on their way to a stage of many flows, in the order of their arrival: a calendar queue (R. Brown, CACM 31(10), 1988).
//!
//! A packet waits in the list of its day, and only the list of the day at hand is sorted. The cost of a packet does not grow with
//! the number of flows, a flow without packets costs nothing, and a day's packets lie side by side. The key is that of
//! [`crate::schedule`]: the arrival time, then the number of the feed; packets of one key keep their order.

use crate::ahead::touch;
use crate::packet::Packet;
use crate::schedule::{IDLE, WinnerTree};
use std::collections::BTreeMap;

/// Packets of one part of a day's list: 1 KB, which few pages of memory hold.
const PART: usize = 32;

/// No part.
const NONE: u32 = u32::MAX;

/// Mean number of packets of a day: in the middle, and the least and the greatest with which days keep their length. Longer days
/// take longer to sort; of shorter days, the ends of their lists do not fit the caches.
const PACKETS: u64 = 128;
const FEW: u64 = 48;
const MANY: u64 = 384;

/// Days with packets after which their mean number is looked at.
const LOOK: u64 = 256;

/// Packets of today from which on another one that joins them makes days shorter.
const CROWD: usize = 2048;

/// Days of a year at first, and the binary logarithm of the nanoseconds of one.
const DAYS: usize = 256;
const LENGTH: u32 = 16;

/// That of the longest day: 18 minutes.
const LONGEST: u32 = 40;

/// Packets of one day, in the order in which they joined.
#[derive(Clone, Copy, Debug)]
struct Day {
    /// The last part of the list; each part names the one before.
    last: u32,
    count: u32,
}

impl Day {
    const EMPTY: Self = Self { last: NONE, count: 0 };
}

/// The lists of the days, in parts that are used again.
#[derive(Clone, Debug, Default)]
struct Parts {
    packets: Vec<[Packet; PART]>,
    before: Vec<u32>,
    /// The first part that is free; each names the next.
    free: Option<u32>,
}

impl Parts {
    fn push(&mut self, day: &mut Day, packet: Packet) {
        let place = day.count as usize % PART;
        if place == 0 {
            let part = self.free.unwrap_or(NONE);
            if part == NONE {
                let new = self.packets.len() as u32;
                self.packets.push([Packet::default(); PART]);
                self.before.push(day.last);
                day.last = new;
            } else {
                self.free = Some(std::mem::replace(&mut self.before[part as usize], day.last));
                day.last = part;
            }
        }
        self.packets[day.last as usize][place] = packet;
        day.count += 1;
    }

    /// Calls `f` with the packets of each part of `day`, the last part first.
    fn each(&self, day: Day, mut f: impl FnMut(&[Packet])) {
        let (mut part, mut left) = (day.last, day.count as usize);
        while left > 0 {
            let here = (left - 1) % PART + 1;
            f(&self.packets[part as usize][..here]);
            part = self.before[part as usize];
            left -= here;
        }
    }

    /// Appends the parts of `day`, the last one first, each with the number of its packets.
    fn name(&self, day: Day, to: &mut Vec<(u32, usize)>) {
        let (mut part, mut left) = (day.last, day.count as usize);
        while left > 0 {
            let here = (left - 1) % PART + 1;
            to.push((part, here));
            part = self.before[part as usize];
            left -= here;
        }
    }

    /// Frees a part; returns what was in it.
    fn release(&mut self, part: u32) -> [Packet; PART] {
        self.before[part as usize] = self.free.replace(part).unwrap_or(NONE);
        self.packets[part as usize]
    }

    /// Asks for the memory of the packets of `day`.
    fn expect(&self, day: Day) {
        self.each(day, |packets| packets.iter().step_by(2).for_each(touch));
    }

    /// Moves the packets of `day` behind those of `to`.
    fn take(&mut self, day: &mut Day, to: &mut Vec<Packet>) {
        let mut end = to.len() + day.count as usize;
        to.resize(end, Packet::default());
        self.each(*day, |packets| {
            to[end - packets.len()..end].copy_from_slice(packets);
            end -= packets.len();
        });
        let mut part = day.last;
        for _ in 0..(day.count as usize).div_ceil(PART) {
            let before = std::mem::replace(&mut self.before[part as usize], self.free.unwrap_or(NONE));
            self.free = Some(part);
            part = before;
        }
        *day = Day::EMPTY;
    }
}

/// Packets that wait for one stage. While they wait, the key takes the place of their arrival time.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// Low bits of a key: the feed.
    bits: u32,
    /// Smallest key of all that wait; [`IDLE`] if none waits.
    head: u64,
    /// Packets of the day at hand and of those before it, from `next` on in the order of their keys.
    today: Vec<Packet>,
    next: usize,
    /// The number of that day: time divided by the length of a day.
    day: u64,
    /// Binary logarithm of the nanoseconds of a day.
    length: u32,
    /// The days of a year, each at its number modulo their number, which is a power of two.
    days: Vec<Day>,
    /// A bit for each of them, set if it has packets.
    busy: Vec<u64>,
    parts: Parts,
    /// Packets that joined more than a year ahead, by day.
    far: BTreeMap<u64, Vec<Packet>>,
    /// Days opened since the last look at their length, and their packets; packets that joined `far` since.
    opened: u64,
    served: u64,
    joined_far: u64,
    /// Packets that wait for a later day.
    waiting: usize,
}

impl Calendar {
    /// An empty calendar for packets of so many feeds.
    pub(crate) fn new(feeds: usize) -> Self {
        Self {
            bits: feeds.max(2).next_power_of_two().trailing_zeros(),
            head: IDLE,
            today: vec![],
            next: 0,
            day: 0,
            length: LENGTH,
            days: vec![Day::EMPTY; DAYS],
            busy: vec![0; DAYS / 64],
            parts: Parts::default(),
            far: BTreeMap::new(),
            opened: 0,
            served: 0,
            joined_far: 0,
            waiting: 0,
        }
    }

    /// Last time that can be scheduled, nanoseconds.
    pub(crate) fn horizon(&self) -> u64 {
        WinnerTree::horizon_of(1 << self.bits)
    }

    /// Time of the next arrival, nanoseconds; later than [`Self::horizon`] if there is none.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        self.head >> self.bits
    }

    /// A packet of `feed` joins. Returns whether it is the next to arrive.
    #[inline]
    pub(crate) fn push(&mut self, feed: u32, packet: Packet) -> bool {
        let key = packet.at << self.bits | u64::from(feed);
        let is_first = key < self.head;
        self.head = self.head.min(key);
        self.place(Packet { at: key, ..packet });
        is_first
    }

    fn place(&mut self, packet: Packet) {
        let day = packet.at >> self.bits >> self.length;
        if day <= self.day {
            if self.today.len() - self.next >= CROWD && self.shorten() {
                return self.place(packet);
            }
            let left = &self.today[self.next..];
            let place = self.next + left.partition_point(|other| other.at <= packet.at);
            return self.today.insert(place, packet);
        }
        self.waiting += 1;
        if day - self.day >= self.days.len() as u64 {
            self.joined_far += 1;
            return self.far.entry(day).or_default().push(packet);
        }
        let slot = day as usize & (self.days.len() - 1);
        let list = &mut self.days[slot];
        if list.count == 0 {
            self.busy[slot / 64] |= 1 << (slot % 64);
        }
        self.parts.push(list, packet);
    }

    /// Removes the next packet if it arrives before `until`, which must not lie beyond the horizon.
    #[inline]
    pub(crate) fn take_before(&mut self, until: u64) -> Option<Packet> {
        if self.head >= until << self.bits {
            return None;
        }
        if self.next == self.today.len() {
            self.open();
        }
        let packet = self.today[self.next];
        self.next += 1;
        self.head = match self.today.get(self.next) {
            Some(next) => next.at,
            None => self.close(),
        };
        Some(Packet { at: packet.at >> self.bits, ..packet })
    }

    /// The day at hand has no more packets: returns the smallest key of the next one.
    fn close(&mut self) -> u64 {
        self.today.clear();
        self.next = 0;
        let Some(day) = self.next_day() else { return IDLE };
        let slot = day as usize & (self.days.len() - 1);
        let mut least = IDLE;
        if day - self.day < self.days.len() as u64 {
            self.parts.each(self.days[slot], |packets| {
                least = packets.iter().fold(least, |least, packet| least.min(packet.at));
            });
        }
        let far = self.far.get(&day).into_iter().flatten();
        far.fold(least, |least, packet| least.min(packet.at))
    }

    /// Opens the next day.
    fn open(&mut self) {
        self.today.clear();
        self.next = 0;
        if self.opened >= LOOK {
            self.look();
            // At the beginning of time, longer days may have made packets those of today.
            if !self.today.is_empty() {
                return;
            }
        }
        let Some(day) = self.next_day() else { return };
        self.move_to(day);
        // The day after the next one that is sorted.
        self.parts.expect(self.days[(day + 2) as usize & (self.days.len() - 1)]);
        self.opened += 1;
        self.served += self.today.len() as u64;
        // Packets of one key keep their order.
        self.today.sort_by_key(|packet| packet.at);
    }

    /// Goes to `day`, and appends its packets to those of today in the order in which they joined.
    fn move_to(&mut self, day: u64) {
        let before = self.today.len();
        // These joined when the day was more than a year ahead.
        if let Some(packets) = self.far.remove(&day) {
            self.today.extend(packets);
        }
        if day - self.day < self.days.len() as u64 {
            let slot = day as usize & (self.days.len() - 1);
            self.parts.take(&mut self.days[slot], &mut self.today);
            self.busy[slot / 64] &= !(1 << (slot % 64));
        }
        self.day = day;
        self.waiting -= self.today.len() - before;
    }

    /// The first day after today that has packets.
    fn next_day(&self) -> Option<u64> {
        if self.waiting == 0 {
            return None;
        }
        let far = self.far.first_key_value().map(|(day, _)| *day);
        let near = self.next_busy().map(|ahead| self.day + ahead);
        [far, near].into_iter().flatten().min()
    }

    /// Days from today to the next one with a bit set.
    fn next_busy(&self) -> Option<u64> {
        let first = (self.day + 1) as usize & (self.days.len() - 1);
        let words = self.busy.len();
        // The word of the first day comes twice: its upper bits first, its lower bits last.
        (0..=words).find_map(|step| {
            let at = (first / 64 + step) & (words - 1);
            let mask = match step {
                0 => !0 << (first % 64),
                _ if step == words => !(!0 << (first % 64)),
                _ => !0,
            };
            let word = self.busy[at] & mask;
            (word != 0).then(|| {
                let slot = at * 64 + word.trailing_zeros() as usize;
                (slot.wrapping_sub(first) & (self.days.len() - 1)) as u64 + 1
            })
        })
    }

    /// Makes days longer or shorter, and the year, if too few or too many packets come on one.
    #[cold]
    #[inline(never)]
    fn look(&mut self) {
        let mean = self.served / self.opened;
        let length = match mean {
            0..FEW => self.length + 1,
            FEW..=MANY => self.length,
            _ => self.length.saturating_sub((mean / PACKETS).ilog2()),
        };
        // A year holds those that wait now, and is not much longer than that takes.
        let enough = (self.waiting / PACKETS as usize).next_power_of_two().max(DAYS);
        let short = self.joined_far * 8 > self.served;
        let days = if short { (2 * self.days.len()).clamp(enough, 4 * enough) } else { enough };
        (self.opened, self.served, self.joined_far) = (0, 0, 0);
        let length = length.min(LONGEST);
        if length != self.length || days > self.days.len() {
            // Nothing waits for today.
            let from = (self.day + 1) << self.length;
            self.rebuild(length, days, (from >> length).saturating_sub(1));
        }
    }

    /// Makes days so short that today's packets come on several. Returns false where they come too close together.
    #[cold]
    #[inline(never)]
    fn shorten(&mut self) -> bool {
        let left = &self.today[self.next..];
        let [first, last] = [left[0], left[left.len() - 1]].map(|packet| packet.at >> self.bits);
        let length = ((last - first) / left.len() as u64 * PACKETS).max(1).ilog2();
        let shorter = length < self.length;
        if shorter {
            self.rebuild(length, self.days.len(), first >> length);
        }
        shorter
    }

    /// Moves all that wait into at least so many days of another length, of which `day` is at hand.
    fn rebuild(&mut self, length: u32, days: usize, day: u64) {
        let count = days.max(self.days.len());
        let today = std::mem::take(&mut self.today).into_iter().skip(std::mem::take(&mut self.next));
        // Packets of one key come from one day, of which those far ahead joined first.
        let far = std::mem::take(&mut self.far).into_values().flatten();
        let days = std::mem::replace(&mut self.days, vec![Day::EMPTY; count]);
        self.busy = vec![0; count / 64];
        (self.length, self.day, self.waiting) = (length, day, 0);
        today.chain(far).for_each(|packet| self.place(packet));
        // Part by part, so that no copy of all packets is in memory.
        let mut parts = vec![];
        for day in days {
            self.parts.name(day, &mut parts);
            while let Some((part, here)) = parts.pop() {
                self.parts.release(part)[..here].iter().for_each(|&packet| self.place(packet));
            }
        }
        self.joined_far = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Feed;

    /// Numbers without a pattern (G. Marsaglia's xorshift).
    fn draw(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    /// The calendar and the winner tree over feeds take the same packets out in the same order, at rates that change by a factor
    /// of a thousand.
    #[test]
    fn packets_leave_as_from_feeds_under_a_winner_tree() {
        const FEEDS: usize = 40;
        let (mut tree, mut feeds) = (WinnerTree::new(FEEDS), vec![Feed::default(); FEEDS]);
        let mut calendar = Calendar::new(FEEDS);
        let (mut state, mut last, mut now, mut taken, mut seq) = (1, [0_u64; FEEDS], 0, 0, 0);
        let mut lengths = vec![];
        for round in 0..8000_u64 {
            let spread = [400_000_000, 400_000, 3_000, 90_000_000][round as usize / 2000];
            if round % 2000 == 0 {
                now = last.into_iter().fold(now, u64::max);
            }
            for _ in 0..draw(&mut state) % 60 {
                let feed = draw(&mut state) as usize % FEEDS;
                // Every fourth packet comes at the same time as the one before it in its feed.
                let more = if draw(&mut state).is_multiple_of(4) { 0 } else { draw(&mut state) % spread };
                last[feed] = last[feed].max(now) + more;
                seq += 1;
                let packet = Packet { at: last[feed], seq, ..Packet::default() };
                if feeds[feed].push(packet) {
                    tree.insert(feed, packet.at);
                }
                let before = calendar.head;
                assert_eq!(calendar.push(feed as u32, packet), calendar.head < before);
            }
            // Feeds run ahead of the clock, and hundreds of packets wait.
            now += draw(&mut state) % (spread / 16);
            while let Some((at, feed)) = tree.next_before(now) {
                let (packet, next) = feeds[feed].pop();
                tree.replace(feed, next);
                assert_eq!(calendar.earliest(), at);
                let same = calendar.take_before(now).expect("the tree has one");
                assert_eq!((same.at, same.seq), (packet.at, packet.seq));
                taken += 1;
            }
            assert!(calendar.take_before(now).is_none());
            assert_eq!(calendar.earliest() > calendar.horizon(), tree.earliest() > tree.horizon());
            if round % 2000 == 1999 {
                lengths.push(calendar.length);
            }
        }
        assert!(taken > 100_000);
        // Days follow the rate.
        let [slow, faster, fastest, slower] = lengths[..] else { panic!("four rates") };
        assert!(slow > faster && faster > fastest && fastest < slower, "{lengths:?}");
    }

    #[test]
    fn a_packet_that_joins_today_leaves_before_later_ones() {
        let mut calendar = Calendar::new(3);
        let packet = |at, seq| Packet { at, seq, ..Packet::default() };
        // The year is 256 days of 65.536 microseconds; the last packet is far beyond it.
        for (feed, at, seq) in [(2, 700_000_000, 5), (0, 70_000, 1), (1, 140_000, 4)] {
            calendar.push(feed, packet(at, seq));
        }
        assert_eq!(calendar.take_before(70_000).map(|packet| packet.seq), None);
        assert_eq!(calendar.take_before(u64::MAX >> 2).map(|packet| packet.seq), Some(1));
        // Both join the day of the first packet, and two at one time leave in the order of their feeds.
        assert!(calendar.push(2, packet(80_000, 3)));
        assert!(calendar.push(1, packet(80_000, 2)));
        let rest = std::iter::from_fn(|| calendar.take_before(u64::MAX >> 2)).map(|packet| packet.seq);
        assert_eq!(rest.collect::<Vec<_>>(), [2, 3, 4, 5]);
        assert!(calendar.earliest() > calendar.horizon());
    }
}
