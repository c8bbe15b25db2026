//! Fused and per-hop execution give the same results, with and without observer.

use crate::common::{Case, MS, audited, network, run, stacks};
use firstflight_contract::Nanos;
use firstflight_sim::audit::Event;
use firstflight_sim::config::Network;
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::Kind;
use firstflight_sim::receiver::AckPolicy;
use firstflight_sim::sender::app::Clock;
use firstflight_sim::sender::stack::{DataInSyn, ReceiveWindow, Recovery, Stack};

fn same_in_both_modes(case: Case) {
    let outcome = run(&network(&case));
    assert!(outcome.flows.iter().any(|flow| flow.delivered > 0));
}

#[test]
fn modes_agree_for_every_recovery_under_heavy_loss() {
    for recovery in [
        Recovery::Tahoe,
        Recovery::Reno,
        Recovery::NewReno,
        Recovery::Sack,
        Recovery::Rack { sack: false },
        Recovery::Rack { sack: true },
    ] {
        for ns2 in [false, true] {
            same_in_both_modes(Case { recovery, ns2, flows: 20, mbit_s: 10, buffer: 30, ..Case::default() });
        }
    }
}

/// So many flows have long queues, and many packets at the same time.
#[test]
fn modes_agree_for_many_flows() {
    for recovery in [Recovery::Sack, Recovery::Rack { sack: true }] {
        let case = Case { recovery, flows: 200, mbit_s: 100, buffer: 400, seconds: 4, ..Case::default() };
        same_in_both_modes(case.clone());
        same_in_both_modes(Case { bytes: Some(60_000), pauses: vec![300], loss: 0.01, every: 2, ..case });
    }
}

#[test]
fn modes_agree_with_delayed_acks() {
    same_in_both_modes(Case { every: 2, flows: 3, ..Case::default() });
}

#[test]
fn modes_agree_for_finite_flows_with_pauses() {
    same_in_both_modes(Case { bytes: Some(123_456), pauses: vec![300, 2000], flows: 7, ..Case::default() });
}

#[test]
fn modes_agree_for_finite_flows_beside_unlimited_ones_and_cross_traffic() {
    same_in_both_modes(Case {
        bytes: Some(500_000),
        unlimited_too: true,
        udp_mbit_s: 2,
        flows: 5,
        ..Case::default()
    });
}

#[test]
fn modes_agree_with_red_marks_and_random_loss() {
    same_in_both_modes(Case { red: true, ecn: true, loss: 0.002, flows: 8, ..Case::default() });
}

#[test]
fn modes_agree_with_a_handshake_and_an_initial_threshold() {
    same_in_both_modes(Case { handshake: true, ssthresh: Some(32), flows: 4, ..Case::default() });
}

#[test]
fn modes_agree_when_data_in_the_handshake_is_lost() {
    for data_in_syn in [DataInSyn::FastOpen, DataInSyn::Transaction] {
        for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack { sack: true }] {
            if recovery.is_rack() && data_in_syn == DataInSyn::Transaction {
                continue;
            }
            same_in_both_modes(Case {
                handshake: true,
                data_in_syn,
                recovery,
                bytes: Some(40_000),
                loss: 0.15,
                flows: 12,
                initial_window: 4,
                seconds: 20,
                ..Case::default()
            });
        }
    }
}

#[test]
fn modes_agree_when_the_round_trip_exceeds_the_first_timeout() {
    // The SYN is retransmitted before its answer arrives: by ns-2 after 3 s, by the others after 1 s.
    for (ns2, rtt) in [(false, 1_200), (false, 3_500), (true, 3_500), (true, 5_000)] {
        for (recovery, data_in_syn) in [
            (Recovery::Sack, DataInSyn::Never),
            (Recovery::Sack, DataInSyn::FastOpen),
            (Recovery::NewReno, DataInSyn::Transaction),
            (Recovery::Rack { sack: true }, DataInSyn::Never),
        ] {
            if ns2 && recovery.is_rack() {
                continue;
            }
            let case = Case {
                handshake: true,
                data_in_syn,
                recovery,
                ns2,
                rtt,
                flows: 3,
                every: 2,
                initial_window: 4,
                seconds: 40,
                ..Case::default()
            };
            let outcome = run(&network(&case));
            assert!(outcome.flows.iter().all(|flow| flow.timeouts > 0 && flow.delivered > 0), "{outcome:?}");
        }
    }
}

#[test]
fn modes_agree_when_the_application_reads_late() {
    for every in [1, 2] {
        let case = Case { reads: Some(20), every, loss: 0.002, flows: 3, ..Case::default() };
        same_in_both_modes(case.clone());
        same_in_both_modes(Case { bytes: Some(100_000), pauses: vec![50, 3000], ..case });
    }
}

#[test]
fn modes_agree_in_front_of_a_buffer_that_grows() {
    for (first, rtt, mbit_s, every, loss) in [
        (4, 100, 10, 1, 0.0),
        (12, 20, 2, 2, 0.0),
        (20, 200, 50, 2, 0.01),
        (64, 300, 100, 1, 0.02),
        (30, 100, 20, 2, 0.05),
    ] {
        for paced in [false, true] {
            let case = Case { rtt, mbit_s, every, loss, bytes: Some(2_000_000), ..Case::default() };
            let mut network = network(&case);
            let receive_window = ReceiveWindow::tuned(first, 2000);
            network.flows[0].stack =
                Stack { paced, receive_window, handshake: true, ..stacks::linux() }.into();
            network.flows[0].ack_policy.quick = 0;
            let outcome = run(&network);
            assert!(outcome.flows[0].delivered > 500, "{outcome:?}");
        }
    }
}

/// A host that sleeps takes 20 us to wake: at 1 Gbit/s two more segments of 1000 bytes come meanwhile.
#[test]
fn modes_agree_when_segments_come_to_a_host_that_wakes() {
    for (every, quick, timer) in [(1, 0, 100 * MS), (2, 0, 100 * MS), (2, 0, 1), (2, 1, 1)] {
        let case = Case {
            recovery: Recovery::Rack { sack: true },
            mbit_s: 1000,
            initial_window: 10,
            bytes: Some(100_000),
            pauses: vec![50],
            ..Case::default()
        };
        let mut network = network(&case);
        network.flows[0].ack_policy = AckPolicy { every, quick, timer };
        run(&network);
    }
}

#[test]
fn modes_agree_while_acks_wait_for_the_host() {
    for (walk, backlog) in [(1, u32::MAX), (100, u32::MAX), (1000, 20), (20_000, 3)] {
        for recovery in [Case::default().recovery, Recovery::Rack { sack: true }] {
            same_in_both_modes(Case { recovery, walk, backlog, flows: 3, mbit_s: 50, ..Case::default() });
        }
        same_in_both_modes(Case {
            walk,
            backlog,
            loss: 0.01,
            flows: 5,
            handshake: true,
            every: 2,
            ..Case::default()
        });
        // Runs that end with their last flow, beside one whose host is ahead of the clock by then.
        let finite = Case {
            bytes: Some(2_000_000),
            unlimited_too: true,
            flows: 4,
            pauses: vec![200],
            ..Case::default()
        };
        same_in_both_modes(Case { walk, backlog, ..finite });
    }
}

/// Debug builds assert that no packet leaves after the end of the run.
#[test]
fn modes_agree_when_the_run_ends_while_a_host_wakes() {
    let case = Case { recovery: Recovery::Rack { sack: true }, mbit_s: 1000, ..Case::default() };
    let mut network = network(&case);
    let (_, recorder) = audited(&network, Mode::Fused);
    let is_data =
        |event: &&Event| matches!(event, Event::Arrived { packet, .. } if packet.kind == Kind::Data);
    let arrival = recorder.log.iter().find(is_data).expect("a segment arrives").at();
    for microseconds in [1, 10, 19, 21] {
        network.end = Nanos(arrival + microseconds * 1000);
        run(&network);
    }
}

/// A connection whose application stops after `lifetime` milliseconds.
fn short_lived(lifetime: u64, case: Case) -> Network {
    let mut network = network(&case);
    network.until_finished = true;
    network.flows.iter_mut().for_each(|flow| flow.app.lifetime = Some(lifetime * MS));
    network
}

#[test]
fn a_run_ends_when_the_application_stops_in_both_modes() {
    for recovery in [Recovery::Sack, Recovery::Rack { sack: true }] {
        for lifetime in [150, 155, 230, 1001] {
            let outcome = run(&short_lived(lifetime, Case { recovery, mbit_s: 1, ..Case::default() }));
            assert_eq!(outcome.end, lifetime * MS);
        }
    }
}

#[test]
fn an_application_that_stops_before_the_connection_is_open_writes_nothing() {
    for recovery in [Recovery::Sack, Recovery::Rack { sack: true }] {
        for (bytes, pauses) in [(None, vec![]), (Some(2000), vec![30, 80])] {
            let case = Case { recovery, bytes, pauses, handshake: true, ..Case::default() };
            let mut network = short_lived(50, case);
            let outcome = run(&network);
            assert_eq!((outcome.flows[0].sent, outcome.end), (0, 50 * MS));
            network.flows[0].app.clock = Clock::Written;
            assert_eq!(run(&network).flows[0].sent, 0);
        }
    }
}
