//! The pacing rate that Linux sets for every scheme without one of its own (`tcp_update_pacing_rate`). The queueing
//! discipline fq, or a socket with `SO_MAX_PACING_RATE`, keeps to it; without either, a window leaves at once.
//!
//! The kernel sends in pieces of about a millisecond at this rate. This sender releases each packet by itself.

use super::Linux;
use crate::sender::connection::Connection;
use firstflight_contract::{Nanos, Rate, mul_div};

/// Percent of the window a round trip: below half the threshold (`tcp_pacing_ss_ratio`), and from there on
/// (`tcp_pacing_ca_ratio`).
const RATIO: [u64; 2] = [200, 120];

impl Connection<Linux> {
    /// Sets the pacing rate from the window, after everything that changes the window. Without an RTT there is no rate.
    #[inline(always)]
    pub(super) fn update_pacing(&mut self) {
        if self.stack.paced {
            self.set_pacing();
        }
    }

    #[cold]
    fn set_pacing(&mut self) {
        let srtt = self.rto.srtt();
        if srtt == 0 {
            return;
        }
        let flight = u64::from(self.nxt - self.una) * self.mss;
        let control = &mut self.common.chain.control;
        control.pacing = rate(control.cwnd.max(flight), control.cwnd < control.ssthresh / 2, Nanos(srtt));
    }
}

/// The rate for a window in bytes.
fn rate(window: u64, far_below_threshold: bool, srtt: Nanos) -> Rate {
    let percent = if far_below_threshold { RATIO[0] } else { RATIO[1] };
    Rate::of(mul_div(window, percent, 100), srtt).max(Rate(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_twice_the_window_a_round_trip_and_1_2_times_near_the_threshold() {
        // 10 x 1448 bytes in 40 ms: 2.896 Mbit/s.
        let window = 10 * 1448;
        assert_eq!(rate(window, true, Nanos::from_millis(40)), Rate(5_792_000));
        assert_eq!(rate(window, false, Nanos::from_millis(40)), Rate(3_475_200));
    }
}
