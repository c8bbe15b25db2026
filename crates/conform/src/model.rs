//! Controllers that follow a model of the path, held to recordings of picoquic's connections.
//!
//! A recording has the notifications of picoquic's transport to its congestion control, a row each, with the window, the pacing rate and
//! the state after it. A recording lacks some values of the transport: `docs/conform.md` states from which columns each is taken.

mod bbr3;
mod c4;
mod cubic;

use firstflight_contract::{Ack, Congestion, Control, Entry, Lost, Nanos, Phase, Rate, Trigger};

use crate::outcome::{Difference, ModelVerdict, Outcome, Verdict};
use crate::vector::{Event, Vector};

/// The clock of a recording begins with its first row; the connection began some time before.
const BEFORE: Nanos = Nanos::from_secs(10);
/// Initial window of picoquic: ten packets of 1536 bytes.
const INITIAL_WINDOW: u64 = 15_360;
/// Parts of a value by which two values may differ: 2 %.
const PARTS: u64 = 50;
/// Share of the ACKs whose window must be within 2 %, in hundredths.
const SHARE: u64 = 95;
/// Words for the states of ProbeBW begin with it in recordings.
const PROBE_BW: &str = "probe_bw_";

impl ModelVerdict {
    /// The same states in the same order.
    pub fn same_states(&self) -> bool {
        self.states_ours.iter().eq(&self.states_theirs)
    }
}

fn within_2_percent(ours: u64, theirs: u64) -> bool {
    ours.abs_diff(theirs).saturating_mul(PARTS) <= theirs
}

/// A scheme of a model, and what a recording shows of it.
trait Model: Phase {
    /// The scheme sees the ACKs of the handshake.
    const SEES_HANDSHAKE: bool;
    /// The scheme counts the ranges of lost packets, and not their distances.
    const COUNTS_RANGES: bool;

    /// State, in picoquic's word.
    fn state(&self) -> &'static str;

    /// Whether the window limited the sender, where the row shows it in place of its column.
    fn window_limited(&self, event: &Event) -> Option<bool> {
        event.window_limited
    }

    /// Bandwidth sample of an ACK, bytes a second. `computed` is the one that follows from the rows; the row may show another. A value of
    /// the transport that the row shows may also be set in the scheme.
    fn sample(&mut self, event: &Event, computed: u64) -> u64;
}

/// The models.
pub(crate) const MODELS: &[Known] = &[
    Known { theirs: "pico-bbr3", ours: "bbr3-picoquic", run: bbr3::run },
    Known { theirs: "pico-c4", ours: "c4", run: c4::run },
    Known { theirs: "pico-cubic", ours: "cubic-picoquic", run: cubic::run },
];

/// A scheme of picoquic, and the model here.
pub(crate) struct Known {
    /// The project's word, the beginning of a vector's scheme.
    pub(crate) theirs: &'static str,
    /// Label here.
    pub(crate) ours: &'static str,
    run: fn(&Vector) -> Result<Replayed, String>,
}

impl Known {
    /// Holds the scheme to a recording.
    pub(crate) fn hold(&self, vector: &Vector, verdict: &mut Verdict) {
        verdict.ours = Some(self.ours.to_owned());
        let replayed = match (self.run)(vector) {
            Ok(replayed) => replayed,
            Err(why) => return verdict.why = Some(why),
        };
        let model = replayed.model;
        verdict.first_difference = replayed.first;
        if let Some(whole) = replayed.whole {
            verdict.why = Some(format!("the vector is whole up to event {whole}"));
        }
        if model.acks == 0 {
            verdict.why = Some("the vector has no whole event".into());
            return;
        }
        let states = model.same_states();
        verdict.outcome = match model.windows_equal == model.acks {
            true if states && model.other_states == 0 => Outcome::Equal,
            _ if states && model.windows_within * 100 >= model.acks * SHARE => Outcome::AsTheModel,
            _ => Outcome::Differs,
        };
        verdict.model = Some(model);
    }
}

/// Result of a replay.
#[derive(Clone, Debug, Default)]
struct Replayed {
    model: ModelVerdict,
    first: Option<Difference>,
    /// Number of the last event that is one call, if later ones are not.
    whole: Option<u64>,
    /// ACK at which a probe began first, of the recording and here.
    probe_theirs: Option<u64>,
    probe_ours: Option<u64>,
}

/// Delivered in total, time, and departure of the newest packet, of an earlier ACK.
#[derive(Clone, Copy)]
struct Earlier {
    delivered: u64,
    at: Nanos,
    left: Nanos,
}

/// The window of an earlier connection, if the path is like that connection's: picoquic compares the round trips, and takes a quarter for
/// the same (`picoquic_validate_bdp_seed`, timing.c).
fn seed_of(vector: &Vector) -> Option<(u64, Nanos)> {
    let (window, rtt) = vector.seed?;
    let measured = vector.events.first()?.min_rtt;
    (measured.0.abs_diff(rtt.0) <= measured.0 / 4).then_some((window, measured))
}

/// A replay under way.
struct Replay<M> {
    model: M,
    control: Control,
    /// Round trip that the scheme knows when it begins.
    known: Nanos,
    earlier: Vec<Earlier>,
    ranges: Ranges,
    result: Replayed,
}

/// Numbers of lost packets, so that those between two ACKs are of as many ranges as the second one counts.
#[derive(Clone, Debug, Default)]
struct Ranges {
    number: u64,
    /// Packets lost since the last ACK.
    count: u64,
}

impl<M: Model> Replay<M> {
    fn new(model: M, known: Nanos) -> Self {
        Self {
            model,
            control: Control { cwnd: INITIAL_WINDOW, ..Control::default() },
            known,
            earlier: vec![],
            ranges: Ranges::default(),
            result: Replayed::default(),
        }
    }

    fn run(mut self, vector: &Vector) -> Result<Replayed, String> {
        let rows: Vec<Row<'_>> = vector.events.iter().filter_map(Row::of).collect();
        for (at, event) in vector.events.iter().enumerate() {
            let number = at as u64 + 1;
            if event.merged > 1 {
                self.result.whole = Some(number - 1);
                break;
            }
            match event.kind.as_str() {
                "lost" => self.lose(event, &vector.events[at..]),
                "ack" => {
                    let Some(row) = Row::of(event) else {
                        let missing = "rtt_us, delivered_total or delivered_since_sent is empty";
                        return Err(format!(
                            "event {number}: {missing}; expected a number in each at an ACK"
                        ));
                    };
                    if self.earlier.is_empty() {
                        self.begin(&row, &rows);
                    }
                    self.acknowledge(&row);
                    self.compare(number, event);
                }
                "timeout" => {
                    let _ = self.model.on_congestion(&timeout(event), &mut self.control);
                }
                "spurious" => self.model.on_spurious(),
                // Notifications that change neither scheme: a measured RTT comes with its ACK.
                _ => {}
            }
        }
        Ok(self.result)
    }

    /// The connection begins before the first ACK of data. The ACK of the handshake had come when the first packet left with its bytes
    /// delivered, and a round trip before, the packet of the handshake left.
    fn begin(&mut self, row: &Row<'_>, rows: &[Row<'_>]) {
        let (event, rtt) = (row.event, row.event.min_rtt);
        let delivered = row.delivered.saturating_sub(event.acked);
        let after = rows.iter().find(|row| row.delivered.saturating_sub(row.since) >= delivered);
        let now = after.unwrap_or(row).left();
        let begun = now.saturating_sub(rtt);
        let entry = Entry { now: begun, rtt: self.known, mss: event.mss as u32, ..Entry::default() };
        self.model.enter(&entry, &mut self.control);
        if M::SEES_HANDSHAKE {
            let ack = Ack {
                now,
                rtt,
                min_rtt: rtt,
                srtt: rtt,
                acked: delivered,
                delivered,
                rate: Rate::of(delivered, rtt),
                mss: event.mss as u32,
                flags: Ack::RATE_LIMITED,
                ..Ack::default()
            };
            let _ = self.model.on_ack(&ack, &mut self.control);
        }
        self.earlier.push(Earlier { delivered, at: now, left: begun });
    }

    fn lose(&mut self, event: &Event, later: &[Event]) {
        let (delivered, lost) = (event.delivered.unwrap_or_default(), event.lost_total.unwrap_or_default());
        let prior_delivered = delivered.saturating_sub(event.delivered_since.unwrap_or_default());
        let prior_lost = lost.saturating_sub(event.lost_since.unwrap_or_default());
        let prior_in_flight = event.flight_at_departure.unwrap_or_default();
        let number = match M::COUNTS_RANGES {
            true => self.ranges.next(later),
            // Packet numbers are not recorded: all that was sent before it was delivered, lost or in flight.
            false => (prior_delivered + prior_lost + prior_in_flight) / event.mss.max(1),
        };
        let lost = Lost {
            now: BEFORE + event.at,
            bytes: event.lost,
            number,
            delivered,
            lost,
            prior_delivered,
            prior_lost,
            prior_in_flight,
            flags: 0,
            mss: event.mss as u32,
        };
        self.model.on_lost(&lost, &mut self.control);
    }

    fn acknowledge(&mut self, row: &Row<'_>) {
        let event = row.event;
        let (now, left) = (BEFORE + event.at, row.left());
        let lost = event.lost_total.unwrap_or_default();
        let prior_delivered = row.delivered.saturating_sub(row.since);
        let prior = self.earlier.iter().rev().find(|ack| ack.delivered <= prior_delivered);
        let interval =
            prior.map_or(row.rtt, |ack| now.saturating_sub(ack.at).max(left.saturating_sub(ack.left)));
        let computed = row.since.saturating_mul(1_000_000) / (interval.0 / 1000).max(1);
        let sample = self.model.sample(event, computed);
        self.result.model.samples_computed += u64::from(within_2_percent(computed, sample));
        self.earlier.push(Earlier { delivered: row.delivered, at: now, left });
        let limited = if event.limited { Ack::RATE_LIMITED } else { 0 };
        let unused = if self.model.window_limited(event) == Some(true) { 0 } else { Ack::APP_LIMITED };
        let srtt = if event.srtt > Nanos::ZERO { event.srtt } else { row.rtt };
        let ack = Ack {
            now,
            rtt: row.rtt,
            min_rtt: event.min_rtt,
            srtt,
            acked: event.acked,
            growth: if unused == 0 { event.acked } else { 0 },
            delivered: row.delivered,
            lost,
            in_flight: event.after + event.acked,
            pipe: event.after,
            rate: Rate(sample.saturating_mul(8)),
            prior_delivered,
            prior_lost: lost.saturating_sub(event.lost_since.unwrap_or_default()),
            prior_in_flight: event.flight_at_departure.unwrap_or_default(),
            flags: limited | unused,
            mss: event.mss as u32,
            ..Ack::default()
        };
        let _ = self.model.on_ack(&ack, &mut self.control);
        self.ranges.count = 0;
    }

    fn compare(&mut self, number: u64, event: &Event) {
        let (ours, theirs) = (self.model.state(), event.answer.state.as_str());
        let (window, cwnd) = (self.control.cwnd, event.answer.cwnd);
        let close = within_2_percent(window, cwnd);
        let result = &mut self.result;
        let model = &mut result.model;
        model.acks += 1;
        model.windows_equal += u64::from(window == cwnd);
        model.windows_within += u64::from(close);
        if let Some(pacing) = event.answer.pacing.filter(|pacing| pacing.0 > 0) {
            model.rates += 1;
            model.rates_within += u64::from(within_2_percent(self.control.pacing.0 / 8, pacing.0 / 8));
        }
        model.other_states += u64::from(ours != theirs);
        if model.states_ours.last() != Some(&ours) {
            model.states_ours.push(ours);
        }
        if model.states_theirs.last().is_none_or(|last| last != theirs) {
            model.states_theirs.push(theirs.to_owned());
        }
        let is_probe = |state: &str| state.strip_prefix(PROBE_BW) == Some("refill");
        if is_probe(ours) {
            result.probe_ours.get_or_insert(number);
        }
        if is_probe(theirs) {
            result.probe_theirs.get_or_insert(number);
        }
        if result.first.is_none() && (!close || ours != theirs) {
            result.first = Some(Difference {
                event: number,
                line: event.line,
                at_s: event.at.0 as f64 / 1e9,
                theirs: cwnd,
                ours: window,
                state: theirs.to_owned(),
                state_ours: Some(ours.to_owned()),
            });
        }
    }
}

impl Ranges {
    /// Number of the packet that the first of `later` loses. The first packets begin a range each; the others continue the last one.
    fn next(&mut self, later: &[Event]) -> u64 {
        let ack = later.iter().find(|event| event.kind == "ack");
        let begins = self.count < ack.and_then(|ack| ack.loss_ranges).unwrap_or_default();
        self.count += 1;
        self.number += if begins { 2 } else { 1 };
        self.number
    }
}

/// A row of an ACK.
struct Row<'a> {
    event: &'a Event,
    rtt: Nanos,
    delivered: u64,
    since: u64,
}

impl<'a> Row<'a> {
    /// The row of an event; `None` if it is no ACK, or has not all that an ACK has.
    fn of(event: &'a Event) -> Option<Self> {
        let ((rtt, delivered), since) = event.rtt.zip(event.delivered).zip(event.delivered_since)?;
        (event.kind == "ack").then_some(Self { event, rtt, delivered, since })
    }

    /// Departure of the newest acknowledged packet.
    fn left(&self) -> Nanos {
        (BEFORE + self.event.at).saturating_sub(self.rtt)
    }
}

fn timeout(event: &Event) -> Congestion {
    Congestion {
        now: BEFORE + event.at,
        in_flight: event.after,
        lost: event.lost,
        min_rtt: event.min_rtt,
        trigger: Trigger::Timeout,
        mss: event.mss as u32,
        ..Congestion::default()
    }
}
