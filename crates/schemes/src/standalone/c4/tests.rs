//! Recorded connections of picoquic, replayed through the scheme.
//!
//! `pico-c4.S2.csv` and `.S7.csv` have the notifications of a connection of picoquic d199d45b in its simulator (5 Mbit/s, 100 ms, 4 BDP;
//! 25 Mbit/s, 40 ms, 1.5 BDP, one packet of 200 lost), each with the window, the pacing rate and the state after it, through start-up and
//! a probe.

use super::registers::INITIAL_PACING;
use super::{C4, INITIAL, ONE, PROBE, PUSH, RECOVER, RECOVER_MORE, State};
use crate::recordings::{Replay, Row};
use firstflight_contract::{Ack, Control, Entry, Nanos, Phase, Rate};

/// Name of the state in a recording.
fn name(scheme: &C4) -> &'static str {
    match scheme.state {
        State::Initial => "initial",
        State::Recovery => "recovery",
        State::Cruising => "cruising",
        State::Probing => "probing",
        State::Pushing => "pushing",
        State::Resuming => "resuming",
    }
}

/// The pacing rate tells the nominal rate after start-up: no sample is above it, and where it rises, it is the sample.
fn sample(scheme: &mut C4, row: &Row<'_>, computed: u64) -> u64 {
    let factors: &[u64] = match row.text("state") {
        "recovery" => &[RECOVER, RECOVER_MORE],
        "cruising" => &[ONE],
        "probing" => &[PROBE[1]],
        "pushing" => &[PUSH],
        "initial" => return initial_sample(scheme, row, computed),
        _ => return computed,
    };
    let pacing = row.number("pacing_Bps");
    let nominals = factors.iter().map(|factor| (pacing * ONE).div_ceil(*factor));
    nominals
        .clone()
        .find(|rate| rate.abs_diff(computed) * 50 <= *rate)
        .unwrap_or_else(|| computed.min(nominals.max().unwrap_or(computed)))
}

/// In start-up the pacing rate is the mean of twice the nominal rate and of the peak, where the peak is larger. The peak is a value of
/// picoquic's transport, which begins to measure in the handshake: the window tells it where it jumps to half of the peak's product
/// with the smoothed RTT.
fn initial_sample(scheme: &mut C4, row: &Row<'_>, computed: u64) -> u64 {
    let (acked, cwnd, pacing) = (row.number("acked"), row.number("cwnd"), row.number("pacing_Bps"));
    let srtt = row.number("srtt_us");
    let before = match row.number("cwnd_before") {
        0 => cwnd,
        before => before,
    };
    let jump = if cwnd > before + acked { cwnd } else { 0 };
    scheme.peak.rate = scheme.peak.rate.max((2 * jump * 1_000_000).div_ceil(srtt));
    let rate = |sample: u64| super::times(scheme.nominal_rate.max(sample), INITIAL).max(INITIAL_PACING);
    let paced = |rate: u64, peak: u64| if peak > rate { (rate + peak) / 2 } else { rate };
    if paced(rate(computed), scheme.peak.rate).abs_diff(pacing) * 50 <= pacing {
        return computed;
    }
    // The peak rises, as far as it moves no window; else the sample is another.
    let peak = (2 * pacing).saturating_sub(rate(computed));
    if peak > scheme.peak.rate && peak > rate(computed) && peak * srtt / 2_000_000 <= cwnd {
        scheme.peak.rate = peak;
        return computed;
    }
    if scheme.peak.rate > pacing { (2 * pacing).saturating_sub(scheme.peak.rate) / 2 } else { pacing / 2 }
}

/// Checks that every window and pacing rate is within 2 %, and every state the same.
fn assert_same(text: &str, states: &[&str]) {
    let replay =
        Replay { scheme: C4::default(), sees_handshake: false, knows_rtt: false, state: name, sample };
    let replayed = replay.run(text);
    assert_eq!(replayed.other_states, 0, "{replayed:?}");
    assert_eq!((replayed.windows, replayed.rates), (replayed.acks, replayed.acks), "{replayed:?}");
    assert_eq!(replayed.ours, states);
}

#[test]
fn picoquic_has_the_same_states_windows_and_rates_in_a_deep_buffer() {
    let states = ["initial", "recovery", "cruising", "probing", "recovery", "pushing", "recovery"];
    assert_same(include_str!("tests/pico-c4.S2.csv"), &states);
}

#[test]
fn picoquic_has_the_same_states_windows_and_rates_under_random_losses() {
    let states =
        ["initial", "recovery", "cruising", "recovery", "cruising", "probing", "recovery", "cruising"];
    assert_same(include_str!("tests/pico-c4.S7.csv"), &states);
}

fn begun(parameters: super::Parameters, rtt: Nanos) -> (C4, Control) {
    let mut scheme = C4 { parameters, ..C4::default() };
    let mut control = Control { cwnd: 15_360, ..Control::default() };
    scheme.enter(&Entry { rtt, mss: 1440, ..Entry::default() }, &mut control);
    (scheme, control)
}

#[test]
fn a_remembered_window_is_sent_over_one_round_trip_until_it_is_measured() {
    // The recording pico-c4-seed1.S1 has 125 000 bytes and 2 474 218 bytes a second after a handshake of 50 521 us.
    let rtt = Nanos::from_micros(50_521);
    let (mut scheme, mut control) = begun(super::Parameters { seed_window: 125_000 }, rtt);
    assert_eq!((scheme.state, control.cwnd, control.pacing), (State::Resuming, 125_000, Rate(2_474_218 * 8)));
    // An era counts from when 16/17 of the window are in flight; after two of them the state is recovery.
    let mut ack = |delivered: u64, prior_delivered: u64, pipe: u64| {
        let now = Nanos::from_micros(60_000 + delivered);
        let rate = Rate(2_500_000 * 8);
        let ack = Ack {
            now,
            rtt,
            min_rtt: rtt,
            srtt: rtt,
            acked: 1440,
            delivered,
            prior_delivered,
            pipe,
            rate,
            mss: 1440,
            ..Ack::default()
        };
        let _ = scheme.on_ack(&ack, &mut control);
        (scheme.state, control.cwnd)
    };
    assert_eq!(ack(1440, 0, 100_000), (State::Resuming, 125_000));
    assert_eq!(ack(2880, 1440, 120_000).0, State::Resuming);
    assert_eq!(ack(130_000, 2880, 120_000).0, State::Recovery);
}

#[test]
fn the_sensitivity_follows_its_three_slopes() {
    let (mut scheme, _) = begun(super::Parameters::default(), Nanos::ZERO);
    scheme.nominal_max_rtt = 100_000;
    // Sensitivity 0, 963/1024 and 1: shares of 260, 64 + 61 x 196/1024 = 75, and 64 of 1024; at most 25 ms.
    for (rate, threshold) in [(49_999, 25_000), (1_000_000, 7_324), (20_000_000, 6_250)] {
        scheme.nominal_rate = rate;
        assert_eq!(scheme.threshold_of_delay(), threshold, "{rate}");
    }
}
