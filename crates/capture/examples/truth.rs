//! Prints what the captures of a folder tell beside the truth that lies with them in `truth.csv`, as the table of
//! `docs/captures.md`: `cargo run --release -p firstflight-capture --example truth -- FOLDER`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use firstflight_capture::{Estimate, Inferred, Observed, infer, read};

/// A line of `truth.csv`: the captured transfers only.
struct Truth {
    rate_mbit_s: f64,
    rtt_ms: f64,
    buffer_packets: f64,
    transfer_ms: f64,
}

fn main() -> ExitCode {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "crates/capture/testdata".into());
    match print(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print(folder: &Path) -> Result<(), Box<dyn Error>> {
    let truths = truths(&folder.join("truth.csv"))?;
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "pcap"));
    files.sort();
    println!(
        "| capture | rate, Mbit/s | true | RTT, ms | true | buffer, packets | true | random loss, % | initial window | receiver | transfer, ms | true | retransmits | start-up ended |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let truth = truths.get(&name).ok_or_else(|| format!("truth.csv has no line for {name}"))?;
        match read(&file) {
            Ok(capture) => {
                let path = infer(&capture.connections);
                let observed = &capture.connections[0].observed;
                println!(
                    "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1} | {} | {} |",
                    cell(&path.rate, 1e-6, 3),
                    truth.rate_mbit_s,
                    cell(&path.rtt, 1e3, 2),
                    truth.rtt_ms,
                    cell(&path.buffer, 1.0, 0),
                    truth.buffer_packets,
                    cell(&path.loss, 100.0, 2),
                    cell(&path.initial_window, 1.0, 0),
                    path.receiver.known().map_or("cannot tell", |policy| policy.label()),
                    observed
                        .completion
                        .map_or("cut off".into(), |at| format!("{:.1}", at.as_secs_f64() * 1e3)),
                    truth.transfer_ms,
                    observed.retransmits,
                    exit(observed),
                );
            }
            Err(error) => eprintln!("{error}"),
        }
    }
    Ok(())
}

/// `value (low-high)`, or what is known of a value the capture cannot tell.
fn cell(value: &Inferred<Estimate>, unit: f64, digits: usize) -> String {
    match value {
        Inferred::Known(e) if e.low == e.high => format!("{:.digits$}", e.value * unit),
        Inferred::Known(e) => {
            format!("{:.digits$} ({:.digits$}-{:.digits$})", e.value * unit, e.low * unit, e.high * unit)
        }
        Inferred::CannotTell(unknown) => match unknown.low {
            Some(low) => format!("at least {:.digits$}", low * unit),
            None => "cannot tell".into(),
        },
    }
}

fn exit(observed: &Observed) -> String {
    observed.startup.exit.as_ref().map_or("-".into(), |exit| {
        format!(
            "{:.0} ms, {:.0} packets, {}",
            exit.time.as_secs_f64() * 1e3,
            exit.cwnd_packets,
            exit.reason.label()
        )
    })
}

/// The truth by the name of the capture, `path-control-size`.
fn truths(file: &Path) -> Result<BTreeMap<String, Truth>, Box<dyn Error>> {
    let text = std::fs::read_to_string(file)?;
    let mut truths = BTreeMap::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [path, rate, rtt, buffer, control, bytes, repeat, _, transfer] = fields[..] else {
            return Err(format!("{}: not nine fields: {line}", file.display()).into());
        };
        if repeat == "0" {
            let truth = Truth {
                rate_mbit_s: rate.parse()?,
                rtt_ms: rtt.parse()?,
                buffer_packets: buffer.parse()?,
                transfer_ms: transfer.parse()?,
            };
            truths.insert(format!("{path}-{control}-{}KB", bytes.parse::<u64>()? / 1000), truth);
        }
    }
    Ok(truths)
}
