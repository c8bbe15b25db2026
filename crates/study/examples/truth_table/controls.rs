//! The kernel's congestion controls as chains of the simulator's labels.

use firstflight_scenario::{Profile, SchemeSpec};
use firstflight_study::compare::{Input, Request, compare};
use firstflight_study::progress::Silent;
use firstflight_study::simulator::Simulator;

use crate::truth::TruePath;

/// What the kernel's modules are here. Its CUBIC leaves slow start by HyStart; its Reno does not.
const MODULES: [(&str, &str); 3] =
    [("reno", "slow-start+reno"), ("cubic", "hystart-linux+cubic"), ("bbr", "bbr")];

/// The controls of a table, and those that cannot be foretold.
#[derive(Default)]
pub(crate) struct Controls {
    built: Vec<(String, SchemeSpec)>,
    /// Why a control is not foretold; a sentence each.
    pub(crate) notes: Vec<String>,
}

impl Controls {
    /// Looks up every control measured on `paths`.
    pub(crate) fn of<'a>(paths: impl Iterator<Item = &'a TruePath>) -> Self {
        let mut names: Vec<(&str, &TruePath)> = paths
            .flat_map(|path| path.transfers.iter().map(move |transfer| (transfer.control.as_str(), path)))
            .collect();
        names.sort_by_key(|(name, _)| (MODULES.iter().position(|(module, _)| module == name), *name));
        names.dedup_by_key(|(name, _)| *name);
        let mut controls = Self::default();
        for (name, path) in names {
            match scheme(name, path) {
                Ok(scheme) => controls.built.push((name.into(), scheme)),
                Err(why) => controls.notes.push(format!("{name} is not foretold: {why}")),
            }
        }
        controls
    }

    /// The chains to compare.
    pub(crate) fn schemes(&self) -> Vec<SchemeSpec> {
        self.built.iter().map(|(_, scheme)| scheme.clone()).collect()
    }

    /// Control and label of the chain, in the order of the columns.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&str, String)> {
        self.built.iter().map(|(name, scheme)| (name.as_str(), scheme.label()))
    }
}

/// The chain of a kernel's module, tried on a path on which it was measured.
fn scheme(name: &str, path: &TruePath) -> Result<SchemeSpec, String> {
    let Some((_, label)) = MODULES.iter().find(|(module, _)| *module == name) else {
        let known: Vec<_> = MODULES.iter().map(|(module, _)| *module).collect();
        return Err(format!("no such control; expected one of {}", known.join(", ")));
    };
    let scheme = SchemeSpec::parse(label).map_err(|error| error.to_string())?;
    let request = request(path.input(), vec![scheme.clone()], vec![1000]);
    compare(&Simulator, &request, &Silent).map_err(|error| error.to_string())?;
    Ok(scheme)
}

/// What `firstflight compare INPUT --scheme … --size …` asks for, its other options at their defaults.
pub(crate) fn request(input: Input, schemes: Vec<SchemeSpec>, sizes: Vec<u64>) -> Request {
    Request {
        input,
        schemes,
        sizes,
        profile: Profile::Linux,
        runs: 30,
        seed: 1,
        command: String::new(),
        revision: String::new(),
    }
}
