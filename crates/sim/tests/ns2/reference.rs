//! Runs ns-2 and parses its output.

use crate::grid::Cell;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::process::Command;

/// Packets over all flows: a count, or the mean of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Counts {
    pub(crate) delivered: f64,
    pub(crate) drops: f64,
    /// Time average of the packets waiting at the bottleneck; from ns-2 only for RED.
    pub(crate) mean_queue: Option<f64>,
}

/// Whether ns-2 is installed; prints a note if not.
pub(crate) fn installed() -> bool {
    // Without a script `ns` reads Tcl from its standard input, which is empty here.
    let found = Command::new("ns").stdin(std::process::Stdio::null()).output();
    let missing = matches!(&found, Err(error) if error.kind() == ErrorKind::NotFound);
    if missing {
        firstflight_skip::skip("ns-2 is not installed (Debian: apt-get install ns2)");
    }
    !missing
}

/// Mean over the runs with seeds 1 to `runs`.
pub(crate) fn mean(runs: u64, run: impl Fn(u64) -> Counts) -> Counts {
    let all: Vec<Counts> = (1..=runs).map(run).collect();
    let mean = |of: fn(&Counts) -> f64| all.iter().map(of).sum::<f64>() / runs as f64;
    let queues: Option<Vec<f64>> = all.iter().map(|counts| counts.mean_queue).collect();
    Counts {
        delivered: mean(|counts| counts.delivered),
        drops: mean(|counts| counts.drops),
        mean_queue: queues.map(|queues| queues.iter().sum::<f64>() / runs as f64),
    }
}

/// Output of a script in `tests/ns2/scripts`.
pub(crate) fn answer<S: AsRef<OsStr>>(script: &str, options: impl IntoIterator<Item = S>) -> String {
    let script = format!("{}/tests/ns2/scripts/{script}", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("ns").arg(&script).args(options).output().expect("ns-2 starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {complaint}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a row of the grid in ns-2.
pub(crate) fn run(cell: &Cell) -> Counts {
    mean(cell.runs(), |seed| {
        let answer = answer("dumbbell.tcl", cell.options(seed));
        let json: serde_json::Value =
            serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{} in ns-2: {answer}", cell.id()));
        let delivered = json["delivered"].as_array().expect("one number per flow");
        Counts {
            delivered: delivered.iter().filter_map(serde_json::Value::as_f64).sum(),
            drops: json["drops"].as_f64().expect("a number"),
            mean_queue: json["mean_queue"].as_f64(),
        }
    })
}
