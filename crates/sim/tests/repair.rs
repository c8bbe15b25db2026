//! What a sender repeats after losses, when, and under which window, worked out by hand on a line of 100 ms without
//! serialisation. Reno, unless something else is said: one segment more for each window of ACKs.

mod common;

use common::MS;
use common::line::{Line, at, chain};
use firstflight_sim::sender::info::CaState;
use firstflight_sim::sender::stack::{PartialAcks, Recovery, Stack};

/// A window of `segments` in congestion avoidance from the start.
fn steady(recovery: Recovery, segments: u32) -> Line {
    Line::with(recovery, segments, Some(segments))
}

const FIRST_EIGHT: &[u32] = &[0, 1, 2, 3, 4, 5, 6, 7];
const FIRST_TEN: &[u32] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

#[test]
fn one_loss_is_repaired_in_one_round_trip_by_reno_newreno_and_sack_alike() {
    // 8 out, 0 lost. At 100 the first two duplicates release 8 and 9 (RFC 3042). The third halves what was out
    // without these two: ssthresh = 4. It repeats 0. Seven segments arrived, so seven duplicates come:
    // - RFC 5681: 4 + 3 segments of inflation, four more duplicates make 11, and 10 are out: one more, 10.
    // - RFC 6675: 10 out - 7 SACKed - 1 lost + 1 repeated = a pipe of 3 under a window of 4: one more, 10.
    // At 200 come the duplicates of 8 and 9, each releases one: 11, 12. Then 0 is acknowledged with everything up
    // to 9: the window is 4, and 10, 11, 12 are out: 13. The ACK of 10 releases 14.
    let expected = at(&[(0, FIRST_EIGHT), (100, &[8, 9, 0, 10]), (200, &[11, 12, 13, 14])]);
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let line = steady(recovery, 8).losing(&[(0, 0)]);
        let (sender, sends) = line.run(200);
        assert_eq!(sends, expected, "{recovery:?}");
        let info = sender.info();
        assert_eq!((info.cwnd, info.ssthresh, info.state), (4.0, Some(4.0), CaState::Open), "{recovery:?}");
        assert_eq!(sender.stats().timeouts, 0);
    }
}

#[test]
fn tahoe_begins_again_from_one_segment() {
    // As above up to the third duplicate; then the window is one segment, which is the repeated 0. Its ACK covers
    // everything up to 9, so the window is 2: 10 and 11. Then 4, which is ssthresh.
    let line = steady(Recovery::Tahoe, 8).losing(&[(0, 0)]);
    let (sender, sends) = line.run(300);
    assert_eq!(sends, at(&[(0, FIRST_EIGHT), (100, &[8, 9, 0]), (200, &[10, 11]), (300, &[12, 13, 14, 15])]));
    assert_eq!((sender.info().cwnd, sender.info().ssthresh), (4.0, Some(4.0)));
}

#[test]
fn newreno_repairs_a_second_loss_with_the_partial_ack() {
    // 0 and 2 lost: six duplicates. 8 and 9 by limited transmit, ssthresh 4, 0 again; 4 + 6 < 10 + 1: no more.
    // At 200 two more duplicates (of 8 and 9): 11 and 12 allow 10 and 11. Then 0 is acknowledged with 1: a partial
    // ACK of two. It deflates by 2 and adds 1 (RFC 6582): 11 under which 10 are out, and 2, repeated, and 12.
    // At 300 the duplicates of 10 and 11 release 13 and 14; the ACK of 2 covers all up to 11: the window is 4 (three
    // are out, so min (ssthresh, 3 + 1) = 4): 15. The ACK of 12: 16.
    let expected =
        at(&[(0, FIRST_EIGHT), (100, &[8, 9, 0]), (200, &[10, 11, 2, 12]), (300, &[13, 14, 15, 16])]);
    assert_eq!(steady(Recovery::NewReno, 8).losing(&[(0, 0), (2, 0)]).sends(300), expected);
}

#[test]
fn each_partial_ack_restarts_the_timer_where_newreno_is_slow_but_steady() {
    // 0, 2 and 4 lost, and the repair of 4: only the timer brings another. At 200 the ACK up to 2 is a partial one; 1 took
    // 200 ms: SRTT = 200, RTTVAR = 100, RTO = 600. At 300 comes that up to 4; 3 took 300 ms: RTTVAR = 3/4 * 100 + 1/4 * 100,
    // SRTT = 212.5, RTO = 612.5.
    for (partial_acks, again) in
        [(PartialAcks::Impatient, 200 + 600), (PartialAcks::SlowButSteady, 300 + 612)]
    {
        let mut line = steady(Recovery::NewReno, 8).losing(&[(0, 0), (2, 0), (4, 0), (4, 1)]);
        line.stack.partial_acks = partial_acks;
        let copies: Vec<u64> =
            line.sends(1000).iter().filter(|sent| sent.1 == 4).map(|sent| sent.0).collect();
        assert_eq!(copies, [0, 300, again], "{partial_acks:?}");
    }
}

#[test]
fn a_partial_ack_takes_the_whole_inflation_back_as_in_the_ns_2_of_2002() {
    // As in `newreno_repairs_a_second_loss_with_the_partial_ack` until 0 is acknowledged: then the window is 4, ten are out,
    // and only 2 leaves. At 300 the duplicates of 10 and 11 make it 6; the ACK of 2 covers everything, none is out, and
    // min (ssthresh, 1 + 1) = 2 leave. At 400 each of their ACKs releases two.
    let mut line = steady(Recovery::NewReno, 8).losing(&[(0, 0), (2, 0)]);
    line.stack.partial_acks = PartialAcks::Ns2Of2002;
    let expected = at(&[
        (0, FIRST_EIGHT),
        (100, &[8, 9, 0]),
        (200, &[10, 11, 2]),
        (300, &[12, 13]),
        (400, &[14, 15, 16, 17]),
    ]);
    assert_eq!(line.sends(400), expected);
}

#[test]
fn reno_leaves_a_second_loss_of_the_same_window_to_the_timer() {
    // As NewReno until 0 is acknowledged, which ends Reno's recovery under a window of 4 with ten out, 2 among them.
    // The duplicates of 10 and 11 at 300 are two, not three. The ACK at 200 acknowledged 1, which left once and took
    // 200 ms: RTO = 200 + 4 * 100 = 600 ms, so 2 is repeated at 800. Its ACK covers all up to 11.
    let line = steady(Recovery::Reno, 8).losing(&[(0, 0), (2, 0)]);
    let (sender, sends) = line.run(900);
    assert_eq!(
        sends,
        at(&[(0, FIRST_EIGHT), (100, &[8, 9, 0]), (200, &[10, 11]), (800, &[2]), (900, &[12, 13])])
    );
    // RFC 5681 equation (4): half of the ten segments out when the timer fired.
    assert_eq!((sender.stats().timeouts, sender.info().ssthresh), (1, Some(5.0)));
}

#[test]
fn three_losses_are_repaired_as_the_pipe_drains() {
    // 10 out; 0, 2 and 4 lost. 1 and 3 release 10 and 11. The third duplicate (5): ssthresh = cwnd = 5, 0 again;
    // pipe = 12 out - 3 SACKed - 1 lost + 1 repeated = 9. With 6, 2 is lost too (3, 5, 6 lie above it): 12 - 4 - 2
    // + 1 = 7. With 7 so is 4: 12 - 5 - 3 + 1 = 5. With 8: 4, so 2 again. With 9: 12 - 7 - 3 + 2 = 4, so 4 again.
    // At 200, 10, 11 and the three repairs arrive one after the other, and each ACK takes one from the pipe.
    let line = steady(Recovery::Sack, 10).losing(&[(0, 0), (2, 0), (4, 0)]);
    let (sender, sends) = line.run(200);
    assert_eq!(sends, at(&[(0, FIRST_TEN), (100, &[10, 11, 0, 2, 4]), (200, &[12, 13, 14, 15, 16])]));
    assert_eq!((sender.info().cwnd, sender.info().state), (5.0, CaState::Open));
}

#[test]
fn a_lost_repair_waits_for_the_timer() {
    // The repair of 0 is lost too. SACK cannot tell (RFC 6675 repeats a segment once a recovery): nothing moves the
    // cumulative ACK, and the timer of the recovery's beginning fires after 1 s, for there was no sample yet.
    let line = steady(Recovery::Sack, 8).losing(&[(0, 0), (0, 1)]);
    let sends = line.sends(1200);
    let repairs: Vec<u64> = sends.iter().filter(|sent| sent.1 == 0).map(|sent| sent.0).collect();
    assert_eq!(repairs, [0, 100, 1100]);
}

#[test]
fn each_timeout_doubles_the_next_up_to_a_minute() {
    let lost: Vec<(u32, usize)> = (0..9).map(|copy| (0, copy)).collect();
    // RFC 6298: 1 s, then 2, 4, 8, 16, 32, and no more than 60.
    let line = Line::default().losing(&lost);
    let times: Vec<u64> = line.sends(243_000).iter().map(|sent| sent.0 / 1000).collect();
    assert_eq!(times, [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
    // ns-2 begins with 3 s: 3, 6, 12, 24, 48, 60.
    let mut line = Line::default().losing(&lost);
    line.stack.ns2 = true;
    line.stack.rto.initial = 3000 * MS;
    let times: Vec<u64> = line.sends(220_000).iter().map(|sent| sent.0 / 1000).collect();
    assert_eq!(times, [0, 3, 9, 21, 45, 93, 153, 213]);
}

#[test]
fn a_second_timeout_of_the_same_segment_leaves_the_threshold_where_the_first_put_it() {
    // RFC 5681 section 3.1. 8 out, all lost: at 1 s ssthresh = 4 and one segment leaves; it is lost too. At 3 s the
    // threshold stays 4, and slow start goes on to it: 1, 2, 4.
    let lost: Vec<(u32, usize)> = (0..8).map(|segment| (segment, 0)).chain([(0, 1)]).collect();
    let line = steady(Recovery::Sack, 8).losing(&lost);
    assert_eq!(
        line.sends(3200),
        at(&[(0, FIRST_EIGHT), (1000, &[0]), (3000, &[0]), (3100, &[1, 2]), (3200, &[3, 4, 5, 6])])
    );
    assert_eq!(line.run(3050).0.info().ssthresh, Some(4.0));
}

#[test]
fn two_duplicates_are_enough_where_limited_transmit_brings_the_third() {
    // Three out, the first lost: two duplicates, which release 3 and 4; the ACKs they cause make three.
    let mut line = steady(Recovery::NewReno, 3).losing(&[(0, 0)]);
    let repaired = |line: &Line| line.sends(1500).iter().filter(|sent| sent.1 == 0).map(|sent| sent.0).nth(1);
    assert_eq!(line.sends(100), at(&[(0, &[0, 1, 2]), (100, &[3, 4])]));
    assert_eq!(repaired(&line), Some(200));
    // Without it the timer has to find the loss.
    line.stack.limited_transmit = false;
    assert_eq!(repaired(&line), Some(1000));
}

#[test]
fn a_loss_at_the_end_of_the_data_is_found_by_the_timer_alone() {
    // Of 4 segments the last is lost. RTT = 100 with the ACKs at 100: RTO = 100 + 4 * 50 = 300 at the first, less
    // with each further one: RTTVAR = 37.5, 28.125: 100 + 112.5 = 212.5 ms after the third.
    let mut line = steady(Recovery::Sack, 4).losing(&[(3, 0)]);
    line.app.bytes = Some(4000);
    let (sender, sends) = line.run(2000);
    assert_eq!(sends, at(&[(0, &[0, 1, 2, 3]), (312, &[3])]));
    assert_eq!(sender.app().completions(), [412 * MS + MS / 2]);
}

#[test]
fn a_segment_is_delivered_when_its_duplicate_comes_and_not_again_when_the_cumulative_ack_covers_it() {
    // Ten holes are repaired one a round trip. New data arrives beyond them all the while, and the ACK of the last repair covers it
    // at once; later more is lost. Westwood's threshold is what the rate of delivery fills in 100 ms: never more than has left
    // within 100 ms.
    let mut lost: Vec<_> = (90..110).step_by(2).map(|segment| (segment, 0)).collect();
    lost.push((320, 0));
    for recovery in [Recovery::Reno, Recovery::NewReno] {
        for ns2 in [false, true] {
            let mut line = steady(recovery, 40).losing(&lost);
            line.chain = chain(&["slow-start", "westwood"]);
            line.stack = Stack { ns2, partial_acks: PartialAcks::SlowButSteady, ..line.stack };
            for end in (100..2000).step_by(100) {
                let (sender, sends) = line.run(end);
                let most = sends.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).max().expect("something left");
                let ssthresh = sender.info().ssthresh.expect("it has one");
                assert!(ssthresh <= most as f64, "{recovery:?}, ns2 {ns2}, {end} ms: {ssthresh} of {most}");
            }
        }
    }
}
