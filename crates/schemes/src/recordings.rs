//! Recordings of picoquic's connections, replayed through a scheme of its.
//!
//! A recording has the notifications of picoquic's transport to its congestion control, a row each, with the window, the pacing rate
//! and the state after it. Times are microseconds, amounts bytes, rates bytes a second.

use firstflight_contract::{Ack, Control, Entry, Lost, Nanos, Phase, Rate};

/// The clock of a recording begins with its first row; the connection began some time before.
const BEFORE: u64 = 10_000_000;
/// Initial window of picoquic.
const INITIAL_WINDOW: u64 = 15_360;

/// A row, by the columns of the first line.
pub(crate) struct Row<'a> {
    columns: &'a [&'a str],
    fields: Vec<&'a str>,
}

impl<'a> Row<'a> {
    pub(crate) fn text(&self, column: &str) -> &'a str {
        let place = self.columns.iter().position(|name| *name == column);
        place.and_then(|place| self.fields.get(place).copied()).unwrap_or_default()
    }

    /// A number; zero where the field is empty.
    pub(crate) fn number(&self, column: &str) -> u64 {
        match self.text(column) {
            "" => 0,
            text => text.parse().expect("a number"),
        }
    }
}

/// A scheme, and how it is replayed.
pub(crate) struct Replay<S> {
    pub(crate) scheme: S,
    /// Whether it sees the ACKs of the handshake, and the RTT of the handshake when it begins.
    pub(crate) sees_handshake: bool,
    pub(crate) knows_rtt: bool,
    /// Name of its state in the recording.
    pub(crate) state: fn(&S) -> &'static str,
    /// The bandwidth sample of an ACK, from that which follows from the rows; it may also tell the scheme what else the row shows.
    pub(crate) sample: fn(&mut S, &Row<'_>, u64) -> u64,
}

/// Result of a replay, in ACKs.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    pub(crate) acks: usize,
    /// Those whose bandwidth sample follows from the rows.
    pub(crate) samples: usize,
    /// Those whose window and whose pacing rate is within 2 %.
    pub(crate) windows: usize,
    pub(crate) rates: usize,
    /// Those with another state.
    pub(crate) other_states: usize,
    /// The states in order.
    pub(crate) ours: Vec<&'static str>,
    pub(crate) theirs: Vec<String>,
}

/// Delivered in total, time, and departure of the newest packet, of an earlier ACK.
#[derive(Clone, Copy)]
struct Earlier {
    delivered: u64,
    at: u64,
    left: u64,
}

fn within_2_percent(ours: u64, theirs: u64) -> bool {
    ours.abs_diff(theirs) * 50 <= theirs
}

impl<S: Phase> Replay<S> {
    pub(crate) fn run(mut self, text: &str) -> Replayed {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let columns: Vec<_> = lines.next().expect("names").split(',').collect();
        let mut result = Replayed::default();
        let mut control = Control { cwnd: INITIAL_WINDOW, ..Control::default() };
        let mut earlier: Vec<Earlier> = vec![];
        let mut mtu = 1440;
        for line in lines {
            let row = Row { columns: &columns, fields: line.split(',').collect() };
            if row.number("mtu") > 0 {
                mtu = row.number("mtu") as u32;
            }
            match row.text("event") {
                "lost" => self.lose(&row, mtu, &mut control),
                "ack" => {
                    if earlier.is_empty() {
                        earlier.push(self.begin(&row, mtu, &mut control));
                    }
                    let (ours, computed) = self.acknowledge(&row, mtu, &mut earlier, &mut control);
                    result.samples += usize::from(within_2_percent(computed, ours));
                    self.compare(&row, &control, &mut result);
                }
                _ => {}
            }
        }
        result
    }

    /// The connection begins before the first ACK of data.
    fn begin(&mut self, row: &Row<'_>, mtu: u32, control: &mut Control) -> Earlier {
        let rtt = row.number("min_rtt_us");
        let left = BEFORE + row.number("t_us") - row.number("rtt_us");
        let known = Nanos::from_micros(rtt);
        let entry = Entry {
            now: Nanos::from_micros(left - rtt),
            rtt: if self.knows_rtt { known } else { Nanos::ZERO },
            mss: mtu,
            ..Entry::default()
        };
        self.scheme.enter(&entry, control);
        let delivered = row.number("delivered_total") - row.number("acked");
        if self.sees_handshake {
            let ack = Ack {
                now: Nanos::from_micros(left),
                rtt: known,
                min_rtt: known,
                srtt: known,
                acked: delivered,
                delivered,
                rate: Rate(delivered * 8_000_000 / rtt),
                mss: mtu,
                flags: Ack::RATE_LIMITED,
                ..Ack::default()
            };
            let _ = self.scheme.on_ack(&ack, control);
        }
        Earlier { delivered, at: left, left: left - rtt }
    }

    fn lose(&mut self, row: &Row<'_>, mtu: u32, control: &mut Control) {
        let (delivered, lost) = (row.number("delivered_total"), row.number("lost_total"));
        let prior_delivered = delivered - row.number("delivered_since_sent");
        let prior_lost = lost.saturating_sub(row.number("lost_since_sent"));
        let prior_in_flight = row.number("inflight_prior");
        // Packet numbers are not recorded: all that was sent before it was delivered, lost or in flight.
        let number = (prior_delivered + prior_lost + prior_in_flight) / u64::from(mtu);
        let lost = Lost {
            now: Nanos::from_micros(BEFORE + row.number("t_us")),
            bytes: row.number("newly_lost"),
            number,
            delivered,
            lost,
            prior_delivered,
            prior_lost,
            prior_in_flight,
            flags: 0,
            mss: mtu,
        };
        self.scheme.on_lost(&lost, control);
    }

    /// Returns the bandwidth sample, and that which follows from the rows.
    fn acknowledge(
        &mut self,
        row: &Row<'_>,
        mtu: u32,
        earlier: &mut Vec<Earlier>,
        control: &mut Control,
    ) -> (u64, u64) {
        let (now, rtt) = (BEFORE + row.number("t_us"), row.number("rtt_us"));
        let left = now - rtt;
        let (delivered, lost) = (row.number("delivered_total"), row.number("lost_total"));
        let since = row.number("delivered_since_sent");
        let prior_delivered = delivered - since;
        let prior = earlier.iter().rev().find(|ack| ack.delivered <= prior_delivered);
        let interval = prior.map_or(rtt, |ack| (now - ack.at).max(left.saturating_sub(ack.left)));
        let computed = since * 1_000_000 / interval.max(1);
        let sample = (self.sample)(&mut self.scheme, row, computed);
        earlier.push(Earlier { delivered, at: now, left });
        let limited = |column, flag| if row.number(column) > 0 { flag } else { 0 };
        let flags = limited("app_limited", Ack::RATE_LIMITED)
            | limited("cwnd_limited", Ack::APP_LIMITED) ^ Ack::APP_LIMITED;
        let (acked, pipe) = (row.number("acked"), row.number("in_transit_before_call"));
        let srtt = match row.number("srtt_us") {
            0 => rtt,
            known => known,
        };
        let ack = Ack {
            now: Nanos::from_micros(now),
            rtt: Nanos::from_micros(rtt),
            min_rtt: Nanos::from_micros(row.number("min_rtt_us")),
            srtt: Nanos::from_micros(srtt),
            acked,
            delivered,
            lost,
            in_flight: pipe + acked,
            pipe,
            rate: Rate(sample * 8),
            prior_delivered,
            prior_lost: lost.saturating_sub(row.number("lost_since_sent")),
            prior_in_flight: row.number("inflight_prior"),
            flags,
            mss: mtu,
            ..Ack::default()
        };
        let _ = self.scheme.on_ack(&ack, control);
        (sample, computed)
    }

    fn compare(&self, row: &Row<'_>, control: &Control, result: &mut Replayed) {
        let (ours, theirs) = ((self.state)(&self.scheme), row.text("state"));
        result.acks += 1;
        result.windows += usize::from(within_2_percent(control.cwnd, row.number("cwnd")));
        result.rates += usize::from(within_2_percent(control.pacing.0 / 8, row.number("pacing_Bps")));
        result.other_states += usize::from(ours != theirs);
        if result.ours.last() != Some(&ours) {
            result.ours.push(ours);
        }
        if result.theirs.last().is_none_or(|last| last != theirs) {
            result.theirs.push(theirs.to_owned());
        }
    }
}
