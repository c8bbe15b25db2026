//! A connection's scheme as data: a chain of labels, each with its parameters.

use firstflight_control::registry::AnyPhase;
use firstflight_control::scheme::{Role, Value};

/// Start-up schemes in order, then an avoidance scheme; or one that is both.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeSpec {
    /// The phases. Never empty, and in an order that [`firstflight_control::host::chain::Chain`] takes.
    pub phases: Vec<PhaseSpec>,
}

/// One phase of a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseSpec {
    /// A registered label.
    pub label: &'static str,
    /// Parameters that differ from the defaults, by name; the scheme takes every one.
    pub params: Vec<(&'static str, Value)>,
}

impl PhaseSpec {
    /// The scheme `label` with its defaults, if it is registered.
    pub fn new(label: &str) -> Option<Self> {
        AnyPhase::by_label(label).map(|phase| Self { label: phase.info().label, params: vec![] })
    }

    /// The phase, with its parameters set.
    pub fn build(&self) -> AnyPhase {
        let mut phase = AnyPhase::by_label(self.label).expect("labels are checked when the spec is made");
        for &(name, value) in &self.params {
            phase.set(name, value).expect("parameters are checked when the spec is made");
        }
        phase
    }

    /// Where the phase belongs.
    pub fn role(&self) -> Role {
        self.build().info().role
    }
}

impl SchemeSpec {
    /// The phases, ready for a chain.
    pub fn build(&self) -> Vec<AnyPhase> {
        self.phases.iter().map(PhaseSpec::build).collect()
    }

    /// The chain's label: `slow-start+reno`.
    pub fn label(&self) -> String {
        join(&self.phases)
    }

    /// The labels of what begins the connection: `slow-start`, `careful-resume+hystart++`, `bbr`.
    pub fn startup(&self) -> String {
        match &self.phases[..] {
            [startup @ .., _] if !startup.is_empty() => join(startup),
            whole => join(whole),
        }
    }

    /// The label of what goes on for ever: `reno`, `bbr`.
    pub fn avoidance(&self) -> &'static str {
        self.phases[self.phases.len() - 1].label
    }
}

fn join(phases: &[PhaseSpec]) -> String {
    phases.iter().map(|p| p.label).collect::<Vec<_>>().join("+")
}
