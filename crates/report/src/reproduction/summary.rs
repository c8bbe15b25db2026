//! The first page: the picture of all lines, their number by verdict, and one sentence for each line.

use firstflight_reproduce::evidence::Evidence;
use firstflight_reproduce::judge::{Judged, MOST_SEEDS, Verdict};
use firstflight_reproduce::library::{Library, Paper};

use super::markdown::{cell, code, text};
use super::{LINES, OVERVIEW, VERDICTS, WORDS};

/// Kind of the lines that hold in scenarios and registry by construction; they are not counted as reproduced.
const ASSERTED: &str = "config";

/// The lines that are counted, in the order of the list.
pub(super) fn counted(judged: &[Judged]) -> Vec<&Judged> {
    judged.iter().filter(|row| row.kind != ASSERTED).collect()
}

fn count(rows: &[&Judged], verdict: Verdict) -> usize {
    rows.iter().filter(|row| row.verdict == verdict).count()
}

/// The experiments that versions measured which are not that of the whole.
fn later(evidence: &Evidence) -> String {
    let of = |(version, names): (&str, Vec<String>)| {
        let names: Vec<String> = names.iter().map(|name| code(name)).collect();
        format!(" Of version {}: {}.", text(version), names.join(", "))
    };
    evidence.later().into_iter().map(of).collect()
}

/// The experiments that have more seeds than their files ask for.
fn further(library: &Library, evidence: &Evidence) -> String {
    let more: Vec<String> = library
        .papers
        .iter()
        .flat_map(|paper| paper.experiments.iter().map(move |(name, own)| (paper, name, own)))
        .filter_map(|(paper, name, own)| {
            let seeds = evidence.papers.get(&paper.folder)?.experiments.get(name)?.replications;
            let name = code(&format!("{}/{name}", paper.folder));
            (seeds > own.replications).then(|| format!("{name} ({seeds} for {})", own.replications))
        })
        .collect();
    if more.is_empty() {
        return String::new();
    }
    format!(
        "These experiments have more seeds than their files ask for, because a statement was undecided with those: {}. \
         `firstflight reproduce LINE --further N` makes the seeds for one line. \
         Where ns-2 replayed fewer seeds, our values over the same seeds stand beside its values. Crosses in pictures are means over the seeds that ns-2 ran.\n\n",
        more.join(", ")
    )
}

pub(super) fn page(library: &Library, evidence: &Evidence, judged: &[Judged]) -> String {
    let mut out = format!("# Papers, run again\n\n![Every line beside the paper]({OVERVIEW})\n\n");
    let counted = counted(judged);
    let (assumed, known): (Vec<&Judged>, Vec<&Judged>) = counted.iter().partition(|row| row.assumed);
    let asserted: Vec<&Judged> = judged.iter().filter(|row| row.kind == ASSERTED).collect();
    let fitted = known.iter().filter(|row| row.verdict == Verdict::Matches && !row.fitted.is_empty()).count();
    let chosen = known.iter().filter(|row| row.verdict == Verdict::Matches && row.readings > 1).count();
    let words: Vec<String> =
        Verdict::ALL.iter().map(|one| format!("{} {}", count(&known, *one), one.title())).collect();
    out += &format!(
        "{} papers on the start of connections, one of them by its authors' logs, contain {} numbers, orders and claims about results, with values that the papers \
         state. Their verdicts: {}. Of those that match, {fitted} use a value that was fitted to a number of the paper, and {chosen} \
         have two or more readings in the paper, of which the better is judged. {} further lines are of a paper whose numbers are lost: \
         they are judged with assumed values, and are not counted above. {} more are constants and arithmetic, of which {} hold in the \
         scenarios and the registry.\n\n",
        library.papers.len(),
        known.len(),
        words.join(", "),
        assumed.len(),
        asserted.len(),
        count(&asserted, Verdict::Matches),
    );
    let revised = counted.iter().filter(|row| row.revised.is_some());
    let links: Vec<String> = revised
        .filter_map(|row| {
            let (paper, _) = library.claim(&row.id)?;
            Some(format!("[{}]({}{LINES}#{})", row.id, paper.folder, row.id.to_lowercase()))
        })
        .collect();
    if !links.is_empty() {
        out += &format!(
            "The statements of {} lines were changed after results had been seen. Each line states the reason: {}.\n\n",
            links.len(),
            links.join(", ")
        );
    }
    out += "| paper | lines | matches | partly | undecided | differs | refuted | not checkable |\n\
            |---|--:|--:|--:|--:|--:|--:|--:|\n";
    for paper in &library.papers {
        let rows = own(paper, &counted);
        let counts: Vec<String> = Verdict::ALL.iter().map(|one| count(&rows, *one).to_string()).collect();
        let assumed = if paper.about.assumed.is_some() { " (assumed)" } else { "" };
        out += &format!(
            "| [{}: {}]({}.md){assumed} | {} | {} |\n",
            paper.about.key,
            cell(&paper.about.title),
            paper.folder,
            rows.len(),
            counts.join(" | "),
        );
    }
    out += &format!(
        "\n## How lines are judged\n\n\
        A line has statements about the metrics of experiments. Statements are data (`papers/<paper>/claims.toml`), and name words \
        whose tolerances are [one table for all papers]({WORDS}). A statement **holds** if the 95 % interval of the mean, paired by \
        seed, lies on its side of the border, and stays away from the border by a tenth of the distance; it **fails** if the interval \
        lies as far on the other side; else it is **undecided**. Undecided statements get further seeds, twice as many each time and \
        at most {MOST_SEEDS}, within a bound of the work (`--further`). Each further look is a further chance of an error: without any \
        difference 4 % of the statements are decided with 3 seeds, and 14 % if they get up to {MOST_SEEDS}; with 10 seeds, 3 and 9 % \
        ([table](../papers.md#further-seeds)). Papers of 2000 to 2011 show single runs: beside the interval \
        stand the share of single runs that show the statement, and the interval in which one further run lies.\n\n\
        - **matches**: every statement holds.\n- **partly**: some hold, some fail.\n- **undecided**: none fails, some are undecided.\n\
        - **differs**: none holds, at least one fails.\n- **refuted by its own set-up**: it fails, and the paper's own numbers rule it out.\n\
        - **not checkable**: no experiment can decide it.\n\n\
        In the tables, *a : b* are the two sides of the statement that decides the line. Their ratio follows, above 1 if they are in the \
        paper's order, and its 95 % interval.\n\n\
        Values are those that the paper states. A value that the paper leaves open is one for all lines of the paper; a value that was \
        fitted to a number is listed with the lines that use it. The cause of a difference is **shown** if the line's own statements \
        hold with the cause in place (**with fitted values** if it has a value that was chosen so that they hold), **consistent** if \
        runs agree with it, and else a **conjecture**.\n\n"
    );
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
        "These pages are made from `results.json`, written by {} (version {}).{} They rest on {:.1} billion packet hops; \
         a run that several experiments share is counted once for each. Programs whose hashes of the sources (of runs, and of metrics) \
         are the same give the same bytes. `{VERDICTS}` has every \
         verdict, statement and point under stable names. To cite: `CITATION.cff` of the repository, and the name of the line.\n\n",
        code(&evidence.provenance.command),
        text(&evidence.provenance.version),
        later(evidence),
        hops / 1e9
    );
    out += &further(library, evidence);
    for paper in &library.papers {
        let rows = own(paper, &counted);
        if rows.is_empty() {
            continue;
        }
        out += &format!("## {}: {}\n\n", paper.about.key, text(&paper.about.title));
        out += "| line | verdict | in one sentence |\n|---|---|---|\n";
        for row in rows {
            out += &format!("| {} | {} | {} |\n", link(library, row), row.title(), cell(&sentence(row)));
        }
        out += "\n";
    }
    out += "## Constants and arithmetic\n\n";
    for row in asserted {
        out += &format!("- {} ({}): {}\n", link(library, row), row.title(), text(&row.expected));
    }
    out
}

fn own<'a>(paper: &Paper, rows: &[&'a Judged]) -> Vec<&'a Judged> {
    rows.iter().copied().filter(|row| paper.claims.iter().any(|claim| claim.id == row.id)).collect()
}

/// One sentence: what the paper says, what comes out, and why.
pub(super) fn sentence(row: &Judged) -> String {
    let says = format!("The paper: {}", first(&row.expected));
    if row.verdict == Verdict::NotCheckable {
        return format!("{says}; not checkable: {}.", first(&row.why));
    }
    let why = match (&row.cause, &row.argument) {
        (_, Some(argument)) => format!("; refuted: {}", first(argument)),
        (Some(cause), None) => format!("; cause ({}): {}", cause.shown.word(), first(&cause.text)),
        (None, None) => String::new(),
    };
    format!("{says}; here: {}{why}.", effect(row))
}

/// The measured values and the size of the effect at the point that decides.
pub(super) fn effect(row: &Judged) -> String {
    let decided = row.deciding().and_then(|one| Some((one, one.deciding()?)));
    let Some((statement, point)) = decided else { return row.measured.clone() };
    let at = if point.at.is_empty() { String::new() } else { format!(" at {}", point.at.join(", ")) };
    let ratio = point.ratio.map_or(String::new(), |ratio| {
        let interval = ratio.ci95.map_or(String::new(), |[low, high]| format!(", {low:.2} to {high:.2}"));
        let of = match (point.expected, statement.that.contains('~')) {
            (Some(_), _) => " of the paper's number",
            (None, true) => " of one another",
            (None, false) if ratio.here > 1.0 => ", in the paper's order",
            (None, false) => ", against the paper's order",
        };
        // The word bounds an order.
        let word = statement.word.as_ref().filter(|_| point.expected.is_none());
        let word = word.map_or(String::new(), |word| format!("; the word is {word}"));
        format!(" ({:.2}{interval}{of}{word})", ratio.here)
    });
    format!("{}{ratio}{at}", point.here())
}

/// The first sentence of a text, without its full stop.
fn first(text: &str) -> &str {
    let end = text.match_indices(". ").map(|(end, _)| end).find(|end| {
        // "no. 5", "1.5" and "e.g. x" do not end a sentence: the next word begins with a capital.
        text[end + 2..].chars().next().is_some_and(char::is_uppercase)
    });
    end.map_or(text.trim_end_matches('.'), |end| &text[..end])
}

/// The id of a line, as a link to its details.
pub(super) fn link(library: &Library, row: &Judged) -> String {
    match library.claim(&row.id) {
        Some((paper, _)) => format!("[{}]({}{LINES}#{})", row.id, paper.folder, row.id.to_lowercase()),
        None => row.id.clone(),
    }
}
