//! A connection's scheme as data: a chain of labels, each with its parameters.

use firstflight_contract::{Beginning, Declared as _, Role};
use firstflight_host::chain::Chain;
use firstflight_schemes::catalogue::Schemes;
use firstflight_schemes::not_implemented::PLANNED;
use firstflight_schemes::registry::AnyPhase;
use firstflight_schemes::scheme::{ParamKind, Value};

use crate::limits;
use crate::profile::{Profile, Stack};
use firstflight_document as tree;
use firstflight_document::quantity::{show_rate, show_time};
use firstflight_document::{Error, Problem};

/// The catalogue of the registered schemes.
pub const BUILT_IN: &Schemes = &Schemes::built_in();

/// Start-up schemes in order, then an avoidance scheme; or one scheme that is both.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeSpec {
    phases: Vec<PhaseSpec>,
}

/// One phase of a chain.
#[derive(Clone, Debug)]
pub struct PhaseSpec {
    /// The scheme with its defaults; each phase that is built is a copy.
    prototype: AnyPhase,
    /// Parameters as given, in alphabetical order; each fits the scheme.
    params: Vec<(&'static str, Value)>,
}

/// Equal label, role and parameters; of schemes outside the registry, equal prototypes too.
impl PartialEq for PhaseSpec {
    fn eq(&self, other: &Self) -> bool {
        let same = (self.label(), self.role(), &self.params) == (other.label(), other.role(), &other.params);
        same && match (&self.prototype, &other.prototype) {
            (AnyPhase::Custom(own), AnyPhase::Custom(other)) => format!("{own:?}") == format!("{other:?}"),
            (AnyPhase::Custom(_), _) | (_, AnyPhase::Custom(_)) => false,
            _ => true,
        }
    }
}

impl tree::Own for PhaseSpec {
    fn is(&self) -> &'static str {
        "this is a scheme"
    }

    fn toml(&self) -> String {
        self.to_value().to_string()
    }
}

impl PhaseSpec {
    /// The registered scheme `label` with its defaults: one with a role of `roles` if there is one, or else one of any
    /// role.
    ///
    /// # Errors
    /// [`Problem::UnknownName`], or [`Problem::NotImplemented`] if the label is reserved.
    pub fn new(label: &str, roles: &[Role]) -> Result<Self, Error> {
        Self::find(BUILT_IN, label, roles)
    }

    /// As [`PhaseSpec::new`], with the schemes of a catalogue.
    ///
    /// # Errors
    /// As [`PhaseSpec::new`].
    pub fn find(schemes: &Schemes, label: &str, roles: &[Role]) -> Result<Self, Error> {
        if let Some(phase) = schemes.by_label(label, roles).or_else(|| schemes.by_label(label, &Role::ALL)) {
            return Ok(Self::of(phase));
        }
        if PLANNED.iter().any(|planned| planned.name == label) {
            let labels: Vec<_> = schemes.labels().collect();
            let expected = format!("one of: {}", labels.join(", "));
            return Err(Error::new(Problem::NotImplemented(label.into())).expecting(expected));
        }
        Err(Error::unknown_name("scheme", label, schemes.labels()))
    }

    /// A scheme that need not be registered, with the parameters that it has now.
    pub const fn of(prototype: AnyPhase) -> Self {
        Self { prototype, params: vec![] }
    }

    /// The scheme's label.
    pub fn label(&self) -> &'static str {
        self.prototype.info().label
    }

    /// Place of the phase in a connection.
    pub fn role(&self) -> Role {
        self.prototype.info().role
    }

    /// Whether the scheme is an avoidance scheme without a start of its own.
    pub(crate) fn follows_a_startup(&self) -> bool {
        self.role() == Role::Avoidance && self.prototype.declaration().beginning == Beginning::Startup
    }

    /// The parameters that were given.
    pub fn params(&self) -> &[(&'static str, Value)] {
        &self.params
    }

    /// The value given for a parameter, if one was.
    pub fn param(&self, name: &str) -> Option<Value> {
        self.params.iter().find(|(given, _)| *given == name).map(|(_, value)| *value)
    }

    /// Gives a value for a parameter, which the scheme has accepted.
    pub(crate) fn set(&mut self, name: &'static str, value: Value) {
        self.params.push((name, value));
        self.params.sort_by_key(|(name, _)| *name);
    }

    /// The phase, with its parameters set.
    pub fn build(&self) -> AnyPhase {
        let mut phase = self.prototype.clone();
        for &(name, value) in &self.params {
            phase.set(name, value).expect("the scheme accepted the parameter when it was read");
        }
        phase
    }

    /// The phase on a stack: parameters that were not given have the stack's values.
    fn build_in(&self, stack: &Stack) -> AnyPhase {
        let mut phase = self.build();
        for &(label, name, word) in stack.parameters {
            // Of two schemes with one label, only one may have the parameter.
            let param = phase.info().params.iter().find(|param| param.name == name);
            if let (true, Some(param), None) = (label == self.label(), param, self.param(name)) {
                let value = param.kind.named(word);
                let value = value.expect("profiles have values that their schemes have");
                phase.set(name, value).expect("the value is of the parameter's kind");
            }
        }
        phase
    }

    /// The phase as a file has it: a label, or a table if parameters were given.
    fn to_value(&self) -> tree::Value {
        let label = tree::Value::text(self.label());
        if self.params.is_empty() {
            return label;
        }
        let known = self.prototype.info().params;
        let params = self.params.iter().map(|&(name, value)| {
            let kind = known.iter().find(|param| param.name == name).map(|param| param.kind);
            let value = match (value, kind) {
                (Value::Number(x), _) => tree::Value::Float(x),
                (Value::Time(time), _) => tree::Value::Text(show_time(time)),
                (Value::Packets(n), _) => tree::Value::Text(format!("{n} packets")),
                (Value::Rate(rate), _) => tree::Value::Text(show_rate(rate)),
                (Value::Flag(flag), _) => tree::Value::Flag(flag),
                (Value::Choice(index), Some(ParamKind::Choice(words))) => tree::Value::text(words[index]),
                (Value::Choice(_), _) => unreachable!("the scheme accepted a choice for {name}"),
            };
            (name, value)
        });
        tree::Value::table([("kind", label)].into_iter().chain(params))
    }
}

impl SchemeSpec {
    /// A chain of these phases.
    ///
    /// # Errors
    /// [`Problem::Invalid`] if the phases do not make a chain, or are more than [`limits::PHASES`].
    pub fn new(phases: Vec<PhaseSpec>) -> Result<Self, Error> {
        if phases.len() > limits::PHASES {
            return Err(Error::invalid(format!("{} phases; the limit is {}", phases.len(), limits::PHASES)));
        }
        let spec = Self { phases };
        Chain::new(spec.build()).map_err(|error| {
            Error::invalid(error.to_string())
                .expecting("start-up schemes, then one avoidance scheme, such as \"slow-start+cubic\"")
        })?;
        Ok(spec)
    }

    /// Reads a whole chain of registered schemes, `vegas+hystart+++cubic`: the longest label first. The label of an avoidance
    /// scheme alone is the congestion control that the Linux kernel has under this name: `cubic` is `hystart-linux+cubic`.
    ///
    /// # Errors
    /// As [`PhaseSpec::new`] and [`SchemeSpec::new`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::parse_on(text, BUILT_IN, Profile::Linux)
    }

    /// As [`SchemeSpec::parse`], with the schemes of a catalogue. The label of an avoidance scheme alone is what the stack of
    /// `profile` has under this name: in quinn, `cubic` is `slow-start+cubic`.
    ///
    /// # Errors
    /// As [`SchemeSpec::parse`].
    pub fn parse_on(text: &str, schemes: &Schemes, profile: Profile) -> Result<Self, Error> {
        let labels = split_labels(text, schemes);
        let roles = |at| if at + 1 == labels.len() { Role::LAST } else { Role::LEADING };
        let phases = labels.iter().enumerate().map(|(at, label)| PhaseSpec::find(schemes, label, roles(at)));
        let mut phases: Vec<PhaseSpec> = phases.collect::<Result<_, _>>()?;
        if let [only] = &phases[..]
            && only.follows_a_startup()
        {
            let (label, stack) = (only.label(), profile.stack());
            if let Some((_, own)) = stack.unlike.iter().find(|(unlike, _)| *unlike == label) {
                let problem = format!("{label} alone is no scheme here: {own}");
                let expected = format!("a start-up scheme before it, such as slow-start+{label}");
                return Err(Error::invalid(problem).expecting(expected));
            }
            let startup = stack.startup_before(label);
            phases.insert(0, PhaseSpec::find(schemes, startup, Role::LEADING)?);
        }
        Self::new(phases)
    }

    /// The phases; never empty.
    pub fn phases(&self) -> &[PhaseSpec] {
        &self.phases
    }

    /// The phases, ready for a chain.
    pub fn build(&self) -> Vec<AnyPhase> {
        self.phases.iter().map(PhaseSpec::build).collect()
    }

    /// The phases on a stack: parameters that were not given have the stack's values.
    pub fn build_in(&self, stack: &Stack) -> Vec<AnyPhase> {
        self.phases.iter().map(|phase| phase.build_in(stack)).collect()
    }

    /// The chain's label: `slow-start+reno`.
    pub fn label(&self) -> String {
        join(&self.phases)
    }

    /// The labels of the phases that begin the connection: `slow-start`, `vegas+hystart++`, `bbr`.
    pub fn startup(&self) -> String {
        match &self.phases[..] {
            [startup @ .., _] if !startup.is_empty() => join(startup),
            whole => join(whole),
        }
    }

    /// The label of the phase that never ends: `reno`, `bbr`.
    pub fn avoidance(&self) -> &'static str {
        self.phases[self.phases.len() - 1].label()
    }
}

/// Reads labels of a catalogue joined by `+`, the longest label first; schemes with one of `roles` are preferred.
///
/// # Errors
/// As [`PhaseSpec::new`].
pub fn parse_phases_with(text: &str, roles: &[Role], schemes: &Schemes) -> Result<Vec<PhaseSpec>, Error> {
    split_labels(text, schemes).into_iter().map(|label| PhaseSpec::find(schemes, label, roles)).collect()
}

fn split_labels<'a>(text: &'a str, schemes: &Schemes) -> Vec<&'a str> {
    split(text, &schemes.labels().chain(PLANNED.iter().map(|planned| planned.name)).collect::<Vec<_>>())
}

/// The registered labels of these roles.
pub fn labels_of(roles: &[Role]) -> impl Iterator<Item = &'static str> + Clone {
    labels_with(BUILT_IN, roles)
}

/// The labels of these roles in a catalogue.
pub(crate) fn labels_with<'a>(
    schemes: &'a Schemes,
    roles: &'a [Role],
) -> impl Iterator<Item = &'static str> + Clone + use<'a> {
    schemes.infos().filter(move |info| roles.contains(&info.role)).map(|info| info.label)
}

/// Cuts `text` at each `+` that follows a label. A label may itself end in `+`: of the labels that fit, the longest is cut.
/// A part that is not a label ends at the next `+`.
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

fn join(phases: &[PhaseSpec]) -> String {
    phases.iter().map(PhaseSpec::label).collect::<Vec<_>>().join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_label_is_cut_first() {
        let labels = ["careful-resume", "hystart++", "hystart", "cubic", "slow-start", "reno"];
        for (text, parts) in [
            ("slow-start+reno", &["slow-start", "reno"][..]),
            ("careful-resume+hystart+++cubic", &["careful-resume", "hystart++", "cubic"]),
            ("hystart+cubic", &["hystart", "cubic"]),
            ("hystart++", &["hystart++"]),
            // "hystart+" is not a label: the plus joins, and an empty label follows.
            ("hystart+", &["hystart", ""]),
            ("hystart++cubic", &["hystart", "", "cubic"]),
            ("slowstart+reno", &["slowstart", "reno"]),
            ("", &[""]),
        ] {
            assert_eq!(split(text, &labels), parts, "{text}");
        }
    }

    #[test]
    fn a_chain_reports_its_parts() {
        let spec = SchemeSpec::parse("slow-start+reno").unwrap();
        assert_eq!(
            (spec.label(), spec.startup(), spec.avoidance()),
            ("slow-start+reno".into(), "slow-start".into(), "reno")
        );
        assert_eq!(spec.build().len(), 2);
    }

    #[test]
    fn the_place_of_a_label_selects_its_scheme() {
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
        assert_eq!(BUILT_IN.labels().filter(|label| *label == "vegas").count(), 1);
        let growth = |spec: &SchemeSpec| format!("{:?}", spec.build_in(Profile::Ns2.stack()));
        let spec = SchemeSpec::parse("vegas+vegas").unwrap();
        assert_eq!(growth(&spec).matches("PerAck").count(), 1, "the avoidance has the parameter");
    }

    #[test]
    fn a_plain_name_is_what_the_stack_has_under_it() {
        // Linux: HyStart is part of tcp_cubic, and no other congestion control of its kind has one. quinn's Cubic and NewReno begin
        // with slow start. BBR and xcp begin connections themselves.
        for (text, linux, quinn) in [
            ("cubic", "hystart-linux+cubic", "slow-start+cubic"),
            ("reno", "slow-start+reno", "slow-start+reno"),
            ("westwood", "slow-start+westwood", "slow-start+westwood"),
            ("bbr", "bbr", "bbr"),
            ("xcp", "xcp", "xcp"),
            ("slow-start+cubic", "slow-start+cubic", "slow-start+cubic"),
        ] {
            let label = |profile| SchemeSpec::parse_on(text, BUILT_IN, profile).unwrap().label();
            assert_eq!(
                (label(Profile::Linux), label(Profile::Quinn)),
                (linux.into(), quinn.into()),
                "{text}"
            );
            assert_eq!(SchemeSpec::parse(text).unwrap().label(), linux);
        }
    }

    #[test]
    fn a_plain_name_of_another_scheme_in_the_stack_is_refused() {
        // Linux's Vegas leaves slow start by delay, and keeps 2 to 4 packets waiting, not 1 to 3 (net/ipv4/tcp_vegas.c).
        let error = SchemeSpec::parse("vegas").unwrap_err().to_string();
        assert_eq!(
            error,
            "vegas alone is no scheme here: Linux's Vegas doubles the window until one packet waits, and then keeps two to four; \
             expected a start-up scheme before it, such as slow-start+vegas"
        );
        for text in ["slow-start+vegas", "vegas+vegas"] {
            assert_eq!(SchemeSpec::parse(text).unwrap().label(), text);
        }
        assert_eq!(
            SchemeSpec::parse_on("vegas", BUILT_IN, Profile::Rfc).unwrap().label(),
            "slow-start+vegas"
        );
    }

    #[test]
    fn a_stack_sets_parameters_that_are_not_given_and_no_others() {
        let built = |text: &str, given: &[(&'static str, Value)], profile: Profile| {
            let mut spec = SchemeSpec::new(vec![PhaseSpec::new(text, Role::LAST).unwrap()]).unwrap();
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
    fn a_chain_without_or_with_two_avoidance_schemes_is_refused() {
        let listed = BUILT_IN.labels().collect::<Vec<_>>().join(", ");
        let refused = |text| SchemeSpec::parse(text).unwrap_err().to_string();
        let chain = "expected start-up schemes, then one avoidance scheme, such as \"slow-start+cubic\"";
        assert_eq!(
            refused("slow-start"),
            format!("slow-start ends, and no avoidance scheme follows it; {chain}")
        );
        assert_eq!(refused("reno+reno"), format!("reno never ends, so nothing can follow it; {chain}"));
        assert_eq!(
            refused("slow-strat+reno"),
            format!(
                "there is no scheme \"slow-strat\"; expected one of: {listed}; did you mean \"slow-start\"?"
            )
        );
        assert_eq!(refused("halfback+reno"), format!("not implemented: halfback; expected one of: {listed}"));
        let long = ["slow-start"; 8].join("+") + "+reno";
        assert_eq!(refused(&long), "9 phases; the limit is 8");
    }
}
