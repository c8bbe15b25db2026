//! How far each stage may go ahead of the others.
//!
//! What happens at one stop reaches the next no sooner than the links between them take, so stops need not share a
//! clock: each works through its own arrivals until the earliest moment at which the stops in front of it could send
//! another, many packets of one kind in a row. This is the lookahead of conservative parallel simulation (K. Chandy,
//! J. Misra, IEEE TSE SE-5(5), 1979); here it buys predictable branches and memory accesses rather than processors.

use crate::clocks::NEVER;
use crate::config::{LinkConfig, Network};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// That what arrives at a stage causes an arrival at another, or at it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) from: u32,
    /// The least time it takes, nanoseconds.
    pub(crate) least: u64,
}

/// Times within which nothing is caused, nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lookahead {
    /// The ways to each stage from the stages just in front of it.
    ways: Vec<Vec<Way>>,
    /// At each stage, by what an endpoint or a source just in front of it does on its own.
    ends: Vec<u64>,
}

/// A place on a path.
#[derive(Clone, Copy)]
enum Step {
    /// A stage, where packets wait for the clock.
    Stop(usize),
    /// The least time that a link takes.
    Over(u64),
    End,
}

/// The stages along a path.
pub(crate) trait Stops {
    /// Where packets wait in front of a link.
    fn before(&self, link: usize) -> Option<usize>;

    /// Where packets wait at the far end of a link that holds them.
    fn beyond(&self, link: usize) -> Option<usize>;

    /// Where ACKs wait in front of the senders.
    fn senders(&self) -> Option<usize>;
}

impl Lookahead {
    /// One stage, one instant after the other.
    pub(crate) fn none() -> Self {
        Self { ways: vec![vec![Way { from: 0, least: 1 }]], ends: vec![0] }
    }

    /// Of a network whose packets wait at `count` stages.
    pub(crate) fn of(network: &Network, stops: &impl Stops, count: usize) -> Self {
        let over = |links: &[usize], size: u32| -> Vec<Step> {
            let least = |link: &LinkConfig| match &link.trace {
                Some(trace) => trace.least(size),
                // A nanosecond may be lost to rounding.
                None => link.rate.time_for(size.into()).0.saturating_sub(1),
            };
            let steps = |&link: &usize| {
                let config = &network.links[link];
                let over = Step::Over(config.delay.0.saturating_add(least(config)));
                let before = stops.before(link).map(Step::Stop);
                before.into_iter().chain([over]).chain(stops.beyond(link).map(Step::Stop))
            };
            links.iter().flat_map(steps).collect()
        };
        let mut all = Self::apart(count);
        for flow in &network.flows {
            // Through the sender, along the path, through the receiver, back: a flow goes round for ever, and
            // twice round shows every way from a stop to the next. No data packet is smaller than its header.
            let mut round = Vec::from_iter(stops.senders().map(Step::Stop));
            round.push(Step::End);
            round.extend(over(&flow.forward, flow.header));
            round.push(Step::End);
            round.extend(over(&flow.reverse, flow.ack_size.into()));
            all.follow(&round.repeat(2));
        }
        for udp in &network.udp {
            let mut path = vec![Step::End];
            path.extend(over(&udp.path, udp.size.into()));
            all.follow(&path);
        }
        all
    }

    /// Stages between which no way is known.
    fn apart(count: usize) -> Self {
        Self { ways: vec![vec![]; count], ends: vec![NEVER; count] }
    }

    /// Of stages that each have one in front of them: which, the time from there, and from an endpoint.
    #[cfg(test)]
    pub(crate) fn chain<const N: usize>(stages: [(u32, u64, u64); N]) -> Self {
        let way = |(from, least, _)| vec![Way { from, least }];
        Self { ways: stages.map(way).to_vec(), ends: stages.map(|(_, _, end)| end).to_vec() }
    }

    /// Walks a path backwards, and notes how far the next stop is from each place.
    fn follow(&mut self, path: &[Step]) {
        let mut next: Option<(usize, u64)> = None;
        for &step in path.iter().rev() {
            match step {
                Step::End => {
                    if let Some((stop, least)) = next {
                        self.ends[stop] = self.ends[stop].min(least);
                    }
                }
                Step::Over(time) => next = next.map(|(stop, least)| (stop, least.saturating_add(time))),
                Step::Stop(stage) => {
                    if let Some((stop, least)) = next {
                        self.note(stop, Way { from: stage as u32, least });
                    }
                    next = Some((stage, 0));
                }
            }
        }
    }

    fn note(&mut self, stop: usize, way: Way) {
        match self.ways[stop].iter_mut().find(|known| known.from == way.from) {
            Some(known) => known.least = known.least.min(way.least),
            None => self.ways[stop].push(way),
        }
    }

    /// Whether some way from a stage back to it takes less than `time` (E. Dijkstra, Numerische Mathematik 1, 1959).
    pub(crate) fn comes_round_within(&self, time: u64) -> bool {
        let mut nearest = vec![NEVER; self.ways.len()];
        (0..self.ways.len()).any(|stage| {
            let mut open = BinaryHeap::from([Reverse((0, stage))]);
            let mut touched = vec![];
            let mut found = false;
            while let (Some(Reverse((so_far, at))), false) = (open.pop(), found) {
                for way in &self.ways[at] {
                    let (from, least) = (way.from as usize, way.least.saturating_add(so_far));
                    if least < time && least < nearest[from] {
                        nearest[from] = least;
                        touched.push(from);
                        open.push(Reverse((least, from)));
                    }
                    found |= from == stage && least < time;
                }
            }
            touched.iter().for_each(|&stage| nearest[stage] = NEVER);
            found
        })
    }

    /// The ways to `stage` from the stages just in front of it.
    #[inline]
    pub(crate) fn ways_to(&self, stage: usize) -> &[Way] {
        &self.ways[stage]
    }

    /// Within what time nothing arrives at `stage` by what an endpoint or a source just in front of it does on its own.
    #[inline]
    pub(crate) fn least_from_ends(&self, stage: usize) -> u64 {
        self.ends[stage]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Step::{End, Over, Stop};

    fn ahead(paths: &[&[Step]], stages: usize) -> Lookahead {
        let mut all = Lookahead::apart(stages);
        paths.iter().for_each(|path| all.follow(path));
        all.ways.iter_mut().for_each(|ways| ways.sort_by_key(|way| way.from));
        all
    }

    fn ways<const N: usize>(ways: [(u32, u64); N]) -> Vec<Way> {
        ways.map(|(from, least)| Way { from, least }).to_vec()
    }

    /// Sender, access 10, bottleneck 20 (stage 0), access 30; receiver, access 5, bottleneck 20 (stage 1), access 7.
    const DUMBBELL: [Step; 10] =
        [End, Over(10), Stop(0), Over(20), Over(30), End, Over(5), Stop(1), Over(20), Over(7)];

    #[test]
    fn a_dumbbell_looks_ahead_by_a_bottleneck_and_its_access_links() {
        let all = ahead(&[&DUMBBELL.repeat(2)], 2);
        // From bottleneck to bottleneck 20 + 30 + 5 = 55 and 20 + 7 + 10 = 37, round 92.
        assert_eq!(all.ways, [ways([(1, 37)]), ways([(0, 55)])]);
        // The receiver is 5 from stage 1, and from stage 0 only through it.
        assert_eq!(all.ends, [10, 5]);
        assert!(all.comes_round_within(93) && !all.comes_round_within(92));
    }

    #[test]
    fn one_stop_alone_is_a_whole_round_trip_from_itself() {
        let round = [End, Over(10), Stop(0), Over(20), Over(30), End, Over(5), Over(20), Over(7)];
        let all = ahead(&[&round.repeat(2)], 1);
        // From the receiver it is 42, from the sender 10.
        assert_eq!((all.ways.clone(), all.ends.clone()), (vec![ways([(0, 92)])], vec![10]));
        assert!(all.comes_round_within(93) && !all.comes_round_within(92));
    }

    #[test]
    fn packets_wait_behind_a_link_that_holds_them() {
        // As the dumbbell, and what stage 0 holds waits at stage 2.
        let round =
            [End, Over(10), Stop(0), Over(20), Stop(2), Over(30), End, Over(5), Stop(1), Over(20), Over(7)];
        let all = ahead(&[&round.repeat(2)], 3);
        assert_eq!(all.ways, [ways([(1, 37)]), ways([(2, 35)]), ways([(0, 20)])]);
        assert_eq!(all.ends, [10, 5, NEVER]);
    }

    #[test]
    fn acks_wait_in_front_of_senders_that_know_of_each_other() {
        let round =
            [Stop(2), End, Over(10), Stop(0), Over(20), Over(30), End, Over(5), Stop(1), Over(20), Over(7)];
        let all = ahead(&[&round.repeat(2)], 3);
        assert_eq!(all.ways, [ways([(2, 10)]), ways([(0, 55)]), ways([(1, 27)])]);
        assert_eq!(all.ends, [10, 5, NEVER]);
    }

    #[test]
    fn the_shortest_way_round_may_be_of_several_flows() {
        // There and back are longer than from the one to the other and back by it.
        let (one, two) = ([Stop(0), Over(3), Stop(1), Over(90)], [Stop(1), Over(4), Stop(0), Over(90)]);
        let all = ahead(&[&one.repeat(2), &two.repeat(2)], 2);
        assert_eq!(all.ways, [ways([(1, 4)]), ways([(0, 3)])]);
        assert!(all.comes_round_within(8) && !all.comes_round_within(7));
    }

    #[test]
    fn what_never_meets_anybody_limits_nobody() {
        let all = ahead(&[&[End, Over(10), Over(20)]], 1);
        assert_eq!((all.ways.clone(), all.ends.clone()), (vec![vec![]], vec![NEVER]));
        assert!(!all.comes_round_within(NEVER));
    }
}
