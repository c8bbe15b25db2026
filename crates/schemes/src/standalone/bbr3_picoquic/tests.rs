//! Recorded connections of picoquic, replayed through the scheme.

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
        self.fields[place]
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
        "probe_bw_down" => State::Down,
        "probe_bw_cruise" => State::Cruise,
        "probe_bw_refill" => State::Refill,
        "probe_bw_up" => State::Up,
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
        if row.number("merged") > 1 {
            break;
        }
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
                let known =
                    row.text("detail").split("bw=").nth(1).map(|bw| bw.parse::<u64>().expect("a rate"));
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
                        srtt: Nanos::from_micros(row.number("srtt_us")),
                        acked: row.number("acked"),
                        delivered,
                        sent: row.number("sent_total"),
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
                if std::env::var("SHOW").is_ok() {
                    println!(
                        "ROW {} cwnd {} {} pace {} {} {:?} {:?} bw {} minrtt {} hi {} rec {}",
                        now - BEFORE,
                        row.number("cwnd"),
                        control.cwnd,
                        row.number("pacing_Bps"),
                        control.pacing.0 / 8,
                        theirs,
                        scheme.state,
                        scheme.bw,
                        scheme.min_rtt,
                        scheme.inflight_hi,
                        scheme.recovery.is_in
                    );
                }
            }
            _ => {}
        }
    }
    result
}

#[test]
fn show() {
    let find = std::env::var("FIND").is_ok();
    let seeds: Vec<u32> = std::env::var("SEEDS")
        .map_or(vec![0; 9], |text| text.split(',').map(|s| s.parse().unwrap()).collect());
    for path in 1..=9 {
        let text = std::fs::read_to_string(format!("/tmp/D/pb{path}.csv")).unwrap();
        println!("PATH {path}");
        let mut seed = seeds[path - 1];
        if find {
            let best = (0..3_000)
                .min_by_key(|seed| {
                    let r = replay(&text, *seed);
                    r.other_states
                })
                .unwrap();
            seed = best;
        }
        println!("RESULT {path} seed {seed} {:?}", replay(&text, seed));
    }
}
