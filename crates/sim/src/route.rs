//! Compiles paths into legs: straight runs of links between the places where packets must wait for the clock.
//!
//! A link fed by one ordered source sees its packets in order whenever they are computed, so it is computed with
//! the hop before it. Only where several sources meet does a packet queue for the clock, in a feed per source.
//!
//! The feeds in front of one link make a stage, which goes ahead of the others as far as `lookahead` allows.

use crate::config::Network;
use crate::lookahead::{Lookahead, Stops};
use std::collections::BTreeMap;
use std::ops::Range;

/// The most links a leg may hold; a longer run is cut by a feed.
pub(crate) const MAX_RUN: usize = 11;

/// Stages take turns where the shortest way from one of them back to it takes at least this much for each,
/// nanoseconds; shorter turns cost more than they save.
const SHORTEST_TURN: u64 = 1_000;

/// Where packets wait for the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Everywhere: one event per hop.
    Everywhere,
    /// Where several sources meet.
    AtMeetings,
    /// There, and in front of senders, which are kept in the order of time because they know of each other.
    AtMeetingsAndSenders,
}

/// What puts packets in order onto a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Sender(usize),
    Receiver(usize),
    Udp(usize),
    Link(usize),
    /// The link's own queue, which it holds until it is free: after everything that comes at the same time.
    Queue,
}

/// Where a leg ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// In a feed, from where the next leg goes on.
    Feed,
    /// At the flow's receiver.
    Receiver,
    /// At the flow's sender.
    Sender,
    /// Nowhere: a sink.
    Sink,
    /// In the queue of a link that holds its packets; the first of its links is that link's number among those.
    Hold,
    /// What comes over it is no packet, but the moment when such a link is free.
    Release,
}

/// A straight run of links, in one line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Leg {
    pub(crate) links: [u32; MAX_RUN],
    pub(crate) len: u8,
    pub(crate) end: End,
    /// Size of the packets it carries, zero where each says its own.
    pub(crate) ack_size: u16,
    pub(crate) flow: u32,
    /// The leg from its end: out of the feed, or the first of the way back.
    pub(crate) next: u32,
    /// The feed it ends in, and that feed's stage.
    pub(crate) feed: u32,
    pub(crate) stage: u32,
}

impl Leg {
    const BLANK: Self = Self {
        links: [0; MAX_RUN],
        len: 0,
        end: End::Sink,
        ack_size: 0,
        flow: 0,
        next: 0,
        feed: 0,
        stage: 0,
    };

    /// In place of links, the number of one that holds its packets.
    fn only(hold: usize) -> [u32; MAX_RUN] {
        let mut links = Self::BLANK.links;
        links[0] = hold as u32;
        links
    }

    /// The links it leads over.
    #[inline(always)]
    pub(crate) fn links(&self) -> &[u32] {
        &self.links[..self.len.into()]
    }
}

/// Compiled paths.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    pub(crate) legs: Vec<Leg>,
    /// The feeds of each stage.
    pub(crate) stages: Vec<Range<u32>>,
    pub(crate) ahead: Lookahead,
    /// The stage of the senders where these know of each other, unless one instant follows the other anyway.
    pub(crate) senders: Option<usize>,
    /// The links that hold their packets, and the leg of each over which its moments come.
    pub(crate) holds: Vec<(usize, u32)>,
    /// The first leg of each flow's data, each flow's ACKs, each UDP source.
    pub(crate) data: Vec<u32>,
    pub(crate) acks: Vec<u32>,
    pub(crate) udp: Vec<u32>,
}

/// Where packets wait: on the way into an endpoint, or into a link from one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    // Endpoints come first: at equal times they act before the links they send on.
    AtSender(usize),
    AtReceiver(usize),
    // Whatever leaves a link reaches the next one before that looks at what came.
    /// The far end of a link that holds its packets.
    Beyond(usize),
    IntoLink(usize, Source),
}

/// A place's feed and stage.
#[derive(Clone, Copy, Default)]
struct Spot {
    feed: u32,
    stage: u32,
}

/// The stages of places.
struct Waiting<'a> {
    places: &'a BTreeMap<Place, Spot>,
    senders: Option<usize>,
}

impl Stops for Waiting<'_> {
    fn before(&self, link: usize) -> Option<usize> {
        let of_link = Place::IntoLink(link, Source::Sender(0))..=Place::IntoLink(link, Source::Queue);
        self.places.range(of_link).next().map(|(_, spot)| spot.stage as usize)
    }

    fn beyond(&self, link: usize) -> Option<usize> {
        self.places.get(&Place::Beyond(link)).map(|spot| spot.stage as usize)
    }

    fn senders(&self) -> Option<usize> {
        self.senders
    }
}

struct Path<'a> {
    source: Source,
    links: &'a [usize],
    end: End,
    flow: usize,
    ack_size: u16,
}

impl Routes {
    /// Compiles the paths of `network`; hops between the places where packets wait are computed together.
    pub(crate) fn compile(network: &Network, waits: Waits) -> Self {
        let paths = paths(network);
        let holding = |link: &usize| network.links[*link].queue.holds();
        let held: Vec<usize> = (0..network.links.len()).filter(holding).collect();
        let stops = stops(&paths, network.links.len(), &held, waits);
        let mut places = BTreeMap::new();
        for path in &paths {
            for place in places_of(path, &stops, waits) {
                places.insert(place, Spot::default());
            }
        }
        for &link in &held {
            places.insert(Place::IntoLink(link, Source::Queue), Spot::default());
            places.insert(Place::Beyond(link), Spot::default());
        }
        let mut routes = Self {
            legs: vec![],
            stages: vec![],
            ahead: Lookahead::none(),
            // Endpoints are first among the places.
            senders: (waits == Waits::AtMeetingsAndSenders).then_some(0),
            holds: vec![],
            data: vec![],
            acks: vec![],
            udp: vec![],
        };
        routes.number(&mut places);
        let stages = routes.stages.len();
        let waiting = Waiting { places: &places, senders: routes.senders };
        let ahead = (waits != Waits::Everywhere).then(|| Lookahead::of(network, &waiting, stages));
        let shortest_round = SHORTEST_TURN * stages as u64;
        if let Some(ahead) = ahead.filter(|ahead| !ahead.comes_round_within(shortest_round)) {
            routes.ahead = ahead;
        } else {
            // One stage for all, one instant after the other.
            routes.ahead = Lookahead::none();
            routes.senders = None;
            routes.stages = std::iter::once(0..places.len() as u32).collect();
            places.values_mut().for_each(|spot| spot.stage = 0);
        }
        for (number, &link) in held.iter().enumerate() {
            let Spot { feed, stage } = places[&Place::IntoLink(link, Source::Queue)];
            let leg = Leg { links: Leg::only(number), end: End::Release, feed, stage, ..Leg::BLANK };
            routes.holds.push((link, routes.legs.len() as u32));
            routes.legs.push(leg);
        }
        for path in &paths {
            let first = routes.add(path, &stops, &places, waits);
            match path.source {
                Source::Sender(_) => routes.data.push(first),
                Source::Receiver(_) => routes.acks.push(first),
                _ => routes.udp.push(first),
            }
        }
        for leg in &mut routes.legs {
            match leg.end {
                End::Receiver => leg.next = routes.acks[leg.flow as usize],
                End::Sender => leg.next = routes.data[leg.flow as usize],
                End::Feed | End::Sink | End::Hold | End::Release => {}
            }
        }
        routes
    }

    /// Numbers feeds in the order of their places, which keeps those of one link together, and makes them stages.
    fn number(&mut self, places: &mut BTreeMap<Place, Spot>) {
        let mut last = None;
        for (number, (place, spot)) in (0..).zip(places) {
            let link = match place {
                Place::IntoLink(link, _) => (Some(*link), true),
                Place::Beyond(link) => (Some(*link), false),
                Place::AtSender(_) | Place::AtReceiver(_) => (None, false),
            };
            if last != Some(link) {
                self.stages.push(number..number);
                last = Some(link);
            }
            let stage = self.stages.len() - 1;
            self.stages[stage].end = number + 1;
            *spot = Spot { feed: number, stage: stage as u32 };
        }
    }

    /// Verifies every number the legs hold: the engine does not check them again.
    pub(crate) fn check(&self, links: usize) {
        let leg_exists = |leg: u32| (leg as usize) < self.legs.len();
        assert!(self.data.iter().chain(&self.acks).chain(&self.udp).all(|&leg| leg_exists(leg)));
        for leg in &self.legs {
            assert!(leg.len as usize <= MAX_RUN);
            assert!(leg.links.iter().all(|&link| (link as usize) < links));
            assert!(leg_exists(leg.next) && (leg.flow as usize) < self.data.len().max(1));
            let waits = matches!(leg.end, End::Feed | End::Release);
            assert!(!waits || self.stages[leg.stage as usize].contains(&leg.feed));
            assert!(leg.end < End::Hold || (leg.links[0] as usize) < self.holds.len());
        }
    }

    fn add(&mut self, path: &Path, stops: &[bool], places: &BTreeMap<Place, Spot>, waits: Waits) -> u32 {
        let (legs, holds) = (&mut self.legs, &self.holds);
        let first = legs.len() as u32;
        let blank = Leg { end: path.end, ack_size: path.ack_size, flow: path.flow as u32, ..Leg::BLANK };
        let mut leg = blank;
        let cut = |legs: &mut Vec<Leg>, leg: &mut Leg, place: &Place| {
            let next = legs.len() as u32 + 1;
            let Spot { feed, stage } = places[place];
            legs.push(Leg { end: End::Feed, feed, stage, next, ..*leg });
            *leg = blank;
        };
        let mut source = path.source;
        for &link in path.links {
            if stops[link] {
                cut(legs, &mut leg, &Place::IntoLink(link, source));
            }
            source = Source::Link(link);
            if let Some(number) = holds.iter().position(|hold| hold.0 == link) {
                // It begins in front of the link and ends in its queue; the next one leads from there to the far end.
                let next = legs.len() as u32 + 1;
                legs.push(Leg { links: Leg::only(number), end: End::Hold, next, ..blank });
                cut(legs, &mut leg, &Place::Beyond(link));
                continue;
            }
            leg.links[leg.len as usize] = link as u32;
            leg.len += 1;
        }
        if let Some(place) = end_place(path, waits) {
            cut(legs, &mut leg, &place);
        }
        legs.push(leg);
        first
    }
}

fn paths(network: &Network) -> Vec<Path<'_>> {
    let mut paths = vec![];
    for (flow, config) in network.flows.iter().enumerate() {
        let path = Path {
            source: Source::Sender(flow),
            links: &config.forward,
            end: End::Receiver,
            flow,
            ack_size: 0,
        };
        let back = Path {
            source: Source::Receiver(flow),
            links: &config.reverse,
            end: End::Sender,
            flow,
            ack_size: config.ack_size,
        };
        paths.extend([path, back]);
    }
    paths.extend(network.udp.iter().enumerate().map(|(i, config)| Path {
        source: Source::Udp(i),
        links: &config.path,
        end: End::Sink,
        flow: 0,
        ack_size: config.size,
    }));
    paths
}

/// Which links packets must wait in front of.
fn stops(paths: &[Path], links: usize, held: &[usize], waits: Waits) -> Vec<bool> {
    if waits == Waits::Everywhere {
        return vec![true; links];
    }
    let mut sources: Vec<Option<Source>> = vec![None; links];
    let mut stops = vec![false; links];
    held.iter().for_each(|&link| stops[link] = true);
    for path in paths {
        let mut source = path.source;
        for &link in path.links {
            match sources[link] {
                Some(known) if known != source => stops[link] = true,
                _ => sources[link] = Some(source),
            }
            source = Source::Link(link);
        }
    }
    for path in paths {
        // Data must wait somewhere, or the sender would call itself through its own ACKs for ever.
        if path.end == End::Receiver && !path.links.iter().any(|&link| stops[link]) {
            stops[path.links[0]] = true;
        }
        let mut run = 0;
        for &link in path.links {
            run = if stops[link] { 1 } else { run + 1 };
            if run > MAX_RUN {
                stops[link] = true;
                run = 1;
            }
        }
    }
    stops
}

fn places_of(path: &Path, stops: &[bool], waits: Waits) -> Vec<Place> {
    let mut places = vec![];
    let mut source = path.source;
    for &link in path.links {
        if stops[link] {
            places.push(Place::IntoLink(link, source));
        }
        source = Source::Link(link);
    }
    places.extend(end_place(path, waits));
    places
}

fn end_place(path: &Path, waits: Waits) -> Option<Place> {
    match (path.end, waits) {
        (End::Receiver, Waits::Everywhere) => Some(Place::AtReceiver(path.flow)),
        (End::Sender, Waits::Everywhere | Waits::AtMeetingsAndSenders) => Some(Place::AtSender(path.flow)),
        _ => None,
    }
}
