//! Datagrams that hold the packets of several: a host leaves their division to its hardware (UDP GSO), or joins what it received (UDP GRO).

use std::collections::BTreeMap;

use crate::opening::Datagram;

/// Longest datagram of a path with Ethernet's MTU, bytes behind the UDP header.
const LONGEST: u32 = 1472;

/// Divides the datagrams that are longer than a packet of the path. Returns their number.
///
/// All packets of such a datagram but the last have one length. It is the one of packets that stand alone elsewhere, of which the length of most
/// datagrams is a multiple, a third at least; it grows where a stack probes for the MTU.
pub(super) fn split(datagrams: &mut Vec<Datagram>) -> u64 {
    let mut count = 0;
    for from_client in [true, false] {
        let sizes = Sizes::of(datagrams.iter().filter(|one| one.from_client == from_client && !one.long));
        let Some(mut size) = sizes.most_common() else { continue };
        let mut divided = Vec::with_capacity(datagrams.len());
        for one in datagrams.drain(..) {
            if one.from_client != from_client || one.size <= LONGEST {
                divided.push(one);
                continue;
            }
            count += 1;
            size = sizes.divisor(one.size).unwrap_or(size);
            let (whole, rest) = (one.size / size, one.size % size);
            let all = std::iter::repeat_n(size, whole as usize).chain((rest > 0).then_some(rest));
            divided.extend(all.map(|size| Datagram { size, ..one }));
        }
        *datagrams = divided;
    }
    count
}

/// Sizes of packets that stand alone, and the number of long datagrams that are multiples of each.
struct Sizes {
    multiples: BTreeMap<u32, u32>,
    long: u32,
}

impl Sizes {
    fn of<'a>(datagrams: impl Iterator<Item = &'a Datagram> + Clone) -> Self {
        const SHORTEST: u32 = 1200;
        let alone = datagrams.clone().filter(|one| (SHORTEST..=LONGEST).contains(&one.size));
        let mut multiples: BTreeMap<u32, u32> = alone.map(|one| (one.size, 0)).collect();
        let mut long: BTreeMap<u32, u32> = BTreeMap::new();
        datagrams.filter(|one| one.size > LONGEST).for_each(|one| *long.entry(one.size).or_default() += 1);
        for (size, count) in &mut multiples {
            *count = long.iter().filter(|(long, _)| *long % size == 0).map(|(_, count)| count).sum();
        }
        Self { multiples, long: long.values().sum() }
    }

    fn most_common(&self) -> Option<u32> {
        let best = self.multiples.iter().max_by_key(|(size, count)| (**count, **size))?;
        (self.long > 0 && 3 * best.1 >= self.long).then_some(*best.0)
    }

    /// The most common size of which this is a multiple.
    fn divisor(&self, long: u32) -> Option<u32> {
        let divide = self.multiples.iter().filter(|(size, _)| long.is_multiple_of(**size));
        divide.max_by_key(|(size, count)| (**count, **size)).map(|(size, _)| *size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_contract::Nanos;

    fn datagrams(sizes: &[u32]) -> Vec<Datagram> {
        let one = |&size: &u32| Datagram {
            at: Nanos::ZERO,
            size,
            hash: 0,
            from_client: false,
            long: false,
            spin: false,
        };
        sizes.iter().map(one).collect()
    }

    #[test]
    fn multiples_of_a_packet_are_divided_and_others_are_packets_of_a_path_with_a_large_mtu() {
        // 10 and 3 packets of 1452 bytes, and two with 500 behind them.
        let mut joined = datagrams(&[1452, 14_520, 4356, 3404, 60]);
        assert_eq!(split(&mut joined), 3);
        let sizes: Vec<u32> = joined.iter().map(|one| one.size).collect();
        assert_eq!(sizes, [&[1452; 16][..], &[500, 60]].concat());
        // Before the probes for the MTU, packets had 1200 bytes.
        let mut grown = datagrams(&[1200, 6000, 1452, 14_520, 4356, 2904]);
        assert_eq!(split(&mut grown), 4);
        assert_eq!(grown.iter().filter(|one| one.size == 1200).count(), 6);
        assert_eq!(grown.iter().filter(|one| one.size == 1452).count(), 16);
        // Datagrams of the loopback device, whose MTU is 65,536 bytes.
        let mut large = datagrams(&[65_500, 65_500, 30_011]);
        assert_eq!(split(&mut large), 0);
        assert_eq!(large.len(), 3);
    }
}
