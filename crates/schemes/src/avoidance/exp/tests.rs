use super::*;

/// The defaults of the parameters.
const GAMMA: f64 = 0.05;
const BETA: f64 = 0.125;
use crate::scheme::{Scheme as _, Value};
use firstflight_contract::Trigger;

const MSS: u64 = 1000;

/// A flow whose epoch begins at `window` segments.
fn exp(window: f64) -> (Exp, Control) {
    let mut exp = Exp::default();
    let mut control = Control { cwnd: (window * MSS as f64) as u64, ..Control::default() };
    exp.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut control);
    (exp, control)
}

fn ack(segments: u64) -> Ack {
    Ack { acked: segments * MSS, growth: segments * MSS, mss: MSS as u32, ..Ack::default() }
}

fn segments(control: &Control) -> f64 {
    control.cwnd as f64 / MSS as f64
}

/// Equation (1) as the thesis prints it.
fn equation_1(w: f64, w0: f64) -> f64 {
    w + GAMMA * (1.0 - w0 / w + w0.sqrt() / w)
}

#[test]
fn an_epoch_follows_equation_1_in_floating_point() {
    for end in [100.0, 1000.0, 10_000.0, 100_000.0] {
        let w0 = end * (1.0 - BETA);
        let (mut exp, mut control) = exp(w0);
        let mut w = w0;
        while w < end {
            let _ = exp.on_ack(&ack(1), &mut control);
            w = equation_1(w, w0);
            let got = segments(&control);
            // Within 0.1 % at every ACK: the window, and also what it has grown by, but for the byte that the
            // window is counted in and the 2^-18 of a round's growth that the part of it
            // which an ACK covers is counted in.
            assert!((got / w - 1.0).abs() < 1e-3, "W = {end}: {got} {w}");
            let unit = (1.0 + GAMMA * (w - w0 + w0.sqrt()) * MSS as f64 / 2f64.powi(18)) / MSS as f64;
            assert!((got - w).abs() < 1e-3 * (w - w0) + unit, "W = {end}: {got} {w}");
        }
    }
}

/// Runs an epoch from `(1 - beta) end` to `end` segments in rounds of a window of ACKs; returns how many
/// rounds it took, and the largest relative distance at the end of a round from Eq. (3).
fn epoch(end: f64) -> (f64, f64) {
    let w0 = end * (1.0 - BETA);
    let (mut exp, mut control) = exp(w0);
    let mut off = 0.0f64;
    for round in 0.. {
        let acks = segments(&control).floor() as u64;
        for n in 0..acks {
            if segments(&control) >= end {
                return (f64::from(round) + n as f64 / acks as f64, off);
            }
            let _ = exp.on_ack(&ack(1), &mut control);
        }
        let closed = w0 + ((1.0 + GAMMA).powi(round + 1) - 1.0) * w0.sqrt();
        off = off.max((segments(&control) / closed - 1.0).abs());
    }
    unreachable!("the window grows")
}

#[test]
fn the_window_keeps_to_the_closed_form_and_so_does_the_length_of_an_epoch() {
    // Eq. (3) compounds once a round trip, Eq. (1) with every ACK: an epoch of ln(1 + beta sqrt(W/(1 - beta))) /
    // ln(1 + gamma) round trips, 17.4 at 100 segments, 33.9 at 1000, 54.6 at 10 000, is shorter by up to
    // ln(1.05)/0.05 = 0.976.
    for (end, rounds) in [(100.0, 17.4), (1000.0, 33.9), (10_000.0, 54.6), (100_000.0, 77.2)] {
        let (taken, off) = epoch(end);
        assert!(off < 0.012, "W = {end}: {off}");
        let by_hand = (1.0 + BETA * (end / (1.0 - BETA)).sqrt()).ln() / (1.0 + GAMMA).ln();
        assert!((by_hand - rounds).abs() < 0.05, "W = {end}: {by_hand}");
        assert!((0.9758 * by_hand..=by_hand).contains(&taken), "W = {end}: {taken} rounds, {by_hand}");
    }
}

#[test]
fn an_ack_for_two_segments_counts_twice() {
    let (mut single, mut one) = exp(875.0);
    let (mut delayed, mut two) = exp(875.0);
    for _ in 0..5000 {
        let _ = single.on_ack(&ack(1), &mut one);
        let _ = single.on_ack(&ack(1), &mut one);
        let _ = delayed.on_ack(&ack(2), &mut two);
    }
    let (one, two) = (segments(&one) - 875.0, segments(&two) - 875.0);
    // The second of two sees a window larger by one step: 0.05 (w - w_0 + sqrt(w_0))/w < 0.01 of a segment
    // in 1000.
    assert!(one > 20.0 && (two / one - 1.0).abs() < 1e-3, "{one} {two}");
}

#[test]
fn the_reno_floor_lifts_small_windows_to_a_segment_a_round_trip_and_leaves_large_ones_alone() {
    // gamma sqrt(w_0) < 1 below 400 segments: the first round from 100 adds 0.05 x 10 = 0.5 of a segment, and one
    // from 2500 adds 2.5.
    for (w0, floor, expected) in
        [(100.0, false, 0.5), (100.0, true, 1.0), (2500.0, false, 2.5), (2500.0, true, 2.5)]
    {
        let (mut exp, mut control) = exp(w0);
        exp.set("reno_floor", Value::Flag(floor));
        for _ in 0..w0 as u64 {
            let _ = exp.on_ack(&ack(1), &mut control);
        }
        // Compounding within the round makes it up to 2.5 % more (e^0.05 - 1 = 1.0254 x 0.05); the growing
        // window as much as 0.5 % less.
        let grown = segments(&control) - w0;
        assert!((0.995 * expected..=1.026 * expected).contains(&grown), "w_0 = {w0}, {floor}: {grown}");
    }
}

#[test]
fn congestion_takes_an_eighth_but_leaves_two_segments_and_begins_an_epoch() {
    let (mut exp, mut control) = exp(100.0);
    for (base, left) in [(100 * MSS, 87_500), (8 * MSS, 7_000), (2 * MSS, 2_000), (MSS, 2_000)] {
        let event = Congestion { base, trigger: Trigger::Loss, mss: MSS as u32, ..Congestion::default() };
        assert_eq!(exp.on_congestion(&event, &mut control), Step::Stay);
        assert_eq!((control.cwnd, control.ssthresh), (left, left), "base {base}");
    }
    // From 16 segments, w_0 = 14: the first ACK adds 0.05 sqrt(14)/14 = 0.01336 of a segment.
    let event = Congestion { base: 16 * MSS, mss: MSS as u32, ..Congestion::default() };
    let _ = exp.on_congestion(&event, &mut control);
    let _ = exp.on_ack(&ack(1), &mut control);
    assert_eq!(control.cwnd, 14_013);
}

#[test]
fn a_spurious_reduction_restores_the_interrupted_epoch() {
    let (mut exp, mut control) = exp(875.0);
    let _ = exp.on_ack(&ack(1), &mut control);
    control.cwnd = 1000 * MSS;
    let event = Congestion { base: 1000 * MSS, mss: MSS as u32, ..Congestion::default() };
    let _ = exp.on_congestion(&event, &mut control);
    exp.on_spurious();
    control.cwnd = 1000 * MSS;
    let _ = exp.on_ack(&ack(1), &mut control);
    // 0.05 (1000 - 875 + sqrt(875))/1000 = 0.05 x 0.15458 = 7.73 bytes, and 0.69 carried from the first ACK's
    // 0.05 sqrt(875)/875 = 1.69; a new epoch would add 1.58.
    assert_eq!(control.cwnd, 1_000_008);
}

#[test]
fn a_window_that_the_host_lowered_begins_an_epoch() {
    let (mut exp, mut control) = exp(875.0);
    let _ = exp.on_ack(&ack(1), &mut control);
    control.cwnd = 16 * MSS;
    let _ = exp.on_ack(&ack(1), &mut control);
    // 0.05 x 4/16 = 0.0125 of a segment, and of the ACK before 0.05 sqrt(875)/875 = 1.69 bytes, of which one is
    // in the window and the rest carried.
    assert_eq!(control.cwnd, 16_013);
}

#[test]
fn a_fall_from_a_huge_window_leaves_nothing_behind() {
    let (mut exp, mut control) = exp(1_000_000_000.0);
    for _ in 0..3 {
        let _ = exp.on_ack(&ack(1), &mut control);
    }
    let fallen =
        Congestion { base: 2 * MSS, trigger: Trigger::Timeout, mss: MSS as u32, ..Congestion::default() };
    let _ = exp.on_congestion(&fallen, &mut control);
    control.cwnd = 2 * MSS;
    let _ = exp.on_ack(&ack(1), &mut control);
    // gamma sqrt(w0) a round, half of it for one of two segments: 0.05 * sqrt(2) / 2 segments, 35 bytes.
    assert_eq!(control.cwnd, 2 * MSS + 35);
}
