//! `effect`: captures that the simulator writes with known settings.

use std::collections::BTreeMap;

use crate::common::Scratch;
use serde_json::Value;

/// Writes the capture `name`/run.pcapng of 40 connections with this initial window, and returns bytes and time of each transfer as the
/// simulator reports them.
fn simulate(scratch: &Scratch, name: &str, seed: u64, window: u32) -> Vec<(f64, f64)> {
    let scenario = format!(
        "seed = {seed}\n[path]\nrate = \"50 Mbit/s\"\nrtt = \"60 ms\"\nbuffer = \"200 packets\"\nloss = 0.002\n[[flow]]\n\
         profile = \"linux\"\nstartup = \"hystart-linux\"\navoidance = \"cubic\"\ncount = 40\nstart = {{ every = \"2 s\" }}\n\
         size = {{ pareto = {{ mean = \"120 packets\", shape = 1.35 }} }}\ninitial_window = \"{window} packets\"\n\
         extra_rtt = {{ uniform = [\"0 ms\", \"40 ms\"] }}\n"
    );
    scratch.write(&format!("{name}.toml"), scenario);
    let run = scratch.run(&["run", &format!("{name}.toml"), "--trace", "--out", name, "--json"]).json();
    let flows = run["flows"].as_array().expect("flows");
    flows.iter().filter_map(|it| Some((it["size_bytes"].as_f64()?, it["completion_s"].as_f64()?))).collect()
}

fn effect(scratch: &Scratch, arguments: &[&str]) -> Value {
    scratch.run(&[&["effect", "--json"], arguments].concat()).json()
}

fn what(changes: &Value) -> Vec<&str> {
    changes.as_array().expect("a list").iter().filter_map(|it| it["what"].as_str()).collect()
}

#[test]
fn first_flights_of_20_after_10_are_seen_and_transfers_end_sooner_by_what_the_simulator_reports() {
    let scratch = Scratch::new();
    let [before, after] =
        [("before", 10), ("after", 20)].map(|(name, window)| simulate(&scratch, name, 1, window));
    let found = effect(&scratch, &["before/run.pcapng", "after/run.pcapng"]);
    assert_eq!((&found["verdict"], what(&found["changed"])), (&"sooner".into(), vec!["first flight"]));
    let flights = &found["changed"][0];
    assert_eq!((&flights["before"], &flights["after"]), (&10.0.into(), &20.0.into()));
    assert_eq!(what(&found["unchanged"]), ["round trip", "paced first flights", "retransmitted"]);

    // Mean difference of the logarithms within the decades around 30 and 300 KB.
    let mut by_class: BTreeMap<i32, Vec<f64>> = BTreeMap::new();
    for ((bytes, time), (other, later)) in before.iter().zip(&after) {
        assert_eq!(bytes, other, "the same seed draws the same sizes");
        by_class.entry((bytes / 30_000.0).log10().round() as i32).or_default().push((later / time).ln());
    }
    let sizes = found["sizes"].as_array().expect("sizes");
    assert_eq!(by_class.values().map(Vec::len).sum::<usize>(), 40);
    let large: Vec<_> = sizes.iter().filter(|it| !it["gain_ci95"].is_null()).collect();
    assert_eq!(large.len(), by_class.values().filter(|it| it.len() >= 8).count());
    for (size, logarithms) in large.iter().zip(by_class.values().filter(|it| it.len() >= 8)) {
        let expected = 1.0 - (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
        let gain = size["gain"].as_f64().expect("a gain");
        // The simulator's time has no delayed acknowledgement of the last byte, that of a capture has.
        assert!((gain - expected).abs() < 0.02, "{gain} {expected}: {size}");
        let [low, high] = [0, 1].map(|end| size["gain_ci95"][end].as_f64().expect("an end"));
        assert!(low <= gain && gain <= high, "{size}");
        let forecast = size["forecast"].as_f64().expect("a forecast");
        assert!(forecast > 0.05 && (forecast - gain).abs() < 0.15, "{size}");
    }
    assert!(found["no_forecast"].is_null() && found["connections_needed"].is_null());
    let text = scratch.run(&["effect", "before/run.pcapng", "after/run.pcapng"]);
    assert!(
        text.out.starts_with("Transfers end ")
            && text.out.contains(" sooner after the change (95 % interval: "),
        "{text:?}"
    );
    assert_eq!(text.out, scratch.run(&["effect", "before/run.pcapng", "after/run.pcapng"]).out);
}

#[test]
fn the_same_setting_shows_no_difference_in_19_of_20_pairs() {
    let scratch = Scratch::new();
    let mut shown = 0;
    for seed in 0..20 {
        simulate(&scratch, "before", 100 + seed, 10);
        simulate(&scratch, "after", 200 + seed, 10);
        let found = effect(&scratch, &["before/run.pcapng", "after/run.pcapng", "--no-forecast"]);
        shown += u32::from(found["verdict"] != "no difference shown");
        if found["verdict"] == "no difference shown" && found["paths_differ"] == false {
            assert!(found["connections_needed"].as_u64().is_some_and(|it| it > 100), "{found}");
        }
    }
    // Of 20 draws with probability 0.05, at most 4 with probability 0.997 (binomial distribution).
    assert!(shown <= 4, "{shown} of 20");
}

#[test]
fn connections_that_were_listed_before_stand_for_their_capture() {
    let scratch = Scratch::new();
    simulate(&scratch, "before", 1, 10);
    simulate(&scratch, "after", 2, 20);
    scratch.write("before.json", scratch.run(&["connections", "before/run.pcapng", "--json"]).out);
    let listed = effect(&scratch, &["before.json", "after/run.pcapng"]);
    let captured = effect(&scratch, &["before/run.pcapng", "after/run.pcapng", "--no-forecast"]);
    for key in ["changed", "unchanged", "sizes", "gain", "gain_ci95", "verdict"] {
        assert_eq!(listed[key], captured[key], "{key}");
    }
    assert_eq!(listed["no_forecast"], "the input before the change is no capture, and has no path");
}

#[test]
fn what_has_no_captured_connections_is_refused_by_name() {
    let scratch = Scratch::new();
    simulate(&scratch, "before", 1, 10);
    let compare = ["compare", "cable", "--size", "30KB", "--startup", "slow-start", "--runs", "1", "--json"];
    scratch.write("compare.json", scratch.run(&compare).out);
    scratch.write("damaged.json", "[{\"index\": 0}]");
    scratch.write(
        "empty.pcap",
        &std::fs::read(scratch.path().join("before/run.pcapng")).expect("a capture")[..0],
    );
    let listed = "expected a capture, or the array that `firstflight connections --json` prints";
    for (side, why) in [
        (
            "compare.json",
            "compare.json: an object of JSON; results of `compare` and `run` have no times of captured transfers; ",
        ),
        (
            "out/results.parquet",
            "out/results.parquet: a Parquet file of simulated transfers, which has no captured connections; ",
        ),
        ("damaged.json", "damaged.json: missing field `start_s` at line 1 column 13; "),
    ] {
        for arguments in [["effect", side, "before/run.pcapng"], ["effect", "before/run.pcapng", side]] {
            let run = scratch.run(&arguments);
            assert_eq!((run.code, &*run.out), (2, ""), "{side}: {run:?}");
            assert_eq!(run.err, format!("error: {why}{listed}\n"));
        }
    }
    for side in ["empty.pcap", "absent.pcap"] {
        let run = scratch.run(&["effect", "before/run.pcapng", side]);
        assert_eq!((run.code, &*run.out, run.err.lines().count()), (2, "", 1), "{run:?}");
        assert!(run.err.starts_with(&format!("error: {side}: ")), "{}", run.err);
    }
    let run = scratch.run(&["effect", "-", "-"]);
    assert_eq!(
        run.err,
        "error: -: standard input can be read once; expected a file for one of the two captures\n"
    );
}

#[test]
fn captures_of_two_paths_show_no_effect_and_few_connections_no_interval() {
    let scratch = Scratch::new();
    for name in ["p1-reno-1000KB.pcap", "p2-reno-30KB.pcap"] {
        let shipped = format!("{}/../capture/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
        scratch.write(name, std::fs::read(shipped).expect("a capture"));
    }
    let run = scratch.run(&["effect", "p1-reno-1000KB.pcap", "p2-reno-30KB.pcap"]);
    assert_eq!((run.code, &*run.err), (0, ""));
    assert!(run.out.starts_with("No difference shown, because the paths differ.\n"), "{}", run.out);
    let plain = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let warning = "Warning: the paths differ: the round trip is 60.";
    assert!(
        plain.contains(warning) && plain.contains("a difference of paths is no effect of the setting."),
        "{plain}"
    );
    let same = scratch.run(&["effect", "p2-reno-30KB.pcap", "p2-reno-30KB.pcap"]);
    assert!(
        same.out.starts_with("No difference shown: there are too few connections for an interval.\n"),
        "{}",
        same.out
    );
    assert!(same.out.contains("Warning: both sides are the same connections."), "{}", same.out);
}
