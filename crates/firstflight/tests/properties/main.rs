//! Properties of the results of every valid scenario. `PROPTEST_CASES` sets the number of scenarios, `PROPTEST_RNG_SEED`
//! which ones.

mod metamorphic;

use std::sync::atomic::{AtomicU32, Ordering};

use firstflight::results::{CompareReport, Comparison, RunResult, Table, violations};
use firstflight::{Run, Simulator, compare};
use firstflight_anyscenario::{Written, written};
use firstflight_hosts::network::build;
use firstflight_scenario::{Candidate, Draws as _, Loaded, Profile, parse};
use firstflight_sim::audit::{Recorder, audit};
use firstflight_sim::begun::{Begun, Times};
use firstflight_sim::engine::Mode;
use firstflight_sim::outcome::{simulate, simulate_observed, simulate_on};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

/// Holds `property` against random scenarios: as many as the environment says, else `cases`. Scenarios that the simulator
/// refuses, for which `property` answers false, do not count.
fn hold(cases: u32, property: impl Fn(&Loaded) -> Result<bool, TestCaseError>) {
    let given = |name: &str| std::env::var_os(name).is_some();
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if !given("PROPTEST_MAX_SHRINK_ITERS") {
        config.max_shrink_iters = 400;
    }
    if !given("PROPTEST_CASES") {
        config.cases = cases;
    }
    config.max_global_rejects = 2 * config.cases;
    if !given("PROPTEST_RNG_SEED") {
        config.rng_seed = RngSeed::Fixed(1);
    }
    let outcome = TestRunner::new(config).run(&written(), |written: Written| {
        match property(&written.read().expect("the generator writes valid scenarios"))? {
            true => Ok(()),
            false => Err(TestCaseError::reject("the simulator refuses the scenario")),
        }
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// Does `work` with this number of threads.
fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(work)
}

/// The result without the cost in time, which differs from run to run.
fn timeless(mut result: RunResult) -> RunResult {
    (result.engine.cpu_s, result.engine.wall_s) = (None, None);
    result
}

fn json(value: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).expect("serialisable")
}

/// Asserts that there is no departure.
fn none(found: Vec<String>) -> Result<(), TestCaseError> {
    prop_assert!(found.is_empty(), "{}", found.join("\n"));
    Ok(())
}

#[test]
fn runs_have_numbers_in_range_and_the_same_bytes_on_any_number_of_threads() {
    hold(40, |loaded| {
        let run = Run::of(loaded.clone()).replications(3);
        let Ok(result) = with_threads(1, || run.execute()) else { return Ok(false) };
        let result = timeless(result);
        none(violations::<RunResult>(&json(&result)))?;
        for table in [Table::of_runs(&result), Table::of_flows(&result), Table::of_links(&result)] {
            none(table.violations())?;
        }
        let bytes = |result: &RunResult| serde_json::to_string(result).expect("serialisable");
        for threads in [2, 4] {
            let threaded = with_threads(threads, || run.execute()).expect("the same run");
            prop_assert_eq!(bytes(&timeless(threaded)), bytes(&result));
        }
        Ok(true)
    });
}

#[test]
fn a_scenario_that_draws_nothing_has_the_same_bytes_under_any_seed() {
    let (certain, random) = (AtomicU32::new(0), AtomicU32::new(0));
    hold(120, |loaded| {
        if loaded.scenario.draws() {
            random.fetch_add(1, Ordering::Relaxed);
            return Ok(true);
        }
        let run = |seed: u64| Run::of(loaded.clone()).seed(seed).execute();
        let Ok(first) = run(1) else { return Ok(false) };
        let second = RunResult { seed: first.seed, ..run(0xdead_beef).expect("the same run") };
        let bytes = |result: RunResult| serde_json::to_string(&timeless(result)).expect("serialisable");
        prop_assert_eq!(bytes(first), bytes(second));
        certain.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    });
    let (certain, random) = (certain.into_inner(), random.into_inner());
    assert!(certain >= 10 && random >= 10, "{certain} that draw nothing, {random} that draw");
}

/// Runs a scenario under the auditor, in both modes of the engine.
fn audited(loaded: &Loaded) -> Result<bool, TestCaseError> {
    let scenario = &loaded.scenario;
    let Ok(built) = build(scenario, scenario.seed, firstflight::Observe::default().grid) else {
        return Ok(false);
    };
    let (outcome, recorder) = simulate_observed(&built.network, Mode::Fused, Recorder::default());
    let found = audit(&built.network, &outcome, &recorder.log);
    none(found.iter().take(5).map(ToString::to_string).collect())?;
    let (by_hop, _) = simulate_observed(&built.network, Mode::PerHop, Recorder::default());
    prop_assert_eq!(&by_hop, &outcome);
    for threads in [1, 2, 4] {
        prop_assert_eq!(&simulate_on(&built.network, threads), &outcome, "{} threads", threads);
    }
    Ok(true)
}

#[test]
fn no_packet_vanishes_or_appears() {
    hold(60, audited);
}

/// Goes on from the moment at which each of some flows begins, as the same run and as one in which this flow has another initial window
/// and writes more. Returns the number of runs that went on.
fn gone_on(loaded: &Loaded) -> Result<Option<u32>, TestCaseError> {
    let scenario = &loaded.scenario;
    let Ok(built) = build(scenario, scenario.seed, firstflight::Observe::default().grid) else {
        return Ok(None);
    };
    let network = built.network;
    let mut went_on = 0;
    for flow in [0, network.flows.len() / 2, network.flows.len().saturating_sub(1)] {
        let Some(begun) = (flow < network.flows.len()).then(|| Begun::of(&network, flow)).flatten() else {
            continue;
        };
        let mut other = network.clone();
        other.flows[flow].stack.initial_window += 3;
        other.flows[flow].app.bytes = other.flows[flow].app.bytes.map(|bytes| bytes + 1);
        for network in [&network, &other] {
            let whole = simulate(network);
            for (number, times) in begun.go_on(network).expect("it begins so").into_iter().enumerate() {
                let (app, of_whole) = (&network.flows[number].app, &whole.flows[number]);
                let of_whole = Times { start: of_whole.start, completions: of_whole.completions.clone() };
                match times {
                    Some(times) => prop_assert_eq!(times, of_whole, "flow {} beside {}", number, flow),
                    None => prop_assert!(of_whole.completions.len() <= app.pauses.len()),
                }
            }
        }
        went_on += 1;
        other.flows[flow].app.start += 1;
        prop_assert_eq!(begun.go_on(&other), None);
    }
    Ok(Some(went_on))
}

#[test]
fn a_run_that_goes_on_from_a_common_beginning_has_the_times_of_a_run_from_the_beginning() {
    let (all, went_on) = (AtomicU32::new(0), AtomicU32::new(0));
    hold(60, |loaded| {
        let Some(count) = gone_on(loaded)? else { return Ok(false) };
        all.fetch_add(1, Ordering::Relaxed);
        went_on.fetch_add(count, Ordering::Relaxed);
        Ok(true)
    });
    let (all, went_on) = (all.into_inner(), went_on.into_inner());
    assert!(went_on >= all, "{went_on} of {all}");
}

/// Found by the fuzz target any_scenario. Spurious retransmissions let RACK mark segments lost that are in the network, and the
/// auditor demanded a window for them.
#[test]
fn a_sender_that_retransmits_what_is_still_on_its_way_is_audited() {
    let text = r#"
        duration = "4624409705259 ns"
        seed = 1805991786
        [packet]
        size = "65535 B"
        [topology]
        kind = "three-router"
        rate = "36846 bit/s"
        buffer = "82 packets"
        loss = 0.021111301830931267
        delay = "4 ns"
        side_delay = "5587478 ns"
        [[flow]]
        size = "165 packets"
        profile = "linux"
        startup = ["delay-slow-start", "slow-start"]
        avoidance = "bic"
    "#;
    assert!(audited(&parse(text, "").expect("valid")).expect("no finding"));
}

/// Found with seed 104. Each action walked over all connections, and the auditor over the log of all for each.
#[test]
fn thirty_thousand_connections_with_one_window_are_audited() {
    let text = r#"
        duration = "25092431 ns"
        [packet]
        size = "1000 B"
        [path]
        rate = "118601498 bit/s"
        rtt = "20 ns"
        buffer = "453954119 packets"
        [[flow]]
        start = { every = "809 ns" }
        startup = "congestion-manager"
        avoidance = "fast"
        handshake = true
    "#;
    assert!(audited(&parse(text, "").expect("valid")).expect("nothing is lost"));
}

/// Found with seed 104. A queue at 1 bit/s that lasts longer than 2^64 nanoseconds stopped the auditor.
#[test]
fn a_backlog_of_more_than_584_years_is_audited() {
    let text = r#"
        duration = "19048840000000000 ns"
        [packet]
        size = "65535 B"
        ack_size = "36 B"
        [[node]]
        name = "n0"
        access_rate = "1 bit/s"
        subnet = "far"
        [[node]]
        name = "n1"
        access_rate = "26 bit/s"
        [[link]]
        from = "n0"
        to = "n1"
        both = true
        rate = "6 bit/s"
        delay = "710296852297 ns"
        buffer = "401755038 packets"
        [[flow]]
        from = "n0"
        to = "n1"
        profile = "rfc"
        startup = [{ kind = "adaptive-start", filter = "none", tau = "8344173907 ns" }, "aron-druschel"]
        avoidance = { kind = "bic", beta = 0.6463333952794885, b = 43.78139888935331 }
        receiver = "delayed-ack"
        byte_counting = false
        idle_restart = "pace"
        cluster = "one"
        [[flow]]
        from = "n1"
        to = "n0"
        data_in_syn = "never"
        [[udp]]
        from = "n1"
        to = "n0"
        size = "6440 B"
        rate = "1 bit/s"
        start = "63 ns"
    "#;
    assert!(audited(&parse(text, "").expect("valid")).expect("nothing is lost"));
}

/// Found with seed 104. For every packet the auditor added up all packets that waited.
#[test]
fn three_hundred_thousand_waiting_packets_are_audited() {
    for queue in ["drop-tail", "codel"] {
        let text = format!(
            r#"
            duration = "3 s"
            [path]
            rate = "1 bit/s"
            rtt = "1 ms"
            buffer = "100000000 B"
            queue = "{queue}"
            [[udp]]
            size = "100 B"
            rate = "80 Mbit/s"
        "#
        );
        assert!(audited(&parse(&text, "").expect("valid")).expect("nothing is lost"));
    }
}

#[test]
fn every_stack_of_quic_delivers_within_its_windows_on_any_path() {
    for profile in Profile::ALL.iter().filter(|profile| profile.stack().is_quic()) {
        for (rate, rtt, buffer, loss) in [
            ("20 Mbit/s", "60 ms", "1 BDP", "0"),
            ("1 Mbit/s", "200 ms", "4 packets", "0.02"),
            ("500 Mbit/s", "5 ms", "0.2 BDP", "0.001"),
            ("10 kbit/s", "1 ms", "3 packets", "0.1"),
        ] {
            for size in ["1 B", "9500 B", "300 KB"] {
                let word = profile.word();
                let text = format!(
                    "duration = \"600 s\"\n[path]\nrate = \"{rate}\"\nrtt = \"{rtt}\"\nbuffer = \"{buffer}\"\nloss = {loss}\n\
                     [[flow]]\nprofile = \"{word}\"\nsize = \"{size}\"\nrounds = {{ count = 2, idle = \"3 s\" }}\n"
                );
                let held = audited(&parse(&text, "").expect(word));
                assert!(matches!(held, Ok(true)), "{word}, {rate}, {size}: {held:?}");
            }
        }
    }
}

#[test]
fn time_series_have_numbers_in_range() {
    hold(50, |loaded| {
        let run = Run::of(loaded.clone());
        let Ok(rows) = run.samples() else { return Ok(false) };
        none(Table::of_samples(rows).violations())?;
        let recording = run.record().map_err(|error| TestCaseError::fail(error.to_string()))?;
        let ordered =
            |flow: &firstflight::recording::FlowRecording| flow.events.is_sorted_by_key(|event| event.0);
        prop_assert!(recording.flows.iter().all(ordered), "events are not in order of time");
        Ok(true)
    });
}

#[test]
fn comparisons_have_numbers_in_range() {
    hold(30, |loaded| {
        let schemes =
            ["slow-start+reno", "hystart+++cubic"].map(|chain| Candidate::parse(chain).expect("a chain"));
        let comparison =
            compare(loaded.clone()).candidates(schemes.to_vec()).transfers(vec![30_000]).replications(3);
        let comparison = comparison.host(&Simulator);
        let Ok(report) = with_threads(1, || comparison.execute()) else { return Ok(false) };
        none(violations::<Comparison>(&json(&report.comparison)))?;
        none(Table::of_replications(&report).violations())?;
        let threaded: CompareReport = with_threads(4, || comparison.execute()).expect("the same comparison");
        prop_assert_eq!(json(&threaded), json(&report));
        Ok(true)
    });
}
