//! Values by hand.

use super::{C4, State};
use firstflight_contract::{Ack, Control, Entry, Nanos, Phase, Rate};

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
