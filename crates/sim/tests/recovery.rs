//! Retransmissions after losses, their times and windows, computed by hand on a line of 100 ms without
//! serialisation time. Unless stated otherwise the avoidance scheme is Reno: one segment more per window of
//! ACKs.

use crate::common::line::{Line, Sent, at, chain};
use crate::common::{MS, stacks};
use firstflight_sim::packet::{CWR_ECE, ECT, pack_blocks};
use firstflight_sim::sender::app::App;
use firstflight_sim::sender::info::CaState;
use firstflight_sim::sender::stack::{PartialAcks, Recovery, Rules, Stack};
use firstflight_sim::sender::{AckIn, Port, Segment, Sender};

/// A window of `segments`, in congestion avoidance from the start.
fn steady(recovery: Recovery, segments: u32) -> Line {
    Line::with(recovery, segments, Some(segments))
}

const FIRST_EIGHT: &[u32] = &[0, 1, 2, 3, 4, 5, 6, 7];
const FIRST_TEN: &[u32] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

#[test]
fn reno_newreno_and_sack_recover_one_loss_in_one_round_trip() {
    // 8 out, 0 lost. At 100 the first two duplicates release 8 and 9 (RFC 3042). The third halves the flight
    // without these two, so ssthresh = 4, and retransmits 0. Seven segments arrived, so seven duplicates
    // come:
    // - RFC 5681: 4 + 3 segments of inflation, four more duplicates make 11, and 10 are out: one more, 10.
    // - RFC 6675: 10 out - 7 SACKed - 1 lost + 1 retransmitted = a pipe of 3 under a window of 4: one more,
    // 10.
    // At 200 the duplicates of 8 and 9 release 11 and 12. Then 0 is acknowledged with everything up to 9: the
    // window is 4 and 10, 11, 12 are out, so 13 leaves. The ACK of 10 releases 14.
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
fn tahoe_restarts_from_one_segment() {
    // As above up to the third duplicate; then the window is one segment, the retransmitted 0. Its ACK covers
    // everything up to 9, so the window is 2: 10 and 11. Then 4, which is ssthresh.
    let line = steady(Recovery::Tahoe, 8).losing(&[(0, 0)]);
    let (sender, sends) = line.run(300);
    assert_eq!(sends, at(&[(0, FIRST_EIGHT), (100, &[8, 9, 0]), (200, &[10, 11]), (300, &[12, 13, 14, 15])]));
    assert_eq!((sender.info().cwnd, sender.info().ssthresh), (4.0, Some(4.0)));
}

#[test]
fn newreno_retransmits_a_second_loss_on_the_partial_ack() {
    // 0 and 2 lost: six duplicates. Limited transmit sends 8 and 9; ssthresh 4; 0 is retransmitted; 4 + 6 <
    // 10 + 1, so no more leaves. At 200 two more duplicates (of 8 and 9): windows of 11 and 12 allow 10 and
    // 11. Then the ACK of 0 and 1 is a partial ACK of two. It deflates by 2 and adds 1 (RFC 6582): a window
    // of 11 with 10 out, and 2, retransmitted, and 12. At 300 the duplicates of 10 and 11 release 13 and 14;
    // the ACK of 2 covers everything up to 11: the window is 4 (three are out, so min (ssthresh, 3 + 1) = 4):
    // 15. The ACK of 12: 16.
    let expected =
        at(&[(0, FIRST_EIGHT), (100, &[8, 9, 0]), (200, &[10, 11, 2, 12]), (300, &[13, 14, 15, 16])]);
    assert_eq!(steady(Recovery::NewReno, 8).losing(&[(0, 0), (2, 0)]).sends(300), expected);
}

#[test]
fn slow_but_steady_newreno_restarts_the_timer_on_each_partial_ack() {
    // 0, 2 and 4 are lost, and the retransmission of 4, which only the timer repeats. At 200 a partial ACK up
    // to 2 arrives; 1 took 200 ms: SRTT = 200, RTTVAR = 100, RTO = 600. At 300 one up to 4; 3 took 300 ms:
    // RTTVAR = 3/4 * 100 + 1/4 * 100, SRTT = 212.5, RTO = 612.5.
    for (partial_acks, expires) in
        [(PartialAcks::Impatient, 200 + 600), (PartialAcks::SlowButSteady, 300 + 612)]
    {
        let mut line = steady(Recovery::NewReno, 8).losing(&[(0, 0), (2, 0), (4, 0), (4, 1)]);
        line.stack.partial_acks = partial_acks;
        let copies: Vec<u64> =
            line.sends(1000).iter().filter(|sent| sent.1 == 4).map(|sent| sent.0).collect();
        assert_eq!(copies, [0, 300, expires], "{partial_acks:?}");
    }
}

#[test]
fn in_ns_2_of_2002_a_partial_ack_removes_the_whole_inflation() {
    // As in `newreno_retransmits_a_second_loss_on_the_partial_ack` until 0 is acknowledged: then the window
    // is 4, ten are out, and only 2 leaves. At 300 the duplicates of 10 and 11 make it 6; the ACK of 2 covers
    // everything, none is out, and min (ssthresh, 1 + 1) = 2 leave. At 400 each of their ACKs releases two.
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
    // As NewReno until 0 is acknowledged, which ends Reno's recovery under a window of 4 with ten out,
    // including 2. The duplicates of 10 and 11 at 300 are two, not three. The ACK at 200 acknowledged 1,
    // which was sent once and took 200 ms: RTO = 200 + 4 * 100 = 600 ms, so 2 is retransmitted at 800. Its
    // ACK covers everything up to 11.
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
fn sack_retransmits_three_losses_as_the_pipe_drains() {
    // 10 out; 0, 2 and 4 lost. 1 and 3 release 10 and 11. The third duplicate (5): ssthresh = cwnd = 5, 0 is
    // retransmitted; pipe = 12 out - 3 SACKed - 1 lost + 1 retransmitted = 9. With 6, 2 is lost too (3, 5, 6
    // lie above it): 12 - 4 - 2 + 1 = 7. With 7 so is 4: 12 - 5 - 3 + 1 = 5. With 8: 4, so 2 is
    // retransmitted. With 9: 12 - 7 - 3 + 2 = 4, so 4 is. At 200, 10, 11 and the three retransmissions arrive
    // one after the other, and each ACK removes one from the pipe.
    let line = steady(Recovery::Sack, 10).losing(&[(0, 0), (2, 0), (4, 0)]);
    let (sender, sends) = line.run(200);
    assert_eq!(sends, at(&[(0, FIRST_TEN), (100, &[10, 11, 0, 2, 4]), (200, &[12, 13, 14, 15, 16])]));
    assert_eq!((sender.info().cwnd, sender.info().state), (5.0, CaState::Open));
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    // The retransmission of 0 is lost too. SACK cannot detect this (RFC 6675 retransmits a segment once per
    // recovery): no ACK advances, and the timer started with recovery fires after 1 s, since no RTT has been
    // sampled.
    let line = steady(Recovery::Sack, 8).losing(&[(0, 0), (0, 1)]);
    let sends = line.sends(1200);
    let copies: Vec<u64> = sends.iter().filter(|sent| sent.1 == 0).map(|sent| sent.0).collect();
    assert_eq!(copies, [0, 100, 1100]);
}

#[test]
fn each_timeout_doubles_the_next_one_up_to_a_minute() {
    let lost: Vec<(u32, usize)> = (0..9).map(|copy| (0, copy)).collect();
    // RFC 6298: 1 s, then 2, 4, 8, 16, 32, and no more than 60.
    let line = Line::default().losing(&lost);
    let times: Vec<u64> = line.sends(243_000).iter().map(|sent| sent.0 / 1000).collect();
    assert_eq!(times, [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
    // ns-2 starts with 3 s: 3, 6, 12, 24, 48, 60.
    let mut line = Line::default().losing(&lost);
    line.stack.rules = stacks::NS2;
    line.stack.rto.initial = 3000 * MS;
    let times: Vec<u64> = line.sends(220_000).iter().map(|sent| sent.0 / 1000).collect();
    assert_eq!(times, [0, 3, 9, 21, 45, 93, 153, 213]);
}

#[test]
fn a_second_timeout_of_a_segment_keeps_the_threshold() {
    // RFC 5681 section 3.1. 8 out, all lost: at 1 s ssthresh = 4 and one segment leaves, which is lost too.
    // At 3 s the threshold stays 4, and slow start continues up to it: 1, 2, 4.
    let lost: Vec<(u32, usize)> = (0..8).map(|segment| (segment, 0)).chain([(0, 1)]).collect();
    let line = steady(Recovery::Sack, 8).losing(&lost);
    assert_eq!(
        line.sends(3200),
        at(&[(0, FIRST_EIGHT), (1000, &[0]), (3000, &[0]), (3100, &[1, 2]), (3200, &[3, 4, 5, 6])])
    );
    assert_eq!(line.run(3050).0.info().ssthresh, Some(4.0));
}

#[test]
fn with_limited_transmit_two_duplicates_lead_to_recovery() {
    // Three out, the first lost: its two duplicates release 3 and 4, whose ACKs make more than three
    // duplicates.
    let mut line = steady(Recovery::NewReno, 3).losing(&[(0, 0)]);
    let retransmitted =
        |line: &Line| line.sends(1500).iter().filter(|sent| sent.1 == 0).map(|sent| sent.0).nth(1);
    assert_eq!(line.sends(100), at(&[(0, &[0, 1, 2]), (100, &[3, 4])]));
    assert_eq!(retransmitted(&line), Some(200));
    // Without limited transmit the timer must detect the loss.
    line.stack.limited_transmit = false;
    assert_eq!(retransmitted(&line), Some(1000));
}

#[test]
fn a_loss_at_the_end_of_the_data_is_detected_only_by_the_timer() {
    // Of 4 segments the last is lost. RTT = 100 with the ACKs at 100: RTO = 100 + 4 * 50 = 300 with the
    // first, less with each further one: RTTVAR = 37.5, 28.125: 100 + 112.5 = 212.5 ms after the third.
    let mut line = steady(Recovery::Sack, 4).losing(&[(3, 0)]);
    line.app.bytes = Some(4000);
    let (sender, sends) = line.run(2000);
    assert_eq!(sends, at(&[(0, &[0, 1, 2, 3]), (312, &[3])]));
    assert_eq!(sender.app().completions(), [412 * MS + MS / 2]);
}

#[test]
fn segments_behind_a_hole_count_as_delivered_only_once() {
    // Ten holes are retransmitted one per round trip. New data arrives behind them meanwhile; the ACK of the
    // last retransmission covers it all at once; later there is another loss. Westwood's threshold is the
    // delivery rate times 100 ms: at most the data sent within 100 ms.
    let mut lost: Vec<_> = (90..110).step_by(2).map(|segment| (segment, 0)).collect();
    lost.push((320, 0));
    for recovery in [Recovery::Reno, Recovery::NewReno] {
        for rules in [Rules::RFC, stacks::NS2] {
            let mut line = steady(recovery, 40).losing(&lost);
            line.chain = chain(&["slow-start", "westwood"]);
            line.stack = Stack { rules, partial_acks: PartialAcks::SlowButSteady, ..line.stack };
            for end in (100..2000).step_by(100) {
                let (sender, sends) = line.run(end);
                let most = sends.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).max().expect("something left");
                let ssthresh = sender.info().ssthresh.expect("a threshold after a loss");
                assert!(ssthresh <= most as f64, "{recovery:?}, {rules:?}, {end} ms: {ssthresh} of {most}");
            }
        }
    }
}

/// Time and segment of what a driven sender sends.
#[derive(Default)]
struct Departures(Vec<Sent>);

impl Port for Departures {
    fn transmit(&mut self, now: u64, segment: Segment, _: (u64, u64), _: bool) {
        self.0.push((now / MS, segment.number));
    }

    fn transmit_syn(&mut self, _: u64, _: (u64, u64)) {
        unreachable!("the connection is open");
    }
}

#[test]
fn a_probe_repeats_a_tail_that_has_arrived_and_its_report_still_counts() {
    // Three segments at 1000. RFC 8985 section 7.2: PTO = 2 * 100 + 2 ms, at the next tick of 4 ms: 1204. At 1220 an ACK of the
    // first segment reports the third too, sooner after the probe than any round trip: it answers the original, and so does not
    // show that the second is lost. Its mark ends the probe's episode. SRTT = 100 + (220 - 100) / 8 = 115, so that the next
    // probe is due at 1220 + 2 * 115 + 2 = 1452: the same tail. At the timeout the second segment is lost and the tail is not.
    // The pipe (RFC 6675): 2 out + 1 retransmitted - 1 reported - 1 lost = 1.
    let stack = Stack { ecn: true, mss: 1000, ..stacks::linux() };
    let mut sender =
        Sender::new(stack, chain(&["slow-start", "reno"]), App::driven(1000, !stack.rules.whole_packets));
    let mut wire = Departures::default();
    sender.open(1000 * MS, 100 * MS);
    assert!(sender.queue(3000));
    sender.write(1000 * MS, &mut wire);
    sender.advance(1210 * MS, &mut wire);
    let (low, high) = pack_blocks(1, &[(2, 3)]);
    sender.on_ack(1220 * MS, AckIn { seq: 1, low: low | CWR_ECE, high }, &mut wire);
    let counts = |sender: &Sender| {
        let info = sender.info();
        (info.state, info.unacked, info.sacked, info.lost, info.retrans, info.in_flight)
    };
    assert_eq!(counts(&sender), (CaState::Cwr, 2, 1, 0, 0, 1));
    sender.advance(1500 * MS, &mut wire);
    assert_eq!(counts(&sender), (CaState::Cwr, 2, 1, 0, 0, 1), "a probe is not counted");
    assert_eq!(wire.0, at(&[(1000, &[0, 1, 2]), (1204, &[2]), (1452, &[2])]));
    sender.advance(2000 * MS, &mut wire);
    assert_eq!(counts(&sender), (CaState::Loss, 2, 1, 1, 1, 1));
    assert_eq!(wire.0[5..].iter().map(|sent| sent.1).collect::<Vec<_>>(), [1]);
}

/// A sender with ECN, `segments` in flight from 1000 ms on and its window in congestion avoidance.
fn with_ecn(stack: Stack, segments: u32) -> (Sender, Departures) {
    let stack = Stack { ecn: true, initial_window: segments, initial_ssthresh: Some(segments), ..stack };
    let mut sender =
        Sender::new(stack, chain(&["slow-start", "reno"]), App::driven(1000, !stack.rules.whole_packets));
    let mut wire = Departures::default();
    sender.open(1000 * MS, 100 * MS);
    assert!(sender.queue(100_000));
    sender.write(1000 * MS, &mut wire);
    (sender, wire)
}

fn ack(seq: u32, flags: u64) -> AckIn {
    AckIn { seq, low: flags, high: 0 }
}

#[test]
fn a_mark_halves_the_window_once_and_its_echoes_do_not_enlarge_it() {
    // RFC 3168 section 6.1.2: 8 / 2 = 4 at the first echo; the seven others acknowledge data of the same window and add nothing.
    // Without an echo four ACKs add one segment: 5.
    for stack in [stacks::rfc(), stacks::ns2()] {
        let (mut sender, mut wire) = with_ecn(stack, 8);
        for seq in 1..=8 {
            sender.on_ack(1100 * MS, ack(seq, CWR_ECE), &mut wire);
            assert_eq!(sender.info().cwnd, 4.0, "after the ACK of {seq}");
        }
        for seq in 9..=12 {
            sender.on_ack(1200 * MS, ack(seq, 0), &mut wire);
        }
        assert_eq!(sender.info().cwnd, 5.0);
    }
}

#[test]
fn a_loss_in_a_window_that_a_mark_reduced_is_retransmitted_and_reduces_nothing() {
    // The echo with the ACK of 0 halves 8 to 4. Then 1 is lost: the duplicates of 2, 3 and 4 retransmit it under the same window.
    for stack in [stacks::rfc(), stacks::ns2()] {
        let (mut sender, mut wire) = with_ecn(stack, 8);
        sender.on_ack(1100 * MS, ack(1, CWR_ECE), &mut wire);
        for end in 3..=5 {
            let (low, high) = pack_blocks(1, &[(2, end)]);
            sender.on_ack(1100 * MS, AckIn { seq: 1, low: low | CWR_ECE, high }, &mut wire);
        }
        let info = sender.info();
        assert_eq!((info.cwnd, info.ssthresh, info.state), (4.0, Some(4.0), CaState::Recovery));
        assert!(wire.0.contains(&(1100, 1)), "retransmitted: {:?}", wire.0);
    }
}

#[test]
fn a_mark_leaves_one_segment_and_a_loss_two() {
    // RFC 3168 section 6.1.2: the window "is bounded below by a value of one MSS", 3 / 2 = 1.5 here; RFC 5681 equation (4): ssthresh
    // of two segments. A loss leaves two.
    for stack in [stacks::rfc(), stacks::ns2()] {
        let (mut sender, mut wire) = with_ecn(stack, 3);
        sender.on_ack(1100 * MS, ack(1, CWR_ECE), &mut wire);
        assert_eq!((sender.info().cwnd, sender.info().ssthresh), (1.5, Some(2.0)));
        let (mut sender, mut wire) = with_ecn(stack, 3);
        sender.on_ack(1100 * MS, ack(1, 0), &mut wire);
        // 1 is lost. 4 is sent by limited transmit.
        for end in 3..=5 {
            let (low, high) = pack_blocks(1, &[(2, end)]);
            sender.on_ack(1100 * MS, AckIn { seq: 1, low, high }, &mut wire);
        }
        assert_eq!((sender.info().cwnd, sender.info().ssthresh), (2.0, Some(2.0)));
    }
}

#[test]
fn new_data_after_a_loss_carries_cwr() {
    // RFC 3168 section 6.1.2: CWR "for any reason" on "the first new data packet"; the retransmission is not ECN-capable (section
    // 6.1.5). In ns-2 it is, and carries CWR.
    for (stack, expected) in [
        (stacks::rfc(), [(1, false, false), (11, true, true)]),
        (stacks::ns2(), [(1, true, true), (11, true, false)]),
    ] {
        let (mut sender, _) = with_ecn(stack, 8);
        let mut wire = Flags::default();
        sender.on_ack(1100 * MS, ack(1, 0), &mut wire);
        for end in 3..=9 {
            let (low, high) = pack_blocks(1, &[(2, end)]);
            sender.on_ack(1100 * MS, AckIn { seq: 1, low, high }, &mut wire);
        }
        let seen: Vec<_> = wire.0.into_iter().filter(|sent| [1, 11].contains(&sent.0)).collect();
        assert_eq!(seen, expected, "segment, ECN-capable, CWR");
    }
}

/// Segments that leave, whether they are ECN-capable, and whether they carry CWR.
#[derive(Default)]
struct Flags(Vec<(u32, bool, bool)>);

impl Port for Flags {
    fn transmit(&mut self, _: u64, segment: Segment, (low, _): (u64, u64), _: bool) {
        self.0.push((segment.number, low & ECT != 0, low & CWR_ECE != 0));
    }

    fn transmit_syn(&mut self, _: u64, _: (u64, u64)) {
        unreachable!("the connection is open");
    }
}
