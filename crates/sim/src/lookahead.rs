//! How far a stage may go ahead of the others.
//!
//! What happens at one stop reaches the next no sooner than the links between them take, so stops need not share a
//! clock: within that time each works through its own arrivals, many packets of one kind in a row. This is the
//! lookahead of conservative parallel simulation (K. Chandy, J. Misra, IEEE TSE SE-5(5), 1979); here it buys
//! predictable branches and memory accesses rather than processors.

use crate::config::{LinkConfig, Network};

/// Times within which nothing is caused at any stop, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lookahead {
    /// By what arrives at a stop.
    pub(crate) stops: u64,
    /// By what an endpoint or a source does on its own.
    pub(crate) ends: u64,
}

/// A place on a path.
#[derive(Clone, Copy)]
enum Step {
    /// A link, and the least time a packet takes over it.
    Link(usize, u64),
    /// Where packets wait for the clock once more: the far end of a link that holds them, or in front of a sender.
    Beyond,
    End,
}

impl Lookahead {
    /// One instant after the other, whatever the network.
    pub(crate) const NONE: Self = Self { stops: 1, ends: 0 };

    /// Of a network whose packets wait in front of the links marked in `stops`, behind those of `held` as well, and
    /// in front of senders if `senders`.
    pub(crate) fn of(network: &Network, stops: &[bool], held: &[usize], senders: bool) -> Self {
        let over = |links: &[usize], size: u32| -> Vec<Step> {
            let least = |link: &LinkConfig| match &link.trace {
                Some(trace) => trace.least(size),
                // A nanosecond may be lost to rounding.
                None => link.rate.time_for(size.into()).0.saturating_sub(1),
            };
            let steps = |&link: &usize| {
                let config = &network.links[link];
                let over = Step::Link(link, config.delay.0 + least(config));
                std::iter::once(over).chain(held.contains(&link).then_some(Step::Beyond))
            };
            links.iter().flat_map(steps).collect()
        };
        let mut all = Self { stops: u64::MAX, ends: u64::MAX };
        for flow in &network.flows {
            // Through the sender, along the path, through the receiver, back: a flow goes round for ever, and
            // twice round shows every way from a stop to the next. No data packet is smaller than its header.
            let mut round = Vec::from_iter(senders.then_some(Step::Beyond));
            round.push(Step::End);
            round.extend(over(&flow.forward, flow.header));
            round.push(Step::End);
            round.extend(over(&flow.reverse, flow.ack_size.into()));
            all.follow(&round.repeat(2), stops);
        }
        for udp in &network.udp {
            let mut path = vec![Step::End];
            path.extend(over(&udp.path, udp.size.into()));
            all.follow(&path, stops);
        }
        all
    }

    /// Walks a path backwards, and notes the distance of each place from the next stop.
    fn follow(&mut self, path: &[Step], stops: &[bool]) {
        let mut distance = None;
        for &step in path.iter().rev() {
            match step {
                Step::End => self.ends = self.ends.min(distance.unwrap_or(u64::MAX)),
                Step::Beyond => {
                    self.stops = self.stops.min(distance.unwrap_or(u64::MAX));
                    distance = Some(0);
                }
                Step::Link(link, time) => {
                    distance = distance.map(|beyond: u64| beyond.saturating_add(time));
                    if stops[link] {
                        self.stops = self.stops.min(distance.unwrap_or(u64::MAX));
                        distance = Some(0);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Step::{Beyond, End, Link};

    fn ahead(path: &[Step], stops: &[usize]) -> (u64, u64) {
        let mut all = Lookahead { stops: u64::MAX, ends: u64::MAX };
        let marked: Vec<bool> = (0..8).map(|link| stops.contains(&link)).collect();
        all.follow(path, &marked);
        (all.stops, all.ends)
    }

    #[test]
    fn a_dumbbell_looks_ahead_by_a_bottleneck_and_its_access_links() {
        // Sender, access 10, bottleneck 20 (link 1), access 30; receiver, access 5, bottleneck 20 (link 4), access 7.
        let round = [End, Link(0, 10), Link(1, 20), Link(2, 30), End, Link(3, 5), Link(4, 20), Link(5, 7)];
        // From bottleneck to bottleneck 20 + 30 + 5 = 55 and 20 + 7 + 10 = 37; from the sender 10, the receiver 5.
        assert_eq!(ahead(&round.repeat(2), &[1, 4]), (37, 5));
        // One stop alone is a whole round trip from itself; from the receiver it is 5 + 20 + 7 + 10.
        assert_eq!(ahead(&round.repeat(2), &[1]), (92, 10));
    }

    #[test]
    fn packets_wait_behind_a_link_that_holds_them() {
        // As above, link 1 holding: 20 to its far end, 30 + 5 from there to link 4, and 20 + 7 + 10 back to link 1.
        let round =
            [End, Link(0, 10), Link(1, 20), Beyond, Link(2, 30), End, Link(3, 5), Link(4, 20), Link(5, 7)];
        assert_eq!(ahead(&round.repeat(2), &[1, 4]), (20, 5));
    }

    #[test]
    fn acks_wait_in_front_of_senders_that_know_of_each_other() {
        // As the first, from sender to link 1 10, from there to link 4 55, and from link 4 to the sender 27; the
        // receiver is 5 from link 4.
        let round =
            [Beyond, End, Link(0, 10), Link(1, 20), Link(2, 30), End, Link(3, 5), Link(4, 20), Link(5, 7)];
        assert_eq!(ahead(&round.repeat(2), &[1, 4]), (10, 5));
        // With no other stop than the sender it is a round from itself.
        assert_eq!(ahead(&round.repeat(2), &[]), (92, 32));
    }

    #[test]
    fn what_never_meets_anybody_limits_nobody() {
        assert_eq!(ahead(&[End, Link(0, 10), Link(1, 20)], &[]), (u64::MAX, u64::MAX));
        // Behind the last stop of a one-way path comes nothing.
        assert_eq!(ahead(&[End, Link(0, 10), Link(1, 20), Link(2, 30)], &[1]), (u64::MAX, 10));
    }
}
