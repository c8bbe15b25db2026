//! Random valid scenarios of every kind, for tests.
//!
//! A scenario is written as a file, so that a failure shows what a user would write. Rates range from 1 bit/s to 100 Tbit/s;
//! times follow from the rate, so that most runs have some thousand packets at any rate. Scenarios of more than a million
//! hops of packets, estimated, are left out.

mod load;
mod network;
mod scale;
mod scheme;
mod text;
mod traffic;

use std::fmt;

use firstflight_scenario::{LinkTrace, Loaded, Network, parse};
use proptest::prelude::*;

use scale::{Scale, scale};
use text::{ns, optional};

/// A scenario as a file, and the trace of its bottleneck.
#[derive(Clone)]
pub struct Written {
    /// Text of the file.
    pub text: String,
    /// Text of a trace that replaces the rate of a path, or of the first link.
    pub trace: Option<String>,
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text)?;
        self.trace.iter().try_for_each(|trace| write!(f, "\nWith the trace:\n{trace}"))
    }
}

impl Written {
    /// The scenario; `None` if its keys contradict each other.
    pub fn read(&self) -> Option<Loaded> {
        let mut loaded = parse(&self.text, "").ok()?;
        if let Some(text) = &self.trace {
            let trace = LinkTrace::parse(text, "trace").ok()?;
            let (rate, place) = match &mut loaded.scenario.network {
                Network::Dumbbell(path) => (&mut path.rate, &mut path.trace),
                Network::Graph(graph) => {
                    graph.links.first_mut().map(|link| (&mut link.rate, &mut link.trace))?
                }
            };
            (*rate, *place) = (trace.schedule.mean(), Some(trace));
        }
        Some(loaded)
    }

    /// Whether a run of the scenario is small enough for a test that keeps every event.
    fn is_small(&self) -> bool {
        self.read().is_some_and(|loaded| load::hops(&loaded.scenario) <= load::MOST)
    }
}

fn scenario(scale: Scale) -> impl Strategy<Value = Written> {
    let Scale { duration, packet, .. } = scale;
    let head = (any::<u32>(), prop::bool::weighted(0.8), optional(0.2, 20..=packet.min(200)));
    let head = head.prop_map(move |(seed, ends, ack)| {
        let ends = if ends { format!("duration = {}\n", ns(duration)) } else { String::new() };
        let ack = ack.map_or(String::new(), |ack| format!("ack_size = \"{ack} B\"\n"));
        (format!("{ends}seed = {seed}\n"), format!("[packet]\nsize = \"{packet} B\"\n{ack}"))
    });
    let network = network::network(scale).prop_flat_map(move |network| {
        let traffic = traffic::traffic(scale, &network.ends);
        (Just(network), traffic)
    });
    (head, network, optional(0.1, trace(scale))).prop_map(|((head, packet), (network, traffic), trace)| {
        Written { text: format!("{head}{packet}{}{traffic}", network.text), trace }
    })
}

/// A trace of a link with the rate of the scenario in the middle: pairs, or opportunities.
fn trace(scale: Scale) -> BoxedStrategy<String> {
    let mbit_s = scale.rate as f64 / 1e6;
    let step = scale.duration as f64 / 1e9 / 5.0;
    if !(1e-3..=1e4).contains(&mbit_s) || step < 1e-6 {
        return Just(format!("0,{}\n", mbit_s.clamp(1e-3, 1e5))).boxed();
    }
    let pairs = prop::collection::vec(0.0..2.0_f64, 1..4).prop_map(move |shares| {
        let lines = shares.iter().enumerate().map(|(i, share)| {
            let share = if i + 1 == shares.len() { share.max(0.01) } else { *share };
            format!("{:.9},{:.6}\n", i as f64 * step, mbit_s * share)
        });
        lines.collect::<String>()
    });
    let opportunities = prop::collection::vec(0..20_u64, 1..20).prop_map(|mut times| {
        times.sort_unstable();
        times.push(times[times.len() - 1] + 1);
        times.iter().map(|time| format!("{time}\n")).collect::<String>()
    });
    match mbit_s {
        0.1..=100.0 => prop_oneof![pairs, opportunities].boxed(),
        _ => pairs.boxed(),
    }
}

/// Valid scenarios of every kind: paths and graphs with every queue and router, every source, profile and scheme, random
/// loss, both directions, rounds, parallel connections, clusters and distributions.
pub fn written() -> impl Strategy<Value = Written> {
    let drawn = scale().prop_flat_map(scenario);
    drawn
        .prop_filter("keys that contradict each other", |written| written.read().is_some())
        .prop_filter("too many packets", Written::is_small)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, RngSeed, TestRunner};

    use super::*;

    #[test]
    fn most_drawn_scenarios_are_valid() {
        let config = Config { rng_seed: RngSeed::Fixed(1), ..Config::default() };
        let mut runner = TestRunner::new(config);
        let strategy = scale().prop_flat_map(scenario);
        let mut why: BTreeMap<String, u32> = BTreeMap::new();
        let mut invalid = 0;
        for _ in 0..1000 {
            let written = strategy.new_tree(&mut runner).expect("drawn").current();
            if written.read().is_none() {
                invalid += 1;
                let error = parse(&written.text, "").err().map_or("the trace".into(), |error| {
                    format!("{} {}", error.place.key.replace(|c: char| c.is_ascii_digit(), ""), error.problem)
                });
                *why.entry(error).or_default() += 1;
            }
        }
        assert!(invalid < 500, "{invalid} of 1000: {why:#?}");
    }
}
