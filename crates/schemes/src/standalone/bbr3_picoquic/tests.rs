//! Windows by hand.

use super::{Bbr3Picoquic, State};
use crate::scheme::{Scheme as _, Value};
use firstflight_contract::{Ack, Control, Entry, Nanos, Phase, Rate};

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

#[test]
fn a_remembered_window_is_used_at_the_first_ack() {
    let mut scheme = Bbr3Picoquic::default();
    scheme.set("seed_window", Value::Number(125_000.0));
    let mut control = Control { cwnd: 15_360, ..Control::default() };
    scheme.enter(&Entry { mss: 1440, ..Entry::default() }, &mut control);
    assert_eq!((scheme.state, control.cwnd), (State::StartupResume, 15_360));
    let rtt = Nanos::from_millis(50);
    let ack = Ack {
        now: rtt,
        rtt,
        min_rtt: rtt,
        srtt: rtt,
        acked: 1440,
        delivered: 1440,
        mss: 1440,
        ..Ack::default()
    };
    let _ = scheme.on_ack(&ack, &mut control);
    assert_eq!((scheme.state, control.cwnd), (State::StartupResume, 125_000));
}
