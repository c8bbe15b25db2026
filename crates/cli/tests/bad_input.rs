//! Bad input gives one error message and exit code 2, and leaves no files.

use crate::common::Scratch;

const GOOD: &str = r#"[path]
rate = "40 Mbit/s"
rtt = "100 ms"
buffer = "1 BDP"
[[flow]]
size = "30 KB"
"#;

/// Runs `arguments` in a folder with `files`, and expects an error whose message contains all `parts` in order.
fn refused(files: &[(&str, &[u8])], arguments: &[&str], input: &str, parts: &[&str]) {
    let scratch = Scratch::new();
    for (name, content) in files {
        scratch.write(name, content);
    }
    let before = scratch.snapshot();
    let run = scratch.run_with(arguments, input);
    assert_eq!(run.code, 2, "{arguments:?}: {run:?}");
    assert_eq!(run.out, "", "{arguments:?}");
    assert!(run.err.starts_with("error: ") && run.err.lines().count() == 1, "{arguments:?}: {}", run.err);
    let mut rest = &*run.err;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("{arguments:?}: no {part:?} in {}", run.err));
        rest = &rest[at + part.len()..];
    }
    assert_eq!(scratch.snapshot(), before, "{arguments:?} left something behind");
}

/// Expects an error for the scenario [`GOOD`] with `good` replaced by `bad`, from both commands that read scenarios.
fn refused_scenario(good: &str, bad: &str, parts: &[&str]) {
    assert!(GOOD.contains(good));
    let text = GOOD.replacen(good, bad, 1);
    for command in ["run", "compare"] {
        refused(&[("bad.toml", text.as_bytes())], &[command, "bad.toml", "--out", "new/folder"], "", parts);
    }
}

#[test]
fn scenario_errors_state_file_line_key_value_and_the_expected_value() {
    refused_scenario("rate =", "rat =", &["bad.toml:2:1: path.rat", "no such key", "did you mean \"rate\"?"]);
    refused_scenario(
        "40 Mbit/s",
        "40 mbps",
        &["bad.toml:2:8: path.rate = \"40 mbps\"", "refused because", "Mbit/s"],
    );
    refused_scenario(
        "\"100 ms\"",
        "100",
        &["bad.toml:3:7: path.rtt = 100: the unit is missing", "expected a delay"],
    );
    refused_scenario("40 Mbit/s", "0 bit/s", &["bad.toml:2:8: path.rate = \"0 bit/s\"", "above zero"]);
    refused_scenario("100 ms", "-1 ms", &["bad.toml:3:7: path.rtt = \"-1 ms\"", "negative"]);
    refused_scenario("1 BDP", "0 packets", &["bad.toml:4:10: path.buffer = \"0 packets\""]);
    refused_scenario("30 KB", "30 KBytes", &["bad.toml:6:8: flow[0].size", "there is no unit \"KBytes\""]);
    refused_scenario("[[flow]]", "[[flow]", &["bad.toml:5:", "not TOML"]);
}

#[test]
fn unknown_schemes_and_queues_are_refused_by_name() {
    let flow = "[[flow]]\n";
    refused_scenario(
        flow,
        "[[flow]]\nstartup = \"slow-strat\"\n",
        &["bad.toml:6:11: flow[0].startup", "\"slow-strat\"", "did you mean \"slow-start\"?"],
    );
    refused_scenario(
        flow,
        "[[flow]]\nstartup = \"paced-chirping\"\n",
        &["bad.toml:6:11: flow[0].startup", "not implemented: paced-chirping"],
    );
    refused_scenario(
        "buffer =",
        "queue = \"read\"\nbuffer =",
        &["bad.toml:4:9: path.queue = \"read\"", "did you mean \"red\"?"],
    );
}

#[test]
fn a_scheme_whose_needs_the_host_cannot_meet_is_refused_before_any_run() {
    let text = GOOD.replace("[[flow]]", "[[flow]]\nprofile = \"ns2\"\nstartup = \"jump-start\"");
    refused(
        &[("ns2.toml", text.as_bytes())],
        &["run", "ns2.toml"],
        "",
        &["ns2.toml:7:11", "jump-start", "handshake"],
    );
    let arguments = ["compare", "cable", "--profile", "ns2", "--startup", "jump-start"];
    refused(&[], &arguments, "", &["jump-start", "handshake"]);
}

/// A pcap file of Ethernet frames.
fn pcap(frames: &[&[u8]]) -> Vec<u8> {
    let mut file = vec![];
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        file.extend(word.to_le_bytes());
    }
    for frame in frames {
        for word in [1, 0, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(*frame);
    }
    file
}

#[test]
fn a_file_without_tcp_packets_is_refused_with_its_content() {
    // Ethernet, type ARP.
    let arp = [&[0_u8; 12][..], &[0x08, 0x06], &[0; 28]].concat();
    refused(
        &[("arp.pcap", &pcap(&[&arp]))],
        &["compare", "arp.pcap"],
        "",
        &["arp.pcap", "no TCP packet among 1 packets"],
    );
    refused(
        &[("empty.pcap", &pcap(&[]))],
        &["compare", "empty.pcap"],
        "",
        &["empty.pcap", "contains no packet"],
    );
    let half = &pcap(&[&arp])[..50];
    refused(&[("half.pcap", half)], &["compare", "half.pcap"], "", &["half.pcap", "truncated"]);
    refused(&[("text.pcap", b"not a capture")], &["compare", "text.pcap"], "", &["text.pcap: not a capture"]);
    refused(&[("blob", &[7, 0, 7, 0])], &["compare", "blob"], "", &["blob: neither a capture"]);
}

#[test]
fn unreadable_inputs_are_refused_by_name() {
    refused(&[], &["run", "none.toml"], "", &["none.toml: cannot be read"]);
    refused(&[], &["run", "."], "", &[".: cannot be read"]);
    refused(&[], &["compare", "."], "", &[".: the folder contains no capture"]);
    refused(
        &[],
        &["compare", "geo-satelite"],
        "",
        &["geo-satelite: no file and no path preset has this name", "\"geo-satellite\"?"],
    );
    refused(&[], &["presets", "cabel"], "", &["\"cabel\"", "did you mean \"cable\"?"]);
}

#[test]
fn an_output_folder_that_cannot_be_written_is_refused_before_any_run() {
    // Nobody, not even root, can create a folder below a file.
    let files: &[(&str, &[u8])] = &[("good.toml", GOOD.as_bytes()), ("file", b"")];
    for out in ["file", "file/below"] {
        refused(files, &["run", "good.toml", "--out", out], "", &["cannot write", out, "--out"]);
        refused(files, &["compare", "cable", "--out", out], "", &["cannot write", out, "--out"]);
    }
}

#[test]
fn option_errors_have_the_words_of_scenario_errors() {
    let compare = |arguments: &[&str], parts: &[&str]| {
        refused(&[], &[&["compare"], arguments].concat(), "", parts);
    };
    compare(&[], &["no path is given; expected a capture", "--rate \"40 Mbit/s\" --rtt"]);
    compare(&["--rate", "40 Mbit/s", "--buffer", "1 BDP"], &["--rtt: missing; expected a"]);
    let path = |name, value| {
        let mut options =
            [["--rate", "40 Mbit/s"], ["--rtt", "100 ms"], ["--buffer", "1 BDP"], ["--loss", "0"]];
        let given = options.iter_mut().find(|option| option[0] == name).expect("an option");
        given[1] = value;
        options.concat()
    };
    compare(&path("--rate", "40"), &["--rate \"40\": the unit is missing; expected a rate"]);
    compare(&path("--rate", "0 bit/s"), &["--rate \"0 bit/s\": ", "above zero"]);
    compare(&path("--rate", "40 Mbps"), &["--rate \"40 Mbps\": \"Mbps\" is refused because"]);
    compare(&path("--rtt", "-5 ms"), &["--rtt \"-5 ms\": negative"]);
    compare(&path("--buffer", "0 packets"), &["--buffer \"0 packets\": "]);
    compare(&path("--loss", "1"), &["--loss 1.0: "]);
    compare(&path("--loss", "5"), &["--loss 5.0: ", "did you mean \"5%\"?"]);
    compare(&path("--loss", "-0.1"), &["--loss -0.1: "]);
    compare(&path("--loss", "1 percent"), &["--loss \"1 percent\": "]);
    compare(&["cable", "--rtt", "9"], &["--rtt \"9\": the unit is missing"]);
    compare(&["cable", "--size", "30KB,300"], &["--size \"300\": the unit is missing"]);
    compare(
        &["cable", "--size", "30kb"],
        &["--size \"30kb\": there is no unit \"kb\"", "did you mean \"30 KB\"?"],
    );
    compare(
        &["cable", "--scheme", "slow-start+cubik"],
        &["--scheme", "\"cubik\"", "did you mean \"cubic\"?"],
    );
    compare(&["cable", "--startup", "reno"], &["--startup \"reno\": reno is not a start-up scheme"]);
    compare(
        &["cable", "--profile", "rfc", "--scheme", "bbr"],
        &["bbr needs delivery-rate samples, which only senders of profiles linux and all of QUIC"],
    );
    compare(&["cable", "--avoidance", "bbr"], &["--avoidance \"bbr\": bbr is not an avoidance scheme"]);
    compare(&["cable", "--profile", "linus"], &["--profile \"linus\"", "did you mean \"linux\"?"]);
    let files: &[(&str, &[u8])] = &[("good.toml", GOOD.as_bytes())];
    refused(
        files,
        &["compare", "good.toml", "--loss", "0.1"],
        "",
        &["--loss", "the scenario already defines the path"],
    );
    refused(files, &["run", "good.toml", "--grid", "0 s"], "", &["--grid \"0 s\": zero; expected a time"]);
    refused(files, &["run", "good.toml", "--grid", "1"], "", &["--grid \"1\": the unit is missing"]);
}

#[test]
fn unknown_options_and_commands_are_refused() {
    let scratch = Scratch::new();
    for arguments in
        [&["run"][..], &["compare", "cable", "--rtd", "1 ms"], &["lab", "rnu"], &["run", "x", "--runs", "0"]]
    {
        let run = scratch.run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {run:?}");
        assert!(run.out.is_empty() && run.err.starts_with("error: "), "{arguments:?}: {run:?}");
    }
}

#[test]
fn errors_in_a_sender_script_state_the_line() {
    const OPEN: &str = r#"{"at_us":10,"do":"established","mss":1000,"window":65535}"#;
    let sender = |options: &[&str], line: &str, parts: &[&str]| {
        // The sender answers the first line before it reads the next.
        let scratch = Scratch::new();
        let run = scratch.run_with(&[&["sender"], options].concat(), &format!("{OPEN}\n\n{line}\n"));
        assert_eq!((run.code, run.out.lines().count()), (2, 1), "{line}: {run:?}");
        let message = run.err.strip_prefix("error: standard input:3:").expect(&run.err);
        assert!(parts.iter().all(|part| message.contains(part)) && run.err.lines().count() == 1, "{message}");
    };
    sender(&[], "nonsense", &["not JSON"]);
    sender(&[], OPEN, &["13: do = \"established\": the connection is open already"]);
    sender(&[], r#"{"at_us":9,"do":"advance"}"#, &["at_us = 9: time goes back", "10"]);
    sender(&[], r#"{"at_us":10,"do":"ack"}"#, &["ack: missing"]);
    let early = r#"{"at_us":0,"do":"write","bytes":1}"#;
    refused(&[], &["sender"], early, &["standard input:1:12: do = \"write\": the connection is not open"]);
    let sizeless = r#"{"at_us":0,"do":"established","window":65535}"#;
    refused(&[], &["sender"], sizeless, &["standard input:1:1: mss: missing", "--mss"]);
    for (options, parts) in [
        (
            ["--profile", "bsd"],
            &["--profile \"bsd\": there is no \"bsd\"", "one of: rfc, ns2, linux, quinn"][..],
        ),
        (["--startup", "cubic"], &["--startup \"cubic\": cubic is not a start-up scheme"]),
        (["--recovery", "sac"], &["--recovery \"sac\"", "did you mean \"sack\"?"]),
        (["--initial-window", "10"], &["--initial-window \"10\": the unit is missing"]),
        (["--initial-ssthresh", "none"], &["--initial-ssthresh \"none\""]),
        (["--min-rto", "0 s"], &["--min-rto \"0 s\"", "above zero"]),
        (["--idle-restart", "paced"], &["--idle-restart \"paced\"", "did you mean \"pace\"?"]),
        (
            ["--startup=bbr", "--idle-restart=pace"],
            &["--idle-restart", "bbr has its own rule for idle times"],
        ),
    ] {
        refused(&[], &[&["sender"][..], &options].concat(), OPEN, parts);
    }
}

#[test]
fn a_write_after_close_is_refused() {
    let scratch = Scratch::new();
    let script = r#"{"at_us":0,"do":"established","mss":1000,"window":65535}
{"at_us":0,"do":"close"}
{"at_us":0,"do":"write","bytes":1}
"#;
    let run = scratch.run_with(&["sender"], script);
    assert_eq!((run.code, run.out.lines().count()), (2, 2));
    assert!(
        run.err.contains("standard input:3:12: do = \"write\": nothing is written after \"close\""),
        "{}",
        run.err
    );
}

#[test]
fn an_unknown_line_or_paper_is_refused_with_the_nearest_name() {
    refused(
        &[],
        &["reproduce", "AS-1"],
        "",
        &["ID \"AS-1\": neither a paper nor a line", "expected \"all\", a paper (", "did you mean \"AS-"],
    );
    refused(&[], &["reproduce", "all", "--papers", "nowhere"], "", &["nowhere", "No such file"]);
}

#[test]
fn errors_in_the_files_of_a_paper_are_reported_before_any_run() {
    let targets: &[u8] = include_bytes!("../../reproduce/testdata/targets.psv");
    let paper: &[u8] = include_bytes!("../../reproduce/testdata/paper.toml");
    let experiment = "title = \"t\"\nscenario = \"s.toml\"\n[[axis]]\nname = \"rate\"\nkey = \"path.rate\"\nvalues = [\"40 mbps\"]\n";
    let files: &[(&str, &[u8])] = &[
        ("p/targets.psv", targets),
        ("p/x/paper.toml", paper),
        ("p/x/scenarios/s.toml", GOOD.as_bytes()),
        ("p/x/experiments/e.toml", experiment.as_bytes()),
    ];
    refused(
        files,
        &["reproduce", "--papers", "p", "--out", "new/folder"],
        "",
        &["x/experiments/e.toml: at 40 mbps", "Mbit/s"],
    );
}

#[test]
fn an_unreadable_or_too_short_log_is_refused() {
    let line = |second: u32| {
        format!("192.0.2.1 - - [10/Oct/2000:13:55:{second:02} +0000] \"GET / HTTP/1.0\" 200 1\n")
    };
    let log = line(1) + &line(9);
    refused(&[], &["log", "none.log"], "", &["none.log", "cannot be read"]);
    refused(
        &[("a.log", log.as_bytes())],
        &["log", "a.log"],
        "",
        &["a.log", "spans 8 s", "3600 s", "--window"],
    );
    refused(
        &[("a.log", log.as_bytes())],
        &["log", "a.log", "--window", "0 s"],
        "",
        &["--window \"0 s\": zero; expected a time above zero"],
    );
    refused(
        &[("a.log", log.as_bytes())],
        &["log", "a.log", "--window", "5"],
        "",
        &["--window \"5\": the unit is missing"],
    );
    let odd = "example.org - - [10/Oct/2000:13:55:36 +0000] \"GET /\" 200 1\n";
    let wrong = log.clone() + &odd.repeat(3);
    refused(
        &[("a.log", wrong.as_bytes())],
        &["log", "a.log"],
        "",
        &["a.log", "3 of 5 lines are passed over", "client", "IPv4 or IPv6", "line 3"],
    );
}

#[test]
fn bpf_objects_that_cannot_run_are_refused_by_name() {
    let reno = include_bytes!("../../bpf/tests/objects/reno.bpf.o");
    let faults = include_bytes!("../../bpf/tests/objects/faults.bpf.o");
    let compare = |object, scheme| {
        let path =
            ["compare", "--rate", "10 Mbit/s", "--rtt", "20 ms", "--buffer", "1 BDP", "--size", "30 KB"];
        [&path[..], &["--out", "new/folder", "--bpf", object, "--scheme", scheme]].concat()
    };
    refused(&[], &compare("none.o", "bpf-test-reno"), "", &["--bpf none.o: cannot be read: "]);
    refused(
        &[("text.o", b"text")],
        &compare("text.o", "bpf-test-reno"),
        "",
        &["--bpf text.o: not an eBPF object"],
    );
    let twice = [compare("reno.o", "bpf-test-reno"), vec!["--bpf", "reno.o"]].concat();
    refused(
        &[("reno.o", reno)],
        &twice,
        "",
        &["--bpf reno.o: there is already a avoidance scheme \"bpf-test-reno\""],
    );
    // Another stack has no delivery rate.
    let other = [compare("reno.o", "bpf-test-reno"), vec!["--profile", "rfc"]].concat();
    refused(&[("reno.o", reno)], &other, "", &["bpf-test-reno", "delivery-rate"]);
    // A program that stops: the run has no result.
    let stops = compare("faults.o", "bpf-test-writes");
    let parts = ["bpf-test-writes stopped after ", " in writes: it writes 4 bytes", "(tcp_sock.snd_una)"];
    refused(&[("faults.o", faults)], &stops, "", &parts);
}

#[test]
fn a_bpf_object_runs_beside_the_built_in_schemes() {
    let scratch = Scratch::new();
    scratch.write("reno.o", include_bytes!("../../bpf/tests/objects/reno.bpf.o"));
    let flow = |avoidance| format!("{GOOD}profile = \"linux\"\n{avoidance}\n");
    scratch.write("own.toml", flow("avoidance = \"bpf-test-reno\"").as_bytes());
    scratch.write("known.toml", flow("startup = \"slow-start\"\navoidance = \"reno\"").as_bytes());
    let completion = |arguments: &[&str]| {
        let run = scratch.run_with(arguments, "");
        assert_eq!(run.code, 0, "{run:?}");
        let at = run.out.find("\"completion_s\":").expect("a time");
        run.out[at..].split(',').next().expect("a number").to_owned()
    };
    let own = completion(&["run", "own.toml", "--bpf", "reno.o", "--json"]);
    assert_eq!(own, completion(&["run", "known.toml", "--json"]));
}
