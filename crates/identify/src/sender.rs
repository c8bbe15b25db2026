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
/// less than a flight, are left out.
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
    let (largest, _) = identified.first()?;
    let together = Identified::together(identified.iter().map(|(_, one)| one));
    Some(described(largest, identified.len(), &together))
}

fn described(connection: &Connection, connections: usize, identified: &Identified) -> IdentifiedSender {
    let sending = connection.sending();
    let seen = &connection.observed;
    let quic = connection.source.transport() == "quic";
    let rtt = connection.shortest_rtt().unwrap_or_default();
    let transfers = transfers(&sending, seen.mss);
    let (first, second) = (transfers[0].clone(), transfers.get(1).cloned());
    let sizes = if quic { Sizes::of(&sending, rtt) } else { None };
    let rounds = rounds(&sending, first.clone());
    let (exit, packets) = exit(connection, identified);
    let silence = second.as_ref().map(|second| {
        let (before, next) = (sending.packets[first.end - 1].at, sending.packets[second.start].at);
        next.saturating_sub(before).saturating_sub(rtt).0 as f64 * 1e-9
    });
    let (first, second) = (Flight::of(&sending, first), second.map(|second| Flight::of(&sending, second)));
    IdentifiedSender {
        sender: connection.sender.to_string(),
        protocol: connection.source.transport().into(),
        source: connection.source.label().into(),
        connections: connections as u64,
        bytes: seen.bytes,
        rtt_ms: rtt.0 as f64 * 1e-6,
        starts_as: identified.starts_as(),
        probability: identified.starts_as().map(|_| identified.probability()),
        unknown: identified.none,
        first_flight_packets: first.packets,
        first_flight_bytes: first.bytes,
        burst_packets: first.burst,
        spacing_ms: first.spacing_ms,
        datagram_bytes: sizes.map(|sizes| sizes.first.into()),
        largest_datagram_bytes: sizes.map(|sizes| sizes.probe.into()),
        growth: growth(&rounds),
        rounds_bytes: rounds,
        exit: exit.into(),
        exit_packets: packets,
        silence_s: silence,
        after_silence_packets: second.as_ref().map(|flight| flight.packets),
        after_silence_burst_packets: second.as_ref().map(|flight| flight.burst),
        stacks: stacks(identified),
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

/// Reason of the end of start-up, and the packets in flight at it.
fn exit(connection: &Connection, identified: &Identified) -> (&'static str, Option<f64>) {
    /// Flight over a buffer of the stack up to which the buffer limited it: headers and tags are in the flight alone.
    const FULL_BUFFER: f64 = 1.15;
    let Some(exit) = &connection.observed.startup.exit else { return ("data", None) };
    let bytes = exit.cwnd_packets * f64::from(connection.observed.mss);
    let likeliest = identified.likeliest().and_then(|one| one.profile.stack().send_buffer);
    let capped = likeliest.is_some_and(|buffer| bytes <= buffer as f64 * FULL_BUFFER);
    let reason = match exit.reason {
        ExitReason::Loss => "loss",
        ExitReason::Mark => "mark",
        ExitReason::Slowed if capped => "cap",
        ExitReason::Slowed => "no growth",
    };
    (reason, Some(exit.cwnd_packets))
}

/// The error that no sender of the captures `named` can be identified.
pub fn none_shown(named: &str) -> Error {
    Error::invalid(format!("{named}: no sender shows a round trip and a transfer of 9 KB"))
        .expecting("a capture of transfers of 10 KB or more, from their first packet")
}
