//! Relations between runs: a scenario is changed in a way whose effect on the results is known, mostly none. No relation needs to
//! know what is right, so that each holds for random scenarios of every kind.
//!
//! A relation leaves out the scenarios for which it need not hold, and counts them by reason. `found` has the scenarios that a
//! relation did not hold for, and `seeds.txt` the seeds of later failures; both are tried first.

mod end;
mod order;
mod path;
mod scaling;
mod translation;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use firstflight_anyscenario::{Written, written};
use firstflight_contract::Nanos;
use firstflight_hosts::network::build;
use firstflight_scenario::{Loaded, Scenario, parse};
use firstflight_sim::audit::{Event, Recorder};
use firstflight_sim::config::{LinkConfig, Network, QueueConfig};
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::Seen;
use firstflight_sim::outcome::{Outcome, simulate, simulate_observed};
use proptest::strategy::Strategy;
use proptest::test_runner::{
    Config, FileFailurePersistence, RngSeed, TestCaseError, TestCaseResult, TestError, TestRunner,
};
use proptest::{prop_assert, prop_assert_eq};

/// Most hops of packets in a run of these tests.
const MOST_HOPS: u64 = 30_000;

/// A scenario, and the results of its run.
struct Case<'a> {
    text: &'a str,
    scenario: &'a Scenario,
    network: &'a Network,
    base: &'a Outcome,
}

/// Whether a relation holds: `None` if it does, or the reason for which it need not.
type Held = Result<Option<&'static str>, TestCaseError>;

/// Numbers of scenarios by the reason for which they were left out; an empty reason is none.
#[derive(Default)]
struct Tally(RefCell<BTreeMap<&'static str, u32>>);

impl Tally {
    fn count(&self, held: Option<&'static str>) {
        *self.0.borrow_mut().entry(held.unwrap_or_default()).or_default() += 1;
    }

    /// Asserts that the relation was held against enough scenarios to mean something.
    fn assert_enough(&self, least: u32) {
        let counts = self.0.borrow();
        let held = counts.get("").copied().unwrap_or_default();
        eprintln!("held {held}, left out: {counts:?}");
        assert!(
            held >= least,
            "held against {held} scenarios, expected at least {least}; others: {counts:?}"
        );
    }
}

/// The scenarios of `found`: name and text.
fn found() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/properties/metamorphic/found");
    let entries = std::fs::read_dir(folder).expect("the folder of found scenarios");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| std::fs::read_to_string(path).expect("a text");
    paths.iter().map(|path| (path.display().to_string(), read(path))).collect()
}

/// Runs `test` for random values: as many as the environment says, else `cases`.
fn draw<S: Strategy>(cases: u32, values: &S, test: impl Fn(S::Value) -> TestCaseResult) {
    let given = |name: &str| std::env::var_os(name).is_some();
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/properties/metamorphic/seeds.txt");
    let mut config = Config {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(seeds))),
        max_shrink_iters: 200,
        ..Config::default()
    };
    if !given("PROPTEST_CASES") {
        config.cases = cases;
    }
    if !given("PROPTEST_RNG_SEED") {
        config.rng_seed = RngSeed::Fixed(1);
    }
    match TestRunner::new(config).run(values, test) {
        Ok(()) => {}
        Err(TestError::Fail(why, value)) => {
            panic!("{why}\nfor this scenario, to be kept in `found`:\n{value:#?}")
        }
        Err(error) => panic!("{error}"),
    }
}

/// Asserts that two outcomes are the same; a failure shows the flows and links that differ.
fn assert_same(found: &Outcome, expected: &Outcome) -> TestCaseResult {
    let mut apart = vec![];
    if found.end != expected.end {
        apart.push(format!("end {} ns, expected {}", found.end, expected.end));
    }
    let flows = found.flows.iter().zip(&expected.flows).enumerate().filter(|(_, (a, b))| a != b);
    apart.extend(flows.map(|(n, (a, b))| format!("flow {n}: {a:?}\nexpected {b:?}")));
    let links = found.links.iter().zip(&expected.links).enumerate().filter(|(_, (a, b))| a != b);
    apart.extend(links.map(|(n, (a, b))| format!("link {n}: {a:?}\nexpected {b:?}")));
    let counts = |outcome: &Outcome| (outcome.flows.len(), outcome.links.len());
    match apart.is_empty() && counts(found) == counts(expected) {
        true => Ok(()),
        false => Err(TestCaseError::fail(apart.join("\n"))),
    }
}

/// Asserts what holds for every run: no mean and no last value is above the largest, and nothing is recorded after the end.
fn assert_in_range(network: &Network, outcome: &Outcome) -> TestCaseResult {
    for flow in &outcome.flows {
        prop_assert!(flow.final_cwnd <= flow.max_cwnd, "{flow:?}");
        let lasted = outcome.end - flow.start.unwrap_or(outcome.end);
        prop_assert_eq!(flow.delivered_at.len() as u64, lasted / network.grid.0, "{:?}", flow);
    }
    for link in &outcome.links {
        prop_assert!(link.mean_queue <= f64::from(link.stats.max_queue) * (1.0 + 1e-12), "{link:?}");
    }
    Ok(())
}

/// The network of a scenario and its results, if the simulator takes it and it is small.
fn run(scenario: &Scenario) -> Result<(Network, Outcome), &'static str> {
    // Deliveries at few times.
    let grid = Nanos(scenario.duration.map_or(100_000_000, |duration| duration.0 / 20).max(1));
    let Ok(built) = build(scenario, scenario.seed, grid) else { return Err("the simulator refuses it") };
    let base = simulate(&built.network);
    if base.packet_hops() > MOST_HOPS { Err("many packets") } else { Ok((built.network, base)) }
}

/// Holds `relation` against the scenarios of `found` and `cases` random ones, and asserts that `least` were not left out.
fn hold(cases: u32, least: u32, relation: impl Fn(&Case) -> Held) {
    let tally = Tally::default();
    let of = |text: &str, loaded: &Loaded| -> TestCaseResult {
        let scenario = &loaded.scenario;
        let held = match run(scenario) {
            Ok((network, base)) => {
                assert_in_range(&network, &base)?;
                relation(&Case { text, scenario, network: &network, base: &base })?
            }
            Err(why) => Some(why),
        };
        tally.count(held);
        Ok(())
    };
    for (name, text) in found() {
        let loaded = parse(&text, "").unwrap_or_else(|error| panic!("{name}: {error}"));
        of(&text, &loaded).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    draw(cases, &written(), |written: Written| {
        of(&written.text, &written.read().expect("the generator writes valid scenarios"))
    });
    tally.assert_enough(least);
}

/// Whether connections have state in common, a memory or a window: then their events at one instant are in the order of their
/// numbers.
fn shares_state(network: &Network) -> bool {
    let shares = firstflight_contract::Signals::SHARED_WINDOW;
    network.flows.iter().any(|flow| flow.sharing.policy.is_some() || flow.chain.needs().has(shares))
}

/// Whether a queue of the network chooses by a hash of the number of a flow.
fn hashes_flows(network: &Network) -> bool {
    network.links.iter().any(|link| matches!(link.queue, QueueConfig::FqCodel(_)))
}

/// Whether packets of two sources ever come to one link at the same instant. They are then in the order of the numbers of
/// their sources (docs/inside.md, "Why it is fast").
fn has_ties(network: &Network) -> bool {
    let (_, recorder) = simulate_observed(network, Mode::Fused, Recorder::default());
    let mut seen: BTreeMap<(u32, u64), Seen> = BTreeMap::new();
    recorder.log.iter().any(|event| {
        let (Event::Offered { at, link, packet, .. } | Event::Queued { at, link, packet }) = *event else {
            return false;
        };
        let other = *seen.entry((link, at)).or_insert(packet);
        (other.kind, other.flow) != (packet.kind, packet.flow)
    })
}

/// A network without the links that no packet crosses has as many names as links: a new link needs another.
fn fresh_name(links: &[LinkConfig]) -> String {
    let names: BTreeSet<&str> = links.iter().map(|link| &*link.name).collect();
    (0..).map(|n| format!("new{n}")).find(|name| !names.contains(&**name)).expect("an endless range")
}
