//! Sequence numbers of a connection's data as offsets in the data.
//!
//! One odd number must not end a connection, and a capture may miss any amount of data. Numbers far apart therefore belong to different
//! parts. A part with a few packets beside many others is stray; the other parts follow each other, without what the capture missed
//! between them.

/// A gap between two numbers, bytes, beyond which they belong to different parts: 65536 segments of Ethernet.
const FAR: u64 = 95_000_000;
/// Packets of a part that is no stray one, however many others there are.
const SEVERAL: usize = 8;

/// Parts of the data, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// Number of the first byte, and of the last byte's successor.
    start: u64,
    end: u64,
    /// Offset of the first byte in the data.
    offset: u64,
}

impl Numbers {
    /// The parts of data packets with these first and last numbers; `syn` is the number of the first byte if it is known.
    pub(crate) fn new(packets: impl Iterator<Item = (u64, u64)> + Clone, syn: Option<u64>) -> Option<Self> {
        let least = packets.clone().map(|(start, _)| start).min()?;
        let most = packets.clone().map(|(_, end)| end).max()?;
        let origin = syn.unwrap_or(least);
        if least >= origin && least - origin <= FAR && most - least <= FAR {
            return Some(Self { parts: vec![Part { start: origin, end: most, offset: 0 }] });
        }
        Self::far_apart(packets.collect(), syn)
    }

    fn far_apart(mut packets: Vec<(u64, u64)>, syn: Option<u64>) -> Option<Self> {
        packets.sort_unstable();
        let mut found: Vec<(Part, usize)> = vec![];
        for (start, end) in packets {
            match found.last_mut() {
                Some((part, count)) if start <= part.end.saturating_add(FAR) => {
                    (part.end, *count) = (part.end.max(end), *count + 1);
                }
                _ => found.push((Part { start, end, offset: 0 }, 1)),
            }
        }
        let near_syn = |part: &Part| syn.is_some_and(|syn| part.start <= syn.saturating_add(FAR));
        let most = found.iter().map(|(_, count)| *count).max();
        found.retain(|(part, count)| {
            // Data before the SYN is stray however much it is.
            let behind_syn = syn.is_none_or(|syn| part.end > syn);
            let main = syn.is_none() && Some(*count) == most;
            behind_syn && (near_syn(part) || main || *count >= SEVERAL)
        });
        let mut parts: Vec<Part> = vec![];
        for (part, _) in found {
            let (start, offset) = match (parts.last(), syn) {
                (Some(before), _) => (part.start, before.offset + (before.end - before.start)),
                (None, Some(syn)) if near_syn(&part) => (syn, 0),
                (None, _) => (part.start, 0),
            };
            parts.push(Part { start, offset, ..part });
        }
        (!parts.is_empty()).then_some(Self { parts })
    }

    /// Offset of a data packet's first byte; `None` if the number is stray.
    pub(crate) fn of_data(&self, number: u64) -> Option<u64> {
        let part = self.part(number)?;
        (number <= part.end).then(|| part.offset + (number - part.start))
    }

    /// Offset up to which an acknowledgement or the edge of a SACK block reports data; 0 before the first byte. `None` if the number is
    /// stray.
    pub(crate) fn of_ack(&self, number: u64) -> Option<u64> {
        let Some(part) = self.part(number) else { return Some(0) };
        (number <= part.end.saturating_add(FAR)).then(|| part.offset + (number - part.start))
    }

    /// Bytes that the capture missed between the parts.
    pub(crate) fn missed(&self) -> u64 {
        self.parts.windows(2).map(|pair| pair[1].start - pair[0].end).sum()
    }

    /// The last part that begins at the number or before it.
    fn part(&self, number: u64) -> Option<&Part> {
        let after = self.parts.partition_point(|part| part.start <= number);
        self.parts[..after].last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(packets: &[(u64, u64)], syn: Option<u64>) -> Option<Numbers> {
        Numbers::new(packets.iter().copied(), syn)
    }

    /// Segments of 1000 bytes.
    fn segments(from: u64, count: u64) -> Vec<(u64, u64)> {
        (0..count).map(|index| (from + 1000 * index, from + 1000 * (index + 1))).collect()
    }

    #[test]
    fn a_stray_number_far_from_all_others_has_no_offset() {
        for stray in [2_000_000_000, 7] {
            let mut packets = segments(1_000_000_000, 20);
            packets.insert(5, (stray, stray + 100));
            let numbers = numbers(&packets, None).expect("data");
            assert_eq!(numbers.of_data(1_000_003_000), Some(3000));
            assert!(numbers.of_data(stray).is_none(), "{stray}");
            assert_eq!(numbers.missed(), 0);
        }
    }

    #[test]
    fn data_behind_a_long_gap_of_the_capture_follows_the_data_before_it() {
        let mut packets = segments(1_000_001, 20);
        packets.extend(segments(901_000_001, 20));
        let numbers = numbers(&packets, Some(1_000_001)).expect("data");
        assert_eq!(numbers.of_data(901_000_001), Some(20_000));
        assert_eq!(numbers.of_ack(901_001_001), Some(21_000));
        assert_eq!(numbers.missed(), 900_000_000 - 20_000);
        // An acknowledgement far behind all data is odd.
        assert_eq!(numbers.of_ack(2_000_000_000), None);
    }

    #[test]
    fn one_packet_a_gigabyte_behind_the_handshake_is_no_data() {
        assert_eq!(numbers(&[(1_000_000_001, 1_000_000_011)], Some(1)), None);
    }
}
