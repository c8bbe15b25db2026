//! The tables, in Markdown that a terminal shows as well.

use std::fmt::Write as _;

use crate::controls::Controls;
use crate::foretell::{Answer, Cell, Told};
use crate::score::{Forecast, Foretold, Score, Value};
use crate::table::{Table, number, signed};
use crate::truth::{Folder, TruePath};

/// The transfers of a folder on their true paths.
pub(crate) fn true_path(folder: &Folder, cells: &[Vec<Cell>], controls: &Controls) -> String {
    let mut table = Table::new([
        "path, control, KB",
        "truth, ms",
        "foretold, ms",
        "error, %",
        "sent again",
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

/// Everything of one folder; of each capture and forecast too, unless `brief`.
pub(crate) fn whole(foretold: &Foretold<'_>, controls: &Controls, brief: bool) -> String {
    let mut text = format!("## {}\n\n{}", foretold.folder.name, notes(controls));
    text.push_str(&summary(foretold));
    text.push_str(&paths(foretold, brief));
    for (path, told) in foretold.folder.paths.iter().zip(&foretold.told) {
        text.push_str(&matrices(path, foretold));
        if !brief {
            text.push_str(&in_full(path, told, controls));
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

/// The figures that the whole is judged by.
fn summary(foretold: &Foretold<'_>) -> String {
    let all: Vec<Forecast<'_>> = foretold.forecasts().collect();
    let windowed = |f: &Forecast<'_>| f.cell.control != "bbr";
    let mut table = Table::new([
        "transfers",
        "cells",
        "median, %",
        "p90, %",
        "worst, %",
        "aim, %",
        "interval holds the truth, %",
        "its width, %",
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
    let truth = || foretold.on_true_path.iter().flatten();
    add(
        "model alone: reno, cubic where it matters",
        "",
        Score::of(truth().filter(|cell| cell.control != "bbr" && cell.matters())),
    );
    add("model alone: all", "", Score::of(truth()));
    add(
        "rate and buffer told: reno, cubic where it matters",
        "median 2, worst 10",
        group(&|f| f.crosses() && f.told_all() && windowed(f) && f.matters),
    );
    add("rate and buffer told: all", "p90 3", group(&|f| f.crosses() && f.told_all()));
    add("rate and buffer told: bbr", "median 5", group(&|f| f.crosses() && f.told_all() && !windowed(f)));
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

/// The paths that the captures tell of.
fn paths(foretold: &Foretold<'_>, brief: bool) -> String {
    let mut table = Table::new([
        "capture",
        "rate, %",
        "RTT, ms",
        "buffer, %",
        "cannot tell",
        "re-run as",
        "ms captured",
        "re-run",
        "sent again",
        "re-run",
    ]);
    let (mut rate, mut rtt, mut buffer) = (Value::default(), Value::default(), Value::default());
    let mut refused = vec![];
    for (path, told) in foretold.folder.paths.iter().zip(&foretold.told) {
        let (true_rate, true_buffer) = (path.rate_mbit_s * 1e6, path.buffer_packets as f64);
        for told in told {
            let name = format!("{} {} {}", path.name, told.control, told.bytes / 1000);
            let Ok(Answer { path: path_told, connections, .. }) = &told.answer else {
                refused.extend(
                    path.transfer(&told.control, told.bytes).and_then(|t| t.capture.as_ref().map(|_| name)),
                );
                continue;
            };
            let again = &connections[0];
            let ms = |seconds: Option<f64>| number(seconds.map(|seconds| seconds * 1e3), 1);
            rate.take(path_told, "rate_bit_s", true_rate, true_rate, 0.02 * true_rate);
            rtt.take(path_told, "rtt_ms", path.rtt_ms, 1.0, 1.0 + 0.01 * path.rtt_ms);
            buffer.take(path_told, "buffer_packets", true_buffer, true_buffer, 0.1 * true_buffer);
            let last = |value: Option<f64>, truth: f64| value.map(|value| value - truth);
            table.row([
                name,
                signed(last(path_told.rate_bit_s.map(|r| r as f64), true_rate).map(|e| e / true_rate), 2),
                last(path_told.rtt_ms, path.rtt_ms).map_or("–".into(), |e| format!("{e:+.2}")),
                signed(
                    last(path_told.buffer_packets.map(|b| b as f64), true_buffer).map(|e| e / true_buffer),
                    0,
                ),
                path_told.cannot_tell.join(", "),
                again.scheme.clone(),
                ms(again.observed_completion_s),
                ms(again.rerun_completion_s),
                again.observed_retransmits.to_string(),
                again.rerun_retransmits.to_string(),
            ]);
        }
    }
    let mut sums = Table::new([
        "value",
        "told",
        "median error",
        "worst",
        "aim",
        "within the aim",
        "interval holds the truth",
    ]);
    for (name, value, scale, unit, aim) in [
        ("rate", &rate, 100.0, "%", "2 %"),
        ("RTT", &rtt, 1.0, "ms", "1 ms + 1 %"),
        ("buffer", &buffer, 100.0, "%", "10 %"),
    ] {
        let told = value.errors.len();
        let show =
            |p: f64| value.error(p).map_or("–".into(), |error| format!("{:.2} {unit}", error * scale));
        sums.row([
            name.into(),
            format!("{told} of {}", told + value.unknown),
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
        let _ = writeln!(text, "Refused, as they hold nothing to look at: {}.\n", refused.join(", "));
    }
    text
}

/// Errors at a glance: by the size foretold, and by the size captured.
fn matrices(path: &TruePath, foretold: &Foretold<'_>) -> String {
    let of_path: Vec<Forecast<'_>> =
        foretold.forecasts().filter(|f| std::ptr::eq(f.path, path) && f.crosses()).collect();
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
    text.push_str("Worst error in %, by the size foretold, from captures that tell rate and buffer:\n\n");
    text.push_str(&matrix("KB foretold", &|f, size| f.told_all() && f.cell.bytes == size));
    text.push_str("Worst error in % over all sizes, by the size captured:\n\n");
    text.push_str(&matrix("KB captured", &|f, size| f.source.1 == size));
    text
}

/// Every forecast of a path.
fn in_full(path: &TruePath, told: &[Told], controls: &Controls) -> String {
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
        for told in told {
            let Ok(Answer { cells, .. }) = &told.answer else { continue };
            let itself = if told.control == control { " (itself)" } else { "" };
            let name = format!("{} {} KB{itself}", told.control, told.bytes / 1000);
            let foretold = sizes.iter().map(|&size| {
                let cell = cells.iter().find(|cell| cell.control == control && cell.bytes == size);
                cell.map_or("–".into(), show)
            });
            table.row(std::iter::once(name).chain(foretold));
        }
        text.push_str(&table.text());
    }
    text
}

/// `1458 (1455–1462)`.
fn show(cell: &Cell) -> String {
    let (Some(median), Some([low, high])) = (cell.median_ms(), cell.interval_ms()) else {
        return "–".into();
    };
    let missed = if (low..=high).contains(&cell.truth_ms) { "" } else { " *" };
    format!("{median:.1} ({low:.1}–{high:.1}){missed}")
}
