//! `conform`: cases, vectors, and programs of others.

use serde_json::Value;

use crate::common::Scratch;

fn vectors() -> String {
    format!("{}/../conform/testdata", env!("CARGO_MANIFEST_DIR"))
}

/// A shell command for a controller of the examples.
fn example(name: &str) -> String {
    format!("python3 {}/../conform/examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn schemes_are_held_to_their_authors_vectors() {
    let scratch = Scratch::new();
    let found = scratch.run(&["conform", "quinn", "s2n", "tquic", "--vectors", &vectors(), "--json"]).json();
    let verdicts = found["vectors"].as_array().expect("an array");
    assert_eq!(verdicts.len(), 5, "{found}");
    for verdict in verdicts {
        assert!(
            ["equal", "within-a-segment"].contains(&verdict["outcome"].as_str().expect("a word")),
            "{verdict}"
        );
        assert_eq!(verdict["exit_theirs"], verdict["exit_ours"]);
    }
    let text = scratch.run(&["conform", "neqo-hystart", "--vectors", &vectors()]).out;
    assert!(text.contains("neqo-hystart-unpaced") && text.contains("hystart++.rules = neqo"), "{text}");
    assert!(text.ends_with("1 vector: 1 equal in the start-up, then within a segment\n"), "{text}");
}

#[test]
fn cases_of_hystart_plus_plus_hold_here_and_not_for_plain_slow_start() {
    let scratch = Scratch::new();
    let text = scratch.run(&["conform", "hystart++"]).out;
    assert!(text.ends_with("15 cases: 15 kept\n"), "{text}");
    let command = example("newreno.py");
    let unmet = scratch.run(&["conform", "hystart++", "--stack", &command, "--json"]);
    assert_eq!((unmet.code, &*unmet.err), (1, ""), "{}", unmet.out);
    let found: Value = serde_json::from_str(&unmet.out).expect("JSON");
    let violated: Vec<_> = found["cases"]
        .as_array()
        .expect("an array")
        .iter()
        .filter(|case| case["kept"] == "violated")
        .map(|case| case["case"].as_str().expect("a name"))
        .collect();
    assert_eq!(violated, ["HSPP-04b", "HSPP-05b", "HSPP-06b", "HSPP-07", "HSPP-08", "HSPP-10"]);
}

#[test]
fn models_are_shown_with_states_windows_and_what_was_taken() {
    let scratch = Scratch::new();
    let found = scratch.run(&["conform", "c4", "--vectors", &vectors(), "--details"]);
    assert_eq!((found.code, &*found.err), (0, ""));
    let text = found.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("pico-c4 S2 equal same 100 % (161 of 161)"), "{text}");
    assert!(text.contains("pico-c4 S7 as the model same 100 % (107 of 107)"), "{text}");
    let end = "2 vectors: 1 equal to the byte; 1 with the states of the model and windows within 2 % at 95 % of the ACKs";
    assert!(text.ends_with(end), "{text}");
    let all = scratch.run(&["conform", "bbr3-picoquic", "--vectors", &vectors()]).out;
    assert!(all.contains("2 of 2") && all.ends_with("2 vectors: 2 equal to the byte\n"), "{all}");
}

#[test]
fn a_case_that_the_protocol_does_not_show_is_called_so() {
    let scratch = Scratch::new();
    let command = example("newreno.py");
    let found = scratch.run(&["conform", "careful-resume", "--stack", &command]);
    assert_eq!((found.code, &*found.err), (0, ""));
    assert!(found.out.ends_with("20 cases: 20 not observable\n"), "{}", found.out);
    let here = scratch.run(&["conform", "careful-resume"]);
    assert_eq!(here.code, 0);
    assert!(here.out.ends_with("20 cases: 20 kept\n"), "{}", here.out);
}

#[test]
fn a_program_of_another_project_is_held_to_the_vectors_of_its_rule() {
    let scratch = Scratch::new();
    // quinn's NewReno counts nothing of its first flight where another flow does not precede it; on S9 one does.
    let command = example("newreno.py");
    let found = scratch
        .run(&["conform", "quinn-newreno", "--vectors", &vectors(), "--stack", &command, "--json"])
        .json();
    let [verdict] = &found["vectors"].as_array().expect("an array")[..] else { panic!("{found}") };
    assert_eq!(
        (&verdict["ours"], &verdict["outcome"]),
        (&"NewReno of RFC 9002".into(), &"within-a-segment".into())
    );
}

#[test]
fn programs_that_break_off_are_named_and_the_rest_goes_on() {
    let scratch = Scratch::new();
    for (command, why) in [
        ("true", "ended; expected an answer to each line until standard input ends"),
        (
            "echo no; cat > /dev/null",
            "answered \"no\": expected ident at line 1 column 2; expected an object such as {\"cwnd\": 12000}",
        ),
        ("echo '{\"cwnd\":12000}'; cat > /dev/null", "states no `protocol`; expected \"protocol\": 1"),
        (
            "echo '{\"cwnd\":12000,\"protocol\":7}'; cat > /dev/null",
            "speaks version 7 of the protocol; expected 1",
        ),
    ] {
        let broken = scratch.run(&["conform", "hystart++", "--stack", command]);
        assert_eq!(broken.code, 2, "{command}: {}", broken.err);
        // Each of the 15 cases is tried.
        assert!(broken.out.ends_with("15 cases: 15 without an answer\n"), "{}", broken.out);
        assert_eq!(broken.err.lines().count(), 15, "{}", broken.err);
        assert!(broken.err.lines().all(|line| line.contains(why)), "{}", broken.err);
    }
}

#[test]
fn bad_vectors_are_one_line_each_and_the_others_are_compared() {
    let scratch = Scratch::new();
    scratch.write("bad.S1.csv", "# project=x scheme=quinn-cubic path=S1\nt_us,cwnd\n1,2\n");
    let good = std::fs::read(format!("{}/quinn-cubic.S9.csv.gz", vectors())).expect("a vector");
    scratch.write("quinn-cubic.S9.csv.gz", good);
    let found = scratch.run(&["conform", "--vectors", "."]);
    assert_eq!(found.code, 2);
    assert!(found.out.contains("1 vector: 1 equal to the byte"), "{}", found.out);
    assert_eq!(
        found.err,
        "error: ./bad.S1.csv: the column acked is missing; expected t_us, cwnd, acked, lost, inflight_before, inflight_after, sent_total, \
         rtt_us, min_rtt_us, srtt_us, largest_pn, app_limited, state\n"
    );
}

#[test]
fn what_cannot_be_held_is_refused_by_name() {
    let scratch = Scratch::new();
    let refused = |arguments: &[&str]| {
        let finished = scratch.run(arguments);
        assert_eq!((finished.code, &*finished.out), (2, ""), "{arguments:?}");
        finished.err
    };
    let unknown = refused(&["conform", "hystart"]);
    assert!(unknown.starts_with("error: hystart: nothing is held under this name; expected "), "{unknown}");
    assert!(unknown.trim_end().ends_with("did you mean \"hystart++\"?"), "{unknown}");
    let without = refused(&["conform", "cubic"]);
    assert_eq!(
        without,
        "error: cubic: no draft has cases for this scheme; expected --vectors DIR, or bbr3, careful-resume, hystart++ or search\n"
    );
    let two = refused(&["conform", "--stack", "true"]);
    assert!(
        two.starts_with("error: --stack: 0 schemes are named; a controller has the rule of one"),
        "{two}"
    );
    let missing = refused(&["conform", "--vectors", "nowhere"]);
    assert!(missing.starts_with("error: nowhere: cannot be read: "), "{missing}");
    std::fs::create_dir(scratch.path().join("empty")).expect("a folder");
    let empty = refused(&["conform", "--vectors", "empty"]);
    assert!(
        empty.starts_with("error: empty: no vector of these schemes; expected a folder of files"),
        "{empty}"
    );
}
