//! Prints how often the stack of a captured sender is identified, and how often a stack is called unknown that is left out of those that are
//! tried. `cargo run -p research-forecasts --bin identify -- FOLDER [--each]`. FOLDER has the captures and a `truth.csv` with the columns
//! `file`, `stack`, `bytes` and `qlog`. `--each` prints a line for each file.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use firstflight_capture::{Connection, infer, read};
use firstflight_hosts::simulator::Simulator;
use firstflight_identify::{Identified, identify};
use firstflight_scenario::Profile;

/// Profile and chain of a stack of the table: of TCP the congestion control of Linux.
const STACKS: [(&str, &str, Option<&str>); 15] = [
    ("linux-cubic", "linux", Some("hystart-linux+cubic")),
    ("linux-reno", "linux", Some("slow-start+reno")),
    ("linux-bbr", "linux", Some("bbr")),
    ("quinn", "quinn", None),
    ("quiche", "quiche", None),
    ("quic-go", "quic-go", None),
    ("s2n-quic", "s2n-quic", None),
    ("ngtcp2", "ngtcp2", None),
    ("nginx", "nginx-1.26", None),
    ("nginx-sid", "nginx-1.30", None),
    ("haproxy", "haproxy-3.0", None),
    ("haproxy-3.4", "haproxy-3.4", None),
    ("aioquic", "aioquic", None),
    ("quiche-pmtud", "quiche-pmtud", None),
    ("linux", "linux", Some("hystart-linux+cubic")),
];

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

#[derive(Default)]
struct Score {
    files: usize,
    right: usize,
    unknown: usize,
}

fn print(folder: &Path, each: bool) -> Result<(), Box<dyn Error>> {
    let table = std::fs::read_to_string(folder.join("truth.csv"))?;
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let mut scores: BTreeMap<(String, u64), Score> = BTreeMap::new();
    let mut seen = std::collections::BTreeSet::new();
    for line in lines {
        let row: BTreeMap<&str, &str> = names.iter().copied().zip(line.split(',')).collect();
        let get = |name: &str| row.get(name).copied().ok_or(format!("truth.csv has no column {name}"));
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
            let path = infer(&capture.connections);
            let Some(largest) = capture.connections.iter().max_by_key(|one: &&Connection| one.observed.bytes)
            else {
                continue;
            };
            let stack = get("stack")?;
            let own = STACKS.iter().find(|(word, ..)| *word == stack);
            let own = own.and_then(|(_, profile, chain)| Some((Profile::from_word(profile)?, *chain)));
            let found = identify(&Simulator, largest, &path, &[], 1);
            let without = own.and_then(|own| identify(&Simulator, largest, &path, &[own], 1));
            let right = found.as_ref().is_some_and(|found| is_right(found, own));
            let unknown = without.as_ref().is_some_and(|found| found.alike().is_empty());
            let score = scores.entry((stack.to_owned(), get("bytes")?.parse()?)).or_default();
            score.files += 1;
            score.right += usize::from(right);
            score.unknown += usize::from(unknown);
            if each {
                println!(
                    "{name}: {} {}; left out: {}",
                    if right { "right" } else { "WRONG" },
                    found.as_ref().map_or("-".into(), words),
                    without.as_ref().map_or("-".into(), words)
                );
            }
        }
    }
    println!("| stack | bytes | files | right | unknown if left out |");
    println!("|---|---:|---:|---:|---:|");
    for ((stack, bytes), score) in scores {
        println!("| {stack} | {bytes} | {} | {} | {} |", score.files, score.right, score.unknown);
    }
    Ok(())
}

/// Whether the likeliest is the own stack, or starts as it does on this path; for a stack without a profile whether none is likelier than
/// unknown.
fn is_right(found: &Identified, own: Option<(Profile, Option<&str>)>) -> bool {
    let alike = found.alike();
    match own {
        None => alike.is_empty(),
        Some((profile, chain)) => alike.iter().any(|one| {
            one.profile == profile && chain.is_none_or(|chain| one.candidate.scheme.label() == chain)
        }),
    }
}

fn words(found: &Identified) -> String {
    let each = found.stacks.iter().take(3).map(|one| {
        format!(
            "{} {} {:.2} ({:.1}, {:.3})",
            one.profile.word(),
            one.candidate.label(),
            one.probability,
            one.likelihood,
            one.apart
        )
    });
    format!("none {:.2}, {}", found.none, each.collect::<Vec<_>>().join(", "))
}
