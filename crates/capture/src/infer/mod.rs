//! The path from the connections of a capture.

mod buffer;
mod ends;
mod rate;
mod rtt;
mod stats;

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::estimate::{Estimate, Inferred, PathEstimate};
use crate::observed::{Connection, Vantage};
use crate::trace::Trace;

/// Infers the path of `connections`: of those between the two hosts that exchanged most data, pooled.
///
/// Rate, buffer and loss are told from the sender's side only. From a capture taken elsewhere the result holds the
/// round trip of the handshake and what the packets state themselves, and says why the rest cannot be told.
pub fn infer(connections: &[Connection]) -> PathEstimate {
    let mut notes = Vec::new();
    let pooled = busiest_pair(connections, &mut notes);
    let traces: Vec<&Trace> = pooled.iter().map(|connection| &connection.trace).collect();
    let at_sender: Vec<&Connection> = pooled
        .iter()
        .copied()
        .filter(|connection| matches!(connection.vantage, Vantage::Sender | Vantage::Unknown))
        .collect();
    if at_sender.iter().any(|connection| connection.vantage == Vantage::Unknown) {
        notes.push("neither a handshake nor time stamps tell where the capture was taken: it is taken to be at the sender".into());
    }
    if at_sender.len() < pooled.len() {
        let elsewhere = pooled.len() - at_sender.len();
        notes.push(format!("{elsewhere} of {} connections were captured away from the sender", pooled.len()));
    }
    let (rate, rtt, losses, initial_window) = if at_sender.is_empty() {
        let why = "captured away from the sender: the times packets leave it are not in the capture";
        let nothing = || -> Inferred<Estimate> { Inferred::cannot_tell(why) };
        let rate = nothing();
        let rtt = rtt::rtt(&pooled, &rate);
        (rate, rtt, buffer::Losses { buffer: nothing(), random: nothing() }, nothing())
    } else {
        let traces: Vec<&Trace> = at_sender.iter().map(|connection| &connection.trace).collect();
        let rate = rate::rate(&traces);
        let rtt = rtt::rtt(&at_sender, &rate);
        let losses = buffer::losses(&traces, &rate, &rtt);
        (rate, rtt, losses, ends::initial_window(&at_sender))
    };
    PathEstimate {
        rate,
        rtt,
        buffer: losses.buffer,
        loss: losses.random,
        mss: ends::mss(&traces),
        packet: ends::packet(&traces),
        ack: ends::ack(&traces),
        initial_window,
        receive_window: ends::receive_window(&traces),
        receiver: ends::receiver(&traces),
        notes,
    }
}

/// The connections from one host to another, of the two that exchanged most data.
fn busiest_pair<'a>(connections: &'a [Connection], notes: &mut Vec<String>) -> Vec<&'a Connection> {
    let mut bytes: BTreeMap<(IpAddr, IpAddr), u64> = BTreeMap::new();
    let pair = |connection: &Connection| (connection.sender.ip(), connection.receiver.ip());
    for connection in connections {
        *bytes.entry(pair(connection)).or_default() += connection.observed.bytes;
    }
    let busiest = bytes.iter().max_by_key(|(_, bytes)| **bytes).map(|(pair, _)| *pair);
    let pooled: Vec<_> = connections.iter().filter(|connection| Some(pair(connection)) == busiest).collect();
    if let (Some((from, to)), true) = (busiest, pooled.len() < connections.len()) {
        let others = connections.len() - pooled.len();
        notes.push(format!(
            "only the connections from {from} to {to} are used: {others} lie between other hosts"
        ));
    }
    pooled
}
