//! Chains of schemes with their parameters.

use firstflight_contract::Role;
use firstflight_schemes::registry::SCHEMES;
use firstflight_schemes::scheme::{Info, ParamKind};
use proptest::prelude::*;

use crate::text::{flag, number, packets, time, word};

/// Keys `startup` and `avoidance` of a flow.
pub(crate) fn keys() -> BoxedStrategy<String> {
    let leading = || prop_oneof![3 => scheme(Role::Startup), 1 => pair()];
    let chain = (leading(), scheme(Role::Avoidance));
    let chain =
        chain.prop_map(|(startup, avoidance)| format!("startup = {startup}\navoidance = {avoidance}\n"));
    let alone = scheme(Role::Standalone).prop_map(|alone| format!("startup = {alone}\n"));
    prop_oneof![2 => Just(String::new()), 8 => chain, 1 => alone].boxed()
}

/// A scheme of this role: its label, or a table with parameters.
fn scheme(role: Role) -> BoxedStrategy<String> {
    let of_role: Vec<&'static Info> = SCHEMES.iter().filter(|info| info.role == role).collect();
    prop::sample::select(of_role)
        .prop_flat_map(|info| {
            let given: Vec<_> = info
                .params
                .iter()
                .map(|param| {
                    prop::option::weighted(0.2, value(param.kind)).prop_map(move |v| (param.name, v))
                })
                .collect();
            given.prop_map(move |given| {
                let given: String = given
                    .into_iter()
                    .filter_map(|(name, value)| Some(format!(", {name} = {}", value?)))
                    .collect();
                match given.is_empty() {
                    true => format!("\"{}\"", info.label),
                    false => format!("{{ kind = \"{}\"{given} }}", info.label),
                }
            })
        })
        .boxed()
}

/// Two start-up schemes, one after the other.
fn pair() -> BoxedStrategy<String> {
    (scheme(Role::Startup), scheme(Role::Startup))
        .prop_map(|(first, then)| format!("[{first}, {then}]"))
        .boxed()
}

fn value(kind: ParamKind) -> BoxedStrategy<String> {
    match kind {
        ParamKind::Number { min, max } => {
            let inside = number(min, max);
            let ends = prop::sample::select(vec![min, max]).prop_map(|end| format!("{end:?}"));
            prop_oneof![3 => inside, 1 => ends].boxed()
        }
        ParamKind::Time => time(10_000_000_000),
        ParamKind::Packets => packets(1000),
        ParamKind::Rate => (1..1_000_000_000_u64).prop_map(|rate| format!("\"{rate} bit/s\"")).boxed(),
        ParamKind::Flag => flag(),
        ParamKind::Choice(words) => word(words),
    }
}
