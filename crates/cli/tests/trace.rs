//! Files of `--trace`, read by tshark and checked against the drafts of qlog.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use crate::common::Scratch;
use serde_json::Value;

const SCENARIO: &str = r#"
[path]
rate = "40 Mbit/s"
rtt = "50 ms"
buffer = "1000 packets"
[[flow]]
profile = "linux"
size = "1 MB"
"#;

/// The scenario with a buffer that slow start overflows.
fn lossy() -> String {
    SCENARIO.replace("1000 packets", "30 packets").replace("1 MB", "3 MB")
}

/// Scenario with random and congestion losses, four stacks, both directions, with and without handshakes, and UDP.
const MIXED: &str = r#"
duration = "5 s"
[path]
rate = "10 Mbit/s"
rtt = "50 ms"
buffer = "30 packets"
loss = 0.005
[packet]
size = "1000 B"
[[flow]]
name = "newreno"
profile = "ns2"
count = 3
[[flow]]
name = "reno"
profile = "rfc"
recovery = "reno"
count = 2
[[flow]]
name = "rounds"
profile = "linux"
count = 2
size = "40 KB"
rounds = { count = 5, idle = "300 ms", jitter = "50 ms" }
[[flow]]
name = "back"
profile = "rfc"
direction = "reverse"
[[udp]]
name = "cbr"
rate = "1 Mbit/s"
"#;

/// Runs `scenario` with `--trace` into the folder `out`; returns the JSON output.
fn traced(scratch: &Scratch, scenario: &str) -> Value {
    scratch.write("run.toml", scenario);
    scratch.run(&["run", "run.toml", "--trace", "--json"]).json()
}

/// The given fields of the packets of a capture that match `filter`; an empty filter matches all. `None`, with a message,
/// if tshark is not installed.
fn tshark(capture: &Path, filter: &str, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture).args(["-Y", filter, "-T", "fields"]);
    command.args(["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            firstflight_skip::skip("tshark is not installed (Debian: apt-get install tshark)");
            return None;
        }
        output => output.expect("tshark starts"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    Some(text.lines().map(|line| line.split('\t').map(String::from).collect()).collect())
}

/// Number of packets with each kind of tshark's analysis flags. The numbers of duplicate ACKs are removed.
fn flags(capture: &Path) -> Option<BTreeMap<String, u64>> {
    let mut found = BTreeMap::new();
    for row in tshark(capture, "tcp.analysis.flags", &["_ws.expert.message"])? {
        for flag in row[0].split(',') {
            let kind = flag.split(" (#").next().expect("a word");
            *found.entry(kind.to_owned()).or_default() += 1;
        }
    }
    Some(found)
}

/// Filter for malformed packets and wrong checksums.
const BROKEN: &str = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0";

fn sum(result: &Value, key: &str) -> u64 {
    result["flows"].as_array().expect("flows").iter().map(|flow| flow[key].as_u64().expect("a count")).sum()
}

#[test]
fn tshark_flags_no_packet_of_a_run_without_loss() {
    let scratch = Scratch::new();
    let result = traced(&scratch, SCENARIO);
    assert_eq!(sum(&result, "lost_packets"), 0);
    let capture = scratch.path().join("out/run.pcapng");
    let Some(flagged) = flags(&capture) else { return };
    assert_eq!(flagged, BTreeMap::new());
    assert_eq!(tshark(&capture, BROKEN, &["frame.number"]), Some(vec![]));
    let fields = ["tcp.srcport", "tcp.options.mss_val", "tcp.options.wscale.shift"];
    let handshake = tshark(&capture, "tcp.flags.syn == 1 && tcp.options.sack_perm", &fields);
    // 65 535 B shifted by 6 is the smallest scaled window that reaches 3 MiB, the most that a Linux receiver advertises.
    assert_eq!(handshake.expect("tshark was there before"), [["49152", "1460", "6"], ["9", "1460", "6"]]);
    let bytes = tshark(&capture, "tcp.len > 0", &["tcp.len", "frame.len"]).expect("tshark was there before");
    let total: u64 = bytes.iter().map(|row| row[0].parse::<u64>().expect("a number")).sum();
    assert_eq!(total, 1_000_000);
    // Each packet has headers of 20 and 32 bytes before its payload.
    assert!(bytes.iter().all(|row| row[1].parse::<u64>().expect("a number") == {
        52 + row[0].parse::<u64>().expect("a number")
    }));
}

#[test]
fn tshark_flags_the_retransmissions_that_the_run_counts_and_no_other_anomaly() {
    let repeats = [
        "This frame is a (suspected) retransmission",
        // tshark flags a retransmission that soon follows its loss as an out-of-order segment.
        "This frame is a (suspected) out-of-order segment",
    ];
    // A fast retransmission is flagged as a retransmission, too.
    let harmless = ["This frame is a (suspected) fast retransmission", "Duplicate ACK"];
    for scenario in [&lossy(), MIXED] {
        let scratch = Scratch::new();
        let result = traced(&scratch, scenario);
        let capture = scratch.path().join("out/run.pcapng");
        let Some(flagged) = flags(&capture) else { return };
        let seen: u64 = repeats.iter().filter_map(|kind| flagged.get(*kind)).sum();
        assert!(seen > 10);
        assert_eq!(seen, sum(&result, "retransmits"), "{flagged:?}");
        let known: BTreeSet<&str> = repeats.into_iter().chain(harmless).collect();
        assert!(flagged.keys().all(|kind| known.contains(&**kind)), "{flagged:?}");
        assert_eq!(tshark(&capture, BROKEN, &["frame.number"]), Some(vec![]));
    }
}

#[test]
fn tshark_measures_the_round_trip_time_of_the_path() {
    let scratch = Scratch::new();
    traced(&scratch, SCENARIO);
    let capture = scratch.path().join("out/run.pcapng");
    let fields = ["tcp.analysis.initial_rtt", "tcp.analysis.ack_rtt"];
    let acks = "tcp.srcport == 9 && tcp.analysis.ack_rtt && tcp.flags.syn == 0";
    let Some(rows) = tshark(&capture, acks, &fields) else { return };
    // SYN and SYN-ACK, 52 bytes each over 400, 40 and 400 Mbit/s: 50 ms + 2 (1.04 + 10.4 + 1.04 us).
    assert_eq!(rows[0][0], "0.050024960");
    let least = rows.iter().filter_map(|row| row[1].parse::<f64>().ok()).fold(f64::MAX, f64::min);
    // First segment: 1500 bytes take 30 + 300 + 30 us, its ACK 12.48 us. tshark prints nanoseconds.
    assert!((least - 0.050_372_480).abs() < 1e-9, "{least}");
}

/// Parsed records of a qlog file, without the separators of RFC 7464.
fn records(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a qlog file");
    let mut records = text.split('\x1e');
    assert_eq!(records.next(), Some(""), "the file begins with a separator");
    records
        .map(|record| {
            assert!(record.ends_with('\n'), "a record ends with a line feed: {record:?}");
            serde_json::from_str(record).unwrap_or_else(|error| panic!("{error}: {record}"))
        })
        .collect()
}

#[test]
fn qlog_files_satisfy_the_draft_and_qvis() {
    let scratch = Scratch::new();
    let result = traced(&scratch, MIXED);
    for flow in result["flows"].as_array().expect("flows") {
        let name = flow["name"].as_str().expect("a name");
        let path = scratch.path().join(format!("out/run.{name}.sqlog"));
        let start = std::fs::read(&path).expect("a qlog file");
        let start = String::from_utf8_lossy(&start[..256]).into_owned();
        // "SHOULD be in the first 256 characters/bytes of the resulting log file": draft-ietf-quic-qlog-main-schema.
        for field in ["file_schema", "serialization_format", "qlog_version", "qlog_format"] {
            assert!(start.contains(&format!("\"{field}\":")), "{field}: {start}");
        }
        let records = records(&path);
        let (header, events) = records.split_first().expect("a header");
        assert_eq!(header["file_schema"], "urn:ietf:params:qlog:file:sequential");
        assert_eq!(header["serialization_format"], "application/qlog+json-seq");
        let trace = &header["trace"];
        assert!(["client", "server"].contains(&trace["vantage_point"]["type"].as_str().expect("a type")));
        let common = &trace["common_fields"];
        assert_eq!(common["time_format"], "relative_to_epoch");
        // "When using the "monotonic" clock type, the epoch field MUST have the value "unknown"."
        assert_eq!(common["reference_time"]["clock_type"], "monotonic");
        assert_eq!(common["reference_time"]["epoch"], "unknown");
        // Required by qvis for a JSON-SEQ file, with the newest version that it knows.
        assert_eq!((&header["qlog_version"], &header["qlog_format"]), (&"0.3".into(), &"JSON-SEQ".into()));
        let schemas = trace["event_schemas"].as_array().expect("schemas");
        let namespaces: BTreeSet<&str> = schemas
            .iter()
            .map(|uri| {
                uri.as_str().expect("a URI").rsplit('/').next().expect("the URI includes the namespace")
            })
            .collect();
        let mut last = 0.0;
        let (mut sent, mut retransmitted, mut received) = (0, 0, 0);
        for event in events {
            let time = event["time"].as_f64().expect("a time");
            assert!(time >= last, "{event}");
            last = time;
            let (namespace, kind) =
                event["name"].as_str().expect("a name").split_once(':').expect("two parts");
            assert!(namespaces.contains(namespace), "{event}");
            let data = event["data"].as_object().expect("data");
            match kind {
                "packet_sent" => {
                    assert_eq!(data["header"]["packet_number"], sent);
                    sent += 1;
                    retransmitted += u64::from(data.get("retransmission") == Some(&true.into()));
                }
                "packet_received" => {
                    assert_eq!(data["header"]["packet_number"], received);
                    received += 1;
                    let newest = data.get("frames").map(|frames| &frames[0]["acked_ranges"]);
                    for range in newest.and_then(Value::as_array).unwrap_or(&vec![]) {
                        assert!(range.as_array().expect("a range").iter().all(|n| n.as_u64() < Some(sent)));
                    }
                }
                _ => {}
            }
        }
        assert_eq!(retransmitted, flow["retransmits"].as_u64().expect("a count"));
    }
}

#[test]
fn metrics_are_written_at_most_once_a_millisecond_and_only_when_they_change() {
    let scratch = Scratch::new();
    traced(&scratch, &lossy());
    let records = records(&scratch.path().join("out/run.sqlog"));
    let updates: Vec<&Value> =
        records.iter().filter(|record| record["name"] == "recovery:metrics_updated").collect();
    // The transfer takes about 1200 ms, with half a millisecond between ACKs.
    assert!((400..1200).contains(&updates.len()), "{}", updates.len());
    let mut known = BTreeMap::new();
    let mut last = f64::NEG_INFINITY;
    for update in updates {
        let time = update["time"].as_f64().expect("a time");
        assert!(time - last >= 1.0 - 1e-9, "{update}");
        last = time;
        let changed = update["data"].as_object().expect("data");
        assert!(!changed.is_empty());
        for (metric, value) in changed {
            assert_ne!(known.insert(metric, value), Some(value), "{update}");
        }
    }
    let expected =
        ["bytes_in_flight", "congestion_window", "latest_rtt", "min_rtt", "smoothed_rtt", "ssthresh"];
    assert_eq!(known.keys().copied().collect::<Vec<_>>(), expected);
    // At the end all data is acknowledged. The smallest RTT is that of the handshake, as above.
    assert_eq!(known[&"bytes_in_flight".to_owned()], &Value::from(0));
    assert_eq!(known[&"min_rtt".to_owned()], &Value::from(50.02496));
}

#[test]
fn start_up_exits_and_congestion_states_are_custom_events() {
    let scratch = Scratch::new();
    let result = traced(&scratch, &lossy());
    let records = records(&scratch.path().join("out/run.sqlog"));
    let of = |name: &str| records.iter().filter(|record| record["name"] == name).collect::<Vec<_>>();
    let exits = of("firstflight:startup_exited");
    let exit = &result["flows"][0]["startup_exit"];
    assert_eq!(exits.len(), 1);
    assert_eq!(exits[0]["data"]["trigger"], exit["reason"]);
    let cwnd = exits[0]["data"]["congestion_window"].as_f64().expect("bytes");
    assert_eq!(Some(cwnd / 1448.0), exit["cwnd_packets"].as_f64());
    // Times in results count from the end of the handshake, those in the trace from the start of the run.
    let handshake = 50.02496;
    let at = exits[0]["time"].as_f64().expect("a time") - handshake;
    assert!((at / 1e3 - exit["time_s"].as_f64().expect("a time")).abs() < 1e-9);
    let mut state = "open";
    for change in of("firstflight:congestion_state_updated") {
        assert_eq!(change["data"]["old"], state, "{change}");
        state = change["data"]["new"].as_str().expect("a state");
        assert!(["open", "disorder", "cwr", "recovery", "loss"].contains(&state), "{change}");
    }
    assert_eq!(state, "open", "the transfer has finished");
}

#[test]
fn the_path_inferred_from_a_trace_is_the_simulated_path() {
    let scratch = Scratch::new();
    traced(&scratch, &lossy());
    let arguments = ["compare", "out/run.pcapng", "--size", "30KB", "--runs", "2", "--trace"];
    let run = scratch.run(&[&arguments[..], &["--out", "inferred", "--json"]].concat());
    let inferred: Value = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{}", run.err));
    assert!(scratch.path().join("inferred/rerun-1.sqlog").exists());
    let path = &inferred["path"];
    let near = |key: &str, truth: f64, share: f64| {
        let value = path[key].as_f64().unwrap_or_else(|| panic!("{key}: {path}"));
        assert!((value / truth - 1.0).abs() <= share, "{key}: {value}");
    };
    near("rate_bit_s", 40e6, 0.02);
    near("rtt_ms", 50.0, 0.02);
    near("buffer_packets", 30.0, 0.1);
    assert_eq!(path["initial_window_packets"], 10);
    let connection = &inferred["connections"][0];
    assert_eq!(connection["bytes"], 3_000_000);
}

#[test]
fn a_comparison_writes_a_trace_for_each_scheme_and_size() {
    let scratch = Scratch::new();
    let arguments =
        ["compare", "cable", "--scheme", "slow-start+reno,hystart+++cubic", "--size", "30KB,1.5MB"];
    let run = scratch.run(&[&arguments[..], &["--trace", "--json"]].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    let files: BTreeSet<String> = std::fs::read_dir(scratch.path().join("out"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    let mut expected = BTreeSet::from(["report.html".to_owned(), "results.parquet".to_owned()]);
    for scheme in ["slow-start+reno", "hystart+++cubic"] {
        for size in ["30KB", "1.5MB"] {
            expected.extend([format!("{scheme}-{size}.pcapng"), format!("{scheme}-{size}.sqlog")]);
        }
    }
    assert_eq!(files, expected);
}

/// The scenario of the repository in which three transfers of one connection begin with a window of 4 packets and a threshold of 300, on a
/// path that holds 200: slow start ends at the threshold, while the first losses are on their way back.
#[test]
fn the_sender_of_an_own_trace_is_named_with_its_threshold() {
    let scratch = Scratch::new();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/lossy.toml");
    let scenario = scenario.to_str().expect("UTF-8");
    let run = scratch.run(&["run", scenario, "--trace", "--out", "out"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let compared = scratch.run(&[
        "compare",
        "out/run.pcapng",
        "--size",
        "30KB",
        "--runs",
        "2",
        "--json",
        "--out",
        "compared",
    ]);
    assert_eq!(compared.code, 0, "{}", compared.err);
    let found: Value = serde_json::from_str(&compared.out).expect("JSON");
    let connection = &found["connections"][0];
    assert_eq!(connection["scheme"], "slow-start+reno@ssthresh=300");
    assert_eq!(connection["rerun_initial_ssthresh_packets"], 300);
    assert_eq!(found["path"]["initial_window_packets"], 4);
}

#[test]
fn bad_input_writes_no_files() {
    let scratch = Scratch::new();
    scratch.write("bad.toml", SCENARIO.replace("40 Mbit/s", "40 mbps"));
    scratch.write("good.toml", SCENARIO);
    scratch.write("file", "in the way");
    let before = scratch.snapshot();
    for (arguments, part) in [
        (vec!["run", "bad.toml", "--trace"], "bad.toml:3:8: path.rate"),
        (vec!["run", "missing.toml", "--trace"], "missing.toml"),
        (vec!["run", "good.toml", "--trace", "--out", "file"], "cannot write `file`"),
        (vec!["compare", "bad.toml", "--trace"], "bad.toml:3:8: path.rate"),
        (vec!["compare", "good.toml", "--trace", "--out", "file"], "cannot write `file`"),
    ] {
        let run = scratch.run(&arguments);
        assert_eq!((run.code, &*run.out), (2, ""), "{arguments:?}");
        assert!(run.err.contains(part), "{arguments:?}: {}", run.err);
        assert_eq!(scratch.snapshot(), before, "{arguments:?} left something behind");
    }
}
