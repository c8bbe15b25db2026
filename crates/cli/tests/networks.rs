//! `compare` on the capture of a server with clients in several networks.

use crate::common::Scratch;
use crate::common::server::{THREE, capture};
use serde_json::Value;

/// Without limits of harm and loss the recommendation is the fastest. The captured transfers lose no packet and show neither the buffer nor
/// random loss: with both given, the replications of a network differ little, so that few of them have the mean of all.
const COMPARE: [&str; 14] = [
    "compare",
    "server.pcap",
    "--scheme",
    "hystart-linux+cubic,hystart-linux+cubic@iw30",
    "--size",
    "100KB,5MB",
    "--runs",
    "8",
    "--fastest",
    "--loss",
    "0",
    "--buffer",
    "60 packets",
    "--json",
];

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn a_server_is_answered_network_by_network_and_for_the_mix_of_its_transfers() {
    let scratch = Scratch::new();
    scratch.write("server.pcap", capture(&scratch, &THREE));
    let report = scratch.run(&COMPARE).json();
    assert!(scratch.path().join("out/networks.parquet").exists());
    let groups = array(&report["groups"]);
    let of = |key: &str| -> Vec<&Value> { groups.iter().map(|group| &group[key]).collect() };
    // By their data; the two equal ones by their address, or by the bytes that retransmissions do not count.
    assert_eq!(groups.len(), 3, "{:?}", of("network"));
    assert_eq!(groups[0]["network"], "203.0.113.0/24");
    let truth = [
        ("203.0.113.0/24", 12, 20e6, 40.0),
        ("198.51.100.0/24", 6, 5e6, 120.0),
        ("10.20.30.0/24", 6, 50e6, 20.0),
    ];
    for (network, connections, rate, rtt) in truth {
        let group = groups.iter().find(|group| group["network"] == network).expect(network);
        assert_eq!(
            (&group["connections"], &group["no_answer"]),
            (&connections.into(), &Value::Null),
            "{network}"
        );
        assert_eq!(group["bytes"], u64::from(connections as u32) * 100_000);
        // 100 KB show the path to some per cent.
        let near = |key: &str, truth: f64| {
            let value = group["path"][key].as_f64().unwrap_or_else(|| panic!("{network}: {key}"));
            assert!((value / truth - 1.0).abs() < 0.05, "{network}: {key} {value}");
        };
        near("rate_bit_s", rate);
        near("rtt_ms", rtt);
        // Two schemes at two sizes.
        assert_eq!((array(&group["results"]).len(), array(&group["recommended"]).len()), (4, 2));
        // Of 24 transfers of 100 KB; none is near 5 MB, so there the data decides, which has the same shares.
        for (place, transfers) in [(0, connections), (1, 0)] {
            let mix = &group["mix"][place];
            assert_eq!(mix["transfers"], transfers, "{network}");
            let share = mix["share"].as_f64().expect("a share");
            assert!((share - f64::from(connections as u32) / 24.0).abs() < 1e-9, "{network}: {mix}");
        }
    }
    // Values that differ are those of the networks.
    assert_eq!((&report["path"]["rate_bit_s"], &report["path"]["rtt_ms"]), (&Value::Null, &Value::Null));
    let named: Vec<&str> = array(&report["path"]["cannot_tell"]).iter().filter_map(Value::as_str).collect();
    assert!(named.contains(&"rate_bit_s") && named.contains(&"rtt_ms"), "{named:?}");
    // Eight draws: four of the first network, two of each other. So the slowest two are those of the slowest path, and the
    // mean is half that of the first and a quarter of each other, but for the choice of replications.
    for scheme in ["hystart-linux+cubic", "hystart-linux+cubic@iw30"] {
        let row = |rows: &Value| -> Value {
            let own = |it: &&Value| it["scheme"] == scheme && it["size_bytes"] == 100_000;
            array(rows).iter().find(own).cloned().expect("a row")
        };
        let mean = |rows: &Value| row(rows)["completion_s"]["mean"].as_f64().expect("finished");
        let expected: f64 = groups
            .iter()
            .map(|group| mean(&group["results"]) * if group["connections"] == 12 { 0.5 } else { 0.25 })
            .sum();
        let mix = mean(&report["results"]);
        assert!((mix / expected - 1.0).abs() < 0.05, "{scheme}: {mix}, by its networks {expected}");
        // Harm is that of the networks by their share.
        let harm = |rows: &Value| row(rows)["harm"]["bulk"].as_f64().expect("measured");
        let expected: f64 = groups
            .iter()
            .map(|group| harm(&group["results"]) * if group["connections"] == 12 { 0.5 } else { 0.25 })
            .sum();
        assert!((harm(&report["results"]) - expected).abs() < 1e-9, "{scheme}");
    }
    // A window of 30 packets saves round trips on every one of these paths.
    let first = &report["recommended"][0];
    assert_eq!(first["scheme"], "hystart-linux+cubic@iw30", "{first}");
    assert!(
        first["why"].as_str().is_some_and(|why| why.contains("; none of 3 networks loses by it")),
        "{first}"
    );
    // The three largest connections of each network are shown.
    assert_eq!(array(&report["connections"]).len(), 9);
}

#[test]
fn a_capture_of_one_network_has_no_mix() {
    let scratch = Scratch::new();
    scratch.write("server.pcap", capture(&scratch, &THREE[2..]));
    let run = scratch.run(&COMPARE);
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!((run.code, report.get("groups")), (0, None), "{}", run.err);
    assert!(!scratch.path().join("out/networks.parquet").exists());
}

#[test]
fn a_network_that_cannot_be_answered_stays_out_of_the_mix_and_is_named() {
    let scratch = Scratch::new();
    let mut file = capture(&scratch, &THREE[..2]);
    // Data from 198.51.100.0/24 is left out, because only its ACKs are in the file.
    let (mut at, mut kept) = (24, file[..24].to_vec());
    while at < file.len() {
        let length = u32::from_le_bytes(file[at + 8..at + 12].try_into().expect("four bytes")) as usize;
        let packet = &file[at + 16..at + 16 + length];
        if packet[16..19] != [198, 51, 100] {
            kept.extend(&file[at..at + 16 + length]);
        }
        at += 16 + length;
    }
    file = kept;
    scratch.write("server.pcap", file);
    let run = scratch.run(&COMPARE);
    assert_eq!(run.code, 0, "{}", run.err);
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    let unanswered = array(&report["groups"]).iter().find(|group| group["network"] == "198.51.100.0/24");
    let unanswered = unanswered.expect("the network");
    assert!(unanswered["no_answer"].is_string() && unanswered["mix"][0]["share"] == 0.0, "{unanswered}");
    assert!(
        run.err.contains("warning: 198.51.100.0/24 has no answer and is no part of the mix"),
        "{}",
        run.err
    );
    let mix = |report: &Value| report["recommended"][0]["scheme"].clone();
    assert_eq!(mix(&report), "hystart-linux+cubic@iw30");
}
