//! Rules for links with a dequeue-time queue.

use super::links::{Counts, ends, finish, player};
use super::{Event, Findings, Rule};
use crate::config::{LinkConfig, Network, QueueConfig};
use crate::observe::{Kind, Seen};
use crate::packet::DROPPABLE;
use firstflight_net::link::Passage;
use firstflight_net::queue::fq_codel::FqCodelConfig;
use firstflight_net::rate_trace::TracePlayer;
use std::collections::VecDeque;

/// State of one link, reconstructed from its log.
struct Replay<'a> {
    config: &'a LinkConfig,
    number: u32,
    /// End of the run, nanoseconds.
    end: u64,
    /// Time of the last event.
    now: u64,
    /// End of the last transmission, and the latest that it may have if the log has none.
    free_at: u64,
    latest: u64,
    /// Time since which the link has been busy.
    busy_since: u64,
    /// Time since which the queue has not been empty.
    ready_at: u64,
    player: TracePlayer,
    waiting: Waiting,
    /// Last refused packet and its time; last time at which an accepted packet exceeded the room.
    refused: Option<(u64, Seen)>,
    overfull_at: Option<u64>,
    counts: Counts,
}

/// Waiting packets. Their sums are kept, because a queue may hold a million packets, and every arrival needs the sums.
#[derive(Default)]
struct Waiting {
    /// Packets in order of arrival, each with its arrival time.
    packets: VecDeque<(u64, Seen)>,
    /// Numbers and bytes of the packets without and with the mark [`DROPPABLE`].
    sums: [(usize, u64); 2],
}

impl Waiting {
    fn sum(&mut self, packet: &Seen) -> &mut (usize, u64) {
        &mut self.sums[usize::from(packet.flags & DROPPABLE != 0)]
    }

    fn push(&mut self, at: u64, packet: Seen) {
        let (packets, bytes) = self.sum(&packet);
        (*packets, *bytes) = (*packets + 1, *bytes + u64::from(packet.size));
        self.packets.push_back((at, packet));
    }

    fn remove(&mut self, place: usize) {
        let (_, packet) = self.packets.remove(place).expect("the place of a packet");
        let (packets, bytes) = self.sum(&packet);
        (*packets, *bytes) = (*packets - 1, *bytes - u64::from(packet.size));
    }

    fn len(&self) -> usize {
        self.packets.len()
    }

    /// Bytes of all packets.
    fn bytes(&self) -> u64 {
        self.sums[0].1 + self.sums[1].1
    }
}

/// Replays every such link separately and stores its counts in `counts`.
pub(super) fn replay(
    network: &Network,
    end: u64,
    log: &[Event],
    counts: &mut [Counts],
    findings: &mut Findings,
) {
    let links = (0..).zip(&network.links).map(|(number, config)| {
        config.queue.decides_at_dequeue().then(|| Replay {
            config,
            number,
            end,
            now: 0,
            free_at: 0,
            latest: 0,
            busy_since: 0,
            ready_at: 0,
            player: player(config),
            waiting: Waiting::default(),
            refused: None,
            overfull_at: None,
            counts: Counts::default(),
        })
    });
    let mut links: Vec<Option<Replay>> = links.collect();
    for event in log {
        let (Event::Offered { link, .. } | Event::Queued { link, .. } | Event::Left { link, .. }) = *event
        else {
            continue;
        };
        if let Some(link) = &mut links[link as usize] {
            link.see(event, findings);
        }
    }
    for link in links.into_iter().flatten() {
        link.finish(findings);
        counts[link.number as usize] = link.counts;
    }
}

impl Replay<'_> {
    fn see(&mut self, event: &Event, findings: &mut Findings) {
        match *event {
            Event::Offered { at, packet, passage, .. } => {
                self.tick(at, findings);
                self.counts.drops += 1;
                self.refused = Some((at, packet));
                findings.expect(passage == Passage::Dropped, Rule::Conservation, at, || {
                    format!("{packet:?} passes {} without joining the queue", self.config.name)
                });
                findings.expect(self.refuses(&packet), Rule::Buffer, at, || {
                    format!("{} refuses {packet:?} with {} waiting", self.config.name, self.waiting.len())
                });
            }
            Event::Queued { at, packet, .. } => {
                self.tick(at, findings);
                if self.waiting.len() == 0 {
                    self.ready_at = at;
                }
                self.waiting.push(at, packet);
                if !self.fits() {
                    self.overfull_at = Some(at);
                }
            }
            Event::Left { at, packet, since, passage, .. } => {
                self.tick(at, findings);
                let known = |(joined, own): &(u64, Seen)| {
                    (*joined, own.kind, own.flow, own.seq) == (since, packet.kind, packet.flow, packet.seq)
                };
                let Some(place) = self.waiting.packets.iter().position(known) else {
                    let name = &self.config.name;
                    findings.expect(false, Rule::Conservation, at, || {
                        format!("{packet:?} did not wait at {name}")
                    });
                    return;
                };
                if passage == Passage::Dropped {
                    self.counts.drops += 1;
                    findings.expect(self.drops(place), Rule::Buffer, at, || {
                        format!("{} drops {packet:?} of {} waiting", self.config.name, self.waiting.len())
                    });
                } else {
                    findings.expect(self.is_next(place), Rule::Order, at, || {
                        format!("{packet:?} leaves {} before its turn", self.config.name)
                    });
                    self.transmit((at, &packet, passage), since, findings);
                }
                self.waiting.remove(place);
            }
            _ => {}
        }
    }

    /// Checks that the queue was within its room after all events of the previous instant.
    fn tick(&mut self, at: u64, findings: &mut Findings) {
        let name = &self.config.name;
        findings.expect(at >= self.now, Rule::Order, at, || {
            format!("an event at {name} comes before the last one, at {} ns", self.now)
        });
        if at > self.now {
            self.now = at;
            findings.expect(self.fits(), Rule::Buffer, at, || {
                format!("{} packets wait at {name}", self.waiting.len())
            });
        }
    }

    fn transmit(
        &mut self,
        (at, packet, passage): (u64, &Seen, Passage),
        since: u64,
        findings: &mut Findings,
    ) {
        let (name, size) = (&self.config.name, packet.size);
        // A link must not idle while packets wait, nor start before the last transmission ends.
        let start = self.free_at.max(self.ready_at);
        let latest = self.latest.max(self.ready_at);
        findings.expect((start..=latest).contains(&at), Rule::Capacity, at, || {
            format!("{name} starts a transmission at {at} ns, expected {start} ns")
        });
        if self.latest <= since {
            self.busy_since = since;
        }
        let due = self.player.carry(since, size);
        let ends = ends(self.busy_since, due);
        let logged = finish(passage, self.config, &ends);
        let finish = logged.unwrap_or(*ends.start());
        self.latest = logged.unwrap_or(*ends.end());
        findings.expect(ends.contains(&finish), Rule::Capacity, at, || {
            format!("{name} sends {size} bytes from {at} ns until {finish} ns, expected until {due} ns")
        });
        self.free_at = finish;
        self.counts.transmitted(self.config, (at, packet, passage), at <= self.end, findings);
    }

    fn finish(&self, findings: &mut Findings) {
        let rests = self.waiting.len() > 0 && self.free_at < self.end;
        findings.expect(!rests, Rule::Capacity, self.free_at, || {
            format!("{} idles with {} packets waiting", self.config.name, self.waiting.len())
        });
    }

    /// Whether the packet at `place` may leave before the others.
    fn is_next(&self, place: usize) -> bool {
        match self.config.queue {
            QueueConfig::FqCodel(_) => self.is_first_of_its_flow(place),
            _ => place == 0,
        }
    }

    fn is_first_of_its_flow(&self, place: usize) -> bool {
        let (_, own) = self.waiting.packets[place];
        !self
            .waiting
            .packets
            .range(..place)
            .any(|(_, other)| (other.kind, other.flow) == (own.kind, own.flow))
    }

    /// Whether the queue may refuse `packet`.
    fn refuses(&self, packet: &Seen) -> bool {
        match self.config.queue {
            QueueConfig::Priority(room) => {
                let droppable = packet.flags & DROPPABLE != 0;
                let (packets, bytes) =
                    if droppable { (self.waiting.len(), self.waiting.bytes()) } else { self.waiting.sums[0] };
                !room.has(packets, bytes, packet.size)
            }
            QueueConfig::Choke(_) => true,
            QueueConfig::FqCodel(_) => false,
            queue => {
                let (packets, bytes) = (self.waiting.len(), self.waiting.bytes());
                queue.room().is_some_and(|room| !room.has(packets, bytes, packet.size))
            }
        }
    }

    /// Whether the packet at `place` may be dropped, given that the arriving packet has already joined the
    /// queue.
    fn drops(&self, place: usize) -> bool {
        let last_droppable = self.waiting.packets.iter().rposition(|(_, own)| own.flags & DROPPABLE != 0);
        match self.config.queue {
            QueueConfig::Priority(_) => !self.fits() && last_droppable == Some(place),
            QueueConfig::AckFilter(_) => {
                let (_, own) = self.waiting.packets[place];
                let is_plain = own.kind == Kind::Ack && own.flags == 0 && own.blocks[0] == (0, 0);
                let exceeds = |(joined, new): &(u64, Seen)| {
                    *joined == self.now && (new.kind, new.flow) == (own.kind, own.flow) && new.seq > own.seq
                };
                is_plain && self.waiting.packets.range(place + 1..).any(exceeds)
            }
            QueueConfig::Choke(_) => {
                let (_, own) = self.waiting.packets[place];
                self.refused.is_some_and(|(at, packet)| {
                    (at, packet.kind, packet.flow) == (self.now, own.kind, own.flow)
                })
            }
            QueueConfig::Codel(codel, _) => place == 0 && self.waited(place) >= codel.target,
            QueueConfig::FqCodel(FqCodelConfig { codel, .. }) => {
                let makes_room = self.overfull_at == Some(self.now);
                self.is_first_of_its_flow(place) && (makes_room || self.waited(place) >= codel.target)
            }
            _ => false,
        }
    }

    fn waited(&self, place: usize) -> u64 {
        self.now - self.waiting.packets[place].0
    }

    /// Whether the waiting packets are within the limit.
    fn fits(&self) -> bool {
        let room = self.config.queue.room();
        room.is_none_or(|room| room.holds(self.waiting.len(), self.waiting.bytes()))
    }
}
