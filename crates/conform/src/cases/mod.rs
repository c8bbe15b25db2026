//! Cases of drafts and RFCs in numbers: each a path, a controller on it, and the sentence that its windows must keep.

mod hystart_pp;

use serde::Serialize;

use crate::controller::{Broken, Controller};

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
    run: fn(&mut dyn Controller) -> Found,
}

/// Labels of schemes that have cases.
pub fn schemes_with_cases() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|(label, _)| *label)
}

const CASES: &[(&str, &[Case])] = &[("hystart++", hystart_pp::CASES)];

/// Runs the cases of a scheme. `controller` makes a new one for each case.
pub fn cases(
    label: &str,
    controller: &mut dyn FnMut() -> Result<Box<dyn Controller>, Broken>,
) -> Vec<CaseVerdict> {
    let found = CASES.iter().filter(|(known, _)| *known == label).flat_map(|(_, cases)| cases.iter());
    let verdicts = found.map(|case| {
        let (kept, found) = controller()
            .and_then(|mut controller| (case.run)(&mut *controller))
            .unwrap_or_else(|broken| (Kept::Broken, broken.to_string()));
        CaseVerdict { case: case.name, source: case.source, sentence: case.sentence, kept, found }
    });
    verdicts.collect()
}
