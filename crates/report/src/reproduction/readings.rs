//! The page of the readings of a paper: joint choices of what it leaves open, times its lines.

use firstflight_reproduce::judge::Verdict;
use firstflight_reproduce::library::Library;
use firstflight_reproduce::readings::{Scored, Scores};

use super::LINES;
use super::markdown::{cell, code, text};

/// Name of the files of a table of readings, without ending.
pub fn readings_stem(folder: &str, part: &str) -> String {
    match part {
        "" => format!("{folder}-readings"),
        part => format!("{folder}-{part}-readings"),
    }
}

/// File of the scores of a table of readings.
pub fn readings_file(folder: &str, part: &str) -> String {
    format!("{}.json", readings_stem(folder, part))
}

/// Content of [`readings_file`], one reading a line for readable diffs.
pub fn readings_json(scores: &Scores) -> String {
    let text = serde_json::to_string(scores).expect("texts and numbers");
    text.replace("{\"taken\":", "\n{\"taken\":") + "\n"
}

/// The page of a table of readings, [`readings_stem`] with `.md`.
pub fn readings_page(library: &Library, scores: &Scores) -> String {
    let paper = library.papers.iter().find(|paper| paper.folder == scores.paper);
    let title = paper.map_or(scores.paper.as_str(), |paper| &paper.about.title);
    let mut out = format!("# {}: readings\n\n", text(title));
    if let Some(readings) = paper.and_then(|paper| paper.readings.get(&scores.part)) {
        out += &format!("{}\n\n", text(&readings.about));
        let seeds =
            readings.replications.map(|n| format!("{n} seeds of each experiment that has more than one"));
        let without = Some(&readings.without).filter(|without| !without.is_empty()).map(|without| {
            format!("without {}: statements that need them are not scored", without.join(", "))
        });
        let runs: Vec<String> = seeds.into_iter().chain(without).collect();
        if !runs.is_empty() {
            out += &format!("**Runs**: {}.\n\n", text(&runs.join("; ")));
        }
    }
    out += &format!(
        "A reading is one joint choice of what the paper leaves open. It is applied to all of these lines at once, and nothing is chosen line \
         by line. A cell has the statements that hold, of those that are judged; bold is a line that matches. Fitted values count against \
         a reading: its score is the number of statements that hold less the number of fitted values. Made by {} (version {}), \
         {:.2} billion packet hops.\n\n",
        code(&scores.provenance.command),
        text(&scores.provenance.version),
        scores.packet_hops as f64 / 1e9
    );
    let printed = scores.readings.iter().find(|one| one.printed);
    out += "| | reading | statements that hold | lines that match | fitted values |\n|---|---|--:|--:|--:|\n";
    for (name, reading) in [("as printed", printed), ("best single reading", scores.best())] {
        if let Some(one) = reading {
            let (held, of) = one.held();
            out += &format!(
                "| {name} | {} | {held} of {of} | {} of {} | {} |\n",
                cell(&one.taken.join("; ")),
                one.matching(),
                one.lines.len(),
                one.fitted
            );
        }
    }
    out += "\n## All readings\n\n";
    let lines: Vec<String> = scores.readings.first().map_or(vec![], |one| {
        one.lines
            .iter()
            .map(|line| format!("[{}]({}{LINES}#{})", line.id, scores.paper, line.id.to_lowercase()))
            .collect()
    });
    let choices: Vec<String> = scores.choices.iter().map(|choice| cell(choice)).collect();
    out += &format!("| {} | score | {} |\n", choices.join(" | "), lines.join(" | "));
    out += &format!("|{}{}\n", "---|".repeat(choices.len()), "--:|".repeat(lines.len() + 1));
    for one in &scores.readings {
        out += &row(one);
    }
    out
}

fn row(one: &Scored) -> String {
    let taken: Vec<String> = one.taken.iter().map(|taken| cell(taken)).collect();
    let lines = one.lines.iter().map(|line| {
        let held = format!("{}/{}", line.held, line.of);
        if line.verdict == Verdict::Matches { format!("**{held}**") } else { held }
    });
    let score = one.held().0 as i64 - one.fitted as i64;
    format!("| {} | {score} | {} |\n", taken.join(" | "), lines.collect::<Vec<_>>().join(" | "))
}
