//! Tables of models beside recordings.

use firstflight_conform::{ModelVerdict, Outcome, Verdict};
use firstflight_report::percent_magnitude;

use super::{difference, groups};
use crate::table::{Align, table};

/// A part of a whole, such as `97 % (121 of 125)`.
fn part(part: u64, whole: u64) -> String {
    match whole {
        0 => String::new(),
        whole => format!("{} ({part} of {whole})", percent_magnitude(part as f64 / whole as f64)),
    }
}

/// A row for each scheme.
pub(super) fn grouped(verdicts: &[&Verdict]) -> String {
    let rows = groups(verdicts.iter().copied()).into_iter().map(|(scheme, of)| {
        let count = |holds: fn(&Verdict) -> bool| of.iter().filter(|verdict| holds(verdict)).count();
        let sum = |count: fn(&ModelVerdict) -> u64| {
            of.iter().filter_map(|verdict| verdict.model.as_ref()).map(count).sum::<u64>()
        };
        let acks = sum(|model| model.acks);
        let states = count(|verdict| verdict.model.as_ref().is_some_and(ModelVerdict::same_states));
        let first = of.iter().find(|verdict| verdict.outcome == Outcome::Differs);
        [
            scheme.to_owned(),
            of[0].ours.clone().unwrap_or_default(),
            format!("{} of {}", count(|verdict| verdict.outcome != Outcome::Differs), of.len()),
            format!("{} of {}", count(|verdict| verdict.outcome == Outcome::Equal), of.len()),
            format!("{states} of {}", of.len()),
            part(sum(|model| model.windows_within), acks),
            part(sum(|model| model.samples_computed), acks),
            first.map_or(String::new(), |verdict| format!("{}: {}", verdict.path, difference(verdict))),
        ]
    });
    let columns = [
        ("Recordings of", Align::Left),
        ("Scheme here", Align::Left),
        ("As the model", Align::Right),
        ("Equal", Align::Right),
        ("Same states", Align::Right),
        ("Windows within 2 %", Align::Left),
        ("Samples from rows", Align::Left),
        ("First difference", Align::Left),
    ];
    table(columns, &rows.collect::<Vec<_>>())
}

/// A row for each recording.
pub(super) fn each(verdicts: &[&Verdict]) -> String {
    let rows: Vec<[String; 8]> = verdicts
        .iter()
        .filter_map(|verdict| {
            let model = verdict.model.as_ref()?;
            let outcome = match verdict.outcome {
                Outcome::Equal => "equal",
                Outcome::Differs => "differs",
                _ => "as the model",
            };
            let states = if model.same_states() { "same" } else { "other" };
            Some([
                verdict.scheme.clone(),
                verdict.path.clone(),
                outcome.to_owned(),
                states.to_owned(),
                part(model.windows_within, model.acks),
                part(model.samples_computed, model.acks),
                difference(verdict),
                model.taken.join("; "),
            ])
        })
        .collect();
    let columns = [
        ("Recording", Align::Left),
        ("Path", Align::Left),
        ("Outcome", Align::Left),
        ("States", Align::Left),
        ("Windows within 2 %", Align::Left),
        ("Samples from rows", Align::Left),
        ("First difference", Align::Left),
        ("Taken from the file", Align::Left),
    ];
    table(columns, &rows)
}
