//! Packets that a sender sent over time: the form in which the starts of stacks are compared.

use firstflight_contract::Nanos;

use crate::packet_trace::PacketTrace;
use crate::source::Source;
use crate::startup::next_round;

/// A packet with data that a sender sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Time at which it left. The origin is that of the capture or of the simulation.
    pub at: Nanos,
    /// Payload of TCP or UDP, bytes. Of QUIC it includes the headers and tags of its packets.
    pub bytes: u32,
    /// Number of acknowledgements that had come before.
    pub acks_before: u32,
}

/// Packets of a sender, and the acknowledgements that came to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sending {
    /// Packets with data, in order of time, retransmissions included.
    pub packets: Vec<Sent>,
    /// Times of the acknowledgements.
    pub acks: Vec<Nanos>,
    /// Places of the first packets of transfers in `packets`: the first one, and each packet after a silence in which everything
    /// that was sent had arrived.
    pub begins: Vec<usize>,
    /// Places of the packets that follow a round in `packets`: a round ends before the first packet that leaves when or after the
    /// acknowledgement of the round's first packet has come.
    pub rounds: Vec<usize>,
    /// Time of the first retransmission.
    pub retransmitted: Option<Nanos>,
}

/// Shortest silence that divides two transfers. Shorter ones are those of servers that wait for their disks.
const SILENCE: Nanos = Nanos::from_millis(150);

pub(crate) fn sending(trace: &PacketTrace) -> Sending {
    let size = |place: usize| match trace.datagrams.get(place) {
        Some(bytes) => *bytes,
        None => trace.sends[place].len,
    };
    let packets = trace.sends.iter().enumerate().map(|(place, send)| Sent {
        at: send.at,
        bytes: size(place),
        acks_before: send.acks_before,
    });
    // Which packets are retransmissions is not known of encrypted datagrams, but which were lost is modelled.
    let retransmitted = trace.sends.iter().find(|send| !send.new).map(|send| send.at);
    Sending {
        packets: packets.collect(),
        acks: trace.acks.iter().map(|ack| ack.at).collect(),
        begins: begins(trace),
        rounds: rounds(trace),
        retransmitted,
    }
}

fn begins(trace: &PacketTrace) -> Vec<usize> {
    let least = trace.min_rtt().map_or(SILENCE, |rtt| SILENCE.max(Nanos(rtt.0 + rtt.0 / 2)));
    let pauses = |place: &usize| {
        let (before, next) = (&trace.sends[*place - 1], &trace.sends[*place]);
        if next.at.saturating_sub(before.at) < least {
            return false;
        }
        // Whether the last datagrams arrived is not known of encrypted ones.
        let arrived = |ack: u32| trace.acks[ack as usize].flight == 0;
        trace.source == Source::Datagrams || next.acks_before.checked_sub(1).is_some_and(arrived)
    };
    (0..trace.sends.len().min(1)).chain((1..trace.sends.len()).filter(pauses)).collect()
}

fn rounds(trace: &PacketTrace) -> Vec<usize> {
    let mut rounds = vec![];
    let (mut place, mut acks) = (0, 0);
    while let Some(first) = trace.sends.get(place) {
        // Data that was acknowledged before it left would end its round before it began.
        match next_round(trace, &mut acks, first.end) {
            Some(next) if next.max(place + 1) < trace.sends.len() => place = next.max(place + 1),
            _ => break,
        }
        rounds.push(place);
    }
    rounds
}

#[cfg(test)]
mod tests {
    use crate::simulated::{Simulated, SimulatedPacket};

    use super::*;

    #[test]
    fn rounds_and_transfers_of_a_hand_made_connection() {
        // 10 ms of round trip: two packets, four, then silence and two more.
        let data = |ms: u64, start: u64| {
            (Nanos::from_millis(ms), SimulatedPacket::Data { start: start * 1000, len: 1000, carried: 1000 })
        };
        let ack = |ms: u64, packets: u64| {
            (Nanos::from_millis(ms), SimulatedPacket::Ack { ack: packets * 1000, blocks: [(0, 0); 4] })
        };
        let packets = [
            data(0, 0),
            data(0, 1),
            ack(10, 1),
            data(10, 2),
            data(10, 3),
            ack(11, 2),
            data(11, 4),
            data(11, 5),
            ack(20, 3),
            ack(21, 6),
            data(400, 6),
            data(400, 7),
            ack(410, 8),
        ];
        let sending = Simulated::new(Source::Segments, 1000, 40, packets).sending();
        assert_eq!(sending.packets.len(), 8);
        assert_eq!((sending.begins, sending.rounds), (vec![0, 6], vec![2, 6]));
        assert_eq!(sending.retransmitted, None);
    }
}
