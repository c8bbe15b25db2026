//! The page of a paper.

use firstflight_reproduce::checked::Checked;
use firstflight_reproduce::evidence::Measurements;
use firstflight_reproduce::judge::{Bench, Judged};
use firstflight_reproduce::library::{Library, Paper};

use super::markdown::{cell, code, code_cell, text};
use super::{measured, picture, plot, table};

pub(super) fn page(
    library: &Library,
    paper: &Paper,
    ours: &Measurements,
    bench: &Bench<'_>,
    judged: &[Judged],
) -> Result<String, String> {
    let about = &paper.about;
    let mut out = format!("{}\n\n", paper.text.trim_end());
    if !paper.text.starts_with('#') {
        out = format!("# {}\n\n{out}", about.title);
    }
    out += &format!(
        "{}, *{}*, {}, {}. Scenarios, experiments, claims: `papers/{}/`.\n\n",
        about.authors, about.title, about.venue, about.year, paper.folder
    );
    let rows: Vec<&Judged> =
        judged.iter().filter(|row| paper.claims.iter().any(|claim| claim.id == row.id)).collect();
    out += "## Verdicts\n\n| line | where | the paper says | here | verdict |\n|---|---|---|---|---|\n";
    for row in &rows {
        out += &format!(
            "| [{}](#{}) | {} | {} | {} | {} |\n",
            row.id,
            row.id.to_lowercase(),
            cell(&row.place),
            cell(&row.expected),
            cell(&row.measured),
            row.verdict.word()
        );
    }
    out += "\n## Tables\n\n";
    for one in &paper.tables {
        out += &format!("### {}: {}\n\n", one.place, one.title);
        if !one.about.is_empty() {
            out += &format!("{}\n\n", one.about);
        }
        if let (true, Some(show)) = (one.shown, &one.show) {
            out += &match measured(ours, show.chain.experiments().into_iter()) {
                true => table::markdown(one, bench).map_err(|why| format!("{}: {why}", one.id))?,
                false => "Not run.\n".into(),
            };
            out += "\n";
        }
    }
    out += "## Figures\n\n";
    for figure in &paper.figures {
        out += &format!("### {}: {}\n\n", figure.place, figure.title);
        if !figure.about.is_empty() {
            out += &format!("{}\n\n", figure.about);
        }
        if figure.shown {
            out += &match measured(ours, plot::experiments(figure)) {
                true => format!("![{}]({})\n\n", text(&figure.title), picture(&paper.folder, &figure.id)),
                false => "Not run.\n\n".into(),
            };
        }
    }
    out += "## Line by line\n\n";
    for row in &rows {
        out += &line(library, paper, row);
    }
    out +=
        "## Experiments\n\n| experiment | title | scenario | replications | cells |\n|---|---|---|--:|--:|\n";
    for (name, experiment) in &paper.experiments {
        let cells: usize = experiment.axes.iter().map(|axis| axis.points.len()).product();
        let ran = ours.experiments.get(name).map_or(experiment.replications, |one| one.replications);
        let about = [experiment.title.as_str(), experiment.about.as_str()].join(". ");
        let about = about.trim_end_matches(". ");
        out += &format!(
            "| {} | {} | {} | {ran} | {cells} |\n",
            code_cell(name),
            cell(about),
            code_cell(&experiment.scenario)
        );
    }
    if !paper.ns2.is_empty() {
        out += "\n## Values of ns-2\n\n| metric | at | command |\n|---|---|---|\n";
        for given in &paper.ns2 {
            let about =
                if given.about.is_empty() { String::new() } else { format!(" {}", cell(&given.about)) };
            let at = cell(&given.at.join(", "));
            out += &format!("| {} | {at} | {}{about} |\n", code_cell(&given.what), code_cell(&given.command));
        }
    }
    Ok(out)
}

fn line(library: &Library, paper: &Paper, row: &Judged) -> String {
    let mut out = format!("### {}\n\n", row.id);
    out += &format!("**{}** · {} · {}\n\n", row.verdict.word(), row.place, row.kind);
    let scenario =
        library.targets.iter().find(|target| target.id == row.id).map_or("", |target| &target.scenario);
    out += &format!("The paper ({scenario}): {}\n\n", text(&row.expected));
    if !row.why.is_empty() {
        out += &format!("{}\n\n", text(&row.why));
    }
    row.statements.iter().for_each(|one| out += &checked(one));
    if !row.because.is_empty() {
        out += "Evidence for the cause:\n\n";
        row.because.iter().for_each(|one| out += &checked(one));
    }
    if !row.experiments.is_empty() {
        let names: Vec<String> = row.experiments.iter().map(|name| code(name)).collect();
        out += &format!("Experiments in `papers/{}/experiments/`: {}.\n\n", paper.folder, names.join(", "));
    }
    out
}

/// Most points of a statement that are shown.
const SHOWN: usize = 24;

fn checked(one: &Checked) -> String {
    let mut out = format!("{} {}\n\n", code(&one.that), text(&one.finding()));
    if let Some(problem) = &one.problem {
        return out + &text(problem) + "\n\n";
    }
    let paper = one.points.iter().any(|point| point.expected.is_some());
    let ns2 = one.points.iter().any(|point| point.ns2.is_some());
    let mut head = vec!["at"];
    head.extend(paper.then_some("paper"));
    head.extend(ns2.then_some("ns-2 today"));
    head.extend(["here", "95 %", "holds"]);
    out += &format!("| {} |\n|---|{}\n", head.join(" | "), "--:|".repeat(head.len() - 1));
    for point in one.points.iter().take(SHOWN) {
        let mut cells = vec![cell(&point.at.join(", "))];
        cells.extend(paper.then(|| point.paper()));
        cells.extend(ns2.then(|| point.ns2()));
        cells.extend([point.here(), point.interval()]);
        cells.push(if point.fate() == "no" { "**no**".into() } else { point.fate().into() });
        out += &format!("| {} |\n", cells.join(" | "));
    }
    if one.points.len() > SHOWN {
        let held = one.points.iter().filter(|point| point.holds).count();
        out += &format!("\nThe statement holds at {held} of {} points.\n", one.points.len());
    }
    out + "\n"
}
