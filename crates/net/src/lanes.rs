//! A link whose packets overtake each other: behind the line, each packet takes one of two lanes, and the slower one adds a
//! fixed delay. Each lane keeps the order of its packets.
//!
//! Networks reorder where packets of one connection take parallel ways of unequal delay: J. Bennett, C. Partridge, N.
//! Shectman, "Packet reordering is not pathological network behavior", IEEE/ACM Transactions on Networking 7(6), 1999. Two
//! packets then change places only if the second follows within the difference of the two ways, as J. Bellardo, S. Savage,
//! "Measuring packet reordering", IMW 2002, measured: reordering falls with the gap between packets. A share `p` on the slower
//! lane is what Linux's emulator makes of `delay D reorder 1-p` (tc-netem(8)), without its correlation, whose values are not
//! uniform; runs are those of [`crate::two_state`].

use crate::random::Stream;
use crate::two_state::TwoState;
use firstflight_contract::Nanos;

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
