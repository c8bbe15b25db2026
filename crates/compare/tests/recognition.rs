//! Kinds of paths are recognised from captures of Linux's TCP over emulated paths: no code that explains a capture made them.

use std::path::Path;

use firstflight_capture::read;
use firstflight_compare::{Identity, Input, Known, Request, compare};
use firstflight_hosts::progress::Silent;
use firstflight_hosts::simulator::Simulator;
use firstflight_results::{InputFile, PathResult};

use crate::compare::request;

/// The path of a capture of `testdata`.
fn explained(name: &str) -> PathResult {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    let capture = Box::new(read(&file).expect("a readable capture"));
    let file = InputFile { name: name.into(), bytes: 0, sha256: String::new() };
    let input = Input::Capture { file, capture, known: Known::default(), identity: Identity::default() };
    let request = Request { runs: 2, ..request(input, &["slow-start+reno"], &[30_000]) };
    compare(&Simulator, &request, &Silent).expect("compared").comparison.path
}

/// Three transfers of 1 MB over the path of this name.
fn three(path: &str) -> Vec<PathResult> {
    ["", "-1", "-2"].map(|repeat| explained(&format!("advice/{path}-cubic-1000KB{repeat}.pcap.gz"))).into()
}

/// Checks that these kinds have most of the weight, in the mean over transfers on one path.
fn recognised(paths: &[PathResult], kinds: &[&str]) {
    let right = paths.iter().flat_map(|path| &path.kinds).filter(|one| kinds.contains(&one.kind.as_str()));
    let weight = right.map(|one| one.weight).sum::<f64>() / paths.len() as f64;
    assert!(weight > 0.5, "{kinds:?}: {:?}", paths.iter().map(|path| &path.kinds).collect::<Vec<_>>());
}

#[test]
fn a_queue_that_overflows() {
    // 18 Mbit/s, 45 ms, 20 packets.
    recognised(&[explained("advice/k2-cubic-1000KB.pcap.gz")], &["drop-tail"]);
}

#[test]
fn random_loss_is_that_of_the_emulator() {
    // 0.5 % and 2 %. Three transfers are 2073 packets of 1448 bytes: the standard deviation of the share lost is (p (1 - p) / 2073)^0.5.
    for (path, loss) in [("v1k", 0.005), ("v1m", 0.02)] {
        let paths = three(path);
        recognised(&paths, &["drop-tail"]);
        let mean = paths.iter().map(|path| path.loss.expect("a loss")).sum::<f64>() / 3.0;
        let deviation = (loss * (1.0_f64 - loss) / 2073.0).sqrt();
        assert!((mean - loss).abs() < 2.0 * deviation, "{path}: {mean}");
    }
}

#[test]
fn codel() {
    // 5 ms and 100 ms. A single flow cannot show whether flows have queues of their own.
    recognised(&three("v2k"), &["codel", "fq-codel"]);
}

#[test]
fn red() {
    recognised(&[explained("kinds/v8-reno-1000KB.pcap.gz")], &["red"]);
}

#[test]
fn a_policer() {
    // 10 Mbit/s and 45 kB in front of 60 Mbit/s.
    recognised(&[explained("advice/v3k-cubic-1000KB.pcap.gz")], &["policer"]);
}

#[test]
fn a_mobile_network() {
    // The trace TMobile-LTE-driving.down of mahimahi.
    recognised(&three("v4k"), &["varying-rate"]);
}

#[test]
fn aggregates() {
    // 20 packets every 8 ms.
    recognised(&[explained("advice/v5k-cubic-1000KB.pcap.gz")], &["aggregating"]);
}

#[test]
fn other_traffic() {
    // Two long cubic flows.
    recognised(&[explained("advice/v6k-cubic-1000KB.pcap.gz")], &["other-traffic"]);
}

#[test]
fn a_limited_return_path_or_its_effect() {
    // Acknowledgements of 52 bytes at 0.6 Mbit/s space full packets as a constant rate of 17.3 Mbit/s would.
    recognised(&[explained("advice/v7k-cubic-1000KB.pcap.gz")], &["limited-return-path", "drop-tail"]);
}
