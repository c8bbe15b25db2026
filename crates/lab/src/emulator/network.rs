//! Links and packets in virtual time.
//!
//! A packet enters a path at a given time and crosses its links one after the other. Every decision is that of
//! `firstflight-net`: a link answers on arrival when the packet reaches its far end, or that it was dropped. Links whose
//! queues decide at dequeue time have an event of their own.

use core::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use firstflight_net::dequeue_link::{Departure, DequeueLink};
use firstflight_net::link::{Link, Passage};
use firstflight_net::queue::dequeue::{Ack, Item};
use firstflight_net::router::Header;
use firstflight_sim::config::{LinkConfig, Network as Config};
use firstflight_sim::hop::{self, Source};
use firstflight_sim::outcome::LinkOutcome;

/// A packet that enters the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<T> {
    /// Number of its path.
    pub(crate) path: u32,
    /// Bytes on the wire.
    pub(crate) size: u32,
    /// Whether queues may mark it instead of dropping it.
    pub(crate) ecn_capable: bool,
    /// Number of the connection whose data it carries, if it carries data.
    pub(crate) data_of: Option<u32>,
    /// Acknowledgement of TCP without data.
    pub(crate) ack: Option<Ack>,
    /// The packet, or the owner's reference to it.
    pub(crate) load: T,
}

/// The end of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It left the last link of its path, with the ECN mark of a queue or without.
    Arrived {
        /// Whether a queue set the ECN mark.
        marked: bool,
    },
    /// A queue dropped it, or it was lost on the wire.
    Lost,
}

/// A packet on its way; datagrams of a source have no load.
#[derive(Clone, Copy, Debug)]
struct Travel<T> {
    path: u32,
    hop: u32,
    size: u32,
    ecn_capable: bool,
    data_of: Option<u32>,
    ack: Option<Ack>,
    marked: bool,
    load: Option<T>,
}

/// Kinds of events, in the order in which those of one time are processed: as in the simulator, sources send before packets
/// arrive, and a packet that arrives when a link becomes free is offered before the link takes its next packet.
#[derive(Clone, Copy, Debug)]
enum What<T> {
    Send(usize),
    Arrive(Travel<T>),
    Depart(usize),
}

impl<T> What<T> {
    fn rank(&self) -> u8 {
        match self {
            Self::Send(_) => 0,
            Self::Arrive(_) => 1,
            Self::Depart(_) => 2,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Event<T> {
    at: u64,
    /// Events of one time and kind keep the order in which they were made.
    number: u64,
    what: What<T>,
}

impl<T> Event<T> {
    fn key(&self) -> (u64, u8, u64) {
        (self.at, self.what.rank(), self.number)
    }
}

impl<T> PartialEq for Event<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Event<T> {}

impl<T> PartialOrd for Event<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Event<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

enum Hop<T> {
    OnArrival(Link),
    AtDequeue {
        link: Box<DequeueLink<Travel<T>>>,
        /// Whether an event of its own is under way.
        armed: bool,
    },
}

struct Path {
    links: Vec<usize>,
    /// Number of its packets for queues that keep flows apart.
    flow: u32,
}

/// The links of a scenario, and the packets on them. Times are nanoseconds since the start of the run.
pub(crate) struct Network<T> {
    hops: Vec<Hop<T>>,
    configs: Vec<LinkConfig>,
    paths: Vec<Path>,
    sources: Vec<Source>,
    /// Number of the first path of a source.
    of_sources: u32,
    events: BinaryHeap<Reverse<Event<T>>>,
    made: u64,
    /// Lost packets that are not reported yet, with their times.
    dropped: Vec<(u64, T)>,
}

impl<T: Copy> Network<T> {
    /// Idle links. Path `2 i` leads from the sender of flow `i` to its receiver, path `2 i + 1` back.
    pub(crate) fn new(config: &Config) -> Self {
        let hops = config.links.iter().map(|link| match hop::dequeue_link(link, config.seed) {
            Some(link) => Hop::AtDequeue { link: Box::new(link), armed: false },
            None => Hop::OnArrival(hop::link(link, config.seed)),
        });
        let ways = config.flows.iter().flat_map(|flow| [&flow.forward, &flow.reverse]);
        let ways = ways.chain(config.udp.iter().map(|source| &source.path));
        let paths = (0..).zip(ways).map(|(flow, links)| Path { links: links.clone(), flow });
        let mut network = Self {
            hops: hops.collect(),
            configs: config.links.clone(),
            paths: paths.collect(),
            sources: config.udp.iter().map(Source::new).collect(),
            of_sources: 2 * config.flows.len() as u32,
            events: BinaryHeap::new(),
            made: 0,
            dropped: vec![],
        };
        for source in 0..network.sources.len() {
            if let Some(at) = network.sources[source].first() {
                network.schedule(at, What::Send(source));
            }
        }
        network
    }

    /// A packet enters at `at`, which must not precede the time of the last [`Network::advance`].
    pub(crate) fn enter(&mut self, at: u64, entry: Entry<T>) {
        let Entry { path, size, ecn_capable, data_of, ack, load } = entry;
        let travel =
            Travel { path, hop: 0, size, ecn_capable, data_of, ack, marked: false, load: Some(load) };
        self.schedule(at, What::Arrive(travel));
    }

    /// Time of the next event, nanoseconds; `None` if the network is empty and no source will send.
    pub(crate) fn next(&self) -> Option<u64> {
        self.events.peek().map(|Reverse(event)| event.at)
    }

    /// Processes events up to `now`, its own time included, until a packet has come to the end of its way; returns the packet,
    /// the time at which that was due, and its fate. `None` if no event is left by then.
    pub(crate) fn advance(&mut self, now: u64) -> Option<(u64, T, Fate)> {
        loop {
            if let Some((at, load)) = self.dropped.pop() {
                return Some((at, load, Fate::Lost));
            }
            if self.next()? > now {
                return None;
            }
            let Reverse(event) = self.events.pop()?;
            let at = event.at;
            match event.what {
                What::Send(source) => self.send(at, source),
                What::Depart(link) => self.depart(at, link),
                What::Arrive(travel) => {
                    let path = &self.paths[travel.path as usize];
                    match path.links.get(travel.hop as usize) {
                        Some(&link) => self.offer(at, link, travel),
                        None => {
                            let fate = Fate::Arrived { marked: travel.marked };
                            if let Some(load) = travel.load {
                                return Some((at, load, fate));
                            }
                        }
                    }
                }
            }
        }
    }

    /// Results of every link at `end`, in the order of the configuration.
    pub(crate) fn outcomes(&self, end: u64) -> Vec<LinkOutcome> {
        let hops = self.hops.iter().zip(&self.configs);
        let outcomes = hops.map(|(hop, config)| {
            let counters = match hop {
                Hop::OnArrival(link) => (link.stats_until(end), link.readings(end)),
                Hop::AtDequeue { link, .. } => (link.stats_until(end), link.readings(end)),
            };
            LinkOutcome::of(end, counters, config)
        });
        outcomes.collect()
    }

    fn schedule(&mut self, at: u64, what: What<T>) {
        self.made += 1;
        self.events.push(Reverse(Event { at, number: self.made, what }));
    }

    fn send(&mut self, at: u64, source: usize) {
        let (size, path) = (self.sources[source].size(), self.of_sources + source as u32);
        if let Some(next) = self.sources[source].after(at) {
            self.schedule(next, What::Send(source));
        }
        let travel = Travel {
            path,
            hop: 0,
            size,
            ecn_capable: false,
            data_of: None,
            ack: None,
            marked: false,
            load: None,
        };
        self.schedule(at, What::Arrive(travel));
    }

    fn offer(&mut self, at: u64, number: usize, travel: Travel<T>) {
        let flow = self.paths[travel.path as usize].flow;
        match &mut self.hops[number] {
            Hop::OnArrival(link) => {
                let Travel { size, ecn_capable, data_of, .. } = travel;
                let passage = match link.pass(at, size) {
                    Some(arrival) => Passage::Arrives(arrival),
                    None => link.examine(at, size, ecn_capable, &mut Header::None, data_of),
                };
                self.leaves(at, travel, passage);
            }
            Hop::AtDequeue { link, .. } => {
                let Travel { size, ecn_capable, data_of, ack, .. } = travel;
                let item = Item { at, size, flow, data_of, ack, ecn_capable, droppable: false, load: travel };
                let offer = link.offer(item);
                if !offer.taken {
                    self.dropped.extend(travel.load.map(|load| (at, load)));
                }
                self.settle(at, number, offer.departure);
            }
        }
    }

    fn depart(&mut self, at: u64, number: usize) {
        let Hop::AtDequeue { link, armed } = &mut self.hops[number] else { return };
        *armed = false;
        // Packets that waited when this event was made may be gone, and the link busy with later ones.
        let departure = link.due().filter(|&due| due <= at).and_then(|_| link.depart(at));
        self.settle(at, number, departure);
    }

    /// After a change of a link whose queue decides at dequeue time.
    fn settle(&mut self, at: u64, number: usize, departure: Option<Departure<Travel<T>>>) {
        if let Some(Departure { item, passage }) = departure {
            self.leaves(at, item.load, passage);
        }
        let Hop::AtDequeue { link, armed } = &mut self.hops[number] else { return };
        while let Some(item) = link.take_dropped() {
            self.dropped.extend(item.load.load.map(|load| (at, load)));
        }
        if let (false, Some(due)) = (*armed, link.due()) {
            *armed = true;
            self.schedule(due, What::Depart(number));
        }
    }

    /// A link has decided on a packet at `at`.
    fn leaves(&mut self, at: u64, mut travel: Travel<T>, passage: Passage) {
        let then = match passage {
            Passage::Arrives(then) => then,
            Passage::Marked(then) => {
                travel.marked = true;
                then
            }
            Passage::Dropped | Passage::LostOnWire => {
                return self.dropped.extend(travel.load.map(|load| (at, load)));
            }
        };
        travel.hop += 1;
        self.schedule(then, What::Arrive(travel));
    }
}

#[cfg(test)]
mod tests {
    use firstflight_contract::Nanos;
    use firstflight_hosts::network::build;
    use firstflight_sim::outcome::simulate;

    use super::*;

    fn config(text: &str) -> Config {
        let loaded = firstflight_scenario::parse(text, "test.toml").expect("a valid scenario");
        build(&loaded.scenario, loaded.scenario.seed, Nanos::from_secs(1)).expect("it can be built").network
    }

    /// Two sources that together exceed the bottleneck, and one in bursts; no flows.
    fn cross_traffic(path: &str) -> Config {
        config(&format!(
            r#"
            duration = "20 s"
            seed = 7
            [path]
            rate = "10 Mbit/s"
            rtt = "40 ms"
            {path}
            [[udp]]
            name = "a"
            rate = "6 Mbit/s"
            [[udp]]
            name = "b"
            rate = "3 Mbit/s"
            size = "300 B"
            start = "0.1 s"
            [[udp]]
            name = "c"
            rate = "7 Mbit/s"
            start = "0.01 s"
            on_off = {{ on = {{ exponential = "300 ms" }}, off = {{ exponential = "500 ms" }} }}
            "#
        ))
    }

    #[test]
    fn every_queue_has_the_counters_of_the_simulator() {
        for path in [
            "buffer = \"50 packets\"",
            "buffer = \"20 KB\"",
            "buffer = \"50 packets\"\nqueue = \"red\"",
            "buffer = \"200 packets\"\nqueue = \"choke\"",
            "buffer = \"50 packets\"\nqueue = { kind = \"policer\", rate = \"8 Mbit/s\", burst = \"30 KB\" }",
            "buffer = \"50 packets\"\nshaper = { rate = \"8 Mbit/s\", burst = \"30 KB\" }",
            "buffer = \"50 packets\"\nloss = 0.02",
            "buffer = \"50 packets\"\nloss = { mean = 0.02, burst = 4.0 }",
            "buffer = \"50 packets\"\nreorder = { share = 0.1, delay = \"3 ms\" }",
            "buffer = \"500 packets\"\nqueue = \"codel\"",
            "buffer = \"100 packets\"\nqueue = \"fq-codel\"",
        ] {
            let config = cross_traffic(path);
            let simulated = simulate(&config);
            let mut network = Network::<()>::new(&config);
            assert_eq!(network.advance(config.end.0 - 1), None, "datagrams have no load");
            let emulated = network.outcomes(config.end.0);
            assert_eq!(emulated, simulated.links, "{path}");
            assert!(emulated[0].stats.drops + emulated[0].stats.wire_losses > 0, "{path}");
        }
    }

    #[test]
    fn a_packet_takes_the_time_of_every_link_on_its_way() {
        let config = config(
            r#"
            [path]
            rate = "10 Mbit/s"
            access_rate = "100 Mbit/s"
            rtt = "40 ms"
            buffer = "1 packets"
            [[flow]]
            profile = "linux"
            size = "30 KB"
            extra_rtt = "4 ms"
            "#,
        );
        let mut network = Network::new(&config);
        for load in 0..4 {
            network.enter(
                1_000_000,
                Entry { path: 0, size: 1500, ecn_capable: false, data_of: Some(0), ack: None, load },
            );
        }
        // One way of 22 ms, 10 of them on the bottleneck and 6 on each access link. 1500 bytes take 0.12 ms on an access
        // link and 1.2 ms on the bottleneck, where the first packet is in transmission from 7.12 ms, the second waits, and
        // the third and the fourth find no room.
        const US: u64 = 1000;
        let due = |at: u64, load| Some((at * US, load, Fate::Arrived { marked: false }));
        assert_eq!(network.advance(24_439 * US), Some((7360 * US, 2, Fate::Lost)));
        assert_eq!(network.advance(24_439 * US), Some((7480 * US, 3, Fate::Lost)));
        assert_eq!(network.advance(24_439 * US), None);
        assert_eq!(network.next(), Some(24_440 * US));
        assert_eq!(network.advance(u64::MAX), due(24_440, 0));
        assert_eq!(network.advance(u64::MAX), due(25_640, 1));
        assert_eq!(network.advance(u64::MAX), None);
    }

    #[test]
    fn a_marking_queue_marks_packets_that_can_be_marked_and_drops_the_others() {
        let config = config(
            r#"
            [path]
            rate = "12 Mbit/s"
            rtt = "10 ms"
            buffer = "1000 packets"
            queue = { kind = "codel", ecn = true }
            [[flow]]
            profile = "linux"
            size = "30 KB"
            "#,
        );
        let fates = |ecn_capable| {
            let mut network = Network::new(&config);
            (0..400).for_each(|load| {
                network
                    .enter(0, Entry { path: 0, size: 1500, ecn_capable, data_of: Some(0), ack: None, load })
            });
            let fates = core::iter::from_fn(|| network.advance(u64::MAX)).map(|(_, _, fate)| fate);
            let (mut marked, mut lost) = (0, 0);
            fates.for_each(|fate| match fate {
                Fate::Arrived { marked: true } => marked += 1,
                Fate::Arrived { marked: false } => {}
                Fate::Lost => lost += 1,
            });
            (marked, lost)
        };
        let ((marked, none), (nothing, lost)) = (fates(true), fates(false));
        assert!(marked > 0 && lost > 0, "{marked} {lost}");
        assert_eq!((none, nothing), (0, 0));
    }
}
