//! The picture of all lines: the ratio of each to the paper, with its interval, its verdict and the value of ns-2.

use firstflight_reproduce::checked::PointOf;
use firstflight_reproduce::judge::{Judged, Verdict};
use firstflight_reproduce::library::Library;

use crate::figure::{Pattern, Ratios, Row, Tone};

/// Verdicts in the order of the legend, with colours and forms that do not need the colour.
const CLASSES: [(Verdict, Tone, usize); 6] = [
    (Verdict::Matches, Tone::Blue, 0),
    (Verdict::Partly, Tone::Ochre, 2),
    (Verdict::Undecided, Tone::Grey, 3),
    (Verdict::Differs, Tone::Orange, 1),
    (Verdict::Refuted, Tone::Violet, 7),
    (Verdict::NotCheckable, Tone::Brown, 8),
];

/// The picture of the lines that are counted.
pub(super) fn svg(library: &Library, judged: &[&Judged]) -> String {
    let groups = library.papers.iter().map(|paper| {
        let own = |row: &&&Judged| paper.claims.iter().any(|claim| claim.id == row.id);
        let assumed = if paper.about.assumed.is_some() { " (values assumed)" } else { "" };
        let heading = format!("{}: {}{assumed}", paper.about.key, paper.about.title);
        (heading, judged.iter().filter(own).map(|row| line(row)).collect::<Vec<_>>())
    });
    Ratios {
        title: "Every line of the papers, beside the paper".into(),
        notes: vec![
            "A number: measured over printed, 1 is the paper's. An order (>): the side that the paper has as the larger over the".into(),
            "other, right of 1 as in the paper. The statement that decides is drawn, with the 95 % interval of its mean. Where a side".into(),
            "is zero or less there is no ratio: the measured values stand there.".into(),
        ],
        classes: CLASSES
            .iter()
            .map(|(verdict, tone, form)| (verdict.title().to_owned(), *tone, Pattern(*form)))
            .collect(),
        groups: groups.filter(|(_, rows)| !rows.is_empty()).collect(),
        axis: "ratio to the paper".into(),
        ends: [0.1, 10.0],
        left: 92,
        crosses: Some("ns-2".into()),
    }
    .svg()
}

fn line(row: &Judged) -> Row {
    let point = row.deciding().and_then(|one| one.deciding());
    let ratio = point.and_then(|point| point.ratio);
    let order = point.is_some_and(|point| point.expected.is_none());
    Row {
        label: if order { format!("{} >", row.id) } else { row.id.clone() },
        note: row.title(),
        class: CLASSES.iter().position(|(verdict, ..)| *verdict == row.verdict).unwrap_or(0),
        here: ratio.map(|ratio| ratio.here),
        values: point.map_or(String::new(), PointOf::here),
        ci95: ratio.and_then(|ratio| ratio.ci95),
        other: ratio.and_then(|ratio| ratio.ns2),
    }
}
