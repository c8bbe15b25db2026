//! The `startup` and `avoidance` of a flow.

use firstflight_contract::Role;
use firstflight_schemes::scheme::{Param, ParamKind, Value};

use crate::profile::Stack;
use crate::scheme::{BUILT_IN, PhaseSpec, SchemeSpec, labels_with, parse_phases_with};
use firstflight_document as tree;
use firstflight_document::quantity::{Amount, parse_amount, parse_rate, parse_time};
use firstflight_document::{Error, Item, Problem, QuantityProblem, Table, nearest};

const STARTUP: &[Role] = &[Role::Startup, Role::Standalone];
const AVOIDANCE: &[Role] = &[Role::Avoidance];

pub(super) fn read(table: &Table<'_>, stack: &Stack) -> Result<SchemeSpec, Error> {
    let default = |label, roles| {
        PhaseSpec::find(table.known().unwrap_or(BUILT_IN), label, roles)
            .map_err(|error| table.fail(error.problem.clone()))
    };
    let startup = table.get("startup");
    let whole = stack.whole.filter(|_| table.get("avoidance").is_none());
    let mut chain = match (&startup, whole) {
        (Some(item), _) => phases(item, STARTUP)?,
        (None, Some(whole)) => vec![default(whole, STARTUP)?],
        (None, None) => vec![],
    };
    let standalone = chain.iter().find(|phase| phase.role() == Role::Standalone).map(PhaseSpec::label);
    let avoidance = match (table.get("avoidance"), standalone) {
        (Some(item), Some(label)) => {
            return Err(
                item.invalid(format!("{label} controls the whole connection: no avoidance follows it"))
            );
        }
        (Some(item), None) => Some(one_avoidance(&item)?),
        (None, Some(_)) => None,
        (None, None) => Some(default(stack.avoidance, AVOIDANCE)?),
    };
    if let Some(avoidance) = avoidance {
        if startup.is_none() && avoidance.follows_a_startup() {
            chain.push(default(stack.startup_before(avoidance.label()), STARTUP)?);
        }
        chain.push(avoidance);
    }
    SchemeSpec::new(chain).map_err(|error| match startup {
        Some(item) => item.fail(error.problem.clone()).without_expectation(),
        None => table.fail(error.problem.clone()),
    })
}

fn one_avoidance(item: &Item<'_>) -> Result<PhaseSpec, Error> {
    let several = |_| item.invalid("an avoidance scheme never ends: only one is possible");
    <[_; 1]>::try_from(phases(item, AVOIDANCE)?).map(|[one]| one).map_err(several)
}

/// A label, several joined by `+`, a table with parameters, or an array of these.
fn phases(item: &Item<'_>, roles: &'static [Role]) -> Result<Vec<PhaseSpec>, Error> {
    if let Some(phase) = item.value().as_own::<PhaseSpec>() {
        return in_role(item, vec![phase.clone()], roles);
    }
    match item.value() {
        tree::Value::Array(elements) if elements.is_empty() => {
            Err(item.fail(Problem::Invalid("it is empty".into())))
        }
        tree::Value::Array(_) => {
            let phases =
                item.elements()?.iter().map(|item| phases(item, roles)).collect::<Result<Vec<_>, _>>()?;
            Ok(phases.concat())
        }
        tree::Value::Table(_) => Ok(vec![with_parameters(item, roles)?]),
        _ => labelled(item, roles),
    }
}

/// A table with a label under `kind`, and parameters.
fn with_parameters(item: &Item<'_>, roles: &'static [Role]) -> Result<PhaseSpec, Error> {
    let members = item.members().unwrap_or_default();
    let Some((_, kind)) = members.iter().find(|(name, _)| *name == "kind") else {
        return Err(item.fail(Problem::Invalid("the key \"kind\" is missing".into())));
    };
    let Ok([mut phase]) = <[_; 1]>::try_from(labelled(kind, roles)?) else {
        return Err(kind.invalid("parameters belong to one scheme: write several schemes in an array"));
    };
    for (name, item) in members.iter().filter(|(name, _)| *name != "kind") {
        set(&mut phase, name, item)?;
    }
    Ok(phase)
}

fn labelled(item: &Item<'_>, roles: &'static [Role]) -> Result<Vec<PhaseSpec>, Error> {
    let schemes = item.known().unwrap_or(BUILT_IN);
    let phases = parse_phases_with(item.text()?, roles, schemes).map_err(|error| {
        let near = match &error.problem {
            Problem::UnknownName { name, .. } => nearest(name, labels_with(schemes, roles)),
            _ => None,
        };
        item.fail(error.problem.clone()).expecting(labels(item, roles)).near(near)
    })?;
    in_role(item, phases, roles)
}

/// The phases, if each has one of these roles.
fn in_role(item: &Item<'_>, phases: Vec<PhaseSpec>, roles: &'static [Role]) -> Result<Vec<PhaseSpec>, Error> {
    let Some(other) = phases.iter().find(|phase| !roles.contains(&phase.role())) else { return Ok(phases) };
    let wanted = if roles == AVOIDANCE { "an avoidance scheme" } else { "a start-up scheme" };
    let why = format!("{} is not {wanted}: its role is {}", other.label(), other.role().label());
    Err(item.fail(Problem::Invalid(why)).expecting(labels(item, roles)))
}

fn labels(item: &Item<'_>, roles: &'static [Role]) -> String {
    format!("one of: {}", labels_with(item.known().unwrap_or(BUILT_IN), roles).collect::<Vec<_>>().join(", "))
}

fn set(phase: &mut PhaseSpec, name: &str, item: &Item<'_>) -> Result<(), Error> {
    let mut scheme = phase.build();
    let params = scheme.info().params;
    let Some(param) = params.iter().find(|param| param.name == name) else {
        let names = params.iter().map(|param| param.name);
        let expected = match params {
            [] => format!("nothing: {} has no parameters", phase.label()),
            _ => format!("one of: {}", names.clone().collect::<Vec<_>>().join(", ")),
        };
        return Err(item.fail(Problem::UnknownKey).expecting(expected).near(nearest(name, names)));
    };
    let refused = |problem| item.fail(problem).expecting(takes(param.kind));
    let value = value(param, item).map_err(refused)?;
    if scheme.set(param.name, value).is_err() {
        return Err(refused(Problem::Invalid("out of range".into())));
    }
    phase.set(param.name, value);
    Ok(())
}

fn value(param: &Param, item: &Item<'_>) -> Result<Value, Problem> {
    let problem = |error: Error| error.problem.clone();
    let quantity = || match item.value() {
        tree::Value::Integer(_) | tree::Value::Float(_) => Err(Problem::Quantity(QuantityProblem::NoUnit)),
        _ => item.text().map_err(problem),
    };
    match param.kind {
        ParamKind::Number { .. } => item.any_number().map(Value::Number).map_err(problem),
        ParamKind::Time => parse_time(quantity()?).map(Value::Time).map_err(problem),
        ParamKind::Packets => match parse_amount(quantity()?).map_err(problem)? {
            Amount::Packets(n) => Ok(Value::Packets(n)),
            Amount::Bytes(_) => Err(Problem::Invalid("not a number of packets".into())),
        },
        ParamKind::Rate => parse_rate(quantity()?).map(Value::Rate).map_err(problem),
        ParamKind::Flag => item.flag().map(Value::Flag).map_err(problem),
        ParamKind::Choice(words) => {
            let text = item.text().map_err(problem)?;
            let index = words.iter().position(|word| *word == text);
            index.map(Value::Choice).ok_or_else(|| Problem::UnknownName { what: "", name: text.into() })
        }
    }
}

fn takes(kind: ParamKind) -> String {
    match kind {
        ParamKind::Number { min, max } => format!("a number from {min} to {max}"),
        ParamKind::Time => "a time such as \"100 ms\"".into(),
        ParamKind::Packets => "a number of packets such as \"4 packets\"".into(),
        ParamKind::Rate => "a rate such as \"40 Mbit/s\"".into(),
        ParamKind::Flag => "true or false".into(),
        ParamKind::Choice(words) => format!("one of: {}", words.join(", ")),
    }
}
