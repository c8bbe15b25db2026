//! Compiles paths into legs: runs of links between the places where packets must wait for the clock.
//!
//! A link fed by one ordered source sees its packets in order whenever they are computed, so it is computed
//! together with the hop before it. Only where several sources meet do packets wait for the clock, in one
//! feed per source.
//!
//! Behind a link whose packets overtake each other, packets wait once more, in a feed for each of its two lanes, and go on in the
//! order of their arrival.
//!
//! The feeds in front of one link form a stage. Stages run ahead of each other as far as `lookahead` allows.

use crate::config::Network;
use crate::lookahead::{Lookahead, Stops};
use crate::part::Numbers;
use std::collections::BTreeMap;
use std::ops::Range;

/// Maximum number of links in a leg; a feed cuts a longer run.
pub(crate) const MAX_RUN: usize = 11;

/// Minimum length of a turn, nanoseconds. Stages take turns only if the shortest round through all of them
/// lasts this long per stage; shorter turns cost more than they save.
const SHORTEST_TURN: u64 = 1_000;

/// Feeds of a stage from which on its packets wait in a calendar.
const MANY: usize = 128;

/// Places where packets wait for the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// In front of every hop: one event per hop.
    Everywhere,
    /// In front of links that several sources feed.
    AtMeetings,
    /// As `AtMeetings`, and in front of senders, which must act in order of time because they share state.
    AtMeetingsAndSenders,
}

/// A source of ordered packets for a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Sender(usize),
    Receiver(usize),
    Udp(usize),
    Link(usize),
    /// The link's own dequeue-time queue; it acts after all packets that arrive at the same time.
    Queue,
}

/// End of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// A feed, from which the next leg continues.
    Feed,
    /// The flow's receiver.
    Receiver,
    /// The flow's sender.
    Sender,
    /// A sink.
    Sink,
    /// A feed of a stage whose packets wait in a calendar.
    Calendar,
    /// A dequeue-time queue; `links[0]` is the number of the link among the links with such queues.
    DequeueQueue,
    /// A release event of such a link, which is no packet: the link is free.
    Release,
    /// The feed of the lane that the packet took behind the last link: `feed`, or the one after it for the slower lane.
    Lanes,
    /// A feed or calendar of a stage that another thread processes.
    Away,
}

/// A run of links; fills one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Leg {
    pub(crate) links: [u32; MAX_RUN],
    pub(crate) len: u8,
    pub(crate) end: End,
    /// Bare size of the packets; zero if each packet carries its own size.
    pub(crate) ack_size: u16,
    pub(crate) flow: u32,
    /// Leg that follows: out of the feed, or the first leg of the return path.
    pub(crate) next: u32,
    /// Feed in which the leg ends, and the stage of that feed.
    pub(crate) feed: u32,
    pub(crate) stage: u32,
}

impl Leg {
    pub(crate) const BLANK: Self = Self {
        links: [0; MAX_RUN],
        len: 0,
        end: End::Sink,
        ack_size: 0,
        flow: 0,
        next: 0,
        feed: 0,
        stage: 0,
    };

    /// Links of a leg that ends in the dequeue-time queue `hop`.
    fn only(hop: usize) -> [u32; MAX_RUN] {
        let mut links = Self::BLANK.links;
        links[0] = hop as u32;
        links
    }

    /// Links of the leg, in order.
    #[inline(always)]
    pub(crate) fn links(&self) -> &[u32] {
        &self.links[..self.len.into()]
    }
}

/// Compiled paths of a network.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    pub(crate) legs: Vec<Leg>,
    /// Feeds of each stage.
    pub(crate) stages: Vec<Range<u32>>,
    pub(crate) ahead: Lookahead,
    /// For each stage, whether its packets wait in a calendar instead of feeds: it has many feeds, and nothing joins them during
    /// a turn that would be taken in it, so that a turn may take packets before it carries those before them.
    pub(crate) calendars: Vec<bool>,
    /// Stage in front of the senders, if these share state and stages take turns.
    pub(crate) senders: Option<usize>,
    /// Links with a dequeue-time queue, and the leg of each that carries its release events.
    pub(crate) dequeue_links: Vec<(usize, u32)>,
    /// For each link, whether its packets overtake each other.
    two_lanes: Vec<bool>,
    /// First leg of each flow's data, of each flow's ACKs, and of each UDP source.
    pub(crate) data: Vec<u32>,
    pub(crate) acks: Vec<u32>,
    pub(crate) udp: Vec<u32>,
    /// Numbers of flows and sources at queues.
    pub(crate) numbers: Numbers,
}

/// A place where packets wait: in front of an endpoint, or in front of a link, per source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    // Endpoints come first: at equal times they act before links.
    AtSender(usize),
    AtReceiver(usize),
    // A packet that leaves a link reaches the next one before the next one processes its arrivals.
    /// The far end of a link with a dequeue-time queue, or of a lane of a link.
    Beyond(usize, Lane),
    IntoLink(usize, Source),
}

/// A lane behind a link; a link whose packets keep their order has the fast one only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    Fast,
    Slow,
}

/// Feed and stage of a place.
#[derive(Clone, Copy, Default)]
struct Spot {
    feed: u32,
    stage: u32,
}

/// Stages by place.
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
        self.places.get(&Place::Beyond(link, Lane::Fast)).map(|spot| spot.stage as usize)
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
    /// Of a network without paths.
    pub(crate) const NONE: Self = Self {
        legs: vec![],
        stages: vec![],
        ahead: Lookahead::NOWHERE,
        calendars: vec![],
        senders: None,
        dequeue_links: vec![],
        two_lanes: vec![],
        data: vec![],
        acks: vec![],
        udp: vec![],
        numbers: Numbers::Whole(0),
    };

    /// Compiles the paths of `network`.
    pub(crate) fn compile(network: &Network, waits: Waits) -> Self {
        let paths = paths(network);
        let at_dequeue = |link: &usize| network.links[*link].queue.decides_at_dequeue();
        let dequeue_links: Vec<usize> = (0..network.links.len()).filter(at_dequeue).collect();
        let stops = stops(&paths, network.links.len(), &dequeue_links, waits);
        let mut places = BTreeMap::new();
        for path in &paths {
            for place in places_of(path, &stops, waits) {
                places.insert(place, Spot::default());
            }
        }
        for &link in &dequeue_links {
            places.insert(Place::IntoLink(link, Source::Queue), Spot::default());
            places.insert(Place::Beyond(link, Lane::Fast), Spot::default());
        }
        let two_lanes: Vec<bool> = network.links.iter().map(|link| link.lanes.is_some()).collect();
        for link in (0..two_lanes.len()).filter(|&link| two_lanes[link]) {
            places.extend([Lane::Fast, Lane::Slow].map(|lane| (Place::Beyond(link, lane), Spot::default())));
        }
        let mut routes = Self {
            legs: vec![],
            stages: vec![],
            ahead: Lookahead::none(),
            calendars: vec![],
            // Endpoints come first among the places.
            senders: (waits == Waits::AtMeetingsAndSenders).then_some(0),
            dequeue_links: vec![],
            two_lanes,
            data: vec![],
            acks: vec![],
            udp: vec![],
            numbers: Numbers::Whole(network.flows.len() as u32),
        };
        routes.number(&mut places);
        let stages = routes.stages.len();
        let waiting = Waiting { places: &places, senders: routes.senders };
        let ahead = (waits != Waits::Everywhere).then(|| Lookahead::of(network, &waiting, stages));
        let shortest_round = SHORTEST_TURN * stages as u64;
        if let Some(ahead) = ahead.filter(|ahead| !ahead.comes_round_within(shortest_round)) {
            routes.ahead = ahead;
            routes.calendars = routes.stages.iter().map(|feeds| feeds.len() >= MANY).collect();
        } else {
            // A single stage, processed one instant at a time.
            routes.ahead = Lookahead::none();
            routes.senders = None;
            routes.calendars = vec![false];
            routes.stages = std::iter::once(0..places.len() as u32).collect();
            places.values_mut().for_each(|spot| spot.stage = 0);
        }
        for (number, &link) in dequeue_links.iter().enumerate() {
            let Spot { feed, stage } = places[&Place::IntoLink(link, Source::Queue)];
            let leg = Leg { links: Leg::only(number), end: End::Release, feed, stage, ..Leg::BLANK };
            // The link's release events join its own stage.
            routes.calendars[stage as usize] = false;
            routes.dequeue_links.push((link, routes.legs.len() as u32));
            routes.legs.push(leg);
        }
        routes.legs.reserve_exact(places.len() + paths.len());
        for path in &paths {
            let first = routes.add(path, &stops, &places, waits);
            match path.source {
                Source::Sender(_) => routes.data.push(first),
                Source::Receiver(_) => routes.acks.push(first),
                _ => routes.udp.push(first),
            }
        }
        if let Some(senders) = routes.senders {
            // An ACK may make a sender that shares state fire a timer of this turn.
            routes.calendars[senders] = false;
        }
        for leg in &mut routes.legs {
            if leg.end == End::Feed && routes.calendars[leg.stage as usize] {
                leg.end = End::Calendar;
            }
            match leg.end {
                End::Receiver => leg.next = routes.acks[leg.flow as usize],
                End::Sender => leg.next = routes.data[leg.flow as usize],
                End::Feed
                | End::Sink
                | End::Calendar
                | End::DequeueQueue
                | End::Release
                | End::Lanes
                | End::Away => {}
            }
        }
        routes.number_calendars_last();
        routes
    }

    /// The routes of one of several groups of stages, by the group of each stage.
    pub(crate) fn of_group(&self, groups: &[u8], group: u8) -> Self {
        let is_own = |stage: u32| groups[stage as usize] == group;
        let mut routes = Self { ahead: self.ahead.within(is_own), ..self.clone() };
        for leg in &mut routes.legs {
            if matches!(leg.end, End::Feed | End::Calendar) && !is_own(leg.stage) {
                leg.end = End::Away;
            }
        }
        routes
    }

    /// Numbers the feeds of stages with a calendar behind all others: these have no feed in memory.
    fn number_calendars_last(&mut self) {
        let mut next = 0;
        let mut stages = self.stages.clone();
        for in_calendar in [false, true] {
            for (stage, _) in stages.iter_mut().zip(&self.calendars).filter(|(_, is)| **is == in_calendar) {
                *stage = next..next + stage.len() as u32;
                next = stage.end;
            }
        }
        for leg in &mut self.legs {
            let stage = leg.stage as usize;
            if let Some(before) = self.stages.get(stage).filter(|feeds| feeds.contains(&leg.feed)) {
                leg.feed = leg.feed - before.start + stages[stage].start;
            }
        }
        self.stages = stages;
    }

    /// Number of feeds in memory; their numbers come first.
    pub(crate) fn feeds(&self) -> usize {
        let stages = self.stages.iter().zip(&self.calendars).filter(|(_, in_calendar)| !**in_calendar);
        stages.map(|(feeds, _)| feeds.len()).sum()
    }

    /// Numbers feeds in the order of their places, so that the feeds of one link are adjacent, and groups
    /// them into stages.
    fn number(&mut self, places: &mut BTreeMap<Place, Spot>) {
        let mut last = None;
        for (number, (place, spot)) in (0..).zip(places) {
            let link = match place {
                Place::IntoLink(link, _) => (Some(*link), true),
                Place::Beyond(link, _) => (Some(*link), false),
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

    /// Verifies every index in the legs; the engine does not check them again.
    pub(crate) fn check(&self, links: usize) {
        let leg_exists = |leg: u32| (leg as usize) < self.legs.len();
        let in_memory = self.feeds() as u32;
        assert!(self.data.iter().chain(&self.acks).chain(&self.udp).all(|&leg| leg_exists(leg)));
        for leg in &self.legs {
            assert!(leg.len as usize <= MAX_RUN);
            assert!(leg.links.iter().all(|&link| (link as usize) < links));
            assert!(leg_exists(leg.next) && (leg.flow as usize) < self.data.len().max(1));
            assert!(leg.end != End::Lanes || !self.calendars[leg.stage as usize]);
            let feeds = match leg.end {
                End::Feed | End::Calendar | End::Release | End::Away => 1,
                End::Lanes => 2,
                _ => 0,
            };
            assert!((0..feeds).all(|next| self.stages[leg.stage as usize].contains(&(leg.feed + next))));
            let has_feed = match leg.end {
                End::Calendar => false,
                End::Away => !self.calendars[leg.stage as usize],
                _ => feeds > 0,
            };
            assert!(!has_feed || leg.feed + feeds <= in_memory);
            let dequeues = matches!(leg.end, End::DequeueQueue | End::Release);
            assert!(!dequeues || (leg.links[0] as usize) < self.dequeue_links.len());
        }
    }

    fn add(&mut self, path: &Path, stops: &[bool], places: &BTreeMap<Place, Spot>, waits: Waits) -> u32 {
        let (legs, dequeue_links) = (&mut self.legs, &self.dequeue_links);
        let first = legs.len() as u32;
        let blank = Leg { end: path.end, ack_size: path.ack_size, flow: path.flow as u32, ..Leg::BLANK };
        let mut leg = blank;
        let cut = |legs: &mut Vec<Leg>, leg: &mut Leg, place: &Place, end: End| {
            let next = legs.len() as u32 + 1;
            let Spot { feed, stage } = places[place];
            legs.push(Leg { end, feed, stage, next, ..*leg });
            *leg = blank;
        };
        let beyond = |link: usize| match self.two_lanes[link] {
            true => End::Lanes,
            false => End::Feed,
        };
        let mut source = path.source;
        for &link in path.links {
            if stops[link] {
                cut(legs, &mut leg, &Place::IntoLink(link, source), End::Feed);
            }
            source = Source::Link(link);
            if let Some(number) = dequeue_links.iter().position(|hop| hop.0 == link) {
                // This leg starts in front of the link and ends in its queue; the next one leads to the far
                // end.
                let next = legs.len() as u32 + 1;
                legs.push(Leg { links: Leg::only(number), end: End::DequeueQueue, next, ..blank });
                cut(legs, &mut leg, &Place::Beyond(link, Lane::Fast), beyond(link));
                continue;
            }
            leg.links[leg.len as usize] = link as u32;
            leg.len += 1;
            if self.two_lanes[link] {
                cut(legs, &mut leg, &Place::Beyond(link, Lane::Fast), End::Lanes);
            }
        }
        if let Some(place) = end_place(path, waits) {
            cut(legs, &mut leg, &place, End::Feed);
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

/// Links in front of which packets must wait.
fn stops(paths: &[Path], links: usize, dequeue_links: &[usize], waits: Waits) -> Vec<bool> {
    if waits == Waits::Everywhere {
        return vec![true; links];
    }
    let mut sources: Vec<Option<Source>> = vec![None; links];
    let mut stops = vec![false; links];
    dequeue_links.iter().for_each(|&link| stops[link] = true);
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
        // Data must wait at least once; otherwise the sender would call itself through its own ACKs without
        // end.
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
