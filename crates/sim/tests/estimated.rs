//! Schemes that derive the window from measurements, on paths of known rate and delay.
//!
//! Packets have 1000 bytes, 960 of them payload; at 10 Mbit/s one takes 0.8 ms. The propagation delay of the
//! flow is 90 ms; its smallest RTT is that of the handshake, 90.08 ms. So the BDP is 1250 packets/s times
//! 0.09008 s = 112.6 packets.

use crate::common::{Case, network, run};
use firstflight_contract::{Exit, StartupExit};
use firstflight_sim::outcome::FlowOutcome;

const MSS: u64 = 960;

fn flow(startup: &'static str, case: Case) -> FlowOutcome {
    let schemes = vec![startup, "reno"];
    run(&network(&Case { handshake: true, seconds: 2, schemes, ..case })).flows.remove(0)
}

fn exit(flow: &FlowOutcome) -> (u64, Exit) {
    let StartupExit { cwnd, reason, .. } = flow.startup_exit.expect("start-up ended");
    (cwnd / MSS, reason)
}

#[test]
fn paced_start_finds_the_bdp_without_loss_in_a_buffer_of_a_fifth_of_it() {
    // From 2 packets, the first train above 10 Mbit/s has 64 packets in 45 ms; from 10, it has 80. Meanwhile
    // 56.3 leave the bottleneck, so at most 24 wait.
    for every in [1, 2] {
        for initial_window in [2, 10] {
            let flow = flow("past", Case { every, initial_window, buffer: 24, ..Case::default() });
            let (window, reason) = exit(&flow);
            assert_eq!(reason, Exit::Delivery, "ACK per {every}, window {initial_window}");
            assert_eq!((window, flow.lost), (112, 0), "ACK per {every}, window {initial_window}");
        }
    }
    let slow_start = flow("slow-start", Case { buffer: 24, ..Case::default() });
    assert!(slow_start.lost > 0, "slow start loses packets there");
}

#[test]
fn several_packet_pairs_set_the_threshold_to_the_bdp() {
    for every in [1, 2] {
        let flow = flow("aron-druschel", Case { every, buffer: 200, ..Case::default() });
        let (window, reason) = exit(&flow);
        assert_eq!(reason, Exit::Estimate);
        // Whole packets are added, so the first window of at least the BDP is 113.
        assert_eq!((window, flow.lost), (113, 0), "ACK per {every}");
    }
}

#[test]
fn swift_start_saves_three_round_trips_on_a_large_bdp_and_none_on_a_small_one() {
    let finish = |startup, mbit_s| {
        let bytes = Some(150 * MSS);
        let flow = flow(startup, Case { mbit_s, bytes, initial_window: 4, buffer: 2000, ..Case::default() });
        flow.completions[0] as f64 / 90e6
    };
    // In round trips of 90 ms. Slow start from four sends 4 + 8 + 16 + 32 + 64 = 124 in five, so 150 take
    // six. At 100 Mbit/s the BDP is 1126 packets, an eighth of it 140; 4 + 140 are sent in two, so 150 take
    // three.
    let (slow, swift) = (finish("slow-start", 100), finish("swift-start", 100));
    assert!((6.0..6.1).contains(&slow) && (3.0..3.1).contains(&swift), "{slow} and {swift} round trips");
    // At 5 Mbit/s an eighth of 56 is less than the window of eight that slow start has.
    assert_eq!(finish("slow-start", 5), finish("swift-start", 5));
}

#[test]
fn fast_keeps_alpha_packets_queued_and_loses_only_in_a_smaller_buffer() {
    // RTT = w/1250 s once there is a queue, so w (1 - 0.09008/RTT) = 20 at w = 112.6 + 20.
    let schemes = vec!["slow-start", "fast"];
    let case = Case { handshake: true, ssthresh: Some(64), buffer: 40, schemes, ..Case::default() };
    let outcome = run(&network(&case));
    let window = outcome.flows[0].final_cwnd as f64 / MSS as f64;
    assert!((window - 132.6).abs() < 1.0, "{window}");
    assert_eq!(outcome.flows[0].lost, 0);
    // A buffer of ten packets is too small for them.
    let outcome = run(&network(&Case { buffer: 10, ..case }));
    assert!(outcome.flows[0].lost > 0 && outcome.flows[0].max_cwnd < 130 * MSS, "{:?}", outcome.flows[0]);
}
