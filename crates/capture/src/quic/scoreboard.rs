//! Packets of one sender as ranges of a byte stream.

use std::collections::{BTreeMap, VecDeque};

use super::Place;

/// Range of a packet, and the place of its data.
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: u64,
    len: u32,
    place: Option<Place>,
}

/// Most bytes that are missing in a row: more than a window holds is a stream whose beginning was not logged.
const MOST_MISSING: u64 = 1 << 26;

/// Data that did not arrive so far, as packets of one length.
#[derive(Clone, Copy, Debug)]
struct Hole {
    bytes: u64,
    /// Bytes of the stream in each packet.
    each: u64,
    /// Range of the first packet.
    start: u64,
    len: u32,
    packets: u64,
}

impl Hole {
    /// Packets before a byte of the hole.
    fn packets_before(&self, byte: u64) -> u64 {
        if byte >= self.bytes { self.packets } else { ((byte + self.each / 2) / self.each).min(self.packets) }
    }

    /// The part behind the first `byte`, without the first `packets`.
    fn behind(self, byte: u64, packets: u64) -> Self {
        Self {
            bytes: self.bytes - byte,
            start: self.start + packets * u64::from(self.len),
            packets: self.packets - packets,
            ..self
        }
    }
}

/// Ranges that the packets of one sender have.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    /// Packets that are not acknowledged, by their numbers.
    sent: BTreeMap<u64, Sent>,
    /// Ranges of data that was sent and not acknowledged, by its place.
    places: BTreeMap<(u64, u64), (Place, (u64, u32))>,
    /// Data that did not arrive so far, by its place.
    holes: BTreeMap<(u64, u64), Hole>,
    /// Data, and length of the range, of the longest packet that arrived.
    full: (u64, u32),
    /// Offset behind the data that arrived, by stream.
    arrived: BTreeMap<u64, u64>,
    /// Ranges sent more than once: the number of the latest packet.
    again: BTreeMap<u64, u64>,
    /// Packets that were declared lost, and whose data has not been retransmitted.
    lost: VecDeque<u64>,
    /// End of the data sent so far.
    high: u64,
    /// All data before is acknowledged.
    cumulative: u64,
    /// Acknowledged ranges behind it.
    beyond: BTreeMap<u64, u64>,
}

/// Ranges that an acknowledgement reports.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reported {
    /// New ones behind the cumulative acknowledgement.
    pub(super) blocks: Vec<(u64, u64)>,
    /// Ranges that were retransmitted although their first packet arrived: spurious retransmissions.
    pub(super) again: Vec<(u64, u64)>,
}

impl Reported {
    /// Most SACK blocks of a packet.
    pub(super) const MOST_BLOCKS: usize = 255;
}

impl Scoreboard {
    pub(super) fn high(&self) -> u64 {
        self.high
    }

    pub(super) fn cumulative(&self) -> u64 {
        self.cumulative
    }

    /// Range of a packet with `len` bytes of data: offset and length. If `place` is that of data sent before and not acknowledged, or if the
    /// places are not known and a packet was lost, the range is that of the earlier packet.
    pub(super) fn send(&mut self, number: u64, len: u32, place: Option<Place>) -> (u64, u32) {
        let earlier = match place {
            Some(place) => self.earlier(place),
            None => self.next_lost(),
        };
        if let Some((start, _)) = earlier {
            self.again.insert(start, number);
        }
        let (start, len) = earlier.unwrap_or_else(|| self.extend(len));
        if let Some(place) = place {
            self.places.entry(place.first).or_insert((place, (start, len)));
        }
        self.sent.insert(number, Sent { start, len, place });
        (start, len)
    }

    /// Range of a packet with `len` bytes of data that arrived from the other end. Data that is missing before it has a range too, so that a
    /// packet that fills it has a lower one.
    pub(super) fn arrive(&mut self, number: u64, len: u32, place: Place) -> (u64, u32) {
        let (stream, offset) = place.first;
        // The longest packet is one without other frames.
        self.full = self.full.max((place.len.max(1), len));
        let end = offset.saturating_add(place.len);
        let known = self.earlier(place).or_else(|| self.fill(place));
        let (start, len) = known.unwrap_or_else(|| {
            let before = self.arrived.get(&stream).copied().unwrap_or(0);
            if stream != u64::MAX && offset > before && self.high > 0 && offset - before < MOST_MISSING {
                let (each, len) = self.full;
                let (start, bytes) = (self.high, offset - before);
                let packets = ((bytes + each / 2) / each).max(1);
                self.holes.insert((stream, before), Hole { bytes, each, start, len, packets });
                self.high += packets * u64::from(len);
            }
            self.extend(len)
        });
        let arrived = self.arrived.entry(stream).or_insert(0);
        *arrived = (*arrived).max(end);
        self.places.entry(place.first).or_insert((place, (start, len)));
        self.sent.insert(number, Sent { start, len, place: Some(place) });
        (start, len)
    }

    /// Range of data that was missing.
    fn fill(&mut self, place: Place) -> Option<(u64, u32)> {
        let (&(stream, begin), &hole) = self.holes.range(..=place.first).next_back()?;
        let into = place.first.1 - begin;
        if stream != place.first.0 || into >= hole.bytes {
            return None;
        }
        self.holes.remove(&(stream, begin));
        let until = into.saturating_add(place.len.max(1)).min(hole.bytes);
        let (from, to) = (hole.packets_before(into), hole.packets_before(until));
        if from > 0 {
            self.holes.insert((stream, begin), Hole { bytes: into, packets: from, ..hole });
        }
        if to < hole.packets {
            self.holes.insert((stream, begin + until), hole.behind(until, to));
        }
        let range = hole.behind(into, from.min(hole.packets - 1));
        Some((range.start, hole.len * u32::try_from(to.saturating_sub(from)).unwrap_or(1).max(1)))
    }

    /// Range of the packet that carried the first byte of `place` before and is not acknowledged. A sender may divide lost data anew.
    fn earlier(&self, place: Place) -> Option<(u64, u32)> {
        let (_, (earlier, range)) = self.places.range(..=place.first).next_back()?;
        let (stream, begin) = earlier.first;
        let within = stream == place.first.0 && place.first.1 < begin.saturating_add(earlier.len.max(1));
        within.then_some(*range)
    }

    fn extend(&mut self, len: u32) -> (u64, u32) {
        let start = self.high;
        self.high += u64::from(len);
        (start, len)
    }

    fn next_lost(&mut self) -> Option<(u64, u32)> {
        while let Some(number) = self.lost.pop_front() {
            let Some(sent) = self.sent.get(&number) else { continue };
            if !self.is_acknowledged(sent.start) {
                return Some((sent.start, sent.len));
            }
        }
        None
    }

    pub(super) fn lose(&mut self, number: u64) {
        if self.sent.contains_key(&number) {
            self.lost.push_back(number);
        }
    }

    fn is_acknowledged(&self, start: u64) -> bool {
        start < self.cumulative
            || self.beyond.range(..=start).next_back().is_some_and(|(_, end)| start < *end)
    }

    /// Acknowledges the packets with numbers in these ranges, both ends included.
    pub(super) fn acknowledge(&mut self, ranges: &[(u64, u64)]) -> Reported {
        let mut reported = Reported::default();
        let mut new = vec![];
        for &(first, last) in ranges.iter().filter(|(first, last)| first <= last) {
            let numbers: Vec<u64> = self.sent.range(first..=last).map(|(number, _)| *number).collect();
            for number in numbers {
                let Some(Sent { start, len, place }) = self.sent.remove(&number) else { continue };
                let end = start + u64::from(len);
                let latest = self.again.get(&start).copied();
                if latest.is_some_and(|latest| latest != number) {
                    reported.again.push((start, end));
                }
                if let Some(place) = place {
                    self.places.remove(&place.first);
                }
                if !self.is_acknowledged(start) {
                    self.beyond.insert(start, end);
                    new.push((start, end));
                }
            }
        }
        while let Some((&start, &end)) =
            self.beyond.first_key_value().filter(|(start, _)| **start <= self.cumulative)
        {
            self.cumulative = self.cumulative.max(end);
            self.beyond.remove(&start);
        }
        new.retain(|(start, _)| *start >= self.cumulative);
        new.sort_unstable();
        for (start, end) in new {
            match reported.blocks.last_mut() {
                Some(block) if block.1 == start => block.1 = end,
                _ => reported.blocks.push((start, end)),
            }
        }
        reported.blocks.truncate(Reported::MOST_BLOCKS);
        reported
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(offset: u64) -> Option<Place> {
        Some(Place { first: (0, offset), len: 1000 })
    }

    #[test]
    fn a_packet_that_carries_lost_data_again_has_its_range() {
        let mut board = Scoreboard::default();
        assert_eq!(board.send(0, 1000, None), (0, 1000));
        assert_eq!(board.send(1, 1000, None), (1000, 1000));
        assert_eq!(board.send(2, 1000, None), (2000, 1000));
        assert_eq!(board.acknowledge(&[(0, 0), (2, 2)]).blocks, [(2000, 3000)]);
        board.lose(1);
        assert_eq!(board.send(5, 900, None), (1000, 1000), "numbers may be left out");
        assert_eq!(board.send(6, 1000, None), (3000, 1000), "each loss is repaired once");
        assert_eq!(board.acknowledge(&[(5, 6)]), Reported::default());
        assert_eq!(board.cumulative(), 4000);
    }

    #[test]
    fn an_acknowledgement_of_both_packets_of_a_range_reports_it_again() {
        let mut board = Scoreboard::default();
        board.send(0, 1000, place(0));
        board.send(1, 1000, place(1000));
        assert_eq!(board.send(2, 1000, place(0)), (0, 1000), "the place shows the retransmission");
        let reported = board.acknowledge(&[(0, 1)]);
        assert_eq!(reported, Reported { blocks: vec![], again: vec![(0, 1000)] });
        assert_eq!(board.cumulative(), 2000);
    }

    #[test]
    fn lost_data_may_be_divided_anew() {
        let mut board = Scoreboard::default();
        for number in 0..3 {
            board.send(number, 1000, place(1000 * number));
        }
        assert_eq!(board.send(3, 1000, place(1900)), (1000, 1000), "a byte of the second packet");
        assert_eq!(board.send(4, 1000, place(3000)), (3000, 1000), "new data");
    }
}
