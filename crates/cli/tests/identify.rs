//! `identify`, and `compare` with the stack that it finds.

use serde_json::Value;

use crate::common::{Finished, Scratch};

/// A folder with the three captures of Linux that the repository has.
fn captures() -> Scratch {
    let scratch = Scratch::new();
    for name in ["p1-reno-1000KB.pcap", "p1-cubic-1000KB.pcap", "p2-reno-30KB.pcap"] {
        let shipped = format!("{}/../capture/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
        scratch.write(name, std::fs::read(shipped).expect("a capture"));
    }
    scratch
}

fn only(finished: &Finished) -> Value {
    let found = finished.json();
    let [sender] = &found.as_array().expect("an array")[..] else { panic!("{found}") };
    sender.clone()
}

#[test]
fn the_control_of_linux_is_named_where_its_start_shows_it() {
    let scratch = captures();
    for (name, stack) in [
        ("p1-reno-1000KB.pcap", "Linux with slow-start+reno"),
        ("p1-cubic-1000KB.pcap", "Linux with hystart-linux+cubic"),
        // 30 KB are two flights: the starts are alike but for bbr's pacing.
        ("p2-reno-30KB.pcap", "Linux with hystart-linux+cubic or slow-start+reno or bbr"),
    ] {
        let sender = only(&scratch.run(&["identify", name, "--json"]));
        assert_eq!(sender["starts_as"], stack, "{sender}");
        assert_eq!((&sender["first_flight_packets"], &sender["spacing_ms"]), (&10.into(), &Value::Null));
        // Ten packets of 1448 bytes.
        assert_eq!(sender["rounds_bytes"][0], 14_480);
        assert!(sender["probability"].as_f64().is_some_and(|it| it > 0.85), "{sender}");
    }
    let text = scratch.run(&["identify", "p1-reno-1000KB.pcap"]);
    let stdout = &text.out;
    assert!(stdout.contains("Starts as      Linux with slow-start+reno (probability 0.9"), "{stdout}");
    assert!(stdout.contains("First flight   10 packets, 14.5 KB, at once"), "{stdout}");
}

#[test]
fn logs_of_real_stacks_are_named_or_unknown_and_never_those_of_another_stack() {
    let folder = format!("{}/../capture/testdata/quic", env!("CARGO_MANIFEST_DIR"));
    let scratch = Scratch::new();
    // Transfers of 100 KB over 4 Mbit/s by servers of these stacks (testdata/README.md). picoquic and x/net have no profile.
    for (stack, named) in [
        ("aioquic", Some("aioquic 1.7")),
        // All data leave before the first loss is seen, and until then both are the same.
        ("quiche", Some("nginx 1.30, or quiche 0.30")),
        ("quinn", Some("quinn 0.11")),
        ("ngtcp2", None),
        ("quic-go", Some("quic-go 0.65")),
        ("picoquic", None),
        ("xnet", None),
    ] {
        let name = format!("{stack}-losses.qlog.gz");
        scratch.write(&name, std::fs::read(format!("{folder}/{name}")).expect("a log"));
        let run = scratch.run(&["identify", &name, "--json"]);
        let found: Value = serde_json::from_str(&run.out).expect("JSON");
        assert_eq!((run.code, found[0]["starts_as"].as_str()), (0, named), "{stack}: {found}");
    }
}

#[test]
fn an_answer_begins_with_the_stack_and_measures_from_its_scheme() {
    let scratch = captures();
    let report = scratch.run(&["compare", "p1-reno-1000KB.pcap", "--json"]).json();
    assert_eq!(report["answer"]["starts_as"], "Linux with slow-start+reno");
    let results = report["results"].as_array().expect("results");
    let own =
        results.iter().find(|row| row["scheme"] == "slow-start+reno").expect("the scheme of the sender");
    assert_eq!(own["against_present"], Value::Null, "it is what the others are measured from: {own}");
    let text = scratch.run(&["compare", "p1-reno-1000KB.pcap", "--out", "out"]).out;
    assert!(text.starts_with("The captured sender starts as Linux with slow-start+reno does.\n"), "{text}");
}

/// A pcap without its first `packets`.
fn behind(pcap: &[u8], packets: usize) -> Vec<u8> {
    const HEADER: usize = 24;
    let mut place = HEADER;
    for _ in 0..packets {
        let length = pcap[place + 8..].first_chunk::<4>().expect("a record");
        place += 16 + u32::from_le_bytes(*length) as usize;
    }
    [&pcap[..HEADER], &pcap[place..]].concat()
}

#[test]
fn the_start_of_a_capture_that_begins_in_mid_flight_is_not_known() {
    let shipped = format!("{}/../capture/testdata/p1-reno-1000KB.pcap", env!("CARGO_MANIFEST_DIR"));
    let whole = std::fs::read(shipped).expect("a capture");
    let scratch = Scratch::new();
    scratch.write("late.pcap", behind(&whole, 60));
    let sender = only(&scratch.run(&["identify", "late.pcap", "--json"]));
    assert_eq!(sender["start_unknown"], "the capture begins in mid-flight", "{sender}");
    for name in ["starts_as", "probability", "unknown", "first_flight_packets", "burst_packets", "exit"] {
        assert_eq!(sender[name], Value::Null, "{name}: {sender}");
    }
    assert_eq!((&sender["rounds_bytes"], &sender["stacks"]), (&Value::Array(vec![]), &Value::Array(vec![])));
    let text = scratch.run(&["identify", "late.pcap"]).out;
    assert!(text.contains("Starts as      not known: the capture begins in mid-flight"), "{text}");
    assert!(!text.contains("First flight") && !text.contains("Nearest"), "{text}");
    // The first packet is the SYN.
    scratch.write("whole.pcap", whole);
    assert_eq!(only(&scratch.run(&["identify", "whole.pcap", "--json"]))["start_unknown"], Value::Null);
}

#[test]
fn a_capture_without_a_flight_is_refused_in_one_line() {
    let scratch = Scratch::new();
    scratch.write("few.toml", "[path]\nrate = \"10 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"50 packets\"\n[[flow]]\nprofile = \"linux\"\nsize = \"3 KB\"\n");
    scratch.run(&["run", "few.toml", "--trace", "--json", "--out", "few"]).json();
    let refused = scratch.run(&["identify", "few/run.pcapng"]);
    let stderr = &refused.err;
    assert!(
        stderr.contains("no sender shows a round trip and a transfer of 9 KB") && stderr.lines().count() == 1,
        "{stderr}"
    );
    assert_eq!((refused.code, &*refused.out), (2, ""));
}

#[test]
fn a_server_that_runs_bbr_is_offered_the_settings_that_act_on_it() {
    let scratch = Scratch::new();
    let path = "[path]\nrate = \"20 Mbit/s\"\nrtt = \"60 ms\"\nbuffer = \"100 packets\"\n";
    scratch.write(
        "bbr.toml",
        format!("{path}[[flow]]\nsize = \"1 MB\"\nprofile = \"linux\"\nstartup = \"bbr\"\n"),
    );
    let made = scratch.run(&["run", "bbr.toml", "--trace"]);
    assert_eq!(made.code, 0, "{made:?}");
    let found = scratch.run(&["compare", "out/run.pcapng", "--size", "30KB", "--json"]).json();
    let schemes = found["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|one| one["scheme"].as_str().expect("a label"));
    let mut of_bbr: Vec<&str> = schemes.filter(|label| label.starts_with("bbr")).collect();
    of_bbr.sort_unstable();
    // BBR sets its own pacing rate, and has no threshold.
    assert_eq!(of_bbr, ["bbr", "bbr@iw16", "bbr@iw20", "bbr@iw30", "bbr@iw60"]);
}
