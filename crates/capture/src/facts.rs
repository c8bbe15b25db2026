//! Packets of a connection before copies are left out: which of them report something new, and how soon the other side answers.

use std::collections::VecDeque;

use firstflight_contract::Nanos;

use crate::flows::{Flow, Packet};
use crate::packet::Flags;
use crate::stamps::ticks;

/// Packets, or reports of missing data, that are looked at behind a packet.
pub(crate) const MOST_COPIES: usize = 256;

/// Facts about the packets of a file, before copies are left out.
pub(crate) struct Facts {
    /// Whether a packet reports what none before it did.
    pub(crate) fresh: Vec<bool>,
    /// Whether its side sent a higher time stamp before, so that the packet is no new transmission (RFC 7323, section 4.1: the clock of the
    /// time stamps never runs back).
    pub(crate) stale: Vec<bool>,
    /// Number of distinct packets of each side that are fresh: with numbers of their own, and pure acknowledgements.
    pub(crate) distinct: [[u32; 2]; 2],
    /// Shortest time from a side's packet to the answer, at the point of capture; zero if there was none.
    pub(crate) round_trip: [Nanos; 2],
    /// Each side's reports that data is missing: time, acknowledgement, and highest edge of a SACK block.
    reports: [Vec<(Nanos, u64, u64)>; 2],
}

impl Facts {
    /// `indices` in the order of their times.
    pub(crate) fn of(flow: &Flow, indices: &[u32]) -> Self {
        let mut facts = Self {
            fresh: vec![false; flow.packets.len()],
            stale: vec![false; flow.packets.len()],
            distinct: [[0; 2]; 2],
            round_trip: [Nanos::NEVER; 2],
            reports: [vec![], vec![]],
        };
        // highest number and acknowledgement of each side, and its data that waits for an answer
        let mut high: [Option<(u64, u64)>; 2] = [None; 2];
        let mut waiting: [VecDeque<(u64, Nanos)>; 2] = Default::default();
        let mut stamps: [Option<u32>; 2] = [None; 2];
        for &index in indices {
            let packet = &flow.packets[index as usize];
            let (own, peer) = (packet.side as usize, packet.side.other() as usize);
            let (end, ack) = high[own].unwrap_or((0, 0));
            let pure = packet.is_pure();
            let fresh = if pure { packet.ack > ack || high[own].is_none() } else { packet.end() > end };
            facts.fresh[index as usize] = fresh;
            facts.distinct[own][usize::from(pure)] += u32::from(fresh);
            if let Some((stamp, _)) = packet.timestamps {
                let latest = stamps[own].get_or_insert(stamp);
                facts.stale[index as usize] = ticks(*latest, stamp) < 0;
                *latest = if ticks(*latest, stamp) > 0 { stamp } else { *latest };
            }
            if !pure && fresh {
                waiting[own].push_back((packet.end(), packet.at));
            }
            if packet.flags.has(Flags::ACK) {
                while let Some(&(_, at)) = waiting[peer].front().filter(|(end, _)| *end <= packet.ack) {
                    waiting[peer].pop_front();
                    facts.round_trip[peer] = facts.round_trip[peer].min(packet.at.saturating_sub(at));
                }
                let top = flow.sacks(packet).iter().map(|(_, end)| *end).max().unwrap_or(0);
                if top > 0 || pure && !fresh {
                    facts.reports[own].push((packet.at, packet.ack, top));
                }
            }
            high[own] = Some((end.max(packet.end()), ack.max(packet.ack)));
        }
        for round_trip in &mut facts.round_trip {
            *round_trip = Some(*round_trip).filter(|time| *time != Nanos::NEVER).unwrap_or_default();
        }
        facts
    }

    /// Whether the other side reported between the two times of a packet that it is missing.
    pub(crate) fn reported(&self, packet: &Packet, again: &Packet) -> bool {
        let reports = &self.reports[packet.side.other() as usize];
        let first = reports.partition_point(|(at, ..)| *at <= packet.at);
        let between = reports[first..].iter().take_while(|(at, ..)| *at < again.at);
        let missing = |&(_, ack, top): &(Nanos, u64, u64)| {
            ack <= packet.seq && top > packet.end() || ack == packet.seq && top == 0
        };
        between.take(MOST_COPIES).any(missing)
    }
}
