//! Packets of one sender as ranges of a byte stream, from the places of all their data.
//!
//! Each byte of a stream of QUIC has one byte of this stream, in the order in which it was first sent. A retransmission has the bytes of what it
//! repeats, however the sender divides them anew.

use std::collections::BTreeMap;

use super::Place;
use super::scoreboard::Reported;

/// Most bytes that are missing in a row: more than a window holds is a stream whose beginning was not captured.
const MOST_MISSING: u64 = 1 << 26;

/// Ranges that the packets of one sender have.
#[derive(Debug, Default)]
pub(super) struct Bytes {
    /// Bytes of streams that have a range, by stream and offset: their number and the start of the range.
    placed: BTreeMap<(u64, u64), (u64, u64)>,
    /// Starts and ends of the ranges that packets had when they were first sent.
    first: BTreeMap<u64, u64>,
    /// Ranges of the packets that are not acknowledged, by their numbers.
    sent: BTreeMap<u64, Vec<(u64, u64)>>,
    /// End of the data sent so far.
    high: u64,
    /// Acknowledged ranges that do not touch.
    acknowledged: BTreeMap<u64, u64>,
}

impl Bytes {
    pub(super) fn high(&self) -> u64 {
        self.high
    }

    /// All data before is acknowledged.
    pub(super) fn cumulative(&self) -> u64 {
        self.acknowledged.get(&0).copied().unwrap_or(0)
    }

    /// Starts and lengths of the ranges of a packet with data of these places, in ascending order. A packet that was sent before is repeated
    /// with its first byte, as a whole. If packets are lost before the point of capture (`arrives`), data that is missing before a place has a range,
    /// too, and what fills it is not repeated.
    pub(super) fn send(&mut self, number: u64, places: &[Place], arrives: bool) -> Vec<(u64, u32)> {
        let known = self.high;
        let mut ranges = vec![];
        for place in places.iter().filter(|place| place.len > 0) {
            let (stream, begin) = place.first;
            let end = begin.saturating_add(place.len);
            if arrives {
                self.reserve(stream, begin);
            }
            let mut from = begin;
            while from < end {
                let (len, start) = self.part(stream, from, end);
                ranges.push((start, start + len));
                from += len;
            }
        }
        let ranges = joined(ranges);
        let divided = ranges.iter().flat_map(|&(start, end)| {
            let repeated = match arrives {
                true => vec![(start, end.min(known))],
                false => self.begun(start, end.min(known)),
            };
            repeated.into_iter().chain([(start.max(known), end)])
        });
        let divided: Vec<(u64, u64)> = divided.filter(|(start, end)| start < end).collect();
        self.first.extend(divided.iter().copied().filter(|(start, _)| *start >= known));
        self.sent.insert(number, ranges);
        divided.iter().map(|(start, end)| (*start, u32::try_from(end - start).unwrap_or(u32::MAX))).collect()
    }

    /// Starts and ends of the packets whose first byte lies in a range.
    fn begun(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        self.first.range(start..end.max(start)).map(|(start, end)| (*start, *end)).collect()
    }

    /// Gives ranges to the bytes between the end of what is known of a stream and `until`.
    fn reserve(&mut self, stream: u64, until: u64) {
        let last = self.placed.range(..=(stream, u64::MAX)).next_back().filter(|((of, _), _)| *of == stream);
        let known = last.map_or(0, |((_, offset), (len, _))| offset + len);
        if stream != u64::MAX && self.high > 0 && until > known && until - known < MOST_MISSING {
            self.part(stream, known, until);
        }
    }

    /// The bytes of a stream from `from` on, up to `end` at most, that have a range in one piece: their number and the start of it. Bytes that have
    /// none get it.
    fn part(&mut self, stream: u64, from: u64, end: u64) -> (u64, u64) {
        let before = self.placed.range_mut(..=(stream, from)).next_back();
        if let Some((&(of, offset), (len, start))) = before.filter(|((of, _), _)| *of == stream) {
            let into = from - offset;
            if into < *len {
                return ((*len - into).min(end - from), *start + into);
            }
            let next = self.placed.range((stream, from)..).next().map(|(place, _)| *place);
            let count = next.filter(|(of, _)| *of == stream).map_or(end, |(_, next)| next.min(end)) - from;
            let start = self.high;
            self.high += count;
            let (len, own) = self.placed.get_mut(&(of, offset)).expect("it was found");
            match into == *len && *own + *len == start {
                true => *len += count,
                false => {
                    self.placed.insert((stream, from), (count, start));
                }
            }
            return (count, start);
        }
        let next = self.placed.range((stream, from)..).next().map(|(place, _)| *place);
        let count = next.filter(|(of, _)| *of == stream).map_or(end, |(_, next)| next.min(end)) - from;
        let start = self.high;
        self.high += count;
        self.placed.insert((stream, from), (count, start));
        (count, start)
    }

    /// Acknowledges the packets with numbers in these ranges, both ends included.
    pub(super) fn acknowledge(&mut self, numbers: &[(u64, u64)]) -> Reported {
        let mut reported = Reported::default();
        let mut new = vec![];
        for &(first, last) in numbers.iter().filter(|(first, last)| first <= last) {
            let packets: Vec<u64> = self.sent.range(first..=last).map(|(number, _)| *number).collect();
            let sent: Vec<Vec<(u64, u64)>> =
                packets.iter().filter_map(|number| self.sent.remove(number)).collect();
            for (start, end) in sent.into_iter().flatten() {
                match self.is_acknowledged(start, end) {
                    true => reported.again.push((start, end)),
                    false => {
                        self.add(start, end);
                        new.push((start, end));
                    }
                }
            }
        }
        let cumulative = self.cumulative();
        new.retain(|(start, _)| *start >= cumulative);
        reported.blocks = joined(new);
        reported.blocks.truncate(Reported::MOST_BLOCKS);
        reported
    }

    fn is_acknowledged(&self, start: u64, end: u64) -> bool {
        self.acknowledged.range(..=start).next_back().is_some_and(|(_, until)| end <= *until)
    }

    fn add(&mut self, mut start: u64, mut end: u64) {
        while let Some((&own, &until)) =
            self.acknowledged.range(..=end).next_back().filter(|one| *one.1 >= start)
        {
            self.acknowledged.remove(&own);
            (start, end) = (start.min(own), end.max(until));
        }
        self.acknowledged.insert(start, end);
    }
}

/// Ranges in ascending order, of which those that touch are one.
fn joined(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = vec![];
    for (start, end) in ranges {
        match joined.last_mut() {
            Some(last) if last.1 >= start => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(stream: u64, offset: u64, len: u64) -> Place {
        Place { first: (stream, offset), len }
    }

    #[test]
    fn lost_data_keeps_its_bytes_however_it_is_divided_anew() {
        let mut bytes = Bytes::default();
        for number in 0..4 {
            let range = (1000 * number, 1000);
            assert_eq!(bytes.send(number, &[place(0, range.0, 1000)], false), [(range.0, 1000)]);
        }
        assert_eq!(bytes.acknowledge(&[(0, 0), (3, 3)]).blocks, [(3000, 4000)]);
        assert_eq!(bytes.cumulative(), 1000);
        // Packets 1 and 2 in packets of 1400 bytes: the first one begins both, and the second one has 600 bytes of them and 800 new ones.
        assert_eq!(bytes.send(5, &[place(0, 1000, 1400)], false), [(1000, 1000), (2000, 1000)]);
        let mixed = [place(0, 2400, 600), place(0, 4000, 800)];
        assert_eq!(bytes.send(6, &mixed, false), [(4000, 800)]);
        assert_eq!(bytes.acknowledge(&[(6, 6)]).blocks, [(2400, 3000), (4000, 4800)]);
        assert_eq!(bytes.acknowledge(&[(5, 5)]), Reported::default());
        assert_eq!((bytes.cumulative(), bytes.high()), (4800, 4800));
        // Packet 2 arrived after all: its data was sent twice.
        assert_eq!(bytes.acknowledge(&[(2, 2)]).again, [(2000, 3000)]);
    }

    #[test]
    fn bytes_of_two_streams_and_bytes_that_are_missing() {
        let mut bytes = Bytes::default();
        assert_eq!(bytes.send(0, &[place(0, 0, 500), place(4, 0, 500)], true), [(0, 1000)]);
        // 300 bytes of the first stream are missing, and come later.
        assert_eq!(bytes.send(2, &[place(0, 800, 200)], true), [(1300, 200)]);
        assert_eq!(bytes.send(3, &[place(4, 500, 100)], true), [(1500, 100)]);
        assert_eq!(bytes.send(4, &[place(0, 500, 300)], true), [(1000, 300)]);
        assert_eq!(bytes.send(5, &[place(0, 700, 400)], true), [(1200, 300), (1600, 100)]);
    }
}
