//! `compare` on captures: names of every kind, clocks that were set, paths that cannot be simulated.

use std::ffi::OsString;

use crate::common::{Finished, Scratch};
use serde_json::Value;

fn shipped(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../capture/testdata/{name}", env!("CARGO_MANIFEST_DIR"))).expect("a capture")
}

/// A little-endian pcap file with new times, microseconds: `moved` gets the number of each packet and its time since
/// the first one.
fn with_times(file: &[u8], moved: impl Fn(usize, u64) -> u64) -> Vec<u8> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let (mut file_with, mut at, mut number, mut start) = (file.to_vec(), 24, 0, None);
    while at < file.len() {
        let us = u64::from(word(at)) * 1_000_000 + u64::from(word(at + 4));
        let start = *start.get_or_insert(us);
        let us = 1_000_000_000 + moved(number, us - start);
        file_with[at..at + 4].copy_from_slice(&((us / 1_000_000) as u32).to_le_bytes());
        file_with[at + 4..at + 8].copy_from_slice(&((us % 1_000_000) as u32).to_le_bytes());
        at += 16 + word(at + 8) as usize;
        number += 1;
    }
    file_with
}

const QUICK: [&str; 6] = ["--size", "30KB", "--startup", "slow-start", "--runs", "2"];

#[cfg(unix)]
#[test]
fn captures_of_any_name_are_compared_and_named_in_every_result() {
    use std::os::unix::ffi::OsStringExt;
    let file = shipped("p2-reno-30KB.pcap");
    let long = "x".repeat(250);
    let names: [(&[u8], &str); 9] = [
        // a decomposed letter, an emoji, a script with joined letters, a no-break space
        ("Cafe\u{301}.pcap".as_bytes(), "Cafe\u{301}.pcap"),
        ("\u{2764}\u{fe0f}.pcap".as_bytes(), "\u{2764}\u{fe0f}.pcap"),
        ("हिन्दी.pcap".as_bytes(), "हिन्दी.pcap"),
        ("a\u{a0}b.pcap".as_bytes(), "a\u{a0}b.pcap"),
        (b"Caf\xe9.pcap", "Caf\u{fffd}.pcap"),
        (b"new\nline.pcap", "new\nline.pcap"),
        (b"\"quoted\\\".pcap", "\"quoted\\\".pcap"),
        (b"<script>.pcap", "<script>.pcap"),
        (long.as_bytes(), &long),
    ];
    for (name, shown) in names {
        let scratch = Scratch::new();
        let named = OsString::from_vec(name.to_vec());
        let out = OsString::from_vec([b"of ", &name[..name.len().min(200)]].concat());
        std::fs::write(scratch.path().join(&named), &file).expect("a capture for the test");
        let arguments = |more: &[OsString]| {
            let quick = QUICK.map(OsString::from);
            [&["compare".into(), named.clone()], &quick[..], more].concat()
        };
        let report = scratch.run_with(&arguments(&["--out".into(), out.clone(), "--json".into()]), "").json();
        let shown = Value::from(shown);
        let seen =
            [&report["title"], &report["path"]["inferred_from"], &report["provenance"]["inputs"][0]["name"]];
        assert_eq!(seen, [&shown; 3]);
        let page = std::fs::read_to_string(scratch.path().join(out).join("report.html")).expect("a page");
        assert!(page.contains("<title>") && !page.contains("<script>.pcap"), "{shown}");
        let table = scratch.run_with(&arguments(&[]), "");
        assert_eq!((table.code, &*table.err), (0, ""), "{shown}");
    }
}

#[test]
fn a_clock_set_back_by_more_than_the_round_trip_changes_no_winner() {
    // the round trip is 60 ms
    let file = shipped("p1-reno-1000KB.pcap");
    let set = |by: u64| with_times(&file, |number, us| 1_000_000 + us - if number < 700 { 0 } else { by });
    let scratch = Scratch::new();
    scratch.write("as-captured.pcap", set(0));
    scratch.write("set-back.pcap", set(70_000));
    let arguments =
        ["--json", "--runs", "10", "--startup", "slow-start,hystart++,jump-start", "--size", "30KB,300KB"];
    let true_run = scratch.run(&[&["compare", "as-captured.pcap"][..], &arguments].concat());
    let run = scratch.run(&[&["compare", "set-back.pcap"][..], &arguments].concat());
    // A slow machine says how far it is.
    let said = |run: &Finished| {
        run.err.lines().filter(|line| !line.ends_with(" left")).map(String::from).collect::<Vec<_>>()
    };
    let warnings = said(&run);
    assert!(warnings[0].starts_with("warning: the capture's clock was set once"), "{warnings:?}");
    assert_eq!(said(&true_run), Vec::<String>::new());
    let [true_report, report] =
        [true_run, run].map(|run| serde_json::from_str::<Value>(&run.out).expect("a comparison"));
    for (one, other) in [(&true_report, &report), (&report, &true_report)]
        .map(|(a, b)| (&a["path"]["estimates"], &b["path"]["estimates"]))
    {
        for (one, other) in
            one.as_array().expect("estimates").iter().zip(other.as_array().expect("estimates"))
        {
            assert_eq!(one["field"], other["field"]);
            assert!(one["low"].as_f64() <= other["high"].as_f64(), "{one} {other}");
        }
    }
    let ranking = |report: &Value| {
        let results = report["results"].as_array().expect("results");
        results
            .iter()
            .map(|result| (result["size_bytes"].clone(), result["scheme"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(ranking(&report), ranking(&true_report));
}

#[test]
fn a_round_trip_above_an_hour_is_refused_with_the_option_that_replaces_it() {
    // the connection of 200 ms, slowed down 20 000 times
    let scratch = Scratch::new();
    scratch.write("slow.pcap", with_times(&shipped("p2-reno-30KB.pcap"), |_, us| us * 20_000));
    let before = scratch.snapshot();
    let run = scratch.run(&[&["compare", "slow.pcap"][..], &QUICK].concat());
    assert_eq!((run.code, &*run.out, run.err.lines().count()), (2, "", 1), "{}", run.err);
    for part in ["error: slow.pcap: the inferred round-trip time is 40", "at most 3600 s", "--rtt"] {
        assert!(run.err.contains(part), "{}", run.err);
    }
    assert_eq!(scratch.snapshot(), before);
    let given = scratch.run(&[&["compare", "slow.pcap", "--rtt", "100 ms"][..], &QUICK].concat());
    assert_eq!(given.code, 0, "{}", given.err);
}

#[test]
fn a_capture_and_its_copy_are_one_and_the_numbers_of_copies_are_in_the_result() {
    let scratch = Scratch::new();
    let file = shipped("p2-reno-30KB.pcap");
    std::fs::create_dir(scratch.path().join("both")).expect("a folder");
    for name in ["server.pcap", "again.pcap"] {
        std::fs::write(scratch.path().join("both").join(name), &file).expect("a capture for the test");
    }
    scratch.write("server.pcap", &file);
    let report = |input: &str| {
        let ran = scratch.run(&[&["compare", input, "--json"], &QUICK[..]].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        serde_json::from_str::<serde_json::Value>(&ran.out).expect("JSON")
    };
    let [both, alone] = ["both", "server.pcap"].map(report);
    assert_eq!((&both["connections"], &both["results"]), (&alone["connections"], &alone["results"]));
    // Counted by tshark: 48 packets of TCP.
    const PACKETS: u64 = 48;
    let none = ["same_interface", "other_interface", "other_side_of_router", "other_end"]
        .map(|key| &both["copies"][key]);
    assert_eq!((&both["copies"]["other_file"], none), (&PACKETS.into(), [&0.into(); 4]));
    assert!(alone["copies"].is_null());
    let warning =
        format!("{PACKETS} packets were captured twice and are left out: {PACKETS} in another file");
    assert!(both["warnings"][0].as_str().is_some_and(|one| one.ends_with(&warning)), "{}", both["warnings"]);
}
