//! A path model for these tests only: a drop-tail bottleneck, a receiver with SACK, and a sender simple
//! enough to check by hand. It shares no code with the estimators or the simulator.

use std::collections::{BTreeSet, BinaryHeap};

use super::{Tcp, ack, data, handshake};
use etherparse::TcpOptionElement::SelectiveAcknowledgement;

/// Payload and IP packet of a full segment, bytes.
pub const SEGMENT: u32 = 1000;
pub const PACKET: u64 = 1040;

pub struct Path {
    pub rate_bit_s: u64,
    /// Two-way propagation delay.
    pub rtt_us: u64,
    /// Packets that can wait besides the one in transmission.
    pub buffer: usize,
    /// One packet in this many is lost at random; 0 for none.
    pub lose_one_in: u64,
    /// Packets per ACK.
    pub ack_every: u32,
    pub initial_window: u32,
    /// Maximum window, packets.
    pub largest_window: u32,
    pub segments: u32,
    /// The application writes this many segments; the next write follows this many microseconds after all are
    /// acknowledged.
    pub writes: Option<(u32, u64)>,
    /// Maximum random delay of an ACK, microseconds.
    pub jitter_us: u64,
    /// ACKs arrive in bunches, at multiples of this many microseconds.
    pub ack_slots_us: u64,
    /// Whether both ends have time stamps with a tick of a millisecond.
    pub stamps: bool,
    /// Whether the capture is taken at the receiver.
    pub at_receiver: bool,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            rate_bit_s: 8_320_000,
            rtt_us: 40_000,
            buffer: 50,
            lose_one_in: 0,
            ack_every: 1,
            initial_window: 10,
            largest_window: u32::MAX,
            segments: 3000,
            writes: None,
            jitter_us: 0,
            ack_slots_us: 1,
            stamps: false,
            at_receiver: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A segment arrives; `sent` is its transmission time, `echo` the time stamp that it echoes.
    Arrives {
        segment: u32,
        sent: u64,
        echo: u32,
    },
    Acked {
        ack: u32,
        highest: u32,
        sent: u64,
    },
    Writes,
}

struct State {
    now: u64,
    events: BinaryHeap<std::cmp::Reverse<(u64, u64, Event)>>,
    order: u64,
    packets: Vec<(u64, Tcp)>,
    /// Departure time of each packet at the bottleneck.
    queue: Vec<u64>,
    random: u64,
    /// Latest time stamp of the receiver that reached the sender.
    latest_stamp: u32,
}

/// The clocks of the two ends have different origins.
fn sender_stamp(us: u64) -> u32 {
    ((us / 1000) as u32).wrapping_add(0xffff_fff0)
}

fn receiver_stamp(us: u64) -> u32 {
    (us / 1000) as u32 + 77_000
}

impl Path {
    /// Transmission time of a full packet, microseconds.
    pub fn service_us(&self) -> u64 {
        // the option takes 10 bytes and two of padding
        (PACKET + if self.stamps { 12 } else { 0 }) * 8 * 1_000_000 / self.rate_bit_s
    }

    /// Sends a segment; returns whether it will arrive.
    fn send(&self, state: &mut State, segment: u32) -> bool {
        if !self.at_receiver {
            let packet = self.data(segment, state.now, state.latest_stamp);
            state.packets.push((state.now, packet));
        }
        state.random =
            state.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if self.lose_one_in > 0 && (state.random >> 33).is_multiple_of(self.lose_one_in) {
            return false;
        }
        let now = state.now;
        state.queue.retain(|sent| *sent > now);
        if state.queue.len() > self.buffer {
            return false;
        }
        let sent = state.queue.last().copied().unwrap_or(now) + self.service_us();
        state.queue.push(sent);
        state.at(sent + self.rtt_us / 2, Event::Arrives { segment, sent: now, echo: state.latest_stamp });
        true
    }

    fn data(&self, segment: u32, sent: u64, echo: u32) -> Tcp {
        let packet = data(1 + segment * SEGMENT, SEGMENT as usize);
        if self.stamps { packet.stamps(sender_stamp(sent), echo) } else { packet }
    }

    fn ack(&self, edge: u32, highest: u32, sent: u64, echo: u32) -> Tcp {
        let number = |segment: u32| 1 + segment * SEGMENT;
        let mut packet = ack(number(edge));
        if self.stamps {
            packet = packet.stamps(receiver_stamp(sent), echo);
        }
        let block = SelectiveAcknowledgement((number(highest - 1), number(highest)), [None; 3]);
        if highest > edge { packet.with(block) } else { packet }
    }

    /// Runs the transfer; returns the packets of the capture.
    pub fn run(&self) -> Vec<(u64, Tcp)> {
        let took = |bytes: u64| bytes * 8 * 1_000_000 / self.rate_bit_s;
        // SYN and SYN-ACK are 48 bytes each, an ACK 40; the return path has the same rate
        let opened = self.rtt_us + 2 * took(48);
        let mut packets = handshake(opened, if self.stamps { 1012 } else { 1000 });
        if self.at_receiver {
            (packets[1].0, packets[2].0) = (packets[0].0 + 10, packets[0].0 + 10 + opened);
        }
        let mut state = State {
            now: opened + 100,
            events: BinaryHeap::new(),
            order: 0,
            packets,
            queue: vec![],
            random: 1,
            latest_stamp: receiver_stamp(0),
        };
        let (mut window, mut threshold, mut credit) = (self.initial_window, u32::MAX, 0);
        let (mut next, mut written, mut recover) = (0, 0, 0);
        let mut resent = BTreeSet::new();
        let (mut here, mut missing_acks) = (BTreeSet::new(), 0);
        let (mut acked, mut edge) = (0, 0);
        state.at(state.now, Event::Writes);
        while let Some(std::cmp::Reverse((now, _, event))) = state.events.pop() {
            state.now = now;
            match event {
                Event::Writes => {
                    written =
                        self.writes.map_or(self.segments, |(count, _)| (written + count).min(self.segments));
                }
                Event::Arrives { segment, sent, echo } => {
                    if self.at_receiver {
                        state.packets.push((now, self.data(segment, sent, echo)));
                    }
                    here.insert(segment);
                    while here.contains(&edge) {
                        edge += 1;
                    }
                    missing_acks += 1;
                    let highest = here.last().map_or(0, |last| last + 1);
                    if missing_acks >= self.ack_every
                        || highest != edge
                        || edge == self.segments
                        || edge == written
                    {
                        missing_acks = 0;
                        state.random = state.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        let jitter =
                            if self.jitter_us > 0 { (state.random >> 40) % self.jitter_us } else { 0 };
                        let acked = Event::Acked { ack: edge, highest: segment + 1, sent: now };
                        if self.at_receiver {
                            state.packets.push((now, self.ack(edge, segment + 1, now, sender_stamp(sent))));
                        }
                        let back = now + self.rtt_us / 2 + jitter;
                        state.at(back.next_multiple_of(self.ack_slots_us), acked);
                    }
                    continue;
                }
                Event::Acked { ack: edge, highest, sent } => {
                    if !self.at_receiver {
                        state.packets.push((now, self.ack(edge, highest, sent, 0)));
                    }
                    state.latest_stamp = receiver_stamp(sent);
                    let newly = edge.saturating_sub(acked);
                    acked = acked.max(edge);
                    if window < threshold {
                        window = (window + newly).min(self.largest_window);
                    } else {
                        credit += newly;
                        if credit >= window {
                            (credit, window) = (0, (window + 1).min(self.largest_window));
                        }
                    }
                    // a missing segment at least three below one that arrived is lost
                    let lost: Vec<u32> = (acked..highest.saturating_sub(3))
                        .filter(|segment| !here.contains(segment) && !resent.contains(segment))
                        .collect();
                    if !lost.is_empty() && acked >= recover {
                        recover = next;
                        threshold = (window / 2).max(2);
                        window = threshold;
                    }
                    for segment in lost {
                        // a segment that is dropped again is retransmitted with the next acknowledgement
                        if self.send(&mut state, segment) {
                            resent.insert(segment);
                        }
                    }
                    if let Some((_, pause)) = self.writes.filter(|_| acked == written) {
                        state.at(now + pause, Event::Writes);
                    }
                }
            }
            let arrived_above = here.len() as u32 - acked;
            while next < written && next - acked - arrived_above < window {
                self.send(&mut state, next);
                next += 1;
            }
        }
        state.packets.sort_by_key(|(us, _)| *us);
        state.packets
    }
}

impl State {
    fn at(&mut self, at: u64, event: Event) {
        self.order += 1;
        self.events.push(std::cmp::Reverse((at, self.order, event)));
    }
}
