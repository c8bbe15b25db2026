//! Policies, their parameters, and the schemes of the registry that follow their plans.

use firstflight_contract::{Nanos, Signals};
use firstflight_paths::policy::PolicyError;
use firstflight_paths::{Cluster, Conflict, Policy};
use firstflight_schemes::registry::SCHEMES;
use firstflight_schemes::scheme::{Info, Param, ParamKind, Value};

/// Schemes that follow a plan.
fn planned() -> impl Iterator<Item = &'static Info> {
    SCHEMES.iter().filter(|info| Policy::LABELS.contains(&info.label))
}

/// Default of a parameter, parsed from its text.
fn default(param: &Param) -> Value {
    let (number, unit) = param.default.split_once(' ').unwrap_or((param.default, ""));
    match (param.kind, unit) {
        (ParamKind::Number { .. }, "") => Value::Number(number.parse().expect("a number")),
        (ParamKind::Time, "s") => Value::Time(Nanos::from_secs(number.parse().expect("seconds"))),
        (ParamKind::Packets, "packets") => Value::Packets(number.parse().expect("packets")),
        (ParamKind::Flag, "") => Value::Flag(number.parse().expect("true or false")),
        (ParamKind::Choice(words), "") => {
            Value::Choice(words.iter().position(|word| *word == number).expect("a word"))
        }
        _ => panic!("{}: {}", param.name, param.default),
    }
}

#[test]
fn every_policy_belongs_to_a_scheme_that_needs_a_path_memory() {
    let labels: Vec<_> = planned().map(|info| info.label).collect();
    assert_eq!(labels.len(), Policy::LABELS.len(), "{labels:?}");
    assert!(planned().all(|info| info.needs.has(Signals::PLAN)));
}

#[test]
fn a_scheme_and_its_policy_have_the_same_defaults() {
    for info in planned() {
        let plain = Policy::new(info.label, &[]).expect("a policy");
        let params: Vec<_> = info.params.iter().map(|param| (param.name, default(param))).collect();
        assert_eq!(Policy::new(info.label, &params), Ok(plain), "{}", info.label);
        assert_eq!(plain.label(), info.label);
    }
}

#[test]
fn every_word_of_a_choice_makes_another_policy() {
    for info in planned() {
        for param in info.params {
            let ParamKind::Choice(words) = param.kind else { continue };
            let with = |i| Policy::new(info.label, &[(param.name, Value::Choice(i))]).expect("a policy");
            for (i, word) in words.iter().enumerate() {
                assert!((0..i).all(|j| with(j) != with(i)), "{} {} {word}", info.label, param.name);
            }
            assert!(Policy::new(info.label, &[(param.name, Value::Choice(words.len()))]).is_err());
        }
    }
}

#[test]
fn invalid_policies_and_parameters_are_named_in_the_error() {
    let time = |s| Value::Time(Nanos::from_secs(s));
    for (label, params, why) in [
        (
            "slow-start",
            vec![],
            "slow-start does not start from what other connections know; these do: liss, iss, miss, js, cached, \
             careful-resume, averaged, spand",
        ),
        ("liss", vec![("alpha", Value::Number(0.5))], "there is no parameter alpha of this kind"),
        ("averaged", vec![("sample", time(0))], "sample and refresh must be longer than no time"),
        (
            "averaged",
            vec![("window", time(90))],
            "window must be a whole number of times refresh, from 1 to 60",
        ),
        (
            "averaged",
            vec![("refresh", time(4))],
            "window must be a whole number of times refresh, from 1 to 60",
        ),
        ("spand", vec![("window", time(0))], "window must be longer than no time"),
    ] {
        let error: PolicyError = Policy::new(label, &params).expect_err("no such policy");
        assert_eq!(error.to_string(), why);
    }
}

#[test]
fn policies_share_a_cluster_unless_their_settings_conflict() {
    let all: Vec<_> = Policy::LABELS.iter().map(|label| Policy::new(label, &[]).expect("a policy")).collect();
    let settings = Policy::settings_for(&all).expect("the defaults agree");
    assert!(settings.alpha.is_some() && settings.drops.is_some() && settings.destinations > 0);
    assert!(settings.sampling.is_some() && settings.reporting.is_some());
    Cluster::new(settings);
    let iss = |alpha| Policy::new("iss", &[("alpha", Value::Number(alpha))]).expect("a policy");
    assert_eq!(Policy::settings_for([&iss(0.002), &iss(0.1)]), Err(Conflict { parameter: "alpha" }));
    assert_eq!(Policy::settings_for([&iss(0.1), &iss(0.1)]).map(|s| s.alpha), Ok(Some(0.1)));
}

#[test]
fn only_spand_plans_after_an_idle_time() {
    let after_idle = Policy::LABELS.iter().filter(|l| Policy::new(l, &[]).is_ok_and(|p| p.after_idle()));
    assert_eq!(after_idle.collect::<Vec<_>>(), [&"spand"]);
}
