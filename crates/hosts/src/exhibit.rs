//! Exhibit of a scheme: the checked-in scenario for its picture and for the test that it behaves differently
//! from all others.
//!
//! A folder has one scenario per role, `startup.toml`, `avoidance.toml` and `whole.toml`, whose first flow
//! takes any scheme of that role; `path-memory.toml`, whose first flow takes any start-up scheme that follows
//! a plan; and a scenario of its own, with its label as name, for each scheme that needs other settings,
//! whose first flow names the scheme.

use firstflight_contract::{Beginning, Declared, Role, Signals};
use firstflight_document::Error;
use firstflight_scenario::{Loaded, PhaseSpec, SchemeSpec, parse};
use firstflight_schemes::registry::{AnyPhase, SCHEMES};
use firstflight_schemes::scheme::Info;

use crate::host::Host;

/// Scenario for schemes that follow a plan.
const PATH_MEMORY: &str = "path-memory.toml";

/// A scheme and its exhibit scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Exhibit {
    /// Name of the scenario file without folders: `startup.toml`.
    pub file: String,
    /// Scenario; its first flow runs the scheme.
    pub loaded: Loaded,
}

/// Registered schemes whose needs the host meets, in listing order.
pub fn shown(host: &dyn Host) -> impl Iterator<Item = &'static Info> {
    SCHEMES.iter().filter(move |info| host.offers().has(info.needs))
}

/// File stem of a scheme: its label, followed by its role if an earlier scheme has the same label.
pub fn stem(info: &Info) -> String {
    let first = SCHEMES.iter().find(|other| other.label == info.label);
    if first.is_none_or(|first| first.role == info.role) {
        info.label.into()
    } else {
        format!("{}-{}", info.label, info.role.label())
    }
}

/// Exhibit of a scheme. `text` gives the text of a scenario of the folder, by its name: `startup.toml`.
///
/// # Errors
/// If the scenario is missing, is invalid, has no flow, or is the scheme's own but its first flow runs another scheme.
pub fn exhibit(text: impl Fn(&str) -> Option<String>, info: &Info) -> Result<Exhibit, Error> {
    let own = format!("{}.toml", stem(info));
    if let Some(text) = text(&own) {
        let loaded = parse(&text, &own)?;
        let is_it = |phase: &PhaseSpec| phase.label() == info.label && phase.role() == info.role;
        let runs = |scheme: &SchemeSpec| scheme.phases().iter().any(is_it);
        if !loaded.scenario.flows.first().is_some_and(|flow| runs(&flow.scheme)) {
            let why = format!("the first flow of {own} must run {}, but runs another scheme", info.label);
            return Err(loaded.places.refuse("flow[0]", why));
        }
        return Ok(Exhibit { file: own, loaded });
    }
    let file = match info.needs.has(Signals::PLAN) {
        true => PATH_MEMORY.into(),
        false => format!("{}.toml", info.role.label()),
    };
    let text = text(&file).ok_or_else(|| Error::invalid("there is no such scenario").in_file(&file, None))?;
    let loaded = with_scheme(parse(&text, &file)?, plain_chain(info))?;
    Ok(Exhibit { file, loaded })
}

/// A scheme with default parameters in its usual chain: a start-up before Reno, an avoidance after slow start
/// unless it has a start of its own.
pub fn plain_chain(info: &Info) -> SchemeSpec {
    let labels = match info.role {
        Role::Startup => vec![info.label, "reno"],
        Role::Avoidance if begins_itself(info) => vec![info.label],
        Role::Avoidance => vec!["slow-start", info.label],
        Role::Standalone => vec![info.label],
    };
    SchemeSpec::parse(&labels.join("+")).expect("a start-up, then avoidance; or both in one")
}

fn begins_itself(info: &Info) -> bool {
    AnyPhase::by_label(info.label).is_some_and(|phase| phase.declaration().beginning != Beginning::Startup)
}

/// Replaces the scheme of a scenario's first flow.
///
/// # Errors
/// If the scenario has no flow.
pub fn with_scheme(mut loaded: Loaded, scheme: SchemeSpec) -> Result<Loaded, Error> {
    match loaded.scenario.flows.first_mut() {
        Some(flow) => flow.scheme = scheme,
        None => return Err(loaded.places.refuse("flow", "no flow to run the scheme")),
    }
    Ok(loaded)
}
