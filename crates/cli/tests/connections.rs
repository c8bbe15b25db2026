//! `connections`, and `compare` on one of them.

use crate::common::server::{THREE, capture};
use crate::common::{Finished, Scratch};
use serde_json::Value;

/// A folder with the capture of a server, and one with a connection of 1 MB that lost packets.
fn captures() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("server.pcap", capture(&scratch, &THREE));
    let shipped = format!("{}/../capture/testdata/p1-reno-1000KB.pcap", env!("CARGO_MANIFEST_DIR"));
    scratch.write("lost.pcap", std::fs::read(shipped).expect("a capture"));
    scratch
}

fn rows(scratch: &Scratch, arguments: &[&str]) -> Vec<Value> {
    let report = scratch.run(&[&["connections", "--json"], arguments].concat()).json();
    report.as_array().expect("an array").clone()
}

fn numbers(rows: &[Value], key: &str) -> Vec<f64> {
    rows.iter().map(|row| row[key].as_f64().unwrap_or(f64::NAN)).collect()
}

#[test]
fn every_connection_has_the_round_trip_and_the_first_flight_of_its_simulation() {
    let scratch = captures();
    let rows = rows(&scratch, &["server.pcap"]);
    assert_eq!(numbers(&rows, "index"), (0..24).map(f64::from).collect::<Vec<_>>());
    for row in &rows {
        let rtt = match row["client_network"].as_str().expect("a network") {
            "203.0.113.0/24" => 40.0,
            "198.51.100.0/24" => 120.0,
            "10.20.30.0/24" => 20.0,
            other => panic!("{other}"),
        };
        // The packets of the handshake have some time on the link, too.
        let seen = row["rtt_ms"].as_f64().expect("a round trip");
        assert!((rtt..rtt * 1.02).contains(&seen), "{row}");
        for (key, value) in [
            ("bytes", 100_000),
            ("requests", 1),
            ("first_flight_packets", 10),
            ("initial_window_packets", 10),
        ] {
            assert_eq!(row[key], value, "{key}: {row}");
        }
        assert_eq!((&row["first_flight_paced"], &row["captured_at"]), (&false.into(), &"sender".into()));
        assert_eq!(row["transfers"].as_array().map(Vec::len), Some(1), "{row}");
    }
    // Three networks, whose clients come every four seconds: twelve, six and six.
    let starts = numbers(&rows, "start_s");
    for (index, start) in starts.into_iter().enumerate() {
        let opened = if index < 18 { index / 3 } else { index - 12 } as f64 * 4.0;
        assert!((opened..opened + 0.13).contains(&start), "{index}: {start}");
    }
}

#[test]
fn a_connection_that_overflowed_the_buffer_ended_its_start_up_by_loss() {
    let scratch = captures();
    let rows = rows(&scratch, &["lost.pcap"]);
    let [row] = &rows[..] else { panic!("{rows:?}") };
    // Counted by tshark: 149 retransmissions.
    assert_eq!(
        (&row["retransmitted_packets"], &row["startup_exit"]["reason"]),
        (&149.into(), &"loss".into())
    );
    assert_eq!(row["limited_by"], "congestion-window");
    let run = scratch.run(&["connections", "lost.pcap"]);
    assert_eq!((run.code, &*run.err), (0, ""));
    let [heading, line, "", "1 connection."] = run.out.lines().collect::<Vec<_>>()[..] else {
        panic!("{}", run.out)
    };
    assert!(heading.starts_with('#') && heading.ends_with("resent"), "{heading}");
    for part in ["  1 MB  ", "  10  ", "loss after 4", "congestion ", " 149"] {
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn lines_are_sorted_and_chosen() {
    let scratch = captures();
    let chosen = |arguments: &[&str]| rows(&scratch, &[&["server.pcap"], arguments].concat());
    assert_eq!(chosen(&["--network", "198.51.0.0/16"]).len(), 6);
    assert_eq!(chosen(&["--network", "203.0.113.3"]).len(), 1);
    assert_eq!(chosen(&["--min-bytes", "100KB"]).len(), 24);
    assert_eq!(chosen(&["--min-bytes", "101KB"]).len(), 0);
    let slowest = chosen(&["--sort", "round-trip", "--first", "7"]);
    assert!(slowest[..6].iter().all(|row| row["client_network"] == "198.51.100.0/24"), "{slowest:?}");
    assert_eq!((slowest.len(), &slowest[6]["client_network"]), (7, &"203.0.113.0/24".into()));
    let rtts = numbers(&slowest, "rtt_ms");
    assert!(rtts.is_sorted_by(|a, b| a >= b), "{rtts:?}");
    let networks = chosen(&["--sort", "network"]);
    assert_eq!((&networks[0]["client_network"], networks.len()), (&"10.20.30.0/24".into(), 24));
    let table = scratch.run(&["connections", "server.pcap", "--first", "2"]);
    assert!(table.out.ends_with("\n\n2 of 24 connections.\n"), "{}", table.out);
    assert_eq!(
        scratch.run(&["connections", "server.pcap", "--min-bytes", "1GB"]).out,
        "0 of 24 connections.\n"
    );
}

const QUICK: [&str; 6] = ["--size", "30KB", "--startup", "slow-start", "--runs", "2"];

fn compare(scratch: &Scratch, connection: &str) -> Finished {
    scratch.run(&[&["compare", "server.pcap", "--connection", connection, "--json"], &QUICK[..]].concat())
}

#[test]
fn one_connection_is_compared_on_its_own_path_and_has_its_graphs_on_the_page() {
    let scratch = captures();
    let slow = rows(&scratch, &["server.pcap", "--network", "198.51.100.0/24", "--first", "1"]);
    let index = slow[0]["index"].to_string();
    let report = compare(&scratch, &index).json();
    let connections = report["connections"].as_array().expect("connections");
    assert_eq!((connections.len(), &connections[0]["name"]), (1, &slow[0]["name"]));
    assert!(report["groups"].is_null());
    let rtt = report["path"]["rtt_ms"].as_f64().expect("a round trip");
    assert!((119.0..123.0).contains(&rtt), "{rtt}");
    let page = std::fs::read_to_string(scratch.path().join("out/report.html")).expect("a page");
    for part in ["Time-sequence graph", "Round trips", "<svg"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(
        report["provenance"]["command"]
            .as_str()
            .is_some_and(|it| it.contains(&format!("--connection {index}")))
    );
}

#[test]
fn a_connection_that_is_not_there_is_refused_with_the_valid_range() {
    let scratch = captures();
    let before = scratch.snapshot();
    let run = compare(&scratch, "24");
    let expected = "error: --connection 24: server.pcap has no such connection; expected a number from 0 to 23, as \
                    `firstflight connections` lists them\n";
    assert_eq!((run.code, &*run.out, &*run.err), (2, "", expected));
    let preset = scratch.run(&["compare", "cable", "--connection", "0"]);
    let expected = "error: --connection 0: the input is no capture, which alone has connections\n";
    assert_eq!((preset.code, &*preset.err), (2, expected));
    let one = scratch.run(&["compare", "lost.pcap", "--connection", "1"]);
    let expected =
        "error: --connection 1: lost.pcap has no such connection; expected 0, the only connection\n";
    assert_eq!((one.code, &*one.err), (2, expected));
    assert_eq!(scratch.snapshot(), before);
}

#[test]
fn what_is_no_capture_is_refused_in_one_line() {
    let scratch = captures();
    scratch.write("empty.pcap", &std::fs::read(scratch.path().join("lost.pcap")).expect("a capture")[..24]);
    scratch.write("text.pcap", "no capture");
    for (arguments, why) in [
        (&["connections", "empty.pcap"][..], "empty.pcap: "),
        (&["connections", "text.pcap"], "text.pcap: "),
        (&["connections", "absent.pcap"], "absent.pcap: "),
        (&["connections", "lost.pcap", "--network", "here"], "--network \"here\": not an address"),
        (&["connections", "lost.pcap", "--min-bytes", "3"], "--min-bytes \"3\": the unit is missing"),
        (
            &["connections", "lost.pcap", "--sort", "size"],
            "--sort \"size\": no such value; expected one of: start",
        ),
        (&["connections"], "<CAPTURE>"),
    ] {
        let run = scratch.run(arguments);
        assert_eq!((run.code, &*run.out, run.err.lines().count()), (2, "", 1), "{arguments:?}: {}", run.err);
        assert!(run.err.contains(why), "{arguments:?}: {}", run.err);
    }
}
