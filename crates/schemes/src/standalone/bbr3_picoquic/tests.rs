//! Recorded connections of picoquic, replayed through the scheme.
//!
//! `pico-bbr3.S1.csv` and `.S3.csv` have the notifications of a connection of picoquic d199d45b in its simulator (20 Mbit/s, 50 ms,
//! 1 BDP; 50 Mbit/s, 20 ms, 0.5 BDP), each with the window, the pacing rate and the state after it, until some round trips after the
//! first probe. The clock with which picoquic seeds its draws is not in them: the seed is one with which the waits are those recorded.

use super::{Bbr3Picoquic, State};
use crate::recordings::{Replay, Row};
use crate::scheme::{Scheme as _, Value};
use firstflight_contract::{Ack, Control, Entry, Nanos, Phase, Rate};

/// Name of the state in a recording.
fn name(scheme: &Bbr3Picoquic) -> &'static str {
    match scheme.state {
        State::Startup => "startup",
        State::StartupLongRtt => "startup_long_rtt",
        State::StartupResume => "startup_resume",
        State::Drain => "drain",
        State::Down => "down",
        State::Cruise => "cruise",
        State::Refill => "refill",
        State::Up => "up",
        State::ProbeRtt => "probe_rtt",
    }
}

/// The recording has the largest rate: no sample is above it, and where it rises, it is the sample. It also has what was lost, and in
/// how many ranges.
fn sample(scheme: &mut Bbr3Picoquic, row: &Row<'_>, computed: u64) -> u64 {
    scheme.newly_lost = row.number("newly_lost");
    scheme.newly_lost_ranges = row.number("loss_ranges") as u32;
    match row.number("bw") {
        0 => computed.min(scheme.max_bw),
        largest if largest > scheme.max_bw => largest,
        largest => computed.min(largest),
    }
}

/// Checks that every window and pacing rate is within 2 %, and every state the same.
fn assert_same(text: &str, seed: u32, states: &[&str]) {
    let mut scheme = Bbr3Picoquic::default();
    scheme.set("seed", Value::Number(seed.into()));
    let replay = Replay { scheme, sees_handshake: true, knows_rtt: false, state: name, sample };
    let replayed = replay.run(text);
    assert_eq!(replayed.other_states, 0, "{replayed:?}");
    assert_eq!((replayed.windows, replayed.rates), (replayed.acks, replayed.acks), "{replayed:?}");
    // Samples of the first ACKs, and of ACKs of several packets, are made from packets that the recording does not name.
    assert!(replayed.samples * 20 >= replayed.acks * 19, "{replayed:?}");
    assert_eq!(replayed.ours, states);
}

#[test]
fn picoquic_has_the_same_states_windows_and_rates_through_losses() {
    assert_same(
        include_str!("tests/pico-bbr3.S1.csv"),
        15,
        &["startup", "drain", "cruise", "refill", "up", "down", "cruise"],
    );
}

#[test]
fn picoquic_has_the_same_states_windows_and_rates_in_a_shallow_buffer() {
    let states = ["startup", "drain", "cruise", "refill", "up", "down", "refill", "up", "down"];
    assert_same(include_str!("tests/pico-bbr3.S3.csv"), 541, &states);
}

#[test]
fn on_a_long_round_trip_the_window_begins_with_ten_packets_for_each_100_ms() {
    let mut scheme = Bbr3Picoquic::default();
    let mut control = Control { cwnd: 15_360, ..Control::default() };
    scheme.enter(&Entry { mss: 1440, ..Entry::default() }, &mut control);
    // 10 x 1536 bytes over 250 ms at 2.77 are 170 188 bytes a second.
    assert_eq!(control.pacing, Rate(170_188 * 8));
    let rtt = Nanos::from_millis(300);
    let ack = Ack {
        now: Nanos::from_millis(300),
        rtt,
        min_rtt: rtt,
        srtt: rtt,
        acked: 1440,
        delivered: 1440,
        mss: 1440,
        flags: Ack::APP_LIMITED,
        ..Ack::default()
    };
    let _ = scheme.on_ack(&ack, &mut control);
    assert_eq!((scheme.state, control.cwnd), (State::StartupLongRtt, 46_080));
    // 46 080 bytes in 300 ms, times 1.25.
    assert_eq!(control.pacing, Rate(192_000 * 8));
}
