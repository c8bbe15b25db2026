//! Cases of drafts and RFCs in numbers: each a path, a controller on it, and the sentence that its windows must keep.

mod bbr3;
mod careful_resume;
mod held;
mod hystart_pp;
mod search;

use serde::Serialize;

use crate::controller::{Broken, Controller};
use crate::verdict::own;

/// Outcome of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// The windows keep the sentence.
    Kept,
    /// They keep it not; the text allows that, with a reason that `found` states.
    Allowed,
    /// They violate it.
    Violated,
    /// A controller from outside does not show it; `found` states why.
    NotObservable,
    /// The controller broke off.
    Broken,
}

/// A case with its outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseVerdict {
    /// Name, such as `HSPP-05`.
    pub case: &'static str,
    /// Text and section.
    pub source: &'static str,
    /// The sentence that must hold, in this program's words.
    pub sentence: &'static str,
    /// Outcome.
    pub kept: Kept,
    /// Observation, in numbers.
    pub found: String,
}

/// Outcome of a case for a controller, and the observation in numbers.
type Found = Result<(Kept, String), Broken>;

/// A case.
pub(crate) struct Case {
    name: &'static str,
    source: &'static str,
    sentence: &'static str,
    run: Run,
}

/// Subject of a case.
enum Run {
    /// Any controller.
    Any(fn(&mut dyn Controller) -> Found),
    /// The scheme here, whose state shows what a controller from outside does not.
    Here { held: fn() -> held::Held, unseen: &'static str },
}

/// Labels of schemes that have cases.
pub fn schemes_with_cases() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|(label, _)| *label)
}

const CASES: &[(&str, &[Case])] = &[
    (bbr3::LABEL, bbr3::CASES),
    ("careful-resume", careful_resume::CASES),
    ("hystart++", hystart_pp::CASES),
    ("search", search::CASES),
];

/// The cases of a scheme.
fn of(label: &str) -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(move |(known, _)| *known == label).flat_map(|(_, cases)| cases.iter())
}

fn verdict(case: &Case, (kept, found): (Kept, String)) -> CaseVerdict {
    CaseVerdict { case: case.name, source: case.source, sentence: case.sentence, kept, found }
}

/// Runs the cases of a scheme for other controllers. `controller` makes a new one for each case.
pub fn cases(
    label: &str,
    controller: &mut dyn FnMut() -> Result<Box<dyn Controller>, Broken>,
) -> Vec<CaseVerdict> {
    let verdicts = of(label).map(|case| {
        let found = match case.run {
            Run::Any(run) => controller()
                .and_then(|mut controller| run(&mut *controller))
                .unwrap_or_else(|broken| (Kept::Broken, broken.to_string())),
            Run::Here { unseen, .. } => (Kept::NotObservable, unseen.to_owned()),
        };
        verdict(case, found)
    });
    verdicts.collect()
}

/// Runs the cases of a scheme for the scheme here.
pub fn own_cases(label: &str) -> Vec<CaseVerdict> {
    let verdicts = of(label).map(|case| {
        let found = match case.run {
            Run::Any(run) => own(label)
                .and_then(|mut controller| run(&mut *controller))
                .unwrap_or_else(|broken| (Kept::Broken, broken.to_string())),
            Run::Here { held, .. } => match held() {
                Ok(found) => (Kept::Kept, found),
                Err(found) => (Kept::Violated, found),
            },
        };
        verdict(case, found)
    });
    let verdicts = verdicts.collect();
    if label == bbr3::LABEL {
        bbr3::clear();
    }
    verdicts
}
