//! The registers: pacing rate and window.

use super::{C4, CWIN_INITIAL, ONE, State, times};
use firstflight_contract::{Control, Rate, mul_div};

/// Smallest pacing rate of start-up, bytes a second.
pub(super) const INITIAL_PACING: u64 = 0x2_0000;
/// Time by which the window exceeds the nominal max RTT, at most a quarter of it, microseconds.
const MARGIN: u64 = 15_000;

/// Bytes that `rate` carries in `us`.
pub(super) fn bytes_in(us: u64, rate: u64) -> u64 {
    mul_div(rate, us, 1_000_000)
}

/// A rate in bytes a second as a pacing rate.
pub(super) fn bits(rate: u64) -> Rate {
    Rate(rate.max(1).saturating_mul(8))
}

impl C4 {
    /// `c4_apply_rate_and_cwin`.
    pub(super) fn apply(&mut self, control: &mut Control) {
        let mut rate = times(self.nominal_rate, self.factor);
        let known = self.nominal_max_rtt != 0 && self.nominal_rate != 0;
        let mut cwnd = if known { bytes_in(self.nominal_max_rtt, rate) } else { CWIN_INITIAL };
        match self.state {
            State::Initial => {
                cwnd = cwnd.max(self.initial_cwnd);
                if self.packets_in_startup > 0 {
                    rate = rate.max(INITIAL_PACING);
                    let peak = self.peak_rate;
                    if peak > rate {
                        rate = (rate + peak) / 2;
                        cwnd = cwnd.max(bytes_in(self.srtt, peak) / 2);
                    }
                }
                self.initial_cwnd = cwnd;
            }
            State::Resuming => {
                cwnd = self.parameters.seed_window;
                rate = self.seed_rate;
            }
            _ => {
                cwnd += bytes_in(MARGIN.min(self.nominal_max_rtt / 4), rate);
                if matches!(self.state, State::Probing | State::Pushing) {
                    // A probe is at least a packet.
                    let more = times(self.nominal_rate, self.factor - ONE);
                    cwnd += self.mss.saturating_sub(bytes_in(self.nominal_max_rtt, more));
                }
            }
        }
        self.cwnd = cwnd;
        control.cwnd = cwnd;
        if rate > 0 {
            control.pacing = bits(rate);
        }
    }
}
