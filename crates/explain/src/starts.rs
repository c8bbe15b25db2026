//! The start of a sender is recognised from a transfer that the simulator made with it: its scheme, its slow-start threshold, and its
//! initial window.

use firstflight_contract::Nanos;
use firstflight_scenario::{Candidate, Threshold};

use super::anchors::Anchors;
use super::kinds::PathKind;
use super::recognised::{Made, SEED, base, explained_by};

/// 20 Mbit/s, 60 ms: 100 packets on the path, and as many in the buffer.
const PATH: [f64; 3] = [20e6, 0.06, 100.0];
const BYTES: u64 = 2_000_000;

/// The likeliest sender of a transfer of `made`, whose initial window is known, with its weight.
fn likeliest(made: &str) -> (Candidate, f64) {
    let (kind, late, seed) = (PathKind::DropTail, Nanos::ZERO, SEED);
    let made_by = Candidate::parse(made).expect("a sender");
    let transfer = Made { kind, values: &PATH, beside: (None, None), scheme: made, bytes: BYTES, late, seed };
    let (target, _) = transfer.seen(None);
    let anchors = Anchors::of_summary(&target.summary, BYTES as f64, Some(PATH[0]));
    let mut base = base(BYTES);
    let payload = base.packet.payload(base.flows[0].profile);
    if let Some(window) = made_by.settings.initial_window {
        base.flows[0].initial_window = window * u64::from(payload);
    }
    let (senders, paths) = explained_by(&[target], &base, anchors);
    let weight = |number: usize| {
        paths.iter().filter(|path| path.schemes[0] == number).map(|path| path.weight).sum::<f64>()
    };
    let weights =
        senders.iter().enumerate().map(|(number, sender)| (sender.candidate.clone(), weight(number)));
    weights.max_by(|a, b| a.1.total_cmp(&b.1)).expect("a sender")
}

/// Checks that the likeliest sender of a transfer has the threshold of the one that made it, to two per cent and a packet, and its
/// congestion avoidance. Below a threshold that is reached first, slow start and delay rules do the same.
fn threshold_is_recognised(scheme: &str, start: &str, threshold: u64) {
    let made = format!("{scheme}@{start}ssthresh={threshold}");
    let (found, weight) = likeliest(&made);
    let Some(Threshold::Packets(packets)) = found.settings.ssthresh else {
        panic!("{made}: {} with a weight of {weight}", found.label());
    };
    let apart = packets.abs_diff(threshold) as f64;
    assert!(apart <= 1.0 + 0.02 * threshold as f64, "{made}: {} with a weight of {weight}", found.label());
    let avoidance = |label: &str| label.rsplit('+').next().map(str::to_owned);
    assert_eq!(avoidance(&found.scheme.label()), avoidance(scheme), "{made}: {}", found.label());
}

#[test]
fn a_threshold_below_the_path_is_recognised_under_every_scheme() {
    for scheme in
        ["slow-start+reno", "slow-start+cubic", "hystart-linux+cubic", "hystart+++cubic", "hystart+++reno"]
    {
        threshold_is_recognised(scheme, "", 20);
        threshold_is_recognised(scheme, "", 64);
    }
}

#[test]
fn a_threshold_above_the_path_is_recognised_if_slow_start_reaches_it() {
    // The path holds 200 packets: the first loss is reported when 300 are in flight.
    for scheme in ["slow-start+reno", "slow-start+cubic", "hystart+++reno"] {
        threshold_is_recognised(scheme, "", 300);
    }
}

#[test]
fn a_threshold_is_recognised_after_every_initial_window() {
    for window in [2, 4, 20, 32] {
        threshold_is_recognised("slow-start+reno", &format!("iw{window}+"), 64);
        threshold_is_recognised("hystart-linux+cubic", &format!("iw{window}+"), 64);
    }
}

#[test]
fn no_threshold_is_made_up_where_a_loss_or_a_delay_ended_slow_start() {
    // A threshold of 300 packets is not reached by HyStart, which ends at some 116.
    for made in [
        "slow-start+reno",
        "slow-start+cubic",
        "hystart-linux+cubic",
        "hystart+++cubic",
        "hystart+++reno",
        "slow-start+reno@iw2",
        "slow-start+reno@iw4",
        "slow-start+reno@iw32",
        "hystart-linux+cubic@iw2",
        "hystart-linux+cubic@iw20",
        "hystart-linux+cubic@ssthresh=300",
    ] {
        let scheme = Candidate::parse(made).expect("a sender").scheme;
        let (found, weight) = likeliest(made);
        assert_eq!(found.label(), scheme.label(), "{made}: weight {weight}");
    }
}
