//! Captures whose clock was set while connections ran: real and synthetic captures with steps written into their
//! times must give the same path as without them.

use std::path::Path as File;

use crate::common::path::Path;
use crate::common::*;
use firstflight_capture::{Capture, Estimate, Inferred, PathEstimate, infer};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A step of the clock: the number of the first packet after it, and its size in microseconds.
type Step = (usize, i64);

/// Time after the steps before packet `index`, microseconds. The time of day is far from zero.
fn moved(index: usize, us: u64, steps: &[Step]) -> u64 {
    let by: i64 = steps.iter().filter(|(first, _)| *first <= index).map(|(_, by)| by).sum();
    us.checked_add_signed(by).unwrap()
}

fn set(packets: &[(u64, Tcp)], steps: &[Step]) -> Vec<(u64, Tcp)> {
    const DAY: u64 = 86_400_000_000;
    let moved = |(index, (us, tcp)): (usize, &(u64, Tcp))| (moved(index, us + DAY, steps), tcp.clone());
    packets.iter().enumerate().map(moved).collect()
}

/// Offset and time, microseconds, of every packet of a little-endian pcap file.
fn records(file: &[u8]) -> Vec<(usize, u64)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut records, mut at) = (Vec::new(), 24);
    while at < file.len() {
        records.push((at, u64::from(word(at)) * 1_000_000 + u64::from(word(at + 4))));
        at += 16 + word(at + 8) as usize;
    }
    records
}

fn set_in_file(file: &[u8], steps: &[Step]) -> Vec<u8> {
    let mut set = file.to_vec();
    for (index, (at, us)) in records(file).into_iter().enumerate() {
        let us = moved(index, us, steps);
        set[at..at + 4].copy_from_slice(&((us / 1_000_000) as u32).to_le_bytes());
        set[at + 4..at + 8].copy_from_slice(&((us % 1_000_000) as u32).to_le_bytes());
    }
    set
}

fn read_packets(packets: &[(u64, Tcp)]) -> (Capture, PathEstimate) {
    let capture = read_bytes(&pcap_of_tcp(packets)).unwrap();
    let path = infer(&capture.connections);
    (capture, path)
}

fn names_a_step(capture: &Capture) -> bool {
    capture.warnings.iter().any(|warning| warning.contains("the capture's clock was set"))
}

/// Bounds of a value, whether known or not.
fn bounds(value: &Inferred<Estimate>) -> (f64, f64) {
    match value {
        Inferred::Known(known) => (known.low, known.high),
        Inferred::Unknown(unknown) => (unknown.low.unwrap_or(0.0), unknown.high.unwrap_or(f64::INFINITY)),
    }
}

/// Asserts that two estimates of one path do not contradict each other. A longest wait, which is a lower bound of the
/// buffer, may differ by a packet or two.
#[track_caller]
fn assert_agree(true_path: &PathEstimate, path: &PathEstimate, what: &str) {
    for (name, one, other, slack) in [
        ("rate", &true_path.rate, &path.rate, 0.0),
        ("round trip", &true_path.rtt, &path.rtt, 0.0),
        ("buffer", &true_path.buffer, &path.buffer, 2.0),
        ("loss", &true_path.loss, &path.loss, 0.0),
        ("initial window", &true_path.initial_window, &path.initial_window, 0.0),
    ] {
        let ((low, high), (least, most)) = (bounds(one), bounds(other));
        assert!(least <= high + slack && low <= most + slack, "{what}: {name}: {one:?} became {other:?}");
    }
    let (Inferred::Known(one), Inferred::Known(other)) = (&true_path.rtt, &path.rtt) else {
        panic!("{what}: {:?} became {:?}", true_path.rtt, path.rtt)
    };
    assert!((one.value - other.value).abs() <= 0.001 + 0.01 * one.value, "{what}: {one:?} became {other:?}");
}

/// 8.416 Mbit/s is 1 ms per packet with time stamps; the path holds 40 packets.
fn stamped() -> Path {
    Path { stamps: true, rate_bit_s: 8_416_000, ..Path::default() }
}

#[test]
fn a_clock_set_back_by_50_ms_leaves_the_round_trip_of_40_ms() {
    for truth in [stamped(), Path::default()] {
        let packets = truth.run();
        let (capture, path) = read_packets(&set(&packets, &[(201, -50_000)]));
        assert_agree(&read_packets(&packets).1, &path, "set back by 50 ms");
        let size = if truth.stamps { "back by 50." } else { "back by at least 50." };
        assert!(capture.warnings[0].contains("clock was set once"), "{:?}", capture.warnings);
        assert!(capture.warnings[0].contains(size), "{:?}", capture.warnings);
    }
}

#[test]
fn a_capture_without_steps_has_no_warning_and_pauses_of_the_application_are_no_steps() {
    for truth in [
        stamped(),
        Path::default(),
        Path { at_receiver: true, ..stamped() },
        Path { writes: Some((20, 200_000)), segments: 1000, ..stamped() },
        Path { jitter_us: 5_000, ..stamped() },
        Path { ack_slots_us: 20_000, ..stamped() },
    ] {
        let warnings = read_packets(&truth.run()).0.warnings;
        // the application that writes is named as what limits its connection
        let other = warnings.iter().filter(|warning| !warning.contains("limited by its application"));
        assert_eq!((other.count(), warnings.len()), (0, usize::from(truth.writes.is_some())), "{warnings:?}");
    }
}

#[test]
fn a_clock_set_forward_is_told_from_a_pause_by_the_time_stamps_of_both_ends() {
    let packets = stamped().run();
    let (capture, path) = read_packets(&set(&packets, &[(1500, 80_000)]));
    assert!(capture.warnings[0].contains("forward by 80."), "{:?}", capture.warnings);
    assert_agree(&read_packets(&packets).1, &path, "set forward by 80 ms");
}

#[test]
fn a_clock_set_back_and_forth_is_named_with_every_step() {
    let steps = [(300, -30_000), (700, 45_000), (1200, -90_000), (1900, 70_000), (2600, -12_000)];
    for truth in [stamped(), Path { at_receiver: true, ..stamped() }] {
        let packets = truth.run();
        let (capture, path) = read_packets(&set(&packets, &steps));
        assert!(capture.warnings[0].contains("clock was set 5 times"), "{:?}", capture.warnings);
        assert!(capture.warnings[0].contains("and 2 more"), "{:?}", capture.warnings);
        assert_agree(&read_packets(&packets).1, &path, "set five times");
    }
}

#[test]
fn a_clock_set_back_by_an_hour_leaves_the_connections_whole() {
    let packets = stamped().run();
    let (whole, true_path) = read_packets(&packets);
    let (capture, path) = read_packets(&set(&packets, &[(2000, -3_600_000_000)]));
    let [before, after] = [&whole, &capture].map(|capture| &capture.connections[0].observed);
    assert_eq!((before.bytes, before.lost_packets), (after.bytes, after.lost_packets));
    // the transfer takes 3 s; the pause at the step is known to a tick
    let [before, after] = [before, after].map(|observed| observed.completion.unwrap().0);
    assert!(before.abs_diff(after) <= 1_000_000, "{before} {after}");
    assert_agree(&true_path, &path, "set back by an hour");
}

#[test]
fn packets_of_one_direction_written_late_are_no_step() {
    // each direction is written in blocks of 20 ms, as by two threads: first the data, then its acknowledgements
    let mut packets = stamped().run();
    packets.sort_by_key(|(us, tcp)| (us / 20_000, tcp.from_sender, *us));
    let (capture, path) = read_packets(&packets);
    let latest = packets.iter().scan(0, |latest, (us, _)| {
        *latest = (*latest).max(*us);
        Some(*latest)
    });
    let late = latest.zip(&packets).filter(|(latest, (us, _))| us < latest).count();
    let sorted =
        format!("{late} packets stand in the file behind later ones; they are sorted by their times");
    assert_eq!(capture.warnings, [sorted]);
    assert_eq!(path, read_packets(&stamped().run()).1);
}

#[test]
fn a_clock_set_more_often_than_the_limit_ends_the_capture() {
    let steps: Vec<Step> = (0..1300).map(|step| (100 + 4 * step, -2_500)).collect();
    let (capture, _) = read_packets(&set(&stamped().run(), &steps));
    let warning = &capture.warnings[0];
    assert!(warning.contains("clock was set more than 1000 times"), "{warning}");
    assert!(warning.contains("the packets after the first 1000 steps are left out"), "{warning}");
}

/// A capture of real connections in `testdata`.
fn shipped(name: &str) -> Vec<u8> {
    std::fs::read(File::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)).unwrap()
}

const SHIPPED: [&str; 9] = [
    "p1-cubic-1000KB.pcap",
    "p1-reno-1000KB.pcap",
    "p2-reno-30KB.pcap",
    "more/q1r-reno-300KB.pcap",
    "more/q1x3-reno-100KB.pcap",
    "more/q6-bbr-300KB.pcap",
    "more/q7-cubic-1000KB.pcap",
    "more/q8app-reno-1000KB.pcap",
    "more/q8rwnd-reno-1000KB.pcap",
];

/// Sizes from 10 ms to 10 s, in microseconds, back or forward.
fn size() -> impl Strategy<Value = i64> {
    (4.0..7.0_f64, any::<bool>()).prop_map(|(log, back)| {
        let size = 10_f64.powf(log) as i64;
        if back { -size } else { size }
    })
}

fn config(cases: u32, seed: u64) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(150, 1))]

    #[test]
    fn one_step_anywhere_in_a_real_capture_leaves_its_path(
        name in prop::sample::select(&SHIPPED[..]),
        place in any::<prop::sample::Index>(),
        by in size(),
    ) {
        let file = shipped(name);
        let first = 1 + place.index(records(&file).len() - 1);
        let capture = read_bytes(&set_in_file(&file, &[(first, by)])).unwrap();
        let path = infer(&capture.connections);
        assert_agree(&infer(&read_bytes(&file).unwrap().connections), &path, name);
        // a step forward during the handshake is only a longer round trip; at the end, too few packets show a step
        let shows = (3..records(&file).len() - 8).contains(&first);
        prop_assert!(names_a_step(&capture) || !shows, "{name}: {first} by {by}: {:?}", capture.warnings);
    }

    #[test]
    fn steps_back_and_forth_in_a_real_capture_leave_its_path(
        name in prop::sample::select(&["p1-cubic-1000KB.pcap", "p1-reno-1000KB.pcap", "more/q7-cubic-1000KB.pcap"][..]),
        sizes in prop::collection::vec(size(), 2..5),
        offset in 0..150_usize,
    ) {
        let file = shipped(name);
        let steps: Vec<Step> = sizes.iter().enumerate().map(|(at, by)| (50 + 200 * at + offset, *by)).collect();
        let capture = read_bytes(&set_in_file(&file, &steps)).unwrap();
        let path = infer(&capture.connections);
        assert_agree(&infer(&read_bytes(&file).unwrap().connections), &path, name);
        prop_assert!(names_a_step(&capture), "{name}: {steps:?}: {:?}", capture.warnings);
    }

    #[test]
    fn a_step_back_is_seen_without_time_stamps_while_packets_follow_closely(
        first in 30..5000_usize,
        by in 5_000..3_000_000_i64,
    ) {
        // a packet each millisecond
        let packets = Path::default().run();
        let (capture, path) = read_packets(&set(&packets, &[(first, -by)]));
        assert_agree(&read_packets(&packets).1, &path, "without time stamps");
        prop_assert!(names_a_step(&capture), "{first} by {by}: {:?}", capture.warnings);
    }
}
