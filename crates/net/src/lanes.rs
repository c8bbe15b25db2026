//! A link whose packets overtake each other: behind the line, each packet takes one of two lanes, and the slower one adds a
//! fixed delay. Each lane keeps the order of its packets.
//!
//! Networks reorder where packets of one connection take parallel ways of unequal delay: J. Bennett, C. Partridge, N.
//! Shectman, "Packet reordering is not pathological network behavior", IEEE/ACM Transactions on Networking 7(6), 1999. Two
//! packets then change places only if the second follows within the difference of the two ways, as J. Bellardo, S. Savage,
//! "Measuring packet reordering", IMW 2002, measured: reordering falls with the gap between packets. A share `p` on the slower
//! lane is what Linux's emulator makes of `delay D reorder 1-p` (tc-netem(8)), without its correlation, whose values are not
//! uniform; runs are those of [`crate::two_state`].

use crate::two_state::TwoState;
use firstflight_contract::Nanos;
use firstflight_random::Stream;

/// Parameters of the slower lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LanesConfig {
    /// Share of the packets that take it, below 1.
    pub share: f64,
    /// Mean number of packets in a run of such packets; 1 for independent choices.
    pub burst: f64,
    /// Time that it takes longer.
    pub delay: Nanos,
}

/// The two lanes behind one link.
#[derive(Clone, Debug)]
pub struct Lanes {
    choice: TwoState,
    delay: u64,
    /// Whether the last packet took the slower lane.
    slow: bool,
}

impl Lanes {
    /// Lanes of these parameters, whose choices come from `stream`.
    pub fn new(config: LanesConfig, stream: Stream) -> Self {
        let choice = TwoState::new(config.share, config.burst, stream);
        Self { choice, delay: config.delay.0, slow: false }
    }

    /// Further delay of the next packet, nanoseconds.
    pub(crate) fn take(&mut self) -> u64 {
        self.slow = self.choice.takes_next();
        if self.slow { self.delay } else { 0 }
    }

    /// Whether the last packet took the slower lane.
    pub(crate) fn is_slow(&self) -> bool {
        self.slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Link, Passage};
    use crate::queue::Queue;
    use firstflight_contract::Rate;

    const MS: u64 = 1_000_000;

    fn link(share: f64, burst: f64, delay: Nanos) -> Link {
        let lanes = Lanes::new(LanesConfig { share, burst, delay }, Stream::named(1, "lanes"));
        // A packet of 1000 bytes takes a millisecond at 8 Mbit/s.
        Link::new(Rate(8_000_000), Nanos::from_millis(10), Queue::Unlimited).with_lanes(lanes)
    }

    #[test]
    fn packets_of_the_slower_lane_arrive_later_by_its_delay_and_each_lane_keeps_its_order() {
        let mut link = link(0.25, 1.0, Nanos::from_millis(5));
        let (mut slow, mut last) = (0, [0; 2]);
        for i in 0..10_000 {
            let Passage::Arrives(at) = link.offer(i * MS, 1000, false) else { panic!("nothing is lost") };
            let lane = usize::from(link.took_slow_lane());
            assert_eq!(at, (i + 11 + 5 * lane as u64) * MS);
            assert!(at > last[lane]);
            last[lane] = at;
            slow += lane;
        }
        // Five standard deviations: 5 * sqrt(1e4 * 0.25 * 0.75) = 217.
        assert!(slow.abs_diff(2500) < 217, "{slow}");
    }

    #[test]
    fn a_link_transmits_packets_of_both_lanes_one_after_the_other() {
        // The wait of the second packet does not depend on the lane of the first one.
        let mut link = link(0.999_999, 1.0, Nanos::from_millis(50));
        assert_eq!(link.offer(0, 1000, false), Passage::Arrives(61 * MS));
        assert_eq!(link.offer(0, 1000, false), Passage::Arrives(62 * MS));
        assert_eq!(link.free_at(), 2 * MS);
    }

    #[test]
    fn a_share_of_zero_changes_nothing() {
        let mut link = link(0.0, 1.0, Nanos::from_millis(5));
        assert!((0..1000).all(|i| link.offer(i * MS, 1000, false) == Passage::Arrives((i + 11) * MS)));
    }
}
