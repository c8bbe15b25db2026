//! Groups of stages of one connected network that run beside each other, each on a thread of its own, in windows.
//!
//! An event of one group reaches another no sooner than the links between them allow. All groups process what happens before the earliest
//! time at which any of them could reach another, exchange packets, and agree on the next such time: conservative synchronisation with a
//! bounded lag (B. Lubachevsky, Communications of the ACM 32(1), 1989).
//!
//! An endpoint belongs to the group of the stage from which packets reach it. So does the link that only this stage or this
//! endpoint feeds: no two groups touch the same link or end of a connection.

use crate::config::Network;
use crate::lookahead::NEVER;
use crate::parts::Sets;
use crate::route::{End, Leg, Routes};
use std::cmp::Reverse;

/// Most groups of a network.
pub(crate) const MOST: usize = 8;

/// Cost of a window to each group beside its packets, in link crossings: two threads meet, and every stage is asked for its packets.
const WINDOW: f64 = 300.0;

/// Cost of a packet that goes to another group, in link crossings: 1.0 and 1.6 on dumbbells of 10,000 and 1000 flows, 7 on one of 100. It is the processor
/// time in turns less that of one thread, for each packet that changes the group (docs/benchmarks.md).
const PASSAGE: f64 = 1.5;

/// Expected gain from which on a network is divided.
pub(crate) const WORTH: f64 = 1.5;

/// The group of everything in a network.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    pub(crate) count: usize,
    pub(crate) stages: Vec<u8>,
    pub(crate) senders: Vec<u8>,
    pub(crate) udp: Vec<u8>,
    pub(crate) links: Vec<u8>,
    /// For each stage, the minimum time from an arrival there to one at a stage of another group.
    pub(crate) abroad: Vec<u64>,
    /// For each group, the minimum time from a timer to such an arrival.
    pub(crate) from_timers: Vec<u64>,
}

/// The stages to which endpoints and links belong, and the ways between them.
struct Map {
    stages: usize,
    senders: Vec<usize>,
    udp: Vec<usize>,
    links: Vec<usize>,
    /// Cause, effect, and minimum time in between: arrivals at stages.
    ways: Vec<(usize, usize, u64)>,
    /// The same from the timers of the endpoints that belong to a stage.
    timers: Vec<(usize, usize, u64)>,
    /// Stages that belong together.
    together: Vec<(usize, usize)>,
    /// Expected link crossings a second.
    load: Vec<f64>,
    /// Packets a second from stage to stage.
    passages: Vec<(usize, usize, f64)>,
}

impl Map {
    /// The map of `network`, compiled to `routes`; `None` if a packet reaches an endpoint past no stage.
    fn of(network: &Network, routes: &Routes) -> Option<Self> {
        let stages = routes.stages.len();
        let mut map = Self {
            stages,
            senders: vec![],
            udp: vec![],
            links: vec![0; network.links.len()],
            ways: vec![],
            timers: vec![],
            together: vec![],
            load: vec![0.0; stages],
            passages: vec![],
        };
        for stage in 0..stages {
            let ways = routes.ahead.ways_to(stage).iter();
            map.ways.extend(ways.map(|way| (way.from as usize, stage, way.least)));
        }
        for &(link, leg) in &routes.dequeue_links {
            map.links[link] = routes.legs[leg as usize].stage as usize;
        }
        let mut users = vec![0_u32; network.links.len()];
        network.flows.iter().flat_map(|flow| &flow.forward).for_each(|&link| users[link] += 1);
        for (number, flow) in network.flows.iter().enumerate() {
            let share = |&link: &usize| network.links[link].rate.0 as f64 / f64::from(users[link]);
            let bits = f64::from(flow.stack.mss + flow.header) * 8.0;
            let rate = flow.forward.iter().map(share).fold(f64::INFINITY, f64::min) / bits;
            let (data, acks) = (routes.data[number], routes.acks[number]);
            let receiver = map.follow(routes, data, None, rate)?;
            let sender = map.follow(routes, acks, Some(receiver), rate)?;
            map.own(routes, data, sender, rate);
            map.passages.extend(first_stage(routes, data).map(|stage| (sender, stage, rate)));
            map.time(network, routes, (data, flow.header), sender);
            map.time(network, routes, (acks, flow.ack_size.into()), receiver);
            if flow.stack.receive_window.is_tuned() {
                // The sender reads the receiver's window.
                map.together.push((sender, receiver));
            }
            map.senders.push(sender);
        }
        for (source, &first) in network.udp.iter().zip(&routes.udp) {
            let rate = source.rate.0 as f64 / (f64::from(source.size) * 8.0);
            let home = first_stage(routes, first).unwrap_or(0);
            map.follow(routes, first, Some(home), rate);
            map.time(network, routes, (first, source.size.into()), home);
            map.udp.push(home);
        }
        Some(map)
    }

    /// Follows a path from its first leg, which belongs to `home`, to its last stage.
    fn follow(&mut self, routes: &Routes, first: u32, home: Option<usize>, rate: f64) -> Option<usize> {
        let (mut at, mut number) = (home, first);
        loop {
            let leg = &routes.legs[number as usize];
            if let Some(stage) = at {
                self.own(routes, number, stage, rate);
            }
            match leg.end {
                End::Feed | End::Calendar => {
                    self.passages.extend(at.map(|stage| (stage, leg.stage as usize, rate)));
                    at = Some(leg.stage as usize);
                }
                End::Lanes => {
                    self.together.extend(at.map(|stage| (stage, leg.stage as usize)));
                    at = Some(leg.stage as usize);
                }
                End::DequeueQueue => {
                    let beyond = routes.legs[leg.next as usize].stage as usize;
                    self.together.extend(at.map(|stage| (stage, beyond)));
                }
                _ => return at,
            }
            number = leg.next;
        }
    }

    /// Gives the links of a leg to the stage that carries packets over it, with the work.
    fn own(&mut self, routes: &Routes, leg: u32, stage: usize, rate: f64) {
        let leg = &routes.legs[leg as usize];
        leg.links().iter().for_each(|&link| self.links[link as usize] = stage);
        let at_end = match leg.end {
            End::Receiver => 2.0,
            End::Sender => 8.0,
            _ => 1.0,
        };
        self.load[stage] += rate * (f64::from(leg.len) + at_end);
    }

    /// Notes the time from a timer of an endpoint at `home` over its first leg.
    fn time(&mut self, network: &Network, routes: &Routes, (first, size): (u32, u32), home: usize) {
        let Some(stage) = first_stage(routes, first) else { return };
        let over = |&link: &u32| {
            let link = &network.links[link as usize];
            link.delay
                .0
                .saturating_add(link.least(size))
                .saturating_sub(u64::from(link.queue.decides_at_dequeue()))
        };
        let least = routes.legs[first as usize].links().iter().map(over).fold(0, u64::saturating_add);
        self.timers.push((home, stage, least));
    }

    /// The group of each stage, of at most `count`, and the load of the busiest: no way between groups takes less than `least`.
    fn divide(&self, least: u64, count: usize) -> (Vec<u8>, f64) {
        let mut sets = Sets::new(self.stages);
        let short = self.ways.iter().chain(&self.timers).filter(|way| way.2 < least);
        short
            .map(|way| (way.0, way.1))
            .chain(self.together.iter().copied())
            .for_each(|(a, b)| sets.join(a, b));
        let mut loads = vec![0.0; self.stages];
        (0..self.stages).for_each(|stage| loads[sets.root(stage)] += self.load[stage]);
        let mut roots: Vec<usize> = (0..self.stages).filter(|&stage| sets.root(stage) == stage).collect();
        roots.sort_by(|&a, &b| loads[b].total_cmp(&loads[a]));
        // The next largest set joins the group with the least to do.
        let (mut groups, mut of_root) = (vec![0.0; count], vec![0_u8; self.stages]);
        for root in roots {
            let group = (0..count).min_by(|&a, &b| f64::total_cmp(&groups[a], &groups[b])).unwrap_or(0);
            groups[group] += loads[root];
            of_root[root] = group as u8;
        }
        let of: Vec<u8> = (0..self.stages).map(|stage| of_root[sets.root(stage)]).collect();
        for &(from, to, rate) in self.passages.iter().filter(|passage| of[passage.0] != of[passage.1]) {
            groups[usize::from(of[from])] += rate * PASSAGE / 2.0;
            groups[usize::from(of[to])] += rate * PASSAGE / 2.0;
        }
        (of, groups.into_iter().fold(0.0, f64::max))
    }
}

/// The stage behind the first leg of a path.
fn first_stage(routes: &Routes, first: u32) -> Option<usize> {
    let Leg { end, stage, .. } = routes.legs[first as usize];
    matches!(end, End::Feed | End::Calendar | End::Lanes).then_some(stage as usize)
}

impl Groups {
    /// Groups of `network`, compiled to `routes`, for at most `threads` threads; `None` if they would gain less than `worth`.
    pub(crate) fn of(network: &Network, routes: &Routes, threads: usize, worth: f64) -> Option<Self> {
        let count = threads.min(MOST).min(routes.stages.len());
        if count < 2 || routes.senders.is_some() {
            return None;
        }
        let map = Map::of(network, routes)?;
        let all: f64 = map.load.iter().sum();
        let mut times: Vec<u64> =
            map.ways.iter().chain(&map.timers).map(|way| way.2).filter(|&least| least > 0).collect();
        times.sort_unstable();
        times.dedup();
        let every = times.len().div_ceil(32).max(1);
        let tried = times.into_iter().step_by(every).map(|least| {
            let (stages, most) = map.divide(least, count);
            (all / (most + WINDOW * 1e9 / least as f64), stages)
        });
        let (gain, stages) = tried.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (gain >= worth).then(|| Self::from(&map, stages, count))
    }

    fn from(map: &Map, stages: Vec<u8>, count: usize) -> Self {
        let of = |homes: &[usize]| homes.iter().map(|&stage| stages[stage]).collect::<Vec<u8>>();
        let abroad = abroad(map, &stages);
        let mut from_timers = vec![NEVER; count];
        for &(home, stage, least) in &map.timers {
            let group = stages[home];
            let further = if stages[stage] == group { abroad[stage] } else { 0 };
            let soonest = &mut from_timers[usize::from(group)];
            *soonest = least.saturating_add(further).min(*soonest);
        }
        Self {
            count,
            senders: of(&map.senders),
            udp: of(&map.udp),
            links: of(&map.links),
            abroad,
            from_timers,
            stages,
        }
    }
}

/// For each stage, the minimum time to a stage of another group, over stages of its own (E. Dijkstra, Numerische Mathematik 1, 1959).
fn abroad(map: &Map, groups: &[u8]) -> Vec<u64> {
    let mut back: Vec<Vec<(usize, u64)>> = vec![vec![]; map.stages];
    let mut nearest = vec![NEVER; map.stages];
    for &(from, to, least) in &map.ways {
        if groups[from] == groups[to] {
            back[to].push((from, least));
        } else {
            nearest[from] = least.min(nearest[from]);
        }
    }
    let mut open: std::collections::BinaryHeap<_> = (0..map.stages)
        .filter(|&stage| nearest[stage] < NEVER)
        .map(|stage| Reverse((nearest[stage], stage)))
        .collect();
    while let Some(Reverse((time, stage))) = open.pop() {
        if time > nearest[stage] {
            continue;
        }
        for &(from, least) in &back[stage] {
            let further = time.saturating_add(least);
            if further < nearest[from] {
                nearest[from] = further;
                open.push(Reverse((further, from)));
            }
        }
    }
    nearest
}
