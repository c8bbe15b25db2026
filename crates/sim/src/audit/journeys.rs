//! Rules for whole paths: each hop must receive exactly the packets that the previous hop sent.

use super::{Event, Findings, Rule};
use crate::config::Network;
use crate::observe::{Kind, Seen};
use crate::outcome::Outcome;
use firstflight_net::link::Passage;
use std::collections::VecDeque;

/// A packet in transit.
#[derive(Clone, Copy, Debug)]
struct Traveller {
    /// Time at which it left its endpoint, nanoseconds.
    sent: u64,
    /// Whether it is a retransmission.
    retransmission: bool,
    /// Time at which it is due at the next hop or endpoint, nanoseconds.
    due: u64,
    packet: Seen,
}

/// Packets of one source, hop by hop.
struct Journey<'a> {
    network: &'a Network,
    path: &'a [usize],
    /// Packets in transit to each link of the path and, last, to the endpoint; oldest first.
    into: Vec<VecDeque<Traveller>>,
    /// Packets waiting at each link with a dequeue-time queue, each with the time at which it was due there.
    waiting: Vec<VecDeque<Traveller>>,
    /// Time at which each dropped or lost packet left its endpoint, nanoseconds; retransmissions are left out.
    first_lost: Vec<u64>,
}

/// Replays every path separately.
pub(super) fn replay(network: &Network, outcome: &Outcome, log: &[Event], findings: &mut Findings) {
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
        journey.finish(outcome.end, findings);
    }
    for (flow, (journey, reported)) in data.iter().zip(&outcome.flows).enumerate() {
        let Some(exit) = reported.startup_exit else { continue };
        let sent =
            |by: &dyn Fn(u64) -> bool| journey.first_lost.iter().filter(|&&sent| by(sent)).count() as u64;
        // A packet that left at the very time of the exit may have left before or after it.
        let counted = sent(&|at| at < exit.at.0)..=sent(&|at| at <= exit.at.0);
        findings.expect(counted.contains(&reported.lost_before_exit), Rule::Results, outcome.end, || {
            let reported = reported.lost_before_exit;
            format!("flow {flow} reports {reported} lost before its exit, the log shows {counted:?}")
        });
    }
}

impl<'a> Journey<'a> {
    fn new(network: &'a Network, path: &'a [usize]) -> Self {
        let (into, waiting) = (vec![VecDeque::new(); path.len() + 1], vec![VecDeque::new(); path.len()]);
        Self { network, path, into, waiting, first_lost: vec![] }
    }

    fn go_on(&mut self, event: &Event, findings: &mut Findings) {
        match *event {
            Event::Sent { at, packet, retransmission } => {
                self.into[0].push_back(Traveller { sent: at, retransmission, due: at, packet });
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
                let least = traveller.sent + self.network.crossing(self.path, packet.size);
                findings.expect(at >= least, Rule::Causality, at, || {
                    format!("{packet:?} arrives before {least} ns, the earliest possible time")
                });
            }
            Event::Acted { .. } => {}
        }
    }

    /// Position of `link` on the path.
    fn hop(&self, at: u64, link: u32, packet: Seen, findings: &mut Findings) -> Option<usize> {
        let hop = self.path.iter().position(|&own| own == link as usize);
        findings.expect(hop.is_some(), Rule::Conservation, at, || {
            format!("{packet:?} on link {link}, which is not on its path")
        });
        hop
    }

    /// Moves a packet from `hop` to the next hop, if it was not lost.
    fn pass(&mut self, hop: usize, traveller: Traveller, passage: Passage) {
        if let Passage::Arrives(due) | Passage::Marked(due) = passage
            // The log does not record the arrival of a datagram at its sink.
            && (traveller.packet.kind != Kind::Udp || hop + 1 < self.path.len())
        {
            let next = &mut self.into[hop + 1];
            // Behind two lanes packets may arrive before those that were sent earlier.
            let place = match self.network.links[self.path[hop]].lanes {
                Some(_) => next.partition_point(|own| own.due <= due),
                None => next.len(),
            };
            next.insert(place, Traveller { due, ..traveller });
        }
        let lost = matches!(passage, Passage::Dropped | Passage::LostOnWire);
        if lost && !traveller.retransmission && traveller.packet.seq != u32::MAX {
            self.first_lost.push(traveller.sent);
        }
    }

    /// Next packet due at `hop`; checks that it is `packet` and that it is due now.
    fn take(&mut self, hop: usize, at: u64, packet: Seen, findings: &mut Findings) -> Option<Traveller> {
        let is = |own: &Traveller| (own.packet.seq, own.packet.size) == (packet.seq, packet.size);
        let lanes = hop > 0 && self.network.links[self.path[hop - 1]].lanes.is_some();
        // Packets of two lanes that arrive at the same instant have no order.
        let together = self.into[hop].iter().take_while(|own| lanes && own.due == at).position(is);
        let Some(next) = self.into[hop].remove(together.unwrap_or(0)) else {
            findings.expect(false, Rule::Conservation, at, || format!("{packet:?} was never sent"));
            return None;
        };
        let same = is(&next);
        findings.expect(same, Rule::Order, at, || format!("{packet:?} overtakes {:?}", next.packet));
        findings
            .expect(next.due == at, Rule::Causality, at, || format!("{packet:?} was due at {} ns", next.due));
        Some(next)
    }

    /// Checks that no packet still in transit was due before the end.
    fn finish(&self, end: u64, findings: &mut Findings) {
        for left in self.into.iter().flatten() {
            findings.expect(left.due >= end, Rule::Conservation, left.due, || {
                format!("{:?} vanished", left.packet)
            });
        }
    }
}
