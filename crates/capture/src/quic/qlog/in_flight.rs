//! Acknowledgements of a log that has no frames, from the bytes in flight that it reports.
//!
//! The bytes in flight fall by what is acknowledged or lost. Lost packets are named, so that the oldest others in flight are those that were
//! acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use super::clock::Line;

/// An event of a log that changes the bytes in flight.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// A packet was sent: its number, its size, whether it is of the space of application data.
    Sent(u64, u32, bool),
    /// A packet was received, which may acknowledge others.
    Received,
    /// A packet was declared lost.
    Lost(u64, bool),
    /// Bytes in flight.
    InFlight(u64),
}

/// Packets of the application's space that are acknowledged, with the lines.
pub(super) fn acknowledged(changes: &[(Line, Change)]) -> Vec<(Line, Vec<u64>)> {
    let all_lost: BTreeSet<(bool, u64)> = changes
        .iter()
        .filter_map(|(_, change)| match change {
            Change::Lost(number, data) => Some((*data, *number)),
            _ => None,
        })
        .collect();
    let mut acknowledged = vec![];
    // Packets in flight in the order in which they were sent, and where those of the application's space stand.
    let (mut outstanding, mut places) = (BTreeMap::<u64, (u64, u32, bool)>::new(), BTreeMap::new());
    let (mut next, mut received) = (0, false);
    // Bytes of the packets outstanding, and the packets sent since the bytes in flight were reported.
    let (mut bytes, mut sent): (u64, Vec<u64>) = (0, vec![]);
    for &(at, change) in changes {
        match change {
            Change::Sent(number, size, data) => {
                outstanding.insert(next, (number, size, data));
                places.insert((data, number), next);
                sent.push(next);
                bytes += u64::from(size);
                next += 1;
            }
            Change::Received => received = true,
            Change::Lost(number, data) => {
                let one = places.remove(&(data, number)).and_then(|place| outstanding.remove(&place));
                bytes -= one.map_or(0, |(_, size, _)| u64::from(size));
            }
            Change::InFlight(now) => {
                let mut gone = bytes.saturating_sub(now);
                if !received {
                    // Packets that only acknowledge, and probes of the path's MTU in some stacks, are not in flight: one of just this size, or
                    // else the shortest ones.
                    let size = |place: &u64| {
                        outstanding.get(place).map_or(u64::MAX, |(_, size, _)| u64::from(*size))
                    };
                    sent.sort_by_key(|place| (size(place) != gone, size(place)));
                    for place in &sent {
                        let size = outstanding.get(place).map_or(u64::MAX, |(_, size, _)| u64::from(*size));
                        if size > gone {
                            break;
                        }
                        (gone, bytes) = (gone - size, bytes - size);
                        outstanding.remove(place);
                    }
                } else if gone > 0 {
                    let (mut numbers, mut gone_places) = (vec![], vec![]);
                    for (&place, &(number, size, data)) in &outstanding {
                        if all_lost.contains(&(data, number)) {
                            continue;
                        }
                        if u64::from(size) > gone {
                            break;
                        }
                        (gone, bytes) = (gone - u64::from(size), bytes - u64::from(size));
                        gone_places.push(place);
                        numbers.extend(data.then_some(number));
                    }
                    gone_places.iter().for_each(|place| _ = outstanding.remove(place));
                    if !numbers.is_empty() {
                        acknowledged.push((at, numbers));
                    }
                }
                received = false;
                sent.clear();
            }
        }
    }
    acknowledged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_packets_in_flight_that_are_not_lost_are_acknowledged() {
        let at = Line;
        let sent = |number| (at(0), Change::Sent(number, 1000, true));
        let changes = [
            (at(0), Change::Sent(0, 300, false)),
            sent(0),
            sent(1),
            sent(2),
            sent(3),
            // Only acknowledges, and is not in flight.
            (at(0), Change::Sent(4, 40, true)),
            (at(0), Change::InFlight(4300)),
            (at(50), Change::Received),
            // The handshake and packet 0.
            (at(50), Change::InFlight(3000)),
            (at(51), Change::Received),
            (at(51), Change::Lost(1, true)),
            (at(51), Change::InFlight(1000)),
            (at(60), Change::Received),
            (at(60), Change::InFlight(1000)),
            (at(70), Change::Received),
            (at(70), Change::InFlight(0)),
        ];
        assert_eq!(acknowledged(&changes), [(at(50), vec![0]), (at(51), vec![2]), (at(70), vec![3])]);
    }
}
