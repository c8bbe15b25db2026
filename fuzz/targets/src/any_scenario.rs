//! A random valid scenario, run: numbers within their declared ranges, the auditor without a finding, and the same outcome
//! in both modes of the engine.

use firstflight::Run;
use firstflight::results::{RunResult, Table, violations};
use firstflight_anyscenario::{Written, written};
use firstflight_contract::Nanos;
use firstflight_hosts::network::build;
use firstflight_sim::audit::{Recorder, audit};
use firstflight_sim::engine::Mode;
use firstflight_sim::outcome::simulate_observed;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::finite::assert_finite;
use crate::{Form, Target, refused};

pub(crate) const TARGET: Target = Target {
    name: "any_scenario",
    about: "a random valid scenario, the input its seed, run: numbers in range, audited, equal in both modes of the engine",
    run,
    longest: 32,
    form: Form::Numbers,
};

fn run(bytes: &[u8]) {
    let mut seed = [0; 32];
    let length = bytes.len().min(32);
    seed[..length].copy_from_slice(&bytes[..length]);
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let Ok(drawn) = written().new_tree(&mut runner) else { return };
    let written = drawn.current();
    let _shown = Shown(&written);
    let loaded = written.read().expect("the generator writes valid scenarios");
    // A run of a slow link lasts years: it has deliveries at few times.
    let grid = Nanos(loaded.scenario.duration.map_or(1_000_000_000, |duration| duration.0 / 50).max(1));
    let result = match Run::of(loaded.clone()).replications(2).grid(grid).execute() {
        Ok(result) => result,
        Err(error) => return refused(error),
    };
    assert_finite(&result);
    let json = serde_json::to_value(&result).expect("results are plain data");
    let tables = [Table::of_runs(&result), Table::of_flows(&result), Table::of_links(&result)];
    let found: Vec<String> =
        violations::<RunResult>(&json).into_iter().chain(tables.iter().flat_map(Table::violations)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    let scenario = &loaded.scenario;
    let built = build(scenario, scenario.seed, grid).expect("it ran");
    let (outcome, recorder) = simulate_observed(&built.network, Mode::Fused, Recorder::default());
    let found: Vec<String> =
        audit(&built.network, &outcome, &recorder.log).iter().take(5).map(ToString::to_string).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    let (by_hop, _) = simulate_observed(&built.network, Mode::PerHop, Recorder::default());
    assert_eq!(by_hop, outcome);
}

/// Prints the scenario if a panic passes it.
struct Shown<'a>(&'a Written);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{:?}", self.0);
        }
    }
}
