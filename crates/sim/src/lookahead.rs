//! Lookahead: how far each stage may run ahead of the others.
//!
//! An event at one stop cannot reach the next sooner than the links in between allow, so stops need no common
//! clock. Each processes its own arrivals until the earliest time at which an upstream stop could send
//! another packet; it thus handles many packets of one kind in a row. This is the lookahead of conservative
//! parallel simulation (K. Chandy, J. Misra, IEEE TSE SE-5(5), 1979); on one thread it improves branch prediction and
//! memory access. `groups` divides the stages among several threads by the same times.

use crate::config::Network;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A time later than any other.
pub(crate) const NEVER: u64 = u64::MAX;

/// A way by which an arrival at the stage `from` causes an arrival at another stage, or again at `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) from: u32,
    /// Minimum time between cause and arrival, nanoseconds.
    pub(crate) least: u64,
}

/// Minimum times between cause and effect, nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lookahead {
    /// For each stage, the ways from the stages directly upstream.
    ways: Vec<Vec<Way>>,
    /// For each stage, the minimum time from an independent action of a directly upstream endpoint or source.
    ends: Vec<u64>,
}

/// A step along a path.
#[derive(Clone, Copy)]
enum Step {
    /// A stage: a place where packets wait for the clock.
    Stop(usize),
    /// A link: the minimum time to cross it.
    Over(u64),
    End,
}

/// Stages along a path.
pub(crate) trait Stops {
    /// Stage in front of a link, if packets wait there.
    fn before(&self, link: usize) -> Option<usize>;

    /// Stage at the far end of a link with a dequeue-time queue, or with two lanes.
    fn beyond(&self, link: usize) -> Option<usize>;

    /// Stage in front of the senders, if ACKs wait there.
    fn senders(&self) -> Option<usize>;
}

impl Lookahead {
    /// Without a stage.
    pub(crate) const NOWHERE: Self = Self { ways: vec![], ends: vec![] };

    /// Single stage, processed one instant at a time.
    pub(crate) fn none() -> Self {
        Self { ways: vec![vec![Way { from: 0, least: 1 }]], ends: vec![0] }
    }

    /// Lookahead of a network whose packets wait at `count` stages.
    pub(crate) fn of(network: &Network, stops: &impl Stops, count: usize) -> Self {
        let over = |links: &[usize], size: u32| -> Vec<Step> {
            let steps = |&link: &usize| {
                let config = &network.links[link];
                // A dequeue-time queue releases a packet up to a nanosecond after its transmission has begun.
                let late = u64::from(config.queue.decides_at_dequeue());
                let over = config.delay.0.saturating_add(config.least(size)).saturating_sub(late);
                let over = Step::Over(over);
                let before = stops.before(link).map(Step::Stop);
                before.into_iter().chain([over]).chain(stops.beyond(link).map(Step::Stop))
            };
            links.iter().flat_map(steps).collect()
        };
        let mut all = Self::apart(count);
        for flow in &network.flows {
            // A flow repeats one round: sender, forward path, receiver, reverse path. Two rounds contain every way from one
            // stop to the next. A data packet is at least as large as its header.
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

    /// Stages without any way between them.
    fn apart(count: usize) -> Self {
        Self { ways: vec![vec![]; count], ends: vec![NEVER; count] }
    }

    /// Stages with one upstream stage each: its number, the time from there, and the time from an endpoint.
    #[cfg(test)]
    pub(crate) fn chain<const N: usize>(stages: [(u32, u64, u64); N]) -> Self {
        let way = |(from, least, _)| vec![Way { from, least }];
        Self { ways: stages.map(way).to_vec(), ends: stages.map(|(_, _, end)| end).to_vec() }
    }

    /// Walks a path backwards and records the distance from each place to the next stop.
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

    /// Whether some way from a stage back to itself takes less than `time` (E. Dijkstra, Numerische
    /// Mathematik 1, 1959).
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

    /// The ways from stages for which `is_own` holds.
    pub(crate) fn within(&self, is_own: impl Fn(u32) -> bool) -> Self {
        let own = |ways: &Vec<Way>| ways.iter().copied().filter(|way| is_own(way.from)).collect();
        Self { ways: self.ways.iter().map(own).collect(), ends: self.ends.clone() }
    }

    /// Ways to `stage` from the stages directly upstream.
    #[inline]
    pub(crate) fn ways_to(&self, stage: usize) -> &[Way] {
        &self.ways[stage]
    }

    /// Minimum time until an independent action of a directly upstream endpoint or source causes an arrival
    /// at `stage`.
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
    fn the_lookahead_of_a_dumbbell_is_a_bottleneck_and_its_access_links() {
        let all = ahead(&[&DUMBBELL.repeat(2)], 2);
        // From bottleneck to bottleneck 20 + 30 + 5 = 55 and 20 + 7 + 10 = 37, in total 92.
        assert_eq!(all.ways, [ways([(1, 37)]), ways([(0, 55)])]);
        // The receiver is 5 before stage 1; it reaches stage 0 only through stage 1.
        assert_eq!(all.ends, [10, 5]);
        assert!(all.comes_round_within(93) && !all.comes_round_within(92));
    }

    #[test]
    fn a_single_stop_is_a_full_round_trip_from_itself() {
        let round = [End, Over(10), Stop(0), Over(20), Over(30), End, Over(5), Over(20), Over(7)];
        let all = ahead(&[&round.repeat(2)], 1);
        // The receiver is 42 before the stop, the sender 10.
        assert_eq!((all.ways.clone(), all.ends.clone()), (vec![ways([(0, 92)])], vec![10]));
        assert!(all.comes_round_within(93) && !all.comes_round_within(92));
    }

    #[test]
    fn packets_wait_behind_a_dequeue_time_link() {
        // The dumbbell with a dequeue-time link at stage 0; its packets wait at stage 2.
        let round =
            [End, Over(10), Stop(0), Over(20), Stop(2), Over(30), End, Over(5), Stop(1), Over(20), Over(7)];
        let all = ahead(&[&round.repeat(2)], 3);
        assert_eq!(all.ways, [ways([(1, 37)]), ways([(2, 35)]), ways([(0, 20)])]);
        assert_eq!(all.ends, [10, 5, NEVER]);
    }

    #[test]
    fn acks_wait_in_front_of_senders_that_share_state() {
        let round =
            [Stop(2), End, Over(10), Stop(0), Over(20), Over(30), End, Over(5), Stop(1), Over(20), Over(7)];
        let all = ahead(&[&round.repeat(2)], 3);
        assert_eq!(all.ways, [ways([(2, 10)]), ways([(0, 55)]), ways([(1, 27)])]);
        assert_eq!(all.ends, [10, 5, NEVER]);
    }

    #[test]
    fn the_shortest_round_may_combine_several_flows() {
        // Each flow's own round is long; the first flow's way out and the second flow's way back make a short
        // one.
        let (one, two) = ([Stop(0), Over(3), Stop(1), Over(90)], [Stop(1), Over(4), Stop(0), Over(90)]);
        let all = ahead(&[&one.repeat(2), &two.repeat(2)], 2);
        assert_eq!(all.ways, [ways([(1, 4)]), ways([(0, 3)])]);
        assert!(all.comes_round_within(8) && !all.comes_round_within(7));
    }

    #[test]
    fn a_flow_without_stops_limits_no_stage() {
        let all = ahead(&[&[End, Over(10), Over(20)]], 1);
        assert_eq!((all.ways.clone(), all.ends.clone()), (vec![vec![]], vec![NEVER]));
        assert!(!all.comes_round_within(NEVER));
    }
}
