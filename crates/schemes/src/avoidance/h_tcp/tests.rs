use super::*;
use crate::scheme::{Scheme as _, Value};

const MSS: u64 = 1000;
const SEGMENTS: u64 = 1000;
const RTT: Nanos = Nanos::from_millis(100);

fn h_tcp(flags: &[(&str, bool)]) -> (HTcp, Control) {
    let mut phase = HTcp::default();
    for (name, on) in flags {
        phase.set(name, Value::Flag(*on));
    }
    let mut control = Control { cwnd: SEGMENTS * MSS, ..Control::default() };
    phase.enter(&Entry { now: Nanos::from_secs(5), mss: MSS as u32, ..Entry::default() }, &mut control);
    (phase, control)
}

fn ack(now: Nanos, bytes: u64) -> Ack {
    Ack { now, rtt: RTT, min_rtt: RTT, acked: bytes, growth: bytes, mss: MSS as u32, ..Ack::default() }
}

fn congestion(now: Nanos, control: &Control) -> Congestion {
    Congestion { now, base: control.cwnd, min_rtt: RTT, mss: MSS as u32, ..Congestion::default() }
}

/// Growth by a window of ACKs from 1000 segments, `after` the phase began; segments.
fn added(phase: &HTcp, after: Nanos, min_rtt: Nanos) -> f64 {
    let (mut phase, mut control) = (phase.clone(), Control { cwnd: SEGMENTS * MSS, ..Control::default() });
    let now = Nanos::from_secs(5) + after;
    let _ = phase.on_ack(&Ack { min_rtt, ..ack(now, SEGMENTS * MSS) }, &mut control);
    (control.cwnd - SEGMENTS * MSS) as f64 / MSS as f64
}

/// Lets one round trip pass that delivers `bytes`, the largest RTT `rtt`.
fn round(phase: &mut HTcp, control: &mut Control, start: Nanos, bytes: u64, rtt: Nanos) {
    for (now, delivered) in [(start, 1), (start + RTT, 1 + bytes)] {
        let ack = Ack {
            now,
            rtt,
            min_rtt: RTT,
            delivered,
            flags: Ack::ROUND_START,
            mss: MSS as u32,
            ..Ack::default()
        };
        let _ = phase.on_ack(&ack, control);
    }
}

#[test]
fn the_increase_is_renos_for_a_second_and_then_rises_with_the_time() {
    let (phase, _) = h_tcp(&[]);
    // alpha = 1 + 10 d + (d/2)^2, d seconds beyond the first: 1 + 10 + 0.25; 1 + 20 + 1; 1 + 100 + 25;
    // at 0.5 s beyond it 1 + 5 + 0.0625.
    for (ms, segments) in
        [(0, 1.0), (999, 1.0), (1000, 1.0), (1500, 6.062), (2000, 11.25), (3000, 22.0), (11_000, 126.0)]
    {
        assert_eq!(added(&phase, Nanos::from_millis(ms), RTT), segments, "after {ms} ms");
    }
}

#[test]
fn the_window_never_grows_faster_than_in_slow_start() {
    let (phase, _) = h_tcp(&[]);
    // d = 99: 1 + 990 + 2450.25 segments exceed the window of 1000.
    assert_eq!(added(&phase, Nanos::from_secs(100), RTT), 1000.0);
    assert_eq!(added(&phase, Nanos(1 << 62), RTT), 1000.0);
}

#[test]
fn the_increase_is_scaled_by_the_rtt_between_ten_and_two_hundred_milliseconds_if_asked() {
    let (phase, _) = h_tcp(&[("rtt_scaling", true)]);
    // 126 segments at 100 ms; a tenth of them at 10 ms and below, twice as many at 200 ms and above.
    for (ms, segments) in [(1, 12.6), (10, 12.6), (50, 63.0), (100, 126.0), (200, 252.0), (800, 252.0)] {
        let is = added(&phase, Nanos::from_secs(11), Nanos::from_millis(ms));
        assert!((is - segments).abs() <= 0.001, "at {ms} ms {is}, expected {segments}");
    }
    // Not below Reno's.
    assert_eq!(added(&phase, Nanos(0), Nanos::from_millis(10)), 1.0);
    let (phase, _) = h_tcp(&[]);
    assert_eq!(added(&phase, Nanos::from_secs(11), Nanos::from_millis(10)), 126.0);
}

#[test]
fn a_congestion_leaves_the_ratio_of_the_rtts_between_a_half_and_four_fifths() {
    // RTTmin is 100 ms.
    for (max_ms, kept) in [(100, 0.8), (110, 0.8), (125, 0.8), (160, 0.625), (200, 0.5), (400, 0.5)] {
        let (mut phase, mut control) = h_tcp(&[("bandwidth_switch", false)]);
        round(&mut phase, &mut control, Nanos::from_secs(6), 1, Nanos::from_millis(max_ms));
        let _ = phase.on_congestion(&congestion(Nanos::from_secs(7), &control), &mut control);
        let is = control.cwnd as f64 / (SEGMENTS * MSS) as f64;
        assert!((is - kept).abs() < 0.0001, "RTTmax {max_ms} ms: {is}, expected {kept}");
        assert_eq!(control.ssthresh, control.cwnd);
        // 2 (1 - beta) alpha, 11.25 segments after two seconds.
        let after = Nanos::from_secs(4);
        let segments = 2.0 * (1.0 - kept) * 11.25;
        assert!((added(&phase, after, RTT) - segments).abs() <= 0.002, "RTTmax {max_ms} ms");
        phase.set("scaled", Value::Flag(false));
        assert_eq!(added(&phase, after, RTT), 11.25);
    }
    let (mut phase, mut control) = h_tcp(&[("bandwidth_switch", false), ("adaptive_backoff", false)]);
    round(&mut phase, &mut control, Nanos::from_secs(6), 1, RTT);
    let _ = phase.on_congestion(&congestion(Nanos::from_secs(7), &control), &mut control);
    assert_eq!(control.cwnd, SEGMENTS / 2 * MSS);
}

#[test]
fn the_first_second_adds_less_than_a_segment_a_round_trip_where_congestion_takes_less_than_half() {
    // htcp_alpha_update: 2 factor (1 - beta) with factor 1: 2 (1 - 0.8) = 0.4 segments; without scaling one.
    for (scaled, segments) in [(true, 0.4), (false, 1.0)] {
        let (mut phase, mut control) = h_tcp(&[("bandwidth_switch", false), ("scaled", scaled)]);
        round(&mut phase, &mut control, Nanos::from_secs(5), 1000, RTT);
        let at = Nanos::from_secs(6);
        let _ = phase.on_congestion(&congestion(at, &control), &mut control);
        let mut control = Control { cwnd: SEGMENTS * MSS, ..Control::default() };
        let _ = phase.on_ack(&ack(at + Nanos::from_millis(900), SEGMENTS * MSS), &mut control);
        let added = (control.cwnd - SEGMENTS * MSS) as f64 / MSS as f64;
        assert!((added - segments).abs() < 0.002, "{added}");
    }
}

#[test]
fn half_the_window_goes_while_the_rate_still_changes_by_more_than_a_fifth() {
    let (mut phase, mut control) = h_tcp(&[]);
    // Bytes a round trip before each congestion. The first rate has none to compare with; 850 and 700 are within 20 %
    // of the one before, 1000 and 500 are not, and neither is the congestion without a complete round nor the next.
    for (i, (bytes, kept)) in
        [(1000, 0.5), (850, 0.625), (700, 0.625), (1000, 0.5), (500, 0.5), (550, 0.625), (0, 0.5), (550, 0.5)]
            .into_iter()
            .enumerate()
    {
        let start = Nanos::from_secs(6 + 2 * i as u64);
        control.cwnd = SEGMENTS * MSS;
        if bytes > 0 {
            round(&mut phase, &mut control, start, bytes, Nanos::from_millis(160));
        }
        let _ = phase.on_congestion(&congestion(start + Nanos::from_secs(1), &control), &mut control);
        assert_eq!(control.cwnd as f64 / (SEGMENTS * MSS) as f64, kept, "congestion {i}");
    }
}

#[test]
fn the_time_restarts_with_a_congestion_and_a_spurious_one_restores_it() {
    let (mut phase, mut control) = h_tcp(&[]);
    let three = Nanos::from_secs(3);
    let _ = phase.on_congestion(&congestion(Nanos::from_secs(7), &control), &mut control);
    assert_eq!(control.cwnd, SEGMENTS / 2 * MSS);
    assert_eq!(added(&phase, three, RTT), 1.0);
    // Slow start after a timeout does not begin it anew.
    phase.enter(&Entry { now: Nanos::from_secs(8), mss: MSS as u32, ..Entry::default() }, &mut control);
    assert_eq!(added(&phase, Nanos::from_secs(4), RTT), 11.25);
    phase.on_spurious();
    assert_eq!(added(&phase, three, RTT), 22.0);
}

#[test]
fn the_window_follows_the_recurrence_within_a_thousandth_whatever_an_ack_covers() {
    for per_ack in [1, 2] {
        let (mut phase, mut control) = h_tcp(&[]);
        let (mut w, mut now) = (SEGMENTS as f64, 0.0_f64);
        // 8 s of ACKs, a window a round trip.
        let mut acks = 0;
        while now < 8.0 {
            now += 0.1 * per_ack as f64 / w;
            let at = Nanos::from_secs(5) + Nanos((now * 1e9) as u64);
            let _ = phase.on_ack(&ack(at, per_ack * MSS), &mut control);
            let d = (now - 1.0).max(0.0);
            w += (1.0 + 10.0 * d + d * d / 4.0) / w * per_ack as f64;
            acks += 1;
        }
        let is = control.cwnd as f64 / MSS as f64;
        assert!((is / w - 1.0).abs() < 0.001, "{per_ack} an ACK: {is}, expected {w}");
        assert!(acks > 50_000 && w > 3000.0, "{acks} {w}");
    }
}

#[test]
fn small_windows_keep_two_segments_and_the_window_does_not_grow_during_recovery() {
    let (mut phase, mut control) = h_tcp(&[]);
    let during = Ack { flags: Ack::RECOVERY, ..ack(Nanos::from_secs(20), SEGMENTS * MSS) };
    let _ = phase.on_ack(&during, &mut control);
    assert_eq!(control.cwnd, SEGMENTS * MSS);
    control.cwnd = 3 * MSS;
    let _ = phase.on_congestion(&congestion(Nanos::from_secs(21), &control), &mut control);
    assert_eq!(control.cwnd, 2 * MSS);
}
