//! Growth of the window of a sender that its application limits, computed by hand on a line of 100 ms without serialisation
//! time. A sender grows its window for data that was in flight while the window limited it (RFC 7661's premise).

use crate::common::MS;
use crate::common::line::{Line, RTT, chain};
use crate::common::stacks;
use firstflight_sim::receiver::AckPolicy;
use firstflight_sim::sender::app::{App, AppConfig};
use firstflight_sim::sender::stack::{BYTE_COUNTING, Datagrams, Discovery, Recovery, Rules, Stack};
use firstflight_sim::sender::{AckIn, Port, Segment, Sender};

/// A line whose sender begins with a window of ten segments and makes `count` writes of `bytes`, each 10 ms after the
/// acknowledgement of the one before.
fn writes(bytes: u64, count: usize) -> Line {
    let app = AppConfig { bytes: Some(bytes), pauses: vec![10 * MS; count - 1], ..AppConfig::default() };
    Line { app, ..Line::with(Recovery::Sack, 10, None) }
}

/// The window at the end of these writes, segments.
fn window_after(line: &Line) -> f64 {
    line.run(5000).0.info().cwnd
}

/// Port of a sender whose segments go nowhere.
struct Nowhere;

impl Port for Nowhere {
    fn transmit(&mut self, _: u64, _: Segment, _: (u64, u64), _: bool) {}

    fn transmit_syn(&mut self, _: u64, _: (u64, u64)) {
        unreachable!("the connection is open");
    }
}

/// A driven sender with a window of ten segments of 1000 bytes that has made `count` writes of `bytes` at once.
fn driven(stack: Stack, startup: &str, bytes: u64, count: u32) -> Sender {
    let stack = Stack { mss: 1000, initial_window: 10, ..stack };
    let mut sender = Sender::new(stack, chain(&[startup, "reno"]), App::driven(1000, true));
    sender.open(1000 * MS, 100 * MS);
    for _ in 0..count {
        assert!(sender.queue(bytes));
        sender.write(1000 * MS, &mut Nowhere);
    }
    sender
}

fn acknowledge(sender: &mut Sender, seq: u32) {
    sender.on_ack(1100 * MS, AckIn { seq, low: 0, high: 0 }, &mut Nowhere);
}

#[test]
fn the_acks_of_the_last_flight_of_a_write_enlarge_the_window() {
    // A write of 10 in a window of 10: all ten were in flight while the window was full. RFC 5681: a segment for each ACK.
    assert_eq!(window_after(&writes(10_000, 1)), 20.0);
    // 20: ten leave at 0, and ten more with the first five ACKs, each of which lets two leave. All twenty ACKs count.
    assert_eq!(window_after(&writes(20_000, 1)), 30.0);
    // 15: the first two ACKs let four leave, the third the last one. At the second the window of 12 was full with segments up to
    // 13; the last segment was never in flight in a full window.
    assert_eq!(window_after(&writes(15_000, 1)), 10.0 + 14.0);
}

#[test]
fn a_write_that_never_fills_the_window_does_not_enlarge_it() {
    assert_eq!(window_after(&writes(9_000, 1)), 10.0);
    assert_eq!(window_after(&writes(9_000, 8)), 10.0);
    // Twice ten: the first fills the window of 10, the second, in a window of 20, does not.
    assert_eq!(window_after(&writes(10_000, 2)), 20.0);
}

#[test]
fn a_pacer_that_spreads_a_write_does_not_fill_the_window() {
    // Jump Start paces all data over the first round trip. Of 5 or 9 segments none waits for the window of 10: no growth. A write of 12
    // is a window of 12, which the application does not limit.
    let jumping = |bytes| {
        let line = writes(bytes, 1);
        let stack = Stack { handshake: true, ..line.stack };
        window_after(&Line { stack, chain: chain(&["jump-start", "reno"]), ..line })
    };
    assert_eq!([jumping(5_000), jumping(9_000)], [10.0, 10.0]);
    assert!(jumping(12_000) > 12.0, "{}", jumping(12_000));
}

#[test]
fn eight_objects_of_20_packets_take_two_round_trips_and_then_one_each() {
    for (every, windows) in [(1, [30.0, 30.0]), (2, [20.0, 30.0])] {
        let acks = AckPolicy { every, quick: 0, timer: 40 * MS };
        let line = Line { acks, ..writes(20_000, 8) };
        let (sender, _) = line.run(5000);
        let took: Vec<u64> = sender.app().completions().iter().map(|time| time / (RTT * MS)).collect();
        assert_eq!(took, [2, 1, 1, 1, 1, 1, 1, 1], "an ACK for every {every}");
        // An ACK for two segments adds one (RFC 5681): 10 + 10 = 20. The second object fills that window: 30. No further one does.
        let first = Line { acks, ..writes(20_000, 1) };
        assert_eq!([window_after(&first), window_after(&line)], windows, "an ACK for every {every}");
    }
}

#[test]
fn the_window_grows_by_the_bytes_that_an_ack_acknowledges() {
    // RFC 5681 equation (2): cwnd += min (N, SMSS). Ten segments of 100 bytes fill the window of ten segments: ten ACKs add one.
    for startup in ["slow-start", "hystart++", "limited-slow-start"] {
        let mut sender = driven(stacks::rfc(), startup, 100, 10);
        for seq in 1..=10 {
            acknowledge(&mut sender, seq);
        }
        assert_eq!(sender.info().cwnd, 11.0, "{startup}");
    }
    // The same ten by one ACK: N = 1000.
    let mut sender = driven(stacks::rfc(), "slow-start", 100, 10);
    acknowledge(&mut sender, 10);
    assert_eq!(sender.info().cwnd, 11.0);
    // 700 bytes by each ACK of two segments of 350, 1000 of the 1200 by each ACK of two of 600; with L = 2 (RFC 3465) all 1200.
    for (bytes, limit, window) in [(350, 1, 13.5), (600, 1, 15.0), (600, BYTE_COUNTING, 16.0)] {
        let mut sender = driven(Stack { growth_per_ack: limit, ..stacks::rfc() }, "slow-start", bytes, 10);
        for seq in [2, 4, 6, 8, 10] {
            acknowledge(&mut sender, seq);
        }
        assert_eq!(sender.info().cwnd, window, "{bytes} bytes, {limit}");
    }
    // ns-2 and Linux count packets.
    for stack in [stacks::ns2(), stacks::linux()] {
        let mut sender = driven(stack, "slow-start", 100, 10);
        for seq in 1..=10 {
            acknowledge(&mut sender, seq);
        }
        assert_eq!(sender.info().cwnd, 20.0);
    }
}

#[test]
fn a_short_last_segment_enlarges_the_window_by_its_bytes() {
    // Nine segments of 1000 bytes and one of 250.
    assert_eq!(window_after(&writes(9250, 1)), 19.25);
    // In ns-2 it is a packet like any other.
    let mut line = writes(9250, 1);
    line.stack = Stack { mss: 1000, initial_window: 10, ..stacks::ns2() };
    assert_eq!(window_after(&line), 20.0);
}

#[test]
fn one_ack_beyond_the_threshold_is_counted_once() {
    // A window of 10, a threshold of 12, one ACK of 10. RFC 9406: min (10, 8) segments, of which 2 reach the threshold. Linux counts
    // the other 8 in avoidance, so that 4 more add a segment. In profile quinn nine of ten leave: 7 are left, and 5 more add one. RFC
    // 5681 allows an ACK one segment, which is used.
    let datagrams = stacks::QUINN.datagrams.map(|quinn| Datagrams {
        first: 1000,
        overhead: 0,
        opening: &[],
        discovery: Discovery::NONE,
        ..quinn
    });
    let quinn = Stack { rules: Rules { datagrams, ..stacks::QUINN }, ..stacks::quic() };
    for (stack, acks, windows) in [
        (stacks::linux(), [10, 13, 14], [12.0, 12.0, 13.0]),
        (quinn, [9, 13, 14], [12.0, 12.0, 13.0]),
        (stacks::rfc(), [10, 13, 14], [12.0, 12.0, 12.0]),
    ] {
        let stack = Stack { initial_ssthresh: Some(12), ..stack };
        let mut sender = driven(stack, "hystart++", 1_000_000, 1);
        let seen = acks.map(|seq| {
            acknowledge(&mut sender, seq);
            sender.info().cwnd
        });
        assert_eq!(seen, windows, "{:?}, {:?}", stack.recovery, stack.rules);
    }
}

#[test]
fn the_first_flight_ends_with_the_first_ack_though_it_acknowledges_nothing() {
    // Ten of 20 segments leave at once. The first is lost: two duplicate ACKs release a new segment each (RFC 3042), the third the
    // retransmission. These left after an ACK had come.
    for recovery in [Recovery::NewReno, Recovery::Rack { sack: false }] {
        let mut sender = driven(Stack { recovery, ..stacks::rfc() }, "slow-start", 20_000, 1);
        assert_eq!(sender.stats().first_flight, 10, "{recovery:?}");
        (0..3).for_each(|_| acknowledge(&mut sender, 0));
        let stats = sender.stats();
        assert_eq!((stats.first_flight, stats.retransmits, stats.sent), (10, 1, 13), "{recovery:?}");
    }
}
