//! The first page: the number of lines that match, and those that do not, with the reason.

use firstflight_reproduce::evidence::Evidence;
use firstflight_reproduce::judge::{Judged, Verdict};
use firstflight_reproduce::library::Library;

use super::markdown::{cell, code, text};

/// Kind of the lines that hold in scenarios and registry by construction; they are not counted as reproduced.
const ASSERTED: &str = "config";

pub(super) fn page(library: &Library, evidence: &Evidence, judged: &[Judged]) -> String {
    let mut out = String::from("# Five papers, run again\n\n");
    let counted: Vec<&Judged> = judged.iter().filter(|row| row.kind != ASSERTED).collect();
    let asserted: Vec<&Judged> = judged.iter().filter(|row| row.kind == ASSERTED).collect();
    let count = |rows: &[&Judged], verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    out += &format!(
        "Five papers on the start of TCP connections contain {} numbers, orders and claims that an experiment can check. \
         Here, {} match, {} differ and {} cannot be checked. {} further lines are constants and arithmetic: {} of them hold in \
         the scenarios and the registry; these are asserted and not counted.\n\n",
        counted.len(),
        count(&counted, Verdict::Matches),
        count(&counted, Verdict::Differs),
        count(&counted, Verdict::NotCheckable),
        asserted.len(),
        count(&asserted, Verdict::Matches),
    );
    out += "| paper | counted | match | differ | cannot be checked | asserted |\n|---|--:|--:|--:|--:|--:|\n";
    for paper in &library.papers {
        let of = |rows: &[&Judged]| -> Vec<Judged> {
            let own = |row: &&&Judged| paper.claims.iter().any(|claim| claim.id == row.id);
            rows.iter().filter(own).map(|row| (*row).clone()).collect()
        };
        let (counted, asserted) = (of(&counted), of(&asserted));
        let rows: Vec<&Judged> = counted.iter().collect();
        out += &format!(
            "| [{}: {}]({}.md) | {} | {} | {} | {} | {} |\n",
            paper.about.key,
            cell(&paper.about.title),
            paper.folder,
            rows.len(),
            count(&rows, Verdict::Matches),
            count(&rows, Verdict::Differs),
            count(&rows, Verdict::NotCheckable),
            asserted.len(),
        );
    }
    out += "\n## How lines are judged\n\n\
        Every line of the target list (`papers/targets.psv`) has statements about the metrics of experiments. Statements are data \
        (`papers/<paper>/claims.toml`), beside the scenarios. A number matches within its tolerance: 5 % for tables, 10 % for counts of \
        packets. An order matches if at every point the 95 % interval of the difference, paired by \
        seed, excludes zero. If the interval includes zero, the order is undecided and the line does not match. An experiment without \
        random draws has one run, and the order must hold in this run. If a paper has two readings, both are run. A line that differs \
        has a cause, and the cause is a statement, too, that is checked.\n\n";
    out += "## Run it yourself\n\n```text\nfirstflight reproduce all            # everything, at the papers' full lengths\n\
        firstflight reproduce AS-01          # one line: scenario, runs, spread, picture\n\
        firstflight reproduce YN --replications 20\n```\n\n";
    let hops: f64 = evidence
        .papers
        .values()
        .flat_map(|paper| paper.experiments.values())
        .map(|one| one.packet_hops as f64)
        .sum();
    out += &format!(
        "These pages are made from `results.json`, written by {} (version {}). They rest on {:.1} billion packet hops; \
         a run that several experiments share is counted once for each. The same command gives the same bytes.\n\n",
        code(&evidence.provenance.command),
        text(&evidence.provenance.version),
        hops / 1e9
    );
    out += "## Lines that differ\n\n| line | where | why |\n|---|---|---|\n";
    for row in counted.iter().filter(|row| row.verdict == Verdict::Differs) {
        out += &format!("| {} | {} | {} |\n", link(library, row), cell(&row.place), cell(&row.why));
    }
    out += "\n## Lines that cannot be checked\n\n| line | where | why |\n|---|---|---|\n";
    for row in counted.iter().filter(|row| row.verdict == Verdict::NotCheckable) {
        out += &format!("| {} | {} | {} |\n", link(library, row), cell(&row.place), cell(&row.why));
    }
    out += "\n## All lines\n\n| line | where | kind | the paper says | verdict |\n|---|---|---|---|---|\n";
    for row in judged {
        out += &format!(
            "| {} | {} | {} | {} | {} |\n",
            link(library, row),
            cell(&row.place),
            row.kind,
            cell(&row.expected),
            row.verdict.word()
        );
    }
    out
}

/// The id of a line, as a link to its section on the page of its paper.
fn link(library: &Library, row: &Judged) -> String {
    match library.claim(&row.id) {
        Some((paper, _)) => format!("[{}]({}.md#{})", row.id, paper.folder, row.id.to_lowercase()),
        None => row.id.clone(),
    }
}
