//! Captured connections: a row for each, and the choice of those that show a path.

use std::collections::BTreeMap;
use std::net::IpAddr;

use firstflight_capture::{Capture, Connection, Network, Observed, Vantage};
use firstflight_contract::Nanos;
use firstflight_document::seconds::Seconds;
use firstflight_results::{CapturedConnection, CapturedExit, CapturedRegisters, CapturedTransfer};

/// Maximum number of re-runs, for the connections with most data, so that a capture of thousands takes only
/// seconds.
const MOST_RERUNS: usize = 32;

/// A connection without data to send for more than this share of its time is no bulk transfer, but its re-run
/// is one.
const APPLICATION_LIMITED: f64 = 0.05;

/// Indices of the connections between the two addresses that exchanged most data, those with most data first.
pub(crate) fn between_busiest(connections: &[&Connection]) -> Vec<usize> {
    let pair = |connection: &Connection| (connection.sender.ip(), connection.receiver.ip());
    let mut bytes: BTreeMap<(IpAddr, IpAddr), u64> = BTreeMap::new();
    for connection in connections {
        *bytes.entry(pair(connection)).or_default() += connection.observed.bytes;
    }
    let busiest = bytes.iter().max_by_key(|(_, bytes)| **bytes).map(|(pair, _)| *pair);
    let on_path = (0..connections.len()).filter(|&index| Some(pair(connections[index])) == busiest);
    largest(connections, on_path.collect())
}

/// Those of `indices` whose connections have most data, in its order.
pub(crate) fn largest(connections: &[&Connection], mut indices: Vec<usize>) -> Vec<usize> {
    indices.sort_by_key(|&index| std::cmp::Reverse(connections[index].observed.bytes));
    indices.truncate(MOST_RERUNS);
    indices
}

/// Whether the application always had data to send.
pub(crate) fn is_bulk(connection: &Connection) -> bool {
    let seen = &connection.observed;
    let end = seen.series.delivered.last().map_or(0.0, |&(at, _)| at);
    seen.application_limited.as_secs_f64() <= APPLICATION_LIMITED * end
}

/// A row for each connection of a capture, in the order of their first packets.
pub fn connections(capture: &Capture) -> Vec<CapturedConnection> {
    capture.connections.iter().enumerate().map(|(index, connection)| row(index, connection)).collect()
}

fn row(index: usize, connection: &Connection) -> CapturedConnection {
    let seen = &connection.observed;
    let since_data = |at: Nanos| at.saturating_sub(seen.first_data).as_secs_f64();
    let limit = limit(seen);
    let transfers = connection.transfers();
    let ended = transfers.iter().filter_map(|it| {
        Some(CapturedTransfer {
            bytes: it.bytes,
            begin_s: since_data(it.begin),
            completion_s: it.time?.as_secs_f64(),
            application_limited_s: it.application_limited.as_secs_f64(),
        })
    });
    CapturedConnection {
        index: index as u64,
        start_s: seen.established.as_secs_f64(),
        client_network: Network::of(connection.client).to_string(),
        name: connection.name(),
        bytes: seen.bytes,
        requests: transfers.len() as u64,
        rtt_ms: connection.shortest_rtt().map(|rtt| rtt.as_secs_f64() * 1e3),
        first_flight_packets: seen.handshake.then_some(seen.first_flight_packets),
        first_flight_paced: connection.first_flight_paced(),
        initial_window_packets: connection.initial_window(),
        startup_exit: seen.startup.exit.as_ref().map(|exit| CapturedExit {
            time_s: since_data(exit.time),
            cwnd_packets: exit.cwnd_packets,
            reason: exit.reason.label().into(),
        }),
        limited_by: limit.map(|(limit, _)| limit.into()),
        limited_s: limit.map(|(_, time)| time.as_secs_f64()),
        packets: seen.packets,
        retransmitted_packets: seen.retransmits,
        captured_at: match connection.vantage {
            Vantage::Sender => "sender",
            Vantage::Receiver => "receiver",
            Vantage::Middle => "middle",
            Vantage::Unknown => "unknown",
        }
        .into(),
        transport: connection.source.transport().into(),
        source: connection.source.label().into(),
        registers: seen.registers.map(|it| CapturedRegisters {
            first_window_bytes: it.first_window_bytes,
            largest_window_bytes: it.largest_window_bytes,
            last_window_bytes: it.last_window_bytes,
            first_threshold_bytes: it.first_threshold_bytes,
        }),
        transfers: ended.collect(),
    }
}

/// The limit that held the sender back for longest, and its time. Without the handshake, which has the scale of the receive window, only the
/// application is known as one.
fn limit(seen: &Observed) -> Option<(&'static str, Nanos)> {
    let limits = [
        ("congestion-window", seen.congestion_limited),
        ("receive-window", seen.window_limited),
        ("application", seen.application_limited),
    ];
    let longest = limits.into_iter().max_by_key(|(_, time)| *time)?;
    let known = seen.handshake || longest.0 == "application";
    (known && longest.1 > Nanos::ZERO).then_some(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_a_sender_has_its_registers_and_the_limit_of_flow_control() {
        let row = |name: &str| {
            let file = format!("{}/../capture/testdata/quic/{name}.qlog.gz", env!("CARGO_MANIFEST_DIR"));
            let mut rows = connections(&firstflight_capture::read(file).expect("a log"));
            assert_eq!(rows.len(), 1);
            rows.remove(0)
        };
        // testdata/README.md: the client of `window` lets the server send 16,384 bytes of a stream; `losses` overflows a queue.
        assert_eq!(row("quiche-window").limited_by.as_deref(), Some("receive-window"));
        let losses = row("quiche-losses");
        assert_eq!(losses.limited_by.as_deref(), Some("congestion-window"));
        assert_eq!(losses.registers.expect("registers").first_window_bytes, Some(12_000));
        assert!(row("quic-go-receiver").registers.is_none());
    }
}
