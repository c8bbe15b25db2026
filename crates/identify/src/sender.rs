//! Senders of a capture: what their packets show, and the stacks that start so.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use firstflight_capture::{Capture, Connection, ExitReason, Sending, Sent, infer_together};
use firstflight_hosts::host::Host;
use firstflight_probe::GAP;
use firstflight_results::{IdentifiedSender, IdentifiedStack};

use crate::look::{FULL, Sizes};
use crate::{Identified, identify};

/// Most connections of a sender that are compared: those with most data.
const MOST: usize = 3;
/// Rounds that are reported.
const ROUNDS: usize = 12;
/// Probability below which a stack is left out, unless it is among the nearest.
const UNLIKELY: f64 = 0.01;
/// Stacks that are named in any case.
const NEAREST: usize = 3;

/// The senders of a capture, those with most data first. Senders whose connections show no round trip, or less than a flight, are left
/// out.
pub fn senders(host: &dyn Host, capture: &Capture, seed: u64) -> Vec<IdentifiedSender> {
    let mut by_sender: BTreeMap<SocketAddr, Vec<&Connection>> = BTreeMap::new();
    for connection in &capture.connections {
        by_sender.entry(connection.sender).or_default().push(connection);
    }
    let mut senders: Vec<IdentifiedSender> =
        by_sender.into_values().filter_map(|connections| of(host, connections, seed)).collect();
    senders.sort_by_key(|sender| std::cmp::Reverse(sender.bytes));
    senders
}

fn of(host: &dyn Host, mut connections: Vec<&Connection>, seed: u64) -> Option<IdentifiedSender> {
    connections.sort_by_key(|connection| std::cmp::Reverse(connection.observed.bytes));
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
    let first = Flight::of(&sending, 0);
    let second = sending.begins.get(1).map(|&begin| Flight::of(&sending, begin));
    let sizes = if quic { Sizes::of(&sending, rtt) } else { None };
    let rounds = rounds(&sending);
    let (exit, packets) = exit(connection, identified);
    let silence = sending.begins.get(1).map(|&begin| {
        let (before, next) = (sending.packets[begin - 1].at, sending.packets[begin].at);
        next.saturating_sub(before).saturating_sub(rtt).0 as f64 * 1e-9
    });
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
    /// The packets from the first full one behind `begin` on until its acknowledgement.
    fn of(sending: &Sending, begin: usize) -> Self {
        let begin =
            begin + sending.packets[begin..].iter().position(|packet| packet.bytes >= FULL).unwrap_or(0);
        let end = sending.rounds.iter().copied().find(|end| *end > begin).unwrap_or(sending.packets.len());
        let packets = &sending.packets[begin..end];
        let bursts: Vec<&[Sent]> =
            packets.chunk_by(|one, next| next.at.saturating_sub(one.at) < GAP).collect();
        let full = |burst: &&&[Sent]| burst.iter().any(|packet| packet.bytes >= FULL) || burst.len() > 1;
        let mut gaps: Vec<u64> =
            bursts.windows(2).map(|pair| pair[1][0].at.saturating_sub(pair[0][0].at).0).collect();
        gaps.sort_unstable();
        let spacing = gaps.get(gaps.len() / 2).map(|gap| *gap as f64 * 1e-6);
        Self {
            packets: packets.len() as u64,
            bytes: packets.iter().map(|packet| u64::from(packet.bytes)).sum(),
            burst: bursts.iter().find(full).map_or(0, |burst| burst.len() as u64),
            spacing_ms: spacing,
        }
    }
}

/// Payload of each round of the first transfer.
fn rounds(sending: &Sending) -> Vec<u64> {
    let end = sending.begins.get(1).copied().unwrap_or(sending.packets.len());
    let ends = sending.rounds.iter().copied().take_while(|next| *next < end).chain([end]);
    // The end of the handshake is no round of data.
    let mut begin = sending.packets[..end].iter().position(|packet| packet.bytes >= FULL).unwrap_or(0);
    let ends = ends.filter(|end| *end > begin).collect::<Vec<_>>().into_iter();
    let bytes = ends.map(|end| {
        let bytes = sending.packets[begin..end].iter().map(|packet| u64::from(packet.bytes)).sum();
        begin = end;
        bytes
    });
    bytes.take(ROUNDS).collect()
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
