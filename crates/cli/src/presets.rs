//! `firstflight presets`: the list of path presets.

use clap::Args;
use firstflight_document::quantity::{show_bytes, show_rate, show_time};
use firstflight_scenario::preset::{PRESETS, Preset, preset};
use firstflight_scenario::{Limit, Network, Path};
use serde::Serialize;

use crate::failure::Failure;
use crate::output;
use crate::table::{Align, table};

/// List the path presets, or print one as a scenario file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight presets
  firstflight presets cable
  firstflight presets geo-satellite > satellite.toml")]
pub(crate) struct Options {
    /// Preset to print as a scenario file, with the sources of its values
    name: Option<String>,
    /// Print the list as JSON
    #[arg(long, conflicts_with = "name")]
    json: bool,
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    title: String,
    rate_bit_s: u64,
    rtt_ms: f64,
    buffer_packets: Option<u64>,
    buffer_bytes: Option<u64>,
    loss: f64,
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    match &options.name {
        Some(name) => output::print(preset(name).map_err(Failure::new)?.text),
        None if options.json => output::print_json(&PRESETS.iter().map(listed).collect::<Vec<_>>()),
        None => {
            let rows: Vec<_> = PRESETS.iter().map(row).collect();
            let columns = [
                ("name", Align::Left),
                ("path", Align::Left),
                ("rate", Align::Right),
                ("RTT", Align::Right),
                ("buffer", Align::Right),
                ("loss", Align::Right),
            ];
            output::show(&table(columns, &rows))
        }
    }
}

fn path(preset: &Preset) -> (String, Path) {
    let scenario = preset.load().scenario;
    let Network::Dumbbell(path) = scenario.network else { unreachable!("presets are paths") };
    (scenario.title, path)
}

fn listed(preset: &Preset) -> Listed {
    let (title, path) = path(preset);
    let (buffer_packets, buffer_bytes) = match path.buffer {
        Limit::Packets(n) => (Some(n), None),
        Limit::Bytes(n) => (None, Some(n)),
    };
    Listed {
        name: preset.name,
        title,
        rate_bit_s: path.rate.0,
        rtt_ms: path.rtt.0 as f64 / 1e6,
        buffer_packets,
        buffer_bytes,
        loss: path.loss,
    }
}

fn row(preset: &Preset) -> [String; 6] {
    let (title, path) = path(preset);
    let buffer = match path.buffer {
        Limit::Packets(n) => format!("{n} packets"),
        Limit::Bytes(n) => show_bytes(n),
    };
    [preset.name.into(), title, show_rate(path.rate), show_time(path.rtt), buffer, path.loss.to_string()]
}
