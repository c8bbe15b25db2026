//! Connections of a group: start, endpoints, and the writes of the application.

use firstflight_contract::Nanos;
use firstflight_random::Dist;
use firstflight_random::Stream;
use firstflight_scenario::{Endpoints, FlowGroup, Interval, Pages, Source};
use firstflight_sim::sender::app::{AppConfig, Clock};

use super::room::{CONNECTION, Room, WRITE};
use super::{tcplib, times};
use crate::draw::draw;

/// A connection.
pub(super) struct Connection {
    /// Name in results.
    pub(super) name: String,
    /// Name of the unit that it is a part of, which selects the random streams of its ends and propagation
    /// delay.
    pub(super) of: String,
    pub(super) ends: Endpoints,
    pub(super) app: AppConfig,
}

/// Connections of `group` in a run that ends at `end`, as long as there is room.
pub(super) fn connections(group: &FlowGroup, end: Nanos, seed: u64, room: &mut Room) -> Vec<Connection> {
    let starts = times::starts(group, end, seed);
    let each = (0..).zip(starts);
    match group.source {
        Source::Flow => each.flat_map(|(number, start)| transfer(group, number, start, seed, room)).collect(),
        Source::Telnet(interval) => {
            each.map(|(number, start)| telnet(group, interval, number, start, end, seed, room)).collect()
        }
        Source::Web(pages) => {
            each.flat_map(|(number, start)| session(group, pages, number, start, end, seed, room)).collect()
        }
    }
}

/// Endpoints of one flow of a group, or of a source.
pub(super) fn ends(of: &Endpoints, stream: &mut Stream) -> Endpoints {
    match of {
        Endpoints::Pairs(pairs) => {
            let (from, to) = pairs[(stream.unit() * pairs.len() as f64) as usize];
            Endpoints::Nodes { from, to }
        }
        one => one.clone(),
    }
}

fn payload(size: Dist<u64>, stream: &mut Stream) -> u64 {
    draw(size, stream).max(1)
}

/// A transfer, split over its parallel connections.
fn transfer(group: &FlowGroup, number: u32, start: Nanos, seed: u64, room: &mut Room) -> Vec<Connection> {
    let name = group.flow_name(number);
    let stream = |what: &str| Stream::named(seed, &format!("{what} {name}"));
    let ends = ends(&group.endpoints, &mut stream("ends"));
    let bytes = group.size.map(|size| payload(size, &mut stream("size")));
    let pauses = times::pauses(group, &mut stream("idle"));
    let lifetime = group.lifetime.map(|lifetime| draw(lifetime, &mut stream("lifetime")).0);
    let parts = u64::from(group.parallel);
    // The first connections carry the remainder; connections without data are not created.
    let part = |j: u64| bytes.map(|bytes| bytes / parts + u64::from(j < bytes % parts));
    let cost = CONNECTION + WRITE * pauses.len() as u64;
    let made = (0..parts).filter(|&j| part(j) != Some(0)).take_while(|_| room.take(cost));
    let connection = |j: u64| Connection {
        name: if parts == 1 { name.clone() } else { format!("{name}.{j}") },
        of: name.clone(),
        ends: ends.clone(),
        app: AppConfig {
            start: start.0,
            bytes: part(j),
            pauses: pauses.clone(),
            lifetime,
            ..AppConfig::default()
        },
    };
    made.map(connection).collect()
}

/// A connection that sends messages at random intervals until it or the run ends.
fn telnet(
    group: &FlowGroup,
    interval: Interval,
    number: u32,
    start: Nanos,
    end: Nanos,
    seed: u64,
    room: &mut Room,
) -> Connection {
    let name = group.flow_name(number);
    let stream = |what: &str| Stream::named(seed, &format!("{what} {name}"));
    let mut intervals = stream("interval");
    let lifetime = group.lifetime.map(|lifetime| draw(lifetime, &mut stream("lifetime")));
    let until = lifetime.map_or(end, |lifetime| end.min(start.saturating_add(lifetime)));
    let mut gap = || match interval {
        Interval::Tcplib => tcplib::quantile(intervals.unit()),
        Interval::Law(law) => draw(law, &mut intervals).max(Nanos(1)),
    };
    // The first message, like all others, follows an interval.
    let first = start.saturating_add(gap());
    room.take(CONNECTION);
    let mut pauses = vec![];
    let mut at = first;
    loop {
        let gap = gap();
        at = at.saturating_add(gap);
        if at >= until || !room.take(WRITE) {
            break;
        }
        pauses.push(gap.0);
    }
    let size = group.size.unwrap_or(Dist::Fixed(1));
    Connection {
        ends: ends(&group.endpoints, &mut stream("ends")),
        app: AppConfig {
            start: first.0,
            bytes: Some(payload(size, &mut stream("size"))),
            pauses,
            clock: Clock::Written,
            sizes: vec![],
            lifetime: lifetime.map(|lifetime| lifetime.saturating_sub(first - start).0),
        },
        of: name.clone(),
        name,
    }
}

/// An object of a web page.
struct Object {
    at: Nanos,
    page: u32,
    number: u32,
    bytes: u64,
}

fn session(
    group: &FlowGroup,
    pages: Pages,
    number: u32,
    start: Nanos,
    end: Nanos,
    seed: u64,
    room: &mut Room,
) -> Vec<Connection> {
    let name = group.flow_name(number);
    let stream = |what: &str| Stream::named(seed, &format!("{what} {name}"));
    let objects = objects(group, pages, start, end, &mut stream("web"), room);
    let mut ends_of = stream("ends");
    if !pages.persistent {
        let mut to = ends(&group.endpoints, &mut ends_of);
        let mut page = 0;
        let connection = |object: Object| {
            // Each page has its own server.
            if object.page != page {
                (page, to) = (object.page, ends(&group.endpoints, &mut ends_of));
            }
            let app = AppConfig { start: object.at.0, bytes: Some(object.bytes), ..AppConfig::default() };
            let name = format!("{name}.{}.{}", object.page, object.number);
            Connection { of: name.clone(), name, ends: to.clone(), app }
        };
        return objects.into_iter().map(connection).collect();
    }
    let ends = ends(&group.endpoints, &mut ends_of);
    let mut connections: Vec<Connection> = vec![];
    let mut last = vec![];
    for (turn, object) in objects.into_iter().enumerate() {
        let j = turn % group.parallel as usize;
        match connections.get_mut(j) {
            Some(connection) => {
                connection.app.pauses.push((object.at - last[j]).0);
                connection.app.sizes.push(object.bytes);
                last[j] = object.at;
            }
            None => {
                let app = AppConfig {
                    start: object.at.0,
                    bytes: Some(object.bytes),
                    clock: Clock::Written,
                    ..AppConfig::default()
                };
                connections.push(Connection {
                    name: format!("{name}.{j}"),
                    of: name.clone(),
                    ends: ends.clone(),
                    app,
                });
                last.push(object.at);
            }
        }
    }
    connections
}

/// Objects of a session that begin before `end`, as long as there is room.
fn objects(
    group: &FlowGroup,
    pages: Pages,
    start: Nanos,
    end: Nanos,
    stream: &mut Stream,
    room: &mut Room,
) -> Vec<Object> {
    let cost = if pages.persistent { WRITE } else { CONNECTION };
    let size = group.size.unwrap_or(Dist::Fixed(1));
    let mut objects = vec![];
    let mut at = start;
    for page in 0..pages.pages {
        if page > 0 {
            at = at.saturating_add(draw(pages.page_gap, stream));
        }
        let count = libm::ceil(draw(pages.objects, stream)).max(1.0) as u32;
        for number in 0..count {
            if number > 0 {
                at = at.saturating_add(draw(pages.object_gap, stream));
            }
            if at >= end || !room.take(cost) {
                return objects;
            }
            objects.push(Object { at, page, number, bytes: payload(size, stream) });
        }
    }
    objects
}
