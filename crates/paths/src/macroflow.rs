//! One congestion window for all connections to a destination: H. Balakrishnan, S. Seshan, "The Congestion
//! Manager", RFC 3124.
//!
//! The connections of a macroflow share one congestion controller. A connection that receives an ACK or
//! detects a loss borrows the registers, lets its algorithm change them as if they were its own, and returns
//! them. The host's scheduler decides how much of the window each connection may use.

use firstflight_contract::{Moment, Nanos};

/// Registers that the connections of a macroflow share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Macroflow {
    /// Congestion window of all connections together, bytes.
    cwnd: u64,
    /// Slow-start threshold, bytes; `u64::MAX` is infinite.
    ssthresh: u64,
    /// Minimum window after aging, bytes: the initial window.
    floor: u64,
    /// Smoothed RTT of the last connection that measured it.
    srtt: Nanos,
    /// Time of the last feedback from the network.
    last_feedback: Nanos,
    /// Time of the last reduction of the window.
    reduced: Moment,
}

impl Macroflow {
    /// Creates a macroflow at `now` with these registers, bytes.
    pub fn new(now: Nanos, cwnd: u64, ssthresh: u64) -> Self {
        Self { cwnd, ssthresh, floor: cwnd, srtt: Nanos::ZERO, last_feedback: now, reduced: Moment::NEVER }
    }

    /// Registers for a connection that is about to act, `(cwnd, ssthresh)`, bytes; `idle` if no connection
    /// has data in flight.
    pub fn lend(&mut self, now: Nanos, idle: bool) -> (u64, u64) {
        // Without feedback the window halves every round trip.
        if idle && self.srtt > Nanos::ZERO {
            let rounds = now.saturating_sub(self.last_feedback).0 / self.srtt.0;
            if rounds > 0 {
                self.cwnd = (self.cwnd >> rounds.min(63)).max(self.floor.min(self.cwnd));
                self.last_feedback = now;
            }
        }
        (self.cwnd, self.ssthresh)
    }

    /// Takes the registers back from a connection that has acted. `lost_window` means that it restarts after
    /// a timeout (RFC 3124's persistent congestion); `srtt` is zero if unknown.
    ///
    /// Connections that lose packets of the same flight report the same congestion: a second reduction within
    /// a round trip of the first changes nothing.
    pub fn take_back(&mut self, now: Nanos, (cwnd, ssthresh): (u64, u64), srtt: Nanos, lost_window: bool) {
        if srtt > Nanos::ZERO {
            self.srtt = srtt;
        }
        self.last_feedback = now;
        if cwnd < self.cwnd {
            let same_episode = self.reduced.elapsed(now).is_some_and(|elapsed| elapsed < self.srtt);
            if same_episode && !lost_window {
                return;
            }
            self.reduced = Moment::at(now);
        }
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    #[test]
    fn losses_of_one_flight_reported_twice_halve_the_window_once() {
        let mut flow = Macroflow::new(MS(1), 40_000, u64::MAX);
        flow.take_back(MS(100), (40_000, u64::MAX), MS(100), false);
        flow.take_back(MS(200), (20_000, 20_000), MS(100), false);
        flow.take_back(MS(250), (10_000, 10_000), MS(100), false);
        assert_eq!(flow.lend(MS(260), false), (20_000, 20_000));
        flow.take_back(MS(301), (10_000, 10_000), MS(100), false);
        assert_eq!(flow.lend(MS(310), false), (10_000, 10_000), "a new episode one round trip later");
    }

    #[test]
    fn a_timeout_never_counts_as_part_of_an_episode() {
        let mut flow = Macroflow::new(MS(1), 40_000, u64::MAX);
        flow.take_back(MS(200), (20_000, 20_000), MS(100), false);
        flow.take_back(MS(250), (1_000, 10_000), MS(100), true);
        assert_eq!(flow.lend(MS(260), false), (1_000, 10_000));
    }

    #[test]
    fn an_idle_window_halves_every_round_trip_down_to_the_initial_one() {
        let mut flow = Macroflow::new(MS(1), 4_000, u64::MAX);
        flow.take_back(MS(1000), (64_000, 32_000), MS(100), false);
        assert_eq!(flow.lend(MS(1350), false).0, 64_000, "no aging with packets in flight");
        assert_eq!(flow.lend(MS(1350), true).0, 8_000, "three idle round trips");
        assert_eq!(flow.lend(MS(9000), true).0, 4_000);
    }
}
