//! Rules for senders: the segments they may send under their windows.

use super::{Event, Findings, Rule};
use crate::config::{FlowConfig, Network};
use crate::observe::{Kind, Seen};
use crate::sender::info::CaState;
use crate::sender::stack::{Datagrams, Fill, RecoveryRule, Reduction, Stack};
use firstflight_net::link::Passage;

/// Sequence number of a SYN, in place of a segment number.
const SYN: u32 = u32::MAX;

/// Segments that Linux does not pace at the beginning of a connection.
const UNPACED: u32 = 10;

/// State of one sender, reconstructed from its packets and ACKs.
struct Replay {
    flow: u32,
    stack: Stack,
    /// Window in the newest ACK.
    offered: u32,
    /// First unacknowledged segment, and one past the highest segment sent.
    una: u32,
    max: u32,
    /// One past the highest segment that may be marked lost while it is in the network: of those sent before the last timeout, or
    /// before a retransmission whose first copy was still there.
    doubtful: u32,
    /// First segment behind a proportional reduction.
    reducing_until: u32,
    /// Whether a round trip can be shorter than a tick of Linux's clock. Segments then have equal send times, and RACK marks
    /// segments lost that are in the network.
    unordered: bool,
    /// Whether data packets overtake each other: a sender with SACK marks segments lost that are in the network.
    overtakes: bool,
    /// Least time between two segments of a first window with a pace, nanoseconds; zero without one.
    gap: u64,
    /// Departure of the last segment that Linux does not pace.
    unpaced_until: u64,
    /// Segments beyond `una` reported by SACK.
    sacked: Vec<bool>,
    duplicates: u32,
    /// Copies of each segment that are in the network.
    copies: Vec<i32>,
    /// Bytes behind the headers of each segment when it last left.
    sizes: Vec<u32>,
    /// Bytes of the application's data in each segment.
    data: Vec<u32>,
    /// Headers of a packet, bytes.
    header: u32,
}

/// Window and state of a sender when it sent a packet.
#[derive(Clone, Copy)]
struct Allowance {
    window: f64,
    state: CaState,
    /// Whether a timer fired before the sender was seen to act.
    by_timer: bool,
}

/// Replays every sender separately.
pub(super) fn replay(network: &Network, log: &[Event], findings: &mut Findings) {
    let by_flow = split(network, log);
    for ((flow, config), log) in (0..).zip(&network.flows).zip(by_flow) {
        let mut replay = Replay {
            flow,
            stack: *config.stack,
            offered: config.stack.receive_window.at(0),
            una: 0,
            max: 0,
            doubtful: 0,
            reducing_until: 0,
            overtakes: config.forward.iter().any(|&link| network.links[link].lanes.is_some()),
            gap: config.stack.initial_pace.map_or(0, |pace| {
                // Not even the SYN can be faster.
                let rtt = network.crossing(&config.forward, 0) + network.crossing(&config.reverse, 0);
                rtt / u64::from(pace)
            }),
            unpaced_until: 0,
            unordered: least_round_trip(network, config) < MICROSECOND,
            sacked: vec![],
            duplicates: 0,
            copies: vec![],
            sizes: vec![],
            data: vec![],
            header: config.header,
        };
        let mut events = with_allowances(&log);
        // Timers that fired before an ACK are logged after it. At equal times, packets leave the network
        // first.
        events.sort_by_key(|(event, _)| (event.at(), !leaves_the_network(event)));
        for (event, allowance) in events {
            replay.apply(event, allowance, findings);
        }
    }
}

/// Tick of Linux's clock, nanoseconds.
const MICROSECOND: u64 = 1000;

/// Minimum time from a full segment to its ACK, nanoseconds.
fn least_round_trip(network: &Network, flow: &FlowConfig) -> u64 {
    let there = network.crossing(&flow.forward, flow.stack.mss + flow.header);
    there + network.crossing(&flow.reverse, flow.ack_size.into())
}

/// Events of each flow that concern its sender.
fn split<'a>(network: &Network, log: &'a [Event]) -> Vec<Vec<&'a Event>> {
    let mut flows = vec![vec![]; network.flows.len()];
    for event in log {
        let flow = match *event {
            Event::Sent { packet, .. } if is_data(&packet) => packet.flow,
            Event::Offered { packet, .. } | Event::Left { packet, .. } | Event::Arrived { packet, .. }
                if packet.kind != Kind::Udp =>
            {
                packet.flow
            }
            Event::Acted { flow, .. } => flow,
            _ => continue,
        };
        flows[flow as usize].push(event);
    }
    flows
}

/// Events of one flow; for each packet sent, the window under which it was sent.
fn with_allowances<'a>(log: &[&'a Event]) -> Vec<(&'a Event, Option<Allowance>)> {
    let mut events: Vec<(&'a Event, Option<Allowance>)> = vec![];
    let mut undecided: Vec<usize> = vec![];
    let mut before = Allowance { window: 0.0, state: CaState::Open, by_timer: false };
    for &event in log {
        if let Event::Acted { at, window, state, .. } = *event {
            let after = Allowance { window, state, by_timer: false };
            for place in undecided.drain(..) {
                // A timer that fired earlier sent under the window of that time.
                let earlier = events[place].0.at() < at && before.window > window;
                let by_timer = events[place].0.at() < at;
                events[place].1 = Some(Allowance { by_timer, ..if earlier { before } else { after } });
            }
            before = after;
            continue;
        }
        if let Event::Sent { .. } = event {
            undecided.push(events.len());
        }
        events.push((event, None));
    }
    events
}

/// Whether the event is the loss or the arrival of a data packet.
fn leaves_the_network(event: &Event) -> bool {
    match event {
        Event::Arrived { packet, .. } => is_data(packet),
        Event::Offered { packet, passage, .. } | Event::Left { packet, passage, .. } => {
            is_data(packet) && matches!(passage, Passage::Dropped | Passage::LostOnWire)
        }
        _ => false,
    }
}

fn is_data(packet: &Seen) -> bool {
    packet.kind == Kind::Data && packet.seq != SYN
}

impl Replay {
    fn apply(&mut self, event: &Event, allowance: Option<Allowance>, findings: &mut Findings) {
        match *event {
            Event::Arrived { packet, .. } | Event::Offered { packet, .. } | Event::Left { packet, .. }
                if leaves_the_network(event) =>
            {
                self.count(packet.seq, -1);
            }
            Event::Sent { at, packet, retransmission } => {
                self.count(packet.seq, 1);
                self.sizes.resize(self.copies.len(), 0);
                self.sizes[packet.seq as usize] = packet.size - self.header;
                self.data.resize(self.copies.len(), 0);
                self.data[packet.seq as usize] = packet.payload;
                self.sent(at, packet.seq, retransmission, allowance, findings);
            }
            Event::Arrived { packet, .. } if packet.kind == Kind::Ack => self.acknowledged(&packet),
            _ => {}
        }
    }

    fn acknowledged(&mut self, ack: &Seen) {
        if ack.seq >= self.una {
            self.offered = ack.offered;
        }
        if ack.seq > self.una {
            self.una = ack.seq;
            self.duplicates = 0;
        } else if ack.seq == self.una {
            self.duplicates += 1;
        }
        for (start, end) in ack.blocks.into_iter().take_while(|(start, end)| start < end) {
            let end = end as usize;
            if end > self.sacked.len() {
                self.sacked.resize(end, false);
            }
            self.sacked[start as usize..end].fill(true);
        }
    }

    fn sent(
        &mut self,
        at: u64,
        segment: u32,
        retransmission: bool,
        allowance: Option<Allowance>,
        findings: &mut Findings,
    ) {
        if allowance.is_some_and(|allowance| allowance.state == CaState::Loss) {
            self.doubtful = self.max;
        }
        let new = segment >= self.max;
        findings.expect(new != retransmission, Rule::Window, at, || {
            format!("{segment} is flagged as retransmission: {retransmission}; {} have been sent", self.max)
        });
        if !new {
            // RACK takes the first copy's arrival for that of the second if a shortest round trip has passed, and marks what was
            // sent between the two.
            if self.stack.recovery.is_rack() && self.copies[segment as usize] > 1 {
                self.doubtful = self.max;
            }
            return;
        }
        findings.expect(segment == self.max, Rule::Window, at, || {
            format!("{segment} is sent, expected {}", self.max)
        });
        self.max = segment + 1;
        if let Some(datagrams) = self.stack.rules.datagrams {
            return self.datagram_sent(at, segment, &datagrams, allowance, findings);
        }
        self.paced(at, segment, findings);
        let unacknowledged = self.max - self.una.min(self.max);
        let window = self.stack.receive_window;
        // The window of a buffer that grows depends on the times at which its application read.
        let room = if window.is_tuned() { self.offered } else { window.at(self.una) };
        findings.expect(unacknowledged <= room, Rule::Window, at, || {
            format!("{unacknowledged} segments are beyond the receive window")
        });
        let Some(Allowance { window, state, .. }) = allowance else {
            findings.expect(false, Rule::Window, at, || {
                format!("{segment} is sent without an action of its sender")
            });
            return;
        };
        let rack = self.stack.recovery.is_rack();
        let doubtful = state == CaState::Loss || self.una < self.doubtful;
        if rack
            && (doubtful || self.unordered || !self.stack.recovery.is_selective() && state != CaState::Open)
        {
            // Segments that a timeout or RACK marked lost may still be in the network until they are acknowledged, also in a
            // recovery that follows. Without SACK a duplicate ACK may be caused by a spurious retransmission. The
            // network then carries more segments than the sender counts.
            return;
        }
        if self.overtakes && self.stack.recovery.is_selective() {
            return;
        }
        let recovers_by_pipe = self.stack.recovery.is_selective() && state == CaState::Recovery;
        let flight = if recovers_by_pipe || rack { self.in_network() } else { self.flight() };
        // RFC 8985 section 7.3 allows one probe beyond the window.
        let beyond = if rack { 1 } else { self.limited_transmit() };
        let most = window.floor() as i64 + beyond;
        findings.expect(flight <= most, Rule::Window, at, || {
            format!(
                "{segment} of flow {} brings the flight to {flight}, window {window}, state {state:?}",
                self.flow
            )
        });
    }

    /// A new segment of QUIC is sent: windows count bytes.
    fn datagram_sent(
        &mut self,
        at: u64,
        segment: u32,
        datagrams: &Datagrams,
        allowance: Option<Allowance>,
        findings: &mut Findings,
    ) {
        let Some(Allowance { window, state, by_timer }) = allowance else {
            findings.expect(false, Rule::Window, at, || {
                format!("{segment} is sent without an action of its sender")
            });
            return;
        };
        let (mss, bytes_of) = (f64::from(self.stack.mss), |segment: usize| f64::from(self.sizes[segment]));
        // Of probes of the path MTU, one is out at a time.
        let probe = datagrams.discovery.sizes.iter().max().copied().unwrap_or(0);
        let beyond = self.una as usize..self.max as usize;
        let data: f64 = beyond.clone().map(|it| f64::from(self.data[it])).sum();
        let offered = f64::from(self.stack.receive_window.at(self.una)) * mss;
        let room = offered.min(self.stack.send_buffer.map_or(f64::INFINITY, |bytes| bytes as f64));
        findings.expect(data <= room, Rule::Window, at, || {
            format!("{data} bytes of data are beyond the receive window or the send buffer, {room} bytes")
        });
        // After a probe timeout two packets leave whatever the window.
        if by_timer {
            self.doubtful = self.max;
        }
        if state == CaState::Loss || self.una < self.doubtful || self.overtakes {
            return;
        }
        // A proportional reduction takes the window down while packets arrive, and its allowance comes on top.
        if datagrams.reduction != Reduction::AtOnce && state == CaState::Recovery {
            self.reducing_until = self.max;
        }
        if self.una < self.reducing_until {
            return;
        }
        let carried = beyond.filter(|&it| self.copies[it] > 0 && self.sacked.get(it) != Some(&true));
        let flight: f64 = carried.map(bytes_of).sum();
        let crossing = match datagrams.fill {
            Fill::AcrossTheEdge => f64::from(self.stack.largest_datagram),
            Fill::Whole | Fill::BelowTheEdge | Fill::Cut(_) => 0.0,
        };
        let most = window.max(datagrams.least_window as f64) * mss + crossing + f64::from(probe);
        findings.expect(flight <= most + 0.5, Rule::Window, at, || {
            format!("{segment} of flow {} brings the flight to {flight} bytes, at most {most}", self.flow)
        });
    }

    /// A new segment is sent. Before the first ACK, those behind the tenth are spaced by the pace.
    fn paced(&mut self, at: u64, segment: u32, findings: &mut Findings) {
        if segment < UNPACED {
            self.unpaced_until = at;
        } else if self.gap > 0 && self.una == 0 {
            let due = self.unpaced_until + u64::from(segment + 1 - UNPACED) * self.gap;
            findings.expect(at >= due, Rule::Pace, at, || {
                format!("{segment} is sent before its time at the pace, {due} ns")
            });
        }
    }

    fn count(&mut self, segment: u32, change: i32) {
        let place = segment as usize;
        if place >= self.copies.len() {
            self.copies.resize(place + 1, 0);
        }
        self.copies[place] += change;
    }

    /// Segments not reported by SACK of which the network carries a copy. A pipe may count fewer than the
    /// unacknowledged segments, but not fewer than this: where packets keep their order, segments marked lost are lost.
    fn in_network(&self) -> i64 {
        let copies = self.copies.get(self.una as usize..).unwrap_or_default();
        let carried = (self.una as usize..).zip(copies).filter(|&(_, &copies)| copies > 0);
        carried.filter(|&(segment, _)| self.sacked.get(segment) != Some(&true)).count() as i64
    }

    /// Unacknowledged segments, without those reported by SACK as in RFC 6675.
    fn flight(&self) -> i64 {
        let unacknowledged = i64::from(self.max) - i64::from(self.una);
        let known = self.sacked.get(self.una as usize..).unwrap_or_default();
        let arrived = known.iter().filter(|&&sacked| sacked).count() as i64;
        unacknowledged - if self.stack.rules.recovery == RecoveryRule::Ns2 { 0 } else { arrived }
    }

    /// RFC 3042: one new segment beyond the window for each of the first two duplicate ACKs.
    fn limited_transmit(&self) -> i64 {
        if self.stack.limited_transmit { self.duplicates.min(2).into() } else { 0 }
    }
}
