//! Inputs of `compare`: compressed captures, several of them, folders, rings, standard input; presets with other values.

use crate::common::{Finished, Scratch};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

fn shipped(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../capture/testdata/{name}", env!("CARGO_MANIFEST_DIR"))).expect("a capture")
}

/// A pcap file in two files, of which the first has this number of packets.
fn split(file: &[u8], packets: usize) -> [Vec<u8>; 2] {
    let mut at = 24;
    for _ in 0..packets {
        let kept = u32::from_le_bytes(file[at + 8..at + 12].try_into().expect("four bytes"));
        at += 16 + kept as usize;
    }
    [file[..at].to_vec(), [&file[..24], &file[at..]].concat()]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(bytes).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

const QUICK: [&str; 7] = ["--size", "30KB", "--startup", "slow-start", "--runs", "2", "--json"];

fn compare(scratch: &Scratch, inputs: &[&str], stdin: &[u8]) -> Finished {
    scratch.run_with(&[&["compare"], inputs, &QUICK].concat(), stdin)
}

#[test]
fn a_capture_gives_the_same_answer_in_every_form() {
    let scratch = Scratch::new();
    let whole = shipped("p2-reno-30KB.pcap");
    let [first, second] = split(&whole, 20);
    scratch.write("whole.pcap", &whole);
    scratch.write("whole.pcap.gz", gzip(&whole));
    scratch.write("no-name-of-a-capture", gzip(&whole));
    // the order of the names is not that of the packets
    scratch.write("ring.pcap0", &second);
    scratch.write("ring.pcap1", &first);
    scratch.write("folder/b.pcap", &first);
    scratch.write("folder/a.pcap.gz", gzip(&second));
    let expected = compare(&scratch, &["whole.pcap"], b"").json();
    for (inputs, stdin, name) in [
        (&["whole.pcap.gz"][..], &b""[..], "whole.pcap.gz"),
        (&["no-name-of-a-capture"], b"", "no-name-of-a-capture"),
        (&["-"], &whole, "standard input"),
        (&["-"], &gzip(&whole), "standard input"),
        (&["ring.pcap"], b"", "ring.pcap1 and 1 more file"),
        (&["ring.pcap0", "ring.pcap1"], b"", "ring.pcap1 and 1 more file"),
        (&["folder"], b"", "b.pcap and 1 more file"),
    ] {
        let found = compare(&scratch, inputs, stdin).json();
        assert_eq!(found["title"], name);
        for part in ["connections", "results"] {
            assert_eq!(found[part], expected[part], "{inputs:?}");
        }
        assert_eq!(found["path"]["estimates"], expected["path"]["estimates"], "{inputs:?}");
    }
}

#[test]
fn a_name_stands_for_the_files_of_its_ring() {
    let scratch = Scratch::new();
    let whole = shipped("p2-reno-30KB.pcap");
    let [first, rest] = split(&whole, 20);
    let [second, third] = split(&rest, 10);
    scratch.write("expected.pcap", &whole);
    let expected = compare(&scratch, &["expected.pcap"], b"").json();
    // -C without -W; the same with -z gzip, whose last file is not compressed; -b of dumpcap; -c of editcap; -G
    let rings: [(&str, [&str; 3]); 7] = [
        ("c/day.pcap", ["c/day.pcap", "c/day.pcap1", "c/day.pcap2"]),
        ("n/eth0", ["n/eth0", "n/eth01", "n/eth02"]),
        ("z/day.pcap", ["z/day.pcap.gz", "z/day.pcap1.gz", "z/day.pcap2"]),
        ("w/day.pcap", ["w/day.pcap00", "w/day.pcap01", "w/day.pcap02"]),
        (
            "d/day.pcapng",
            [
                "d/day_00009_20261127190000.pcapng",
                "d/day_00010_20261127190001.pcapng",
                "d/day_00011_20261127190001.pcapng",
            ],
        ),
        (
            "e/day.pcap",
            [
                "e/day_00000_20261127190000.pcap",
                "e/day_00001_20261127190000.pcap",
                "e/day_00002_20261127190001.pcap",
            ],
        ),
        ("g/day-%H%M.pcap", ["g/day-2359.pcap", "g/day-0000.pcap", "g/day-0000.pcap1"]),
    ];
    for (name, files) in rings {
        for (file, bytes) in files.iter().zip([&first, &second, &third]) {
            scratch.write(file, if file.ends_with(".gz") { gzip(bytes) } else { bytes.clone() });
        }
        let found = compare(&scratch, &[name], b"").json();
        let title = format!("{} and 2 more files", files[0].rsplit('/').next().expect("a name"));
        assert_eq!(found["title"], title, "{name}");
        for part in ["connections", "results", "warnings"] {
            assert_eq!(found[part], expected[part], "{name}");
        }
        // one of its files alone, not the first; the first file of -G and a name without an ending do not show their ring
        let alone = compare(&scratch, &[files[1]], b"");
        let is_named = alone.err.contains("2 of the 3 files of its ring are not read");
        assert_eq!(is_named, !name.starts_with(['g', 'n']), "{name}: {}", alone.err);
    }
}

#[test]
fn files_that_do_not_follow_the_first_of_a_ring_are_named() {
    let scratch = Scratch::new();
    let whole = shipped("p2-reno-30KB.pcap");
    let [first, second] = split(&whole, 20);
    // an older capture left its second file; another one is no capture; a ring of -W has numbers from 0 on
    let [older, newer] = split(&whole, 5);
    scratch.write("old/day.pcap", &newer);
    scratch.write("old/day.pcap1", &older);
    scratch.write("text/day.pcap", &whole);
    scratch.write("text/day.pcap1", "notes");
    scratch.write("other/day.pcap", &whole);
    scratch.write("other/day.pcap00", &second);
    // the copies of editcap beside their original
    scratch.write("parts/day.pcap", &whole);
    scratch.write("parts/day_00000_20261127190000.pcap", &first);
    // the eleventh file is none of the second
    scratch.write("many/day.pcap1", &whole);
    scratch.write("many/day.pcap11", &second);
    let cases = [
        (
            "old/day.pcap",
            Some(
                "old/day.pcap1: the file has the name of the next file of old/day.pcap and begins before it",
            ),
        ),
        (
            "text/day.pcap",
            Some("text/day.pcap1: the file has the name of the next file of text/day.pcap and is no capture"),
        ),
        ("other/day.pcap", Some("other/day.pcap: one file beside it has its name and a number")),
        ("parts/day.pcap", None),
        ("many/day.pcap1", Some("many/day.pcap1: 1 of the 2 files of its ring is not read")),
    ];
    for (name, warning) in cases {
        let run = compare(&scratch, &[name], b"");
        let found: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
        assert_eq!(found["title"], name.rsplit('/').next().expect("a name"));
        let said =
            found["warnings"].as_array().into_iter().flatten().any(|it| {
                it.as_str().is_some_and(|it| warning.is_some_and(|warning| it.starts_with(warning)))
            });
        assert_eq!((run.code, said), (0, warning.is_some()), "{name}: {}", run.err);
    }
}

#[test]
fn the_digest_of_several_files_is_that_of_their_bytes_in_a_row() {
    let scratch = Scratch::new();
    let whole = shipped("p2-reno-30KB.pcap");
    let [first, second] = split(&whole, 20);
    scratch.write("a.pcap", &first);
    scratch.write("b.pcap", &second);
    let of_two = compare(&scratch, &["b.pcap", "a.pcap"], b"").json();
    let of_one = compare(&scratch, &["-"], &[first, second].concat());
    // the second header is damage to the reader, and part of the digest
    assert_eq!(of_one.code, 0, "{}", of_one.err);
    let of_one: serde_json::Value = serde_json::from_str(&of_one.out).expect("JSON");
    let input = |report: &serde_json::Value| report["provenance"]["inputs"][0].clone();
    for key in ["sha256", "bytes"] {
        assert_eq!(input(&of_two)[key], input(&of_one)[key]);
    }
}

#[test]
fn inputs_that_do_not_go_together_are_refused() {
    let scratch = Scratch::new();
    scratch.write("a.pcap", shipped("p2-reno-30KB.pcap"));
    scratch.write("s.toml", "title = \"x\"");
    scratch.write("text/notes", "no capture");
    scratch.write("x.pcap.xz", [0xfd, b'7', b'z', b'X', b'Z', 0]);
    for (inputs, message) in [
        (&["a.pcap", "s.toml"][..], "s.toml: a scenario cannot be combined with other inputs"),
        (&["cable", "a.pcap"], "cable: a path preset cannot be combined with other inputs"),
        (&["a.pcap", "b.pcap"], "b.pcap: there is no such file"),
        (&["text"], "text: the folder contains no capture"),
        (&["x.pcap.xz"], "x.pcap.xz: the file is compressed with xz, which is not read"),
        (&["-", "a.pcap"], "-: standard input cannot be combined with other inputs"),
        (&["-"], "standard input: not a capture"),
    ] {
        let before = scratch.snapshot();
        let run = compare(&scratch, inputs, b"nonsense");
        assert_eq!((run.code, &*run.out, run.err.lines().count()), (2, "", 1), "{inputs:?}: {}", run.err);
        assert!(run.err.starts_with(&format!("error: {message}")), "{}", run.err);
        assert_eq!(scratch.snapshot(), before, "{inputs:?}");
    }
}

#[test]
fn options_of_the_path_replace_values_of_a_preset() {
    let scratch = Scratch::new();
    let report = compare(&scratch, &["cable", "--rtt", "80 ms", "--loss", "1%"], b"").json();
    assert_eq!(report["title"], "Cable (DOCSIS 3.1), with --rtt 80 ms --loss 1%");
    let path = &report["path"];
    // 3750 KB are 2500 packets of 1500 bytes
    let expected = serde_json::json!({ "rate_bit_s": 300_000_000, "rtt_ms": 80.0, "buffer_packets": 2500, "loss": 0.01 });
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(&path[key], value, "{key}");
    }
    // One BDP of the path as changed: 300 Mbit/s times 80 ms are 3 MB, or 2000 packets.
    let report =
        compare(&scratch, &["cable", "--rtt", "80 ms", "--buffer", "1 BDP", "--loss", "0.01"], b"").json();
    assert_eq!(report["path"]["buffer_packets"], 2000);
}

#[test]
fn a_run_without_traffic_is_refused_with_what_to_do() {
    let scratch = Scratch::new();
    let preset = scratch.run(&["presets", "cable"]);
    scratch.write("cable.toml", &preset.out);
    scratch.write("server.pcap", "no packet yet");
    let before = scratch.snapshot();
    for (named, message) in [
        ("cable.toml", "error: cable.toml: the scenario has no traffic to run; expected a table [[flow]]"),
        ("cable", "error: cable: a path preset has no traffic to run; expected firstflight compare cable"),
        (
            "server.pcap",
            "error: server.pcap: a capture is no scenario; expected a scenario file; did you mean \"firstflight compare server.pcap\"?",
        ),
    ] {
        let run = scratch.run(&["run", named, "--out", "new"]);
        assert_eq!((run.code, &*run.out, run.err.lines().count()), (2, "", 1), "{}", run.err);
        assert!(run.err.starts_with(message), "{}", run.err);
    }
    assert_eq!(scratch.snapshot(), before);
}

#[test]
fn the_command_for_a_capture_is_printed() {
    let scratch = Scratch::new();
    let run = scratch.run(&["capture", "--port", "443", "--for", "60s"]);
    let expected = "sudo timeout 60 tcpdump -i any -s 128 -B 16384 -C 100 -W 20 -Z \"$USER\" -w server.pcap 'tcp port 443'\n";
    assert_eq!((run.code, &*run.err), (0, ""));
    assert_eq!(run.out, format!("{expected}firstflight compare server.pcap\n"));
    let wrong = scratch.run(&["capture", "--port", "70000"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("expected a whole number from 1 to 65535"), "{}", wrong.err);
}

#[cfg(unix)]
#[test]
fn ctrl_c_while_reading_answers_from_what_was_read() {
    use std::process::{Command, Stdio};
    use std::time::Duration;
    let scratch = Scratch::new();
    let whole = shipped("p1-reno-1000KB.pcap");
    let [first, second] = split(&whole, 600);
    let mut child = Command::new(env!("CARGO_BIN_EXE_firstflight"))
        .args(["compare", "-"])
        .args(QUICK)
        .current_dir(scratch.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(&first).expect("the program reads");
    std::thread::sleep(Duration::from_millis(500));
    let kill = ["-c", "kill -s INT \"$1\"", "sh", &child.id().to_string()];
    assert!(Command::new("sh").args(kill).status().expect("a shell").success());
    std::thread::sleep(Duration::from_millis(200));
    // more than 4096 packets, at which the reader asks: copies of the rest
    for _ in 0..10 {
        if input.write_all(&second[24..]).is_err() {
            break;
        }
    }
    drop(input);
    let done = Finished::from(child.wait_with_output().expect("the program ends"));
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(
        done.err.contains("standard input: reading was stopped after 4096 packets; these are used"),
        "{}",
        done.err
    );
    let report: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    assert_eq!(report["results"].as_array().map(Vec::len), Some(1));
}
