//! `firstflight connections`: the connections of a capture, a line each.

use std::cmp::Reverse;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use firstflight_capture::Capture;
use firstflight_compare::connections;
use firstflight_document::quantity::parse_bytes;
use firstflight_document::quoted;
use firstflight_paths::Prefix;
use firstflight_report::{bytes, time};
use firstflight_results::CapturedConnection;

use crate::arguments::whole;
use crate::captures::Keys;
use crate::failure::{Failure, wrong_at};
use crate::keys::option;
use crate::output::{complain, print, print_json};
use crate::table::{Align, table};

/// List the connections of a capture: round trip, first flight, end of the start-up, limit and retransmissions
///
/// Every connection that carried data has a line, by the time of its first packet. Its sender is the end that sent more data. A value that
/// the capture does not show is "-", in JSON null. The first column is the number that `compare --connection` takes.
///
/// A first flight with a plus sign was ended by the sender, which had no more data, or by the receive window: the initial window may be
/// larger. The limit is the one that held the sender back for longest: its congestion window, the receive window or its application.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight connections server.pcap
  firstflight connections server.pcap --sort bytes --first 20
  firstflight connections captures/ --network 203.0.113.0/24 --min-bytes 100KB
  firstflight connections server.pcap --json > before.json
  firstflight connections server.pcap --keylog keys.log
  firstflight compare server.pcap --connection 7")]
pub(crate) struct Options {
    /// Packet captures (pcap, pcapng, also within gzip or zstd), folders of them, or - for standard input
    #[arg(value_name = "CAPTURE", required = true)]
    captures: Vec<PathBuf>,
    #[command(flatten)]
    keys: Keys,
    /// Column by which the lines are sorted: first packets and networks ascending, all others with the largest first
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t = Column::Start)]
    sort: Column,
    /// Only clients of this network, such as 203.0.113.0/24 or 2001:db8::/32, or of this address
    #[arg(long, value_name = "PREFIX")]
    network: Option<String>,
    /// Only connections whose sender sent at least this much data, such as 100KB
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    min_bytes: Option<String>,
    /// Only the first N lines, after sorting
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole::<u32>(1..=u64::from(u32::MAX)))]
    first: Option<u32>,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

/// A column by which connections are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Column {
    /// First packet
    Start,
    /// Network of the client
    Network,
    /// Data bytes
    Bytes,
    /// Requests
    Requests,
    /// Shortest round trip
    RoundTrip,
    /// Packets of the first flight
    FirstFlight,
    /// Time for which the limit held
    Limited,
    /// Retransmitted packets
    Retransmitted,
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let network = options.network.as_deref().map(network).transpose()?;
    let least = options.min_bytes.as_deref().map(least).transpose()?.unwrap_or(0);
    let named: Vec<_> = options.captures.iter().map(PathBuf::as_path).collect();
    let (_, capture) = options.keys.read(&named)?;
    let mut rows = chosen(&capture, network.as_ref(), least);
    let all = (rows.len(), capture.connections.len());
    sort(&mut rows, options.sort);
    rows.truncate(options.first.map_or(usize::MAX, |first| first as usize));
    for warning in &capture.warnings {
        complain(format_args!("warning: {warning}"));
    }
    if options.json {
        return print_json(&rows);
    }
    let mut text = String::new();
    if !rows.is_empty() {
        text = table(COLUMNS, &rows.iter().map(cells).collect::<Vec<_>>());
        text.push('\n');
    }
    let connections = |count: usize| if count == 1 { "connection" } else { "connections" };
    text += &match (rows.len(), all) {
        (shown, (_, all)) if shown == all => format!("{all} {}.\n", connections(all)),
        (shown, (_, all)) => format!("{shown} of {all} {}.\n", connections(all)),
    };
    print(&text)
}

/// The connections of clients in `network` that carried at least `least` bytes.
fn chosen(capture: &Capture, network: Option<&Prefix>, least: u64) -> Vec<CapturedConnection> {
    let mut rows = connections(capture);
    rows.retain(|row| {
        let client = capture.connections[row.index as usize].client;
        row.bytes >= least && network.is_none_or(|network| network.has(client))
    });
    rows
}

fn sort(rows: &mut [CapturedConnection], by: Column) {
    let descending = |value: Option<f64>| Reverse((value.unwrap_or(-1.0) * 1e9) as i64);
    let count = |value: Option<u64>| Reverse(value.map_or(-1, |value| value as i64));
    match by {
        Column::Start => {}
        Column::Network => rows.sort_by(|a, b| a.client_network.cmp(&b.client_network)),
        Column::Bytes => rows.sort_by_key(|row| Reverse(row.bytes)),
        Column::Requests => rows.sort_by_key(|row| Reverse(row.requests)),
        Column::RoundTrip => rows.sort_by_key(|row| descending(row.rtt_ms)),
        Column::FirstFlight => rows.sort_by_key(|row| count(row.first_flight_packets)),
        Column::Limited => rows.sort_by_key(|row| descending(row.limited_s)),
        Column::Retransmitted => rows.sort_by_key(|row| Reverse(row.retransmitted_packets)),
    }
}

const COLUMNS: [(&str, Align); 10] = [
    ("#", Align::Right),
    ("start", Align::Right),
    ("client", Align::Left),
    ("data", Align::Right),
    ("requests", Align::Right),
    ("round trip", Align::Right),
    ("first flight", Align::Right),
    ("start-up ended", Align::Left),
    ("limited by", Align::Left),
    ("resent", Align::Right),
];

fn cells(row: &CapturedConnection) -> [String; 10] {
    let unknown = || "-".to_owned();
    let plain = |text: String| text.replace('\u{a0}', " ");
    let flight = row.first_flight_packets.map(|packets| {
        let more = if row.initial_window_packets.is_some() { "" } else { "+" };
        let paced = if row.first_flight_paced == Some(true) { ", paced" } else { "" };
        format!("{packets}{more}{paced}")
    });
    let exit = row.startup_exit.as_ref();
    let exit = exit.map(|exit| format!("{} after {}", exit.reason, plain(time(exit.time_s))));
    let limit = row.limited_by.as_ref().zip(row.limited_s);
    [
        row.index.to_string(),
        format!("{:.3} s", row.start_s),
        row.client_network.clone(),
        plain(bytes(row.bytes)),
        row.requests.to_string(),
        row.rtt_ms.map_or_else(unknown, |rtt| plain(time(rtt / 1e3))),
        flight.unwrap_or_else(unknown),
        exit.unwrap_or_else(unknown),
        limit.map_or_else(unknown, |(limit, seconds)| {
            let short = match &**limit {
                "congestion-window" => "congestion",
                "receive-window" => "receiver",
                other => other,
            };
            format!("{short} {}", plain(time(seconds)))
        }),
        row.retransmitted_packets.to_string(),
    ]
}

fn least(text: &str) -> Result<u64, Failure> {
    parse_bytes(text).map_err(|error| {
        let place = option("min-bytes", Some(&quoted(text)));
        let wrong = wrong_at(place, &error.problem).expecting("a size such as 100KB");
        wrong.near(error.nearest.as_deref()).into()
    })
}

/// A network of clients, or a single one.
fn network(text: &str) -> Result<Prefix, Failure> {
    let wrong = |why: String| -> Failure {
        let expected = "a network such as 203.0.113.0/24 or 2001:db8::/32, or an address";
        wrong_at(option("network", Some(&quoted(text))), why).expecting(expected).into()
    };
    let (address, length) = text.split_once('/').map_or((text, None), |(it, length)| (it, Some(length)));
    let address: IpAddr = address.parse().map_err(|_| wrong("not an address".into()))?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    match length.map(str::parse::<u8>) {
        None => Ok(Prefix::around(address, most)),
        Some(Ok(length)) if length <= most => Ok(Prefix::around(address, length)),
        Some(_) => Err(wrong(format!("not a length from 0 to {most}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_holds_the_addresses_of_its_network() {
        let holds = |prefix: &str, address: &str| {
            network(prefix).expect("a network").has(address.parse().expect("an address"))
        };
        assert!(holds("203.0.113.0/24", "203.0.113.255") && !holds("203.0.113.0/24", "203.0.114.0"));
        assert!(holds("203.0.113.7", "203.0.113.7") && !holds("203.0.113.7", "203.0.113.6"));
        assert!(holds("0.0.0.0/0", "8.8.8.8") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("2001:db8::/32", "2001:db8:ffff::1") && !holds("2001:db8::/32", "2001:db9::1"));
        assert!(holds("203.0.113.0/24", "::ffff:203.0.113.9"));
    }

    #[test]
    fn a_text_that_is_no_prefix_is_refused_with_what_is_expected() {
        for (text, why) in [
            ("server", "not an address; expected a network such as 203.0.113.0/24"),
            ("10.0.0.0/33", "not a length from 0 to 32"),
            ("::/129", "not a length from 0 to 128"),
            ("10.0.0.0/x", "not a length from 0 to 32"),
        ] {
            let Err(Failure::Because(message)) = network(text) else { panic!("{text}") };
            assert!(
                message.starts_with(&format!("--network \"{text}\": ")) && message.contains(why),
                "{message}"
            );
        }
    }
}
