//! Growth and limits of a sender's window, computed by hand on a line of 100 ms without serialisation time.

use crate::common::line::{Line, RTT, SYN, at};
use crate::common::{MS, stacks};
use firstflight_contract::Exit;
use firstflight_sim::receiver::AckPolicy;
use firstflight_sim::sender::app::AppConfig;
use firstflight_sim::sender::stack::{BYTE_COUNTING, DataInSyn, IdleRestart, ReceiveWindow, Recovery};

/// Segments sent in each of the first round trips.
fn a_round(line: &Line, rounds: u64) -> Vec<usize> {
    let sends = line.sends((rounds - 1) * RTT);
    (0..rounds).map(|round| sends.iter().filter(|sent| sent.0 == round * RTT).count()).collect()
}

fn writes(segments: u64, pauses: &[u64]) -> AppConfig {
    AppConfig {
        start: 0,
        bytes: Some(segments * 1000),
        pauses: pauses.iter().map(|ms| ms * MS).collect(),
        ..AppConfig::default()
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
fn above_the_initial_threshold_the_window_grows_by_one_per_round_trip() {
    // The sender of the Adaptive Start paper: 1, 2, 4, 8, 16, 32, then one more per round.
    let line = Line::with(Recovery::NewReno, 1, Some(32));
    assert_eq!(a_round(&line, 10), [1, 2, 4, 8, 16, 32, 33, 34, 35, 36]);
}

#[test]
fn the_receive_window_limits_the_segments_per_round_trip() {
    let mut line = Line::default();
    line.stack.receive_window = ReceiveWindow::fixed(20);
    assert_eq!(a_round(&line, 9), [1, 2, 4, 8, 16, 20, 20, 20, 20]);
    // Throughput = receive window / RTT: 51 segments in the first six rounds, then 20 each, acknowledged one
    // round later.
    let (sender, _) = line.run(100 * RTT);
    assert_eq!(sender.acked(), 1 + 2 + 4 + 8 + 16 + 20 * 95);
}

#[test]
fn the_ack_of_an_odd_segment_waits_for_the_timer_unless_it_is_the_last() {
    let mut line = Line::with(Recovery::Sack, 2, None);
    line.acks = AckPolicy { every: 2, quick: 0, timer: 100 * MS };
    // 0 and 1 are acknowledged together at 100, which makes the window 3 (RFC 5681: one segment per ACK). Of
    // 2, 3 and 4 the last carries PUSH, so its ACK does not wait for the timer.
    line.app = writes(5, &[]);
    let (sender, sends) = line.run(2000);
    assert_eq!(sends, at(&[(0, &[0, 1]), (100, &[2, 3, 4])]));
    assert_eq!(sender.app().completions(), [200 * MS]);
    // A single segment in a round, not the last of the write: its ACK takes 50 + 100 + 50 ms.
    let acks = AckPolicy { every: 2, quick: 0, timer: 100 * MS };
    let line = Line { acks, app: writes(3, &[]), ..Line::default() };
    let (sender, sends) = line.run(2000);
    assert_eq!(sends, at(&[(0, &[0]), (200, &[1, 2])]));
    assert_eq!(sender.app().completions(), [300 * MS]);
}

#[test]
fn quick_acks_avoid_the_timer_in_the_first_rounds() {
    let acks = AckPolicy { every: 2, quick: 16, timer: 40 * MS };
    let line = Line { acks, app: writes(15, &[]), ..Line::default() };
    assert_eq!(line.run(2000).0.app().completions(), [4 * RTT * MS]);
}

#[test]
fn an_idle_time_longer_than_the_timeout_restarts_slow_start() {
    // 4 leave at 0, 8 at 100, and the last 4 of the write at 200 with the second ACK, which make the window full: all 16 ACKs
    // enlarge it, to 20.
    let mut line = Line::with(Recovery::Sack, 4, None);
    line.app = AppConfig { sizes: vec![40_000], ..writes(16, &[2000]) };
    let (_, sends) = line.run(2300);
    let first = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    let first_write = at(&[(0, &first[..4]), (100, &first[4..12]), (200, &first[12..])]);
    assert_eq!(sends[..16], first_write);
    // RFC 5681 section 4.1: the restart window is the initial one.
    assert_eq!(sends[16..], at(&[(2300, &[16, 17, 18, 19])]));
    line.stack.idle_restart = IdleRestart::Keep;
    let (_, sends) = line.run(2300);
    assert_eq!(sends[16..].len(), 20);
    // An idle time shorter than the timeout, at least 200 ms here, changes nothing.
    line.stack.idle_restart = IdleRestart::Restart;
    line.app = AppConfig { sizes: vec![40_000], ..writes(16, &[100]) };
    assert_eq!(line.run(400).1[16..].len(), 20);
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
fn after_lost_syns_the_window_is_one_segment_and_the_timeout_three_seconds() {
    let mut line = Line::with(Recovery::Sack, 10, None).losing(&[(SYN, 0), (SYN, 1), (0, 0)]);
    line.stack.handshake = true;
    // RFC 6298: SYNs at 0, 1 and 1 + 2 s; open at 3.1 s; segment 0 is lost and retransmitted 3 s later (5.7).
    assert_eq!(
        line.sends(6200),
        at(&[(0, &[SYN]), (1000, &[SYN]), (3000, &[SYN]), (3100, &[0]), (6100, &[0]), (6200, &[1, 2])])
    );
}

#[test]
fn byte_counting_adds_two_segments_per_ack_of_two_but_one_in_slow_start_after_a_timeout() {
    // RFC 3465 with L = 2 and an ACK for every second segment: 2, 4, 8, 16, as with one ACK per segment.
    let acks = AckPolicy { every: 2, quick: 0, timer: 100 * MS };
    let mut line = Line { acks, ..Line::with(Recovery::Sack, 2, None) };
    line.stack.growth_per_ack = BYTE_COUNTING;
    assert_eq!(a_round(&line, 5), [2, 4, 8, 16, 32]);
    // All of the first 8 are lost: a timeout after 1 s. The ACK of segment 0 alone waits 100 ms and at 1200
    // makes the window two; 1 and 2 are acknowledged together at 1300, and the window, below the threshold of
    // 8/2, becomes 3. With L = 2 it would be 4.
    let lost: Vec<_> = (0..8).map(|segment| (segment, 0)).collect();
    let mut line = Line { acks, ..Line::with(Recovery::Sack, 8, None).losing(&lost) };
    line.stack.growth_per_ack = BYTE_COUNTING;
    assert_eq!(line.sends(1300)[8..], at(&[(1000, &[0]), (1200, &[1, 2]), (1300, &[3, 4, 5])]));
}

#[test]
fn byte_counting_has_no_limit_in_avoidance() {
    // RFC 3465 section 2.1. Window and threshold 8, four segments per ACK: two ACKs cover a window, which
    // grows by one. With a limit of two segments per ACK it would take two rounds.
    let acks = AckPolicy { every: 4, quick: 0, timer: 400 * MS };
    let mut line = Line { acks, ..Line::with(Recovery::Sack, 8, Some(8)) };
    line.stack.growth_per_ack = BYTE_COUNTING;
    assert_eq!(a_round(&line, 2), [8, 9]);
    // Such a connection is never in slow start.
    let exit = line.run(0).0.chain.startup_exit().expect("over");
    assert_eq!((exit.at.0, exit.cwnd, exit.reason), (0, 8000, Exit::Threshold));
}

#[test]
fn a_window_equal_to_its_threshold_begins_in_avoidance() {
    // The large initial window of the Adaptive Start paper, 64 KB "straight to congestion avoidance": 68
    // segments of 960 bytes, one more per round.
    let line = Line::with(Recovery::NewReno, 68, Some(68));
    assert_eq!(a_round(&line, 4), [68, 69, 70, 71]);
}

#[test]
fn fast_open_sends_one_segment_with_the_syn_and_the_initial_window_after_its_answer() {
    // Three segments with a window of two. The handshake is done at 100 ms, when the completion time starts.
    let mut line = Line::with(Recovery::Sack, 2, None);
    line.stack.handshake = true;
    line.app = writes(3, &[]);
    let (sender, sends) = line.run(1000);
    assert_eq!(sends, at(&[(0, &[SYN]), (100, &[0, 1]), (200, &[2])]));
    assert_eq!(sender.app().completions(), [200 * MS]);
    line.stack.data_in_syn = DataInSyn::FastOpen;
    let (sender, sends) = line.run(1000);
    assert_eq!(sends, at(&[(0, &[0]), (100, &[1, 2])]));
    assert_eq!(sender.app().completions(), [100 * MS]);
    assert_eq!((sender.app().established_at(), sender.info().srtt), (Some(100 * MS), 100 * MS));
    // A transfer that fits in the SYN is done with the handshake.
    line.app = writes(1, &[]);
    assert_eq!(line.run(1000).0.app().completions(), [0]);
}

#[test]
fn a_transaction_sends_the_initial_window_right_after_its_syn() {
    // As above, one round trip earlier; the ACKs of 0 and 1 at 100 make the window 3 and 4.
    let mut line = Line::with(Recovery::Sack, 2, None);
    line.stack.handshake = true;
    line.stack.data_in_syn = DataInSyn::Transaction;
    line.app = writes(5, &[]);
    let (sender, sends) = line.run(1000);
    assert_eq!(sends, at(&[(0, &[0, 1]), (100, &[2, 3, 4])]));
    assert_eq!((sender.app().completions(), sender.stats().first_flight), (&[100 * MS][..], 2));
    // A receiver that delays ACKs still answers a SYN at once.
    line.acks = AckPolicy { every: 2, quick: 0, timer: 100 * MS };
    assert_eq!(line.sends(100), at(&[(0, &[0, 1]), (100, &[2, 3])]));
}

#[test]
fn a_lost_syn_with_data_is_followed_by_a_handshake_without() {
    // The receiver takes no data before the SYN: segment 1, which a transaction sent right after it, is
    // retransmitted. The timeout is 1 s, the window after it one segment, and without an RTT the next timeout
    // 3 s.
    for (opening, behind) in [(DataInSyn::FastOpen, &[0][..]), (DataInSyn::Transaction, &[0, 1])] {
        let mut line = Line::with(Recovery::Sack, 2, None).losing(&[(0, 0)]);
        line.stack.handshake = true;
        line.stack.data_in_syn = opening;
        line.app = writes(3, &[]);
        let (sender, sends) = line.run(2000);
        assert_eq!(sends, at(&[(0, behind), (1000, &[SYN]), (1100, &[0]), (1200, &[1, 2])]), "{opening:?}");
        assert_eq!(sender.app().completions(), [200 * MS], "{opening:?}");
    }
}

#[test]
fn a_syn_with_data_that_is_answered_late_opens_the_connection() {
    // The timeout of 80 ms is shorter than the round trip. The ACK of segment 0 at 100 opens the connection with a window of one
    // segment; the answer to the repeated SYN, at 180, changes nothing. A fast open goes on behind its data: 1 at 100, then 2.
    // The ACKs of a transaction grow its window: that of 0 makes it two, and 1, which counts as lost, leaves again with 2.
    let transaction = at(&[(0, &[0, 1]), (80, &[SYN]), (100, &[1, 2])]);
    let fast_open = at(&[(0, &[0]), (80, &[SYN]), (100, &[1]), (200, &[2])]);
    for (stack, opening, expected, took) in [
        (stacks::rfc(), DataInSyn::FastOpen, &fast_open, 200 * MS),
        (stacks::linux(), DataInSyn::FastOpen, &fast_open, 200 * MS),
        (stacks::rfc(), DataInSyn::Transaction, &transaction, 100 * MS),
    ] {
        let mut line = Line { stack, ..Line::default() };
        (line.stack.mss, line.stack.initial_window) = (1000, 2);
        line.stack.handshake = true;
        line.stack.data_in_syn = opening;
        (line.stack.rto.initial, line.stack.rto.min) = (80 * MS, 80 * MS);
        line.app = writes(3, &[]);
        let (sender, sends) = line.run(2000);
        assert_eq!(sends, *expected, "{opening:?}");
        assert_eq!(
            (sender.app().established_at(), sender.app().completions()),
            (Some(100 * MS), &[took][..])
        );
    }
}

#[test]
fn the_receive_window_shrinks_until_a_late_reader_reads() {
    // A window of 10, read 8 at a time. Ten leave at 0. The ACK of one segment leaves room for 9 beyond it,
    // that of 7 for 3: no more may leave. The ACK of 8, which the application reads, leaves room for 10: 10
    // to 17. The ACKs of 9 and 10 do not move the edge.
    let mut line = Line::with(Recovery::Sack, 20, Some(20));
    line.stack.receive_window = ReceiveWindow::fixed(10).read_every(8, u32::MAX);
    let ten: Vec<u32> = (0..10).collect();
    let eight: Vec<u32> = (10..18).collect();
    assert_eq!(line.sends(199), at(&[(0, &ten), (100, &eight)]));
    // Throughput: eight per round trip.
    assert_eq!(a_round(&line, 6), [10, 8, 8, 8, 8, 8]);
    // The eighth is acknowledged at once whatever the ACK policy, because it opens the window. The end of a
    // write is read whatever its size.
    line.acks = AckPolicy { every: 3, quick: 0, timer: 300 * MS };
    assert_eq!(line.sends(199), at(&[(0, &ten), (100, &eight)]));
    let window = ReceiveWindow::fixed(10).read_every(8, 11);
    assert_eq!([0, 7, 8, 10, 11, 12, 19].map(|acked| window.at(acked)), [10, 3, 10, 8, 10, 9, 10]);
}
