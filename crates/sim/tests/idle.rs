//! What a connection does when it sends again after an idle time, worked out by hand on a line of 100 ms without
//! serialisation.

mod common;

use common::MS;
use common::line::{Line, Sent, at, chain};
use firstflight_schemes::registry::AnyPhase;
use firstflight_sim::sender::app::AppConfig;
use firstflight_sim::sender::stack::{IdleRestart, Recovery};

/// Writes of so many segments, each after a pause (ms) in which nothing is outstanding.
fn writes(segments: u64, pauses: &[u64]) -> AppConfig {
    let pauses = pauses.iter().map(|ms| ms * MS).collect();
    AppConfig { start: 0, bytes: Some(segments * 1000), pauses, ..AppConfig::default() }
}

/// A write of 16 segments, and another `pause` after its end at 300 ms. 4 leave at 0, 8 at 100, the last 4 at 200. While
/// these are out the window does not limit: of the eight ACKs at 200 three find that it did when the one before came.
/// So it is 8 + 3 = 11 segments, all RTT samples have been 100 ms, and the timeout is at its minimum of 200 ms.
fn after_sixteen(pause: u64) -> Line {
    let mut line = Line::with(Recovery::Sack, 4, None);
    line.app = writes(16, &[pause]);
    line
}

fn from(sends: &[Sent], time: u64) -> Vec<Sent> {
    sends.iter().copied().filter(|sent| sent.0 >= time).collect()
}

#[test]
fn a_paced_restart_spreads_three_quarters_of_the_old_window_over_a_round_trip() {
    // 0.75 x 11 = 8.25: 8, each 100/8 = 12.5 ms from 2300 on. The first ACK, at 2400, finds 8 in flight and a window of
    // 8, which it makes 9: slow start, and two leave for it and for each of the next.
    let mut line = after_sixteen(2000);
    let expected = at(&[
        (2300, &[16]),
        (2312, &[17]),
        (2325, &[18]),
        (2337, &[19]),
        (2350, &[20]),
        (2362, &[21]),
        (2375, &[22]),
        (2387, &[23]),
        (2400, &[24, 25]),
        (2412, &[26, 27]),
        (2425, &[28, 29]),
    ]);
    line.chain = chain(&["rate-based-pacing", "reno"]);
    assert_eq!(from(&line.sends(2430), 2300), expected);
    // The same as an idle rule in front of other start-ups: they have no ending of their own meanwhile.
    for startup in ["slow-start", "hystart++"] {
        let resume = AnyPhase::by_label("rate-based-pacing").expect("registered");
        line.chain = chain(&[startup, "reno"]).resuming_with(resume);
        let (sender, sends) = line.run(2430);
        assert_eq!(from(&sends, 2300), expected, "{startup}");
        assert_eq!((sender.chain.label(), sender.chain.startup_exit()), (format!("{startup}+reno"), None));
    }
}

#[test]
fn a_timeout_during_a_paced_restart_stops_the_pacing() {
    // Everything paced from 2300 on is lost: the timer, started with the first, fires at 2500, and the first
    // ACK at 2600 makes the window two.
    let mut line = after_sixteen(2000).losing(&(16..24).map(|segment| (segment, 0)).collect::<Vec<_>>());
    line.chain = chain(&["rate-based-pacing", "reno"]);
    assert_eq!(from(&line.sends(2620), 2400), at(&[(2500, &[16]), (2600, &[17, 18])]));
}

#[test]
fn validation_halves_the_window_for_each_timeout_of_idleness() {
    // Last sent at 200, and again at 600: two timeouts. 11, 5.5, 2.75 segments. RFC 5681 would leave 4, the initial
    // window; before one timeout has passed nothing happens.
    for (pause, policy, burst) in [
        (300, IdleRestart::Validate, 2),
        (300, IdleRestart::Restart, 4),
        (300, IdleRestart::Keep, 11),
        (50, IdleRestart::Validate, 11),
        // At 500 ms one timeout and a half has passed.
        (200, IdleRestart::Validate, 5),
        // Never below a segment.
        (5000, IdleRestart::Validate, 1),
    ] {
        let mut line = after_sixteen(pause);
        line.stack.idle_restart = policy;
        assert_eq!(from(&line.sends(300 + pause), 300).len(), burst, "{pause} ms, {policy:?}");
    }
}

#[test]
fn validation_remembers_three_quarters_of_the_window_in_the_threshold() {
    // In avoidance above a threshold of 4 from the start: all 12 leave at 0 and are acknowledged at 100. Last sent at 0,
    // again at 350: with a timeout of 300 ms or less but above 175, one halving.
    let mut line = Line::with(Recovery::Sack, 12, Some(4));
    line.app = writes(12, &[250]);
    line.stack.idle_restart = IdleRestart::Validate;
    let before = line.run(340).0.chain.control;
    assert!(before.cwnd >= 12_000 && before.ssthresh == 4000);
    let after = line.run(350).0.chain.control;
    assert_eq!((after.cwnd, after.ssthresh), (before.cwnd / 2, before.cwnd * 3 / 4));
}

#[test]
fn an_application_that_leaves_the_window_unused_loses_half_of_the_rest_each_timeout() {
    // Two segments at 0, 150, 300, ... under a window of 10. Timeouts: 100 + 4 x 50 = 300 ms after the first sample,
    // 250 after the second, 200 (the minimum) from the fourth on. At 150 only 150 ms have passed; at 300 more than a
    // timeout: (10 + 2)/2 = 6. Then each 300 ms: (6 + 2)/2 = 4, (4 + 2)/2 = 3.
    let mut line = Line::with(Recovery::Sack, 10, None);
    line.app = writes(2, &[50; 20]);
    line.stack.idle_restart = IdleRestart::Validate;
    for (until, window) in [(290, 10), (310, 6), (590, 6), (610, 4), (910, 3)] {
        assert_eq!(line.run(until).0.chain.control.cwnd, window * 1000, "{until} ms");
    }
    for policy in [IdleRestart::Restart, IdleRestart::Keep] {
        line.stack.idle_restart = policy;
        assert_eq!(line.run(910).0.chain.control.cwnd, 10_000, "{policy:?}");
    }
}

#[test]
fn a_full_window_is_never_taken_back() {
    let mut line = Line::with(Recovery::Sack, 4, Some(8));
    line.stack.idle_restart = IdleRestart::Validate;
    let validated = line.run(3000).0.chain.control;
    line.stack.idle_restart = IdleRestart::Keep;
    assert_eq!(validated, line.run(3000).0.chain.control);
}

/// `after_sixteen (2000)` under Fast Start: 11 segments in slow start, so 5 go on, and with bursts of 4: 16 to 19 at 2300,
/// 20 after 4/5 of 100 ms.
fn fast_start(recovery: Recovery) -> Line {
    let mut line = after_sixteen(2000);
    line.stack.recovery = recovery;
    line.chain = chain(&["fast-start", "reno"]);
    line
}

#[test]
fn a_fast_start_sends_half_the_old_window_in_bursts_of_four() {
    // The first ACK, at 2400, makes the window 6, the others one more each: two leave for each.
    let sends = fast_start(Recovery::NewReno).sends(2401);
    assert_eq!(
        from(&sends, 2300),
        at(&[(2300, &[16, 17, 18, 19]), (2380, &[20]), (2400, &[21, 22, 23, 24, 25, 26, 27, 28])])
    );
}

#[test]
fn a_fast_start_of_which_only_the_beginning_arrives_starts_over_on_a_fine_timer_and_does_not_back_off() {
    // 17 to 20 are lost at 2300 and 2380. The ACK of 16 at 2400 lets 21 and 22 leave: the two duplicates at 2500 are too
    // few, but release 23 and 24 (limited transmit), whose duplicates at 2600 would be enough. The timer is earlier:
    // started at 2400 with an RTT of 100 ms that has not varied in 17 samples, so that 4 RTTVAR = 200 x (3/4)^16 = 2.0 ms.
    let lost = [(17, 0), (18, 0), (19, 0), (20, 0)];
    let line = fast_start(Recovery::NewReno).losing(&lost);
    let (sender, sends) = line.run(2505);
    assert_eq!(
        from(&sends, 2300),
        at(&[(2300, &[16, 17, 18, 19]), (2380, &[20]), (2400, &[21, 22]), (2500, &[23, 24]), (2502, &[17])])
    );
    // One segment, slow start to the window that was known to work, the usual lower bound and no doubling.
    let control = sender.chain.control;
    assert_eq!((control.cwnd, control.ssthresh, sender.info().rto), (1000, 11_000, 200 * MS));
}

#[test]
fn a_second_loss_in_a_fast_start_shows_in_a_partial_ack_and_starts_over() {
    // 17 and 19 are lost. At 2400 the ACK of 16 lets 21 and 22 leave; the duplicate that 18 causes comes with it, at 2400,
    // and lets 23 leave (limited transmit). 20 left at 2380: its duplicate at 2480 lets 24 leave. Those of 21, 22 and 23
    // come at 2500: with the first 17 is sent again, and the window, half of the 6 in flight, inflates to 8 until then and to 9
    // by 24's duplicate at 2580, for 25. 17 arrives at 2550 with 19 still missing: a partial ACK at 2600.
    let lost = [(17, 0), (19, 0)];
    let (sender, sends) = fast_start(Recovery::NewReno).losing(&lost).run(2605);
    assert_eq!(from(&sends, 2500), at(&[(2500, &[17]), (2580, &[25]), (2600, &[19])]));
    // Up to 18, which left at 2300: a sample of 300 ms. SRTT 100 + 200/8, 4 RTTVAR 2.0 x 3/4 + 200; not doubled.
    assert_eq!((sender.chain.control.cwnd, sender.info().rto / MS), (1000, 326));
    // With SACK 19 is known to be lost by the third segment above it, and has been sent again by then; the partial ACK
    // does not wait for that.
    let (_, sends) = fast_start(Recovery::Sack).losing(&lost).run(2605);
    let repeats = from(&sends, 2500).into_iter().filter(|sent| sent.1 < 20).collect::<Vec<_>>();
    assert_eq!(repeats, at(&[(2500, &[17, 19]), (2600, &[19])]));
}

#[test]
fn a_fast_start_whose_first_segment_is_lost_is_a_timeout_and_backs_off() {
    let lost = [(16, 0), (17, 0), (18, 0), (19, 0), (20, 0)];
    let (sender, sends) = fast_start(Recovery::NewReno).losing(&lost).run(2405);
    // From 2300: 100 ms and 4 x 200/4 x (3/4)^15 = 2.7 ms.
    assert_eq!(sends.last(), Some(&(2402, 16)));
    assert_eq!((sender.chain.control.cwnd, sender.info().rto), (1000, 400 * MS));
}
