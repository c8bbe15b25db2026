//! `firstflight conform`: schemes beside the answers of their authors' code.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use firstflight_conform::{Outcome, Verdict, is_of, known_schemes, vectors};
use firstflight_document::nearest;
use firstflight_report::{percent_magnitude, wrap};
use serde_json::json;

use crate::arguments::one_of;
use crate::failure::{Failure, wrong_at};
use crate::output::{complain, print, print_json};
use crate::table::{Align, table, terminal_columns};

/// Hold schemes to their authors' code: the same events, and the windows that both answer
///
/// A vector is a recorded flow of another project's controller: each event with its answer. conform tells the same events to the scheme of this program that
/// has the same rule, and compares every window. Exit code 1 means that a start-up differs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight conform --vectors vectors
  firstflight conform hystart++ --vectors vectors --json
  firstflight conform neqo-hystart --vectors vectors/neqo")]
pub(crate) struct Options {
    /// Schemes: labels of this program, or the beginnings of the projects' words, such as neqo-hystart; all without any
    #[arg(value_name = "SCHEME")]
    schemes: Vec<String>,
    /// Folder of vectors, or one vector
    #[arg(long, value_name = "DIR", required = true, value_hint = ValueHint::AnyPath)]
    vectors: PathBuf,
    /// Print a row for each vector, not for each scheme
    #[arg(long)]
    details: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let schemes = chosen(&options.schemes)?;
    let mut flaws = vec![];
    let mut verdicts = vec![];
    for vector in vectors(&options.vectors).map_err(Failure::new)? {
        match vector {
            Ok(vector) => {
                if schemes.is_empty() || schemes.iter().any(|name| is_of(&vector.scheme, name)) {
                    verdicts.push(Verdict::of(&vector));
                }
            }
            Err(flaw) => flaws.push(flaw.to_string()),
        }
    }
    if verdicts.is_empty() && flaws.is_empty() {
        let expected = "a folder of files such as neqo-search.S1.csv or neqo-search.S1.csv.gz";
        return Err(wrong_at(shown(&options.vectors), "no vector of these schemes").expecting(expected).into());
    }
    match options.json {
        _ if verdicts.is_empty() => {}
        true => print_json(&json!({ "vectors": verdicts }))?,
        false => print(&text(&verdicts, options.details))?,
    }
    let last = flaws.pop();
    for flaw in flaws {
        complain(format_args!("error: {flaw}"));
    }
    match verdicts.iter().any(|verdict| verdict.outcome == Outcome::Differs) {
        _ if last.is_some() => Err(Failure::new(last.unwrap_or_default())),
        true => Err(Failure::Unmet),
        false => Ok(()),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The schemes that were asked for.
fn chosen(schemes: &[String]) -> Result<Vec<String>, Failure> {
    let names = known_schemes();
    for scheme in schemes {
        if !names.iter().any(|name| name == scheme || name.starts_with(&format!("{scheme}-"))) {
            let near = nearest(scheme, names.iter().map(String::as_str));
            let expected = one_of(&names.iter().map(String::as_str).collect::<Vec<_>>());
            return Err(wrong_at(scheme, "no vector is compared under this name").expecting(expected).near(near).into());
        }
    }
    Ok(schemes.to_vec())
}

/// Verdicts for a reader: a row for each scheme, or with `details` for each vector.
fn text(verdicts: &[Verdict], details: bool) -> String {
    let compared: Vec<&Verdict> =
        verdicts.iter().filter(|verdict| verdict.outcome != Outcome::NotComparable).collect();
    let mut text = String::new();
    if details {
        text += &each(&compared);
    } else if !compared.is_empty() {
        text += &grouped(&compared);
    }
    let others = groups(verdicts.iter().filter(|verdict| verdict.outcome == Outcome::NotComparable));
    if !others.is_empty() {
        let names: Vec<String> = others.iter().map(|(scheme, of)| format!("{scheme} ({})", of.len())).collect();
        let line = format!("Not comparable, as no scheme here has their rule: {}", names.join(", "));
        text += "\n";
        for line in wrap(&line, terminal_columns()) {
            text += &format!("{line}\n");
        }
    }
    let count = |outcome| verdicts.iter().filter(|verdict| verdict.outcome == outcome).count();
    let parts: Vec<String> = [
        (Outcome::Equal, "equal to the byte"),
        (Outcome::WithinASegment, "equal in the start-up, then within a segment"),
        (Outcome::EqualStart, "equal in the start-up, then further apart"),
        (Outcome::Differs, "with another start-up"),
        (Outcome::NotComparable, "not comparable"),
    ]
    .iter()
    .filter_map(|(outcome, words)| Some(count(*outcome)).filter(|count| *count > 0).map(|n| format!("{n} {words}")))
    .collect();
    let vectors = if verdicts.len() == 1 { "vector" } else { "vectors" };
    text += "\n";
    for line in wrap(&format!("{} {vectors}: {}", verdicts.len(), parts.join("; ")), terminal_columns()) {
        text += &format!("{line}\n");
    }
    text
}

/// Verdicts of one scheme each, in the order of their first vectors.
fn groups<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Vec<(&'a str, Vec<&'a Verdict>)> {
    let mut groups: Vec<(&str, Vec<&Verdict>)> = vec![];
    for verdict in verdicts {
        match groups.iter_mut().find(|(scheme, _)| *scheme == verdict.scheme) {
            Some((_, of)) => of.push(verdict),
            None => groups.push((&verdict.scheme, vec![verdict])),
        }
    }
    groups
}

/// A row for each scheme.
fn grouped(verdicts: &[&Verdict]) -> String {
    let rows = groups(verdicts.iter().copied()).into_iter().map(|(scheme, of)| {
        let same = of.iter().filter(|verdict| verdict.outcome != Outcome::Differs).count();
        let sum = |count: fn(&Verdict) -> u64| of.iter().map(|verdict| count(verdict)).sum::<u64>();
        let worst = of.iter().map(|verdict| verdict.later_worst).fold(0.0, f64::max);
        let later = match sum(|verdict| verdict.later_events) {
            0 => String::new(),
            events => {
                let within = sum(|verdict| verdict.later_within) as f64 / events as f64;
                format!("{} of {events}, at most {worst:.1} apart", percent_magnitude(within))
            }
        };
        let first = of.iter().find(|verdict| verdict.outcome == Outcome::Differs);
        [
            scheme.to_owned(),
            of[0].ours.clone().unwrap_or_default(),
            format!("{same} of {}", of.len()),
            sum(|verdict| verdict.start_events).to_string(),
            later,
            first.map_or(String::new(), |verdict| format!("{}: {}", verdict.path, difference(verdict))),
        ]
    });
    let columns = [
        ("Vectors of", Align::Left),
        ("Scheme here", Align::Left),
        ("Start-up equal", Align::Right),
        ("Events", Align::Right),
        ("Later within a segment", Align::Left),
        ("First difference", Align::Left),
    ];
    table(columns, &rows.collect::<Vec<_>>())
}

/// A row for each vector.
fn each(verdicts: &[&Verdict]) -> String {
    let rows: Vec<[String; 6]> = verdicts.iter().map(|verdict| row(verdict)).collect();
    let columns = [
        ("Vector", Align::Left),
        ("Path", Align::Left),
        ("Start-up", Align::Left),
        ("Events", Align::Right),
        ("Later within a segment", Align::Left),
        ("First difference", Align::Left),
    ];
    table(columns, &rows)
}

fn row(verdict: &Verdict) -> [String; 6] {
    let later = match verdict.later_events {
        0 => String::new(),
        events => format!("{} of {events}, at most {:.1} apart", verdict.later_within, verdict.later_worst),
    };
    [
        verdict.scheme.clone(),
        verdict.path.clone(),
        if verdict.outcome == Outcome::Differs { "differs" } else { "equal" }.to_owned(),
        verdict.start_events.to_string(),
        later,
        difference(verdict),
    ]
}

fn difference(verdict: &Verdict) -> String {
    verdict.first_difference.as_ref().map_or(String::new(), |first| {
        format!("event {} at {:.3} s: {} B there, {} B here", first.event, first.at_s, first.theirs, first.ours)
    })
}
