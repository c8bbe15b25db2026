//! Links with a dequeue-time queue. The times at which such a link becomes free are events of its stage,
//! processed after all arrivals of the same time.

use super::{Content, SYN, UDP_MARK, Wire, numbered, seen};
use crate::config::{FlowConfig, Network, QueueConfig};
use crate::hop;
use crate::observe::Observer;
use crate::packet::{self, Packet};
use crate::part::Numbers;
use crate::route::{End, Leg};
use crate::sender::stack::Recovery;
use firstflight_net::dequeue_link::{Departure, DequeueLink};
use firstflight_net::link::Passage;
use firstflight_net::queue::dequeue::{Ack, Item};

/// A waiting packet.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    content: Content,
    /// The leg from the queue to the far end of the link.
    leg: u32,
}

/// A link with a dequeue-time queue.
#[derive(Clone)]
pub(crate) struct DequeueHop {
    pub(crate) link: DequeueLink<Load>,
    /// Number among all links.
    pub(crate) number: usize,
    /// Leg that carries its release events, and whether one is scheduled.
    leg: u32,
    armed: bool,
    numbers: Numbers,
    /// Flows whose acknowledgements the queue can read: those of TCP. Empty where the queue reads none.
    readable: Vec<bool>,
}

impl DequeueHop {
    /// Creates the link of this number, whose release events come over `leg`.
    pub(crate) fn new(network: &Network, number: usize, leg: u32, numbers: Numbers) -> Self {
        let link = hop::dequeue_link(&network.links[number], network.seed);
        let link = link.expect("routes list the links whose queues decide at dequeue time");
        let is_tcp = |flow: &FlowConfig| flow.stack.recovery != Recovery::Packets;
        let readable = match network.links[number].queue {
            QueueConfig::AckFilter(_) => network.flows.iter().map(is_tcp).collect(),
            _ => vec![],
        };
        Self { link, number, leg, armed: false, numbers, readable }
    }

    /// The acknowledgement that a packet is, if the queue can read it. It is not plain if it has blocks, flags, or an echo of a router.
    fn ack(&self, leg: &Leg, content: &Content) -> Option<Ack> {
        let is_ack = leg.ack_size > 0 && content.seq != SYN;
        let is_readable = is_ack && self.readable.get(leg.flow as usize) == Some(&true);
        is_readable.then(|| Ack { number: content.seq, is_plain: (content.low, content.high) == (0, 0) })
    }

    /// Flow number for the queue: one per direction of a connection and one per UDP source.
    fn flow(&self, leg: &Leg, content: &Content) -> u32 {
        match leg.ack_size {
            0 => 2 * self.numbers.of_flow(leg.flow),
            _ if content.seq == SYN && content.high == UDP_MARK => self.numbers.of_udp(content.low as u32),
            _ => 2 * self.numbers.of_flow(leg.flow) + 1,
        }
    }
}

impl<O: Observer> Wire<'_, O> {
    /// Handles an event at a dequeue-time queue: the arrival of a packet of `size` bytes, or the release that
    /// is due when the link is free.
    pub(crate) fn at_queue(&mut self, at: u64, leg: &Leg, size: u32, content: Content) {
        let index = leg.links[0] as usize;
        let departure = match leg.end {
            End::DequeueQueue => self.join(index, at, leg, size, content),
            _ => self.release(index, at),
        };
        while let Some(item) = self.dequeue_hops[index].link.take_dropped() {
            self.leaves(index, at, &item, Passage::Dropped);
        }
        if let Some(Departure { item, passage }) = departure {
            self.leaves(index, at, &item, passage);
        }
        let DequeueHop { link, leg, armed, .. } = &mut self.dequeue_hops[index];
        if !*armed && let Some(due) = link.due() {
            *armed = true;
            let release = Packet { at: due, leg: *leg, ..Packet::default() };
            self.enqueue(self.leg(release.leg), release);
        }
    }

    fn join(
        &mut self,
        index: usize,
        at: u64,
        leg: &Leg,
        size: u32,
        content: Content,
    ) -> Option<Departure<Load>> {
        let hop = &mut self.dequeue_hops[index];
        let is_data = leg.ack_size == 0;
        let offer = hop.link.offer(Item {
            at,
            size,
            flow: hop.flow(leg, &content),
            data_of: numbered(leg, &content),
            ack: hop.ack(leg, &content),
            ecn_capable: is_data && content.low & packet::ECT != 0,
            droppable: is_data && content.low & packet::DROPPABLE != 0,
            load: Load { content, leg: leg.next },
        });
        if O::ON {
            let (number, seen) = (hop.number as u32, seen(leg, &content, size));
            match offer.taken {
                true => self.observer.queued(at, number, seen),
                false => self.observer.offered(at, number, seen, Passage::Dropped),
            }
        }
        if !offer.taken {
            self.note_late(at);
            self.count_lost(leg, &content);
        }
        offer.departure
    }

    fn release(&mut self, index: usize, at: u64) -> Option<Departure<Load>> {
        let hop = &mut self.dequeue_hops[index];
        hop.armed = false;
        // Packets that waited when this release was scheduled may be gone, and the link busy with later ones.
        hop.link.due().filter(|&due| due <= at).and_then(|_| hop.link.depart(at))
    }

    /// A packet leaves the queue; it continues from the far end of the link unless it was lost.
    fn leaves(&mut self, index: usize, at: u64, item: &Item<Load>, passage: Passage) {
        let Load { content, leg } = item.load;
        let Content { seq, mut low, high } = content;
        let leg = self.leg(leg);
        if O::ON {
            let number = self.dequeue_hops[index].number as u32;
            self.observer.left(at, number, seen(leg, &item.load.content, item.size), item.at, passage);
        }
        let then = match passage {
            Passage::Arrives(then) => then,
            Passage::Marked(then) => {
                low |= packet::CE;
                then
            }
            Passage::Dropped | Passage::LostOnWire => {
                self.note_late(at);
                return self.count_lost(leg, &content);
            }
        };
        let packet = Packet { at: then, seq, leg: leg.next, low, high };
        match leg.end {
            End::Lanes => self.enqueue_in_lane(leg, self.dequeue_hops[index].link.took_slow_lane(), packet),
            _ => self.enqueue(leg, packet),
        }
    }
}
