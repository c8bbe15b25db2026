//! Flow queues with CoDel: T. Hoeiland-Joergensen, P. McKenney, D. Taht, J. Gettys, E. Dumazet, "The Flow
//! Queue CoDel Packet Scheduler and Active Queue Management Algorithm", RFC 8290, section 4.
//!
//! Flows are hashed to queues, which are served by deficit round robin. A queue that has just become busy is
//! served before the others.

use firstflight_contract::mul_shift;
use std::collections::VecDeque;

use super::codel::{self, CodelConfig, INTERVAL, State, TARGET};
use super::dequeue::{Fifo, Item, Outgoing};
use super::red::ECN;
use super::settings::{self, Conflict, Domain, Field, Key};
use super::{Info, Place, QueueConfig, Room, Site};

/// Largest number of queues.
pub const MOST_QUEUES: u32 = 65_536;

/// Description.
pub const INFO: Info = Info::queue(
    "fq-codel",
    "RFC 8290",
    "a queue for each flow, served in turn, each under CoDel",
    &[
        TARGET,
        INTERVAL,
        ECN,
        Key::new("quantum", Domain::Bytes, "`\"1514 B\"`", "bytes that a flow's queue sends in its turn"),
        Key::new("flows", Domain::Count(MOST_QUEUES as u64), "1024", "number of queues"),
    ],
);

/// Flow queues under controlled delay (RFC 8290).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Controlled delay of each queue.
    pub codel: codel::Settings,
    /// Bytes that a queue sends in its turn.
    pub quantum: u64,
    /// Number of queues.
    pub flows: u32,
}

impl Settings {
    /// The settings of RFC 8290, sections 5.2.4 and 5.2.5.
    pub const STANDARD: Self = Self { codel: codel::Settings::STANDARD, quantum: 1514, flows: 1024 };
}

impl settings::Settings for Settings {
    fn usual(_bdp: f64) -> Self {
        Self::STANDARD
    }

    fn fields(&mut self) -> Vec<(&'static str, Field<'_>)> {
        let Self { codel, quantum, flows } = self;
        let mut fields = codel.fields();
        fields.extend([("quantum", Field::Bytes(quantum)), ("flows", Field::Count(flows))]);
        fields
    }

    /// The key of the hash that selects a flow's queue is random.
    fn draws(&self) -> bool {
        self.flows > 1
    }

    fn marks(&self) -> bool {
        self.codel.ecn
    }

    fn check(&self, _packet: u32) -> Result<(), Conflict> {
        if self.quantum <= u32::MAX.into() {
            return Ok(());
        }
        let why = format!("above the limit of {} B", u32::MAX);
        Err(Conflict { keys: &["quantum"], why, least: None })
    }
}

pub(super) fn configure(settings: &Settings, place: &Place) -> QueueConfig {
    QueueConfig::FqCodel(FqCodelConfig {
        codel: settings.codel.config(),
        quantum: settings.quantum.min(u32::MAX.into()) as u32,
        flows: settings.flows,
        room: place.room,
    })
}

pub(super) fn room(config: FqCodelConfig) -> Room {
    config.room
}

pub(super) fn build<T: Copy>(config: FqCodelConfig, site: &Site<'_>) -> FqCodel<T> {
    FqCodel::new(config, (site.stream)("fq-codel").bits())
}

/// Parameters of FQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodelConfig {
    /// CoDel parameters of each queue.
    pub codel: CodelConfig,
    /// Bytes that a queue may send per turn (section 5.2.4: 1514, a full Ethernet frame).
    pub quantum: u32,
    /// Number of queues (section 5.2.5: 1024).
    pub flows: u32,
    /// Shared limit of all queues.
    pub room: Room,
}

/// Maximum number of packets dropped at once when there is no room (section 4.1).
const BATCH: usize = 64;

/// One flow's queue.
#[derive(Clone, Debug)]
struct FlowQueue<T> {
    waiting: Fifo<T>,
    state: State,
    /// Bytes the queue may still send in this turn; negative after a larger packet.
    credit: i64,
    /// Whether the queue is in one of the two lists.
    listed: bool,
}

/// Scheduler over all flow queues.
#[derive(Clone, Debug)]
pub struct FqCodel<T> {
    config: FqCodelConfig,
    /// Varies the hash between runs.
    salt: u64,
    queues: Vec<FlowQueue<T>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: usize,
    bytes: u64,
}

impl<T: Copy> FqCodel<T> {
    /// Creates empty queues; `salt` decides which flows share a queue.
    pub fn new(config: FqCodelConfig, salt: u64) -> Self {
        let queue = FlowQueue { waiting: Fifo::new(), state: State::default(), credit: 0, listed: false };
        Self {
            config,
            salt,
            queues: vec![queue; config.flows as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    /// Queue of a flow: a SplitMix64 hash scaled to the number of queues.
    pub(super) fn queue_of(&self, flow: u32) -> u32 {
        let mut hash = u64::from(flow).wrapping_add(self.salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        mul_shift(hash, self.config.flows.into(), 64) as u32
    }

    /// Section 4.1. Every arriving packet is accepted; if there is no room, the fattest queue drops packets.
    pub(super) fn enqueue(&mut self, item: Item<T>, _free_at: u64, dropped: &mut VecDeque<Item<T>>) -> bool {
        let number = self.queue_of(item.flow);
        let queue = &mut self.queues[number as usize];
        queue.state.saw(item.size);
        queue.waiting.push(item);
        if !queue.listed {
            // An idle queue joins the end of the new list with a full quantum.
            queue.listed = true;
            queue.credit = self.config.quantum.into();
            self.new.push_back(number);
        }
        self.packets += 1;
        self.bytes += u64::from(item.size);
        // Once, if the limit is in packets. Half the packets at a head may have too few bytes for a limit in bytes.
        while !self.config.room.holds(self.packets, self.bytes) {
            self.drop_from_the_fattest(dropped);
        }
        true
    }

    /// Drops half the packets of the queue with the most bytes, from its head and at most a batch.
    fn drop_from_the_fattest(&mut self, dropped: &mut VecDeque<Item<T>>) {
        let listed = self.new.iter().chain(&self.old);
        let fatness =
            |&&number: &&u32| (self.queues[number as usize].waiting.bytes, std::cmp::Reverse(number));
        let Some(&fattest) = listed.max_by_key(fatness) else { return };
        let queue = &mut self.queues[fattest as usize].waiting;
        for _ in 0..queue.len().div_ceil(2).min(BATCH) {
            let Some(item) = queue.pop() else { return };
            self.packets -= 1;
            self.bytes -= u64::from(item.size);
            dropped.push_back(item);
        }
    }

    /// Section 4.2.
    pub(super) fn dequeue(&mut self, now: u64, dropped: &mut VecDeque<Item<T>>) -> Option<Outgoing<T>> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let queue = &mut self.queues[number as usize];
            if queue.credit <= 0 {
                // The turn of this queue is over: it gets another quantum and goes to the end of the old
                // list.
                queue.credit += i64::from(self.config.quantum);
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let before = (queue.waiting.len(), queue.waiting.bytes);
            let out = queue.state.dequeue(&self.config.codel, now, &mut queue.waiting, dropped);
            self.packets -= before.0 - queue.waiting.len();
            self.bytes -= before.1 - queue.waiting.bytes;
            if let Some(out) = out {
                queue.credit -= i64::from(out.item.size);
                return Some(out);
            }
            list.pop_front();
            if is_new && !self.old.is_empty() {
                // An emptied new queue waits behind the old ones; otherwise flows with few packets would
                // starve them.
                self.old.push_back(number);
            } else {
                queue.listed = false;
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: FqCodelConfig =
        FqCodelConfig { codel: CodelConfig::STANDARD, quantum: 1514, flows: 1024, room: Room::Packets(100) };

    fn packet(flow: u32, size: u32, load: u32) -> Item<u32> {
        Item { at: 0, size, flow, data_of: None, ack: None, ecn_capable: false, droppable: false, load }
    }

    fn filled(config: FqCodelConfig, packets: &[(u32, u32)]) -> (FqCodel<u32>, Vec<u32>) {
        let mut queue = FqCodel::new(config, 7);
        let mut dropped = VecDeque::new();
        for (load, &(flow, size)) in (0..).zip(packets) {
            assert!(queue.enqueue(packet(flow, size, load), 0, &mut dropped));
        }
        (queue, dropped.iter().map(|item| item.load).collect())
    }

    /// Order of departure within the first millisecond, before CoDel acts.
    fn order(queue: &mut FqCodel<u32>, most: usize) -> Vec<u32> {
        let mut dropped = VecDeque::new();
        let out = std::iter::from_fn(|| queue.dequeue(1_000_000, &mut dropped).map(|out| out.item.load));
        out.take(most).collect()
    }

    #[test]
    fn flows_take_turns_of_one_quantum_whatever_their_packet_size() {
        // Flow 1 has five packets of 1500 bytes, flow 2 five of 500. Credits of 1514: flow 1 sends 0 (14 left) and 1
        // (-1486), flow 2 sends 5, 6, 7 and, 14 being left, 8 (-486). Then 28 for flow 1, which is enough for 2, and 1028
        // for flow 2: 9, and it is empty. Flow 1 then has -1472 + 1514 = 42 for 3, and 56 for 4 in the next turn.
        let packets: Vec<_> = [(1, 1500); 5].into_iter().chain([(2, 500); 5]).collect();
        let (mut queue, _) = filled(CONFIG, &packets);
        assert_eq!(order(&mut queue, 20), [0, 1, 5, 6, 7, 8, 2, 9, 3, 4]);
        assert_eq!((queue.packets, queue.bytes), (0, 0));
    }

    #[test]
    fn a_new_flow_is_served_before_flows_that_had_a_turn() {
        let (mut queue, _) = filled(CONFIG, &[(1, 1500); 6]);
        assert_eq!(order(&mut queue, 3), [0, 1, 2]);
        queue.enqueue(packet(2, 100, 100), 0, &mut VecDeque::new());
        assert_eq!(order(&mut queue, 4), [100, 3, 4, 5]);
    }

    #[test]
    fn a_limit_in_bytes_holds_behind_small_packets_at_the_head() {
        // 4 packets of 40 bytes and 2 of 1500 fill 3160 bytes. One more of 1500 exceeds the limit by 1460: half the packets, 4
        // of 40 bytes, are too few; half of the other three, 2 of 1500, are enough.
        let config = FqCodelConfig { room: Room::Bytes(3200), ..CONFIG };
        let packets: Vec<_> = [(1, 40); 4].into_iter().chain([(1, 1500); 3]).collect();
        let (queue, dropped) = filled(config, &packets);
        assert_eq!(dropped, [0, 1, 2, 3, 4, 5]);
        assert_eq!((queue.packets, queue.bytes), (1, 1500));
    }

    #[test]
    fn without_room_the_fattest_flow_loses_half_its_packets_from_the_head() {
        // Limit of six packets. The seventh packet belongs to the thin flow and costs the fat flow three of
        // its five.
        let config = FqCodelConfig { room: Room::Packets(6), ..CONFIG };
        let (mut queue, dropped) =
            filled(config, &[(1, 1000), (1, 1000), (1, 1000), (2, 1000), (1, 1000), (1, 1000), (2, 1000)]);
        assert_eq!(dropped, [0, 1, 2]);
        assert_eq!(order(&mut queue, 9), [4, 5, 3, 6]);
    }

    #[test]
    fn flows_are_spread_evenly_over_the_queues() {
        let queue = FqCodel::<u32>::new(CONFIG, 7);
        let mut hit = vec![0_u32; 1024];
        (0..102_400).for_each(|flow| hit[queue.queue_of(flow) as usize] += 1);
        // Mean 100 with a standard deviation of ten: a range of six standard deviations.
        assert!(hit.iter().all(|n| (40..160).contains(n)));
    }
}
