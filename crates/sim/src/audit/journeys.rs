//! From endpoint to endpoint: what one hop lets out is what the next takes in.

use super::links::least;
use super::{Event, Findings, Rule};
use crate::config::{LinkConfig, Network};
use crate::observe::{Kind, Seen};
use firstflight_net::link::Passage;
use std::collections::VecDeque;

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
struct Traveller {
    /// When it left its endpoint.
    sent: u64,
    /// When it reaches the next place.
    due: u64,
    packet: Seen,
}

/// The packets of one source, hop by hop.
struct Journey<'a> {
    network: &'a Network,
    path: &'a [usize],
    /// What is on its way into each link of the path, and at last into the endpoint; oldest first.
    into: Vec<VecDeque<Traveller>>,
    /// What waits at each link that holds its packets, since it was due there.
    waiting: Vec<VecDeque<Traveller>>,
}

/// Replays every path on its own.
pub(super) fn replay(network: &Network, end: u64, log: &[Event], findings: &mut Findings) {
    let mut data: Vec<_> = network.flows.iter().map(|flow| Journey::new(network, &flow.forward)).collect();
    let mut acks: Vec<_> = network.flows.iter().map(|flow| Journey::new(network, &flow.reverse)).collect();
    let mut udp: Vec<_> = network.udp.iter().map(|source| Journey::new(network, &source.path)).collect();
    for event in log {
        let packet = match *event {
            Event::Sent { packet, .. }
            | Event::Offered { packet, .. }
            | Event::Queued { packet, .. }
            | Event::Left { packet, .. }
            | Event::Arrived { packet, .. } => packet,
            Event::Acted { .. } => continue,
        };
        let journeys = match packet.kind {
            Kind::Data => &mut data,
            Kind::Ack => &mut acks,
            Kind::Udp => &mut udp,
        };
        journeys[packet.flow as usize].go_on(event, findings);
    }
    for journey in data.iter().chain(&acks).chain(&udp) {
        journey.finish(end, findings);
    }
}

impl<'a> Journey<'a> {
    fn new(network: &'a Network, path: &'a [usize]) -> Self {
        let (into, waiting) = (vec![VecDeque::new(); path.len() + 1], vec![VecDeque::new(); path.len()]);
        Self { network, path, into, waiting }
    }

    fn go_on(&mut self, event: &Event, findings: &mut Findings) {
        match *event {
            Event::Sent { at, packet, .. } => {
                self.into[0].push_back(Traveller { sent: at, due: at, packet });
            }
            Event::Offered { at, link, packet, passage } => {
                let Some(hop) = self.hop(at, link, packet, findings) else { return };
                let Some(traveller) = self.take(hop, at, packet, findings) else { return };
                self.pass(hop, traveller, passage);
            }
            Event::Queued { at, link, packet } => {
                let Some(hop) = self.hop(at, link, packet, findings) else { return };
                let Some(traveller) = self.take(hop, at, packet, findings) else { return };
                self.waiting[hop].push_back(traveller);
            }
            Event::Left { at, link, packet, since, passage } => {
                let Some(hop) = self.hop(at, link, packet, findings) else { return };
                let known = |own: &Traveller| (own.due, own.packet.seq) == (since, packet.seq);
                let place = self.waiting[hop].iter().position(known);
                let Some(traveller) = place.and_then(|place| self.waiting[hop].remove(place)) else {
                    findings.expect(false, Rule::Conservation, at, || format!("{packet:?} did not wait"));
                    return;
                };
                let in_order = place == Some(0) || passage == Passage::Dropped;
                findings.expect(in_order, Rule::Order, at, || format!("{packet:?} overtakes its own flow"));
                self.pass(hop, traveller, passage);
            }
            Event::Arrived { at, packet } => {
                let Some(traveller) = self.take(self.path.len(), at, packet, findings) else { return };
                let least = traveller.sent + self.crossing(packet.size);
                findings.expect(at + self.path.len() as u64 >= least, Rule::Causality, at, || {
                    format!("{packet:?} cannot be there before {least} ns")
                });
            }
            Event::Acted { .. } => {}
        }
    }

    /// The place of `link` on the path.
    fn hop(&self, at: u64, link: u32, packet: Seen, findings: &mut Findings) -> Option<usize> {
        let hop = self.path.iter().position(|&own| own == link as usize);
        findings.expect(hop.is_some(), Rule::Conservation, at, || {
            format!("{packet:?} on link {link}, which is not on its path")
        });
        hop
    }

    /// Sends a packet on its way from `hop`, if it goes on.
    fn pass(&mut self, hop: usize, traveller: Traveller, passage: Passage) {
        if let Passage::Arrives(due) | Passage::Marked(due) = passage
            // Nobody sees a datagram reach its sink.
            && (traveller.packet.kind != Kind::Udp || hop + 1 < self.path.len())
        {
            self.into[hop + 1].push_back(Traveller { due, ..traveller });
        }
    }

    /// The packet that is next into `hop`, which must be this one, now.
    fn take(&mut self, hop: usize, at: u64, packet: Seen, findings: &mut Findings) -> Option<Traveller> {
        let Some(next) = self.into[hop].pop_front() else {
            findings.expect(false, Rule::Conservation, at, || format!("{packet:?} comes from nowhere"));
            return None;
        };
        let same = (next.packet.seq, next.packet.size) == (packet.seq, packet.size);
        findings.expect(same, Rule::Order, at, || format!("{packet:?} overtakes {:?}", next.packet));
        findings.expect(next.due == at, Rule::Causality, at, || {
            format!("{packet:?} was to be there at {} ns", next.due)
        });
        Some(next)
    }

    /// Nanoseconds that `size` bytes take over empty links.
    fn crossing(&self, size: u32) -> u64 {
        let links = self.path.iter().map(|&link| &self.network.links[link]);
        links.map(|link: &LinkConfig| link.delay.0 + least(link, size)).sum()
    }

    /// What is still on its way was not due before the end.
    fn finish(&self, end: u64, findings: &mut Findings) {
        for left in self.into.iter().flatten() {
            findings.expect(left.due >= end, Rule::Conservation, left.due, || {
                format!("{:?} is gone", left.packet)
            });
        }
    }
}
