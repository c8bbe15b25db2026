//! Rules for receivers: the contents and the time of ACKs.

use super::{Event, Findings, Rule};
use crate::config::Network;
use crate::observe::{Kind, Seen};
use crate::packet;
use crate::receiver::{AckPolicy, SLEEPS_AFTER};
use firstflight_contract::{Moment, Nanos};

/// Sequence number of a SYN, in place of a segment number.
const SYN: u32 = u32::MAX;

/// State of one receiver, reconstructed from the log.
struct Replay {
    policy: AckPolicy,
    /// Wake-up time of the receiving host, nanoseconds; the last arrival, and the time at which the host is awake after it.
    wakes_in: u64,
    last_arrival: Moment,
    awake_at: u64,
    /// Whether data opens the connection: the receiver then ignores segments before the first.
    opens_with_data: bool,
    /// Whether each segment has arrived.
    arrived: Vec<bool>,
    /// First missing segment: now, at the start of this instant, and after the segment that woke the host.
    next: u32,
    next_before: u32,
    next_woken: u32,
    now: u64,
    /// Time since which data waits for an ACK.
    since: Option<u64>,
}

/// Replays every receiver separately.
pub(super) fn replay(network: &Network, log: &[Event], findings: &mut Findings) {
    let receivers = network.flows.iter().map(|flow| Replay {
        policy: flow.ack_policy,
        wakes_in: flow.stack.wakes_in(),
        last_arrival: Moment::NEVER,
        awake_at: 0,
        opens_with_data: flow.stack.opens_with_data(),
        arrived: vec![],
        next: 0,
        next_before: 0,
        next_woken: 0,
        now: 0,
        since: None,
    });
    let mut receivers: Vec<Replay> = receivers.collect();
    // A delayed ACK may be logged after a later arrival: sort the events of each receiver by time.
    let mut events: Vec<&Event> = log.iter().filter(|event| concerns_a_receiver(event)).collect();
    events.sort_by_key(|event| event.at());
    for event in events {
        match *event {
            Event::Arrived { at, packet } if packet.seq == SYN => {
                receivers[packet.flow as usize].last_arrival = Moment::at(Nanos(at));
            }
            Event::Arrived { at, packet } => receivers[packet.flow as usize].data(at, packet.seq, findings),
            Event::Sent { at, packet, .. } => receivers[packet.flow as usize].ack(at, &packet, findings),
            _ => {}
        }
    }
}

fn concerns_a_receiver(event: &Event) -> bool {
    match event {
        Event::Arrived { packet, .. } => packet.kind == Kind::Data,
        // The answer to a SYN, or to a retransmitted SYN, acknowledges no data.
        Event::Sent { packet, .. } => packet.kind == Kind::Ack && packet.flags & packet::PUSH_SYN == 0,
        _ => false,
    }
}

impl Replay {
    fn tick(&mut self, at: u64, findings: &mut Findings) {
        if at > self.now {
            self.now = at;
            self.next_before = self.next;
        }
        let latest = self.since.map_or(u64::MAX, |since| since + self.policy.timer + self.wakes_in);
        findings.expect(at <= latest, Rule::Acknowledgement, at, || format!("an ACK was due at {latest} ns"));
    }

    fn data(&mut self, at: u64, segment: u32, findings: &mut Findings) {
        self.tick(at, findings);
        let slept = self.last_arrival.elapsed(Nanos(at)).is_none_or(|idle| idle.0 > SLEEPS_AFTER);
        let wakes = self.wakes_in > 0 && slept;
        self.last_arrival = Moment::at(Nanos(at));
        self.receive(at, segment);
        if wakes {
            (self.awake_at, self.next_woken) = (at + self.wakes_in, self.next);
        }
    }

    fn receive(&mut self, at: u64, segment: u32) {
        if self.opens_with_data && self.next == 0 && segment > 0 {
            return;
        }
        self.since.get_or_insert(at);
        let place = segment as usize;
        if place >= self.arrived.len() {
            self.arrived.resize(place + 1, false);
        }
        self.arrived[place] = true;
        while self.arrived.get(self.next as usize) == Some(&true) {
            self.next += 1;
        }
    }

    fn ack(&mut self, at: u64, ack: &Seen, findings: &mut Findings) {
        self.tick(at, findings);
        // An ACK sent by the timer leaves before packets that arrive at the same instant.
        let timed = self.since.is_some_and(|since| since < at && since + self.policy.timer == at);
        // A host that wakes answers the segments that came meanwhile one after the other.
        let wakes = at <= self.awake_at;
        let most = self.next;
        let least = match (timed, wakes) {
            (true, _) => self.next_before,
            (false, true) => self.next_woken,
            (false, false) => most,
        };
        // Other packets wait for the next ACK.
        self.since = ((timed || wakes) && ack.seq < most).then_some(at);
        findings.expect((least..=most).contains(&ack.seq), Rule::Acknowledgement, at, || {
            format!("flow {} acknowledges up to {}, has received up to {most}", ack.flow, ack.seq)
        });
        // The first block may report data that came twice (RFC 2883).
        let twice = ack.flags & packet::DUPLICATE != 0;
        for (index, (start, end)) in ack.blocks.into_iter().take_while(|(start, end)| start < end).enumerate()
        {
            let there = self.arrived.get(start as usize..end as usize);
            let in_place = start > ack.seq || twice && index == 0;
            let covered = in_place && there.is_some_and(|there| there.iter().all(|&there| there));
            findings.expect(covered, Rule::Acknowledgement, at, || {
                format!("flow {} reports {start} to {end}, which it has not received", ack.flow)
            });
        }
    }
}
