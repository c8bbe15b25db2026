//! Recorded connections of other implementations, replayed through the scheme.
//!
//! A recording has a row for each ACK: its time, the bytes sent before it, its round-trip time, and the register and state that the
//! implementation answered. Packets have 1200 bytes and none is lost, so that the rest follows.

use super::super::{Bbr3, State};
use crate::scheme::{Scheme as _, Value};
use firstflight_contract::{Ack, Control, Entry, Nanos, Phase};
use firstflight_host::rate_sampler::{RateSampler, Stamp};

/// Bytes of a packet.
const PACKET: u64 = 1200;
/// The RTT that the implementations assume before the first sample (RFC 9002 section 6.2.2).
const ASSUMED_RTT: Nanos = Nanos::from_millis(333);

/// A row of a recording.
#[derive(Clone, Copy, Debug)]
struct Row {
    at: Nanos,
    sent: u64,
    rtt: Nanos,
    cwnd: u64,
    /// Bits a second.
    pacing: u64,
    state: &'static str,
}

fn rows(text: &'static str) -> Vec<Row> {
    let mut state = "";
    let mut rows = vec![];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split(',');
        let mut number = || fields.next().expect("a field").parse::<u64>().expect("a number");
        let (at, sent, rtt, cwnd, pacing) = (number(), number(), number(), number(), number());
        if let Some(next) = fields.next() {
            state = next;
        }
        let (at, rtt) = (Nanos::from_micros(at), Nanos::from_micros(rtt));
        rows.push(Row { at, sent: sent * PACKET, rtt, cwnd, pacing: pacing * 8, state });
    }
    rows
}

/// The events of a recording: every packet leaves at the time that its ACK and its round-trip time tell.
struct Driver {
    bbr: Bbr3,
    control: Control,
    sampler: RateSampler,
    /// Departure, stamp and flight of each packet that is not acknowledged.
    flight: std::collections::VecDeque<(Nanos, Stamp, u64)>,
    sent: u64,
    delivered: u64,
    min_rtt: Nanos,
}

impl Driver {
    fn new(bbr: Bbr3) -> Self {
        let mut driver = Self {
            bbr,
            control: Control { cwnd: 10 * PACKET, ..Control::default() },
            sampler: RateSampler::default(),
            flight: std::collections::VecDeque::new(),
            sent: 0,
            delivered: 0,
            min_rtt: Nanos::NEVER,
        };
        let entry = Entry { rtt: ASSUMED_RTT, mss: PACKET as u32, ..Entry::default() };
        driver.bbr.enter(&entry, &mut driver.control);
        driver
    }

    /// Packets up to `sent` bytes left at the times that `left` tells by their numbers.
    fn send(&mut self, sent: u64, left: impl Fn(u64) -> Nanos) {
        while self.sent < sent {
            let at = left(self.sent / PACKET);
            let stamp = self.sampler.on_sent(at, self.flight.is_empty());
            self.sent += PACKET;
            self.flight.push_back((at, stamp, self.sent - self.delivered));
        }
    }

    fn ack(&mut self, row: &Row) {
        let (at, stamp, flight) = self.flight.pop_front().expect("a packet");
        self.sampler.on_delivered(&stamp, at, self.delivered / PACKET);
        self.delivered += PACKET;
        self.min_rtt = self.min_rtt.min(row.rtt);
        let sample = self.sampler.sample(row.at, PACKET, self.min_rtt);
        let in_flight = self.sent - self.delivered;
        let ack = Ack {
            now: row.at,
            rtt: row.rtt,
            min_rtt: self.min_rtt,
            srtt: row.rtt,
            acked: PACKET,
            growth: PACKET,
            delivered: self.delivered,
            sent: self.sent,
            in_flight: in_flight + PACKET,
            pipe: in_flight,
            rate: sample.rate(),
            prior_delivered: sample.prior_delivered,
            prior_in_flight: flight,
            mss: PACKET as u32,
            ..Ack::default()
        };
        let _ = self.bbr.on_ack(&ack, &mut self.control);
    }
}

/// A row of a replay.
struct Replayed {
    row: Row,
    control: Control,
    state: State,
    extra_acked: u64,
}

fn replay(text: &'static str, parameters: &[(&str, Value)]) -> Vec<Replayed> {
    let rows = rows(text);
    let mut bbr = Bbr3::default();
    for (name, value) in parameters {
        bbr.set(name, *value);
    }
    let mut driver = Driver::new(bbr);
    // The rows are the ACKs of packets in order. Those that left after the last of them are not in the recording.
    let left: Vec<_> = rows.iter().map(|row| row.at - row.rtt).collect();
    let mut answers = vec![];
    for row in rows {
        driver.send(row.sent, |number| left.get(number as usize).copied().unwrap_or(row.at));
        driver.ack(&row);
        let view = driver.bbr.view();
        let (control, state, extra_acked) = (driver.control, view.state, view.extra_acked);
        answers.push(Replayed { row, control, state, extra_acked });
    }
    answers
}

/// Share of the rows that fit.
fn share(rows: &[Replayed], fits: impl Fn(&Replayed) -> bool) -> f64 {
    rows.iter().filter(|row| fits(row)).count() as f64 / rows.len() as f64
}

fn within_2_percent(ours: u64, theirs: u64) -> bool {
    ours.abs_diff(theirs) * 50 <= theirs
}

/// Checks that each state begins at the same ACK.
fn assert_states(rows: &[Replayed], names: [&str; 3]) {
    let states = [State::Startup, State::Drain, State::Cruise];
    for row in rows {
        let place = names.iter().position(|name| *name == row.row.state).expect("a known state");
        assert_eq!(row.state, states[place], "{:?}", row.row);
    }
}

/// tquic 1.6.0, `congestion_control/bbr3.rs`, on 5 Mbit/s, 100 ms and 4 BDP: Startup and Drain.
#[test]
fn tquic_has_the_same_start_up_and_drain() {
    let rows = replay(include_str!("tquic-bbr3.S2.csv"), &[]);
    assert_states(&rows, ["Startup", "Drain", "ProbeBwCruise"]);
    assert!(share(&rows, |row| within_2_percent(row.control.pacing.0, row.row.pacing)) >= 0.96);
    // In Drain tquic's window is larger: it keeps the aggregate of ten rounds of Startup, where the draft keeps that of one.
    let drain = rows.iter().position(|row| row.state == State::Drain).expect("Drain");
    assert!(share(&rows[..drain], |row| within_2_percent(row.control.cwnd, row.row.cwnd)) >= 0.94);
    for row in &rows[drain..] {
        assert!(
            row.control.cwnd - row.extra_acked < row.row.cwnd && row.row.cwnd < row.control.cwnd + 6 * PACKET
        );
    }
}

/// quiche 0.30.0, `recovery/gcongestion/bbr2.rs`, on the same path, with quiche's constants.
#[test]
fn quiche_has_the_same_start_up_and_drain() {
    let parameters = [
        ("startup_pacing_gain", Value::Number(2.773)),
        ("drain_pacing_gain", Value::Number(0.347)),
        ("loss_thresh", Value::Number(0.015)),
        ("full_loss_cnt", Value::Number(8.0)),
        ("offload_quanta", Value::Number(1.0)),
    ];
    let rows = replay(include_str!("quiche-bbr2.S2.csv"), &parameters);
    assert_states(&rows, ["bbr_startup", "bbr_drain", "bbr_probe_bw_cruise"]);
    // quiche paces at the rate itself, the draft 1 % below it.
    assert!(share(&rows, |row| within_2_percent(row.control.pacing.0, row.row.pacing)) >= 0.98);
    // quiche adds no aggregate to the window.
    assert!(
        share(&rows, |row| {
            let (ours, theirs) = (row.control.cwnd, row.row.cwnd);
            ours + PACKET >= theirs && ours <= theirs + row.extra_acked + PACKET
        }) >= 0.95
    );
}
