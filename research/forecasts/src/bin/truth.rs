//! Prints the path inferred from each capture in a folder beside the true values in its `truth.csv`, as the
//! table in `docs/captures.md`: `cargo run --release -p research-forecasts --bin truth -- FOLDER`.

use firstflight_capture::seconds::Seconds;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use firstflight_capture::{Estimate, Inferred, Observed, infer, read};

/// One line of `truth.csv`, for a captured transfer.
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
    let (mut rates, mut rtts, mut buffers) = (Score::default(), Score::default(), Score::default());
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let truth = truths.get(&name).ok_or_else(|| format!("truth.csv has no line for {name}"))?;
        match read(&file) {
            Ok(capture) => {
                let path = infer(&capture.connections);
                let observed = &capture.connections[0].observed;
                rates.add(&path.rate, truth.rate_mbit_s * 1e6, 0.0, 0.02);
                rtts.add(&path.rtt, truth.rtt_ms * 1e-3, 1e-3, 0.01);
                buffers.add(&path.buffer, truth.buffer_packets, 0.0, 0.1);
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
                    path.receiver.known().map_or("unknown", |policy| policy.label()),
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
    println!("\nrate {rates}\nround trip {rtts}\nbuffer {buffers}");
    Ok(())
}

/// Accuracy of the estimates of one value over all captures.
#[derive(Default)]
struct Score {
    known: usize,
    accurate: usize,
    covered: usize,
    unknown: usize,
    wrong: usize,
}

impl Score {
    /// Adds an estimate; the aim is an error of at most `absolute` plus `share` of the truth.
    fn add(&mut self, value: &Inferred<Estimate>, truth: f64, absolute: f64, share: f64) {
        match value {
            Inferred::Known(estimate) => {
                self.known += 1;
                self.accurate += usize::from((estimate.value - truth).abs() <= absolute + share * truth);
                self.covered += usize::from(estimate.low <= truth && truth <= estimate.high);
            }
            Inferred::Unknown(bounds) => {
                self.unknown += 1;
                let below = bounds.low.is_some_and(|low| low > truth * 1.001);
                let above = bounds.high.is_some_and(|high| high < truth * 0.999);
                self.wrong += usize::from(below || above);
            }
        }
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { known, accurate, covered, unknown, wrong } = self;
        write!(
            to,
            "known in {known} captures, {accurate} within the aim, {covered} intervals contain the truth; "
        )?;
        write!(to, "unknown in {unknown}, {wrong} of them with a wrong bound")
    }
}

/// `value (low-high)`, or the lower bound of an unknown value.
fn cell(value: &Inferred<Estimate>, unit: f64, digits: usize) -> String {
    match value {
        Inferred::Known(e) if e.low == e.high => format!("{:.digits$}", e.value * unit),
        Inferred::Known(e) => {
            format!("{:.digits$} ({:.digits$}-{:.digits$})", e.value * unit, e.low * unit, e.high * unit)
        }
        Inferred::Unknown(unknown) => match unknown.low {
            Some(low) => format!("at least {:.digits$}", low * unit),
            None => "unknown".into(),
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

/// True values by the name of the capture, `path-control-size`.
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
