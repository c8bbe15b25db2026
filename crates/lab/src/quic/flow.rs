//! One flow: a client and a server, and the account of what happened.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use firstflight_contract::{Nanos, StartupExit, Trigger};
use firstflight_document::seconds::Seconds;
use firstflight_host::replay::{Event, Record};
use firstflight_hosts::host::Refusal;
use firstflight_hosts::trace::record::{self, FlowRecording, Metrics};
use firstflight_probe::LEAST;
use firstflight_quic::Log;
use firstflight_quic::transfer::{Credentials, Datagram, EcnCodepoint, Peer, Served, Settings};
use firstflight_results::SampleRow;
use firstflight_sim::config::FlowConfig;
use firstflight_sim::outcome::FlowOutcome;

use super::plan::{Group, SMALLEST};
use super::{Letter, failed};

/// Bytes of a transfer without an end: more than any run can carry.
const ENDLESS: u64 = 1 << 50;

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Sends the data.
    Server,
    /// Asks for the data.
    Client,
}

/// A client and a server.
pub(super) struct Flow {
    client: Peer,
    server: Peer,
    log: Log,
    /// The start of the run on quinn's clock.
    origin: Instant,
    /// Time at which the client opens the connection, until it has.
    opens_at: Option<u64>,
    size: Option<u64>,
    /// Times at which full datagrams left the server, nanoseconds.
    sent: Vec<u64>,
    /// Times at which datagrams of the server left that the network lost.
    lost_at: Vec<u64>,
}

/// A connection of the server, on the clock of the run.
struct Account {
    /// Events with their times, nanoseconds.
    records: Vec<(u64, Record)>,
}

fn address(side: Side) -> SocketAddr {
    let host = match side {
        Side::Server => 1,
        Side::Client => 2,
    };
    (Ipv4Addr::new(192, 0, 2, host), 443).into()
}

impl Flow {
    pub(super) fn new(
        group: &Group,
        config: &FlowConfig,
        size: Option<u64>,
        seed: u64,
        credentials: &Credentials,
    ) -> Self {
        let log = Log::new();
        let controller = Arc::new(group.scheme.clone().recording(&log));
        let settings = Settings {
            controller,
            datagram: group.datagram,
            discovers: true,
            receive_window: group.receive_window,
            seed,
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "an origin that no result contains: all times are differences"
        )]
        let origin = Instant::now();
        Self {
            client: Peer::client(&settings, credentials),
            server: Peer::server(&settings, credentials),
            log,
            origin,
            opens_at: Some(config.app.start),
            size,
            sent: vec![],
            lost_at: vec![],
        }
    }

    /// Whether the flow is finite and its last byte is acknowledged, or it never ends.
    pub(super) fn is_over(&self) -> bool {
        self.size.is_none() || !self.server.served().is_empty()
    }

    fn instant(&self, at: u64) -> Instant {
        self.origin + Duration::from_nanos(at)
    }

    /// Time on the clock of the run.
    fn since_start(&self, at: Instant) -> u64 {
        nanos(at.saturating_duration_since(self.origin))
    }

    /// Time of the next thing that the flow does of its own accord.
    pub(super) fn due(&mut self) -> Option<u64> {
        let timers = [self.client.due(), self.server.due()].into_iter().flatten().min();
        let timer = timers.map(|at| self.since_start(at));
        self.opens_at.into_iter().chain(timer).min()
    }

    /// It is `now`.
    pub(super) fn on_time(&mut self, now: u64) {
        let at = self.instant(now);
        if self.opens_at.take_if(|opens| *opens <= now).is_some() {
            self.client.fetch(at, address(Side::Server), self.size.unwrap_or(ENDLESS));
        }
        self.client.on_time(at);
        self.server.on_time(at);
    }

    /// The next datagram that a side sends, and whether it counts as data of the flow.
    pub(super) fn transmit(&mut self, now: u64) -> Option<(Side, Datagram, bool)> {
        if let Some(datagram) = self.server.transmit() {
            if datagram.contents.len() >= usize::from(SMALLEST) {
                self.sent.push(now);
            }
            let asked = self.server.requested_at().is_some() || !self.server.served().is_empty();
            let is_data = asked && datagram.contents.len() >= LEAST as usize;
            return Some((Side::Server, datagram, is_data));
        }
        self.client.transmit().map(|datagram| (Side::Client, datagram, false))
    }

    /// A datagram arrived at the other side.
    pub(super) fn receive(&mut self, at: u64, letter: Letter, marked: bool) -> Result<(), Refusal> {
        let Letter { side, mut datagram, .. } = letter;
        if marked && datagram.ecn.is_some() {
            datagram.ecn = Some(EcnCodepoint::Ce);
        }
        let now = self.instant(at);
        let to = match side {
            Side::Server => &mut self.client,
            Side::Client => &mut self.server,
        };
        to.receive(now, address(side), datagram.ecn, &datagram.contents);
        match self.client.closed().or(self.server.closed()) {
            Some(why) => Err(failed(format!("quinn closed a connection: {why}"))),
            None => Ok(()),
        }
    }

    /// The network lost a datagram that left at `left_at`.
    pub(super) fn lost(&mut self, side: Side, left_at: u64) {
        if side == Side::Server {
            self.lost_at.push(left_at);
        }
    }

    fn account(&self) -> Account {
        let connections = self.log.connections();
        let records = connections
            .first()
            .map_or(vec![], |connection| timed(self.since_start(connection.opened), &connection.records));
        Account { records }
    }

    /// Results of the flow in a run that ended at `end`.
    pub(super) fn outcome(&self, end: u64, grid: Nanos) -> FlowOutcome {
        let served = self.server.served().first();
        let requested = served.map(|served| served.requested_at).or(self.server.requested_at());
        let start = requested.map(|at| self.since_start(at));
        let began = start.unwrap_or(end);
        let account = self.account();
        let datagram = u64::from(SMALLEST);
        let exit = account.exit();
        let before = account.delivered_by(began);
        // The count does not fall.
        let delivered = |at: u64| account.delivered_by(at).saturating_sub(before).div_ceil(datagram) as u32;
        let until = served.map_or(end, |served| self.since_start(served.completed_at));
        let lasted = end.saturating_sub(began);
        let took =
            |served: &Served| nanos(served.completed_at.saturating_duration_since(served.requested_at));
        let mut windows = account.records.iter().map(|(_, record)| record.answer.control.cwnd);
        let first_ack = account.first_ack_of_data(began).unwrap_or(end);
        let exit_at = exit.map_or(u64::MAX, |exit| exit.at.0);
        let delivered_bytes = served.map_or(self.client.received(), |served| served.bytes);
        FlowOutcome {
            start,
            completions: served.map(took).into_iter().collect(),
            delivered_bytes,
            delivered: delivered(until),
            delivered_at: (1..=lasted / grid.0).map(|step| delivered(began + step * grid.0)).collect(),
            sent: self.sent.len() as u64,
            retransmits: served.map_or(account.lost() / datagram, |served| served.lost_packets),
            timeouts: account.timeouts(),
            lost: self.lost_at.len() as u64,
            lost_before_exit: self.lost_at.iter().filter(|at| **at < exit_at).count() as u64,
            first_flight: self.sent.iter().filter(|at| (began..first_ack).contains(at)).count() as u32,
            max_cwnd: windows.clone().max().unwrap_or(0),
            final_cwnd: windows.next_back().unwrap_or(0),
            startup_exit: exit,
        }
    }

    /// Registers after each event since the flow began, as run number 0.
    pub(super) fn samples(&self, name: &str) -> Vec<SampleRow> {
        let served = self.server.served().first();
        let requested = served.map(|served| served.requested_at).or(self.server.requested_at());
        let Some(began) = requested.map(|at| self.since_start(at)) else { return vec![] };
        let packets = |bytes: u64| bytes as f64 / f64::from(SMALLEST);
        let account = self.account();
        let before = account.delivered_by(began);
        let row = |(at, record): &(u64, Record)| {
            let Event::Ack(ack) = record.event else { return None };
            let control = record.answer.control;
            at.checked_sub(began).map(|since| SampleRow {
                run: 0,
                flow: name.into(),
                time_s: Nanos(since).as_secs_f64(),
                cwnd_packets: Some(packets(control.cwnd)),
                ssthresh_packets: (control.ssthresh != u64::MAX).then(|| packets(control.ssthresh)),
                in_flight_packets: Some(packets(ack.pipe)),
                queue_packets: None,
                // At the time at which the flow began, an ACK may come before the last that counts as earlier.
                delivered_bytes: Some(ack.delivered.saturating_sub(before) as f64),
            })
        };
        account.records.iter().filter_map(row).collect()
    }

    /// The registers after each ACK and the end of start-up, without packets: quinn numbers its packets, and a recording counts
    /// segments.
    pub(super) fn recording(&self, config: &FlowConfig, scheme: &str) -> FlowRecording {
        let mut recording = FlowRecording::new(config, scheme);
        let (mut shown, mut exited) = (Metrics::default(), false);
        for (at, Record { event, answer }) in &self.account().records {
            if let Some(exit) = answer.exit.filter(|_| !exited) {
                exited = true;
                let event = record::Event::StartupExit { cwnd: exit.cwnd, reason: exit.reason.label() };
                recording.events.push((*at, event));
            }
            let Event::Ack(ack) = event else { continue };
            let metrics = Metrics {
                cwnd: answer.control.cwnd,
                in_flight: ack.pipe,
                ssthresh: (answer.control.ssthresh != u64::MAX).then_some(answer.control.ssthresh),
                srtt: ack.srtt.0,
                min_rtt: ack.min_rtt.0,
                pacing: None,
            };
            if metrics != shown {
                shown = metrics;
                recording.events.push((*at, record::Event::Metrics(metrics)));
            }
        }
        recording
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The records of a connection that was opened at `opened`, with their times on the clock of the run. An event without a time has
/// that of the event before.
fn timed(opened: u64, records: &[Record]) -> Vec<(u64, Record)> {
    let mut latest = opened;
    let timed = records.iter().map(|record| {
        let at = match record.event {
            Event::Start { entry, .. } | Event::Idle(entry) => Some(entry.now),
            Event::Ack(ack) => Some(ack.now),
            Event::Sent(sent) => Some(sent.now),
            Event::Lost(lost) => Some(lost.now),
            Event::Congestion(congestion) => Some(congestion.now),
            Event::LoseWindow(now) => Some(now),
            Event::Mss(_) | Event::Spurious => None,
        };
        // Times of events count from one nanosecond before the opening.
        latest = at.map_or(latest, |at| opened + at.0.saturating_sub(1));
        (latest, *record)
    });
    timed.collect()
}

impl Account {
    fn acks(&self) -> impl Iterator<Item = (u64, &firstflight_contract::Ack)> {
        self.records.iter().filter_map(|(at, record)| match &record.event {
            Event::Ack(ack) => Some((*at, ack)),
            Event::Start { .. }
            | Event::Mss(_)
            | Event::Sent(_)
            | Event::Lost(_)
            | Event::Congestion(_)
            | Event::LoseWindow(_)
            | Event::Idle(_)
            | Event::Spurious => None,
        })
    }

    /// Bytes delivered up to `at`.
    fn delivered_by(&self, at: u64) -> u64 {
        self.acks().take_while(|(time, _)| *time <= at).last().map_or(0, |(_, ack)| ack.delivered)
    }

    /// Time of the first ACK of a packet that left at `began` or later.
    fn first_ack_of_data(&self, began: u64) -> Option<u64> {
        self.acks()
            .find(|(at, ack)| {
                ack.rtt > Nanos::ZERO && at.checked_sub(ack.rtt.0).is_some_and(|left| left >= began)
            })
            .map(|(at, _)| at)
    }

    /// End of start-up on the clock of the run.
    fn exit(&self) -> Option<StartupExit> {
        self.records
            .iter()
            .find_map(|(at, record)| record.answer.exit.map(|exit| StartupExit { at: Nanos(*at), ..exit }))
    }

    fn timeouts(&self) -> u64 {
        let is = |(_, record): &&(u64, Record)| matches!(record.event, Event::Congestion(congestion) if congestion.trigger == Trigger::Timeout);
        self.records.iter().filter(is).count() as u64
    }

    /// Bytes declared lost.
    fn lost(&self) -> u64 {
        self.acks().last().map_or(0, |(_, ack)| ack.lost)
    }
}

#[cfg(test)]
mod tests {
    use firstflight_contract::{Ack, Control};
    use firstflight_host::replay::Answer;

    use super::*;

    #[test]
    fn an_event_without_a_time_has_that_of_the_event_before() {
        let record = |event| Record { event, answer: Answer { control: Control::default(), exit: None } };
        let ack = |now| record(Event::Ack(Ack { now: Nanos(now), ..Ack::default() }));
        let records = [record(Event::Mss(1200)), ack(41), record(Event::Spurious), ack(51)];
        // The connection was opened at 1000 ns, and its clock was at 1 then.
        let at: Vec<u64> = timed(1000, &records).into_iter().map(|(at, _)| at).collect();
        assert_eq!(at, [1000, 1040, 1040, 1050]);
    }
}
