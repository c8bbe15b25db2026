//! One congestion window for all connections to a destination: H. Balakrishnan, S. Seshan, "The Congestion Manager",
//! RFC 3124.
//!
//! The connections of a macroflow run one congestion controller between them. Whoever hears from the network takes the
//! registers, lets its algorithm work on them as if they were its own, and gives them back; how much of the window each
//! connection may use is for the host's scheduler to say.

use firstflight_contract::Nanos;

/// The registers that the connections of a macroflow share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Macroflow {
    /// Congestion window of all of them together, bytes.
    cwnd: u64,
    /// Slow-start threshold, bytes; `u64::MAX` is infinite.
    ssthresh: u64,
    /// What aging leaves, bytes: the initial window.
    floor: u64,
    /// Smoothed RTT as the last connection that measured it saw it.
    srtt: Nanos,
    /// The last time that anything was heard from the network.
    heard: Nanos,
    /// The last time that the window was reduced.
    reduced: Nanos,
}

impl Macroflow {
    /// A macroflow that begins at `now` with these registers, bytes.
    pub fn new(now: Nanos, cwnd: u64, ssthresh: u64) -> Self {
        Self { cwnd, ssthresh, floor: cwnd, srtt: Nanos::ZERO, heard: now, reduced: Nanos::ZERO }
    }

    /// The registers for a connection that is about to act, `(cwnd, ssthresh)`; `idle` if no connection has anything in
    /// flight.
    pub fn lend(&mut self, now: Nanos, idle: bool) -> (u64, u64) {
        // What nobody confirms loses half of its worth every round trip.
        if idle && self.srtt > Nanos::ZERO {
            let rounds = now.saturating_sub(self.heard).0 / self.srtt.0;
            if rounds > 0 {
                self.cwnd = (self.cwnd >> rounds.min(63)).max(self.floor.min(self.cwnd));
                self.heard = now;
            }
        }
        (self.cwnd, self.ssthresh)
    }

    /// Takes the registers back from a connection that has acted. `lost_window` says that it starts over after a
    /// timeout (RFC 3124's persistent congestion); `srtt` is zero if it does not know one.
    ///
    /// Connections that lose packets of one flight report one congestion: a second reduction within a round trip of the
    /// first changes nothing.
    pub fn take_back(&mut self, now: Nanos, (cwnd, ssthresh): (u64, u64), srtt: Nanos, lost_window: bool) {
        if srtt > Nanos::ZERO {
            self.srtt = srtt;
        }
        self.heard = now;
        if cwnd < self.cwnd {
            let same_episode = self.reduced > Nanos::ZERO && now < self.reduced.saturating_add(self.srtt);
            if same_episode && !lost_window {
                return;
            }
            self.reduced = now;
        }
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    #[test]
    fn losses_of_one_flight_that_two_connections_report_halve_the_window_once() {
        let mut flow = Macroflow::new(MS(1), 40_000, u64::MAX);
        flow.take_back(MS(100), (40_000, u64::MAX), MS(100), false);
        flow.take_back(MS(200), (20_000, 20_000), MS(100), false);
        flow.take_back(MS(250), (10_000, 10_000), MS(100), false);
        assert_eq!(flow.lend(MS(260), false), (20_000, 20_000));
        flow.take_back(MS(301), (10_000, 10_000), MS(100), false);
        assert_eq!(flow.lend(MS(310), false), (10_000, 10_000), "a round trip later it is another episode");
    }

    #[test]
    fn a_timeout_is_never_taken_for_part_of_an_episode() {
        let mut flow = Macroflow::new(MS(1), 40_000, u64::MAX);
        flow.take_back(MS(200), (20_000, 20_000), MS(100), false);
        flow.take_back(MS(250), (1_000, 10_000), MS(100), true);
        assert_eq!(flow.lend(MS(260), false), (1_000, 10_000));
    }

    #[test]
    fn an_idle_window_halves_every_round_trip_down_to_the_initial_one() {
        let mut flow = Macroflow::new(MS(1), 4_000, u64::MAX);
        flow.take_back(MS(1000), (64_000, 32_000), MS(100), false);
        assert_eq!(flow.lend(MS(1350), false).0, 64_000, "with packets in flight an answer is still to come");
        assert_eq!(flow.lend(MS(1350), true).0, 8_000, "three round trips without an answer");
        assert_eq!(flow.lend(MS(9000), true).0, 4_000);
    }
}
