//! `firstflight conform`: schemes beside the answers of their authors' code.

mod models;

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use firstflight_conform::{
    CaseVerdict, Kept, Outcome, Stack, Vector, Verdict, cases, is_of, known_schemes, own_cases,
    schemes_with_cases, vectors,
};
use firstflight_document::nearest;
use firstflight_report::{percent_magnitude, wrap};
use serde_json::json;

use crate::arguments::one_of;
use crate::failure::{Failure, wrong_at};
use crate::keys::option;
use crate::output::{complain, print, print_json};
use crate::table::{Align, table, terminal_columns};

/// Payload bytes of a datagram of a program's flow, and bytes of its first flight: those of the recorded vectors.
const DATAGRAM: u64 = 1200;
const FIRST_FLIGHT: u64 = 12_000;

/// Hold schemes to their authors' code and to the cases of their drafts
///
/// A case tests one sentence of a draft or RFC on one path. A vector is a recorded flow of another project's controller: each event and its window.
/// The scheme of this program with the same rule gets the same events, and every window is compared. With --stack, a program of yours gets the events.
/// Exit code 1: a case is violated, or a start-up differs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight conform hystart++
  firstflight conform --vectors vectors
  firstflight conform neqo-hystart --vectors vectors/neqo --details
  firstflight conform hystart++ --stack './my-controller' --json")]
pub(crate) struct Options {
    /// Schemes: labels of this program, or the beginnings of the projects' words, such as neqo-hystart; all without any
    #[arg(value_name = "SCHEME")]
    schemes: Vec<String>,
    /// Folder of vectors, or one vector
    #[arg(long, value_name = "DIR", value_hint = ValueHint::AnyPath)]
    vectors: Option<PathBuf>,
    /// Shell command of a controller that speaks the controller protocol (docs/conform.md), in place of the schemes here; one SCHEME names its rule
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    stack: Option<String>,
    /// Print a row for each vector, not for each scheme
    #[arg(long)]
    details: bool,
    /// Print JSON instead of the tables
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let schemes = chosen(options)?;
    let held = held_cases(options, &schemes);
    let mut flaws = vec![];
    let mut verdicts = vec![];
    let read = options.vectors.as_deref().map_or(Ok(vec![]), vectors).map_err(Failure::new)?;
    for vector in read {
        match vector {
            Ok(vector) if schemes.is_empty() || schemes.iter().any(|name| is_of(&vector.scheme, name)) => {
                verdicts.push(verdict(options, &vector));
            }
            Ok(_) => {}
            Err(flaw) => flaws.push(flaw.to_string()),
        }
    }
    if let (Some(folder), true, true) = (&options.vectors, verdicts.is_empty(), flaws.is_empty()) {
        let expected = "a folder of files such as neqo-search.S1.csv or neqo-search.S1.csv.gz";
        return Err(wrong_at(shown(folder), "no vector of these schemes").expecting(expected).into());
    }
    match options.json {
        true => print_json(&json!({ "cases": held, "vectors": verdicts }))?,
        false => print(&text(&held, &verdicts, options.details))?,
    }
    flaws.extend(verdicts.iter().filter(|verdict| verdict.broken).filter_map(|verdict| verdict.why.clone()));
    flaws.extend(
        held.iter()
            .filter(|case| case.kept == Kept::Broken)
            .map(|case| format!("{}: {}", case.case, case.found)),
    );
    let last = flaws.pop();
    for flaw in flaws {
        complain(format_args!("error: {flaw}"));
    }
    let violated = held.iter().any(|case| case.kept == Kept::Violated);
    match verdicts.iter().any(|verdict| verdict.outcome == Outcome::Differs) || violated {
        _ if last.is_some() => Err(Failure::new(last.unwrap_or_default())),
        true => Err(Failure::Unmet),
        false => Ok(()),
    }
}

/// The cases of the schemes, held by this program's schemes or by the program of the user.
fn held_cases(options: &Options, schemes: &[String]) -> Vec<CaseVerdict> {
    let wanted =
        schemes_with_cases().filter(|label| schemes.is_empty() || schemes.iter().any(|name| name == label));
    let held = wanted.flat_map(|label| match &options.stack {
        Some(command) => {
            cases(label, &mut || Ok(Box::new(Stack::start(command, DATAGRAM, FIRST_FLIGHT)?) as _))
        }
        None => own_cases(label),
    });
    held.collect()
}

/// A vector beside this program's scheme or the program of the user.
fn verdict(options: &Options, vector: &Vector) -> Verdict {
    match &options.stack {
        Some(command) => Verdict::of_stack(vector, Stack::start(command, DATAGRAM, FIRST_FLIGHT)),
        None => Verdict::of(vector),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The schemes that were asked for.
fn chosen(options: &Options) -> Result<Vec<String>, Failure> {
    let mut names = known_schemes();
    names.extend(schemes_with_cases().map(str::to_owned));
    names.sort();
    names.dedup();
    let expected = one_of(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for scheme in &options.schemes {
        let begins = |name: &String| name == scheme || name.starts_with(&format!("{scheme}-"));
        if !names.iter().any(begins) {
            let near = nearest(scheme, names.iter().map(String::as_str));
            let why = "nothing is held under this name";
            return Err(wrong_at(scheme, why).expecting(expected).near(near).into());
        }
        if options.vectors.is_none() && !schemes_with_cases().any(|label| label == scheme) {
            let why = "no draft has cases for this scheme";
            let with_cases: Vec<&str> = schemes_with_cases().collect();
            return Err(wrong_at(scheme, why)
                .expecting(format!("--vectors DIR, or {}", one_of(&with_cases)))
                .into());
        }
    }
    if options.stack.is_some() && options.schemes.len() != 1 {
        let why = format!("{} schemes are named; a controller has the rule of one", options.schemes.len());
        return Err(wrong_at(option("stack", None), why).expecting(expected).into());
    }
    Ok(options.schemes.clone())
}

/// Cases for a reader.
fn case_text(held: &[CaseVerdict]) -> String {
    let rows: Vec<[String; 4]> = held
        .iter()
        .map(|case| {
            let kept = match case.kept {
                Kept::Kept => "kept",
                Kept::Allowed => "allowed",
                Kept::Violated => "VIOLATED",
                Kept::NotObservable => "not observable",
                Kept::Broken => "no answer",
            };
            [case.case.to_owned(), kept.to_owned(), case.sentence.to_owned(), case.found.clone()]
        })
        .collect();
    let columns =
        [("Case", Align::Left), ("Outcome", Align::Left), ("Sentence", Align::Left), ("Found", Align::Left)];
    let mut text = table(columns, &rows);
    let count = |kept| held.iter().filter(|case| case.kept == kept).count();
    let parts = [
        (Kept::Kept, "kept"),
        (Kept::Allowed, "not kept, as the text allows"),
        (Kept::Violated, "violated"),
        (Kept::NotObservable, "not observable"),
        (Kept::Broken, "without an answer"),
    ];
    let parts = parts.iter().filter_map(|(kept, words)| {
        Some(count(*kept)).filter(|count| *count > 0).map(|count| format!("{count} {words}"))
    });
    text += &format!("\n{} cases: {}\n", held.len(), parts.collect::<Vec<_>>().join("; "));
    text
}

/// Verdicts for a reader: a row for each scheme, or with `details` for each vector.
fn text(held: &[CaseVerdict], verdicts: &[Verdict], details: bool) -> String {
    let mut text = String::new();
    if !held.is_empty() {
        text += &case_text(held);
    }
    if verdicts.is_empty() {
        return text;
    }
    if !held.is_empty() {
        text += "\n";
    }
    let (models, chains): (Vec<&Verdict>, Vec<&Verdict>) = verdicts
        .iter()
        .filter(|verdict| verdict.outcome != Outcome::NotComparable)
        .partition(|verdict| verdict.model.is_some());
    if !chains.is_empty() {
        text += &if details { each(&chains) } else { grouped(&chains) };
    }
    if !models.is_empty() {
        text += if chains.is_empty() { "" } else { "\n" };
        text += &if details { models::each(&models) } else { models::grouped(&models) };
    }
    for (scheme, of) in groups(verdicts.iter().filter(|verdict| verdict.outcome == Outcome::NotComparable)) {
        let why = of[0].why.clone().unwrap_or_default();
        let line = format!("Not comparable: {scheme} ({}): {why}", of.len());
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
        (Outcome::AsTheModel, "with the states of the model and windows within 2 % at 95 % of the ACKs"),
        (Outcome::Differs, "with another start-up, or other states or windows"),
        (Outcome::NotComparable, "not comparable"),
    ]
    .iter()
    .filter_map(|(outcome, words)| {
        Some(count(*outcome)).filter(|count| *count > 0).map(|n| format!("{n} {words}"))
    })
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
        format!(
            "event {} at {:.3} s: {} B{} there, {} B{} here",
            first.event,
            first.at_s,
            first.theirs,
            state(Some(&first.state).filter(|_| first.state_ours.is_some())),
            first.ours,
            state(first.state_ours.as_ref())
        )
    })
}

/// A state behind a window, where a model has one.
fn state(state: Option<&String>) -> String {
    state.map_or(String::new(), |state| format!(" ({state})"))
}
