//! What a receiver may say, and when.

use super::{Event, Findings, Rule};
use crate::config::Network;
use crate::observe::{Kind, Seen};
use crate::packet;
use crate::receiver::AckPolicy;

/// A handshake's packet, in place of a segment number.
const SYN: u32 = u32::MAX;

/// What has reached one receiver.
struct Replay {
    policy: AckPolicy,
    /// How long its host takes to wake.
    wakes_in: u64,
    /// Data opens the connection: before its first segment nothing is taken.
    opens_with_data: bool,
    /// By segment.
    arrived: Vec<bool>,
    /// The first segment missing, now and as it was when this instant began.
    next: u32,
    next_before: u32,
    now: u64,
    /// Since when something has not been acknowledged.
    since: Option<u64>,
}

/// Replays every receiver on its own.
pub(super) fn replay(network: &Network, log: &[Event], findings: &mut Findings) {
    let receivers = network.flows.iter().map(|flow| Replay {
        policy: flow.ack_policy,
        wakes_in: flow.stack.wakes_in(),
        opens_with_data: flow.stack.opens_with_data(),
        arrived: vec![],
        next: 0,
        next_before: 0,
        now: 0,
        since: None,
    });
    let mut receivers: Vec<Replay> = receivers.collect();
    // A delayed ACK may be logged after a later arrival: a receiver's own order is that of time.
    let mut events: Vec<&Event> = log.iter().filter(|event| concerns_a_receiver(event)).collect();
    events.sort_by_key(|event| event.at());
    for event in events {
        match *event {
            Event::Arrived { at, packet } => receivers[packet.flow as usize].data(at, packet.seq, findings),
            Event::Sent { at, packet, .. } => receivers[packet.flow as usize].ack(at, &packet, findings),
            _ => {}
        }
    }
}

fn concerns_a_receiver(event: &Event) -> bool {
    match event {
        Event::Arrived { packet, .. } => packet.kind == Kind::Data && packet.seq != SYN,
        // The answer to a SYN acknowledges no data, nor does that to one which comes again.
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
        // An ACK that the timer sends leaves before what arrives at the same instant.
        let timed = self.since.is_some_and(|since| since < at && since + self.policy.timer == at);
        let (least, most) = (if timed { self.next_before } else { self.next }, self.next);
        // What arrived at the same instant waits for the next one.
        self.since = (timed && ack.seq < most).then_some(at);
        findings.expect((least..=most).contains(&ack.seq), Rule::Acknowledgement, at, || {
            format!("flow {} acknowledges up to {}, and has everything up to {most}", ack.flow, ack.seq)
        });
        for (start, end) in ack.blocks.into_iter().take_while(|(start, end)| start < end) {
            let there = self.arrived.get(start as usize..end as usize);
            let held = start > ack.seq && there.is_some_and(|there| there.iter().all(|&there| there));
            findings.expect(held, Rule::Acknowledgement, at, || {
                format!("flow {} says that it holds {start} to {end}", ack.flow)
            });
        }
    }
}
