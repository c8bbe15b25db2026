//! How a sender's window grows and what bounds it, worked out by hand on a line of 100 ms without serialisation.

mod common;

use common::MS;
use common::line::{Line, RTT, SYN, at};
use firstflight_sim::receiver::AckPolicy;
use firstflight_sim::sender::app::AppConfig;
use firstflight_sim::sender::stack::{IdleRestart, ReceiveWindow, Recovery};

/// How many segments left at each of the first round trips.
fn a_round(line: &Line, rounds: u64) -> Vec<usize> {
    let sends = line.sends((rounds - 1) * RTT);
    (0..rounds).map(|round| sends.iter().filter(|sent| sent.0 == round * RTT).count()).collect()
}

fn writes(segments: u64, pauses: &[u64]) -> AppConfig {
    AppConfig {
        start: 0,
        bytes: Some(segments * 1000),
        pauses: pauses.iter().map(|ms| ms * MS).collect(),
        lifetime: None,
    }
}

#[test]
fn slow_start_doubles_every_round_trip() {
    let line = Line::default();
    assert_eq!(a_round(&line, 11), [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);
    let (sender, _) = line.run(10 * RTT);
    assert_eq!(sender.chain.control.cwnd, 1024 * 1000);
}

#[test]
fn beyond_the_initial_threshold_the_window_grows_by_one_a_round_trip() {
    // The Adaptive Start paper's sender: 1, 2, 4, 8, 16, 32, then one more each round.
    let line = Line::with(Recovery::NewReno, 1, Some(32));
    assert_eq!(a_round(&line, 10), [1, 2, 4, 8, 16, 32, 33, 34, 35, 36]);
}

#[test]
fn the_receive_window_bounds_what_a_round_trip_carries() {
    let mut line = Line::default();
    line.stack.receive_window = ReceiveWindow::fixed(20);
    assert_eq!(a_round(&line, 9), [1, 2, 4, 8, 16, 20, 20, 20, 20]);
    // Throughput = receive window / RTT: 51 segments in the first six rounds, then 20 each, all acknowledged one
    // round later.
    let (sender, _) = line.run(100 * RTT);
    assert_eq!(sender.acked(), 1 + 2 + 4 + 8 + 16 + 20 * 95);
}

#[test]
fn a_delayed_ack_holds_an_odd_segment_for_its_timer_but_not_the_last() {
    let mut line = Line::with(Recovery::Sack, 2, None);
    line.acks = AckPolicy { every: 2, quick: 0, timer: 100 * MS };
    // Two and two: 0 and 1 are acknowledged together at 100, which makes the window 3 (RFC 5681: one segment for
    // each ACK). Of 2, 3 and 4 the last says that it is the last, so it does not wait for its timer.
    line.app = writes(5, &[]);
    let (sender, sends) = line.run(2000);
    assert_eq!(sends, at(&[(0, &[0, 1]), (100, &[2, 3, 4])]));
    assert_eq!(sender.app().completions(), [200 * MS]);
    // One segment alone in a round, not the last of the write: its ACK takes 50 + 100 + 50 ms.
    let acks = AckPolicy { every: 2, quick: 0, timer: 100 * MS };
    let line = Line { acks, app: writes(3, &[]), ..Line::default() };
    let (sender, sends) = line.run(2000);
    assert_eq!(sends, at(&[(0, &[0]), (200, &[1, 2])]));
    assert_eq!(sender.app().completions(), [300 * MS]);
}

#[test]
fn quick_acks_spare_the_first_rounds_the_timer() {
    let acks = AckPolicy { every: 2, quick: 16, timer: 40 * MS };
    let line = Line { acks, app: writes(15, &[]), ..Line::default() };
    assert_eq!(line.run(2000).0.app().completions(), [4 * RTT * MS]);
}

#[test]
fn after_an_idle_time_longer_than_the_timeout_slow_start_begins_again() {
    // 4 leave at 0, 8 at 100, the last 4 of the write at 200 with the second ACK; while these are out the window
    // does not limit, so of the eight ACKs at 200 the first two grow it, and the third, which finds that the last
    // attempt to send had ended at the window. 8 + 3 = 11.
    let mut line = Line::with(Recovery::Sack, 4, None);
    line.app = writes(16, &[2000]);
    let (_, sends) = line.run(2300);
    let first = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    let first_write = at(&[(0, &first[..4]), (100, &first[4..12]), (200, &first[12..])]);
    assert_eq!(sends[..16], first_write);
    // RFC 5681 section 4.1: the restart window is the initial one.
    assert_eq!(sends[16..], at(&[(2300, &[16, 17, 18, 19])]));
    line.stack.idle_restart = IdleRestart::Keep;
    let (_, sends) = line.run(2300);
    assert_eq!(sends[16..].len(), 11);
    // An idle time shorter than the timeout, here 200 ms at the least, changes nothing.
    line.stack.idle_restart = IdleRestart::Restart;
    line.app = writes(16, &[100]);
    assert_eq!(line.run(400).1[16..].len(), 11);
}

#[test]
fn a_handshake_takes_a_round_trip_and_times_it() {
    let mut line = Line::with(Recovery::Sack, 2, None);
    line.stack.handshake = true;
    let (sender, sends) = line.run(150);
    assert_eq!(sends, at(&[(0, &[SYN]), (100, &[0, 1])]));
    // RFC 6298 (2.2): SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR.
    assert_eq!((sender.info().srtt, sender.info().rto), (100 * MS, 300 * MS));
}

#[test]
fn a_lost_syn_is_repeated_with_a_timeout_that_doubles_and_leaves_one_segment_and_three_seconds() {
    let mut line = Line::with(Recovery::Sack, 10, None).losing(&[(SYN, 0), (SYN, 1), (0, 0)]);
    line.stack.handshake = true;
    // RFC 6298: SYNs at 0, 1 and 1 + 2 s; open at 3.1 s; segment 0 is lost, so it leaves again 3 s later (5.7).
    assert_eq!(
        line.sends(6200),
        at(&[(0, &[SYN]), (1000, &[SYN]), (3000, &[SYN]), (3100, &[0]), (6100, &[0]), (6200, &[1, 2])])
    );
}
