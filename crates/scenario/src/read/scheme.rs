//! The `startup` and `avoidance` of a flow.

use firstflight_contract::{Beginning, Declared, Role};
use firstflight_schemes::registry::ParamError;
use firstflight_schemes::scheme::{Param, ParamKind, Value};
use toml::de::DeValue;

use crate::error::{Error, Problem, nearest};
use crate::profile::Stack;
use crate::quantity::{Amount, QuantityError, parse_amount, parse_rate, parse_time};
use crate::scheme::{PhaseSpec, SchemeError, SchemeSpec, labels_of, parse_phases};
use crate::source::{Item, Table};

const STARTUP: &[Role] = &[Role::Startup, Role::Standalone];
const AVOIDANCE: &[Role] = &[Role::Avoidance];

pub(super) fn read(table: &Table<'_>, stack: &Stack) -> Result<SchemeSpec, Error> {
    let habit = |label, roles| {
        PhaseSpec::new(label, roles).map_err(|error| table.fail(Problem::Impossible(error.to_string()), None))
    };
    let startup = table.get("startup");
    let mut chain = match &startup {
        Some(item) => phases(item, STARTUP)?,
        None => vec![],
    };
    let whole = chain.iter().find(|phase| phase.role() == Role::Standalone).map(PhaseSpec::label);
    let avoidance = match (table.get("avoidance"), whole) {
        (Some(item), Some(whole)) => {
            let why = format!("{whole} rules the whole connection, so that no avoidance follows it");
            return Err(item.impossible(why));
        }
        (Some(item), None) => match <[_; 1]>::try_from(phases(&item, AVOIDANCE)?) {
            Ok([one]) => Some(one),
            Err(_) => {
                return Err(item.impossible("an avoidance scheme never ends, so that there is only one"));
            }
        },
        (None, None) => Some(habit(stack.avoidance, AVOIDANCE)?),
        (None, Some(_)) => None,
    };
    if let Some(avoidance) = avoidance {
        if startup.is_none() && avoidance.build().declaration().beginning == Beginning::Startup {
            chain.push(habit(stack.startup_before(avoidance.label), STARTUP)?);
        }
        chain.push(avoidance);
    }
    SchemeSpec::new(chain).map_err(|error| match startup {
        Some(item) => item.impossible(error.to_string()),
        None => table.fail(Problem::Impossible(error.to_string()), None),
    })
}

/// A label, several joined by `+`, a table with parameters, or an array of these.
fn phases(item: &Item<'_>, roles: &'static [Role]) -> Result<Vec<PhaseSpec>, Error> {
    if let DeValue::Array(_) = item.value {
        if item.elements()?.is_empty() {
            return Err(item.fail(Problem::Impossible("it is empty".into())));
        }
        let nested =
            item.elements()?.iter().map(|item| phases(item, roles)).collect::<Result<Vec<_>, _>>()?;
        return Ok(nested.concat());
    }
    let Some(members) = item.members() else {
        return labelled(item, roles);
    };
    let Some((_, kind)) = members.iter().find(|(name, _)| *name == "kind") else {
        return Err(item.fail(Problem::Impossible("the key \"kind\" is missing".into())));
    };
    let mut phases = labelled(kind, roles)?;
    let [phase] = &mut phases[..] else {
        return Err(kind.impossible("parameters belong to one scheme: write several in an array"));
    };
    for (name, item) in members.iter().filter(|(name, _)| *name != "kind") {
        set(phase, name, item)?;
    }
    phase.params.sort_by_key(|(name, _)| *name);
    Ok(phases)
}

fn labelled(item: &Item<'_>, roles: &'static [Role]) -> Result<Vec<PhaseSpec>, Error> {
    let available = || format!("one of: {}", labels_of(roles).collect::<Vec<_>>().join(", "));
    let refused =
        |problem, nearest: Option<&str>| item.fail(problem).expecting(Some(available())).near(nearest);
    let phases = parse_phases(item.text()?, roles).map_err(|error| match error {
        SchemeError::Unknown { label, .. } => {
            let near = nearest(&label, labels_of(roles));
            refused(Problem::UnknownName(label), near)
        }
        SchemeError::NotBuilt(label) => refused(Problem::NotBuilt(label.into()), None),
        SchemeError::Order(_) | SchemeError::TooMany(_) => {
            refused(Problem::Impossible(error.to_string()), None)
        }
    })?;
    match phases.iter().find(|phase| !roles.contains(&phase.role())) {
        Some(phase) => {
            let wanted = if roles == AVOIDANCE { "an avoidance scheme" } else { "a start-up scheme" };
            let why = format!("{} is not {wanted}: its role is {}", phase.label, phase.role().label());
            Err(refused(Problem::Impossible(why), None))
        }
        None => Ok(phases),
    }
}

fn set(phase: &mut PhaseSpec, name: &str, item: &Item<'_>) -> Result<(), Error> {
    let mut scheme = phase.build();
    let params = scheme.info().params;
    let Some(param) = params.iter().find(|param| param.name == name) else {
        let names = params.iter().map(|param| param.name);
        let expected = match params {
            [] => format!("nothing: {} has no parameters", phase.label),
            _ => format!("one of: {}", names.clone().collect::<Vec<_>>().join(", ")),
        };
        return Err(item.fail(Problem::UnknownKey).expecting(Some(expected)).near(nearest(name, names)));
    };
    let refused = |problem| item.fail(problem).expecting(Some(takes(param.kind)));
    let value = value(param, item).map_err(refused)?;
    match scheme.set(param.name, value) {
        Ok(()) => {}
        Err(ParamError::Invalid { .. } | ParamError::Unknown(_)) => {
            return Err(refused(Problem::Impossible("out of range".into())));
        }
    }
    phase.params.push((param.name, value));
    Ok(())
}

fn value(param: &Param, item: &Item<'_>) -> Result<Value, Problem> {
    let wrong = || item.wrong_type().problem.clone();
    let text = || item.text().map_err(|_| wrong());
    let quantity = || match item.value {
        DeValue::Integer(_) | DeValue::Float(_) => Err(Problem::Quantity(QuantityError::NoUnit)),
        _ => text(),
    };
    match param.kind {
        ParamKind::Number { .. } => {
            item.any_number().map(Value::Number).map_err(|error| error.problem.clone())
        }
        ParamKind::Time => parse_time(quantity()?).map(Value::Time).map_err(Problem::Quantity),
        ParamKind::Packets => match parse_amount(quantity()?).map_err(Problem::Quantity)? {
            Amount::Packets(n) => Ok(Value::Packets(n)),
            Amount::Bytes(_) => Err(Problem::Impossible("not a number of packets".into())),
        },
        ParamKind::Rate => parse_rate(quantity()?).map(Value::Rate).map_err(Problem::Quantity),
        ParamKind::Flag => item.flag().map(Value::Flag).map_err(|_| wrong()),
        ParamKind::Choice(words) => {
            let text = text()?;
            let index = words.iter().position(|word| *word == text);
            index.map(Value::Choice).ok_or_else(|| Problem::UnknownName(text.into()))
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
