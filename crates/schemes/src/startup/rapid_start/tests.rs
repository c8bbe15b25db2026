//! Recorded windows of quicly, and windows by hand.

use super::*;
use crate::scheme::{Scheme as _, Value};
use firstflight_contract::Exit;

const MSS: u64 = 1280;
const RTT: Nanos = Nanos::from_millis(100);

fn rapid(variant: Variant) -> RapidStart {
    let mut phase = RapidStart::default();
    phase.set("variant", Value::Choice(variant as usize));
    phase
}

/// A phase at the beginning of a connection, with this window before it.
fn begin(mut phase: RapidStart, window: u64, rtt: Nanos) -> (RapidStart, Control) {
    let mut control = Control { cwnd: window, ..Control::default() };
    phase.enter(&Entry { rtt, mss: MSS as u32, ..Entry::default() }, &mut control);
    (phase, control)
}

fn ack(now: Nanos, rtt: Nanos, bytes: u64) -> Ack {
    Ack { now, rtt, min_rtt: RTT, srtt: RTT, acked: bytes, growth: bytes, mss: MSS as u32, ..Ack::default() }
}

fn congestion(trigger: Trigger) -> Congestion {
    Congestion { trigger, base: 1, mss: MSS as u32, ..Congestion::default() }
}

#[test]
fn quiclys_windows_up_to_the_end_of_the_first_recovery() {
    let text = include_str!("../../../testdata/quicly-rapid.S3.csv");
    let (mut phase, mut control) = begin(rapid(Variant::Quicly), 14_720, Nanos::ZERO);
    let (mut lost, mut recovery_end, mut acks, mut losses) = (0, 0, 0, 0);
    for line in text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse::<u64>().expect("a number");
        let time = |at| Nanos::from_millis(number(at));
        let (bytes, packet) = (number(2), number(3));
        if fields[1] == "L" {
            lost += bytes;
            losses += 1;
            if packet >= recovery_end {
                recovery_end = number(4);
                let event = Congestion { now: time(0), lost: bytes, ..congestion(Trigger::Loss) };
                assert_eq!(phase.on_congestion(&event, &mut control), Step::Over(Exit::Loss));
                assert_eq!((control.cwnd, control.ssthresh), (number(8), number(8)), "{line}");
            }
            continue;
        }
        let recovers = packet < recovery_end;
        let event = Ack {
            min_rtt: time(6),
            growth: if number(7) == 1 && !recovers { bytes } else { 0 },
            lost,
            flags: if recovers { Ack::RECOVERY } else { 0 },
            ..ack(time(0), time(5), bytes)
        };
        assert_eq!(phase.on_ack(&event, &mut control), Step::Stay);
        assert_eq!(control.cwnd, number(8), "{line}");
        if event.growth > 0 {
            assert_eq!(phase.shows_no_queue(event.min_rtt), number(9) == 1, "{line}");
        }
        acks += 1;
    }
    assert_eq!((acks, losses), (134, 119));
    // The recording ends with the recovery, below the threshold of the last loss.
    assert_eq!(phase.on_ack(&ack(Nanos::from_secs(1), RTT, MSS), &mut control), Step::Exit(Exit::Loss));
    assert!(control.ssthresh > control.cwnd, "{control:?}");
}

#[test]
fn the_draft_takes_the_smaller_bound_of_the_rtt_and_quicly_the_larger() {
    // 100 ms: 104 ms, 110 ms; 109.375 ms is 35/32. 20 ms: 24 ms, 22 ms, 21.875 ms.
    for (variant, min_ms, threshold_us) in [
        (Variant::Draft02, 100, 104_000),
        (Variant::Draft02, 20, 22_000),
        (Variant::Quicly, 100, 109_375),
        (Variant::Quicly, 20, 24_000),
    ] {
        assert_eq!(variant.threshold(Nanos::from_millis(min_ms)), Nanos::from_micros(threshold_us));
    }
}

#[test]
fn the_first_window_is_twice_the_initial_one_and_leaves_over_a_round_trip() {
    let (_, control) = begin(rapid(Variant::Draft02), 10 * MSS, RTT);
    // 20 x 1280 x 8 bit in 100 ms: 2.048 Mbit/s, a datagram each 5 ms.
    assert_eq!((control.cwnd, control.pacing, control.burst), (20 * MSS, Rate(2_048_000), MSS));
    let (_, control) = begin(rapid(Variant::Quicly), 10 * MSS, RTT);
    assert_eq!((control.cwnd, control.pacing), (10 * MSS, Rate(1_024_000)));
    let mut phase = rapid(Variant::Quicly);
    phase.set("first_windows", Value::Number(2.0));
    assert_eq!(begin(phase, 10 * MSS, RTT).1.cwnd, 20 * MSS);
    // Without a round trip, or with data in flight, the window is the host's.
    assert_eq!(
        begin(rapid(Variant::Draft02), 10 * MSS, Nanos::ZERO).1,
        Control { cwnd: 10 * MSS, ..Control::default() }
    );
    let mut control = Control { cwnd: 10 * MSS, ..Control::default() };
    let entry = Entry { rtt: RTT, in_flight: MSS, mss: MSS as u32, ..Entry::default() };
    rapid(Variant::Draft02).enter(&entry, &mut control);
    assert_eq!(control.cwnd, 10 * MSS);
}

#[test]
fn two_bytes_for_each_one_while_the_floor_of_a_round_trip_shows_no_queue() {
    let (mut phase, mut control) = begin(rapid(Variant::Draft02), 10 * MSS, Nanos::ZERO);
    let mut grown = |now_ms: u64, rtt_us: u64| {
        let before = control.cwnd;
        let event = ack(Nanos::from_millis(now_ms), Nanos::from_micros(rtt_us), MSS);
        assert_eq!(phase.on_ack(&event, &mut control), Step::Stay);
        assert_eq!(phase.spent(control.cwnd - before), MSS);
        (control.cwnd - before) / MSS
    };
    assert_eq!(grown(100, 104_000), 2);
    // The sample of 104 ms, in the span from 100 to 125 ms, is within the last four spans until 200 ms.
    assert_eq!(grown(130, 104_001), 2);
    assert_eq!(grown(199, 104_001), 2);
    assert_eq!(grown(200, 104_001), 1);
    assert_eq!(grown(201, 104_000), 2);
    // A silence of more than a round trip leaves no sample.
    assert_eq!(grown(500, 104_001), 1);
}

#[test]
fn growth_leaves_at_as_many_windows_a_round_trip() {
    for (rtt_ms, windows) in [(100, 3), (120, 2)] {
        let (mut phase, mut control) = begin(rapid(Variant::Draft02), 10 * MSS, Nanos::ZERO);
        let _ = phase.on_ack(&ack(RTT, Nanos::from_millis(rtt_ms), MSS), &mut control);
        // 12 800 bytes in 100 ms are 1.024 Mbit/s.
        assert_eq!((control.pacing, control.burst), (Rate(windows * 1_024_000), 10 * MSS), "{rtt_ms} ms");
    }
}

#[test]
fn quicly_grows_by_whole_datagrams_and_not_on_paths_below_four_milliseconds() {
    let (mut phase, mut control) = begin(rapid(Variant::Quicly), 10 * MSS, Nanos::ZERO);
    // Half a datagram is needed for one: 1000 bytes are one, and 360 are left; 280 more are another one.
    for (bytes, window) in [(1000, 11), (279, 11), (1, 12)] {
        let _ = phase.on_ack(&ack(RTT, RTT, bytes), &mut control);
        assert_eq!(control.cwnd, window * MSS, "{bytes}");
    }
    for (min_us, datagrams) in [(3_999, 1), (4_000, 2)] {
        let (mut phase, mut control) = begin(rapid(Variant::Quicly), 10 * MSS, Nanos::ZERO);
        let min_rtt = Nanos::from_micros(min_us);
        let _ = phase.on_ack(&Ack { min_rtt, ..ack(RTT, min_rtt, MSS) }, &mut control);
        assert_eq!(control.cwnd, (10 + datagrams) * MSS, "{min_us} us");
    }
}

/// A recovery from 300 datagrams of which so many arrive and so many are lost; the windows at its beginning and at its end.
fn recovery(phase: RapidStart, trigger: Trigger, arrived: u64, lost: u64) -> (u64, u64) {
    let (mut phase, mut control) = begin(phase, 10 * MSS, Nanos::ZERO);
    control.cwnd = 300 * MSS;
    assert!(matches!(phase.on_congestion(&congestion(trigger), &mut control), Step::Over(_)));
    let first = control.cwnd;
    for datagram in 0..arrived {
        let known = lost * (datagram + 1) / arrived * MSS;
        let event = Ack { lost: known, growth: 0, flags: Ack::RECOVERY, ..ack(RTT, RTT, MSS) };
        assert_eq!(phase.on_ack(&event, &mut control), Step::Stay);
        assert!(control.pacing != Rate::NONE && control.ssthresh == control.cwnd, "{control:?}");
    }
    let last = Ack { lost: lost * MSS, ..ack(RTT, RTT, MSS) };
    assert_eq!(phase.on_ack(&last, &mut control), Step::Exit(trigger.into()));
    assert_eq!(control.pacing, Rate::NONE);
    (first, control.cwnd)
}

#[test]
fn a_recovery_ends_at_beta_times_what_arrived_whatever_was_lost() {
    // Draft, section 3.3.1: beta 0.7 gives 9/10, 1/5 and 9/10; beta 0.5 gives 5/6, 1/3 and 5/6. Of 300 datagrams, so many
    // arrive: the window is 0.7 or 0.5 of these. Each ACK rounds up by a byte at most.
    for (beta, silence, arrived, end) in
        [(0.7, 270, 100, 70), (0.7, 270, 200, 140), (0.5, 250, 100, 50), (0.5, 250, 240, 120)]
    {
        let mut phase = rapid(Variant::Draft02);
        phase.set("beta", Value::Number(beta));
        let (first, last) = recovery(phase, Trigger::Loss, arrived, 300 - arrived);
        assert_eq!(first, silence * MSS, "{beta}");
        assert!((end * MSS - 2 * arrived..=end * MSS).contains(&last), "{beta} {arrived}: {last}");
    }
    // Section 3.3.2: of a mark, beta times the window before it.
    let (_, last) = recovery(rapid(Variant::Draft02), Trigger::Mark, 300, 0);
    assert_eq!(last, 210 * MSS);
}

#[test]
fn a_recovery_leaves_beta_thirds_of_the_window_and_beta_of_the_initial_one() {
    // 300 x 0.7 / 3 = 70 datagrams, although 99 % were lost.
    assert_eq!(recovery(rapid(Variant::Draft02), Trigger::Loss, 3, 297).1, 70 * MSS);
    // Of 12 datagrams after an initial window of 10, 7 are left; quicly leaves 5.
    for (variant, left) in [(Variant::Draft02, 7), (Variant::Quicly, 5)] {
        let (mut phase, mut control) = begin(rapid(variant), 10 * MSS, Nanos::ZERO);
        control.cwnd = 12 * MSS;
        let _ = phase.on_congestion(&congestion(Trigger::Loss), &mut control);
        let event = Ack { lost: 12 * MSS, flags: Ack::RECOVERY, ..ack(RTT, RTT, MSS) };
        let _ = phase.on_ack(&event, &mut control);
        assert_eq!(control.cwnd, left * MSS, "{variant:?}");
    }
}

#[test]
fn a_host_with_a_rule_of_its_own_for_recoveries_gets_the_window_at_the_end() {
    let (mut phase, mut control) = begin(rapid(Variant::Draft02), 10 * MSS, Nanos::ZERO);
    control.cwnd = 300 * MSS;
    let _ = phase.on_congestion(&congestion(Trigger::Loss), &mut control);
    // The host keeps its own window in the recovery, and sets the threshold's at its end.
    control.cwnd = 200 * MSS;
    let event = Ack { lost: 100 * MSS, flags: Ack::RECOVERY, ..ack(RTT, RTT, 100 * MSS) };
    let _ = phase.on_ack(&event, &mut control);
    // 270 - 20 - 90
    assert_eq!((control.cwnd, control.ssthresh), (160 * MSS, 160 * MSS));
    control.cwnd = 120 * MSS;
    let _ = phase.on_ack(&Ack { lost: 100 * MSS, ..ack(RTT, RTT, MSS) }, &mut control);
    assert_eq!((control.cwnd, control.ssthresh), (120 * MSS, 160 * MSS));
}

#[test]
fn after_a_timeout_it_is_slow_start_and_after_a_spurious_loss_it_goes_on() {
    let (mut phase, mut control) = begin(rapid(Variant::Draft02), 10 * MSS, Nanos::ZERO);
    let _ = phase.on_congestion(&congestion(Trigger::Loss), &mut control);
    phase.on_spurious();
    (control.cwnd, control.ssthresh) = (10 * MSS, u64::MAX);
    let _ = phase.on_ack(&ack(RTT, RTT, MSS), &mut control);
    assert_eq!(control.cwnd, 12 * MSS);
    let step = phase.on_congestion(&congestion(Trigger::Timeout), &mut control);
    assert_eq!((step, control.pacing), (Step::Exit(Exit::Timeout), Rate::NONE));
    phase.enter(&Entry { why: Why::Timeout, mss: MSS as u32, ..Entry::default() }, &mut control);
    let window = control.cwnd;
    let _ = phase.on_ack(&ack(RTT, RTT, MSS), &mut control);
    assert_eq!((control.cwnd, control.pacing), (window + MSS, Rate::NONE));
}
