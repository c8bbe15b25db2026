//! `firstflight sender`: transcripts calculated by hand from the RFCs. Segments carry 1000 bytes.

use crate::common::{self, Scratch};
use serde_json::{Value, json};

/// Runs a script; returns the result of the run.
fn finished(options: &[&str], script: &[Value]) -> common::Finished {
    let lines: String = script.iter().map(|line| format!("{line}\n")).collect();
    Scratch::new().run_with(&[&["sender"], options].concat(), &lines)
}

/// Runs a script; returns the answers, one for each line.
fn sender(options: &[&str], script: &[Value]) -> Vec<Value> {
    let run = finished(options, script);
    assert_eq!((run.code, &*run.err), (0, ""), "{run:?}");
    let answers: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), script.len());
    for (line, answer) in script.iter().zip(&answers) {
        if let Some(next) = answer["next_timer_us"].as_u64() {
            assert!(next > line["at_us"].as_u64().expect("a time"), "{line} {answer}");
        }
    }
    answers
}

fn open(sack: bool) -> Value {
    json!({ "at_us": 0, "do": "established", "mss": 1000, "window": 1_000_000, "sack": sack, "rtt_us": 100_000 })
}

fn write(at_us: u64, bytes: u64) -> Value {
    json!({ "at_us": at_us, "do": "write", "bytes": bytes })
}

fn ack(at_us: u64, ack: u64) -> Value {
    json!({ "at_us": at_us, "do": "ack", "ack": ack })
}

fn sack(at_us: u64, ack: u64, from: u64, to: u64) -> Value {
    json!({ "at_us": at_us, "do": "ack", "ack": ack, "sack": [[from, to]] })
}

fn advance(at_us: u64) -> Value {
    json!({ "at_us": at_us, "do": "advance" })
}

/// Sequence numbers of the segments that an answer sent. All must be new, full, and sent at `at_us`.
fn new_at(answer: &Value, at_us: u64) -> Vec<u64> {
    let sent = answer["sent"].as_array().expect("a list");
    for segment in sent {
        assert_eq!((&segment["at_us"], &segment["len"]), (&json!(at_us), &json!(1000)), "{answer}");
        assert_eq!(segment["retransmit"], json!(false), "{answer}");
    }
    sent.iter().map(|segment| segment["seq"].as_u64().expect("a number")).collect()
}

/// Times and sequence numbers of the retransmissions in an answer.
fn retransmitted(answer: &Value) -> Vec<(u64, u64)> {
    let sent = answer["sent"].as_array().expect("a list").iter();
    let retransmissions = sent.filter(|segment| segment["retransmit"] == json!(true));
    retransmissions
        .map(|segment| (segment["at_us"].as_u64().unwrap(), segment["seq"].as_u64().unwrap()))
        .collect()
}

/// Sequence numbers of `count` full segments from byte `from`.
fn segments(from: u64, count: u64) -> Vec<u64> {
    (0..count).map(|i| from + 1000 * i).collect()
}

/// Fields of an answer's `info`.
fn info<const N: usize>(answer: &Value, fields: [&str; N]) -> [Value; N] {
    fields.map(|field| answer["info"][field].clone())
}

const RENO: [&str; 4] = ["--avoidance", "reno", "--recovery", "newreno"];

#[test]
fn an_answer_has_the_fields_of_the_contract() {
    let answers = sender(&[], &[open(true), write(0, 1500)]);
    let info = json!({ "cwnd": 10.0, "ssthresh": null, "state": "open", "unacked": 2, "sacked": 0, "lost": 0,
        "retrans": 0, "reordering": 3, "in_flight": 2, "srtt_us": 100_000, "rto_us": 1_000_000,
        "min_rtt_us": 100_000, "pacing_bit_s": 0 });
    let sent = json!([{ "at_us": 0, "seq": 1, "len": 1000, "retransmit": false },
        { "at_us": 0, "seq": 1001, "len": 500, "retransmit": false }]);
    assert_eq!(answers[1], json!({ "sent": sent, "info": info, "next_timer_us": 1_000_000 }));
    assert_eq!((&answers[0]["sent"], &answers[0]["next_timer_us"]), (&json!([]), &Value::Null));
}

#[test]
fn the_first_flight_is_the_initial_window_of_the_profile() {
    // RFC 6928: min (10*1000, max (2*1000, 14600)) bytes; TCP_INIT_CWND 10; windowInit_ 1.
    for (options, window) in [
        (&["--profile", "rfc"][..], 10),
        (&["--profile", "linux"], 10),
        (&["--profile", "ns2"], 1),
        (&["--initial-window", "4 packets"], 4),
        (&["--initial-window", "3999 B"], 3),
    ] {
        let answers = sender(options, &[open(true), write(0, 30_000)]);
        assert_eq!(new_at(&answers[1], 0), segments(1, window), "{options:?}");
    }
}

#[test]
fn slow_start_sends_two_segments_for_each_ack_of_one() {
    let acks = (1..=20).map(|n| ack(100_000 + n, 1 + 1000 * n));
    let script: Vec<Value> = [open(true), write(0, 100_000)].into_iter().chain(acks).collect();
    let answers = sender(&[], &script);
    for n in 1..=20_u64 {
        let answer = &answers[n as usize + 1];
        // Each ACK frees one segment of the window and adds one to it.
        assert_eq!(new_at(answer, 100_000 + n), segments(1 + 1000 * (10 + 2 * (n - 1)), 2), "ACK {n}");
        assert_eq!(info(answer, ["cwnd", "unacked"]), [json!(10.0 + n as f64), json!(10 + n)], "ACK {n}");
    }
}

#[test]
fn an_ack_of_two_segments_adds_one_segment_by_the_rfc_and_two_in_linux() {
    // RFC 5681 equation (2): "cwnd += min (N, SMSS)". Linux counts acknowledged segments.
    for (profile, growth) in [("rfc", 1), ("linux", 2)] {
        let acks = (1..=5).map(|n| ack(100_000, 1 + 2000 * n));
        let script: Vec<Value> = [open(true), write(0, 100_000)].into_iter().chain(acks).collect();
        let answers = sender(&["--profile", profile], &script);
        for n in 1..=5_u64 {
            let answer = &answers[n as usize + 1];
            let first = 1 + 1000 * (10 + (2 + growth) * (n - 1));
            assert_eq!(new_at(answer, 100_000), segments(first, 2 + growth), "{profile}, ACK {n}");
        }
    }
}

#[test]
fn above_the_threshold_the_window_grows_by_one_segment_per_window_of_acks() {
    // Two segments and their two ACKs: the window is at its threshold of four, with four segments in flight.
    let acks = (1..=6).map(|n| ack(if n <= 2 { 100_000 } else { 200_000 }, 1 + 1000 * n));
    let script: Vec<Value> = [open(true), write(0, 100_000)].into_iter().chain(acks).collect();
    let options = ["--avoidance", "reno", "--initial-window", "2 packets", "--initial-ssthresh", "4 packets"];
    let answers = sender(&options, &script);
    assert_eq!(info(&answers[3], ["cwnd", "ssthresh", "unacked"]), [json!(4.0), json!(4.0), json!(4)]);
    // RFC 5681 recommends counting the acknowledged bytes and adding one segment per window of them.
    for (answer, (cwnd, sent)) in answers[4..].iter().zip([(4.0, 1), (4.0, 1), (4.0, 1), (5.0, 2)]) {
        assert_eq!((new_at(answer, 200_000).len(), info(answer, ["cwnd"])), (sent, [json!(cwnd)]));
    }
}

#[test]
fn the_timeout_follows_rfc_6298() {
    // (2.2) from the handshake: SRTT 100 ms, RTTVAR 50 ms, RTO 300 ms. (2.3) after a second sample of 100 ms:
    // RTTVAR 37.5 ms, RTO 250 ms; then 180 ms: RTTVAR 3/4*37.5 + 1/4*80 = 48.125, SRTT 110, RTO 302.5 ms.
    let script = [open(true), write(0, 2000), ack(100_000, 1001), ack(180_000, 2001), write(180_000, 1000)];
    let answers = sender(&["--min-rto", "200 ms"], &script);
    let registers = |i: usize| info(&answers[i], ["srtt_us", "rto_us", "min_rtt_us"]);
    assert_eq!(registers(1), [json!(100_000), json!(300_000), json!(100_000)]);
    assert_eq!((registers(2)[1].clone(), &answers[2]["next_timer_us"]), (json!(250_000), &json!(350_000)));
    assert_eq!(registers(3), [json!(110_000), json!(302_500), json!(100_000)]);
    // (5.2): "When all outstanding data has been acknowledged, turn off the retransmission timer."
    assert_eq!(answers[3]["next_timer_us"], Value::Null);
    assert_eq!(answers[4]["next_timer_us"], json!(180_000 + 302_500));
    // (2.4): below 1 s the RTO is 1 s.
    assert_eq!(sender(&[], &script)[1]["next_timer_us"], json!(1_000_000));
}

#[test]
fn a_lost_segment_is_retransmitted_at_each_timeout_and_the_timeout_doubles() {
    let script = [open(true), write(0, 1000), advance(999_999), advance(1_000_000), advance(8_000_000)];
    let answers = sender(&["--avoidance", "reno"], &script);
    assert_eq!((retransmitted(&answers[2]), retransmitted(&answers[3])), (vec![], vec![(1_000_000, 1)]));
    // RFC 5681 equation (4): max (FlightSize/2, 2*SMSS) with one segment in flight; the loss window is one segment.
    let fields = ["state", "cwnd", "ssthresh", "in_flight"];
    assert_eq!(info(&answers[3], fields), [json!("loss"), json!(1.0), json!(2.0), json!(1)]);
    assert_eq!(answers[3]["next_timer_us"], json!(3_000_000));
    // One line fires every timer that is due, each at its own time: after 2 s, and after 4 s more.
    assert_eq!(retransmitted(&answers[4]), [(3_000_000, 1), (7_000_000, 1)]);
    assert_eq!(answers[4]["next_timer_us"], json!(15_000_000));
    // RFC 5681 section 3.1: after the second timeout of a segment ssthresh "is held constant".
    assert_eq!(info(&answers[4], ["ssthresh"]), [json!(2.0)]);
}

#[test]
fn after_a_timeout_slow_start_retransmits_the_whole_flight() {
    let script =
        [open(false), write(0, 8000), advance(1_000_000), ack(1_100_000, 1001), ack(1_200_000, 3001)];
    let answers = sender(&RENO, &script);
    assert_eq!(retransmitted(&answers[2]), [(1_000_000, 1)]);
    // Eight segments were in flight: ssthresh 4. One retransmission, then two, then (one ACK of two) three.
    assert_eq!(info(&answers[2], ["ssthresh", "lost"]), [json!(4.0), json!(7)]);
    assert_eq!(retransmitted(&answers[3]), [(1_100_000, 1001), (1_100_000, 2001)]);
    assert_eq!(retransmitted(&answers[4]), [(1_200_000, 3001), (1_200_000, 4001), (1_200_000, 5001)]);
}

#[test]
fn each_of_the_first_two_duplicate_acks_releases_a_new_segment() {
    // RFC 3042, with and without SACK.
    let plain = [open(false), write(0, 100_000), ack(100_000, 1), ack(100_001, 1), ack(100_002, 1)];
    let answers = sender(&RENO, &plain);
    assert_eq!((new_at(&answers[2], 100_000), new_at(&answers[3], 100_001)), (vec![10_001], vec![11_001]));
    assert_eq!(info(&answers[3], ["state", "cwnd"]), [json!("disorder"), json!(10.0)]);
    assert_eq!(retransmitted(&answers[4]), [(100_002, 1)]);
    let blocks = [sack(100_000, 1, 1001, 2001), sack(100_001, 1, 1001, 3001), sack(100_002, 1, 1001, 4001)];
    let answers = sender(&[], &[&[open(true), write(0, 100_000)][..], &blocks].concat());
    assert_eq!((new_at(&answers[2], 100_000), new_at(&answers[3], 100_001)), (vec![10_001], vec![11_001]));
    assert_eq!(retransmitted(&answers[4]), [(100_002, 1)]);
}

#[test]
fn newreno_recovers_from_one_loss_without_sack() {
    // Ten segments in flight, the first lost: nine duplicate ACKs, then an ACK of all data.
    let duplicates = (0..9).map(|n| ack(100_000 + n, 1));
    let script: Vec<Value> =
        [open(false), write(0, 10_000)].into_iter().chain(duplicates).chain([ack(200_000, 10_001)]).collect();
    let answers = sender(&RENO, &script);
    assert_eq!(retransmitted(&answers[3]), [], "two duplicate ACKs are not enough");
    assert_eq!(retransmitted(&answers[4]), [(100_002, 1)]);
    // RFC 5681 section 3.2: ssthresh is half of ten, cwnd is ssthresh plus three, then plus one per duplicate ACK.
    assert_eq!(info(&answers[4], ["state", "ssthresh", "cwnd"]), [json!("recovery"), json!(5.0), json!(8.0)]);
    assert_eq!(info(&answers[10], ["cwnd"]), [json!(14.0)]);
    // RFC 6582 section 3.2 step 3: min (ssthresh, max (FlightSize, SMSS) + SMSS) with nothing in flight.
    assert_eq!(info(&answers[11], ["state", "cwnd", "unacked"]), [json!("open"), json!(2.0), json!(0)]);
    assert_eq!(answers[11]["next_timer_us"], Value::Null);
}

/// A peer may send any number of duplicates. Each inflates the window by a segment (RFC 5681 section 3.2), also beyond the
/// two segments in flight; new data then leaves at once.
#[test]
fn more_duplicates_than_segments_in_flight_leave_room_for_new_data() {
    let mut script = vec![open(false), write(0, 2000)];
    script.extend((0..5).map(|i| ack(100_000 + i, 1)));
    script.push(write(100_010, 3000));
    let answers = sender(&["--recovery", "reno"], &script);
    assert_eq!(retransmitted(&answers[4]), [(100_002, 1)]);
    // ssthresh is max(flight / 2, 2) = 2; five duplicates make the window 7, and two segments are in flight.
    assert_eq!(info(&answers[6], ["cwnd"]), [json!(7.0)]);
    assert_eq!(new_at(&answers[7], 100_010), segments(2001, 3));
}

#[test]
fn a_partial_ack_retransmits_the_next_hole_at_once() {
    // Segments 1 and 5 of ten are lost.
    let script = [
        open(false),
        write(0, 10_000),
        ack(100_000, 1),
        ack(100_001, 1),
        ack(100_002, 1),
        ack(200_000, 4001),
        ack(300_000, 10_001),
    ];
    let answers = sender(&RENO, &script);
    assert_eq!(retransmitted(&answers[4]), [(100_002, 1)]);
    // RFC 6582: retransmit, deflate 8 by the four acknowledged, and add one back.
    assert_eq!(retransmitted(&answers[5]), [(200_000, 4001)]);
    assert_eq!(info(&answers[5], ["state", "cwnd"]), [json!("recovery"), json!(5.0)]);
    assert_eq!(info(&answers[6], ["state"]), [json!("open")]);
}

#[test]
fn sack_recovery_of_one_loss_follows_the_pipe_of_rfc_6675() {
    let script = [
        open(true),
        write(0, 10_000),
        sack(100_000, 1, 1001, 2001),
        sack(100_001, 1, 1001, 3001),
        sack(100_002, 1, 1001, 4001),
        write(100_003, 5000),
        sack(100_004, 1, 1001, 5001),
        sack(100_005, 1, 1001, 6001),
        sack(100_006, 1, 1001, 7001),
        sack(100_007, 1, 1001, 10_001),
        ack(200_000, 10_001),
    ];
    let answers = sender(&["--avoidance", "reno"], &script);
    let fields = ["state", "cwnd", "sacked", "lost", "retrans", "in_flight"];
    let registers = |i: usize| info(&answers[i], fields);
    let row = |state: &str, rest: [f64; 5]| {
        let whole = |n: f64| json!(n as u64);
        [json!(state), json!(rest[0]), whole(rest[1]), whole(rest[2]), whole(rest[3]), whole(rest[4])]
    };
    // Ten in flight, minus the SACKed ones.
    assert_eq!(registers(2), row("disorder", [10.0, 1.0, 0.0, 0.0, 9.0]));
    assert_eq!(registers(3), row("disorder", [10.0, 2.0, 0.0, 0.0, 8.0]));
    // Third duplicate ACK: half the window, a retransmission; pipe 10 - 3 SACKed - 1 lost + 1 retransmitted = 7.
    assert_eq!(retransmitted(&answers[4]), [(100_002, 1)]);
    assert_eq!(registers(4), row("recovery", [5.0, 3.0, 1.0, 1.0, 7.0]));
    // Pipe 7, 6 and 5 leave no room in a window of 5.
    for (i, at) in [(5, 100_003), (6, 100_004), (7, 100_005)] {
        assert!(new_at(&answers[i], at).is_empty(), "line {i}");
    }
    // Pipe 4: one new segment. Three more SACKed: pipe 2, three new segments.
    assert_eq!(new_at(&answers[8], 100_006), [10_001]);
    assert_eq!(new_at(&answers[9], 100_007), segments(11_001, 3));
    assert_eq!(registers(9), row("recovery", [5.0, 9.0, 1.0, 1.0, 5.0]));
    // All data in flight at the start of recovery is acknowledged: state open. That ACK does not increase the window.
    assert_eq!(new_at(&answers[10], 200_000), [14_001]);
    assert_eq!(registers(10), row("open", [5.0, 0.0, 0.0, 0.0, 5.0]));
    assert_eq!(info(&answers[10], ["ssthresh"]), [json!(5.0)]);
}

#[test]
fn an_idle_time_beyond_the_timeout_restarts_from_the_initial_window() {
    // Ten ACKs in slow start, then one ACK of the next twenty segments: cwnd 21, nothing in flight, last data sent at
    // 0.1 s.
    let grow = (1..=10).map(|n| ack(100_000, 1 + 1000 * n)).chain([ack(200_000, 30_001)]);
    let script = |at_us| -> Vec<Value> {
        [open(true), write(0, 30_000)].into_iter().chain(grow.clone()).chain([write(at_us, 60_000)]).collect()
    };
    let sent = |options: &[&str], at_us| {
        let answers = sender(options, &script(at_us));
        new_at(&answers[13], at_us).len()
    };
    // RFC 5681 section 4.1: "in an interval exceeding the retransmission timeout", here 1 s.
    assert_eq!(sent(&[], 1_100_000), 21);
    assert_eq!(sent(&[], 1_100_001), 10);
    assert_eq!(sent(&["--idle-restart", "keep"], 1_100_001), 21);
}

#[test]
fn the_receive_window_limits_sending_and_a_window_update_is_no_duplicate_ack() {
    let mut established = open(false);
    established["window"] = json!(3500);
    let window = |at_us, ack, window| json!({ "at_us": at_us, "do": "ack", "ack": ack, "window": window });
    let script = [
        established,
        write(0, 30_000),
        window(100_000, 1001, 3500),
        window(100_001, 1001, 0),
        window(100_002, 1001, 6000),
        window(100_003, 1001, 6000),
    ];
    let answers = sender(&RENO, &script);
    // The window allows three full segments, then data up to byte 4501, then up to 7001.
    assert_eq!(new_at(&answers[1], 0), segments(1, 3));
    assert_eq!(new_at(&answers[2], 100_000), [3001]);
    assert!(new_at(&answers[3], 100_001).is_empty());
    assert_eq!(new_at(&answers[4], 100_002), segments(4001, 3));
    let states: Vec<_> = answers[2..].iter().map(|answer| answer["info"]["state"].clone()).collect();
    assert_eq!(states, ["open", "open", "open", "disorder"]);
}

#[test]
fn short_writes_make_short_segments_and_waiting_segments_are_filled() {
    let script = [open(true), write(0, 1500), write(0, 200), ack(100_000, 1201), ack(100_000, 1501)];
    let answers = sender(&["--initial-window", "4 packets"], &script);
    let lengths = |i: usize| -> Vec<u64> {
        answers[i]["sent"]
            .as_array()
            .unwrap()
            .iter()
            .map(|segment| segment["len"].as_u64().unwrap())
            .collect()
    };
    assert_eq!((lengths(1), lengths(2)), (vec![1000, 500], vec![200]));
    // An ACK in the middle of the second segment acknowledges only the first.
    assert_eq!(info(&answers[3], ["unacked", "state"]), [json!(2), json!("open")]);
    assert_eq!(info(&answers[4], ["unacked"]), [json!(1)]);
    // With a window of one segment, the second segment waits, and the next write fills it.
    let script = [open(true), write(0, 1500), write(0, 200), ack(100_000, 1001)];
    let answers = sender(&["--initial-window", "1 packets"], &script);
    assert_eq!(
        answers[3]["sent"],
        json!([{ "at_us": 100_000, "seq": 1001, "len": 700, "retransmit": false }])
    );
}

#[test]
fn acks_of_unsent_or_already_acknowledged_data_change_nothing() {
    let script = [open(true), write(0, 2000), ack(100_000, 2001), ack(100_000, 3001), ack(100_000, 1001)];
    let answers = sender(&[], &script);
    assert_eq!((&answers[3]["info"], &answers[4]["info"]), (&answers[2]["info"], &answers[2]["info"]));
}

#[test]
fn any_number_of_sack_blocks_counts_and_only_full_segments_in_them() {
    let blocks = json!([[9001, 10_001], [7001, 8001], [5001, 6001], [2501, 4501], [1, 1001]]);
    let line = json!({ "at_us": 100_000, "do": "ack", "ack": 1001, "sack": blocks });
    let answers = sender(&["--avoidance", "reno"], &[open(true), write(0, 10_000), line]);
    // Segments 10, 8, 6 and, within bytes 2501 to 4500, only the one from 3001. The last block is already acknowledged.
    assert_eq!(info(&answers[2], ["sacked", "unacked"]), [json!(4), json!(9)]);
}

#[test]
fn an_echoed_mark_halves_the_window_once_a_round_trip() {
    let marked = |at_us, ack| json!({ "at_us": at_us, "do": "ack", "ack": ack, "ece": true });
    let script = [open(true), write(0, 10_000), marked(100_000, 1001), marked(100_001, 2001)];
    let answers = sender(&["--avoidance", "reno"], &script);
    // RFC 3168 section 6.1.2: half of the ten in flight, and no second reduction within a round trip.
    assert_eq!(info(&answers[2], ["state", "ssthresh"]), [json!("cwr"), json!(5.0)]);
    assert_eq!(info(&answers[3], ["ssthresh", "retrans"]), [json!(5.0), json!(0)]);
}

#[test]
fn a_paced_flight_leaves_one_segment_at_each_timer() {
    // Jump Start paces the queued data over the round-trip time of the handshake: ten segments in 100 ms.
    let turns = (1..10).map(|n| advance(n * 10_000));
    let script: Vec<Value> = [open(true), write(0, 10_000)].into_iter().chain(turns).collect();
    let answers = sender(&["--startup", "jump-start"], &script);
    assert_eq!(info(&answers[1], ["pacing_bit_s"]), [json!(800_000)]);
    for n in 0..10 {
        let answer = &answers[1 + n as usize];
        assert_eq!(new_at(answer, n * 10_000), [1 + 1000 * n], "segment {n}");
        let next = if n < 9 { (n + 1) * 10_000 } else { 1_000_000 };
        assert_eq!(answer["next_timer_us"], json!(next), "after segment {n}");
    }
}

#[test]
fn a_timer_between_two_microseconds_is_reported_and_fires_at_the_later_one() {
    // 7000 bytes over 33 333 us: one segment every 4761.86 us.
    let mut established = open(true);
    established["rtt_us"] = json!(33_333);
    let turns = (1..7).map(|n: u64| advance((n * 33_333).div_ceil(7)));
    let script: Vec<Value> = [established, write(0, 7000)].into_iter().chain(turns).collect();
    let answers = sender(&["--startup", "jump-start"], &script);
    for n in 1..7_u64 {
        let due = (n * 33_333).div_ceil(7);
        assert_eq!(answers[n as usize]["next_timer_us"], json!(due), "before segment {n}");
        assert_eq!(new_at(&answers[n as usize + 1], due), [1 + 1000 * n]);
    }
}

#[test]
fn every_scheme_can_be_driven() {
    let labels = Scratch::new().run(&["algorithms", "--json"]).json();
    for algorithm in labels.as_array().expect("a list") {
        let label = algorithm["label"].as_str().expect("a word");
        let options = match algorithm["role"].as_str() {
            Some("startup") => ["--startup", label],
            Some("avoidance") => ["--avoidance", label],
            _ => continue,
        };
        let acks = (1..=5).map(|n| ack(100_000, 1 + 1000 * n));
        let script: Vec<Value> =
            [open(true), write(0, 50_000), advance(99_999)].into_iter().chain(acks).collect();
        let needs = algorithm["needs"].as_array().expect("a list");
        let elsewhere = ["router-grant", "router-feedback", "router-load", "path-memory", "shared-window"];
        if let Some(need) = needs.iter().find(|need| elsewhere.iter().any(|other| *need == other)) {
            // A single sender has neither routers nor other connections.
            let refused = finished(&options, &script);
            assert_eq!(refused.code, 2, "{label} needs {need}");
            assert!(refused.err.contains(label), "{}", refused.err);
            continue;
        }
        let answers = sender(&options, &script);
        // Five segments were acknowledged and none was lost: every scheme must keep a window and retransmit nothing.
        let info = &answers[7]["info"];
        let number = |key: &str| info[key].as_f64().expect("a number");
        assert!(number("cwnd") >= 4.0 && number("retrans") == 0.0, "{label}: {info}");
    }
}

#[test]
fn the_segment_size_is_a_number_or_a_quantity() {
    let open = json!({ "at_us": 0, "do": "established", "window": 1_000_000 });
    let first = |mss: &str| {
        let answers = sender(&["--mss", mss], &[open.clone(), write(0, 5000)]);
        answers[1]["sent"][0]["len"].as_u64().expect("a length")
    };
    assert_eq!(["1000", "1000 B", "1 KB", "16"].map(first), [1000, 1000, 1000, 16]);
    for (mss, why) in [
        ("1000 packets", "--mss \"1000 packets\": there is no unit \"packets\" here"),
        ("15", "--mss \"15\": no size of a segment; expected bytes from 16 to 65483"),
        ("-1 B", "--mss \"-1 B\": negative"),
        ("99999999999999999999", "--mss \"99999999999999999999\": more than any segment has"),
        ("", "--mss \"\": not a number with a unit"),
    ] {
        let run = finished(&["--mss", mss], std::slice::from_ref(&open));
        assert_eq!((run.code, &*run.out), (2, ""), "{mss}");
        assert!(run.err.starts_with(&format!("error: {why}")), "{}", run.err);
    }
}

#[test]
fn late_acks_count_for_the_linux_sender_and_are_dropped_by_the_rfc() {
    let script = [open(true), write(0, 30_000), ack(100_000, 5001), sack(101_000, 2001, 7001, 8001)];
    let sacked = |profile: &str| sender(&["--profile", profile], &script)[3]["info"]["sacked"].clone();
    assert_eq!((sacked("linux"), sacked("rfc")), (json!(1), json!(0)));
}
