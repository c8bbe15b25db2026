//! Senders of a capture: what their packets show, and the stacks that start so.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;

use firstflight_capture::{Capture, Connection, ExitReason, Sending, Sent, infer_together};
use firstflight_document::Error;
use firstflight_hosts::host::Host;
use firstflight_probe::GAP;
use firstflight_results::{IdentifiedSender, IdentifiedStack};

use crate::likeness::Captured;
use crate::look::{Sizes, transfers};
use crate::{Identified, identify};

/// Most connections of a sender that are compared: those with most data.
const MOST: usize = 3;
/// Rounds that are reported.
const ROUNDS: usize = 12;
/// Probability below which a stack is left out, unless it is among the nearest.
const UNLIKELY: f64 = 0.01;
/// Stacks that are named in any case.
const NEAREST: usize = 3;

/// The senders of a capture, at most `most`, those whose largest connection has most data first. Senders whose connections show no round trip, or
/// less than a flight, are left out; of one whose connections all lack their handshake the start is not known.
pub fn senders(host: &dyn Host, capture: &Capture, most: usize, seed: u64) -> Vec<IdentifiedSender> {
    let mut by_sender: BTreeMap<SocketAddr, Vec<&Connection>> = BTreeMap::new();
    for connection in &capture.connections {
        by_sender.entry(connection.sender).or_default().push(connection);
    }
    let largest = |connection: &&Connection| Reverse(connection.observed.bytes);
    let mut senders: Vec<Vec<&Connection>> = by_sender.into_values().collect();
    senders.iter_mut().for_each(|connections| connections.sort_by_key(largest));
    senders.sort_by_key(|connections| largest(&connections[0]));
    senders.into_iter().filter_map(|connections| of(host, &connections, seed)).take(most).collect()
}

/// The sender of these connections, of which the largest come first.
fn of(host: &dyn Host, connections: &[&Connection], seed: u64) -> Option<IdentifiedSender> {
    let identified = connections.iter().filter_map(|connection| {
        let path = infer_together(&[*connection]);
        Some((*connection, identify(host, connection, &path, &[], seed)?))
    });
    let identified: Vec<(&Connection, Identified)> = identified.take(MOST).collect();
    let Some((largest, _)) = identified.first() else { return within(connections) };
    let together = Identified::together(identified.iter().map(|(_, one)| one));
    Some(described(largest, identified.len(), &together))
}

/// The sender of connections that the capture shows from somewhere within them.
fn within(connections: &[&Connection]) -> Option<IdentifiedSender> {
    let begun = |one: &&&Connection| !one.observed.handshake && Captured::of(one).is_some();
    let largest = connections.iter().find(begun)?;
    let shown = of_largest(largest, connections.iter().filter(begun).count().min(MOST));
    Some(IdentifiedSender { start_unknown: Some("the capture begins in mid-flight".into()), ..shown })
}

/// Values of the largest of these connections, without those of its start.
fn of_largest(connection: &Connection, connections: usize) -> IdentifiedSender {
    let sending = connection.sending();
    let rtt = connection.shortest_rtt().unwrap_or_default();
    let transfers = transfers(&sending, connection.observed.mss);
    let (first, second) = (&transfers[0], transfers.get(1));
    let silence = second.map(|second| {
        let (before, next) = (sending.packets[first.end - 1].at, sending.packets[second.start].at);
        next.saturating_sub(before).saturating_sub(rtt).0 as f64 * 1e-9
    });
    let second = second.map(|second| Flight::of(&sending, second.clone()));
    IdentifiedSender {
        sender: connection.sender.to_string(),
        protocol: connection.source.transport().into(),
        source: connection.source.label().into(),
        connections: connections as u64,
        bytes: connection.observed.bytes,
        rtt_ms: rtt.0 as f64 * 1e-6,
        starts_as: None,
        probability: None,
        unknown: None,
        start_unknown: None,
        first_flight_packets: None,
        first_flight_bytes: None,
        burst_packets: None,
        spacing_ms: None,
        datagram_bytes: None,
        largest_datagram_bytes: None,
        rounds_bytes: vec![],
        growth: None,
        exit: None,
        exit_packets: None,
        silence_s: silence,
        after_silence_packets: second.as_ref().map(|flight| flight.packets),
        after_silence_burst_packets: second.as_ref().map(|flight| flight.burst),
        stacks: vec![],
    }
}

fn described(connection: &Connection, connections: usize, identified: &Identified) -> IdentifiedSender {
    let sending = connection.sending();
    let quic = connection.source.transport() == "quic";
    let rtt = connection.shortest_rtt().unwrap_or_default();
    let first = transfers(&sending, connection.observed.mss)[0].clone();
    let sizes = if quic { Sizes::of(&sending, rtt) } else { None };
    let rounds = rounds(&sending, first.clone());
    let (exit, packets) = exit(connection, identified, &rounds, sizes.map(|sizes| sizes.first));
    let first = Flight::of(&sending, first);
    IdentifiedSender {
        starts_as: identified.starts_as(),
        probability: identified.starts_as().map(|_| identified.probability()),
        unknown: Some(identified.none),
        first_flight_packets: Some(first.packets),
        first_flight_bytes: Some(first.bytes),
        burst_packets: Some(first.burst),
        spacing_ms: first.spacing_ms,
        datagram_bytes: sizes.map(|sizes| sizes.first.into()),
        largest_datagram_bytes: sizes.map(|sizes| sizes.probe.into()),
        growth: growth(&rounds),
        rounds_bytes: rounds,
        exit: Some(exit.into()),
        exit_packets: packets,
        stacks: stacks(identified),
        ..of_largest(connection, connections)
    }
}

fn stacks(identified: &Identified) -> Vec<IdentifiedStack> {
    let named = identified.stacks.iter().enumerate();
    let named = named.filter(|(place, one)| *place < NEAREST || one.probability >= UNLIKELY);
    let of = |(_, one): (usize, &crate::Probable)| IdentifiedStack {
        profile: one.profile.word().into(),
        stack: crate::stack_name(one.profile).into(),
        scheme: one.candidate.label(),
        probability: one.probability,
        apart_round_trips: one.apart,
    };
    named.map(of).collect()
}

/// The first flight of a transfer.
struct Flight {
    packets: u64,
    bytes: u64,
    burst: u64,
    spacing_ms: Option<f64>,
}

impl Flight {
    /// The packets of a transfer until the acknowledgement of the first of them.
    fn of(sending: &Sending, transfer: Range<usize>) -> Self {
        let packets = &sending.packets[split(sending, transfer)[0].clone()];
        let bursts: Vec<&[Sent]> =
            packets.chunk_by(|one, next| next.at.saturating_sub(one.at) < GAP).collect();
        let mut gaps: Vec<u64> =
            bursts.windows(2).map(|pair| pair[1][0].at.saturating_sub(pair[0][0].at).0).collect();
        gaps.sort_unstable();
        Self {
            packets: packets.len() as u64,
            bytes: payload(packets),
            burst: bursts.first().map_or(0, |burst| burst.len() as u64),
            spacing_ms: gaps.get(gaps.len() / 2).map(|gap| *gap as f64 * 1e-6),
        }
    }
}

/// The rounds of a transfer, one at least.
fn split(sending: &Sending, transfer: Range<usize>) -> Vec<Range<usize>> {
    let within =
        sending.rounds.iter().copied().filter(|next| transfer.contains(next) && *next > transfer.start);
    let begins: Vec<usize> = [transfer.start].into_iter().chain(within).collect();
    let ends = begins[1..].iter().copied().chain([transfer.end]);
    begins.iter().copied().zip(ends).map(|(begin, end)| begin..end).collect()
}

/// Payload of each round of a transfer.
fn rounds(sending: &Sending, transfer: Range<usize>) -> Vec<u64> {
    split(sending, transfer).into_iter().take(ROUNDS).map(|round| payload(&sending.packets[round])).collect()
}

fn payload(packets: &[Sent]) -> u64 {
    packets.iter().map(|packet| u64::from(packet.bytes)).sum()
}

/// Median factor from one round to the next, while rounds grow by a fifth at least. The last round is left out: the data ends in it.
fn growth(rounds: &[u64]) -> Option<f64> {
    const GROWS: f64 = 1.2;
    let whole = &rounds[..rounds.len().checked_sub(1)?];
    let factors = whole.windows(2).map(|pair| pair[1] as f64 / pair[0].max(1) as f64);
    let all: Vec<f64> = factors.collect();
    let grown = all.iter().take_while(|factor| **factor >= GROWS).count().max(1);
    let mut grown = all.get(..grown)?.to_vec();
    grown.sort_by(f64::total_cmp);
    grown.get(grown.len() / 2).copied()
}

/// Reason of the end of start-up, and the packets in flight at it. `rounds` are those of the first transfer, bytes, and
/// `datagram` the size of its datagrams.
fn exit(
    connection: &Connection,
    identified: &Identified,
    rounds: &[u64],
    datagram: Option<u32>,
) -> (&'static str, Option<f64>) {
    let buffer = identified.likeliest().and_then(|one| one.profile.stack().send_buffer);
    let full = buffer.and_then(|buffer| capped(rounds, buffer)).map(|bytes| bytes as f64);
    match (&connection.observed.startup.exit, full) {
        (Some(exit), _) if exit.reason == ExitReason::Loss => ("loss", Some(exit.cwnd_packets)),
        (Some(exit), _) if exit.reason == ExitReason::Mark => ("mark", Some(exit.cwnd_packets)),
        (_, Some(bytes)) => {
            ("cap", Some(bytes / f64::from(datagram.unwrap_or(connection.observed.mss).max(1))))
        }
        (Some(exit), None) => ("no growth", Some(exit.cwnd_packets)),
        (None, None) => ("data", None),
    }
}

/// Bytes of the first round that fills the `buffer` of a stack, if no later one of those that the data fills has more. The last round is left out: the
/// data ends in it.
fn capped(rounds: &[u64], buffer: u64) -> Option<u64> {
    /// Bytes of a round over the buffer: headers and tags are in the round alone, and a round may have a packet of the next.
    const FULL: std::ops::RangeInclusive<f64> = 0.9..=1.15;
    let whole = &rounds[..rounds.len().checked_sub(1)?];
    let over = |round: &u64| *round as f64 / buffer as f64;
    let first = whole.iter().position(|round| FULL.contains(&over(round)))?;
    let later = &whole[first..];
    (later.len() > 1 && later.iter().all(|round| over(round) <= *FULL.end())).then(|| whole[first])
}

/// The error that no sender of the captures `named` can be identified.
pub fn none_shown(named: &str) -> Error {
    Error::invalid(format!("{named}: no sender shows a round trip and a transfer of 9 KB"))
        .expecting("a capture of transfers of 10 KB or more, from their first packet")
}

#[cfg(test)]
mod tests {
    use super::capped;

    #[test]
    fn rounds_that_fill_a_buffer_and_never_more_are_capped_by_it() {
        const BUFFER: u64 = 65_536;
        assert_eq!(capped(&[14_400, 28_800, 67_200, 68_700, 67_200, 39_000], BUFFER), Some(67_200));
        // One round alone shows no end; larger ones are not capped; and none fills the buffer.
        assert_eq!(capped(&[14_400, 28_800, 67_200, 68_700], BUFFER), None);
        assert_eq!(capped(&[33_600, 67_200, 134_400, 67_200, 100], BUFFER), None);
        assert_eq!(capped(&[14_400, 28_800, 28_800, 28_800], BUFFER), None);
        assert_eq!(capped(&[], BUFFER), None);
    }
}
