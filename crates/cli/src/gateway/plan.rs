//! `firstflight gateway plan`: the start of a transfer whose size is known.

use std::net::IpAddr;

use clap::Args;
use firstflight::parse_size;
use serde_json::{Value, json};

use super::{Socket, address, round_trips, word};
use crate::failure::Failure;
use crate::output::{print_json, show};

/// Ask for the start of a transfer of a known size
///
/// The window with which the transfer takes the fewest round trips on the path that the gateway has learned, and its pacing. The
/// answer is a statement; an application that wants it applied asks as docs/gateway.md has it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway plan 192.0.2.7 100KB
  firstflight gateway plan 192.0.2.7 '2 MB' --shifted --json
  firstflight gateway plan 192.0.2.7 100KB --socket 10.0.0.1:4646")]
pub(super) struct Options {
    /// Address of the client
    #[arg(value_name = "DESTINATION", value_parser = address)]
    destination: IpAddr,
    /// Size of the transfer
    #[arg(value_name = "BYTES", value_parser = bytes)]
    bytes: u64,
    /// Payload of a full segment, bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1448, value_parser = crate::arguments::whole::<u32>(1..=65_535))]
    mss: u32,
    /// The smallest window with as few round trips
    #[arg(long)]
    shifted: bool,
    #[command(flatten)]
    socket: Socket,
}

/// A number of bytes, or a size with a unit.
fn bytes(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(bytes) if bytes > 0 => Ok(bytes),
        _ => parse_size(text).map_err(|error| error.to_string()),
    }
}

pub(super) fn execute(options: &Options) -> Result<(), Failure> {
    let Options { destination, bytes, mss, shifted, socket } = options;
    let start = if *shifted { "shifted" } else { "optimal" };
    let request =
        json!({ "destination": destination.to_string(), "bytes": bytes, "mss": mss, "start": start });
    let found = socket.client().post("/v1/plan", &request).map_err(Failure::new)?;
    if socket.json { print_json(&found) } else { show(&text(&found)) }
}

fn text(found: &Value) -> String {
    let Some(window) = found["window_segments"].as_u64() else {
        return format!("as the stack starts it: {}\n", word(&found["reason"]));
    };
    let mut text = format!("window           {window} segments\n");
    if let Some(ssthresh) = found["ssthresh_segments"].as_u64() {
        text += &format!("threshold        {ssthresh} segments\n");
    }
    if let Some(rate) = found["pacing_bytes_per_s"].as_f64().filter(|rate| *rate > 0.0) {
        text += &format!("pacing           {:.2} Mbit/s\n", rate * 8.0 / 1e6);
    }
    text + &format!(
        "for              {}, {}; expires in {:.0} s\n",
        word(&found["prefix"]),
        round_trips(found),
        found["expires_in_s"].as_f64().unwrap_or(0.0),
    )
}
