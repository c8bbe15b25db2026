//! Keys and values in the notation of a file.

use proptest::prelude::*;

/// A time in the notation of a file.
pub(crate) fn ns(time: u64) -> String {
    format!("\"{time} ns\"")
}

/// Whole numbers from 1 to `most`, of every magnitude.
pub(crate) fn magnitudes(most: u64) -> impl Strategy<Value = u64> + Clone {
    let digits = most.ilog10();
    (0..=digits, 1.0..10.0_f64).prop_map(move |(digits, lead)| {
        let number = (lead * 10_f64.powi(digits as i32)) as u64;
        number.clamp(1, most)
    })
}

/// A value with this probability.
pub(crate) fn optional<S: Strategy>(probability: f64, value: S) -> impl Strategy<Value = Option<S::Value>> {
    prop::option::weighted(probability, value)
}

/// One of these words, in quotes.
pub(crate) fn word(words: &'static [&'static str]) -> BoxedStrategy<String> {
    prop::sample::select(words).prop_map(|word| format!("\"{word}\"")).boxed()
}

/// A flag.
pub(crate) fn flag() -> BoxedStrategy<String> {
    any::<bool>().prop_map(|flag| flag.to_string()).boxed()
}

/// A time from a nanosecond to `most`.
pub(crate) fn time(most: u64) -> BoxedStrategy<String> {
    let most = most.max(1);
    prop_oneof![(1..=most).prop_map(ns), magnitudes(most).prop_map(ns)].boxed()
}

/// Packets from 1 to `most`.
pub(crate) fn packets(most: u64) -> BoxedStrategy<String> {
    (1..=most).prop_map(|n| format!("\"{n} packets\"")).boxed()
}

/// A number between two, not these themselves.
pub(crate) fn number(low: f64, high: f64) -> BoxedStrategy<String> {
    (low..high).prop_map(move |x| format!("{:?}", x.max(low + (high - low) * 1e-9))).boxed()
}

/// A line `key = value`.
pub(crate) fn given(key: &'static str, value: BoxedStrategy<String>) -> BoxedStrategy<String> {
    value.prop_map(move |value| format!("{key} = {value}\n")).boxed()
}

/// A line `key = value` with this probability.
pub(crate) fn line(
    probability: f64,
    key: &'static str,
    value: BoxedStrategy<String>,
) -> BoxedStrategy<String> {
    let line = move |value: Option<String>| value.map_or(String::new(), |value| format!("{key} = {value}\n"));
    optional(probability, value).prop_map(line).boxed()
}

/// All these lines.
pub(crate) fn lines(lines: Vec<BoxedStrategy<String>>) -> BoxedStrategy<String> {
    lines.prop_map(|lines| lines.concat()).boxed()
}

/// A table within a line, `{ key = value, ... }`, of all these keys.
pub(crate) fn table(keys: Vec<(&'static str, BoxedStrategy<String>)>) -> BoxedStrategy<String> {
    let (names, values): (Vec<_>, Vec<_>) = keys.into_iter().unzip();
    values
        .prop_map(move |values| {
            let entries: Vec<String> =
                names.iter().zip(&values).map(|(name, value)| format!("{name} = {value}")).collect();
            format!("{{ {} }}", entries.join(", "))
        })
        .boxed()
}

/// Distributions of what `value` gives: uniform, exponential, Pareto.
pub(crate) fn laws(value: &BoxedStrategy<String>, second: bool) -> BoxedStrategy<String> {
    let pareto = |kind: &'static str| {
        table(vec![(kind, table(vec![("mean", value.clone()), ("shape", number(1.01, 4.0))]))])
    };
    let mut laws = vec![
        // Both ends equal: their order is not known here.
        value.clone().prop_map(|value| format!("{{ uniform = [{value}, {value}] }}")).boxed(),
        table(vec![("exponential", value.clone())]),
        pareto("pareto"),
    ];
    if second {
        laws.push(pareto("pareto_ii"));
    }
    proptest::strategy::Union::new(laws).boxed()
}
