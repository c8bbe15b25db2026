//! A connection's scheme as data: a chain of labels, each with its parameters.

use core::fmt;

use firstflight_contract::Role;
use firstflight_host::chain::{Chain, ChainError};
use firstflight_schemes::not_implemented::PLANNED;
use firstflight_schemes::registry::{AnyPhase, SCHEMES};
use firstflight_schemes::scheme::{Info, ParamKind, Value};

use crate::error::{clipped, nearest};
use crate::limits;
use crate::profile::Stack;

/// Start-up schemes in order, then an avoidance scheme; or one that is both.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeSpec {
    phases: Vec<PhaseSpec>,
}

/// One phase of a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseSpec {
    /// A registered label.
    pub(crate) label: &'static str,
    /// Which scheme of that label.
    role: Role,
    /// Parameters as given, in alphabetical order; the scheme takes every one.
    pub(crate) params: Vec<(&'static str, Value)>,
}

/// Why a text or a list of phases is not a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemeError {
    /// No scheme has this label.
    Unknown {
        /// As written.
        label: String,
        /// The label that may have been meant.
        nearest: Option<&'static str>,
    },
    /// The label is reserved for a scheme that does not exist yet.
    NotBuilt(&'static str),
    /// There are more than [`limits::PHASES`].
    TooMany(usize),
    /// The phases do not make a chain.
    Order(ChainError),
}

impl fmt::Display for SchemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { label, nearest } => {
                write!(f, "there is no scheme \"{}\"; expected {}", clipped(label), listed())?;
                nearest.map_or(Ok(()), |nearest| write!(f, "; did you mean \"{nearest}\"?"))
            }
            Self::NotBuilt(label) => write!(f, "not built yet: {label}; available: {}", listed()),
            Self::TooMany(n) => write!(f, "{n} phases, and at most {} are taken", limits::PHASES),
            Self::Order(ChainError::Empty) => write!(f, "no scheme is named"),
            Self::Order(ChainError::Endless(label)) => {
                write!(f, "{label} never ends, so that nothing can follow it")
            }
            Self::Order(ChainError::Alone { first, last }) => {
                write!(f, "{last} begins the connection by itself, so that {first} cannot go before it")
            }
            Self::Order(ChainError::Unfinished(label)) => {
                write!(f, "{label} ends, and no avoidance scheme follows it")
            }
        }
    }
}

impl core::error::Error for SchemeError {}

impl PhaseSpec {
    /// The scheme `label` with its defaults: the one with one of `roles` if there is one, so that a label may have a
    /// scheme in each place of a chain.
    ///
    /// # Errors
    /// [`SchemeError`] if there is none of any role.
    pub fn new(label: &str, roles: &[Role]) -> Result<Self, SchemeError> {
        if let Some(phase) = AnyPhase::with_role(label, roles).or_else(|| AnyPhase::by_label(label)) {
            let Info { label, role, .. } = *phase.info();
            return Ok(Self { label, role, params: vec![] });
        }
        if let Some(planned) = PLANNED.iter().find(|planned| planned.name == label) {
            return Err(SchemeError::NotBuilt(planned.name));
        }
        Err(SchemeError::Unknown { label: label.into(), nearest: nearest(label, labels()) })
    }

    /// Its label.
    pub const fn label(&self) -> &'static str {
        self.label
    }

    /// The parameters that were given.
    pub fn params(&self) -> &[(&'static str, Value)] {
        &self.params
    }

    /// The value given for a parameter, if one was.
    pub fn param(&self, name: &str) -> Option<Value> {
        self.params.iter().find(|(given, _)| *given == name).map(|(_, value)| *value)
    }

    /// The phase, with its parameters set.
    pub fn build(&self) -> AnyPhase {
        let mut phase =
            AnyPhase::with_role(self.label, &[self.role]).expect("only registered schemes make a PhaseSpec");
        for &(name, value) in &self.params {
            phase.set(name, value).expect("parameters were tried on the scheme when they were read");
        }
        phase
    }

    /// The phase as a stack has it: what was not given is as the stack does it.
    fn build_in(&self, stack: &Stack) -> AnyPhase {
        let mut phase = self.build();
        for &(label, name, word) in stack.parameters {
            // Of two schemes with one label, only one may have the parameter.
            let param = phase.info().params.iter().find(|param| param.name == name);
            if let (true, Some(param), None) = (label == self.label, param, self.param(name)) {
                let ParamKind::Choice(words) = param.kind else {
                    unreachable!("profiles choose among words: {label} {name}")
                };
                let index = words.iter().position(|known| *known == word);
                let value = Value::Choice(index.expect("profiles use words that their schemes know"));
                phase.set(name, value).expect("the choice is one of the scheme's words");
            }
        }
        phase
    }

    /// Where the phase belongs.
    pub const fn role(&self) -> Role {
        self.role
    }
}

impl SchemeSpec {
    /// A chain of these phases.
    ///
    /// # Errors
    /// [`SchemeError::Order`] if they do not make one.
    pub fn new(phases: Vec<PhaseSpec>) -> Result<Self, SchemeError> {
        if phases.len() > limits::PHASES {
            return Err(SchemeError::TooMany(phases.len()));
        }
        let spec = Self { phases };
        Chain::new(spec.build()).map_err(SchemeError::Order)?;
        Ok(spec)
    }

    /// Reads a whole chain, `careful-resume+hystart+++cubic`: the longest label first.
    ///
    /// # Errors
    /// [`SchemeError`] if a label is not registered or the chain does not end as it must.
    pub fn parse(text: &str) -> Result<Self, SchemeError> {
        let labels = split_labels(text);
        let roles = |at| if at + 1 == labels.len() { Role::LAST } else { Role::LEADING };
        let phases = labels.iter().enumerate().map(|(at, label)| PhaseSpec::new(label, roles(at)));
        Self::new(phases.collect::<Result<_, _>>()?)
    }

    /// The phases; never empty.
    pub fn phases(&self) -> &[PhaseSpec] {
        &self.phases
    }

    /// The phases, ready for a chain.
    pub fn build(&self) -> Vec<AnyPhase> {
        self.phases.iter().map(PhaseSpec::build).collect()
    }

    /// The same on a stack: parameters that were not given are as the stack has them.
    pub fn build_in(&self, stack: &Stack) -> Vec<AnyPhase> {
        self.phases.iter().map(|phase| phase.build_in(stack)).collect()
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

/// Reads labels joined by `+`, the longest label first; schemes with one of `roles` are preferred.
///
/// # Errors
/// [`SchemeError`] if a label is not registered.
pub fn parse_phases(text: &str, roles: &[Role]) -> Result<Vec<PhaseSpec>, SchemeError> {
    split_labels(text).into_iter().map(|label| PhaseSpec::new(label, roles)).collect()
}

fn split_labels(text: &str) -> Vec<&str> {
    split(text, &labels().chain(PLANNED.iter().map(|planned| planned.name)).collect::<Vec<_>>())
}

/// The registered labels, each once.
pub fn labels() -> impl Iterator<Item = &'static str> + Clone {
    SCHEMES.iter().enumerate().filter_map(|(at, info)| {
        let first = SCHEMES[..at].iter().all(|before| before.label != info.label);
        first.then_some(info.label)
    })
}

/// The registered labels of these roles.
pub fn labels_of(roles: &'static [Role]) -> impl Iterator<Item = &'static str> + Clone {
    SCHEMES.iter().filter(move |info| roles.contains(&info.role)).map(|info| info.label)
}

/// Cuts `text` at the `+` that follow a label. A label may itself end in `+`: of the labels that fit, the
/// longest is taken. What is no label is cut at the next `+`.
fn split<'a>(mut text: &'a str, labels: &[&str]) -> Vec<&'a str> {
    let mut parts = vec![];
    loop {
        let ends = |label: &&&str| {
            text.strip_prefix(**label).is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
        };
        let end = match labels.iter().filter(ends).max_by_key(|label| label.len()) {
            Some(label) => label.len(),
            None => text.find('+').unwrap_or(text.len()),
        };
        parts.push(&text[..end]);
        match text[end..].strip_prefix('+') {
            Some(rest) => text = rest,
            None => return parts,
        }
    }
}

fn listed() -> String {
    labels().collect::<Vec<_>>().join(", ")
}

fn join(phases: &[PhaseSpec]) -> String {
    phases.iter().map(|p| p.label).collect::<Vec<_>>().join("+")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    #[test]
    fn the_longest_label_is_cut_first() {
        let labels = ["careful-resume", "hystart++", "hystart", "cubic", "slow-start", "reno"];
        for (text, parts) in [
            ("slow-start+reno", &["slow-start", "reno"][..]),
            ("careful-resume+hystart+++cubic", &["careful-resume", "hystart++", "cubic"]),
            ("hystart+cubic", &["hystart", "cubic"]),
            ("hystart++", &["hystart++"]),
            // "hystart+" is no label, so that its plus joins, and what is left is an empty one.
            ("hystart+", &["hystart", ""]),
            ("hystart++cubic", &["hystart", "", "cubic"]),
            ("slowstart+reno", &["slowstart", "reno"]),
            ("", &[""]),
        ] {
            assert_eq!(split(text, &labels), parts, "{text}");
        }
    }

    #[test]
    fn a_chain_says_its_parts() {
        let spec = SchemeSpec::parse("slow-start+reno").unwrap();
        assert_eq!(
            (spec.label(), spec.startup(), spec.avoidance()),
            ("slow-start+reno".into(), "slow-start".into(), "reno")
        );
        assert_eq!(spec.build().len(), 2);
    }

    #[test]
    fn a_label_with_a_scheme_in_each_place_is_read_by_its_place() {
        for (text, roles) in [
            ("vegas+vegas", [Role::Startup, Role::Avoidance]),
            ("vegas+reno", [Role::Startup, Role::Avoidance]),
            ("slow-start+vegas", [Role::Startup, Role::Avoidance]),
        ] {
            let spec = SchemeSpec::parse(text).unwrap();
            assert_eq!(spec.phases().iter().map(PhaseSpec::role).collect::<Vec<_>>(), roles, "{text}");
            assert_eq!(
                spec.build().iter().map(|phase| phase.info().role).collect::<Vec<_>>(),
                roles,
                "{text}"
            );
            assert_eq!(spec.label(), text);
        }
        assert_eq!(labels().filter(|label| *label == "vegas").count(), 1);
        let growth = |spec: &SchemeSpec| format!("{:?}", spec.build_in(Profile::Ns2.stack()));
        let spec = SchemeSpec::parse("vegas+vegas").unwrap();
        assert_eq!(growth(&spec).matches("PerAck").count(), 1, "the avoidance has the parameter");
    }

    #[test]
    fn a_stack_does_what_a_scheme_leaves_open_and_never_what_is_given() {
        let built = |text: &str, given: &[(&'static str, Value)], profile: Profile| {
            let mut spec = SchemeSpec::parse(text).unwrap();
            spec.phases[0].params = given.to_vec();
            format!("{:?}", spec.build_in(profile.stack()))
        };
        let by_hand = |text: &str, name: &str, index: usize| {
            let mut phase = AnyPhase::by_label(text).unwrap();
            phase.set(name, Value::Choice(index)).unwrap();
            format!("{:?}", [phase])
        };
        // reno grows counted or per-ack, cubic by rfc9438 or linux.
        for (profile, growth, rules) in [(Profile::Rfc, 0, 0), (Profile::Ns2, 1, 0), (Profile::Linux, 0, 1)] {
            assert_eq!(built("reno", &[], profile), by_hand("reno", "growth", growth));
            assert_eq!(built("cubic", &[], profile), by_hand("cubic", "rules", rules));
            for index in [0, 1] {
                let given = [("rules", Value::Choice(index))];
                assert_eq!(built("cubic", &given, profile), by_hand("cubic", "rules", index));
            }
        }
    }

    #[test]
    fn a_chain_that_does_not_end_or_ends_twice_is_refused() {
        let listed = listed();
        let refused = |text| SchemeSpec::parse(text).unwrap_err().to_string();
        assert_eq!(refused("slow-start"), "slow-start ends, and no avoidance scheme follows it");
        assert_eq!(refused("reno+reno"), "reno never ends, so that nothing can follow it");
        assert_eq!(
            refused("slow-strat+reno"),
            format!("there is no scheme \"slow-strat\"; expected {listed}; did you mean \"slow-start\"?")
        );
        assert_eq!(refused("halfback+reno"), format!("not built yet: halfback; available: {listed}"));
        let long = ["slow-start"; 8].join("+") + "+reno";
        assert_eq!(refused(&long), "9 phases, and at most 8 are taken");
    }
}
