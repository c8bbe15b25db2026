//! The smallest and the largest value of every key runs to finite numbers, or is refused by name.

use std::path::Path;

use crate::common::{GRAPH, contexts, extremes};
use crate::compare::request;
use firstflight_compare::{Input, Request, compare};
use firstflight_contract::Nanos;
use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::progress::{Halt, Silent};
use firstflight_hosts::simulator::Simulator;
use firstflight_results::RunResult;
use firstflight_scenario::{Loaded, Scenario, load};

/// The numbers of a run, of which none may be NaN or infinite.
fn numbers(run: &RunResult) -> Vec<f64> {
    let of_run = [run.simulated_s, run.fairness_jain];
    let of_flows = run.flows.iter().flat_map(|flow| {
        [
            flow.start_s,
            flow.goodput_bit_s,
            flow.max_cwnd_packets,
            flow.final_cwnd_packets,
            flow.completion_s.unwrap_or(0.0),
        ]
    });
    let of_links = run.links.iter().flat_map(|link| [link.utilization, link.mean_queue_packets]);
    of_run.into_iter().chain(of_flows).chain(of_links).collect()
}

/// Whether a run takes a moment: few connections, and a short time.
fn is_cheap(scenario: &Scenario) -> bool {
    let flows: f64 = scenario.flows.iter().map(|flow| flow.expected(scenario.duration)).sum();
    flows <= 2_000.0 && scenario.duration.is_some_and(|duration| duration <= Nanos::from_secs(1))
}

/// Every cheap scenario with the extreme of one key, and what it is.
fn each(test: &str, mut check: impl FnMut(&str, Loaded)) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(GRAPH.0), GRAPH.1).expect("a file");
    let file = folder.join("extreme.toml");
    for context in contexts() {
        for key in context.section.keys {
            for value in extremes(&key.kind) {
                // The shortest times and the highest rates make the most events.
                let many = ["\"1 ns\"", "[\"1 ns\"", "bit/s\""].iter().any(|text| value.contains(text));
                let (text, _) = context.with(key.name, &value, if many { "20 us" } else { "200 ms" });
                let place = format!("{} {} = {value:.90}", context.section.name, key.name);
                std::fs::write(&file, text).expect("a file");
                match load(&file) {
                    Ok(loaded) if is_cheap(&loaded.scenario) => check(&place, loaded),
                    // The tests of the format cover what it refuses.
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn every_extreme_runs_to_finite_numbers_or_is_refused_by_name() {
    let mut ran = 0;
    each("runs", |place, Loaded { scenario, .. }| {
        // A panic shows it.
        println!("{place}");
        match Simulator.run(&scenario, scenario.seed, &Observe::default()) {
            Ok(run) => {
                let numbers = numbers(&run.result);
                assert!(numbers.iter().all(|x| x.is_finite() && *x >= 0.0), "{place}: {numbers:?}");
                assert!(run.result.links.iter().all(|link| link.utilization <= 1.0), "{place}: {numbers:?}");
                ran += 1;
            }
            Err(Halt::Stopped) => panic!("{place}: the run was stopped"),
            Err(Halt::Failed(refusal)) => {
                assert!(!refusal.key.is_empty() && !refusal.why.contains('\n'), "{place}: {refusal}");
            }
        }
    });
    assert!(ran > 300, "{ran}");
}

#[test]
fn every_extreme_is_compared_or_refused_in_one_line() {
    let mut compared = 0;
    each("comparisons", |place, loaded| {
        println!("{place}");
        let request = Request { runs: 1, ..request(Input::from(loaded), &["slow-start+cubic"], &[3_000]) };
        match compare(&Simulator, &request, &Silent) {
            Ok(_) => compared += 1,
            Err(error) => assert!(error.to_string().lines().count() == 1, "{place}: {error}"),
        }
    });
    assert!(compared > 250, "{compared}");
}
