//! Transmissions after an idle time, computed by hand on a line of 100 ms without serialisation time.

use crate::common::MS;
use crate::common::line::{Line, Sent, at, chain};
use firstflight_schemes::registry::AnyPhase;
use firstflight_sim::sender::app::AppConfig;
use firstflight_sim::sender::stack::{IdleRestart, Recovery};

/// Writes of `segments` each; each pause, milliseconds, begins when everything is acknowledged.
fn writes(segments: u64, pauses: &[u64]) -> AppConfig {
    let pauses = pauses.iter().map(|ms| ms * MS).collect();
    AppConfig { start: 0, bytes: Some(segments * 1000), pauses, ..AppConfig::default() }
}

/// A write of 16 segments, and one of 40 `pause` after its end at 300 ms. 4 segments leave at 0, 8 at 100, and the last 4 at 200
/// with the second ACK, which make the window full. So each of the 16 ACKs adds a segment to the window, which is 20 then. All RTT
/// samples are 100 ms, and the timeout is at its minimum of 200 ms.
fn after_sixteen(pause: u64) -> Line {
    let mut line = Line::with(Recovery::Sack, 4, None);
    line.app = AppConfig { sizes: vec![40_000], ..writes(16, &[pause]) };
    line
}

fn from(sends: &[Sent], time: u64) -> Vec<Sent> {
    sends.iter().copied().filter(|sent| sent.0 >= time).collect()
}

#[test]
fn a_paced_restart_spreads_three_quarters_of_the_old_window_over_a_round_trip() {
    // 0.75 x 20 = 15 segments, one each 100/15 = 6.67 ms from 2300. The first ACK, at 2400, finds 15 in flight under a window of 15
    // and makes it 16: in slow start each ACK releases two segments.
    let mut line = after_sixteen(2000);
    let paced = (0..15).map(|place| (2300 + 100 * u64::from(place) / 15, 16 + place));
    let clocked = at(&[(2400, &[31, 32]), (2406, &[33, 34]), (2413, &[35, 36])]);
    let expected: Vec<Sent> = paced.chain(clocked).collect();
    line.chain = chain(&["rate-based-pacing", "reno"]);
    assert_eq!(from(&line.sends(2415), 2300), expected);
    // The same scheme as idle rule of other start-ups, which do not end meanwhile.
    for startup in ["slow-start", "hystart++"] {
        let resume = AnyPhase::by_label("rate-based-pacing").expect("registered");
        line.chain = chain(&[startup, "reno"]).resuming_with(resume);
        let (sender, sends) = line.run(2415);
        assert_eq!(from(&sends, 2300), expected, "{startup}");
        assert_eq!((sender.chain.label(), sender.chain.startup_exit()), (format!("{startup}+reno"), None));
    }
}

#[test]
fn a_timeout_during_a_paced_restart_stops_the_pacing() {
    // All segments paced from 2300 are lost: the timer, started with the first, fires at 2500, and the first
    // ACK at 2600 makes the window two.
    let mut line = after_sixteen(2000).losing(&(16..31).map(|segment| (segment, 0)).collect::<Vec<_>>());
    line.chain = chain(&["rate-based-pacing", "reno"]);
    assert_eq!(from(&line.sends(2620), 2400), at(&[(2500, &[16]), (2600, &[17, 18])]));
}

#[test]
fn validation_halves_the_window_for_each_idle_timeout() {
    // Last transmission at 200, the next at 600: two timeouts. 20, 10, 5 segments. RFC 5681 would leave
    // 4, the initial window. Before one timeout has passed nothing changes.
    for (pause, policy, burst) in [
        (300, IdleRestart::Validate, 5),
        (300, IdleRestart::Restart, 4),
        (300, IdleRestart::Keep, 20),
        (50, IdleRestart::Validate, 20),
        // At 500 ms one and a half timeouts have passed.
        (200, IdleRestart::Validate, 10),
        // At least one segment.
        (5000, IdleRestart::Validate, 1),
    ] {
        let mut line = after_sixteen(pause);
        line.stack.idle_restart = policy;
        assert_eq!(from(&line.sends(300 + pause), 300).len(), burst, "{pause} ms, {policy:?}");
    }
}

#[test]
fn validation_keeps_three_quarters_of_the_window_as_threshold() {
    // In avoidance above a threshold of 4 from the start: all 12 leave at 0 and are acknowledged at 100. The
    // next transmission is at 350: with a timeout between 175 and 300 ms the window halves once.
    let mut line = Line::with(Recovery::Sack, 12, Some(4));
    line.app = writes(12, &[250]);
    line.stack.idle_restart = IdleRestart::Validate;
    let before = line.run(340).0.chain.control;
    assert!(before.cwnd >= 12_000 && before.ssthresh == 4000);
    let after = line.run(350).0.chain.control;
    assert_eq!((after.cwnd, after.ssthresh), (before.cwnd / 2, before.cwnd * 3 / 4));
}

#[test]
fn each_timeout_removes_half_of_the_unused_window() {
    // Two segments at 0, 150, 300, ... under a window of 10. Timeouts: 100 + 4 x 50 = 300 ms after the first
    // sample, 250 after the second, 200 (the minimum) from the fourth on. At 150 only 150 ms have passed; at
    // 300 more than a timeout: (10 + 2)/2 = 6. Then every 300 ms: (6 + 2)/2 = 4, (4 + 2)/2 = 3.
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
fn validation_never_reduces_a_window_in_full_use() {
    let mut line = Line::with(Recovery::Sack, 4, Some(8));
    line.stack.idle_restart = IdleRestart::Validate;
    let validated = line.run(3000).0.chain.control;
    line.stack.idle_restart = IdleRestart::Keep;
    assert_eq!(validated, line.run(3000).0.chain.control);
}

/// `after_sixteen (2000)` with Fast Start: 20 segments in slow start, so Fast Start sends 10, in bursts of 4, each 4/10 of 100 ms
/// after the one before: 16 to 19 at 2300, 20 to 23 at 2340, 24 and 25 at 2380.
fn fast_start(recovery: Recovery) -> Line {
    let mut line = after_sixteen(2000);
    line.stack.recovery = recovery;
    line.chain = chain(&["fast-start", "reno"]);
    line
}

#[test]
fn a_fast_start_sends_half_the_old_window_in_bursts_of_four() {
    // The first ACK, at 2400, makes the window 11, and each other ACK adds one: each releases two segments.
    let sends = fast_start(Recovery::NewReno).sends(2401);
    assert_eq!(
        from(&sends, 2300),
        at(&[
            (2300, &[16, 17, 18, 19]),
            (2340, &[20, 21, 22, 23]),
            (2380, &[24, 25]),
            (2400, &[26, 27, 28, 29, 30, 31, 32, 33])
        ])
    );
}

#[test]
fn a_fast_start_that_loses_its_end_restarts_on_a_fine_timer_without_backoff() {
    // All but 16 are lost. The ACK of 16 at 2400 releases 26 and 27. Their two duplicates at
    // 2500 are too few for recovery, but release 28 and 29 (limited transmit), whose duplicates at 2600 would
    // be enough. The timer is earlier: started at 2400 with an RTT of 100 ms that has not varied in 17
    // samples, so 4 RTTVAR = 200 x (3/4)^16 = 2.0 ms.
    let lost: Vec<_> = (17..26).map(|segment| (segment, 0)).collect();
    let line = fast_start(Recovery::NewReno).losing(&lost);
    let (sender, sends) = line.run(2505);
    assert_eq!(from(&sends, 2400), at(&[(2400, &[26, 27]), (2500, &[28, 29]), (2502, &[17])]));
    // One segment, slow start up to the old window, the usual minimum timeout and no backoff.
    let control = sender.chain.control;
    assert_eq!((control.cwnd, control.ssthresh, sender.info().rto), (1000, 20_000, 200 * MS));
}

#[test]
fn a_partial_ack_in_a_fast_start_restarts_it() {
    // 17 and 19 are lost. At 2400 the ACK of 16 releases 26 and 27; the duplicate of 18 arrives at the same time and releases 28
    // (limited transmit). At 2440 the duplicate of 20 releases 29, that of 21 retransmits 17: the window, half of the 11 in flight
    // at the first duplicate, inflates to 8.5. The duplicates of 22 and 23, of 24 and 25 at 2480, and of 26 at 2500 make it 13.5,
    // with 13 segments out; those of 27 and 28 release 30 and 31, that of 29, at 2540, releases 32. 17 arrives at 2490 with 19
    // still missing: a partial ACK at 2540.
    let lost = [(17, 0), (19, 0)];
    let (sender, sends) = fast_start(Recovery::NewReno).losing(&lost).run(2545);
    assert_eq!(from(&sends, 2401), at(&[(2440, &[29, 17]), (2500, &[30, 31]), (2540, &[32, 19])]));
    // The ACK covers up to 18, which left at 2300: a sample of 240 ms. SRTT 100 + 140/8, 4 RTTVAR 2.0 x 3/4 + 140; no backoff.
    assert_eq!((sender.chain.control.cwnd, sender.info().rto / MS), (1000, 259));
    // With SACK, the third segment above 19 shows at 2440 that it is lost. It leaves at 2500 with the report of 26: the pipe is then
    // 13 out - 8 reported - 2 lost + 1 retransmitted = 4 in a window of 5.5. The partial ACK does not wait for it.
    let (_, sends) = fast_start(Recovery::Sack).losing(&lost).run(2545);
    let retransmitted = from(&sends, 2401).into_iter().filter(|sent| sent.1 < 20).collect::<Vec<_>>();
    assert_eq!(retransmitted, at(&[(2440, &[17]), (2500, &[19]), (2540, &[19])]));
}

#[test]
fn a_fast_start_that_loses_its_first_segment_times_out_with_backoff() {
    let lost: Vec<_> = (16..26).map(|segment| (segment, 0)).collect();
    let (sender, sends) = fast_start(Recovery::NewReno).losing(&lost).run(2405);
    // From 2300: 100 ms and 4 x 200/4 x (3/4)^15 = 2.7 ms.
    assert_eq!(sends.last(), Some(&(2402, 16)));
    assert_eq!((sender.chain.control.cwnd, sender.info().rto), (1000, 400 * MS));
}
