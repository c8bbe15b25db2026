//! Rules for links that decide on arrival.

use super::{Event, Findings, Rule};
use crate::config::{LinkConfig, Network, QueueConfig};
use crate::observe::{Kind, Seen};
use crate::wire::SYN;
use firstflight_contract::Sum;
use firstflight_net::link::Passage;
use firstflight_net::queue::Room;
use firstflight_net::queue::red::RedConfig;
use firstflight_net::rate_trace::{RateTrace, TracePlayer};
use firstflight_net::serialisation::LATEST;
use firstflight_net::token_bucket::BucketConfig;
use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// State of one link, reconstructed from its log.
#[derive(Clone, Debug)]
pub(super) struct Replay {
    /// Time of the last offer.
    offered_at: u64,
    /// End of the last transmission, and the latest that it may have if the log has none.
    free_at: u64,
    latest: u64,
    /// Time since which the link has been busy.
    busy_since: u64,
    /// Position in the link's rate trace.
    player: TracePlayer,
    waiting: Waiting,
    policer: Option<Bucket>,
    shaper: Option<Bucket>,
    counts: Counts,
}

/// The bucket of a policer or a shaper by virtual scheduling (ITU-T I.371, annex A), while the link counts tokens: what
/// passes goes to an imaginary line of the bucket's rate, and no packet may join it that would leave it later than the burst
/// takes.
#[derive(Clone, Debug)]
struct Bucket {
    config: BucketConfig,
    /// End of the last transmission of the line, nanoseconds times the rate.
    ends: Sum,
}

impl Bucket {
    fn full(config: BucketConfig) -> Self {
        Self { config, ends: Sum::default() }
    }

    /// End of the transmission of `size` bytes that come at `at`, if they pass.
    fn end(&self, at: u64, size: u32) -> Option<Sum> {
        const PER_BYTE: u64 = 8_000_000_000;
        let mut now = Sum::default();
        now.add_product(at, self.config.rate.0);
        let mut ends = self.ends.max(now);
        ends.add_product(size.into(), PER_BYTE);
        now.add_product(self.config.burst, PER_BYTE);
        (ends <= now).then_some(ends)
    }

    /// Whether a packet of `size` bytes passes at `at`.
    fn passes(&mut self, at: u64, size: u32) -> bool {
        let end = self.end(at, size);
        self.ends = end.unwrap_or(self.ends);
        end.is_some()
    }

    /// First time from `from` on at which a packet of `size` bytes passes; it does then.
    fn first(&mut self, from: u64, size: u32) -> u64 {
        let (mut low, mut high) = (from, LATEST.max(from));
        while low < high {
            let middle = low + (high - low) / 2;
            match self.end(middle, size) {
                Some(_) => high = middle,
                None => low = middle + 1,
            }
        }
        self.passes(low, size);
        low
    }
}

/// Transmissions that had to wait, in the order of their starts. Their sum is kept, because a queue may hold a million packets,
/// and every arrival needs the sum.
#[derive(Clone, Debug, Default)]
struct Waiting {
    transmissions: VecDeque<Transmission>,
    bytes: u64,
}

/// A transmission that had to wait. After a packet that was lost on the wire, whose end is in no log, its start is known but for
/// the rounding of the link.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    earliest: u64,
    latest: u64,
    size: u32,
}

impl Waiting {
    fn push(&mut self, transmission: Transmission) {
        self.transmissions.push_back(transmission);
        self.bytes += u64::from(transmission.size);
    }

    /// Lets the transmissions go that began before `at`, whatever the rounding.
    fn pass(&mut self, at: u64) {
        while let Some(gone) = self.transmissions.front().filter(|it| it.latest < at) {
            self.bytes -= u64::from(gone.size);
            self.transmissions.pop_front();
        }
    }

    fn packets(&self) -> usize {
        self.transmissions.len()
    }

    /// Packets and bytes that begin later than `at`, whatever the rounding.
    fn after(&self, at: u64) -> (usize, u64) {
        let begun = self.transmissions.iter().take_while(|it| it.earliest <= at);
        begun.fold((self.packets(), self.bytes), |(packets, bytes), it| {
            (packets - 1, bytes - u64::from(it.size))
        })
    }
}

/// Counters of one link.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Packets and bytes of transmissions that the run counts.
    pub(super) packets: u64,
    pub(super) bytes: u64,
    /// Packets and bytes of transmissions that begin too late to be counted.
    pub(super) later_packets: u64,
    pub(super) later_bytes: u64,
    pub(super) drops: u64,
    pub(super) wire_losses: u64,
    pub(super) marks: u64,
    /// Packets with data of each flow.
    data: BTreeMap<u32, u32>,
}

impl Counts {
    /// Counts the transmission of `packet` at `at`, which begins `in_time`, or later.
    pub(super) fn transmitted(
        &mut self,
        config: &LinkConfig,
        (at, packet, passage): (u64, &Seen, Passage),
        in_time: bool,
        findings: &mut Findings,
    ) {
        let size = packet.size;
        let number = match packet.kind == Kind::Data && packet.seq != SYN && packet.carries_data() {
            true => {
                let number = self.data.entry(packet.flow).or_default();
                *number += 1;
                *number
            }
            false => 0,
        };
        let (name, lost) = (&config.name, passage == Passage::LostOnWire);
        let stated = config.drop.contains(&number);
        findings.expect(!lost || stated || config.loss > 0.0, Rule::Conservation, at, || {
            format!("{name} loses a packet on a wire without loss")
        });
        findings.expect(lost || !stated, Rule::Conservation, at, || {
            format!("{name} passes packet {number} of flow {}, which its scenario drops", packet.flow)
        });
        if in_time {
            self.packets += 1;
            self.bytes += u64::from(size);
        } else {
            self.later_packets += 1;
            self.later_bytes += u64::from(size);
        }
        self.wire_losses += u64::from(lost);
        self.marks += u64::from(matches!(passage, Passage::Marked(_)));
    }
}

/// Replays every link separately.
pub(super) fn replay(network: &Network, end: u64, log: &[Event], findings: &mut Findings) -> Vec<Counts> {
    let new = |link: &LinkConfig| Replay {
        offered_at: 0,
        free_at: 0,
        latest: 0,
        busy_since: 0,
        player: player(link),
        waiting: Waiting::default(),
        policer: match link.queue {
            QueueConfig::Policer(config, _) => Some(Bucket::full(config)),
            _ => None,
        },
        shaper: link.shaper.map(Bucket::full),
        counts: Counts::default(),
    };
    let mut links: Vec<Replay> = network.links.iter().map(new).collect();
    for event in log {
        if let Event::Offered { at, link, packet, passage } = *event {
            let config = &network.links[link as usize];
            if !config.queue.decides_at_dequeue() {
                links[link as usize].offer(config, (at, &packet, passage), end, findings);
            }
        }
    }
    links.into_iter().map(|link| link.counts).collect()
}

/// Player of the link's rate trace, at its start. A constant rate is a trace of one step: the computation of
/// [`TracePlayer`] is independent of the link's own.
pub(super) fn player(link: &LinkConfig) -> TracePlayer {
    let constant = || Arc::new(RateTrace::rates(vec![(0, link.rate.0)]));
    TracePlayer::new(link.trace.clone().unwrap_or_else(constant))
}

/// End of a transmission that is expected within `ends`. A packet lost on the wire has none in the log. A packet may have
/// taken the slower of two lanes; if the link's rounding is as large as the difference of the lanes, the end is not known either.
pub(super) fn finish(passage: Passage, link: &LinkConfig, ends: &RangeInclusive<u64>) -> Option<u64> {
    match passage {
        Passage::Arrives(then) | Passage::Marked(then) => {
            let end = then.saturating_sub(link.delay.0);
            let slower = link.lanes.map(|lanes| end.saturating_sub(lanes.delay.0));
            match slower.filter(|end| ends.contains(end)) {
                Some(_) if ends.contains(&end) => None,
                slower => Some(slower.unwrap_or(end)),
            }
        }
        Passage::Dropped | Passage::LostOnWire => None,
    }
}

/// Times at which a transmission may end if exact arithmetic ends it at `due`, and the link has been busy since `busy_since`.
/// A link rounds the time per byte up: it is slower by at most one part in 2^45 of its busy time, and by a nanosecond if the
/// exact end is whole. No transmission ends later than [`LATEST`].
pub(super) fn ends(busy_since: u64, due: u64) -> RangeInclusive<u64> {
    let late = 1 + (due.saturating_sub(busy_since) >> 45);
    due.min(LATEST)..=due.saturating_add(late).min(LATEST)
}

impl Replay {
    fn offer(
        &mut self,
        config: &LinkConfig,
        (at, packet, passage): (u64, &Seen, Passage),
        end: u64,
        findings: &mut Findings,
    ) {
        let (name, size) = (&config.name, packet.size);
        findings.expect(at >= self.offered_at, Rule::Order, at, || {
            format!("{name} is offered a packet before the last one, at {} ns", self.offered_at)
        });
        self.offered_at = at;
        // Transmissions that begin at this instant may or may not count as waiting.
        self.waiting.pass(at);
        let policed = self.policer.as_mut().is_some_and(|bucket| !bucket.passes(at, size));
        let too_large = config.shaper.is_some_and(|bucket| u64::from(size) > bucket.burst);
        if passage == Passage::Dropped {
            self.counts.drops += 1;
            findings.expect(policed || too_large || self.refuses(config, size), Rule::Buffer, at, || {
                format!("{name} refuses {size} bytes with {} packets waiting", self.waiting.packets())
            });
            return;
        }
        findings.expect(!policed, Rule::Policing, at, || {
            format!("{name} passes {size} bytes for which its policer has no tokens")
        });
        let line = at.max(self.free_at);
        let start = self.shaper.as_mut().map_or(line, |bucket| bucket.first(line, size));
        let latest_start = start.max(self.latest);
        // A packet that waits for tokens comes to a free line.
        let comes = if start > line { start } else { at };
        if self.latest <= comes {
            self.busy_since = comes;
        }
        let due = self.player.carry(comes, size);
        let ends = ends(self.busy_since, due);
        let logged = finish(passage, config, &ends);
        let finish = logged.unwrap_or(*ends.start());
        self.latest = logged.unwrap_or(*ends.end());
        findings.expect(ends.contains(&finish), Rule::Capacity, at, || {
            format!("{name} sends {size} bytes from {start} ns until {finish} ns, expected until {due} ns")
        });
        self.free_at = finish;
        // Of the packets whose transmission begins at the last instant, those that waited are still in the queue.
        let in_time = start < end || start == end && at == end;
        self.counts.transmitted(config, (at, packet, passage), in_time, findings);
        if latest_start > at {
            self.waiting.push(Transmission { earliest: start, latest: latest_start, size });
        }
        if start > at {
            findings.expect(self.fits(config, at, size), Rule::Buffer, at, || {
                format!("{} packets wait at {name}", self.waiting.packets())
            });
        }
    }

    /// Whether the queue may refuse a packet of `size` bytes.
    fn refuses(&self, config: &LinkConfig, size: u32) -> bool {
        let full = |room: Room| !room.has(self.waiting.packets(), self.waiting.bytes, size);
        config.queue.drops_early() || config.queue.room().is_some_and(full)
    }

    /// Whether the packets waiting at `at`, without those that start then, are within the limit. The newest has `size` bytes.
    fn fits(&self, config: &LinkConfig, at: u64, size: u32) -> bool {
        let (packets, bytes) = self.waiting.after(at);
        match config.queue {
            // ns-2's byte mode: a packet of any size joins while the bytes before it are below the limit.
            QueueConfig::Red(RedConfig { limit, mean_bytes: Some(mean), .. }) => {
                bytes - u64::from(size) < u64::from(limit) * u64::from(mean)
            }
            queue => queue.room().is_none_or(|room| room.holds(packets, bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_counts_from_the_last_idle_time_and_ends_at_the_latest_end() {
        // After 13 days without traffic a transmission of a millisecond ends with at most a nanosecond of rounding.
        let days = 1 << 50;
        assert_eq!(ends(days, days + 1_000_000), days + 1_000_000..=days + 1_000_001);
        // After 13 busy days, 2^50 / 2^45 = 32 ns more.
        assert_eq!(ends(0, days), days..=days + 33);
        assert_eq!(ends(0, LATEST + 5), LATEST..=LATEST);
    }
}
