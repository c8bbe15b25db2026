//! The page of a paper.

use firstflight_reproduce::checked::{Checked, Outcome};
use firstflight_reproduce::evidence::Measurements;
use firstflight_reproduce::judge::{Bench, Judged};
use firstflight_reproduce::library::{Library, Paper};

use super::markdown::{cell, code, code_cell, text};
use super::summary::{effect, link};
use super::{LINES, WORDS, measured, picture, plot, table};

pub(super) fn page(
    library: &Library,
    paper: &Paper,
    ours: &Measurements,
    bench: &Bench<'_>,
    judged: &[Judged],
) -> Result<String, String> {
    let about = &paper.about;
    let mut out = format!("# {}\n\n", text(&about.title));
    out += &format!(
        "{}, *{}*, {}, {}. Scenarios, experiments, claims: `papers/{}/`. [Every line with its statements, and what the paper leaves \
         open]({}{LINES}).\n\n",
        about.authors, about.title, about.venue, about.year, paper.folder, paper.folder
    );
    if !paper.readings.is_empty() {
        out += &format!(
            "`firstflight reproduce {} --readings` scores the lines under every joint choice of what the paper leaves open.\n\n",
            about.key
        );
    }
    if let Some(reason) = &about.assumed {
        out += &format!("**Values are assumed.** {}\n\n", text(reason));
    }
    for paragraph in &about.summary {
        out += &format!("{paragraph}\n\n");
    }
    let rows: Vec<&Judged> =
        judged.iter().filter(|row| paper.claims.iter().any(|claim| claim.id == row.id)).collect();
    out += "## Verdicts\n\n| line | where | the paper says | here | verdict | single runs |\n|---|---|---|---|---|--:|\n";
    for row in &rows {
        let single = row.single.map_or(String::new(), |share| format!("{} of {}", share.show, share.of));
        out += &format!(
            "| {} | {} | {} | {} | {} | {single} |\n",
            link(library, row),
            cell(&row.place),
            cell(&row.expected),
            cell(&effect(row)),
            row.title()
        );
    }
    if !about.fitted.is_empty() {
        out += "\n## Fitted values\n\n| value | fitted to | used by, besides |\n|---|---|---|\n";
        for one in &about.fitted {
            out +=
                &format!("| {} | {} | {} |\n", cell(&one.value), one.to.join(", "), one.used_by.join(", "));
        }
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
    Ok(out)
}

/// The lines of a paper one by one, its experiments, and its values of ns-2.
pub(super) fn lines(library: &Library, paper: &Paper, ours: &Measurements, judged: &[Judged]) -> String {
    let mut out = format!("# {}: line by line\n\n", text(&paper.about.title));
    out += &format!("[Summary, tables and figures]({}.md).\n\n", paper.folder);
    for row in judged.iter().filter(|row| paper.claims.iter().any(|claim| claim.id == row.id)) {
        out += &line(library, paper, row);
    }
    if !paper.text.is_empty() {
        // The file's own title gives way to the page's.
        let notes = paper
            .text
            .strip_prefix("# ")
            .map_or(paper.text.as_str(), |rest| rest.split_once('\n').map_or("", |(_, rest)| rest));
        out += &format!("## What the paper leaves open\n\n{}\n\n", notes.trim());
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
    if !paper.ns2.is_empty() || !paper.about.without_ns2.is_empty() {
        out += "\n## Values of ns-2\n\n";
    }
    for one in &paper.about.without_ns2 {
        out += &format!(
            "Lines without a value of ns-2: {}. Reason: {}\n\n",
            one.lines.join(", "),
            text(&one.reason)
        );
    }
    if !paper.ns2.is_empty() {
        out += "| command | its values |\n|---|---|\n";
        for given in &paper.ns2 {
            let about =
                if given.about.is_empty() { String::new() } else { format!(" {}", cell(&given.about)) };
            let values = given.cells.iter().map(|one| match one.at.is_empty() {
                true => code_cell(&one.metric),
                false => format!("{} at {}", code_cell(&one.metric), cell(&one.at.join(", "))),
            });
            let values = values.collect::<Vec<_>>().join("; ");
            out += &format!("| {}{about} | {values} |\n", code_cell(&given.shell()));
        }
    }
    out
}

fn line(library: &Library, paper: &Paper, row: &Judged) -> String {
    let mut out = format!("### {}\n\n", row.id);
    out += &format!("**{}** · {} · {}\n\n", row.title(), row.place, row.kind);
    let scenario =
        library.targets.iter().find(|target| target.id == row.id).map_or("", |target| &target.scenario);
    out += &format!("The paper ({scenario}): {}\n\n", text(&row.expected));
    if let Some(says) = &row.says {
        out += &format!("> {}\n\n", text(says));
    }
    if let Some(revised) = &row.revised {
        out += &format!("Changed after results had been seen: {}\n\n", text(revised));
    }
    if !row.why.is_empty() {
        out += &format!("{}\n\n", text(&row.why));
    }
    for fitted in &row.fitted {
        let to = fitted.to.join(", ");
        out += &format!("Uses a value that was [fitted]({}.md) to {to}.\n\n", paper.folder);
    }
    if let Some(share) = row.single {
        out += &format!("{} of {} single runs show every statement at once.\n\n", share.show, share.of);
    }
    row.statements.iter().for_each(|one| out += &checked(one));
    for (title, statements) in [
        ("With the cause in place:", &row.turns),
        ("Evidence for the cause:", &row.because),
        ("The paper's own set-up:", &row.refutation),
    ] {
        if !statements.is_empty() {
            out += &format!("{title}\n\n");
            statements.iter().for_each(|one| out += &checked(one));
        }
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
    let word = one.word.as_ref().map_or(String::new(), |word| format!(" [{}]({WORDS}#{word})", text(word)));
    let mut out = format!("{}{word} {}\n\n", code(&one.that), text(&one.finding()));
    if let Some(problem) = &one.problem {
        return out + &text(problem) + "\n\n";
    }
    let paper = one.points.iter().any(|point| point.expected.is_some());
    let ns2 = one.points.iter().any(|point| point.ns2.is_some());
    let random = one.points.iter().any(|point| point.one_run.is_some());
    let mut head = vec!["at"];
    head.extend(paper.then_some("paper"));
    head.extend(ns2.then_some("ns-2 today"));
    let paired = one.paired();
    head.extend(paired.as_deref());
    head.extend(["here", "95 %"]);
    head.extend(random.then_some("one run"));
    head.push("holds");
    out += &format!("| {} |\n|---|{}\n", head.join(" | "), "--:|".repeat(head.len() - 1));
    for point in one.points.iter().take(SHOWN) {
        let mut cells = vec![cell(&point.at.join(", "))];
        cells.extend(paper.then(|| point.paper()));
        cells.extend(ns2.then(|| point.ns2()));
        cells.extend(paired.as_ref().map(|_| point.paired()));
        cells.extend([point.here(), point.interval()]);
        cells.extend(random.then(|| point.one_run()));
        cells.push(match point.outcome {
            Outcome::Fails => "**no**".into(),
            other => other.word().into(),
        });
        out += &format!("| {} |\n", cells.join(" | "));
    }
    if one.points.len() > SHOWN {
        let held = one.points.iter().filter(|point| point.outcome == Outcome::Holds).count();
        out += &format!("\nThe statement holds at {held} of {} points.\n", one.points.len());
    }
    if let Some([least, median, most]) = one.spread() {
        out += &format!("\nRatio over the points: {least:.3} to {most:.3}, median {median:.3}.\n");
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_values_of_the_seeds_of_ns_2_have_a_column_if_ns_2_ran_fewer() {
        let point = |at: &str, ns2: &str| {
            format!(
                r#"{{ "at": ["{at}"], "expected": null, "measured": [3, 2], "ci95": [0.5, 1.5], "outcome": "holds"{ns2} }}"#
            )
        };
        let page = |points: [String; 2]| {
            let points = points.join(", ");
            let text = format!(
                r#"{{ "id": "X.1", "that": "a > b", "judged": true, "outcome": "holds", "points": [{points}] }}"#
            );
            checked(&serde_json::from_str(&text).expect("a statement"))
        };
        let all = r#", "ns2": [4, 1]"#;
        let fewer = r#", "ns2": [4, 1], "paired": { "seeds": 2, "measured": [5, 0] }"#;
        let table = page([point("one", fewer), point("two", "")]);
        let rows = "\n\
            | at | ns-2 today | here, seeds 1 to 2 | here | 95 % | holds |\n\
            |---|--:|--:|--:|--:|--:|\n\
            | one | 4 : 1 | 5 : 0 | 3 : 2 | 0.5 to 1.5 | yes |\n\
            | two |  |  | 3 : 2 | 0.5 to 1.5 | yes |\n";
        assert!(table.contains(rows), "{table}");
        let table = page([point("one", all), point("two", "")]);
        let rows =
            "\n| at | ns-2 today | here | 95 % | holds |\n|---|--:|--:|--:|--:|\n| one | 4 : 1 | 3 : 2 |";
        assert!(table.contains(rows), "{table}");
    }
}
