//! Pictures of the league.

use firstflight_league::library::Family;
use firstflight_league::{Interval, League, Results};

use crate::figure::{Pattern, Ratios, Row, Tone};

/// Families of starts in the order of the legend.
const FAMILIES: [(Family, &str, Tone, Pattern); 4] = [
    (Family::Linux, "Linux", Tone::Grey, Pattern(0)),
    (Family::Modern, "drafts, RFCs", Tone::Blue, Pattern(1)),
    (Family::Paper, "papers", Tone::Orange, Pattern(2)),
    (Family::Stack, "stacks", Tone::Green, Pattern(3)),
];

fn row(label: &str, class: usize, interval: Option<Interval>) -> Row {
    Row {
        label: label.into(),
        note: interval
            .map_or_else(String::new, |it| format!("{:.2} ({:.2} to {:.2})", it.mean, it.low, it.high)),
        class,
        here: interval.map(|it| it.mean),
        values: String::new(),
        ci95: interval.map(|it| [it.low, it.high]),
        other: None,
    }
}

fn classes() -> Vec<(String, Tone, Pattern)> {
    FAMILIES.iter().map(|(_, name, tone, pattern)| ((*name).to_owned(), *tone, *pattern)).collect()
}

fn class(league: &League, start: &str) -> usize {
    FAMILIES.iter().position(|(family, ..)| *family == league.starts[start].family).unwrap_or(0)
}

/// The time of every start, the fastest first.
pub(super) fn standing(league: &League, results: &Results) -> Ratios {
    let rows = results.standings.iter();
    let rows = rows.map(|it| row(&it.start, class(league, &it.start), Some(it.ratio))).collect();
    let notes = vec![format!("League {}: mean of the ranked scenarios, with 95 % intervals", results.league)];
    ratios(results, format!("Time of a transfer over that of {}", results.reference), notes, rows)
}

/// The time of a start on every scenario.
pub(super) fn start(league: &League, results: &Results, name: &str) -> Ratios {
    let own = results.outcomes.iter().filter(|it| it.start == name && it.ratio.is_some());
    let rows = own.map(|it| row(&it.scenario, class(league, &it.start), it.ratio)).collect();
    let title = format!("{}: time over that of {}", league.starts[name].title, results.reference);
    ratios(results, title, vec![], rows)
}

/// The picture of these rows, with the legend and the axis of the league.
fn ratios(results: &Results, title: String, notes: Vec<String>, rows: Vec<Row>) -> Ratios {
    Ratios {
        title,
        notes,
        classes: classes(),
        groups: vec![(String::new(), rows)],
        axis: format!("time over that of {}", results.reference),
        ends: [0.25, 4.0],
        left: 150,
        crosses: None,
    }
}
