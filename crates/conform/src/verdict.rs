//! Verdicts: a chain beside the answers of a vector.

use firstflight_scenario::scheme::BUILT_IN;
use firstflight_scenario::{Profile, SchemeSpec};

use crate::calls::calls;
use crate::controller::{Broken, Controller};
use crate::model::{self, MODELS};
use crate::outcome::{Difference, Outcome, Verdict};
use crate::replay::Replay;
use crate::rules::{KNOWN, Known, RULES};
use crate::stack::Stack;
use crate::unlike::UNLIKE;
use crate::vector::{Driver, Vector};

/// Datagrams by which windows may differ after the start-up: congestion avoidance counts in another unit in every stack.
const AFTERWARDS: u64 = 1;

/// The entry for a vector's scheme.
fn known(scheme: &str) -> Option<&'static Known> {
    KNOWN.iter().filter(|known| scheme.starts_with(known.theirs)).max_by_key(|known| known.theirs.len())
}

/// The model for a vector's scheme.
fn model_of(scheme: &str) -> Option<&'static model::Known> {
    MODELS.iter().find(|known| begins(scheme, known.theirs))
}

/// Whether a scheme's word is `name`, or begins with it and a hyphen.
fn begins(scheme: &str, name: &str) -> bool {
    scheme.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Names under which vectors are chosen: the projects' words, and the labels of this program's start-up schemes.
pub fn known_schemes() -> Vec<String> {
    let theirs = KNOWN.iter().map(|known| known.theirs.to_owned());
    let models = MODELS.iter().flat_map(|known| [known.theirs.to_owned(), known.ours.to_owned()]);
    let unlike = UNLIKE.iter().map(|(theirs, _)| (*theirs).to_owned());
    let ours = KNOWN.iter().flat_map(Known::labels);
    let mut names: Vec<String> = theirs.chain(ours).chain(models).chain(unlike).collect();
    names.sort();
    names.dedup();
    names
}

/// Whether a vector of `scheme` is chosen by `name`: the beginning of the project's word, or a label of this program's chain.
pub fn is_of(scheme: &str, name: &str) -> bool {
    begins(scheme, name)
        || known(scheme).is_some_and(|known| known.labels().any(|label| label == name))
        || model_of(scheme).is_some_and(|known| known.ours == name)
}

/// A controller of this program for the cases of a scheme: the first chain that begins with it, by the rules of QUIC.
///
/// # Errors
/// [`Broken`] if there is none.
pub(crate) fn own(label: &str) -> Result<Box<dyn Controller>, Broken> {
    let spec = SchemeSpec::parse_on(&format!("{label}+reno"), BUILT_IN, Profile::Rfc);
    let phases = spec.map_err(|error| Broken(error.to_string()))?.build();
    Ok(Box::new(Replay::new(phases, &RULES).map_err(|error| Broken(error.to_string()))?))
}

impl Verdict {
    /// Compares a vector with its chain.
    pub fn of(vector: &Vector) -> Self {
        let mut verdict = Self::nothing(vector);
        if let Some(known) = model_of(&vector.scheme) {
            known.hold(vector, &mut verdict);
            return verdict;
        }
        let Some(known) = known(&vector.scheme) else {
            let unlike = UNLIKE.iter().find(|(theirs, _)| begins(&vector.scheme, theirs));
            let why = unlike.map(|(_, why)| (*why).to_owned());
            verdict.why = Some(why.unwrap_or_else(|| format!("no scheme here is {}", vector.scheme)));
            return verdict;
        };
        verdict.ours = Some(known.name());
        let replay = known
            .phases()
            .and_then(|phases| Replay::new(phases, &known.rules).map_err(|error| error.to_string()));
        match replay {
            Ok(mut replay) => verdict.compare(vector, known, &mut replay),
            Err(why) => verdict.why = Some(why),
        }
        verdict
    }

    fn nothing(vector: &Vector) -> Self {
        Self {
            file: vector.file.clone(),
            project: vector.project.clone(),
            scheme: vector.scheme.clone(),
            path: vector.path.clone(),
            ours: None,
            outcome: Outcome::NotComparable,
            why: None,
            start_events: 0,
            start_equal: 0,
            exit_theirs: None,
            exit_ours: None,
            later_events: 0,
            later_within: 0,
            later_worst: 0.0,
            first_difference: None,
            model: None,
            broken: false,
        }
    }

    /// Compares a vector with a controller from outside, which has its rule.
    pub fn of_stack(vector: &Vector, stack: Result<Stack, Broken>) -> Self {
        let mut verdict = Self::nothing(vector);
        match (known(&vector.scheme), stack) {
            (Some(known), Ok(mut stack)) => {
                verdict.ours = stack.name.clone();
                verdict.compare(vector, known, &mut stack);
            }
            (None, _) if model_of(&vector.scheme).is_some() => {
                let why = "the protocol tells no bandwidth sample; a model is held without --stack";
                verdict.why = Some(why.to_owned());
            }
            (None, _) => verdict.why = Some(format!("no vector of {} is compared", vector.scheme)),
            (_, Err(broken)) => {
                verdict.why = Some(broken.to_string());
                verdict.broken = true;
            }
        }
        verdict
    }

    fn compare(&mut self, vector: &Vector, known: &Known, controller: &mut dyn Controller) {
        let mut same = true;
        let mut states = false;
        for ((number, event), call) in (1..).zip(&vector.events).zip(calls(vector)) {
            if event.merged > 1 {
                self.why = Some(format!("the vector is whole up to event {}", number - 1));
                break;
            }
            let answer = match controller.answer(&call) {
                Ok(answer) => answer,
                Err(broken) => {
                    self.why = Some(format!("event {number}: {broken}"));
                    self.broken = true;
                    return;
                }
            };
            let (theirs, ours) = (event.answer.cwnd, answer.cwnd);
            let starting = known.start.contains(&event.answer.state.as_str());
            if !starting && self.exit_theirs.is_none() {
                self.exit_theirs = Some(number);
            }
            states |= answer.over.is_some();
            if answer.over == Some(true) && self.exit_ours.is_none() {
                self.exit_ours = Some(number);
            }
            // A chain learns of later losses of an episode from the next acknowledgement.
            let late = vector.driver != Driver::Rust && call.acked.is_empty() && !call.lost.is_empty();
            if late && self.exit_theirs.is_some() == self.exit_ours.is_some() {
                continue;
            }
            if !known.later && self.exit_theirs.is_some() {
                self.why = Some("the avoidance of this project has no scheme here".into());
                break;
            }
            let apart = theirs.abs_diff(ours);
            if self.exit_theirs.is_none() {
                self.start_events += 1;
                self.start_equal += u64::from(apart <= known.start_bytes);
            } else {
                self.later_events += 1;
                self.later_within += u64::from(apart <= AFTERWARDS * event.mss);
                self.later_worst = self.later_worst.max(apart as f64 / event.mss as f64);
            }
            same &= apart == 0;
            let allowed = if self.exit_theirs.is_none() { known.start_bytes } else { AFTERWARDS * event.mss };
            if apart > allowed && self.first_difference.is_none() {
                self.first_difference = Some(Difference {
                    event: number,
                    line: event.line,
                    at_s: event.at.0 as f64 / 1e9,
                    theirs,
                    ours,
                    state: event.answer.state.clone(),
                    state_ours: None,
                });
            }
        }
        if self.start_events + self.later_events == 0 {
            self.why = Some("the vector has no whole event".into());
            return;
        }
        // A controller that does not say when its start-up is over is judged by its windows alone.
        let ends = !states || self.exit_theirs == self.exit_ours;
        let started = self.start_equal == self.start_events && ends;
        self.outcome = match (same, started, self.later_within == self.later_events) {
            (true, true, _) => Outcome::Equal,
            (_, true, true) => Outcome::WithinASegment,
            (_, true, false) => Outcome::EqualStart,
            _ => Outcome::Differs,
        };
    }
}
