//! Effects of connections whose times are drawn from a known distribution, and of connections small enough to compute by hand.

use firstflight_random::{Stream, normal};
use firstflight_results::{CapturedConnection, CapturedTransfer};

use super::*;

fn transfer(bytes: u64, completion_s: f64) -> CapturedTransfer {
    CapturedTransfer { bytes, begin_s: 0.0, completion_s, application_limited_s: 0.0 }
}

fn connection(window: u64, rtt_ms: f64, transfers: Vec<CapturedTransfer>) -> CapturedConnection {
    CapturedConnection {
        index: 0,
        start_s: 0.0,
        client_network: "203.0.113.0/24".into(),
        name: "192.0.2.1:443 > 203.0.113.7:50000".into(),
        bytes: transfers.iter().map(|it| it.bytes).sum(),
        requests: transfers.len() as u64,
        rtt_ms: Some(rtt_ms),
        first_flight_packets: Some(window),
        first_flight_paced: Some(false),
        initial_window_packets: Some(window),
        startup_exit: None,
        limited_by: None,
        limited_s: None,
        packets: 100,
        retransmitted_packets: 0,
        captured_at: "sender".into(),
        transport: "tcp".into(),
        source: "segments".into(),
        registers: None,
        transfers,
    }
}

fn side(connections: Vec<CapturedConnection>) -> Connections {
    Connections { name: "side.pcap".into(), connections }
}

/// Connections of clients whose round trips are spread by half, with one to three transfers of 10 KB to 10 MB each. The logarithm of a
/// time is `change`, and that of the path, of the connection (standard deviation 0.1) and of the transfer (0.1).
fn drawn(count: usize, change: f64, stream: &mut Stream) -> Connections {
    let mut normal = |deviation: f64| deviation * normal::quantile(stream.unit());
    let one = |_| {
        let (rtt, own) = (0.05 * exp(normal(0.5)), normal(0.1));
        let transfers = 1 + (normal(1.0) > 0.0) as usize + (normal(1.0) > 1.0) as usize;
        let of = |_: usize| {
            let bytes = 300_000.0 * exp(normal(1.0)).clamp(1.0 / 30.0, 30.0);
            let time = exp(change + own + normal(0.1)) * rtt * (bytes / 10_000.0).powf(0.4);
            transfer(bytes as u64, time)
        };
        connection(10, rtt * 1e3, (0..transfers).map(of).collect())
    };
    side((0..count).map(one).collect())
}

#[test]
fn the_gain_of_equal_sizes_is_that_of_the_geometric_means() {
    // Before: 1, 2, 4 and 8 times twice, geometric mean 2^1.5; after: half of each.
    let times = |factor: f64| {
        let one = |n: i32| connection(10, 50.0, vec![transfer(30_000, factor * f64::from(1 << (n % 4)))]);
        side((0..8).map(one).collect())
    };
    let found = effect(&times(1.0), &times(0.5), 1);
    let [size] = &found.sizes[..] else { panic!("{:?}", found.sizes) };
    assert_eq!((size.size_bytes, size.transfers_before, size.transfers_after), (30_000, 8, 8));
    let near =
        |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-9, "{value} {expected}");
    near(size.before_s, 8_f64.sqrt());
    near(size.after_s, 2_f64.sqrt());
    near(size.gain, 0.5);
    near(found.gain.expect("a gain"), 0.5);
    // Round trips, first flights and retransmissions are the same.
    assert!(found.changed.is_empty() && found.unchanged.len() == 4, "{:?}", found.changed);
}

#[test]
fn times_that_do_not_vary_show_every_difference() {
    let times = |window: u64, time: f64| {
        side((0..8).map(|_| connection(window, 50.0, vec![transfer(30_000, time)])).collect())
    };
    let found = effect(&times(10, 1.0), &times(20, 0.9), 1);
    assert_eq!((&*found.verdict, found.connections_needed), ("sooner", None));
    let [low, high] = found.gain_ci95.expect("an interval");
    assert!((low - 0.1).abs() < 1e-9 && (high - 0.1).abs() < 1e-9, "{low} {high}");
    let [flights] = &found.changed[..] else { panic!("{:?}", found.changed) };
    assert_eq!((&*flights.what, flights.before, flights.after), ("first flight", 10.0, 20.0));
    assert_eq!((flights.before_ci95, flights.after_ci95), ([10.0; 2], [20.0; 2]));
    assert_eq!(effect(&times(20, 0.9), &times(10, 1.0), 1).verdict, "later");
}

#[test]
fn too_few_connections_have_no_interval_and_show_no_difference() {
    let times =
        |time: f64| side((0..7).map(|_| connection(10, 50.0, vec![transfer(30_000, time)])).collect());
    let found = effect(&times(1.0), &times(0.5), 1);
    assert_eq!((&*found.verdict, found.gain, found.gain_ci95), ("no difference shown", None, None));
    assert!((found.sizes[0].gain - 0.5).abs() < 1e-9 && found.sizes[0].gain_ci95.is_none());
    assert_eq!(
        found.warnings,
        ["no size has transfers of 8 connections on each side, which an interval needs"]
    );
}

#[test]
fn small_transfers_and_those_that_the_application_held_back_do_not_count() {
    let slow = CapturedTransfer { application_limited_s: 0.05, ..transfer(30_000, 1.0) };
    let quick = CapturedTransfer { application_limited_s: 0.049, ..transfer(30_000, 1.0) };
    let one = side(vec![connection(10, 50.0, vec![transfer(9_486, 1.0), transfer(9_487, 1.0), slow, quick])]);
    let found = effect(&one, &one, 1);
    assert_eq!((found.before.transfers, found.before.small, found.before.application_limited), (2, 1, 1));
    assert_eq!(found.sizes[0].transfers_before, 2);
}

#[test]
fn paths_that_differ_are_named_and_show_no_effect() {
    let times =
        |rtt: f64| side((0..20).map(|_| connection(10, rtt, vec![transfer(30_000, rtt / 25.0)])).collect());
    let found = effect(&times(50.0), &times(40.0), 1);
    assert!(
        found.paths_differ && found.verdict == "no difference shown" && found.connections_needed.is_none()
    );
    assert!((found.gain.expect("a gain") - 0.2).abs() < 1e-9);
    let expected = "the paths differ: the round trip is 50.000 ms before and 40.000 ms after; a difference of paths is no effect of the \
                    setting";
    assert_eq!(found.warnings, [expected]);
    // One per cent is no difference of paths.
    assert!(!effect(&times(50.0), &times(49.5), 1).paths_differ);
}

#[test]
fn the_same_seed_gives_the_same_object() {
    let sides = || {
        let mut stream = Stream::named(7, "effect test");
        [drawn(20, 0.0, &mut stream), drawn(20, -0.1, &mut stream)]
    };
    let found = |seed: u64| {
        let [before, after] = sides();
        effect(&before, &after, seed)
    };
    assert_eq!(found(1), found(1));
    assert_ne!(found(1).gain_ci95, found(2).gain_ci95);
}

/// Seeds of two sides of 15 connections whose interval of the gain contains the truth, of 200.
fn covered(change: f64) -> (usize, usize) {
    let (mut covered, mut shown) = (0, 0);
    for seed in 0..200 {
        let mut stream = Stream::named(seed, "effect test");
        let [before, after] = [drawn(15, 0.0, &mut stream), drawn(15, change, &mut stream)];
        let found = effect(&before, &after, seed);
        let [low, high] = found.gain_ci95.expect("an interval");
        covered += usize::from((low..=high).contains(&(1.0 - exp(change))));
        shown += usize::from(found.verdict != "no difference shown");
        if change == 0.0 {
            assert!(!found.paths_differ || found.verdict == "no difference shown", "{found:?}");
        }
    }
    (covered, shown)
}

#[test]
fn intervals_contain_the_truth_in_about_95_of_100_cases() {
    // Of 200 draws with probability 0.95, at least 177 with probability 0.9998 (binomial distribution).
    let (same, shown) = covered(0.0);
    assert!(same >= 177 && shown <= 23, "{same} contain no difference, {shown} show one");
    let (sooner, shown) = covered(-0.25);
    assert!(sooner >= 177 && shown >= 150, "{sooner} contain the difference, {shown} show one");
}

#[test]
fn the_number_of_connections_that_show_two_per_cent_is_that_of_two_means() {
    // Logarithms of the times are 0 and ±0.1 in turn: s² = 0.01 · 2/3 over n connections. n = 2 (2.80 s / ln 1.02)², for s = 0.0816: 267.
    let one = |n: i32| connection(10, 50.0, vec![transfer(30_000, exp(0.1 * f64::from(n % 3 - 1)))]);
    let same = side((0..300).map(one).collect());
    let found = effect(&same, &same, 1);
    assert_eq!(found.verdict, "no difference shown");
    let needed = found.connections_needed.expect("a number") as f64;
    // The standard deviation of 2000 resamples is known to 1.6 %.
    assert!((needed / 266.6 - 1.0).abs() < 0.15, "{needed}");
}

#[test]
fn losses_that_are_modelled_are_not_compared() {
    let all = |source: &str, again: u64| {
        let one = |n: u64| CapturedConnection {
            retransmitted_packets: again + n % 2,
            transport: "quic".into(),
            source: source.into(),
            ..connection(10, 50.0, vec![transfer(30_000, 1.0)])
        };
        side((0..20).map(one).collect())
    };
    let names = |found: &Effect| -> Vec<String> {
        found.changed.iter().chain(&found.unchanged).map(|change| change.what.clone()).collect()
    };
    let logs = effect(&all("qlog", 1), &all("qlog", 5), 1);
    assert!(names(&logs).contains(&"retransmitted".into()), "{logs:?}");
    assert_eq!(logs.warnings, Vec::<String>::new());
    let mixed = effect(&all("qlog", 1), &all("datagrams", 5), 1);
    assert!(!names(&mixed).contains(&"retransmitted".into()), "{mixed:?}");
    let [modelled, sources] = &mixed.warnings[..] else { panic!("{:?}", mixed.warnings) };
    assert!(
        modelled.starts_with("side.pcap: the losses of 20 of 20 connections of QUIC are modelled"),
        "{modelled}"
    );
    assert!(
        sources.starts_with("the sources of the packets differ: qlog before and datagrams after"),
        "{sources}"
    );
}

#[test]
fn retransmissions_that_grow_are_a_change() {
    let times = |again: u64| {
        let one = |n: u64| CapturedConnection {
            retransmitted_packets: again + n % 2,
            ..connection(10, 50.0, vec![transfer(30_000, 1.0)])
        };
        side((0..20).map(one).collect())
    };
    let found = effect(&times(1), &times(5), 1);
    let [again] = &found.changed[..] else { panic!("{:?}", found.changed) };
    // 1.5 and 5.5 of 100 packets.
    assert_eq!((&*again.what, again.before, again.after), ("retransmitted", 0.015, 0.055));
    assert!(again.before_ci95[0] > 0.01 && again.after_ci95[1] < 0.06, "{again:?}");
}
