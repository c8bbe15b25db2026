//! Smooth-start: H. Wang, H. Xin, D. S. Reeves, K. G. Shin, "A Simple Refinement of Slow-start of TCP Congestion Control",
//! ISCC 2000.
//!
//! Slow start doubles the window up to the threshold and then changes abruptly to linear growth. This scheme approaches
//! the threshold in steps: above `smsthresh`, each round trip needs one ACK more for every segment by which the window
//! grows.

use crate::scheme;
use crate::scheme::Fixed;
use firstflight_contract::{Ack, Congestion, Control, Entry, Phase, Role, Step, mul_shift, slow_start};

/// Parts are kept in 2^-32.
const ONE_BITS: u32 = 32;
const ONE: u64 = 1 << ONE_BITS;

/// Slow start that slows down before the threshold.
#[derive(Clone, Debug, Default)]
pub struct SmoothStart {
    parameters: Parameters,
    /// ACKs for each segment of growth in this round trip; zero below `smsthresh`.
    grain: u64,
    /// Growth below one byte, in units of 1/grain byte.
    remainder: u64,
}

scheme! {
    impl Scheme for SmoothStart {
        label: "smooth-start",
        role: Role::Startup,
        source: "Wang, Xin, Reeves, Shin, ISCC 2000",
        summary: "slow start that slows down step by step before it reaches the threshold",
    }

    pub struct Parameters {
        /// grain number: ACKs for a segment in the first round trip above smsthresh, rounded to a whole number
        gn: u64 in 1..=64 = 2,
        /// depth: steps, a round trip each, in which it takes one ACK more, rounded to a whole number
        dp: u64 in 1..=64 = 2,
        // `smsthresh` over `ssthresh`: that of the defaults above, from which two round trips reach `ssthresh`.
        /// part of ssthresh above which growth slows down
        smsthresh: Fixed<ONE> in 0.0..=1.0 = 0.5,
    }
}

impl SmoothStart {
    /// The window above which growth slows down, bytes.
    fn smsthresh(&self, ssthresh: u64) -> u64 {
        if ssthresh == u64::MAX {
            return u64::MAX;
        }
        mul_shift(ssthresh, self.parameters.smsthresh.0, ONE_BITS)
    }
}

impl Phase for SmoothStart {
    fn enter(&mut self, _: &Entry, _: &mut Control) {
        self.grain = 0;
        self.remainder = 0;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.is(Ack::RECOVERY) {
            return Step::Stay;
        }
        if control.cwnd < self.smsthresh(control.ssthresh) {
            self.grain = 0;
            return slow_start(ack, control);
        }
        if self.grain == 0 {
            self.grain = self.parameters.gn;
            self.remainder = 0;
        } else if ack.is(Ack::ROUND_START) && self.grain + 1 < self.parameters.gn + self.parameters.dp {
            self.grain += 1;
            self.remainder = 0;
        }
        let growth = ack.growth + self.remainder;
        self.remainder = growth % self.grain;
        slow_start(&Ack { growth: growth / self.grain, ..*ack }, control)
    }

    fn spent(&self, grown: u64) -> u64 {
        grown.saturating_mul(self.grain.max(1))
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        Step::Exit(event.trigger.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Scheme as _, Value};
    use firstflight_contract::Exit;

    const MSS: u64 = 1000;

    fn smooth(params: &[(&str, f64)]) -> SmoothStart {
        let mut phase = SmoothStart::default();
        for &(name, x) in params {
            phase.set(name, Value::Number(x));
        }
        phase
    }

    /// The windows after each round trip until the phase ends, segments; an ACK for each segment.
    fn rounds(phase: &mut SmoothStart, ssthresh: u64) -> Vec<f64> {
        let mut control = Control { cwnd: MSS, ssthresh, ..Control::default() };
        phase.enter(&Entry::default(), &mut control);
        let mut windows = vec![];
        while windows.len() < 10 {
            for n in 0..control.cwnd / MSS {
                let flags = if n == 0 { Ack::ROUND_START } else { 0 };
                let ack = Ack { acked: MSS, growth: MSS, flags, mss: MSS as u32, ..Ack::default() };
                if phase.on_ack(&ack, &mut control) == Step::Exit(Exit::Threshold) {
                    windows.push(control.cwnd as f64 / MSS as f64);
                    return windows;
                }
            }
            windows.push(control.cwnd as f64 / MSS as f64);
        }
        windows
    }

    #[test]
    fn from_half_the_threshold_growth_is_a_half_then_a_third() {
        // 16 + 16/2 = 24, 24 + 24/3 = 32.
        assert_eq!(rounds(&mut smooth(&[]), 32 * MSS), [2.0, 4.0, 8.0, 16.0, 24.0, 32.0]);
    }

    #[test]
    fn gn_over_gn_plus_dp_of_the_threshold_is_dp_round_trips_below_it() {
        // (1 + 1/3)(1 + 1/4)(1 + 1/5) = 6/3: 32, 42.67, 53.33, 64, in whole segments a little less; so with 1 and 3, from
        // a quarter: (1 + 1/1)(1 + 1/2)(1 + 1/3) = 4: 16, 32, 48, 64.
        let windows = rounds(&mut smooth(&[("gn", 1.0), ("dp", 3.0), ("smsthresh", 0.25)]), 64 * MSS);
        assert_eq!(windows, [2.0, 4.0, 8.0, 16.0, 32.0, 48.0, 64.0]);
        let windows = rounds(&mut smooth(&[("gn", 3.0), ("dp", 3.0)]), 64 * MSS);
        assert_eq!(windows[..5], [2.0, 4.0, 8.0, 16.0, 32.0]);
        assert!((windows[5] - 42.67).abs() < 0.01 && windows.len() == 9, "{windows:?}");
    }

    #[test]
    fn the_coarsest_grain_stays_until_the_threshold() {
        // gn = 2, dp = 1: a half of the window each round: 8, 12, 18, 27, 40.5 (whole ACKs), out at 64.
        let windows = rounds(&mut smooth(&[("dp", 1.0), ("smsthresh", 0.125)]), 64 * MSS);
        assert_eq!(windows[..7], [2.0, 4.0, 8.0, 12.0, 18.0, 27.0, 40.5]);
    }

    #[test]
    fn without_a_threshold_it_is_slow_start() {
        let windows = rounds(&mut smooth(&[]), u64::MAX);
        assert_eq!(windows[..8], [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]);
    }

    #[test]
    fn growth_is_the_hosts_and_zero_during_recovery() {
        let mut phase = smooth(&[]);
        let mut control = Control { cwnd: 20 * MSS, ssthresh: 32 * MSS, ..Control::default() };
        phase.enter(&Entry::default(), &mut control);
        for (growth, flags, expected) in
            [(MSS, 0, 20_500), (0, 0, 20_500), (MSS, Ack::RECOVERY, 20_500), (2 * MSS, 0, 21_500)]
        {
            let _ = phase
                .on_ack(&Ack { acked: MSS, growth, flags, mss: MSS as u32, ..Ack::default() }, &mut control);
            assert_eq!(control.cwnd, expected);
        }
    }
}
