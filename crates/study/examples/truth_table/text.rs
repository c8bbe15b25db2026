//! The printed tables, in Markdown that is readable on a terminal.

use std::fmt::Write as _;

use crate::controls::Controls;
use crate::forecast::{Answer, CaptureForecast, Cell};
use crate::score::{FolderForecast, Forecast, Score, Value};
use crate::table::{Table, number, signed};
use crate::truth::{Folder, TruePath};

/// Forecasts for a folder on its true paths.
pub(crate) fn true_path(folder: &Folder, cells: &[Vec<Cell>], controls: &Controls) -> String {
    let mut table = Table::new([
        "path, control, KB",
        "truth, ms",
        "forecast, ms",
        "error, %",
        "retransmitted",
        "captured",
        "timeouts",
        "start-up ended",
        "captured",
    ]);
    for (path, cells) in folder.paths.iter().zip(cells) {
        for cell in cells {
            let seen = cell.seen.as_ref();
            let result = cell.result.as_ref();
            let exit = result.and_then(|result| result.startup_exit).map_or(String::from("–"), |exit| {
                let reason = exit.reason.label();
                format!("{:.0} ms, {:.1} packets, {reason}", exit.time_s * 1e3, exit.cwnd_packets)
            });
            table.row([
                format!("{} {} {}", path.name, cell.control, cell.bytes / 1000),
                number(Some(cell.truth_ms), 2),
                number(cell.median_ms(), 2),
                signed(cell.error(), 2),
                number(result.map(|result| result.retransmits_mean), 0),
                number(seen.map(|seen| seen.retransmits as f64), 0),
                number(result.map(|result| result.timeouts_mean), 0),
                exit,
                seen.map_or("–".into(), |seen| seen.exit.clone()),
            ]);
        }
    }
    format!("## {} on the true path\n\n{}{}", folder.name, notes(controls), table.text())
}

/// All tables of one folder; without single captures and forecasts if `brief`.
pub(crate) fn whole(forecasts: &FolderForecast<'_>, controls: &Controls, brief: bool) -> String {
    let mut text = format!("## {}\n\n{}", forecasts.folder.name, notes(controls));
    text.push_str(&summary(forecasts));
    text.push_str(&paths(forecasts, brief));
    for (path, inferred) in forecasts.folder.paths.iter().zip(&forecasts.inferred) {
        text.push_str(&matrices(path, forecasts));
        if !brief {
            text.push_str(&in_full(path, inferred, controls));
        }
    }
    text
}

fn notes(controls: &Controls) -> String {
    let mut text: String = controls.notes.iter().map(|note| format!("- {note}\n")).collect();
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Summary of the accuracy.
fn summary(forecasts: &FolderForecast<'_>) -> String {
    let all: Vec<Forecast<'_>> = forecasts.forecasts().collect();
    let windowed = |f: &Forecast<'_>| f.cell.control != "bbr";
    let mut table = Table::new([
        "transfers",
        "cells",
        "median, %",
        "p90, %",
        "worst, %",
        "aim, %",
        "interval contains the truth, %",
        "interval width, %",
    ]);
    let mut add = |name: &str, aim: &str, cells: Score| {
        let percent = |share: Option<f64>, digits| number(share.map(|share| share * 100.0), digits);
        table.row([
            name.to_owned(),
            if cells.answered == cells.cells {
                cells.cells.to_string()
            } else {
                format!("{} of {}", cells.answered, cells.cells)
            },
            percent(cells.error(0.5), 2),
            percent(cells.error(0.9), 2),
            percent(cells.error(1.0), 2),
            aim.to_owned(),
            percent(cells.coverage(), 0),
            percent(cells.width(), 1),
        ]);
    };
    let group =
        |keep: &dyn Fn(&Forecast<'_>) -> bool| Score::of(all.iter().filter(|f| keep(f)).map(|f| f.cell));
    let truth = || forecasts.on_true_path.iter().flatten();
    add(
        "model alone: reno, cubic where it matters",
        "",
        Score::of(truth().filter(|cell| cell.control != "bbr" && cell.matters())),
    );
    add("model alone: all", "", Score::of(truth()));
    add(
        "rate and buffer known: reno, cubic where it matters",
        "median 2, worst 10",
        group(&|f| f.crosses() && f.inferred_all() && windowed(f) && f.matters),
    );
    add("rate and buffer known: all", "p90 3", group(&|f| f.crosses() && f.inferred_all()));
    add(
        "rate and buffer known: bbr",
        "median 5",
        group(&|f| f.crosses() && f.inferred_all() && !windowed(f)),
    );
    add("any capture: reno, cubic where it matters", "", group(&|f| f.crosses() && windowed(f) && f.matters));
    add("any capture: all", "", group(&|f| f.crosses()));
    let mut sizes: Vec<u64> = all.iter().map(|f| f.source.1).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes {
        let name = format!("captures of {} KB: all", size / 1000);
        add(&name, "", group(&|f| f.crosses() && f.source.1 == size));
    }
    add("the captured control itself: all", "", group(&|f| !f.crosses()));
    table.text()
}

/// Accuracy of the inferred paths.
fn paths(forecasts: &FolderForecast<'_>, brief: bool) -> String {
    let mut table = Table::new([
        "capture",
        "rate, %",
        "RTT, ms",
        "buffer, %",
        "unknown",
        "re-run as",
        "ms captured",
        "re-run",
        "retransmitted",
        "re-run",
    ]);
    let (mut rate, mut rtt, mut buffer) = (Value::default(), Value::default(), Value::default());
    let mut refused = vec![];
    for (path, inferred) in forecasts.folder.paths.iter().zip(&forecasts.inferred) {
        let (true_rate, true_buffer) = (path.rate_mbit_s * 1e6, path.buffer_packets as f64);
        for inferred in inferred {
            let name = format!("{} {} {}", path.name, inferred.control, inferred.bytes / 1000);
            let Ok(Answer { path: inferred_path, connections, .. }) = &inferred.answer else {
                refused.extend(
                    path.transfer(&inferred.control, inferred.bytes)
                        .and_then(|t| t.capture.as_ref().map(|_| name)),
                );
                continue;
            };
            let connection = &connections[0];
            let ms = |seconds: Option<f64>| number(seconds.map(|seconds| seconds * 1e3), 1);
            rate.take(inferred_path, "rate_bit_s", true_rate, true_rate, 0.02 * true_rate);
            rtt.take(inferred_path, "rtt_ms", path.rtt_ms, 1.0, 1.0 + 0.01 * path.rtt_ms);
            buffer.take(inferred_path, "buffer_packets", true_buffer, true_buffer, 0.1 * true_buffer);
            let last = |value: Option<f64>, truth: f64| value.map(|value| value - truth);
            table.row([
                name,
                signed(last(inferred_path.rate_bit_s.map(|r| r as f64), true_rate).map(|e| e / true_rate), 2),
                last(inferred_path.rtt_ms, path.rtt_ms).map_or("–".into(), |e| format!("{e:+.2}")),
                signed(
                    last(inferred_path.buffer_packets.map(|b| b as f64), true_buffer)
                        .map(|e| e / true_buffer),
                    0,
                ),
                inferred_path.cannot_tell.join(", "),
                connection.scheme.clone(),
                ms(connection.observed_completion_s),
                ms(connection.rerun_completion_s),
                connection.observed_retransmits.to_string(),
                connection.rerun_retransmits.to_string(),
            ]);
        }
    }
    let mut sums = Table::new([
        "value",
        "known",
        "median error",
        "worst",
        "aim",
        "within the aim",
        "interval contains the truth",
    ]);
    for (name, value, scale, unit, aim) in [
        ("rate", &rate, 100.0, "%", "2 %"),
        ("RTT", &rtt, 1.0, "ms", "1 ms + 1 %"),
        ("buffer", &buffer, 100.0, "%", "10 %"),
    ] {
        let inferred = value.errors.len();
        let show =
            |p: f64| value.error(p).map_or("–".into(), |error| format!("{:.2} {unit}", error * scale));
        sums.row([
            name.into(),
            format!("{inferred} of {}", inferred + value.unknown),
            show(0.5),
            show(1.0),
            aim.into(),
            value.within.to_string(),
            value.covered.to_string(),
        ]);
    }
    let mut text = format!("### The path\n\n{}", sums.text());
    if !brief {
        text.push_str(&table.text());
    }
    if !refused.is_empty() {
        let _ = writeln!(text, "Refused for lack of data: {}.\n", refused.join(", "));
    }
    text
}

/// Largest errors by the size that was forecast, and by the size that was captured.
fn matrices(path: &TruePath, forecasts: &FolderForecast<'_>) -> String {
    let of_path: Vec<Forecast<'_>> =
        forecasts.forecasts().filter(|f| std::ptr::eq(f.path, path) && f.crosses()).collect();
    let mut columns: Vec<(&str, &str)> =
        of_path.iter().map(|f| (f.source.0, f.cell.control.as_str())).collect();
    columns.sort_unstable();
    columns.dedup();
    let matrix = |corner: &str, keep: &dyn Fn(&Forecast<'_>, u64) -> bool| {
        let names = columns.iter().map(|(from, to)| format!("{from} → {to}"));
        let mut table = Table::new(std::iter::once(corner.to_owned()).chain(names));
        for size in path.sizes() {
            let worst = columns.iter().map(|&column| {
                let errors = of_path.iter().filter(|f| (f.source.0, f.cell.control.as_str()) == column);
                let errors = errors.filter(|f| keep(f, size)).filter_map(|f| f.cell.error());
                signed(errors.max_by(|a, b| a.abs().total_cmp(&b.abs())), 1)
            });
            table.row(std::iter::once((size / 1000).to_string()).chain(worst));
        }
        table.text()
    };
    let TruePath { name, rate_mbit_s, rtt_ms, buffer_packets, .. } = path;
    let mut text =
        format!("### {name}: {rate_mbit_s} Mbit/s, {rtt_ms} ms, {buffer_packets} packets of buffer\n\n");
    text.push_str(
        "Worst error in %, by the size of the forecast, from captures with known rate and buffer:\n\n",
    );
    text.push_str(&matrix("KB forecast", &|f, size| f.inferred_all() && f.cell.bytes == size));
    text.push_str("Worst error in % over all sizes, by the size of the capture:\n\n");
    text.push_str(&matrix("KB captured", &|f, size| f.source.1 == size));
    text
}

/// Every forecast for a path.
fn in_full(path: &TruePath, inferred: &[CaptureForecast], controls: &Controls) -> String {
    let sizes = path.sizes();
    let mut text = String::new();
    for (control, label) in controls.labels() {
        let _ = writeln!(
            text,
            "{} {control} as `{label}`, ms; * where the interval misses the truth:\n",
            path.name
        );
        let headings = sizes.iter().map(|size| format!("{} KB", size / 1000));
        let mut table = Table::new(std::iter::once("capture".to_owned()).chain(headings));
        let truth = sizes.iter().map(|&size| number(path.transfer(control, size).map(|t| t.truth_ms()), 1));
        table.row(std::iter::once("**truth**".to_owned()).chain(truth));
        for inferred in inferred {
            let Ok(Answer { cells, .. }) = &inferred.answer else { continue };
            let itself = if inferred.control == control { " (itself)" } else { "" };
            let name = format!("{} {} KB{itself}", inferred.control, inferred.bytes / 1000);
            let forecasts = sizes.iter().map(|&size| {
                let cell = cells.iter().find(|cell| cell.control == control && cell.bytes == size);
                cell.map_or("–".into(), show)
            });
            table.row(std::iter::once(name).chain(forecasts));
        }
        text.push_str(&table.text());
    }
    text
}

/// Formats a forecast as `1458 (1455–1462)`.
fn show(cell: &Cell) -> String {
    let (Some(median), Some([low, high])) = (cell.median_ms(), cell.interval_ms()) else {
        return "–".into();
    };
    let missed = if (low..=high).contains(&cell.truth_ms) { "" } else { " *" };
    format!("{median:.1} ({low:.1}–{high:.1}){missed}")
}
