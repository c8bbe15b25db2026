//! Links that hold their packets until they are free: their moments are events of their stage, behind all arrivals of
//! the same time.

use crate::config::{LinkConfig, Network, QueueConfig};
use crate::observe::Observer;
use crate::packet::{self, Packet};
use crate::route::{End, Leg};
use crate::wire::{Content, SYN, UDP_MARK, Wire, build, read_at, seen, stream};
use firstflight_net::held::{Departure, HeldLink};
use firstflight_net::link::Passage;
use firstflight_net::queue::choke::Choke;
use firstflight_net::queue::codel::Codel;
use firstflight_net::queue::fq_codel::FqCodel;
use firstflight_net::queue::held::{HeldQueue, Item};
use firstflight_net::queue::priority::Priority;

/// A waiting packet.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    content: Content,
    /// The leg from the queue to the far end of the link.
    leg: u32,
}

/// A link that holds its packets.
pub(crate) struct Hold {
    pub(crate) link: HeldLink<Load>,
    /// Its number among all links.
    pub(crate) number: usize,
    /// The leg over which its moments come, and whether one is on its way.
    leg: u32,
    armed: bool,
    /// Flows of the network: datagrams are numbered after them.
    flows: u32,
}

impl Hold {
    /// The link of this number, which is called over `leg`.
    pub(crate) fn new(network: &Network, number: usize, leg: u32) -> Self {
        let config = &network.links[number];
        let link = HeldLink::new(build(config, network.seed), queue(config, network.seed))
            .with_readings(read_at(config));
        Self { link, number, leg, armed: false, flows: network.flows.len() as u32 }
    }

    /// One number for each direction of each connection and for each source of datagrams.
    fn flow(&self, leg: &Leg, content: &Content) -> u32 {
        match leg.ack_size {
            0 => 2 * leg.flow,
            _ if content.seq == SYN && content.high == UDP_MARK => 2 * self.flows + content.low as u32,
            _ => 2 * leg.flow + 1,
        }
    }
}

fn queue(link: &LinkConfig, seed: u64) -> HeldQueue<Load> {
    let stream = |what: &str| stream(link, seed, what);
    match link.queue {
        QueueConfig::Priority(room) => HeldQueue::Priority(Priority::new(room)),
        QueueConfig::Choke(config) => {
            HeldQueue::Choke(Box::new(Choke::new(config, stream("red"), stream("choke"))))
        }
        QueueConfig::Codel(config, room) => HeldQueue::Codel(Codel::new(config, room)),
        QueueConfig::FqCodel(config) => {
            HeldQueue::FqCodel(Box::new(FqCodel::new(config, stream("fq-codel").bits())))
        }
        _ => unreachable!("a queue that decides on arrival holds nothing"),
    }
}

impl<O: Observer> Wire<'_, O> {
    /// What comes over `leg` has reached the queue of a link that holds its packets: a packet of `size` bytes, or the
    /// moment when the link is free.
    #[cold]
    #[inline(never)]
    pub(crate) fn at_queue(&mut self, at: u64, leg: &Leg, size: u32, content: Content) {
        let index = leg.links[0] as usize;
        let departure = match leg.end {
            End::Hold => self.join(index, at, leg, size, content),
            _ => self.release(index, at),
        };
        while let Some(item) = self.holds[index].link.take_dropped() {
            self.leaves(index, at, &item, Passage::Dropped);
        }
        if let Some(Departure { item, passage }) = departure {
            self.leaves(index, at, &item, passage);
        }
        let Hold { link, leg, armed, .. } = &mut self.holds[index];
        if !*armed && let Some(due) = link.due() {
            *armed = true;
            let moment = Packet { at: due, leg: *leg, ..Packet::default() };
            self.enqueue(self.leg(moment.leg), moment);
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
        let hold = &mut self.holds[index];
        let is_data = leg.ack_size == 0;
        let offer = hold.link.offer(Item {
            at,
            size,
            flow: hold.flow(leg, &content),
            ecn_capable: is_data && content.low & packet::ECT != 0,
            droppable: is_data && content.low & packet::DROPPABLE != 0,
            load: Load { content, leg: leg.next },
        });
        if O::ON {
            let (number, seen) = (hold.number as u32, seen(leg, &content, size));
            match offer.taken {
                true => self.observer.queued(at, number, seen),
                false => self.observer.offered(at, number, seen, Passage::Dropped),
            }
        }
        if !offer.taken {
            self.count_lost(leg, content.seq);
        }
        offer.departure
    }

    fn release(&mut self, index: usize, at: u64) -> Option<Departure<Load>> {
        let hold = &mut self.holds[index];
        hold.armed = false;
        // What waited when this moment was foreseen may be gone, and the link busy with what came later.
        hold.link.due().filter(|&due| due <= at).and_then(|_| hold.link.depart(at))
    }

    /// A packet leaves the queue, and goes on from the far end of the link if it gets there.
    fn leaves(&mut self, index: usize, at: u64, item: &Item<Load>, passage: Passage) {
        let Load { content: Content { seq, mut low, high }, leg } = item.load;
        let leg = self.leg(leg);
        if O::ON {
            let number = self.holds[index].number as u32;
            self.observer.left(at, number, seen(leg, &item.load.content, item.size), item.at, passage);
        }
        let then = match passage {
            Passage::Arrives(then) => then,
            Passage::Marked(then) => {
                low |= packet::CE;
                then
            }
            Passage::Dropped | Passage::LostOnWire => return self.count_lost(leg, seq),
        };
        self.enqueue(leg, Packet { at: then, seq, leg: leg.next, low, high });
    }
}
