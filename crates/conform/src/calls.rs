//! Calls of a vector with their packets: when each left, and which of them a row acknowledges or declares lost.
//!
//! A row has bytes, and the number of the newest acknowledged packet. Networks of the drivers keep the order, so that the
//! other numbers follow: of the packets before the newest one, those that were lost were never acknowledged, and those are
//! declared lost first that left first.

use std::collections::VecDeque;

use firstflight_contract::Nanos;

use crate::controller::{Call, Packet};
use crate::vector::{Driver, Event, Vector};

/// Times at which packets left, by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Departures(Vec<Nanos>);

impl Departures {
    /// From the round trips of the acknowledgements. A packet without one left with the packet before it, or at the call that
    /// opened the window, whichever is later.
    pub(crate) fn of(vector: &Vector) -> Self {
        let count = vector.events.last().map_or(0, |event| event.next) as usize;
        let mut times: Vec<Option<Nanos>> = vec![None; count];
        for event in &vector.events {
            if let (Some(packet), Some(rtt)) = (event.packet, event.rtt)
                && let Some(time) = times.get_mut(packet as usize)
            {
                *time = Some(event.at.saturating_sub(rtt));
            }
        }
        let mut earliest = vec![Nanos::ZERO; count];
        let mut next = 0;
        let mut opened = Nanos::ZERO;
        for event in &vector.events {
            for time in earliest.iter_mut().take(event.next as usize).skip(next) {
                *time = opened;
            }
            next = next.max(event.next as usize);
            opened = event.at;
        }
        let mut last = Nanos::ZERO;
        let known = times.iter().zip(&earliest).map(|(time, earliest)| {
            last = time.unwrap_or(last.max(*earliest)).max(last);
            last
        });
        Self(known.collect())
    }

    /// Time at which a packet left.
    pub(crate) fn at(&self, packet: u64) -> Nanos {
        self.0.get(packet as usize).or(self.0.last()).copied().unwrap_or_default()
    }
}

/// Packets that are neither acknowledged nor lost, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outstanding {
    packets: VecDeque<u64>,
    next: u64,
    /// One above the newest acknowledged packet.
    acked: u64,
}

/// Numbers of the packets of a row, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fates {
    /// Acknowledged ones.
    pub(crate) acked: Vec<u64>,
    /// Lost ones.
    pub(crate) lost: Vec<u64>,
}

impl Outstanding {
    /// Packets that were sent since the last call.
    pub(crate) fn sent(&mut self, next: u64) -> std::ops::Range<u64> {
        let sent = self.next..next.max(self.next);
        self.packets.extend(sent.clone());
        self.next = sent.end;
        sent
    }

    /// The packets of a row.
    pub(crate) fn fates(&mut self, event: &Event) -> Fates {
        let count = |bytes: u64| bytes.div_ceil(event.mss.max(1)) as usize;
        let mut acked = vec![];
        if let Some(newest) = event.packet.filter(|_| event.acked > 0) {
            let wanted = count(event.acked);
            // The packets behind the newest acknowledged one of earlier rows, in order; then late ones before it.
            let fresh = self.packets.iter().filter(|packet| **packet >= self.acked && **packet < newest);
            acked.extend(fresh.take(wanted.saturating_sub(1)).copied());
            let late = self.packets.iter().rev().filter(|packet| **packet < self.acked && **packet != newest);
            let missing = wanted.saturating_sub(1).saturating_sub(acked.len());
            acked.extend(late.take(missing).copied());
            acked.push(newest);
            acked.sort_unstable();
            self.acked = self.acked.max(newest + 1);
            self.packets.retain(|packet| !acked.contains(packet));
        }
        let lost: Vec<u64> = self.packets.iter().take(count(event.lost)).copied().collect();
        self.packets.drain(..lost.len());
        Fates { acked, lost }
    }
}

/// The calls of a vector's rows, in order.
pub(crate) fn calls(vector: &Vector) -> Box<dyn Iterator<Item = Call> + '_> {
    match vector.driver {
        Driver::Rust => Box::new(by_rows(vector)),
        Driver::Quicly | Driver::Picoquic => {
            Box::new(vector.events.iter().map(|event| by_calls(vector, event)))
        }
    }
}

/// The call of a row that is one: its bytes are those of the newest packet.
fn by_calls(vector: &Vector, event: &Event) -> Call {
    let packet = |bytes: u64| {
        let number = event.packet.unwrap_or_default();
        let sent_at = event.at.saturating_sub(event.rtt.unwrap_or_default());
        if bytes > 0 { vec![Packet { number, bytes, sent_at }] } else { vec![] }
    };
    Call {
        at: event.seen_at,
        mss: event.mss,
        acked: packet(event.acked),
        lost: packet(event.lost),
        before: event.before,
        after: event.after,
        sent_total: event.sent,
        rtt: event.rtt,
        min_rtt: event.min_rtt,
        srtt: event.srtt,
        limited: event.limited || event.window_limited == Some(false),
        next: event.next,
        last_sent_at: event.seen_at,
        shares_path: vector.competes,
        ..Call::default()
    }
}

/// Calls of rows that acknowledge and lose packets at once.
fn by_rows(vector: &Vector) -> impl Iterator<Item = Call> + '_ {
    let departures = Departures::of(vector);
    let mut out = Outstanding::default();
    vector.events.iter().map(move |event| {
        let packet = |number: u64| Packet { number, bytes: event.mss, sent_at: departures.at(number) };
        let sent: Vec<Packet> = out.sent(event.next).map(packet).collect();
        let fates = out.fates(event);
        Call {
            at: event.seen_at,
            mss: event.mss,
            sent,
            acked: fates.acked.into_iter().map(packet).collect(),
            lost: fates.lost.into_iter().map(packet).collect(),
            before: event.before,
            after: event.after,
            sent_total: event.sent,
            rtt: event.rtt,
            min_rtt: event.min_rtt,
            srtt: event.srtt,
            limited: event.limited,
            persistent: false,
            last_sent_at: departures.at(event.next.saturating_sub(1)),
            next: event.next,
            shares_path: vector.competes,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_rows_follow_from_their_order() {
        let mut out = Outstanding::default();
        assert_eq!(out.sent(10), 0..10);
        let row = |acked, lost, packet| Event { acked, lost, packet, mss: 1200, ..Event::default() };
        let fates = |acked: &[u64], lost: &[u64]| Fates { acked: acked.to_vec(), lost: lost.to_vec() };
        assert_eq!(out.fates(&row(2400, 0, Some(1))), fates(&[0, 1], &[]));
        // Packet 3 is lost: an acknowledgement of packets 2 and 4 comes at once.
        assert_eq!(out.fates(&row(2400, 0, Some(4))), fates(&[2, 4], &[]));
        assert_eq!(out.fates(&row(1200, 0, Some(5))), fates(&[5], &[]));
        assert_eq!(out.fates(&row(1200, 1200, Some(6))), fates(&[6], &[3]));
        assert_eq!(out.sent(11), 10..11);
        assert_eq!(out.fates(&row(4800, 0, Some(10))), fates(&[7, 8, 9, 10], &[]));
    }
}
