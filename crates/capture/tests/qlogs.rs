//! Logs that stacks wrote, against the emulated path, the counts of its relay, and an independent reading.
//!
//! The path has 4 Mbit/s and 40 ms; `testdata/README.md` has the rest.

use firstflight_capture::{Capture, Connection, Estimate, Inferred, Source, Vantage, infer, read};

fn log(name: &str) -> Capture {
    read(format!("{}/testdata/quic/{name}.qlog.gz", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn only(capture: &Capture) -> &Connection {
    let [connection] = &capture.connections[..] else { panic!("{:?}", capture.warnings) };
    assert_eq!((connection.source, connection.observed.handshake), (Source::Qlog, true));
    connection
}

fn holds(estimate: &Estimate, truth: f64) -> bool {
    estimate.low <= truth && truth <= estimate.high
}

/// Rate and round trip of the path.
fn check_path(name: &str, capture: &Capture) {
    let path = infer(&capture.connections);
    let rate = path.rate.known().unwrap_or_else(|| panic!("{name}: {:?}", path.rate));
    assert!((rate.value / 4e6 - 1.0).abs() < 0.02 && holds(rate, 4e6), "{name}: {rate:?}");
    let rtt = path.rtt.known().unwrap_or_else(|| panic!("{name}: {:?}", path.rtt));
    assert!((rtt.value - 0.04).abs() < 0.0015 && holds(rtt, 0.04), "{name}: {rtt:?}");
}

#[test]
fn the_log_of_each_stack_shows_the_path_and_the_packets_that_it_dropped() {
    // Packets with data, and those of them that the relay dropped and that the stack declared lost. Drops of the relay: those, and the probe of
    // quinn for a larger MTU. The full queue has 24,000 bytes with the packet in service; a packet has `wire` bytes with IP and UDP.
    for (name, packets, lost, wire) in [
        ("aioquic", 100, 12, 1228),
        ("ngtcp2", 87, 12, 1472),
        ("picoquic", 86, 12, 1480),
        ("quic-go", 103, 16, 1308),
        ("quiche", 98, 12, 1228),
        ("quinn", 94, 11, 1448),
        ("xnet", 98, 11, 1226),
    ] {
        let capture = log(&format!("{name}-losses"));
        let connection = only(&capture);
        let seen = &connection.observed;
        assert_eq!(connection.vantage, Vantage::Sender, "{name}");
        assert_eq!(
            (seen.packets, seen.lost_packets, seen.spurious_retransmits),
            (packets, lost, 0),
            "{name}"
        );
        check_path(name, &capture);
        let buffer = 24_000.0 / f64::from(wire) - 1.0;
        match infer(&capture.connections).buffer {
            Inferred::Known(found) => assert!(holds(&found, buffer), "{name}: {buffer} {found:?}"),
            // The order of quinn's acknowledgements is inferred.
            Inferred::Unknown(_) => assert_eq!(name, "quinn"),
        }
    }
}

#[test]
fn registers_are_those_of_the_log() {
    // `zcat FILE | grep -o '"congestion_window":[0-9]*' | sed -n '1p;$p'`, and the largest by `sort`.
    let registers = |name: &str| only(&log(name)).observed.registers.unwrap();
    let quiche = registers("quiche-losses");
    assert_eq!((quiche.first_window_bytes, quiche.largest_window_bytes), (Some(12_000), Some(57_600)));
    assert_eq!((quiche.last_window_bytes, quiche.first_threshold_bytes), (Some(40_320), Some(40_320)));
    assert_eq!(registers("quic-go-losses").first_window_bytes, Some(40_960));
    assert_eq!(registers("quic-go-losses").first_threshold_bytes, None);
    // Under the name `cwnd`.
    assert_eq!(registers("aioquic-losses").largest_window_bytes, Some(80_448));
}

#[test]
fn flow_control_that_limits_a_transfer_is_its_limit() {
    // Seconds without room for a full packet, by testdata/quic/window.py. The last packet before a limit is not full, so that a part may count as
    // the application's.
    for (name, seconds) in [("picoquic", 0.268), ("quic-go", 0.303), ("quiche", 0.266)] {
        let capture = log(&format!("{name}-window"));
        let seen = &only(&capture).observed;
        let limited = seen.window_limited.0 as f64 / 1e9;
        assert!((limited - seconds).abs() < 0.008, "{name}: {limited} s of {seconds} s");
        let congestion = seen.congestion_limited.0 as f64 / 1e9;
        assert!(congestion < 0.25 * seconds, "{name}: {congestion} s");
        // No loss: the limit is below the path.
        assert_eq!((seen.lost_packets, seen.retransmits), (0, 0), "{name}");
    }
    // Streams of 16 MiB limit nothing.
    assert_eq!(only(&log("quic-go-losses")).observed.window_limited.0, 0);
}

#[test]
fn packets_without_the_tag_have_the_length_of_their_datagram() {
    // picoquic's `packet_size` of a packet that it sends is 16 bytes less than `byte_length` of its datagram: 1436 of 1452.
    let capture = log("picoquic-losses");
    let mss = only(&capture).observed.mss;
    // 27 bytes and a connection ID of 8 are overhead.
    assert_eq!(mss, 1452 - 35);
}

#[test]
fn the_log_of_a_receiver_shows_which_data_was_missing() {
    // The relay dropped 16 packets with data of this transfer.
    let capture = log("quic-go-receiver");
    let connection = only(&capture);
    assert_eq!(connection.vantage, Vantage::Receiver);
    assert_eq!((connection.observed.lost_packets, connection.observed.retransmits), (16, 16));
    assert!(connection.observed.registers.is_none(), "those of a receiver are not the sender's");
    let [warning] = &capture.warnings[..] else { panic!("{:?}", capture.warnings) };
    assert!(warning.contains("the log is that of the receiver"), "{warning}");
    let path = infer(&capture.connections);
    // Acknowledgements of the receiver's own packets may wait for 25 ms.
    let rtt = path.rtt.known().unwrap();
    assert!(holds(rtt, 0.04) && rtt.value < 0.045, "{rtt:?}");
    // Data arrived at the rate of the path; without the sender's times only a bound is known.
    let low = path.rate.unknown().unwrap().low.unwrap();
    assert!((low / 4e6 - 1.0).abs() < 0.02, "{low}");
}
