//! Small inputs that ask for much memory are refused before anything is run: the key or option, the estimate, the limit.

use crate::common::Scratch;

const PATH: &str = "[path]\nrate = \"10 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"50 packets\"\n";

/// Expects that the program refuses `arguments` beside the scenario `s.toml` with a message that contains all `parts`.
fn refused(head: &str, tail: &str, arguments: &[&str], parts: &[&str]) {
    let scratch = Scratch::new();
    scratch.write("s.toml", format!("{head}\n{PATH}{tail}\n"));
    let before = scratch.snapshot();
    let run = scratch.run(arguments);
    assert_eq!((run.code, &*run.out, run.err.lines().count()), (2, "", 1), "{arguments:?}: {run:?}");
    for part in parts.iter().chain(&["--memory"]) {
        assert!(run.err.contains(part), "{arguments:?}: no {part:?} in {}", run.err);
    }
    assert_eq!(scratch.snapshot(), before, "{arguments:?} left something behind");
}

const RUN: &[&str] = &["run", "s.toml"];

#[test]
fn deliveries_at_every_nanosecond_are_refused() {
    let grid = ["run", "s.toml", "--grid", "1 ns"];
    // A point takes 128 bytes.
    refused(
        "duration = \"1 s\"",
        "[[flow]]",
        &grid,
        &["--grid: this takes 128 GB of memory", "at most 4 GB"],
    );
    refused(
        "duration = \"100000000 s\"",
        "[[flow]]\ncount = 10",
        RUN,
        &["s.toml:1:12: duration = \"100000000 s\": this takes 128 GB"],
    );
    // Without a duration the end is known only when it has come.
    refused("", "[[flow]]\nsize = \"3 MB\"", &grid, &["--grid: a run of ", "more deliveries"]);
    let runs = ["run", "s.toml", "--grid", "1 ns", "--runs", "1000"];
    refused("", "[[flow]]\nsize = \"30 KB\"", &runs, &["--grid: a run of ", "more deliveries"]);
}

#[test]
fn sources_of_tiny_intervals_are_refused_by_their_key() {
    let head = "duration = \"10 s\"";
    let telnet = "[[telnet]]\ninterval = { exponential = \"1 ns\" }";
    for arguments in [RUN, &["compare", "s.toml", "--out", "new"]] {
        refused(head, telnet, arguments, &["s.toml:7:12: telnet[0].interval", "this takes 1.0 TB of memory"]);
    }
    let on_off = "[[udp]]\nrate = \"1 Mbit/s\"\non_off = { on = { exponential = \"1 ns\" }, off = { exponential = \"1 ns\" } }";
    refused(head, on_off, RUN, &["s.toml:8:10: udp[0].on_off", "GB of memory"]);
    let rounds = "[[flow]]\nsize = \"1 B\"\ncount = 1000\nrounds = { count = 100000, idle = \"0 s\" }";
    refused(head, rounds, RUN, &["s.toml:9:10: flow[0].rounds"]);
    let web = "[[web]]\nconnections = \"persistent\"\npages = 100000\nobjects = 1000000\nobject_gap = \"0 s\"\npage_gap = \"0 s\"";
    refused(head, web, RUN, &["s.toml:9:11: web[0].objects"]);
}

#[test]
fn a_buffer_that_a_source_could_fill_is_refused() {
    let scratch = Scratch::new();
    let text = "duration = \"10000 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"1000000000000 packets\"\n\
                [[udp]]\nrate = \"10 Gbit/s\"\n";
    scratch.write("s.toml", text);
    let run = scratch.run(RUN);
    assert!(run.code == 2 && run.err.contains("s.toml:5:10: path.buffer"), "{run:?}");
}

#[test]
fn many_runs_and_recordings_are_refused_by_their_option() {
    let head = "duration = \"1 s\"";
    refused(
        head,
        "[[flow]]\ncount = 10000",
        &["run", "s.toml", "--runs", "100000"],
        &["--runs: this takes", "TB"],
    );
    let traced = ["run", "s.toml", "--trace", "--memory", "50 MB"];
    refused("", "[[flow]]\nsize = \"1 GB\"", &traced, &["--trace: this takes", "at most 50 MB"]);
    let compared = ["compare", "s.toml", "--size", "100GB", "--trace", "--out", "new"];
    refused("", "", &compared, &["--trace: this takes"]);
}

/// Lifetimes end the run, and nobody knows before how many packets the connection sends: they are counted as it goes.
#[test]
fn recorded_packets_of_a_run_without_a_duration_are_counted_while_it_goes() {
    let scratch = Scratch::new();
    let traced = |lifetime: &str| {
        scratch.write("s.toml", format!("{PATH}[[flow]]\nlifetime = \"{lifetime}\"\n"));
        let before = scratch.snapshot();
        let run = scratch.run(&["run", "s.toml", "--trace", "--memory", "20 MB"]);
        (run, before == scratch.snapshot())
    };
    // 10 Mbit/s carry 833 packets of 1500 bytes in 1 s, and 8 million in 10000 s, which take 2 GB.
    let (short, _) = traced("1 s");
    assert_eq!(short.code, 0, "{short:?}");
    let (long, unchanged) = traced("10000 s");
    assert!(long.code == 2 && unchanged, "{long:?}");
    assert!(long.err.starts_with("error: --trace: the connections send more than"), "{}", long.err);
    assert_eq!(long.err.lines().count(), 1);
}

#[test]
fn a_higher_limit_accepts_and_changes_no_result() {
    let scratch = Scratch::new();
    scratch.write("s.toml", format!("duration = \"1 s\"\n{PATH}[[flow]]\n"));
    let run = |memory: &str| {
        scratch.run(&["run", "s.toml", "--grid", "100 us", "--runs", "3", "--json", "--memory", memory])
    };
    let (low, high, refused) = (run("5 MB"), run("1000 GB"), run("2 MB"));
    assert_eq!((low.code, high.code, refused.code), (0, 0, 2), "{low:?} {refused:?}");
    let timeless = |text: &str| text.split("\"cpu_s\"").next().map(String::from);
    assert_eq!(timeless(&low.out), timeless(&high.out));
}

#[test]
fn files_that_never_end_are_refused() {
    let scratch = Scratch::new();
    let results = scratch.run(&["reproduce", "--results", "/dev/zero"]);
    assert_eq!((results.code, &*results.out), (2, ""), "{results:?}");
    assert!(results.err.contains("/dev/zero: cannot be read: it is a device"), "{}", results.err);
    scratch.write("out/kept", "");
    std::os::unix::fs::symlink("/dev/zero", scratch.path().join("out/runs.jsonl")).expect("a link");
    let store = scratch.run(&["reproduce", "AS-01", "--out", "out"]);
    assert!(store.code == 2 && store.err.contains("runs.jsonl: cannot be read: it is a device"), "{store:?}");
}
