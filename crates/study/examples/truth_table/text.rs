//! Tables for a terminal.

use std::fmt::Write as _;

use crate::controls::Controls;
use crate::foretell::{Cell, Seen, on_true_path};
use crate::truth::Folder;

/// The transfers of a folder on their true paths.
pub(crate) fn true_path(folder: &Folder, controls: &Controls) -> String {
    let mut text = format!("{}: foretold on the true path\n", folder.name);
    for note in &controls.notes {
        let _ = writeln!(text, "{note}");
    }
    let _ = writeln!(
        text,
        "{:<8} {:<8} {:>8} {:>10} {:>10} {:>8} {:>8} {:>8} {:>5}  start-up ended (captured)",
        "path", "control", "KB", "truth ms", "foretold", "error %", "resent", "captured", "RTOs"
    );
    for path in &folder.paths {
        for cell in on_true_path(path, controls) {
            let seen = path.transfer(&cell.control, cell.bytes).and_then(Seen::of);
            let _ = writeln!(text, "{:<8} {}", path.name, row(&cell, seen.as_ref()));
        }
    }
    text
}

fn row(cell: &Cell, seen: Option<&Seen>) -> String {
    let result = cell.result.as_ref();
    let exit = result.and_then(|result| result.startup_exit).map_or(String::from("-"), |exit| {
        format!("{:.0} ms, {:.1} packets, {}", exit.time_s * 1e3, exit.cwnd_packets, exit.reason.label())
    });
    format!(
        "{:<8} {:>8} {:>10.2} {:>10} {:>8} {:>8} {:>8} {:>5}  {exit} ({})",
        cell.control,
        cell.bytes / 1000,
        cell.truth_ms,
        number(cell.median_ms(), 2),
        number(cell.error().map(|error| error * 100.0), 2),
        number(result.map(|result| result.retransmits_mean), 0),
        number(seen.map(|seen| seen.retransmits as f64), 0),
        number(result.map(|result| result.timeouts_mean), 0),
        seen.map_or("?", |seen| &seen.exit),
    )
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".into(), |x| format!("{x:.digits$}"))
}
