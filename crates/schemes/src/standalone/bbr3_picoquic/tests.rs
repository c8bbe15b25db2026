//! Recorded connections of picoquic, replayed through the scheme.
//!
//! `pico-bbr3.S1.csv` and `.S3.csv` have the notifications of a connection of picoquic d199d45b in its simulator (20 Mbit/s, 50 ms,
//! 1 BDP; 50 Mbit/s, 20 ms, 0.5 BDP), each with the window, the pacing rate and the state after it, until some round trips after the
//! first probe. The clock with which picoquic seeds its draws is not in them: the seed is one with which the waits are those recorded.

use super::{Bbr3Picoquic, CWIN_INITIAL, State};
use crate::scheme::{Scheme as _, Value};
use firstflight_contract::{Ack, Control, Entry, Lost, Nanos, Phase, Rate};

/// A row of a recording, by the columns of its first line.
struct Row<'a> {
    columns: &'a [&'a str],
    fields: Vec<&'a str>,
}

impl<'a> Row<'a> {
    fn text(&self, column: &str) -> &'a str {
        let place = self.columns.iter().position(|name| *name == column).expect("a column");
        self.fields.get(place).copied().unwrap_or_default()
    }

    fn number(&self, column: &str) -> u64 {
        match self.text(column) {
            "" => 0,
            text => text.parse().expect("a number"),
        }
    }
}

fn state(name: &str) -> State {
    match name {
        "startup" => State::Startup,
        "startup_long_rtt" => State::StartupLongRtt,
        "startup_resume" => State::StartupResume,
        "drain" => State::Drain,
        "down" => State::Down,
        "cruise" => State::Cruise,
        "refill" => State::Refill,
        "up" => State::Up,
        "probe_rtt" => State::ProbeRtt,
        other => panic!("{other}"),
    }
}

/// Result of a replay: ACKs, those whose window and pacing rate are within 2 %, and the ACKs with another state.
#[derive(Debug, Default)]
struct Replayed {
    acks: usize,
    /// Those whose bandwidth sample follows from the rows.
    samples: usize,
    windows: usize,
    rates: usize,
    other_states: usize,
    ours: Vec<State>,
    theirs: Vec<State>,
}

/// The clock of the recording begins with its first row; the connection began some time before.
const BEFORE: u64 = 10_000_000;

fn replay(text: &str, seed: u32) -> Replayed {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let columns: Vec<_> = lines.next().expect("names").split(',').collect();
    let mut result = Replayed::default();
    let mut scheme = Bbr3Picoquic::default();
    let mut control = Control::default();
    scheme.set("seed", Value::Number(seed.into()));
    // Total delivered, time and departure of the packet, of each ACK.
    let mut acked: Vec<(u64, u64, u64)> = vec![];
    let mut mtu = 1440;
    let (mut lost_number, mut begun, mut largest) = (0, false, 0);
    let within = |ours: u64, theirs: u64| ours.abs_diff(theirs) * 50 <= theirs;
    for line in lines {
        let row = Row { columns: &columns, fields: line.split(',').collect() };
        if row.number("mtu") > 0 {
            mtu = row.number("mtu") as u32;
        }
        let now = BEFORE + row.number("t_us");
        if !begun {
            begun = true;
            control.cwnd = CWIN_INITIAL;
            let left = now - row.number("rtt_us");
            let entry = Entry {
                now: Nanos::from_micros(left - row.number("min_rtt_us")),
                mss: mtu,
                ..Entry::default()
            };
            scheme.enter(&entry, &mut control);
            // The handshake was acknowledged before the first row.
            let before = row.number("delivered_total") - row.number("acked");
            let rate = Rate(before * 8_000_000 / row.number("min_rtt_us"));
            let rtt = Nanos::from_micros(row.number("min_rtt_us"));
            acked.push((before, left, left - row.number("min_rtt_us")));
            let ack = Ack {
                now: Nanos::from_micros(left),
                rtt,
                min_rtt: rtt,
                srtt: rtt,
                acked: before,
                delivered: before,
                rate,
                mss: mtu,
                flags: Ack::RATE_LIMITED,
                ..Ack::default()
            };
            let _ = scheme.on_ack(&ack, &mut control);
        }
        let delivered = row.number("delivered_total");
        let prior_delivered = delivered - row.number("delivered_since_sent");
        let lost = row.number("lost_total");
        let prior_lost = lost.saturating_sub(row.number("lost_since_sent"));
        match row.text("event") {
            "lost" => {
                // A range of its own for each, unless the next row is of the same ACK: the ACK tells how many there were.
                lost_number += 1;
                scheme.on_lost(
                    &Lost {
                        now: Nanos::from_micros(now),
                        bytes: row.number("newly_lost"),
                        number: 2 * lost_number,
                        delivered,
                        lost,
                        prior_delivered,
                        prior_lost,
                        prior_in_flight: row.number("inflight_prior"),
                        flags: 0,
                        mss: mtu,
                    },
                    &mut control,
                );
            }
            "ack" => {
                let rtt = row.number("rtt_us");
                let departure = now - rtt;
                let prior = acked.iter().rev().find(|(total, ..)| *total <= prior_delivered);
                let interval =
                    prior.map_or(rtt, |(_, at, left)| (now - at).max(departure.saturating_sub(*left)));
                let computed = (delivered - prior_delivered) * 1_000_000 / interval.max(1);
                // The recording has the largest rate: no sample is above it, and where it rises, it is the sample.
                let known = Some(row.number("bw")).filter(|rate| *rate > 0);
                let rises = known.is_some_and(|known| known > largest);
                largest = known.unwrap_or(largest);
                let sample = if rises { largest } else { computed.min(largest) };
                result.samples += usize::from(within(computed, sample));
                let rate = Rate(sample * 8);
                acked.push((delivered, now, departure));
                let limited = row.number("app_limited") > 0;
                let window_limited = row.number("cwnd_limited") > 0;
                let flags = if limited { Ack::RATE_LIMITED } else { 0 }
                    | if window_limited { 0 } else { Ack::APP_LIMITED };
                let pipe = row.number("in_transit_before_call");
                scheme.newly_lost_ranges = row.number("loss_ranges") as u32;
                scheme.newly_lost = row.number("newly_lost");
                let _ = scheme.on_ack(
                    &Ack {
                        now: Nanos::from_micros(now),
                        rtt: Nanos::from_micros(rtt),
                        min_rtt: Nanos::from_micros(row.number("min_rtt_us")),
                        srtt: Nanos::from_micros(rtt),
                        acked: row.number("acked"),
                        delivered,
                        lost,
                        in_flight: pipe + row.number("acked"),
                        pipe,
                        rate,
                        prior_delivered,
                        prior_lost,
                        prior_in_flight: row.number("inflight_prior"),
                        flags,
                        mss: mtu,
                        ..Ack::default()
                    },
                    &mut control,
                );
                let theirs = state(row.text("state"));
                result.acks += 1;
                result.windows += usize::from(within(control.cwnd, row.number("cwnd")));
                result.rates += usize::from(within(control.pacing.0 / 8, row.number("pacing_Bps")));
                result.other_states += usize::from(theirs != scheme.state);
                if result.ours.last() != Some(&scheme.state) {
                    result.ours.push(scheme.state);
                }
                if result.theirs.last() != Some(&theirs) {
                    result.theirs.push(theirs);
                }
            }
            _ => {}
        }
    }
    result
}

/// Checks that every window and pacing rate is within 2 %, and every state the same.
fn assert_same(text: &str, seed: u32, states: &[State]) {
    let replayed = replay(text, seed);
    assert_eq!(replayed.other_states, 0, "{replayed:?}");
    assert_eq!((replayed.windows, replayed.rates), (replayed.acks, replayed.acks), "{replayed:?}");
    // Samples of the first ACKs, and of ACKs of several packets, are made from packets that the recording does not name.
    assert!(replayed.samples * 20 >= replayed.acks * 19, "{replayed:?}");
    assert_eq!(replayed.ours, states);
}

#[test]
fn picoquic_has_the_same_states_windows_and_rates_through_losses() {
    use State::{Cruise, Down, Drain, Refill, Startup, Up};
    assert_same(
        include_str!("tests/pico-bbr3.S1.csv"),
        15,
        &[Startup, Drain, Cruise, Refill, Up, Down, Cruise],
    );
}

#[test]
fn picoquic_has_the_same_states_windows_and_rates_in_a_shallow_buffer() {
    use State::{Cruise, Down, Drain, Refill, Startup, Up};
    let states = [Startup, Drain, Cruise, Refill, Up, Down, Refill, Up, Down];
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
