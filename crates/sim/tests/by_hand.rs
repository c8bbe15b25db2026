//! Whole connections on paths so simple that every event can be computed by hand.
//!
//! One flow, one data link and one ACK link of 50 ms each. Packets of 1000 bytes take 1 ms at 8 Mbit/s and 1
//! us at 8 Gbit/s. ACKs return at 8 Gbit/s; their 40 to 64 ns, and sums of a few of them, vanish where times
//! are truncated to whole milliseconds. Every network also runs per hop, without observer, and with the
//! auditor.

use crate::common::{Case, MS, audited, run, stack, stacks};
use firstflight_contract::{Exit, Nanos, Rate};
use firstflight_host::chain::Chain;
use firstflight_net::link::Passage;
use firstflight_schemes::registry::AnyPhase;
use firstflight_sim::audit::Event;
use firstflight_sim::config::{FlowConfig, LinkConfig, Network, QueueConfig, Sharing, UdpConfig};
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::Kind;
use firstflight_sim::outcome::{Outcome, simulate};
use firstflight_sim::receiver::AckPolicy;
use firstflight_sim::sender::app::AppConfig;
use firstflight_sim::sender::stack::{
    Datagrams, Discovery, IdleRestart, ReceiveWindow, Recovery, Rules, Stack,
};
use std::collections::VecDeque;

const SLOW: u64 = 8_000_000;
const FAST: u64 = 8_000_000_000;
const MSS: u64 = 960;
const RFC: [Recovery; 4] = [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack];
/// Sequence number of a SYN in the log.
const SYN: u32 = u32::MAX;

/// One unlimited flow for `end` ms over a data link of `rate`; RFC rules (RTO of at least 1 s), slow start
/// and Reno.
fn path(rate: u64, queue: QueueConfig, end: u64) -> Network {
    let link = |name: &str, rate, queue| LinkConfig::new(name, Rate(rate), Nanos(50 * MS), queue);
    let mut stack = stack(&Case::default());
    stack.rto.min = 1000 * MS;
    Network {
        links: vec![link("data", rate, queue), link("acks", FAST, QueueConfig::Unlimited)],
        flows: vec![FlowConfig {
            name: "flow".into(),
            forward: vec![0],
            reverse: vec![1],
            stack: stack.into(),
            chain: chain(&["slow-start", "reno"]).into(),
            sharing: Sharing::default(),
            app: AppConfig::default(),
            header: 40,
            ack_size: 40,
            ack_policy: AckPolicy { every: 1, quick: 0, timer: 100 * MS },
        }],
        udp: vec![],
        seed: 1,
        end: Nanos(end * MS),
        until_finished: false,
        grid: Nanos(101 * MS),
        grid_points: u64::MAX,
        stop: None,
    }
}

fn chain(labels: &[&str]) -> Chain<AnyPhase> {
    Chain::new(AnyPhase::chain(labels).expect("registered")).expect("a chain")
}

/// A packet sent: time, milliseconds, sequence number, and whether it is a retransmission.
type Left = (u64, u32, bool);

/// A segment and the millisecond in which it was sent.
type Timed = (u64, u32);

/// Outcome of a run, and the packets of `kind` that endpoints sent.
fn watch(network: &Network, kind: Kind) -> (Outcome, Vec<Left>) {
    let outcome = run(network);
    let log = audited(network, Mode::Fused).1.log;
    let left = log.iter().filter_map(|event| match *event {
        Event::Sent { at, packet, retransmission } if packet.kind == kind => {
            Some((at / MS, packet.seq, retransmission))
        }
        _ => None,
    });
    (outcome, left.collect())
}

fn retransmissions(sent: &[Left]) -> Vec<Timed> {
    sent.iter().filter(|left| left.2).map(|left| (left.0, left.1)).collect()
}

fn new_data_from(sent: &[Left], from: u64) -> Vec<Timed> {
    sent.iter().filter(|left| !left.2 && left.0 >= from).map(|left| (left.0, left.1)).collect()
}

#[test]
fn slow_start_doubles_the_window_every_round_trip() {
    // From one segment with an ACK for each: 1, 2, 4, ... per round, so 2^n - 1 delivered and a window of 2^n
    // after n rounds. Round n ends at most 2^n us after n * 100 ms and n packet times: before n * 101 ms up
    // to n = 10.
    let mut network = path(FAST, QueueConfig::Unlimited, 1010);
    network.flows[0].stack.initial_window = 1;
    let flow = &run(&network).flows[0];
    assert_eq!(flow.delivered_at, [1, 3, 7, 15, 31, 63, 127, 255, 511, 1023]);
    assert_eq!(flow.final_cwnd, 1024 * MSS);
    assert_eq!((flow.retransmits, flow.timeouts, flow.first_flight), (0, 0, 1));
}

#[test]
fn two_segments_per_ack_grow_slow_start_by_half() {
    // RFC 5681: each ACK adds at most one segment, however many it covers. A round of 2 has one ACK: window
    // 3. A round of 3 has one ACK for two, which adds one and releases three; the odd segment is acknowledged
    // together with the first of those: 2 + 3 + 3 = 8 sent, window 4.
    let mut network = path(FAST, QueueConfig::Unlimited, 250);
    network.flows[0].ack_policy.every = 2;
    let (outcome, sent) = watch(&network, Kind::Data);
    assert_eq!(
        new_data_from(&sent, 0),
        [(0, 0), (0, 1), (100, 2), (100, 3), (100, 4), (200, 5), (200, 6), (200, 7)]
    );
    assert_eq!(outcome.flows[0].final_cwnd, 4 * MSS);
}

#[test]
fn linux_paces_a_first_flight_from_the_tenth_packet_at_twice_the_window_a_round_trip() {
    // The handshake's RTT is 100 ms. 20 segments of 960 bytes at twice the window a round trip: one every 2.5 ms. The first
    // ten leave at 100 ms; the gap begins behind the tenth. Without pacing all twenty leave at once. A finite threshold of
    // 30 segments, less than twice the window, lowers the rate to 1.2 times: one every 4.166 ms.
    let first_flight = |paced: bool, threshold: Option<u32>| {
        let mut network = path(FAST, QueueConfig::Unlimited, 190);
        let flow = &mut network.flows[0];
        flow.stack = Stack { paced, initial_ssthresh: threshold, handshake: true, ..stacks::linux() }.into();
        flow.stack.initial_window = 20;
        let sent = watch(&network, Kind::Data).1.into_iter().filter(|(_, segment, _)| *segment != SYN);
        sent.map(|(at, ..)| at).collect::<Vec<_>>()
    };
    assert_eq!(first_flight(false, None), [100; 20]);
    let after = |gap: f64| (1..=10).map(move |place| (100.0 + gap * f64::from(place)) as u64);
    let burst = [100; 10].into_iter();
    assert_eq!(first_flight(true, None), burst.clone().chain(after(2.5)).collect::<Vec<_>>());
    assert_eq!(first_flight(true, Some(30)), burst.chain(after(100.0 / 24.0)).collect::<Vec<_>>());
}

#[test]
fn a_first_flight_leaves_at_its_own_pace_until_a_window_is_acknowledged() {
    // The handshake's RTT is 100 ms. The first ten of 20 segments leave at 100 ms, the others at the pace: 25 in 100 ms, one every
    // 4 ms. The link is fast, so the ACK of each segment comes 100 ms after it has left, from 200 ms on, and each makes room for two
    // segments. The segment at 200 ms leaves 56 ms after the pacer would have let it, so half of the next gap is saved: 202 ms, then
    // one every 4 ms. The twentieth segment is acknowledged at 240 ms, when no queue stands: the pace ends with the segment at 242 ms.
    // The window is 40, and twice as many segments in 100 ms are one every 1.25 ms.
    let mut network = path(FAST, QueueConfig::Unlimited, 250);
    let flow = &mut network.flows[0];
    flow.stack = Stack { paced: true, initial_pace: Some(25), handshake: true, ..stacks::linux() }.into();
    flow.stack.initial_window = 20;
    let sent = watch(&network, Kind::Data).1.into_iter().filter(|(_, segment, _)| *segment != SYN);
    let sent: Vec<_> = sent.map(|(at, ..)| at).collect();
    let paced = |from: u64, count: u64| (0..count).map(move |place| from + 4 * place);
    let own = (0..7).map(|place| (242.0 + 1.25 * f64::from(place)) as u64);
    let expected = [100; 10].into_iter().chain(paced(104, 10)).chain([200]).chain(paced(202, 10)).chain(own);
    assert_eq!(sent, expected.collect::<Vec<_>>());
}

#[test]
fn quinn_fills_its_window_but_for_one_packet_and_paces_at_1_25_windows_a_round_trip() {
    // The handshake's RTT is 100 ms. Of a window of 30 packets 29 may leave. The bucket holds ten packets, of which the handshake has taken
    // 1338 bytes: eight are left, and the time since the connection began fills it a second time. 30 packets in 100 ms at 1.25 times: ten in
    // 26.666 ms. The last packet waits until the bucket is full once more.
    let mut network = path(FAST, QueueConfig::Unlimited, 190);
    let flow = &mut network.flows[0];
    let datagrams = stacks::QUINN.datagrams;
    let datagrams = datagrams.map(|quinn| Datagrams { opening: &[], discovery: Discovery::NONE, ..quinn });
    let rules = Rules { datagrams, ..stacks::QUINN };
    flow.stack = Stack { rules, handshake: true, initial_window: 30, ..stacks::quic() }.into();
    let sent = watch(&network, Kind::Data).1.into_iter().filter(|(_, segment, _)| *segment != SYN);
    let sent: Vec<_> = sent.map(|(at, ..)| at).collect();
    assert_eq!(sent, [[100; 18].as_slice(), &[126; 10], &[153]].concat());
}

#[test]
fn quinn_goes_on_with_a_window_of_two_packets() {
    // Of two packets of window one may leave. The link holds one packet, so at most one is delivered in each round trip of
    // 101 ms: 198 in 20 s. A sender that stopped at its first loss would have delivered ten or fewer.
    let mut network = path(SLOW, QueueConfig::Packets(0), 20_000);
    let flow = &mut network.flows[0];
    flow.stack = Stack { handshake: true, ..stacks::quic() }.into();
    let flow = &run(&network).flows[0];
    assert!(flow.retransmits > 0 && (50..=198).contains(&flow.delivered), "{flow:?}");
}

/// A window of ten, equal to its threshold and so in congestion avoidance, on a slow link with room for
/// `buffer` packets. With the one in transmission the first `buffer + 1` segments pass, the others are lost;
/// after that ACKs clock out one segment each and no packet waits.
fn overflow(recovery: Recovery, buffer: u32, end: u64) -> Network {
    let mut network = path(SLOW, QueueConfig::Packets(buffer), end);
    let flow = &mut network.flows[0];
    flow.chain = chain(&["reno"]).into();
    flow.stack.recovery = recovery;
    flow.stack.initial_window = 10;
    flow.stack.initial_ssthresh = Some(10);
    network
}

#[test]
fn the_third_duplicate_retransmits_one_lost_segment_and_halves_the_window() {
    // Buffer 8: segments 0 to 8 pass, 9 is lost. Segment i leaves the link at i + 1 and is acknowledged at
    // 101 + i ms: the ACKs of 0 to 8 (101 to 109 ms) release 10 to 18, whose duplicate ACKs arrive at 202 to
    // 210 ms.
    //
    // 202, 203: limited transmit sends 19 and 20 (RFC 3042). 204: the third duplicate retransmits 9.
    // FlightSize without limited transmit (RFC 5681 section 3.2 step 2) is 10, so ssthresh = 5. Segment 9 is
    // acknowledged at 204 + 101 = 305, up to 21.
    //
    // SACK: 12 outstanding, 3 of them SACKed, 1 lost, 1 retransmitted: pipe 9. The duplicates at 205 to 208
    // reduce it to 5, the window. Each later one releases one segment: 21 at 209, 22 at 210; the duplicates
    // of 19 and 20 at 303 and 304 release 23 and 24. At 305 recovery ends with 4 outstanding, so 25 leaves.
    //
    // Reno, NewReno: the window is 5 + 3 = 8 at 204 and grows by one per duplicate: 12, all that is
    // outstanding, at 208; so 21 also leaves at 209, and so on. At 305 it deflates to 5, in NewReno to min
    // (5, 4 + 1): 25 leaves.
    //
    // Tahoe: one segment from 204, and no other until the ACK at 305 makes the window two: 21 and 22.
    let fast_recovery = vec![(202, 19), (203, 20), (209, 21), (210, 22), (303, 23), (304, 24), (305, 25)];
    let expected = [
        (Recovery::Sack, fast_recovery.clone(), 5),
        (Recovery::NewReno, fast_recovery.clone(), 5),
        (Recovery::Reno, fast_recovery, 5),
        (Recovery::Tahoe, vec![(202, 19), (203, 20), (305, 21), (305, 22)], 2),
    ];
    for (recovery, new_data, window) in expected {
        let (outcome, sent) = watch(&overflow(recovery, 8, 306), Kind::Data);
        let flow = &outcome.flows[0];
        assert_eq!(retransmissions(&sent), [(204, 9)], "{recovery:?}");
        assert_eq!(new_data_from(&sent, 200), new_data, "{recovery:?}");
        assert_eq!(flow.final_cwnd, window * MSS, "{recovery:?}");
        assert_eq!((flow.lost, flow.retransmits, flow.timeouts), (1, 1, 0), "{recovery:?}");
        assert_eq!(flow.delivered, 21, "{recovery:?}");
    }
}

#[test]
fn acks_wait_for_a_host_that_needs_time_for_each_segment_that_they_make_it_visit() {
    // As above with SACK, and 5 ms for each segment visited. The duplicate at 202 has the new block 10 to 11: two segments from 9
    // on, 10 ms. At each further one the block has grown by a segment: 5 ms. They are processed at 212, 217, 222, ... 252. The
    // first two send 19 and 20, the third retransmits 9, the seventh at 242 reduces the pipe to the window, and 247 and 252
    // release 21 and 22. The duplicates of 19 and 20 arrive at 313 and 318, and take 5 ms each: 23 at 318 and 24 at 323. The ACK
    // of 9, up to 21, arrives at 222 + 101 = 323 and has no blocks: 25.
    let mut network = overflow(Recovery::Sack, 8, 324);
    network.flows[0].stack.sack_walk = 5 * MS;
    let (outcome, sent) = watch(&network, Kind::Data);
    assert_eq!(retransmissions(&sent), [(222, 9)]);
    let expected = [(212, 19), (217, 20), (247, 21), (252, 22), (318, 23), (323, 24), (323, 25)];
    assert_eq!(new_data_from(&sent, 200), expected);
    assert_eq!((outcome.flows[0].delivered, outcome.flows[0].timeouts), (21, 0));

    // With room for one ACK those that arrive before 212 are lost. The duplicate of 19 arrives at 313: its block has grown from 11
    // to 20, nine segments, 45 ms. More than three segments above 9 are SACKed.
    network.flows[0].stack.ack_backlog = 1;
    network.end = Nanos(359 * MS);
    let (_, sent) = watch(&network, Kind::Data);
    assert_eq!((retransmissions(&sent), &new_data_from(&sent, 200)[..1]), (vec![(358, 9)], &[(212, 19)][..]));
}

#[test]
fn a_host_that_needs_time_takes_acks_in_the_order_of_their_arrival() {
    // The ACK that ends recovery waits for the duplicates before it. The one behind it arrives while it waits, and waits too: no packet
    // leaves before one that left earlier.
    for recovery in [Recovery::Sack, Recovery::Rack { sack: true }] {
        for walk in [1, 5, 20, 50] {
            let mut network = overflow(recovery, 8, 3000);
            network.flows[0].stack.sack_walk = walk * MS;
            let (_, sent) = watch(&network, Kind::Data);
            let times: Vec<u64> = sent.iter().map(|left| left.0).collect();
            assert!(times.is_sorted(), "{recovery:?} {walk} ms: {times:?}");
        }
    }
}

#[test]
fn the_kinds_of_recovery_differ_with_two_lost_segments() {
    // Buffer 7: 0 to 7 pass, 8 and 9 are lost. The ACKs at 101 to 108 ms release 10 to 17, whose duplicates
    // arrive from 202 to 209; limited transmit sends 18 and 19; 8 is retransmitted at 204 and acknowledged
    // (up to 9) at 305.
    //
    // SACK: three segments above 9 are SACKed, so it is lost too: pipe 12 - 3 - 2 + 1 = 8. The fourth
    // duplicate after that, at 208, reduces it to 4, under a window of 5: 9 leaves.
    // NewReno: 9 leaves with the partial ACK at 305.
    // Reno: the ACK at 305 ends recovery with 14 outstanding and a window of 5. The new data of 209, 303 and
    // 304 causes the next duplicates, but RFC 6582 section 3.2 allows none of them to retransmit data
    // outstanding at 204: the timer does so, 1 s (its minimum) after the last new ACK.
    // Tahoe: restarts from 8 at 204; the ACK at 305 makes the window two: 9, and 10, which had already
    // arrived.
    let expected: [(Recovery, &[Timed], u64); 4] = [
        (Recovery::Sack, &[(204, 8), (208, 9)], 0),
        (Recovery::NewReno, &[(204, 8), (305, 9)], 0),
        (Recovery::Reno, &[(204, 8), (1305, 9)], 1),
        (Recovery::Tahoe, &[(204, 8), (305, 9), (305, 10)], 0),
    ];
    for (recovery, expected, timeouts) in expected {
        let (outcome, sent) = watch(&overflow(recovery, 7, 1306), Kind::Data);
        assert_eq!(retransmissions(&sent), expected, "{recovery:?}");
        assert_eq!((outcome.flows[0].lost, outcome.flows[0].timeouts), (2, timeouts), "{recovery:?}");
    }
}

#[test]
fn limited_transmit_sends_a_new_segment_for_each_of_two_duplicates() {
    // One lost segment as above. The duplicates at 202 and 203 ms release 19 and 20 (RFC 3042), unless
    // limited transmit is off or the receive window of ten, all outstanding, forbids it. (RACK does not wait
    // for a third duplicate: 10 left 101 ms after 9, so the first duplicate shows that 9 is lost.)
    for recovery in RFC {
        for (limited_transmit, receive_window) in [(true, 100), (false, 100), (true, 10)] {
            let mut network = overflow(recovery, 8, 204);
            network.flows[0].stack.limited_transmit = limited_transmit;
            network.flows[0].stack.receive_window = ReceiveWindow::fixed(receive_window);
            let new_data = new_data_from(&watch(&network, Kind::Data).1, 200);
            let expected: &[_] =
                if limited_transmit && receive_window > 10 { &[(202, 19), (203, 20)] } else { &[] };
            assert_eq!(new_data, expected, "{recovery:?} {limited_transmit} {receive_window}");
        }
    }
}

#[test]
fn the_timeout_doubles_from_one_second_to_its_maximum_without_acks() {
    // RFC 6298 (2.1), (5.5): 1 s, then twice the previous value, at most 60 s here: 1, 2, 4, 8, 16, 32, 60,
    // 60 s.
    for recovery in RFC {
        let mut network = path(SLOW, QueueConfig::Unlimited, 200_000);
        network.links[0].loss = 1.0;
        network.flows[0].stack.recovery = recovery;
        let (outcome, sent) = watch(&network, Kind::Data);
        let seconds = [1, 3, 7, 15, 31, 63, 123, 183];
        assert_eq!(retransmissions(&sent), seconds.map(|s| (s * 1000, 0)), "{recovery:?}");
        assert_eq!(new_data_from(&sent, 0), [(0, 0), (0, 1)], "{recovery:?}");
        let flow = &outcome.flows[0];
        assert_eq!((flow.timeouts, flow.final_cwnd, flow.delivered), (8, MSS, 0), "{recovery:?}");
    }
}

#[test]
fn throughput_is_at_most_one_receive_window_per_round_trip() {
    // 20 segments per 100 ms, 1 us and 40 ns. The congestion window is twice that, never limits and so never
    // grows.
    let mut network = path(FAST, QueueConfig::Unlimited, 50 * 101);
    network.flows[0].stack.initial_window = 40;
    network.flows[0].stack.receive_window = ReceiveWindow::fixed(20);
    let flow = &run(&network).flows[0];
    assert_eq!(flow.delivered_at, (1..=50).map(|n| 20 * n).collect::<Vec<u32>>());
    assert_eq!((flow.first_flight, flow.max_cwnd), (20, 40 * MSS));
}

#[test]
fn the_ack_of_an_odd_segment_waits_for_the_timer_unless_it_is_the_last() {
    // One segment of several: it arrives at 51 ms and is acknowledged 100 ms later. That ACK arrives at 201;
    // two segments leave and arrive at 252 and 253: one ACK, which adds one segment. Three leave at 303 and
    // arrive at 354 to 356: one ACK at 355, and the ACK of the odd one waits beyond the end.
    let mut network = path(SLOW, QueueConfig::Unlimited, 400);
    network.flows[0].ack_policy.every = 2;
    network.flows[0].stack.initial_window = 1;
    let acks = watch(&network, Kind::Ack).1;
    assert_eq!(acks, [(151, 1, false), (253, 3, false), (355, 5, false)]);

    // The last of three carries PUSH: it is acknowledged on arrival at 53 ms, and the transfer is done at
    // 103.
    let flow = &mut network.flows[0];
    flow.stack.initial_window = 3;
    flow.app.bytes = Some(3 * MSS);
    let (outcome, acks) = watch(&network, Kind::Ack);
    assert_eq!(acks, [(52, 2, false), (53, 3, false)]);
    let done: Vec<u64> = outcome.flows[0].completions.iter().map(|t| t / MS).collect();
    assert_eq!(done, [103]);
}

#[test]
fn after_a_pause_longer_than_the_timeout_the_window_restarts_or_is_kept_by_policy() {
    // 30 segments leave as 2, 4, 8, 16 at 0, 100, 200, 300 ms, all acknowledged at 400. The window is then at
    // least 16, and the receive window is 16. RFC 5681 section 4.1 counts from the last transmission, at 300:
    // with a pause of 500 ms the idle time is 600 ms, less than the timeout of 1 s; with a pause of 2 s it is
    // longer, and the restart window is 2.
    for (pause, policy, burst) in [
        (500, IdleRestart::Restart, 16),
        (500, IdleRestart::Keep, 16),
        (2000, IdleRestart::Restart, 2),
        (2000, IdleRestart::Keep, 16),
    ] {
        let resumed = 400 + pause;
        let mut network = path(FAST, QueueConfig::Unlimited, resumed + 50);
        let flow = &mut network.flows[0];
        flow.stack.receive_window = ReceiveWindow::fixed(16);
        flow.stack.idle_restart = policy;
        flow.app.bytes = Some(30 * MSS);
        flow.app.pauses = vec![pause * MS];
        let sent = watch(&network, Kind::Data).1;
        let leaving = |at| sent.iter().filter(|left| left.0 == at).count();
        assert_eq!([0, 100, 200, 300, resumed].map(leaving), [2, 4, 8, 16, burst], "{pause} ms, {policy:?}");
        assert_eq!(sent.len(), 30 + burst, "{pause} ms, {policy:?}");
    }
}

/// A handshake that begins at 100.75 ms on a slow link that UDP sources overload during `on` (ms): they offer
/// a packet every 0.5 ms where one is served per 1 ms, so the buffer of two is full between any two of them.
fn overloaded(on: &[(u64, u64)], end: u64) -> Network {
    let mut network = path(SLOW, QueueConfig::Packets(2), end);
    network.flows[0].stack.handshake = true;
    network.flows[0].app.start = 100_750_000;
    network.udp.push(UdpConfig {
        name: "others".into(),
        path: vec![0],
        size: 1000,
        rate: Rate(2 * SLOW),
        on: on.iter().map(|&(from, until)| (Nanos(from * MS), Nanos(until * MS))).collect(),
    });
    network
}

#[test]
fn a_lost_syn_is_retransmitted_after_the_initial_timeout() {
    // Sent at 100.75 ms and dropped, retransmitted 1 s later on an idle link: 40 us for its 40 bytes, 50 ms,
    // and the answer 40 ns and 50 ms. RFC 5681 section 3.1: the initial window after that, otherwise two
    // here, "MUST be one segment".
    let (outcome, sent) = watch(&overloaded(&[(0, 500)], 1250), Kind::Data);
    assert_eq!(sent, [(100, SYN, false), (1100, SYN, false), (1200, 0, false)]);
    assert_eq!(outcome.flows[0].start, Some(1_200_790_040));
    assert_eq!((outcome.flows[0].timeouts, outcome.flows[0].retransmits), (1, 0));
}

#[test]
fn after_a_lost_syn_the_first_data_waits_three_seconds_for_its_timeout() {
    // RFC 6298 (5.7): without an RTT from the handshake "the RTO MUST be re-initialized to 3 seconds when
    // data transmission begins". The connection is open at 1200.79 ms; all data is lost and retransmitted at
    // 4200.79.
    let sent = watch(&overloaded(&[(0, 500), (1150, 1500)], 4250), Kind::Data).1;
    assert_eq!(retransmissions(&sent), [(4200, 0)]);
    // If the first SYN passes, 100.04 ms give the minimum RTO, 1 s: open at 200.79, retransmission at
    // 1200.79.
    let sent = watch(&overloaded(&[(150, 1000)], 1250), Kind::Data).1;
    assert_eq!(retransmissions(&sent), [(1200, 0)]);
}

#[test]
fn a_run_depends_on_its_seed_and_not_on_its_thread() {
    let lossy = |seed| {
        let mut network = path(FAST, QueueConfig::Unlimited, 10_000);
        network.links[0].loss = 0.01;
        network.seed = seed;
        network
    };
    let here = run(&lossy(1));
    assert!(here.flows[0].lost > 0);
    let elsewhere = [1, 1, 2].map(|seed| {
        let network = lossy(seed);
        std::thread::spawn(move || simulate(&network))
    });
    let [same, again, other] = elsewhere.map(|thread| thread.join().expect("a run"));
    assert_eq!(same, here);
    assert_eq!(again, here);
    assert_ne!(other, here);
    // A run without random events does not depend on its seed.
    let sure = |seed| simulate(&Network { seed, ..path(SLOW, QueueConfig::Packets(20), 10_000) });
    assert_eq!(sure(1), sure(2));
}

/// Packets of the first flow that the data link dropped, of those first sent before its start-up ended, from the log: the
/// data link is the first link, so that a packet is dropped at the time at which it leaves the sender.
fn dropped_before_exit(network: &Network) -> (Outcome, u64) {
    let outcome = run(network);
    let exit = outcome.flows[0].startup_exit.expect("start-up ended");
    let mut sent = VecDeque::new();
    let mut dropped = 0;
    for event in &audited(network, Mode::Fused).1.log {
        match *event {
            Event::Sent { packet, retransmission, .. } if packet.kind == Kind::Data => {
                sent.push_back((packet.seq, retransmission));
            }
            Event::Offered { at, link: 0, packet, passage } => {
                let (segment, retransmission) = sent.pop_front().expect("sent before it is offered");
                assert_eq!(segment, packet.seq);
                let counts = passage == Passage::Dropped && !retransmission && at < exit.at.0;
                dropped += u64::from(counts);
            }
            _ => {}
        }
    }
    (outcome, dropped)
}

#[test]
fn drops_of_packets_sent_before_the_exit_count_even_if_they_are_detected_after_it() {
    // Flights of 2 to 64 packets fit: an ACK comes every millisecond and brings two packets while one leaves, so that the
    // queue grows by one packet an ACK. An ACK comes at the very time at which the next packet begins to leave, which still
    // takes room then: from the 50th to the 64th ACK of the flight of 64, one of two packets finds no room: 15 drops.
    // The 22nd ACK of the flight of 128 brings the window from 128 over 150, long before the queue is full again.
    let mut network = path(SLOW, QueueConfig::Packets(50), 20_000);
    network.flows[0].stack.initial_ssthresh = Some(150);
    let (outcome, dropped) = dropped_before_exit(&network);
    let flow = &outcome.flows[0];
    let exit = flow.startup_exit.expect("start-up ended");
    assert_eq!((exit.cwnd, exit.reason), (150 * MSS, Exit::Threshold));
    assert_eq!((flow.lost_before_exit, dropped), (15, 15));
    assert!(flow.lost > 15, "avoidance fills the buffer again: {}", flow.lost);
}

#[test]
fn slow_start_without_a_threshold_loses_what_its_window_holds_beyond_path_and_buffer() {
    // The flight of 128 loses its 100th packet, which is the second packet of the 50th ACK: 99 ACKs arrive in order and make
    // the window 227. That is 76 packets more than the path's 101 and the buffer's 50.
    for recovery in RFC {
        let mut network = path(SLOW, QueueConfig::Packets(50), 20_000);
        network.flows[0].stack.recovery = recovery;
        let (outcome, dropped) = dropped_before_exit(&network);
        let flow = &outcome.flows[0];
        let exit = flow.startup_exit.expect("start-up ended");
        assert_eq!((exit.cwnd, exit.reason), (227 * MSS, Exit::Loss), "{recovery:?}");
        assert_eq!((flow.lost_before_exit, dropped), (76, 76), "{recovery:?}");
        assert!(flow.lost >= 76, "{recovery:?}");
    }
}

#[test]
fn packets_that_start_after_the_last_flow_has_finished_are_not_counted() {
    // ACKs of 40 bytes take 1 s at 320 bit/s, data crosses in 1 us and the delay of its link: none for the first flow, 2.9 s
    // for the second. The first flow's three ACKs, which come from 1 us on, occupy the link of the ACKs until 3 s and 1 us,
    // and the second flow's two until 5 s and 1 us, which is the end of the run.
    // The second flow's timeout of 1.6 s is too short: a copy of its first segment leaves at 1.6 s, and a copy of its second
    // when the first is acknowledged, at 4 s and 1 us. The answers come to the link at 4.5 s, to wait until the end of the
    // run, and at 6.9 s, after the first answer: that link is idle.
    let mut network = path(FAST, QueueConfig::Unlimited, 100_000);
    let link =
        |name: &str, rate, ms| LinkConfig::new(name, Rate(rate), Nanos(ms * MS), QueueConfig::Packets(100));
    network.links = vec![link("near", FAST, 0), link("far", FAST, 2900), link("acks", 320, 0)];
    network.until_finished = true;
    let mut flow = network.flows.pop().expect("a flow");
    flow.stack.initial_window = 3;
    flow.reverse = vec![2];
    for (number, (segments, timeout)) in [(3, 50_000), (2, 1600)].into_iter().enumerate() {
        flow.forward = vec![number];
        flow.app.bytes = Some(segments * MSS);
        flow.stack.rto.initial = timeout * MS;
        network.flows.push(flow.clone());
    }
    let outcome = run(&network);
    let end = 5_000_001_000;
    assert_eq!((outcome.end, outcome.flows[1].timeouts, outcome.flows[1].retransmits), (end, 1, 2));
    let [_, far, acks] = &outcome.links[..] else { panic!("three links") };
    assert_eq!((far.stats.packets, acks.stats.packets), (4, 5));
    assert_eq!((acks.stats.bytes, acks.stats.waiting, acks.stats.busy_until), (200, 1, end));
    // 200 bytes in the time of the run, at 320 bit/s.
    assert_eq!(acks.utilization, 200.0 * 8e9 / (320.0 * end as f64));
    assert!(acks.utilization < 1.0);
}

#[test]
fn a_packet_that_comes_at_the_last_instant_counts_unless_it_waits() {
    let mut network = path(FAST, QueueConfig::Packets(100), 100_000);
    network.links = vec![LinkConfig::new("bottleneck", Rate(FAST), Nanos(MS), QueueConfig::Packets(100))];
    network.until_finished = true;
    network.flows[0].app.bytes = Some(MSS);
    network.flows[0].reverse = vec![];
    let alone = run(&network);
    let source = |number| UdpConfig {
        name: format!("source {number}"),
        path: vec![0],
        size: 1000,
        rate: Rate(1_000_000),
        on: vec![(Nanos(alone.end), Nanos(alone.end + 1))],
    };
    network.udp = (0..2).map(source).collect();
    let outcome = run(&network);
    let stats = outcome.links[0].stats;
    assert_eq!((outcome.end, stats.packets, stats.waiting), (alone.end, alone.links[0].stats.packets + 1, 1));
}

#[test]
fn on_linux_the_timer_of_a_first_flight_is_as_late_as_any_other() {
    // A timeout of 60 ms is 15 ticks of 4 ms, and the wheel fires with the tick after the one that it falls into: after 64 ms.
    // The next one, of 120 ms, would come after the ACK of the first copy, at 100 ms.
    let mut network = path(FAST, QueueConfig::Unlimited, 10_000);
    network.until_finished = true;
    let flow = &mut network.flows[0];
    flow.stack = Stack { initial_window: 1, ..stacks::linux() }.into();
    flow.stack.rto.initial = 60 * MS;
    flow.stack.rto.min = 1;
    flow.app.bytes = Some(MSS);
    let (outcome, sent) = watch(&network, Kind::Data);
    assert_eq!(sent, [(0, 0, false), (64, 0, true)]);
    assert_eq!(outcome.end / MS, 100);
}
