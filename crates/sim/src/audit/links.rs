//! What a link may do with the packets offered to it.

use super::{Event, Findings, Rule};
use crate::config::{LinkConfig, Network, QueueConfig};
use firstflight_contract::mul_div_round;
use firstflight_net::link::Passage;
use firstflight_net::queue::Room;
use firstflight_net::trace::Tape;
use std::collections::VecDeque;
use std::sync::Arc;

/// A link as its log tells it.
#[derive(Clone, Debug, Default)]
pub(super) struct Replay {
    /// When the last offer was.
    offered_at: u64,
    /// When the last transmission ends.
    free_at: u64,
    /// Of a link whose rate changes: where it is in its trace.
    tape: Option<Tape>,
    /// Start and size of transmissions that had to wait.
    waiting: VecDeque<(u64, u32)>,
    counts: Counts,
}

/// What a link did.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Transmissions that began before the run's end, and their bytes.
    pub(super) packets: u64,
    pub(super) bytes: u64,
    /// The same of those that began later: a run that drains goes on until nothing moves.
    pub(super) later_packets: u64,
    pub(super) later_bytes: u64,
    pub(super) drops: u64,
    pub(super) wire_losses: u64,
    pub(super) marks: u64,
}

impl Counts {
    /// A transmission of `size` bytes began at `start`.
    pub(super) fn transmitted(&mut self, start: u64, end: u64, size: u32, passage: Passage) {
        if start < end {
            self.packets += 1;
            self.bytes += u64::from(size);
        } else {
            self.later_packets += 1;
            self.later_bytes += u64::from(size);
        }
        self.wire_losses += u64::from(passage == Passage::LostOnWire);
        self.marks += u64::from(matches!(passage, Passage::Marked(_)));
    }
}

/// Replays every link on its own.
pub(super) fn replay(network: &Network, end: u64, log: &[Event], findings: &mut Findings) -> Vec<Counts> {
    let new = |link: &LinkConfig| Replay { tape: tape(link), ..Replay::default() };
    let mut links: Vec<Replay> = network.links.iter().map(new).collect();
    for event in log {
        if let Event::Offered { at, link, packet, passage } = *event {
            let config = &network.links[link as usize];
            if !config.queue.holds() {
                links[link as usize].offer(config, (at, packet.size, passage), end, findings);
            }
        }
    }
    links.into_iter().map(|link| link.counts).collect()
}

/// The trace of a link whose rate changes, at its beginning.
pub(super) fn tape(link: &LinkConfig) -> Option<Tape> {
    link.trace.as_ref().map(|trace| Tape::new(Arc::clone(trace)))
}

impl Replay {
    fn offer(
        &mut self,
        config: &LinkConfig,
        (at, size, passage): (u64, u32, Passage),
        end: u64,
        findings: &mut Findings,
    ) {
        let name = &config.name;
        findings.expect(at >= self.offered_at, Rule::Order, at, || {
            format!("{name} is offered a packet after one of {} ns", self.offered_at)
        });
        self.offered_at = at;
        // Transmissions that begin this very instant may count as waiting or not.
        while self.waiting.front().is_some_and(|&(start, _)| start < at) {
            self.waiting.pop_front();
        }
        if passage == Passage::Dropped {
            self.counts.drops += 1;
            findings.expect(self.refuses(config, size), Rule::Buffer, at, || {
                format!("{name} refuses {size} bytes with {} packets waiting", self.waiting.len())
            });
            return;
        }
        let start = at.max(self.free_at);
        let duration = match &mut self.tape {
            Some(tape) => tape.carry(at, size) - start,
            None => transmission(config, size),
        };
        // What is lost on the wire does not arrive, so its end is not known but follows from its start.
        let finish = match passage {
            Passage::Arrives(then) | Passage::Marked(then) => then.saturating_sub(config.delay.0),
            _ => start + duration,
        };
        findings.expect(finish.abs_diff(start + duration) <= 1, Rule::Capacity, at, || {
            format!("{name} sends {size} bytes until {finish} ns; from {start} ns they take {duration} ns")
        });
        self.free_at = finish;
        self.counts.transmitted(start, end, size, passage);
        findings.expect(passage != Passage::LostOnWire || config.loss > 0.0, Rule::Conservation, at, || {
            format!("{name} loses a packet, and should lose none")
        });
        if start > at {
            self.waiting.push_back((start, size));
            findings.expect(self.fits(config, at), Rule::Buffer, at, || {
                format!("{} packets wait at {name}", self.waiting.len())
            });
        }
    }

    /// Whether a packet of `size` may be refused.
    fn refuses(&self, config: &LinkConfig, size: u32) -> bool {
        let bytes: u64 = self.waiting.iter().map(|&(_, size)| u64::from(size)).sum();
        match config.queue {
            QueueConfig::Unlimited => false,
            QueueConfig::Packets(limit) | QueueConfig::Router(_, Room::Packets(limit)) => {
                self.waiting.len() >= limit as usize
            }
            QueueConfig::Bytes(limit) | QueueConfig::Router(_, Room::Bytes(limit)) => {
                bytes + u64::from(size) > limit
            }
            QueueConfig::Red(_) => true,
            _ => false,
        }
    }

    /// Whether what waits at `at`, without what begins then, is within the limit.
    fn fits(&self, config: &LinkConfig, at: u64) -> bool {
        let waiting = self.waiting.iter().filter(|&&(start, _)| start > at);
        match config.queue {
            QueueConfig::Unlimited => true,
            QueueConfig::Packets(limit) | QueueConfig::Router(_, Room::Packets(limit)) => {
                waiting.count() <= limit as usize
            }
            QueueConfig::Bytes(limit) | QueueConfig::Router(_, Room::Bytes(limit)) => {
                waiting.map(|&(_, size)| u64::from(size)).sum::<u64>() <= limit
            }
            QueueConfig::Red(red) => waiting.count() <= red.limit as usize,
            _ => false,
        }
    }
}

/// Nanoseconds that `size` bytes take at least.
pub(super) fn least(config: &LinkConfig, size: u32) -> u64 {
    config.trace.as_ref().map_or_else(|| transmission(config, size), |trace| trace.least(size))
}

/// Nanoseconds that `size` bytes take at the constant rate, rounded to the nearest.
pub(super) fn transmission(config: &LinkConfig, size: u32) -> u64 {
    mul_div_round(size.into(), 8_000_000_000, config.rate.0)
}
