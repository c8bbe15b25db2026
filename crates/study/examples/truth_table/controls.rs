//! Congestion controls of the kernel as chains of the simulator's schemes.

use firstflight_scenario::{Profile, SchemeSpec};
use firstflight_study::compare::{Breadth, Input, Limits, Request};

use crate::truth::TruePath;

/// Chains that correspond to the kernel's modules. Its CUBIC leaves slow start by HyStart; its Reno does not.
const MODULES: [(&str, &str); 3] =
    [("reno", "slow-start+reno"), ("cubic", "hystart-linux+cubic"), ("bbr", "bbr")];

/// Congestion controls of a table, and those without a forecast.
#[derive(Default)]
pub(crate) struct Controls {
    built: Vec<(String, SchemeSpec)>,
    /// Reasons for missing forecasts, one sentence each.
    pub(crate) notes: Vec<String>,
}

impl Controls {
    /// Finds the chain of every control measured on `paths`.
    pub(crate) fn of<'a>(paths: impl Iterator<Item = &'a TruePath>) -> Self {
        let transfers = paths.flat_map(|path| &path.transfers);
        let mut names: Vec<&str> = transfers.map(|transfer| transfer.control.as_str()).collect();
        names.sort_by_key(|name| (MODULES.iter().position(|(module, _)| module == name), *name));
        names.dedup();
        let mut controls = Self::default();
        for name in names {
            match scheme(name) {
                Ok(scheme) => controls.built.push((name.into(), scheme)),
                Err(why) => controls.notes.push(format!("no forecast for {name}: {why}")),
            }
        }
        controls
    }

    /// Chains to compare.
    pub(crate) fn schemes(&self) -> Vec<SchemeSpec> {
        self.built.iter().map(|(_, scheme)| scheme.clone()).collect()
    }

    /// Control and label of its chain, in the order of the tables.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&str, String)> {
        self.built.iter().map(|(name, scheme)| (name.as_str(), scheme.label()))
    }
}

/// Chain of a kernel module.
fn scheme(name: &str) -> Result<SchemeSpec, String> {
    let Some((_, label)) = MODULES.iter().find(|(module, _)| *module == name) else {
        let known: Vec<_> = MODULES.iter().map(|(module, _)| *module).collect();
        return Err(format!("no such control; expected one of {}", known.join(", ")));
    };
    SchemeSpec::parse(label).map_err(|error| error.to_string())
}

/// Request of `firstflight compare INPUT --scheme … --size …` with all other options at their defaults, but for the paths from
/// which the forecasts are drawn.
pub(crate) fn request(input: Input, schemes: Vec<SchemeSpec>, sizes: Vec<u64>, breadth: Breadth) -> Request {
    Request {
        candidates: firstflight_study::compare::DEFAULT_CANDIDATES,
        breadth,
        search_seed: None,
        harm: false,
        limits: Limits::default(),
        deployable: false,
        input,
        schemes: schemes.into_iter().map(Into::into).collect(),
        sizes,
        profile: Profile::Linux,
        runs: 30,
        seed: 1,
        memory: firstflight_study::memory::DEFAULT,
        command: String::new(),
        revision: String::new(),
    }
}
