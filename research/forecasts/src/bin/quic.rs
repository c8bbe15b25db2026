//! Prints the path inferred from captures and qlogs of transfers over known paths beside the true values, by source: segments of TCP,
//! qlogs, and datagrams of QUIC. `cargo run -p research-forecasts --bin quic -- FOLDER [--each]`. FOLDER has the captures and a `truth.csv`
//! with the columns `file`, `stack`, `path`, `rate_mbit_s`, `rtt_ms`, `buffer_bytes`, `bytes` and `qlog`. `--each` prints a line for each file.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use firstflight_capture::{Connection, Estimate, Inferred, PathEstimate, infer, read};

/// Largest error that counts as right for a known value, as a share of the truth.
const AIM: f64 = 0.1;

fn main() -> ExitCode {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "captures".into());
    let each = std::env::args().any(|argument| argument == "--each");
    match print(Path::new(&folder), each) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print(folder: &Path, each: bool) -> Result<(), Box<dyn Error>> {
    let table = std::fs::read_to_string(folder.join("truth.csv"))?;
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let mut scores: BTreeMap<(&str, String, &str), Score> = BTreeMap::new();
    let mut seen = std::collections::BTreeSet::new();
    if each {
        println!(
            "| file | source | rate, Mbit/s | true | round trip, ms | true | buffer, packets | true | bytes | true |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|");
    }
    for line in lines {
        let row: BTreeMap<&str, &str> = names.iter().copied().zip(line.split(',')).collect();
        let get = |name: &str| row.get(name).copied().ok_or(format!("truth.csv has no column {name}"));
        let value = |name: &str| -> Result<f64, Box<dyn Error>> { Ok(get(name)?.parse::<f64>()?) };
        for name in [get("file")?, get("qlog")?] {
            if name.is_empty() || !seen.insert(name.to_owned()) {
                continue;
            }
            let capture = match read(folder.join(name)) {
                Ok(capture) => capture,
                Err(error) => {
                    eprintln!("{error}");
                    continue;
                }
            };
            let source = capture.connections[0].source.label();
            let path = infer(&capture.connections);
            let packet = path.packet.known().map_or(1500.0, |packet| packet.value);
            // The packet in transmission counts in the truth, and not in the estimate.
            let truths =
                [value("rate_mbit_s")? * 1e6, value("rtt_ms")? * 1e-3, value("buffer_bytes")? / packet - 1.0];
            let PathEstimate { rate, rtt, buffer, .. } = &path;
            let stack = get("stack")?.split('-').next().unwrap_or_default();
            let stack = if stack == "quic" { "quic-go" } else { stack };
            for (what, (inferred, truth)) in
                ["rate", "round trip", "buffer"].into_iter().zip([rate, rtt, buffer].into_iter().zip(truths))
            {
                scores.entry((source, stack.to_owned(), what)).or_default().add(inferred, truth);
                scores.entry((source, "all".into(), what)).or_default().add(inferred, truth);
            }
            if each {
                let bytes: u64 = capture.connections.iter().map(|one: &Connection| one.observed.bytes).sum();
                println!(
                    "| {name} | {source} | {} | {} | {} | {} | {} | {:.0} | {bytes} | {} |",
                    cell(rate, 1e-6, 2),
                    get("rate_mbit_s")?,
                    cell(rtt, 1e3, 1),
                    get("rtt_ms")?,
                    cell(buffer, 1.0, 0),
                    truths[2],
                    get("bytes")?,
                );
            }
        }
    }
    println!(
        "| source | stack | value | files | known | median error, % | largest error, % | within {:.0} % | in its range | open | wrong bound |",
        100.0 * AIM
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for ((source, stack, what), score) in scores {
        println!("| {source} | {stack} | {what} | {score} |");
    }
    Ok(())
}

/// Errors of the estimates of one value.
#[derive(Default)]
struct Score {
    /// Relative errors of the known values.
    errors: Vec<f64>,
    covered: usize,
    open: usize,
    wrong: usize,
}

impl Score {
    fn add(&mut self, value: &Inferred<Estimate>, truth: f64) {
        match value {
            Inferred::Known(estimate) => {
                self.errors.push((estimate.value / truth - 1.0).abs());
                self.covered += usize::from(estimate.low <= truth && truth <= estimate.high);
            }
            Inferred::Unknown(bounds) => {
                self.open += 1;
                let below = bounds.low.is_some_and(|low| low > truth * 1.001);
                let above = bounds.high.is_some_and(|high| high < truth * 0.999);
                self.wrong += usize::from(below || above);
            }
        }
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut errors = self.errors.clone();
        errors.sort_by(f64::total_cmp);
        let known = errors.len();
        let percent =
            |error: Option<&f64>| error.map_or("-".to_owned(), |error| format!("{:.1}", 100.0 * error));
        let right = errors.iter().filter(|error| **error <= AIM).count();
        write!(
            to,
            "{} | {known} | {} | {} | {right} | {} | {} | {}",
            known + self.open,
            percent(errors.get(known / 2)),
            percent(errors.last()),
            self.covered,
            self.open,
            self.wrong
        )
    }
}

/// `value (low-high)`, or the bounds of an open value.
fn cell(value: &Inferred<Estimate>, unit: f64, digits: usize) -> String {
    let show = |value: f64| format!("{:.digits$}", value * unit);
    match value {
        Inferred::Known(known) => format!("{} ({}-{})", show(known.value), show(known.low), show(known.high)),
        Inferred::Unknown(bounds) => {
            let low = bounds.low.map_or(String::new(), |low| format!(" >= {}", show(low)));
            let high = bounds.high.map_or(String::new(), |high| format!(" <= {}", show(high)));
            format!("open{low}{high}")
        }
    }
}
