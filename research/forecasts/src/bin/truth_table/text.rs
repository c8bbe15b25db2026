//! The printed tables, in Markdown that is readable on a terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::controls::Controls;
use crate::floor::Shares;
use crate::forecast::{Answer, CaptureForecast, Cell, Seen, Statistic};
use crate::kinds::{AIM, Known, known};
use crate::score::{Score, at, mean};
use crate::scores::Scores;
use crate::truth::{Transfer, TruePath};
use firstflight_hosts::stats::quantile_ci95;
use research_forecasts::table::{Table, number, percent, signed};

/// Share by which ranges are widened at least: `LEAST_DEPARTURE` of `compare/captured.rs`.
const LEAST_DEPARTURE: f64 = 0.01;

/// Forecasts on the true paths.
pub(crate) fn true_path(paths: &[(&TruePath, Vec<Cell<'_>>)], controls: &Controls) -> String {
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
    for (path, cells) in paths {
        for cell in cells {
            let seen = Seen::of(cell.transfer);
            let result = cell.result.as_ref();
            let exit = result.and_then(|result| result.startup_exit).map_or(String::from("–"), |exit| {
                let reason = exit.reason.label();
                format!("{:.0} ms, {:.1} packets, {reason}", exit.time_s * 1e3, exit.cwnd_packets)
            });
            table.row([
                format!("{} {} {}", path.name, cell.transfer.control, cell.transfer.bytes / 1000),
                number(Some(cell.transfer.truth_ms()), 2),
                number(cell.median_ms(), 2),
                signed(cell.error(), 2),
                number(result.map(|result| result.retransmits_mean), 0),
                number(seen.as_ref().map(|seen| seen.retransmits as f64), 0),
                number(result.map(|result| result.timeouts_mean), 0),
                exit,
                seen.map_or("–".into(), |seen| seen.exit),
            ]);
        }
    }
    format!("{}{}", notes(controls), table.text())
}

/// The table of forecasts from several captures at once: by path or, for several numbers of captures, by path and number.
pub(crate) fn together(captures: &[CaptureForecast<'_>]) -> String {
    let mut numbers: Vec<usize> = captures.iter().map(|capture| capture.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let table = if numbers.len() > 1 { by_number(captures, &numbers) } else { by_kind(captures) };
    table.text() + &refused(captures)
}

/// Accuracy for each number of captures that are read as one.
fn by_number(captures: &[CaptureForecast<'_>], numbers: &[usize]) -> Table {
    let mut scores = Scores::with("path, captures", ["sets", "processor seconds: median", "most"]);
    let mut add = |name: &str, count: usize, aim: f64, is: &dyn Fn(&TruePath) -> bool| {
        let own = || captures.iter().filter(|capture| capture.number == count && is(capture.path));
        let seconds = own().filter_map(|capture| Some(capture.answer.as_ref().ok()?.seconds));
        let seconds: Vec<f64> = seconds.collect();
        if seconds.is_empty() {
            return;
        }
        let [median, most] = [0.5, 1.0].map(|p| number(at(&seconds, p), 0));
        let further = [own().count().to_string(), median, most];
        scores.add_with(format!("{name}, {count}"), &Score::of(own(), |_| true), aim, further);
    };
    let names = names(captures);
    for &name in &names {
        let Known { what, aim, .. } = known(name);
        numbers.iter().for_each(|&count| {
            add(&format!("{name} {what}"), count, aim, &|path| path.name == name);
        });
    }
    if names.len() > 1 {
        numbers.iter().for_each(|&count| add("**all**", count, AIM, &|_| true));
    }
    scores.table()
}

/// Components of the ranges of single captures: their widths over the allowed ones, in the median over the forecasts, if these are
/// drawn from the heaviest path alone, from all paths of the heaviest kind, and from all.
pub(crate) fn components(captures: &[[CaptureForecast<'_>; 3]]) -> String {
    let mut table = Table::new([
        "capture",
        "kinds, %",
        "departure, %",
        "the departure alone",
        "one path",
        "one kind",
        "all paths",
        "in the range of one path, %",
        "of one kind, %",
        "of all, %",
    ]);
    for each in captures {
        let scores = each.each_ref().map(|one| Score::of(std::iter::once(one), |_| true));
        let Some(answer) = each[2].answered() else { continue };
        let departure = answer.departure.unwrap_or(0.0).max(LEAST_DEPARTURE);
        let alone = |cell: &Cell<'_>| {
            let both = 1.0 + departure - 1.0 / (1.0 + departure);
            Some(both * cell.median_ms()? / cell.transfer.allowed_ms())
        };
        let alone: Vec<f64> = answer.cells.iter().filter_map(alone).collect();
        let [one, kind, all] = &scores;
        table.row([
            stem(std::path::Path::new(&each[2].file)),
            kinds(answer),
            percent(Some(departure), 1),
            number(at(&alone, 0.5), 2),
            number(one.width(), 2),
            number(kind.width(), 2),
            number(all.width(), 2),
            percent(one.covered(), 0),
            percent(kind.covered(), 0),
            percent(all.covered(), 0),
        ]);
    }
    table.text()
}

/// Name of a capture without its endings.
pub(crate) fn stem(file: &std::path::Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.trim_end_matches(".gz").trim_end_matches(".pcap").to_owned()
}

/// The likeliest kinds with their weights.
fn kinds(answer: &Answer<'_>) -> String {
    let kinds = answer.path.kinds.iter().take(3).filter(|kind| kind.weight >= 0.01);
    let kinds: Vec<String> = kinds.map(|kind| format!("{} {:.0}", kind.kind, 100.0 * kind.weight)).collect();
    kinds.join(", ")
}

/// All tables; without single captures if `brief`.
pub(crate) fn whole(
    captures: &[CaptureForecast<'_>],
    paths: &[TruePath],
    true_paths: &[(&TruePath, Vec<Cell<'_>>)],
    controls: &Controls,
    brief: bool,
) -> String {
    let mut text = notes(controls);
    let mut add = |heading: &str, table: Table| {
        let _ = write!(text, "### {heading}\n\n{}", table.text());
    };
    add("By kind of path", by_kind(captures));
    add("By the control of the forecast", by_control(captures, controls));
    add("By the size of the forecast", by_forecast(captures));
    add("By the size of the capture", by_capture(captures));
    add("Regret by the statistic that ranks", regrets(captures));
    add("What the captures are taken for", answers(captures));
    add("Forecasts off by more than 25 %", misses(captures, paths));
    add("What one transfer shows of the others", repeats(paths));
    if !true_paths.is_empty() {
        add("The model alone, on the true path", model(true_paths));
    }
    if !brief {
        add("Capture by capture", each(captures));
    }
    text + &refused(captures)
}

/// The captures that cannot be read, with their reasons.
pub(crate) fn refused(captures: &[CaptureForecast<'_>]) -> String {
    let reason = |capture: &CaptureForecast<'_>| {
        Some(format!("{} ({})", capture.file, capture.answer.as_ref().err()?))
    };
    let refused: Vec<String> = captures.iter().filter_map(reason).collect();
    if refused.is_empty() { String::new() } else { format!("Refused: {}.\n\n", refused.join("; ")) }
}

pub(crate) fn notes(controls: &Controls) -> String {
    let mut text: String = controls.notes.iter().map(|note| format!("- {note}\n")).collect();
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Names of the paths, in the order of the tables.
pub(crate) fn names<'a>(captures: &[CaptureForecast<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = captures.iter().map(|capture| capture.path.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn by_kind(captures: &[CaptureForecast<'_>]) -> Table {
    let mut scores = Scores::new("path");
    for name in names(captures) {
        let Known { what, aim, .. } = known(name);
        let own = captures.iter().filter(|capture| capture.path.name == name);
        scores.add(format!("{name} {what}"), &Score::of(own, |_| true), aim);
    }
    scores.add("**all**".into(), &Score::of(captures.iter(), |_| true), AIM);
    scores.table()
}

fn by_control(captures: &[CaptureForecast<'_>], controls: &Controls) -> Table {
    let mut scores = Scores::new("control");
    for (control, _) in controls.labels() {
        let score = Score::of(captures.iter(), |cell| cell.transfer.control == control);
        scores.add(control.into(), &score.without_regret(), AIM);
    }
    scores.table()
}

fn by_forecast(captures: &[CaptureForecast<'_>]) -> Table {
    let mut scores = Scores::new("KB forecast");
    let sizes = captures.iter().flat_map(|capture| capture.path.sizes());
    for size in ascending(sizes) {
        let score = Score::of(captures.iter(), |cell| cell.transfer.bytes == size);
        scores.add((size / 1000).to_string(), &score, AIM);
    }
    scores.table()
}

fn by_capture(captures: &[CaptureForecast<'_>]) -> Table {
    let mut scores = Scores::new("KB captured");
    for size in ascending(captures.iter().map(|capture| capture.source.bytes)) {
        let own = captures.iter().filter(|capture| capture.source.bytes == size);
        scores.add((size / 1000).to_string(), &Score::of(own, |_| true), AIM);
    }
    scores.table()
}

pub(crate) fn ascending(sizes: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut sizes: Vec<u64> = sizes.collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Regret of the advice by the statistic that ranks the forecasts, in several statistics of the kernel's transfers.
fn regrets(captures: &[CaptureForecast<'_>]) -> Table {
    let judges = [Statistic::Median, Statistic::UpperQuartile, Statistic::Mean];
    let titles = judges
        .iter()
        .flat_map(|judge| [format!("in the kernel's {}: mean, %", judge.name()), "p95, %".to_owned()]);
    let mut table = Table::new(std::iter::once("ranked by".to_owned()).chain(titles));
    for by in Statistic::ALL {
        let regrets = |judge: &Statistic| {
            let of = |capture: &CaptureForecast<'_>| {
                let answer = capture.answered();
                let sizes = capture.path.sizes().into_iter();
                sizes.filter_map(|size| answer?.regret(size, by, *judge)).collect::<Vec<f64>>()
            };
            captures.iter().flat_map(of).collect::<Vec<f64>>()
        };
        let cells =
            judges.iter().map(regrets).flat_map(|all| [percent(mean(&all), 1), percent(at(&all, 0.95), 1)]);
        table.row(std::iter::once(by.name().to_owned()).chain(cells));
    }
    table
}

/// Explanations of the captures of each path.
fn answers(captures: &[CaptureForecast<'_>]) -> Table {
    let mut table = Table::new([
        "path",
        "captures",
        "right kind, %",
        "likeliest kinds",
        "no answer, %",
        "processor seconds: median",
        "most",
    ]);
    let mut add = |name: String, own: &[&CaptureForecast<'_>]| {
        let answers = || own.iter().filter_map(|capture| Some((capture, capture.answer.as_ref().ok()?)));
        let count = answers().count().max(1) as f64;
        let right = answers().filter(|(capture, answer)| {
            let kinds = known(&capture.path.name).right;
            answer.path.kind.as_deref().is_some_and(|kind| kinds.contains(&kind))
        });
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, answer) in answers() {
            *kinds.entry(answer.path.kind.as_deref().unwrap_or("none")).or_default() += 1;
        }
        let mut kinds: Vec<(&str, usize)> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        let none = answers().filter(|(_, answer)| answer.no_answer.is_some());
        let seconds: Vec<f64> = answers().map(|(_, answer)| answer.seconds).collect();
        table.row([
            name,
            own.len().to_string(),
            percent(Some(right.count() as f64 / count), 0),
            kinds.join(", "),
            percent(Some(none.count() as f64 / count), 0),
            number(at(&seconds, 0.5), 1),
            number(at(&seconds, 1.0), 1),
        ]);
    };
    for name in names(captures) {
        let own: Vec<_> = captures.iter().filter(|capture| capture.path.name == name).collect();
        add(format!("{name} {}", known(name).what), &own);
    }
    add("**all**".into(), &captures.iter().collect::<Vec<_>>());
    table
}

/// Shares of forecasts that miss by more than the aim at the 90th percentile, by path and size of the capture; and the share of
/// the kernel's own repeats that miss the median of the others by as much.
fn misses(captures: &[CaptureForecast<'_>], paths: &[TruePath]) -> Table {
    const AIM: f64 = 0.25;
    let sizes = ascending(captures.iter().map(|capture| capture.source.bytes));
    let titles = sizes.iter().map(|size| format!("from {} KB, %", size / 1000));
    let titles = std::iter::once("path".to_owned()).chain(titles).chain(["a repeat, %".to_owned()]);
    let mut table = Table::new(titles);
    let mut add = |name: String, is: &dyn Fn(&TruePath) -> bool| {
        let of_size = |size: &u64| {
            let own = captures.iter().filter(|one| is(one.path) && one.source.bytes == *size);
            percent(Score::of(own, |_| true).beyond(AIM), 0)
        };
        let transfers = paths.iter().filter(|path| is(path)).flat_map(|path| &path.transfers);
        let repeats = Shares::errors(transfers).above(AIM);
        let of_sizes = sizes.iter().map(of_size);
        table.row(std::iter::once(name).chain(of_sizes).chain([percent(repeats, 0)]));
    };
    let names = names(captures);
    for &name in &names {
        add(format!("{name} {}", known(name).what), &|path| path.name == name);
    }
    add("**all**".into(), &|path| names.contains(&path.name.as_str()));
    table
}

/// Differences of single repeats from the median of the other repeats of the same transfer, and how well that median is known.
/// Only transfers of several repeats count.
fn repeats(paths: &[TruePath]) -> Table {
    let mut table = Table::new([
        "path",
        "repeats",
        "a repeat from the others: median, %",
        "p90, %",
        "the first: median, %",
        "95 % interval of the median: half, median, %",
        "p90, %",
    ]);
    for path in paths {
        let transfers = || path.transfers.iter().filter(|one| one.repeats_ms.len() > 1);
        let apart = |one: &Transfer, time: f64| (time / one.truth_ms() - 1.0).abs();
        let all = Shares::errors(transfers());
        let first: Vec<f64> = transfers().map(|one| apart(one, one.first_ms)).collect();
        let half = |one: &Transfer| {
            let [low, high] = quantile_ci95(&one.repeats_ms, 0.5);
            (high - low) / 2.0 / one.truth_ms()
        };
        let halves: Vec<f64> = transfers().map(half).collect();
        table.row([
            format!("{} {}", path.name, known(&path.name).what),
            transfers().map(|one| one.repeats_ms.len()).max().unwrap_or(1).to_string(),
            percent(all.at(0.5), 1),
            percent(all.at(0.9), 1),
            percent(at(&first, 0.5), 1),
            percent(at(&halves, 0.5), 1),
            percent(at(&halves, 0.9), 1),
        ]);
    }
    table
}

/// Errors of the model.
fn model(paths: &[(&TruePath, Vec<Cell<'_>>)]) -> Table {
    let mut table = Table::new(["path", "forecasts", "error: median, %", "p90, %", "worst, %"]);
    for (path, cells) in paths {
        let score = Score::of_cells(cells.iter());
        let words = [("", path.rate_mbit_s, " Mbit/s"), (", ", Some(path.rtt_ms), " ms")];
        let words = words.map(|(before, value, unit)| format!("{before}{}{unit}", value.unwrap_or_default()));
        table.row([
            format!("{} {}, {} packets", path.name, words.concat(), path.buffer_packets.unwrap_or_default()),
            score.cells.to_string(),
            percent(score.error(0.5), 2),
            percent(score.error(0.9), 2),
            percent(score.error(1.0), 2),
        ]);
    }
    table
}

/// One row for each capture.
fn each(captures: &[CaptureForecast<'_>]) -> Table {
    let mut table = Table::new([
        "capture",
        "kinds, %",
        "error: median, %",
        "worst, %",
        "of, KB",
        "in the range, %",
        "width / allowed",
        "worst regret, %",
        "no answer",
    ]);
    for capture in captures {
        let Ok(answer) = &capture.answer else { continue };
        let score = Score::of(std::iter::once(capture), |_| true);
        let errors = capture.answered().into_iter().flat_map(|answer| &answer.cells);
        let errors = errors.filter_map(|cell| Some((cell.transfer, cell.error()?)));
        let worst = errors.max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
        let name = capture.file.trim_end_matches(".gz").trim_end_matches(".pcap");
        table.row([
            name.to_owned(),
            kinds(answer),
            percent(score.error(0.5), 1),
            signed(worst.map(|(_, error)| error), 1),
            worst.map_or("–".into(), |(of, _)| format!("{} {}", of.control, of.bytes / 1000)),
            percent(score.covered(), 0),
            number(score.width(), 2),
            percent(score.regret_at(1.0), 1),
            answer.no_answer.as_deref().map_or("", why).to_owned(),
        ]);
    }
    table
}

/// One row for each forecast: the kernel's transfers beside it.
pub(crate) fn forecasts(captures: &[CaptureForecast<'_>]) -> String {
    let mut table = Table::new([
        "capture",
        "control, KB",
        "kernel: least, ms",
        "median",
        "most",
        "forecast: 5 %, ms",
        "median",
        "95 %",
        "error, %",
        "one repeat: mean, %",
        "in the range, %",
    ]);
    for capture in captures {
        let cells = capture.answered().into_iter().flat_map(|answer| &answer.cells);
        for cell in cells {
            let of = cell.transfer;
            let range = cell.range_ms();
            table.row([
                capture.file.clone(),
                format!("{} {}", of.control, of.bytes / 1000),
                number(Some(of.quantile_ms(0.0)), 1),
                number(Some(of.truth_ms()), 1),
                number(Some(of.quantile_ms(1.0)), 1),
                number(range.map(|[low, _]| low), 1),
                number(cell.median_ms(), 1),
                number(range.map(|[_, high]| high), 1),
                signed(cell.error(), 1),
                percent(Shares::errors([of]).mean(), 1),
                percent(cell.covered(), 0),
            ]);
        }
    }
    table.text() + &refused(captures)
}

/// A reason in few words.
fn why(reason: &str) -> &str {
    match reason {
        reason if reason.starts_with("none of the kinds") => "unlike",
        reason if reason.starts_with("re-runs") => "re-runs differ",
        _ => "too little",
    }
}
