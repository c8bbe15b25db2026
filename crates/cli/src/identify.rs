//! `firstflight identify`: the stacks that start as the senders of a capture do.

use std::path::PathBuf;

use clap::Args;
use firstflight::Simulator;
use firstflight_identify::{none_shown, senders};
use firstflight_report::{bytes, percent_magnitude, wrap};
use firstflight_results::{IdentifiedSender, IdentifiedStack};

use crate::arguments::{SEEDS, whole};
use crate::captures::Keys;
use crate::failure::Failure;
use crate::output::{complain, print, print_json};
use crate::run::short;
use crate::table::terminal_columns;

/// Name the stack of a captured sender by how it starts: initial window, bursts, pacing, growth and end of start-up
///
/// Every stack that has a profile sends the captured transfers again, in the simulator, on the path that the capture shows. Probabilities say
/// which of them the captured packets resemble; a sender that resembles none of them is unknown. 300 KB or more from the first packet on, captured
/// at the sender, show most. A qlog shows as much as a capture does.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight identify server.pcap
  firstflight identify connection.sqlog --json
  firstflight identify server.pcap --keylog keys.log
  firstflight compare server.pcap")]
pub(crate) struct Options {
    /// Packet captures (pcap, pcapng, also within gzip or zstd), qlogs, folders of them, or - for standard input
    #[arg(value_name = "CAPTURE", required = true)]
    captures: Vec<PathBuf>,
    #[command(flatten)]
    keys: Keys,
    /// Only the first N senders, of those with most data
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 5, value_parser = whole::<u32>(1..=u64::from(u32::MAX)))]
    first: u32,
    /// Seed of the paths that are drawn within the ranges of the estimates; the same seed gives the same results
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 1, value_parser = whole::<u64>(SEEDS))]
    seed: u64,
    /// Print JSON instead of the text
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let named: Vec<_> = options.captures.iter().map(PathBuf::as_path).collect();
    let (file, capture) = options.keys.read(&named)?;
    for warning in &capture.warnings {
        complain(format_args!("warning: {warning}"));
    }
    let found = senders(&Simulator, &capture, options.first as usize, options.seed);
    if found.is_empty() {
        return Err(none_shown(&file.name).into());
    }
    if options.json {
        return print_json(&found);
    }
    print(&found.iter().map(text).collect::<Vec<_>>().join("\n"))
}

/// A sender for a reader.
fn text(sender: &IdentifiedSender) -> String {
    let connections = match sender.connections {
        1 => "one connection".to_owned(),
        count => format!("{count} connections"),
    };
    let head = format!(
        "{} over {}: {connections}, {}, round trip {} ms",
        sender.sender,
        sender.protocol.to_uppercase(),
        bytes(sender.bytes),
        short(sender.rtt_ms)
    );
    let lines = [
        ("Starts as", starts_as(sender)),
        ("First flight", first_flight(sender)),
        ("Round trips", rounds(sender)),
        ("Start-up ends", exit(sender)),
        ("After silence", after_silence(sender)),
        ("Nearest", nearest(&sender.stacks)),
    ];
    const NAME: usize = 15;
    let mut out = head + "\n\n";
    for (name, value) in lines.into_iter().filter(|(_, value)| !value.is_empty()) {
        let wrapped = wrap(&value, terminal_columns().saturating_sub(NAME));
        for (number, line) in wrapped.iter().enumerate() {
            let name = if number == 0 { name } else { "" };
            out += &format!("{name:NAME$}{}\n", plain(line));
        }
    }
    out
}

fn plain(text: &str) -> String {
    text.replace('\u{a0}', " ")
}

fn starts_as(sender: &IdentifiedSender) -> String {
    match (&sender.starts_as, sender.probability, sender.unknown) {
        (Some(stack), Some(probability), _) => format!("{stack} (probability {probability:.2})"),
        (.., Some(unknown)) => format!("no stack that has a profile (probability {unknown:.2})"),
        _ => format!("not known: {}", sender.start_unknown.as_deref().unwrap_or_default()),
    }
}

fn counted(packets: u64) -> String {
    format!("{packets} packet{}", if packets == 1 { "" } else { "s" })
}

fn first_flight(sender: &IdentifiedSender) -> String {
    let (Some(packets), Some(payload), Some(burst)) =
        (sender.first_flight_packets, sender.first_flight_bytes, sender.burst_packets)
    else {
        return String::new();
    };
    let mut text = format!("{}, {}", counted(packets), bytes(payload));
    text += &match sender.spacing_ms {
        None => ", at once".into(),
        Some(spacing) => format!(", {burst} at once, then a burst each {} ms", short(spacing)),
    };
    if let (Some(common), Some(largest)) = (sender.datagram_bytes, sender.largest_datagram_bytes) {
        text += &format!("; datagrams of {common} bytes");
        if largest > common {
            text += &format!(" and a probe of {largest}");
        }
    }
    text
}

fn rounds(sender: &IdentifiedSender) -> String {
    let each: Vec<String> = sender.rounds_bytes.iter().map(|round| bytes(*round)).collect();
    let growth =
        sender.growth.map_or(String::new(), |growth| format!("; {growth:.1} times as much each round trip"));
    each.join(", ") + &growth
}

fn exit(sender: &IdentifiedSender) -> String {
    let packets =
        sender.exit_packets.map_or(String::new(), |packets| format!(" with {packets:.0} packets in flight"));
    match sender.exit.as_deref().unwrap_or_default() {
        "" => String::new(),
        "data" => "not before the data ends".into(),
        "cap" => format!("by a buffer of the stack{packets}"),
        "no growth" => format!("by delay, threshold or pacing{packets}"),
        "mark" => format!("by a congestion mark{packets}"),
        _ => format!("by a loss{packets}"),
    }
}

fn after_silence(sender: &IdentifiedSender) -> String {
    let (Some(silence), Some(packets), Some(burst)) =
        (sender.silence_s, sender.after_silence_packets, sender.after_silence_burst_packets)
    else {
        return String::new();
    };
    format!("of {} s: {}, {burst} of them at once", short(silence), counted(packets))
}

fn nearest(stacks: &[IdentifiedStack]) -> String {
    let each = stacks.iter().map(|one| {
        format!(
            "{} {:.2} (profile {}, {}; {} of a round trip apart)",
            one.stack,
            one.probability,
            one.profile,
            one.scheme,
            percent_magnitude(one.apart_round_trips)
        )
    });
    each.collect::<Vec<_>>().join("; ")
}
