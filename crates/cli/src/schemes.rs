//! The schemes and settings that `--scheme`, `--startup` and `--avoidance` select.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use std::sync::LazyLock;

use firstflight_contract::Role;
use firstflight_document::{Error, Problem, nearest, quoted};
use firstflight_scenario::candidate::{SETTINGS, split};
use firstflight_scenario::scheme::{labels_of, parse_phases_with};
use firstflight_scenario::{Candidate, PhaseSpec, Profile, SchemeSpec, Settings};

use firstflight_compare::{DEFAULT_AVOIDANCE, DEFAULT_STARTUPS, present};
use firstflight_schemes::catalogue::Schemes;

use crate::failure::{Failure, wrong_at};
use crate::keys::option;

/// The selected chains of known schemes on the stack of `profile`, in order and without duplicates.
pub(crate) fn schemes(
    chains: &[String],
    startups: &[String],
    avoidance: Option<&str>,
    (known, profile): (&Schemes, Profile),
) -> Result<Vec<Candidate>, Failure> {
    let mut all: Vec<Candidate> = vec![];
    for text in chains.iter().map(|text| text.trim()) {
        refuse_setting_alone("scheme", text)?;
        let candidate = Candidate::parse_on(text, known, profile);
        all.push(candidate.map_err(|error| refused("scheme", text, &error, ANY))?);
    }
    let defaults = DEFAULT_STARTUPS.map(String::from);
    let startups = if chains.is_empty() && startups.is_empty() { &defaults } else { startups };
    if startups.is_empty() && avoidance.is_some() {
        let why = "only --scheme is given, and its chains already have an avoidance scheme";
        return Err(wrong_at(option("avoidance", None), why)
            .expecting("--startup, or no --avoidance")
            .into());
    }
    let avoidance = one_avoidance(avoidance.unwrap_or(DEFAULT_AVOIDANCE), known)?;
    for text in startups.iter().map(|text| text.trim()) {
        let fail = |error: &Error| refused("startup", text, error, STARTUP);
        refuse_setting_alone("startup", text)?;
        let (labels, settings) = split(text);
        let settings = settings.map(Settings::parse).transpose().map_err(|error| fail(&error))?;
        let mut phases = parse_phases_with(labels, STARTUP, known).map_err(|error| fail(&error))?;
        if let Some(phase) = phases.iter().find(|phase| phase.role() == Role::Avoidance) {
            return Err(wrong_role("startup", text, phase, "a start-up scheme", STARTUP));
        }
        if phases.iter().all(|phase| phase.role() != Role::Standalone) {
            phases.push(avoidance.clone());
        }
        let scheme = SchemeSpec::new(phases).map_err(|error| fail(&error))?;
        all.push(Candidate { scheme, settings: settings.unwrap_or_default() });
    }
    let mut distinct: Vec<Candidate> = vec![];
    for scheme in all {
        if !distinct.contains(&scheme) {
            distinct.push(scheme);
        }
    }
    Ok(distinct)
}

const ANY: &[Role] = &Role::ALL;
const STARTUP: &[Role] = &[Role::Startup, Role::Standalone];
const AVOIDANCE: &[Role] = &[Role::Avoidance];

fn one_avoidance(text: &str, known: &Schemes) -> Result<PhaseSpec, Failure> {
    let phase = PhaseSpec::find(known, text, AVOIDANCE)
        .map_err(|error| refused("avoidance", text, &error, AVOIDANCE))?;
    match phase.role() {
        Role::Avoidance => Ok(phase),
        _ => Err(wrong_role("avoidance", text, &phase, "an avoidance scheme", AVOIDANCE)),
    }
}

/// Refuses a setting where a scheme stands: the list of schemes is cut at commas.
fn refuse_setting_alone(name: &str, text: &str) -> Result<(), Failure> {
    if Settings::parse(text).is_err() {
        return Ok(());
    }
    let wrong = wrong_at(option(name, Some(&quoted(text))), "a setting without a scheme");
    Err(wrong
        .expecting(format!("settings behind a scheme, joined by +: hystart-linux+cubic@iw30+{text}"))
        .into())
}

/// Reads any text as the name of a scheme, and proposes schemes to a shell that completes it.
#[derive(Clone)]
pub(crate) struct Chains(pub(crate) &'static LazyLock<Vec<String>>);

impl TypedValueParser for Chains {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        option: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, option, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|name| PossibleValue::new(name.as_str()))))
    }
}

/// Chains that a shell proposes: every start-up scheme before the usual avoidance scheme, whole schemes, and the scheme of
/// Linux with each setting.
pub(crate) static PROPOSED_CHAINS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let startups = labels_of(&[Role::Startup]).map(|label| format!("{label}+{DEFAULT_AVOIDANCE}"));
    let whole = labels_of(&[Role::Standalone]).map(String::from);
    let stock = present(Profile::Linux).label();
    startups.chain(whole).chain(SETTINGS.map(|setting| format!("{stock}@{setting}"))).collect()
});

/// Start-up schemes that a shell proposes.
pub(crate) static PROPOSED_STARTUPS: LazyLock<Vec<String>> =
    LazyLock::new(|| labels_of(STARTUP).map(String::from).collect());

fn refused(name: &str, text: &str, error: &Error, roles: &'static [Role]) -> Failure {
    let wrong = wrong_at(option(name, Some(&quoted(text))), &error.problem);
    match (&error.problem, &error.expected) {
        (Problem::UnknownName { what: "scheme", name }, _) => {
            wrong.expecting(labels(roles)).near(nearest(name, labels_of(roles))).into()
        }
        (Problem::NotImplemented(_), _) => wrong.expecting(labels(roles)).into(),
        (_, Some(expected)) => wrong.expecting(expected).near(error.nearest.as_deref()).into(),
        (_, None) => wrong.into(),
    }
}

fn wrong_role(name: &str, text: &str, phase: &PhaseSpec, wanted: &str, roles: &'static [Role]) -> Failure {
    let why = format!("{} is not {wanted}: its role is {}", phase.label(), phase.role().label());
    wrong_at(option(name, Some(&quoted(text))), why).expecting(labels(roles)).into()
}

fn labels(roles: &'static [Role]) -> String {
    format!("one of: {}", labels_of(roles).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels_of_all(
        chains: &[&str],
        startups: &[&str],
        avoidance: Option<&str>,
    ) -> Result<Vec<String>, String> {
        let own = |texts: &[&str]| texts.iter().map(|&t| t.to_owned()).collect::<Vec<_>>();
        match schemes(&own(chains), &own(startups), avoidance, (&Schemes::built_in(), Profile::Linux)) {
            Ok(all) => Ok(all.iter().map(Candidate::label).collect()),
            Err(Failure::Because(why)) => Err(why),
            Err(other) => unreachable!("{other:?}: nothing is printed"),
        }
    }

    #[test]
    fn a_start_up_scheme_is_completed_with_the_avoidance_scheme() {
        let asked = labels_of_all(&["slow-start+reno"], &["hystart++", "slow-start"], Some("reno"));
        assert_eq!(asked, Ok(vec!["slow-start+reno".into(), "hystart+++reno".into()]));
        assert_eq!(labels_of_all(&[], &["jump-start"], None), Ok(vec!["jump-start+cubic".into()]));
    }

    #[test]
    fn a_plain_name_and_its_chain_are_one_scheme() {
        let asked = labels_of_all(&["cubic", "bbr", "reno", "hystart-linux+cubic", "cubic@iw30"], &[], None);
        let chains = ["hystart-linux+cubic", "bbr", "slow-start+reno", "hystart-linux+cubic@iw30"];
        assert_eq!(asked, Ok(chains.map(String::from).to_vec()));
        // As of `--scheme "cubic, reno"`.
        let asked = labels_of_all(&["cubic", " reno", "reno "], &[" hystart++"], None);
        let chains = ["hystart-linux+cubic", "slow-start+reno", "hystart+++cubic"];
        assert_eq!(asked, Ok(chains.map(String::from).to_vec()));
    }

    #[test]
    fn the_default_start_up_schemes_are_compared_without_options() {
        let all = labels_of_all(&[], &[], None).expect("the defaults");
        assert_eq!((all.len(), &*all[0], &*all[6]), (8, "slow-start+cubic", "jump-start+cubic"));
        let all = labels_of_all(&[], &[], Some("reno")).expect("the defaults");
        assert_eq!((all.len(), &*all[0], &*all[7]), (8, "slow-start+reno", "bbr"));
    }

    #[test]
    fn settings_belong_to_the_scheme_before_them() {
        let asked = labels_of_all(&["hystart-linux+cubic@iw30+paced", "bbr"], &["slow-start@iw60"], None);
        assert_eq!(
            asked,
            Ok(vec!["hystart-linux+cubic@iw30+paced".into(), "bbr".into(), "slow-start+cubic@iw60".into()])
        );
        let why = |chain: &str| labels_of_all(&[chain], &[], None).expect_err("refused");
        assert_eq!(
            why("paced"),
            "--scheme \"paced\": a setting without a scheme; expected settings behind a scheme, joined by +: \
             hystart-linux+cubic@iw30+paced"
        );
        let wrong = why("hystart-linux+cubic@pacd");
        assert!(
            wrong.starts_with("--scheme \"hystart-linux+cubic@pacd\": there is no setting \"pacd\""),
            "{wrong}"
        );
        assert!(wrong.ends_with("did you mean \"paced\"?"), "{wrong}");
    }

    #[test]
    fn a_shell_proposes_chains_that_can_be_read() {
        for chain in PROPOSED_CHAINS.iter() {
            Candidate::parse(chain).unwrap_or_else(|error| panic!("{chain}: {error}"));
        }
    }

    #[test]
    fn errors_name_the_nearest_scheme_of_the_role() {
        let why = |chains: &[&str], startups: &[&str], avoidance| {
            labels_of_all(chains, startups, avoidance).expect_err("refused")
        };
        let unknown = why(&["slow-strat+cubic"], &[], None);
        assert!(
            unknown.starts_with("--scheme \"slow-strat+cubic\": there is no scheme \"slow-strat\""),
            "{unknown}"
        );
        assert!(unknown.ends_with("did you mean \"slow-start\"?"), "{unknown}");
        assert!(why(&[], &["cubic"], None).contains("its role is avoidance"));
        assert!(why(&[], &["slow-start"], Some("slow-start")).contains("its role is startup"));
        assert!(why(&["paced-chirping+cubic"], &[], None).contains("not implemented: paced-chirping"));
        assert!(why(&["slow-start"], &[], None).contains("no avoidance scheme follows it"));
        assert!(
            why(&["slow-start+reno"], &[], Some("cubic")).contains("--avoidance: only --scheme is given")
        );
    }
}
