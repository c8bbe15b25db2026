//! Files that `reproduce` reads back: its store, and `--results`. Damage never changes a number: it is repaired by running
//! again, or refused.

use crate::common::Scratch;

const SCENARIO: &str = r#"
duration = "1 s"
[path]
rate = "10 Mbit/s"
rtt = "20 ms"
buffer = "20 packets"
loss = 0.02
[[flow]]
name = "short"
size = "60 KB"
"#;

const EXPERIMENT: &str = r#"
title = "One cell"
scenario = "s.toml"
replications = 2
[metric.completion]
title = "completion, s"
flows = "short"
take = "completion_s"
over = "mean"
"#;

/// A folder with a paper of one experiment of two runs.
fn paper() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("p/targets.psv", include_str!("../../reproduce/testdata/targets.psv"));
    scratch.write("p/x/paper.toml", include_str!("../../reproduce/testdata/paper.toml"));
    scratch.write("p/x/scenarios/s.toml", SCENARIO);
    scratch.write("p/x/experiments/e.toml", EXPERIMENT);
    scratch
}

const REPRODUCE: [&str; 5] = ["reproduce", "--papers", "p", "--out", "out"];

#[test]
fn damage_of_the_store_is_reported_and_changes_no_number() {
    let scratch = paper();
    let results = || std::fs::read(scratch.path().join("out/results.json")).expect("results");
    let first = scratch.run(&REPRODUCE);
    assert_eq!((first.code, &*first.err), (0, ""), "{first:?}");
    let whole = results();
    let store = scratch.path().join("out/runs.jsonl");
    let bytes = std::fs::read(&store).expect("a store");
    assert_eq!(bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count(), 2);
    let last = bytes.len() - 2;
    let flipped = |at: usize, bit: u8| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << bit;
        bytes
    };
    let text = String::from_utf8(bytes.clone()).expect("JSON");
    let mut damaged: Vec<Vec<u8>> = vec![
        b"\xff\xfe\x00".to_vec(),
        bytes[..bytes.len() / 3].to_vec(),
        [&bytes[..], b"{\"run\":\"x\""].concat(),
        [&bytes[..], b"\xc3\x28\n"].concat(),
        text.replacen("\"values\":[", "\"values\":[1.0,", 1).into_bytes(),
        text.replacen("\"values\":[", "\"values\":[null],\"x\":[", 1).into_bytes(),
    ];
    damaged.extend((0..40).map(|i| flipped(1 + (last - 1) * i / 39, (i % 8) as u8)));
    for content in damaged {
        let shown = String::from_utf8_lossy(&content).into_owned();
        std::fs::write(&store, &content).expect("writable");
        let run = scratch.run(&REPRODUCE);
        assert_eq!((run.code, run.err.lines().count()), (0, 1), "{shown}: {run:?}");
        assert!(
            run.err.starts_with("warning: out/runs.jsonl: damaged records: line "),
            "{shown}: {}",
            run.err
        );
        assert!(results() == whole, "{shown}");
        let again = scratch.run(&REPRODUCE);
        assert_eq!((again.code, &*again.err), (0, ""), "{shown}");
        assert!(results() == whole, "{shown}");
    }
    // A record that stands twice is the same record.
    std::fs::write(&store, [&bytes[..], &bytes[..]].concat()).expect("writable");
    let run = scratch.run(&REPRODUCE);
    assert_eq!((run.code, &*run.err), (0, ""));
    assert!(results() == whole);
}

#[test]
fn a_store_that_is_no_file_is_refused() {
    let scratch = paper();
    scratch.write("out/runs.jsonl/file", "");
    let run = scratch.run(&REPRODUCE);
    assert_eq!(
        (run.code, &*run.err),
        (2, "error: out/runs.jsonl: cannot be read: it is a directory; expected a regular file\n")
    );
}

#[test]
fn results_of_a_wrong_shape_are_refused_with_their_place() {
    let array = |axes: &str, samples: &str, values: &str| {
        format!(
            "{{\"provenance\":{{\"version\":\"\",\"command\":\"\"}},\"papers\":{{\"liu\":{{\"experiments\":{{\"e\":\
             {{\"definition\":\"\",\"replications\":1,\"packet_hops\":0,\"metrics\":{{\"m\":{{\"axes\":{axes},\
             \"samples\":{samples},\"values\":{values}}}}}}}}}}}}}}}"
        )
    };
    let axis = "[{\"name\":\"a\",\"title\":\"\",\"points\":[\"p\",\"q\"],\"x\":[0,1]}]";
    let no_x = axis.replace("[0,1]", "[0]");
    let twice = axis.replace("}]", "},{\"name\":\"a\",\"title\":\"\",\"points\":[\"p\"],\"x\":[0]}]");
    let scratch = paper();
    scratch.write("good.json", array(axis, "1", "[1,null]"));
    assert_eq!(scratch.run(&[&REPRODUCE[..], &["--results", "good.json"]].concat()).code, 0);
    std::fs::remove_dir_all(scratch.path().join("out")).expect("pages");
    for (content, part) in [
        (String::new(), "EOF while parsing"),
        ("[".repeat(100_000), "invalid type"),
        ("{}".into(), "missing field"),
        ("null".into(), "invalid type: null"),
        (array(axis, "1", "[1]"), "1 values; expected 2 a x 1 samples"),
        (array(axis, "1", "[1,2,3]"), "3 values; expected 2 a x 1 samples"),
        (array(axis, "0", "[]"), "samples = 0"),
        (array(axis, "9223372036854775808", "[]"), "0 values; expected 2 a x 9223372036854775808 samples"),
        (array(axis, "-1", "[1,2]"), "invalid value"),
        (array(&no_x, "1", "[1,2]"), "axis a: 1 positions"),
        (array(&twice, "1", "[1,2]"), "axis a: given twice"),
        (array(axis, "1", "[1,NaN]"), "expected value"),
        (array(axis, "1", "[1,1e999]"), "number out of range"),
        (array(axis, "1", "[1,-1e101]"), "too large"),
        (array(axis, "1", "[1,\"2\"]"), "invalid type: string"),
        (array(axis, "1", "[1,[2]]"), "invalid type: sequence"),
        (array(axis, "1", "[1,null]") + "x", "trailing characters"),
    ] {
        scratch.write("bad.json", &content);
        let run = scratch.run(&[&REPRODUCE[..], &["--results", "bad.json"]].concat());
        assert_eq!((run.code, &*run.out, run.err.lines().count()), (2, "", 1), "{run:?}");
        assert!(run.err.starts_with("error: bad.json: ") && run.err.contains(part), "{part}: {}", run.err);
        assert!(run.err.ends_with("; expected a results.json of `firstflight reproduce`\n"), "{}", run.err);
        assert!(!scratch.path().join("out").exists(), "{part}");
    }
    let long = std::fs::File::create(scratch.path().join("long")).expect("a file");
    long.set_len((64 << 20) + 1).expect("a file without content takes no room");
    for (file, part) in [
        ("/dev/zero", "cannot be read: it is a device"),
        (".", "cannot be read: it is a directory"),
        ("none", "cannot be read"),
        ("long", "larger than 64 MiB"),
    ] {
        let run = scratch.run(&[&REPRODUCE[..], &["--results", file]].concat());
        assert_eq!((run.code, run.err.lines().count()), (2, 1), "{run:?}");
        assert!(run.err.starts_with(&format!("error: {file}: {part}")), "{}", run.err);
    }
    scratch.write("latin.json", b"{\"provenance\":{\"version\":\"\xff\"}}");
    assert_eq!(scratch.run(&[&REPRODUCE[..], &["--results", "latin.json"]].concat()).code, 2);
}
