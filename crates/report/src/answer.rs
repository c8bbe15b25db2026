//! The answer at a glance: the one setting that a server should have, with its gain, cost and trust, in at most 24 lines.

use firstflight_results::{Answer, AnswerAtSize, CompareReport, PairedDifference};

use crate::format::{bytes, capital, count, counted, percent_magnitude, printable, probably, time, wrap};
use crate::headline::headline;
use crate::names::Names;
use crate::path::path_line;
use crate::table::{Colour, Style, paint};

/// Columns of a bar.
const BAR: usize = 24;

/// Most lines of an answer on the terminal.
const MOST_LINES: usize = 24;

/// Parts of an answer at most.
#[derive(Clone, Copy)]
struct Parts {
    commands: usize,
    sizes: usize,
    /// Lines of each fact.
    lines: usize,
}

impl Parts {
    const ALL: Self = Self { commands: usize::MAX, sizes: usize::MAX, lines: usize::MAX };

    /// From the longest answer to the shortest: the first that fits is shown.
    const CUT: [Self; 5] = [
        Self { commands: 4, ..Self::ALL },
        Self { commands: 4, sizes: 6, lines: 3 },
        Self { commands: 2, sizes: 4, lines: 2 },
        Self { commands: 1, sizes: 3, lines: 2 },
        Self { commands: 1, sizes: 3, lines: 1 },
    ];
}

/// The answer in one line: sentence, trust, commands.
pub fn brief(report: &CompareReport) -> String {
    let Some(answer) = &report.comparison.answer else { return String::new() };
    let commands: Vec<String> = answer.commands.iter().map(|it| printable(it)).collect();
    let commands = if commands.is_empty() { String::new() } else { format!(" {}", commands.join("; ")) };
    format!("{} ({}){commands}\n", printable(&answer.sentence), answer.trust)
}

/// The recommendation for each size by itself, with its reasons.
pub fn per_size(report: &CompareReport, width: usize) -> String {
    let names = Names::of(report);
    let answer = headline(report, &names);
    let mut lines = vec![];
    for size in &answer.by_size {
        lines.extend(wrap(&format!("{}: {}", size.size, size.text()), width));
    }
    if lines.is_empty() {
        lines.extend(wrap(&answer.lead, width));
    }
    plain(&lines)
}

/// The answer for a terminal of `width` columns: at most 24 lines at 80 columns. Parts that do not fit are counted, and
/// [`whole_answer`] has them.
pub fn answer(report: &CompareReport, width: usize, colour: Colour) -> String {
    let fits = |parts: &Parts| {
        let lines = lines(report, width, Colour::None, *parts);
        // A terminal breaks a line that is longer than its width.
        let rows = lines.iter().map(|line| line.chars().count().div_ceil(width.max(1)).max(1));
        rows.sum::<usize>() <= MOST_LINES
    };
    let [.., shortest] = Parts::CUT;
    let parts = Parts::CUT.into_iter().find(fits).unwrap_or(shortest);
    plain(&lines(report, width, colour, parts))
}

/// The answer with all commands, sizes and facts.
pub fn whole_answer(report: &CompareReport, width: usize, colour: Colour) -> String {
    plain(&lines(report, width, colour, Parts::ALL))
}

fn lines(report: &CompareReport, width: usize, colour: Colour, most: Parts) -> Vec<String> {
    let Some(answer) = &report.comparison.answer else { return vec![] };
    let mut lines: Vec<String> = vec![];
    let style = if answer.verdict == "change" { Style::Green } else { Style::Bold };
    lines.extend(starts_as(answer).iter().flat_map(|text| wrap(text, width)));
    lines.extend(wrap(&printable(&answer.sentence), width).iter().map(|text| paint(text, style, colour)));
    lines.push(String::new());
    // Commands stay on one line each, so that they can be copied.
    let commands = answer.commands.iter().map(|command| format!("  {}", printable(command)));
    add(&mut lines, commands.collect(), most.commands);
    // The headings are the first line.
    add(&mut lines, sizes(answer), most.sizes.saturating_add(1));
    for (name, text) in facts(report, answer) {
        let width = width.saturating_sub(NAME).max(20);
        let mut wrapped = wrap(&text, width);
        if wrapped.len() > most.lines {
            wrapped.truncate(most.lines);
            let last = wrapped.last_mut().expect("one line at least");
            let begun: String = last.chars().take(width - 1).collect();
            *last = begun.trim_end_matches(['.', ',', ';', ':']).to_owned() + "…";
        }
        let mut wrapped = wrapped.into_iter();
        let first = wrapped.next().unwrap_or_default();
        lines.push(format!("{}{first}", paint(&format!("{name:NAME$}"), Style::Dim, colour)));
        lines.extend(wrapped.map(|text| format!("{:NAME$}{text}", "")));
    }
    lines
}

/// The sentence that names the captured sender's stack.
pub(crate) fn starts_as(answer: &Answer) -> Option<String> {
    answer.starts_as.as_ref().map(|stack| format!("The captured sender starts as {} does.", printable(stack)))
}

/// Adds a part, at most `most` lines of it with the number of the others, and an empty line below.
fn add(lines: &mut Vec<String>, mut part: Vec<String>, most: usize) {
    let more = part.len().saturating_sub(most);
    part.truncate(most);
    if more > 0 {
        part.push(format!("  ({more} more: --details)"));
    }
    if !part.is_empty() {
        part.push(String::new());
    }
    lines.append(&mut part);
}

/// Headings of the columns of the sizes.
const HEADINGS: [&str; 4] = ["size", "share", "now", "then"];

/// Columns of the name of a fact.
const NAME: usize = 10;

/// Lines with plain spaces. No-break spaces keep numbers and units together while a text is wrapped.
fn plain(lines: &[String]) -> String {
    lines.iter().map(|line| line.replace('\u{a0}', " ") + "\n").collect()
}

/// Headings, and a line for each size: weight, time now and then, bar, gain. None without an answer.
fn sizes(answer: &Answer) -> Vec<String> {
    let weighed = answer.uncounted.is_some_and(|share| share < 1.0);
    let cells = |it: &AnswerAtSize| {
        let weight = if weighed { format!("{:.0}\u{a0}%", it.weight * 100.0) } else { String::new() };
        let shown = |seconds: Option<f64>| seconds.map_or_else(|| "never".into(), time);
        let then = it.then_s.map(time).unwrap_or_default();
        [bytes(it.size_bytes), weight, shown(it.now_s), then]
    };
    let rows: Vec<[String; 4]> = answer.sizes.iter().map(cells).collect();
    let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let width = |column: usize| match widest(column) {
        0 => 0,
        widest => widest.max(HEADINGS[column].len()),
    };
    let widths = [0, 1, 2, 3].map(width);
    let row = |(it, row): (&AnswerAtSize, &[String; 4])| {
        let mut line = String::from(" ");
        for (cell, width) in row.iter().zip(widths).filter(|(_, width)| *width > 0) {
            line += &format!(" {cell:>width$} ");
        }
        if let Some(gain) = it.gain {
            line += &format!(" {}  {}", bar(1.0 - gain), gained(gain));
        }
        line.trim_end().to_owned()
    };
    let mut headings = String::from(" ");
    for (heading, width) in HEADINGS.iter().zip(widths).filter(|(_, width)| *width > 0) {
        headings += &format!(" {heading:>width$} ");
    }
    let headings = (!rows.is_empty()).then(|| headings.trim_end().to_owned());
    headings.into_iter().chain(answer.sizes.iter().zip(&rows).map(row)).collect()
}

/// Time then, full, within the time now, light.
fn bar(ratio: f64) -> String {
    let full = ((ratio * BAR as f64).round() as usize).min(BAR);
    "█".repeat(full) + &"░".repeat(BAR - full)
}

/// A gain in words: a difference below half a tenth of a per cent is none.
pub fn gained(gain: f64) -> String {
    match gain {
        it if it.abs() < 0.0005 => "the same".into(),
        it if it < 0.0 => format!("{} later", percent_magnitude(it)),
        it => format!("{} sooner", percent_magnitude(it)),
    }
}

/// Facts under the answer: name and text.
pub(crate) fn facts(report: &CompareReport, answer: &Answer) -> Vec<(&'static str, String)> {
    let comparison = &report.comparison;
    let mut facts = vec![];
    if answer.verdict == "change" {
        facts.push(("Cost", cost(answer)));
    }
    let (trust, why) = (&answer.trust, printable(&answer.trust_why));
    facts.push(("Trust", format!("{trust}: {why}.{}", probably(answer.sooner))));
    let path = path_line(comparison);
    facts.push((
        "Path",
        capital(path.strip_prefix("Path").map_or(&*path, |rest| rest.trim_start_matches([':', ' ']))),
    ));
    if let Some(cap) = &answer.cap {
        facts.push(("Cap", capital(&printable(cap)) + "."));
    }
    if let Some(share) = answer.uncounted.filter(|&share| share >= 0.005) {
        let counted = if share < 1.0 {
            format!(
                "{} of the captured transfers are smaller or larger than these sizes, and do not count",
                percent_magnitude(share)
            )
        } else {
            "no captured transfer is near one of these sizes; all sizes count alike".to_owned()
        };
        facts.push(("Sizes", capital(&counted) + "."));
    }
    if let Some(first) = answer.research.first() {
        let more = match answer.research.len() {
            1 => String::new(),
            _ => format!("; {} more", answer.research.len() - 1),
        };
        let costs = if first.within_limits { "" } else { ", and costs more than the limits allow" };
        facts.push((
            "Research",
            format!(
                "{} ends transfers {}, but is not in this stack{costs}{more}.",
                printable(&first.scheme),
                gained(first.gain)
            ),
        ));
    }
    if answer.verdict == "change" {
        facts.push(("Check", "Capture again, then: firstflight effect before.pcap after.pcap".into()));
    }
    facts
}

/// Costs of the setting: packets, others, the slowest transfers, networks.
fn cost(answer: &Answer) -> String {
    let mut parts = vec![];
    if let Some(drops) = answer.drops {
        let now = answer.drops_now.map_or_else(String::new, |now| format!(" (now {})", count(now)));
        parts.push(format!("{} lost per transfer{now}", counted(drops, "packet", "packets")));
    }
    if let Some(harm) = answer.harm {
        let limit = answer
            .max_harm
            .map_or_else(String::new, |limit| format!(" (limit {})", percent_magnitude(limit - 1.0)));
        parts.push(match harm - 1.0 {
            more if more < 0.0005 => format!("others wait no longer{limit}"),
            more => format!("others wait at most {} longer{limit}", percent_magnitude(more)),
        });
    }
    let tail = |it: &AnswerAtSize| {
        let (now, then) = (it.now_p95_s.filter(|&now| now > 0.0)?, it.then_p95_s?);
        let later = then / now - 1.0;
        (later >= PairedDifference::WORTH_HAVING).then_some((it.size_bytes, later))
    };
    let worst = answer.sizes.iter().filter_map(tail).max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((size, later)) = worst {
        parts.push(format!("the slowest 1 in 20 of {} end {} later", bytes(size), percent_magnitude(later)));
    }
    if let Some((first, others)) = answer.later_networks.split_first() {
        let others = match others.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        parts.push(format!("later for {}{others}", printable(first)));
    }
    capital(&parts.join("; ")) + "."
}
