//! Forecasts from the captures in `crates/capture/testdata`, each with one congestion control, for transfers
//! with another one, compared with the times of a Linux kernel. `truth_table` of `research/forecasts` does the same for
//! whole collections.

use std::path::{Path, PathBuf};

use crate::compare::request;
use firstflight_capture::{Capture, Next, Reader, read, read_from};
use firstflight_compare::{Identity, Input, Known, Request, compare};
use firstflight_contract::{Nanos, Rate};
use firstflight_hosts::progress::Silent;
use firstflight_hosts::simulator::Simulator;
use firstflight_results::{CompareReport, InputFile, SchemeResult};
use firstflight_scenario::Limit;

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../capture/testdata").join(name)
}

/// Time that the kernel took, seconds: median of its repeats.
fn truth(path: &str, control: &str, bytes: u64) -> f64 {
    let text = std::fs::read_to_string(testdata("truth.csv")).expect("the truth beside the captures");
    let fields = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let of_transfer = fields.filter(|f| f[0] == path && f[4] == control && f[5] == bytes.to_string());
    let mut times: Vec<f64> = of_transfer.map(|f| f[8].parse::<f64>().expect("milliseconds") / 1e3).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn forecast(capture: &str, scheme: &str, sizes: &[u64]) -> CompareReport {
    let bytes = std::fs::read(testdata(capture)).expect("a capture");
    forecast_from(&bytes, capture, scheme, sizes)
}

fn forecast_from(bytes: &[u8], name: &str, scheme: &str, sizes: &[u64]) -> CompareReport {
    let capture = read_from(bytes, name).expect("a readable capture");
    forecast_of(capture, Known::default(), name, scheme, sizes)
}

fn forecast_of(capture: Capture, known: Known, name: &str, scheme: &str, sizes: &[u64]) -> CompareReport {
    let file = InputFile { name: name.into(), bytes: 0, sha256: String::new() };
    let input = Input::Capture { file, capture: Box::new(capture), known, identity: Identity::default() };
    let request = Request { runs: 30, ..request(input, &[scheme], sizes) };
    compare(&Simulator, &request, &Silent).expect("compared")
}

/// Median and interval.
fn times(row: &SchemeResult) -> (f64, [f64; 2]) {
    let completion = row.completion_s.expect("finished");
    (completion.median, completion.ci95)
}

#[test]
fn a_capture_of_one_congestion_control_forecasts_another_within_ten_percent() {
    for (capture, scheme, control) in [
        ("p1-cubic-1000KB.pcap", "slow-start+reno", "reno"),
        ("p1-reno-1000KB.pcap", "hystart-linux+cubic", "cubic"),
    ] {
        let report = forecast(capture, scheme, &[1_000_000]);
        let (median, [low, high]) = times(&report.comparison.results[0]);
        let truth = truth("p1", control, 1_000_000);
        assert!(
            (median / truth - 1.0).abs() < 0.1,
            "{capture} {control}: {median} s, the kernel took {truth} s"
        );
        assert!(low <= truth && truth <= high, "{capture} {control}: {truth} s outside {low}-{high} s");
    }
}

#[test]
fn unknowns_of_a_short_capture_widen_the_forecasts_of_long_transfers_only() {
    let report = forecast("p2-reno-30KB.pcap", "slow-start+reno", &[30_000, 3_000_000]);
    assert_eq!(report.comparison.path.buffer_packets, None);
    let [short, long] = &report.comparison.results[..] else { panic!("two sizes") };
    let (median, [low, high]) = times(short);
    let truth = truth("p2", "reno", 30_000);
    assert!((median / truth - 1.0).abs() < 0.02, "{median} s, the kernel took {truth} s");
    assert!(low <= truth && truth <= high, "{truth} s outside {low}-{high} s");
    // Twenty-one packets show neither losses rarer than one in ten nor the buffer.
    let (_, [low, high]) = times(long);
    assert!(high > 2.0 * low, "{low}-{high} s");
    assert!(long.widened_by.iter().any(|field| field == "buffer_packets"), "{:?}", long.widened_by);
}

#[test]
fn the_default_receive_buffer_of_linux_delays_a_large_initial_window() {
    // Path `k4` of docs/predictions.md: eight transfers of 300 KB with an initial window of 30 took 324.4 to 324.8 ms, and over the
    // same link to a receiver with a larger buffer 281.4 to 281.6 ms.
    let name = "more/k4-cubic-1000KB.pcap";
    let capture = read(testdata(name)).expect("a readable capture");
    let (rate, rtt) = (Some(Rate(35_000_000)), Some(Nanos::from_millis(80)));
    let known = Known { rate, rtt, buffer: Some(Limit::Packets(300)), loss: Some(0.0) };
    let report = forecast_of(capture, known, name, "hystart-linux+cubic@iw30", &[300_000]);
    assert_eq!(report.comparison.path.receiver.as_deref(), Some("tuned-buffer"));
    let (median, _) = times(&report.comparison.results[0]);
    assert!((median / 0.3245 - 1.0).abs() < 0.01, "{median} s, the kernel took 0.3245 s");
}

#[test]
fn the_captured_scheme_is_recognised_by_its_start_up() {
    for (capture, control) in
        [("p1-cubic-1000KB.pcap", "hystart-linux+cubic"), ("p1-reno-1000KB.pcap", "reno")]
    {
        let report = forecast(capture, "slow-start+reno", &[30_000]);
        let connection = &report.comparison.connections[0];
        assert!(connection.scheme.ends_with(control), "{capture} taken for {}", connection.scheme);
        let (seen, ran) = (
            connection.observed_completion_s.expect("whole"),
            connection.rerun_completion_s.expect("finished"),
        );
        assert!((ran / seen - 1.0).abs() < 0.02, "{capture}: {ran} s, observed {seen} s");
    }
}

#[test]
fn each_of_two_captures_read_together_is_re_run_with_its_own_senders_scheme() {
    let names = ["p1-cubic-1000KB.pcap", "p1-reno-1000KB.pcap"];
    let mut reader = Reader::default();
    for name in names {
        let bytes = std::fs::read(testdata(name)).expect("a capture");
        reader.add(&bytes[..], Path::new(name), &mut || Next::Continue).expect("a readable capture");
    }
    let capture = reader.finish(Path::new("both")).expect("two connections");
    let report = forecast_of(capture, Known::default(), "both", "slow-start+reno", &[1_000_000]);
    let comparison = &report.comparison;
    assert_eq!(comparison.path.kind.as_deref(), Some("drop-tail"), "{:?}", comparison.path.kinds);
    let schemes: Vec<&str> = comparison.connections.iter().map(|it| it.scheme.as_str()).collect();
    // The transfer of 1 MB by reno ends in its first recovery: Reno and CUBIC behind slow start send the same packets.
    assert!(schemes[0] == "hystart-linux+cubic" && schemes[1].starts_with("slow-start+"), "{schemes:?}");
    // The kernel's own repeats differ by less than 0.2 % on this path; one scheme for both gave a range of half the median.
    let completion = comparison.results[0].completion_s.expect("finished");
    let [low, .., high] = completion.quantiles;
    let truth = truth("p1", "reno", 1_000_000);
    assert!(low <= truth && truth <= high && high < 1.1 * low, "{truth} s, forecast {low}-{high} s");
}

#[test]
fn two_acknowledgements_give_a_range_that_contains_the_truth() {
    let name = "p2-reno-30KB.pcap";
    let whole = std::fs::read(testdata(name)).expect("a capture");
    // The file header, then a header of 16 bytes before each packet: the handshake, ten segments of the first
    // flight and two ACKs, each followed by the two segments that it releases.
    let mut end = 24;
    for _ in 0..19 {
        let kept = u32::from_le_bytes(whole[end + 8..end + 12].try_into().expect("four bytes"));
        end += 16 + kept as usize;
    }
    let report = forecast_from(&whole[..end], name, "slow-start+reno", &[30_000, 3_000_000]);
    let [short, long] = &report.comparison.results[..] else { panic!("two sizes") };
    let (_, [low, high]) = times(short);
    let truth = truth("p2", "reno", 30_000);
    assert!(low <= truth && truth <= high, "{truth} s outside {low}-{high} s");
    // Two acknowledgements show neither the buffer nor later losses.
    let (_, [low, high]) = times(long);
    // The kernel's time on this path: the median of three transfers of 3.722 to 3.724 s.
    let truth = 3.724;
    assert!(low <= truth && truth <= high, "{truth} s outside {low}-{high} s");
    assert!(high > 2.0 * low, "{low}-{high} s");
    assert!(long.widened_by.iter().any(|field| field == "buffer_packets"), "{:?}", long.widened_by);
}
