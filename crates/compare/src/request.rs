//! Requests of comparisons.

use std::collections::BTreeSet;

use firstflight_document::Error;
use firstflight_explain::{Breadth, Explanation};
use firstflight_hosts::memory;
use firstflight_identify::{Identified, Probable};
use firstflight_scenario::{Candidate, Profile, SchemeSpec};
use firstflight_schemes::catalogue::Schemes;

use crate::defaults::{DEFAULT_CANDIDATES, DEFAULT_REPLICATIONS, DEFAULT_SIZES};
use crate::input::Input;
use crate::statistic::Statistic;
use crate::weights::Weights;

/// A comparison to run.
#[derive(Clone, Debug)]
pub struct Request {
    /// Path, or its source.
    pub input: Input,
    /// Schemes with their settings, in the order of the request.
    pub schemes: Vec<Candidate>,
    /// Transfer sizes, bytes.
    pub sizes: Vec<u64>,
    /// Stack that runs the schemes.
    pub profile: Profile,
    /// Replications per scheme and size if anything is random or unknown; at least one.
    pub runs: u32,
    /// Seed of all random streams.
    pub seed: u64,
    /// Candidate paths of each kind with which the search for the paths that explain a capture begins; at least one.
    pub candidates: u32,
    /// Most connections of a path that are explained by simulation: [`Explanation::TOGETHER`], except in experiments.
    pub together: usize,
    /// Paths from which forecasts are drawn: all that explain the capture, except in experiments.
    pub breadth: Breadth,
    /// Seed of the search for the paths that explain a capture. `None` is `seed`, except in experiments.
    pub search_seed: Option<u64>,
    /// Whether a candidate that the stack does not have is refused.
    pub deployable: bool,
    /// Whether the harm to bystanders is measured. Without it no limit of harm holds.
    pub harm: bool,
    /// Limits of what a recommended candidate may cost.
    pub limits: Limits,
    /// Statistic of the times by which candidates are chosen.
    pub by: Statistic,
    /// Whether the answer weighs the sizes by the transfers of a capture. Otherwise all count alike.
    pub weighs_by_capture: bool,
    /// Limit of the memory of all runs and their results, bytes. It changes no result.
    pub memory: u64,
    /// Command line, for provenance.
    pub command: String,
    /// Source revision of the program, for provenance.
    pub revision: String,
}

impl Request {
    /// The usual sizes, replications and limits on this input, without a scheme.
    pub fn of(input: impl Into<Input>) -> Self {
        Self {
            input: input.into(),
            schemes: vec![],
            sizes: DEFAULT_SIZES.to_vec(),
            profile: Profile::Linux,
            runs: DEFAULT_REPLICATIONS,
            seed: 1,
            candidates: DEFAULT_CANDIDATES,
            together: Explanation::TOGETHER,
            breadth: Breadth::All,
            search_seed: None,
            deployable: false,
            harm: true,
            limits: Limits::default(),
            by: Statistic::default(),
            weighs_by_capture: true,
            memory: memory::DEFAULT,
            command: String::new(),
            revision: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// The schemes with their settings, as labels of built-in schemes.
    ///
    /// # Errors
    /// If a label is no scheme, or there is no such setting.
    pub fn schemes(mut self, chains: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, Error> {
        let (known, profile) = (Schemes::built_in(), self.stack());
        let parse = |chain: &str| Candidate::parse_on(chain, &known, profile);
        self.schemes = chains.into_iter().map(|chain| parse(chain.as_ref())).collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// Stack of the transfers: [`Input::profile`].
    pub(crate) fn stack(&self) -> Profile {
        self.input.profile(self.profile)
    }

    /// The scheme that the sender has now: [`Input::present`].
    pub(crate) fn present(&self) -> SchemeSpec {
        self.input.present(self.profile)
    }

    /// The stack whose start the captured sender has, as a phrase.
    pub(crate) fn starts_as(&self) -> Option<String> {
        self.input.identified().and_then(Identified::starts_as)
    }

    /// Warnings where the forecasts are not of the stack whose start the captured sender has.
    pub(crate) fn stands_in(&self) -> Vec<String> {
        let Input::Capture { .. } = self.input else { return vec![] };
        let (stack, identified, starts_as) = (self.stack(), self.input.identified(), self.starts_as());
        let mut warnings = vec![];
        if stack != self.profile && starts_as.is_none() {
            warnings.push(format!(
                "the capture is of QUIC, and its sender starts as no stack that has a profile: profile {} stands for it; --profile names another",
                stack.word()
            ));
        }
        let alike = identified.map(Identified::alike).unwrap_or_default();
        let present = self.present().label();
        let same = |one: &&Probable| {
            one.profile == stack && (stack.stack().is_quic() || one.candidate.scheme.label() == present)
        };
        if let Some(starts_as) = starts_as.filter(|_| !alike.iter().any(same)) {
            warnings.push(format!(
                "the captured sender starts as {starts_as}, and times of now are those of profile {} with {present}",
                stack.word()
            ));
        }
        warnings
    }

    /// The sizes in ascending order, each once.
    pub(crate) fn ascending(&self) -> Vec<u64> {
        let sizes: BTreeSet<u64> = self.sizes.iter().copied().collect();
        sizes.into_iter().collect()
    }

    /// Weights of the sizes in the answer.
    pub(crate) fn weights(&self) -> Weights {
        match &self.input {
            Input::Capture { capture, .. } if self.weighs_by_capture => {
                Weights::of_capture(capture, &self.ascending())
            }
            _ => Weights::default(),
        }
    }

    /// Place of the candidate of this label among `schemes`.
    pub(crate) fn place(&self, label: &str) -> Option<usize> {
        self.schemes.iter().position(|candidate| candidate.label() == label)
    }
}

/// The tenth by which a candidate may cost more than the scheme that the stack has now.
pub(crate) const MORE: f64 = 0.1;

/// Limits of what a recommended candidate may cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Largest harm to either bystander: 1.1 is a tenth later than beside the present scheme. `None` is 1.1.
    pub harm: Option<f64>,
    /// Largest share of the transfer's packets that may be dropped, 0 to 1. `None` is what the present scheme causes, a tenth
    /// more, and a tenth of a packet.
    pub loss: Option<f64>,
    /// No limits: the fastest is recommended.
    pub fastest: bool,
}

impl Limits {
    /// Largest harm to either bystander; `None` without a limit.
    pub(crate) fn most_harm(&self) -> Option<f64> {
        (!self.fastest).then(|| self.harm.unwrap_or(1.0 + MORE))
    }
}
