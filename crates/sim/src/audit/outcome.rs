//! Rule for results: they must match the counts of the log.

use super::links::Counts as LinkCounts;
use super::{Event, Findings, Rule};
use crate::config::{Network, QueueConfig};
use crate::observe::Kind;
use crate::outcome::Outcome;
use firstflight_net::link::Passage;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    sent: u64,
    retransmits: u64,
    lost: u64,
    delivered: u32,
}

pub(super) fn compare(
    network: &Network,
    outcome: &Outcome,
    links: &[LinkCounts],
    log: &[Event],
    findings: &mut Findings,
) {
    let mut counts = vec![Counts::default(); outcome.flows.len()];
    for event in log {
        match *event {
            Event::Sent { packet, retransmission, .. }
                if packet.kind == Kind::Data && packet.seq != u32::MAX =>
            {
                let counts = &mut counts[packet.flow as usize];
                counts.sent += 1;
                counts.retransmits += u64::from(retransmission);
            }
            Event::Offered { packet, passage: Passage::Dropped | Passage::LostOnWire, .. }
            | Event::Left { packet, passage: Passage::Dropped | Passage::LostOnWire, .. }
                if packet.kind == Kind::Data && packet.seq != u32::MAX =>
            {
                counts[packet.flow as usize].lost += 1;
            }
            Event::Arrived { packet, .. } if packet.kind == Kind::Ack => {
                let delivered = &mut counts[packet.flow as usize].delivered;
                *delivered = packet.seq.max(*delivered);
            }
            _ => {}
        }
    }
    for (flow, (counts, reported)) in counts.iter().zip(&outcome.flows).enumerate() {
        let reported = Counts {
            sent: reported.sent,
            retransmits: reported.retransmits,
            lost: reported.lost,
            delivered: reported.delivered,
        };
        // A host that needs time for ACKs may not have come to the last ones, and has lost those beyond its backlog.
        let needs_time = network.flows[flow].stack.sack_walk > 0;
        let delivered = if needs_time { counts.delivered.min(reported.delivered) } else { counts.delivered };
        findings.expect(Counts { delivered, ..*counts } == reported, Rule::Results, outcome.end, || {
            format!("flow {flow} reports {reported:?}, the log shows {counts:?}")
        });
    }
    for (link, (replay, reported)) in links.iter().zip(&outcome.links).enumerate() {
        let stats = &reported.stats;
        let exact = [
            (stats.drops, replay.drops),
            (stats.wire_losses, replay.wire_losses),
            (stats.marks, replay.marks),
        ];
        // A link without a limit keeps no list of its packets: it counts each as it comes, also one whose transmission begins
        // after the end.
        let as_they_come = network.links[link].queue == QueueConfig::Unlimited;
        let most = |until_end, later| if as_they_come { until_end + later } else { until_end };
        let packets = replay.packets..=most(replay.packets, replay.later_packets);
        let bytes = replay.bytes..=most(replay.bytes, replay.later_bytes);
        let holds = exact.iter().all(|(reported, counted)| reported == counted)
            && packets.contains(&stats.packets)
            && bytes.contains(&stats.bytes);
        findings.expect(holds, Rule::Results, outcome.end, || {
            format!("link {link} reports {stats:?}, the log shows {replay:?}")
        });
    }
}
