//! The schemes that `--scheme`, `--startup` and `--avoidance` select.

use firstflight_contract::Role;
use firstflight_scenario::scheme::{labels_of, parse_phases};
use firstflight_scenario::{Error, PhaseSpec, Problem, SchemeSpec, nearest, quoted};

use firstflight_study::compare::{DEFAULT_AVOIDANCE, DEFAULT_STARTUPS};

use crate::failure::{Failure, wrong_at};
use crate::keys::option;

/// The selected chains, in order and without duplicates.
pub(crate) fn schemes(
    chains: &[String],
    startups: &[String],
    avoidance: Option<&str>,
) -> Result<Vec<SchemeSpec>, Failure> {
    let mut all: Vec<SchemeSpec> = vec![];
    for text in chains {
        all.push(SchemeSpec::parse(text).map_err(|error| refused("scheme", text, &error, ANY))?);
    }
    let defaults = DEFAULT_STARTUPS.map(String::from);
    let startups = if chains.is_empty() && startups.is_empty() { &defaults } else { startups };
    if startups.is_empty() && avoidance.is_some() {
        let why = "only --scheme is given, and its chains already have an avoidance scheme";
        return Err(wrong_at(option("avoidance", None), why)
            .expecting("--startup, or no --avoidance")
            .into());
    }
    let avoidance = one_avoidance(avoidance.unwrap_or(DEFAULT_AVOIDANCE))?;
    for text in startups {
        let fail = |error: &Error| refused("startup", text, error, STARTUP);
        let mut phases = parse_phases(text, STARTUP).map_err(|error| fail(&error))?;
        if let Some(phase) = phases.iter().find(|phase| phase.role() == Role::Avoidance) {
            return Err(wrong_role("startup", text, phase, "a start-up scheme", STARTUP));
        }
        if phases.iter().all(|phase| phase.role() != Role::Standalone) {
            phases.push(avoidance.clone());
        }
        all.push(SchemeSpec::new(phases).map_err(|error| fail(&error))?);
    }
    let mut distinct: Vec<SchemeSpec> = vec![];
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

fn one_avoidance(text: &str) -> Result<PhaseSpec, Failure> {
    let phase =
        PhaseSpec::new(text, AVOIDANCE).map_err(|error| refused("avoidance", text, &error, AVOIDANCE))?;
    match phase.role() {
        Role::Avoidance => Ok(phase),
        _ => Err(wrong_role("avoidance", text, &phase, "an avoidance scheme", AVOIDANCE)),
    }
}

fn refused(name: &str, text: &str, error: &Error, roles: &'static [Role]) -> Failure {
    let wrong = wrong_at(option(name, Some(&quoted(text))), &error.problem);
    match (&error.problem, &error.expected) {
        (Problem::UnknownName { name, .. }, _) => {
            wrong.expecting(labels(roles)).near(nearest(name, labels_of(roles))).into()
        }
        (Problem::NotImplemented(_), _) => wrong.expecting(labels(roles)).into(),
        (_, Some(expected)) => wrong.expecting(expected).into(),
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
        match schemes(&own(chains), &own(startups), avoidance) {
            Ok(all) => Ok(all.iter().map(SchemeSpec::label).collect()),
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
    fn the_default_start_up_schemes_are_compared_without_options() {
        let all = labels_of_all(&[], &[], None).expect("the defaults");
        assert_eq!((all.len(), &*all[0], &*all[6]), (8, "slow-start+cubic", "jump-start+cubic"));
        let all = labels_of_all(&[], &[], Some("reno")).expect("the defaults");
        assert_eq!((all.len(), &*all[0], &*all[7]), (8, "slow-start+reno", "bbr"));
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
