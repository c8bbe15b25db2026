//! Congestion controls of the kernel, with the settings of an operator, as candidates of a comparison.

use firstflight_compare::{Breadth, Explanation, Input, Limits, Request};
use firstflight_scenario::Candidate;
use firstflight_scenario::candidate::split;

use crate::truth::TruePath;

/// Chains that correspond to the kernel's modules. Its CUBIC leaves slow start by HyStart; its Reno does not.
const MODULES: [(&str, &str); 3] =
    [("reno", "slow-start+reno"), ("cubic", "hystart-linux+cubic"), ("bbr", "bbr")];

/// Congestion controls of a table, and those without a forecast.
#[derive(Default)]
pub(crate) struct Controls {
    built: Vec<(String, Candidate)>,
    /// Reasons for missing forecasts, one sentence each.
    pub(crate) notes: Vec<String>,
}

impl Controls {
    /// Finds the candidate of every control measured on `paths`.
    pub(crate) fn of<'a>(paths: impl Iterator<Item = &'a TruePath>) -> Self {
        let transfers = paths.flat_map(|path| &path.transfers);
        let mut names: Vec<&str> = transfers.map(|transfer| transfer.control.as_str()).collect();
        names.sort_by_key(|name| (MODULES.iter().position(|(module, _)| *module == split(name).0), *name));
        names.dedup();
        let mut controls = Self::default();
        for name in names {
            match candidate(name) {
                Ok(candidate) => controls.built.push((name.into(), candidate)),
                Err(why) => controls.notes.push(format!("no forecast for {name}: {why}")),
            }
        }
        controls
    }

    /// Candidates measured on a path.
    pub(crate) fn candidates(&self, path: &TruePath) -> Vec<Candidate> {
        let measured = |name: &str| path.transfers.iter().any(|transfer| transfer.control == name);
        self.built.iter().filter(|(name, _)| measured(name)).map(|(_, it)| it.clone()).collect()
    }

    /// Control and label of its candidate, in the order of the tables.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&str, String)> {
        self.built.iter().map(|(name, candidate)| (name.as_str(), candidate.label()))
    }
}

/// Candidate of a kernel module with settings, `cubic@iw30+paced`.
fn candidate(name: &str) -> Result<Candidate, String> {
    let (module, settings) = split(name);
    let Some((_, chain)) = MODULES.iter().find(|(known, _)| *known == module) else {
        let known: Vec<_> = MODULES.iter().map(|(module, _)| *module).collect();
        return Err(format!("no such control; expected one of {}", known.join(", ")));
    };
    let label = settings.map_or_else(|| (*chain).to_owned(), |settings| format!("{chain}@{settings}"));
    Candidate::parse(&label).map_err(|error| error.to_string())
}

/// Request for a forecast.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    /// Paths from which it is drawn.
    pub(crate) breadth: Breadth,
    /// Limits of the advice; `None` for times alone, without the harm to others.
    pub(crate) advice: Option<Limits>,
    /// Most connections that are explained together.
    pub(crate) together: usize,
}

impl Ask {
    /// Times of transfers, from all paths that explain the capture.
    pub(crate) const TIMES: Self =
        Self { breadth: Breadth::All, advice: None, together: Explanation::TOGETHER };
}

/// Request of `firstflight compare INPUT --scheme … --size …` with all other options at their defaults, but for what is asked.
pub(crate) fn request(input: Input, schemes: Vec<Candidate>, sizes: Vec<u64>, ask: Ask) -> Request {
    Request {
        breadth: ask.breadth,
        together: ask.together,
        harm: ask.advice.is_some(),
        limits: ask.advice.unwrap_or_default(),
        schemes,
        sizes,
        ..Request::of(input)
    }
}
