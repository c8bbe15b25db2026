//! End-to-end tests of comparisons: on a path, on a scenario, on a capture.

use std::path::Path;

use firstflight_capture::read;
use firstflight_compare::{Identity, Input, Known, Limits, Request, compare};
use firstflight_contract::{Exit, Nanos, Rate};
use firstflight_hosts::progress::Silent;
use firstflight_hosts::simulator::Simulator;
use firstflight_results::{CompareReport, InputFile};
use firstflight_scenario::{Candidate, Limit, Profile, parse};

/// A comparison of 10 runs that measures no harm.
pub(crate) fn request(input: Input, schemes: &[&str], sizes: &[u64]) -> Request {
    Request {
        input,
        schemes: schemes.iter().map(|label| Candidate::parse(label).expect("a registered chain")).collect(),
        sizes: sizes.to_vec(),
        profile: Profile::Linux,
        runs: 10,
        seed: 1,
        deployable: false,
        candidates: firstflight_compare::DEFAULT_CANDIDATES,
        together: firstflight_compare::Explanation::TOGETHER,
        breadth: firstflight_compare::Breadth::All,
        search_seed: None,
        harm: false,
        limits: Limits::default(),
        by: firstflight_compare::Statistic::default(),
        weighs_by_capture: true,
        memory: firstflight_hosts::memory::DEFAULT,
        command: "test".into(),
        revision: "test".into(),
    }
}

fn known() -> Known {
    Known {
        rate: Some(Rate(20_000_000)),
        rtt: Some(Nanos::from_millis(60)),
        buffer: Some(Limit::Packets(100)),
        loss: None,
    }
}

fn capture(name: &str) -> Input {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capture/testdata").join(name);
    let capture = read(&path).expect("a readable capture");
    let file = InputFile { name: name.into(), bytes: 0, sha256: String::new() };
    Input::Capture {
        file,
        capture: Box::new(capture),
        known: Known::default(),
        identity: Identity::default(),
    }
}

fn row<'a>(report: &'a CompareReport, scheme: &str, size: u64) -> &'a firstflight_results::SchemeResult {
    let rows = &report.comparison.results;
    rows.iter()
        .find(|row| row.scheme == scheme && row.size_bytes == size)
        .expect("a row of this scheme and size")
}

#[test]
fn a_transfer_that_fits_the_initial_window_takes_one_round_trip_under_every_slow_start() {
    let report = compare(
        &Simulator,
        &request(Input::Given(known()), &["slow-start+cubic", "hystart+++cubic"], &[14_000]),
        &Silent,
    )
    .expect("compared");
    // Ten segments of 1448 bytes: 60 ms plus ten packet times of 0.6 ms at 20 Mbit/s.
    let expected = 0.060 + 10.0 * 1500.0 * 8.0 / 20e6;
    for row in &report.comparison.results {
        let median = row.completion_s.expect("finished").median;
        assert!((median - expected).abs() < 0.001, "{} {median}", row.scheme);
        assert!(row.ties_with_best);
    }
    assert_eq!(report.comparison.warnings.len(), 1, "{:?}", report.comparison.warnings);
}

#[test]
fn plain_slow_start_overflows_a_buffer_and_a_delay_exit_does_not() {
    // Reno's growth by a segment per round trip does not fill the buffer in the rest of the transfer; Linux's
    // CUBIC would.
    let report = compare(
        &Simulator,
        &request(Input::Given(known()), &["slow-start+reno", "hybrid-slow-start+reno"], &[3_000_000]),
        &Silent,
    )
    .expect("compared");
    let (plain, hybrid) =
        (row(&report, "slow-start+reno", 3_000_000), row(&report, "hybrid-slow-start+reno", 3_000_000));
    // The path holds 100 packets in flight and 100 in the queue: doubling must overshoot, a delay exit need
    // not.
    assert!(plain.drops.mean > 50.0, "{}", plain.drops.mean);
    assert_eq!(hybrid.drops.mean, 0.0);
    assert_eq!(plain.startup_exit.expect("left start-up").reason, Exit::Loss);
    let reason = hybrid.startup_exit.expect("left start-up").reason;
    assert!(matches!(reason, Exit::Delay | Exit::AckTrain), "{reason:?}");
}

#[test]
fn schemes_meet_the_same_random_events_and_the_same_seed_gives_the_same_report() {
    let input = Input::Given(Known { loss: Some(0.01), ..known() });
    let request = request(input, &["slow-start+reno", "limited-slow-start+reno"], &[100_000]);
    let report = compare(&Simulator, &request, &Silent).expect("compared");
    let [a, b] = &report.samples[..] else { panic!("two sets of samples") };
    assert_eq!(a.samples.len(), 10);
    // The window never reaches 100 packets in 69 segments, so both schemes are identical, loss by loss.
    for (x, y) in a.samples.iter().zip(&b.samples) {
        assert_eq!((x.completion_s, x.drops), (y.completion_s, y.drops));
    }
    let different = a.samples.windows(2).any(|pair| pair[0].completion_s != pair[1].completion_s);
    assert!(different, "replications must differ");
    assert_eq!(report, compare(&Simulator, &request, &Silent).expect("compared"));
}

#[test]
fn the_bandwidth_delay_product_counts_packets_on_the_wire_everywhere() {
    // 12 Mbit/s and 101 ms: 151 500 bytes, 101 packets of 1500 bytes; their payloads of 1448 bytes would be 104.
    let rate = Some(Rate(12_000_000));
    let input = Input::Given(Known { rate, rtt: Some(Nanos::from_millis(101)), ..known() });
    let scheme = "hystart-linux+cubic@ssthresh=bdp";
    let report = compare(&Simulator, &request(input, &[scheme], &[300_000]), &Silent).expect("compared");
    assert_eq!(report.comparison.path.bdp_packets, Some(101));
    let result = row(&report, scheme, 300_000);
    assert_eq!(result.startup_exit.as_ref().expect("at the threshold").bdp_packets, 101.0);
    assert!(result.how[0].contains("ssthresh lock 101"), "{:?}", result.how);
}

#[test]
fn cross_traffic_of_a_scenario_stays_while_its_first_flow_is_compared() {
    let text = r#"
        duration = "30 s"
        [path]
        rate = "10 Mbit/s"
        rtt = "40 ms"
        buffer = "50 packets"
        [[flow]]
        name = "page"
        start = "2 s"
        profile = "linux"
        [[flow]]
        name = "bulk"
        profile = "linux"
    "#;
    let alone = text.split("[[flow]]\n        name = \"bulk\"").next().expect("the part before");
    let time = |text: &str| {
        let loaded = parse(text, "test.toml").expect("valid");
        let input = Input::Scenario(Box::new(loaded));
        let report = compare(&Simulator, &request(input, &["slow-start+cubic"], &[100_000]), &Silent)
            .expect("compared");
        row(&report, "slow-start+cubic", 100_000).completion_s.expect("finished").median
    };
    assert!(time(text) > 1.2 * time(alone), "{} {}", time(text), time(alone));
}

#[test]
fn the_rerun_of_a_capture_is_close_to_the_observation() {
    let name = "p1-reno-1000KB.pcap";
    let report = compare(&Simulator, &request(capture(name), &["slow-start+reno"], &[300_000]), &Silent)
        .expect("compared");
    let path = &report.comparison.path;
    let rate = path.rate_bit_s.expect("known") as f64;
    assert!((rate / 20e6 - 1.0).abs() < 0.02, "{rate}");
    let [connection] = &report.comparison.connections[..] else { panic!("one connection") };
    let (seen, ran) =
        (connection.observed_completion_s.expect("whole"), connection.rerun_completion_s.expect("finished"));
    assert!((ran / seen - 1.0).abs() < 0.05, "observed {seen}, re-run {ran}");
    assert!(!report.captured[0].observed.time_s.is_empty() && !report.captured[0].rerun.time_s.is_empty());
}

#[test]
fn the_limit_of_a_captured_connection_is_named_with_its_time() {
    let connection = |name: &str| {
        let report = compare(&Simulator, &request(capture(name), &["slow-start+reno"], &[30_000]), &Silent);
        report.expect("compared").comparison.connections.swap_remove(0)
    };
    // A receive window of 64 kB where the path takes more; the capture ends inside the transfer.
    let windowed = connection("more/q8rwnd-reno-1000KB.pcap");
    assert!(windowed.startup.ends_with("grew until the receive window limited it"), "{}", windowed.startup);
    assert!(windowed.limited_by.receive_window_share() > 0.4, "{:?}", windowed.limited_by);
    // 30 KB in the first two windows of a path of 200 ms.
    let short = connection("p2-reno-30KB.pcap");
    assert!(short.startup.ends_with("grew to the end of the transfer"), "{}", short.startup);
    let limits = short.limited_by;
    assert!(limits.congestion_window_s > 0.19 && limits.receive_window_s == 0.0, "{limits:?}");
}

#[test]
fn the_name_of_a_capture_may_have_any_characters() {
    let titled = |name: &str| {
        let Input::Capture { mut file, capture, known, .. } = capture("p2-reno-30KB.pcap") else {
            unreachable!()
        };
        file.name = name.into();
        let input = Input::Capture { file, capture, known, identity: Identity::default() };
        let report =
            compare(&Simulator, &request(input, &["slow-start+reno"], &[30_000]), &Silent).expect("compared");
        report.comparison.provenance.scenario
    };
    // A combining accent, a quote, a backslash, a line break, a control character.
    for name in ["Cafe\u{301}.pcap", "a\"b\\c.pcap", "two\nlines.pcap", "\u{1b}[31m.pcap"] {
        assert_eq!(parse(&titled(name), "provenance").expect("valid").scenario.title, name);
    }
}

#[test]
fn a_path_beyond_the_limits_is_refused_by_its_key() {
    let input = Input::Given(Known { rtt: Some(Nanos::from_secs(4000)), ..known() });
    let error =
        compare(&Simulator, &request(input, &["slow-start+reno"], &[1000]), &Silent).expect_err("RTT");
    assert!(error.to_string().starts_with("path.rtt = \"4000 s\": too long; expected a delay"), "{error}");
}

#[test]
fn a_path_that_is_not_given_is_asked_for() {
    let input = Input::Given(Known { rtt: None, ..known() });
    let error =
        compare(&Simulator, &request(input, &["slow-start+reno"], &[1000]), &Silent).expect_err("no RTT");
    assert!(error.to_string().starts_with("path.rtt: missing; expected rate, rtt and buffer"), "{error}");
}
