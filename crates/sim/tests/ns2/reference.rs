//! ns-2's answers.

use crate::grid::Cell;
use std::io::ErrorKind;
use std::process::Command;

/// Packets over all flows: a count, or the mean of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Counts {
    pub(crate) delivered: f64,
    pub(crate) drops: f64,
}

/// Whether there is an ns-2 to ask; says so if not.
pub(crate) fn installed() -> bool {
    // Without a script `ns` reads Tcl from its standard input, here none.
    let found = Command::new("ns").stdin(std::process::Stdio::null()).output();
    let missing = matches!(&found, Err(error) if error.kind() == ErrorKind::NotFound);
    if missing {
        println!("skipped: ns-2 is not installed (Debian: apt-get install ns2)");
    }
    !missing
}

/// The mean over the runs with seeds 1 to `runs`.
pub(crate) fn mean(runs: u64, run: impl Fn(u64) -> Counts) -> Counts {
    let all: Vec<Counts> = (1..=runs).map(run).collect();
    let mean = |of: fn(&Counts) -> f64| all.iter().map(of).sum::<f64>() / runs as f64;
    Counts { delivered: mean(|counts| counts.delivered), drops: mean(|counts| counts.drops) }
}

/// A row of the grid in ns-2.
pub(crate) fn run(cell: &Cell) -> Counts {
    mean(cell.runs(), |seed| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reference/ns2/dumbbell.tcl");
        let output = Command::new("ns").arg(script).args(cell.options(seed)).output().expect("ns-2 starts");
        let answer = String::from_utf8_lossy(&output.stdout);
        let complaint = String::from_utf8_lossy(&output.stderr);
        let json: serde_json::Value = serde_json::from_str(&answer)
            .unwrap_or_else(|_| panic!("{} in ns-2: {answer}{complaint}", cell.id()));
        let delivered = json["delivered"].as_array().expect("one number per flow");
        Counts {
            delivered: delivered.iter().filter_map(serde_json::Value::as_f64).sum(),
            drops: json["drops"].as_f64().expect("a number"),
        }
    })
}
