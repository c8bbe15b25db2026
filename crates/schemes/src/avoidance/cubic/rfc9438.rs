//! The rules of RFC 9438.
//!
//! All arithmetic is in integers. Windows are bytes, with fractions of a byte carried from ACK to ACK. One division an ACK gives the part of the window that the ACK covers, and its
//! remainder is carried too, so that growth follows the RFC's real-valued rule without drift.

use super::{ONE, Parameters, Ruled, curve, times};
use firstflight_contract::{Ack, Congestion, Control, Entry, Nanos, mul_div};

/// The part of the window that an ACK covers is in 2^-18: for ACKs up to 16 KB the division then has operands
/// of 32 bits, for which processors are several times faster. The carried remainder makes up for the coarse
/// unit.
const SHARE_BITS: u32 = 18;
/// `alpha_cubic` is in 2^-8 bytes, so `W_est` grows in 2^-26.
const ALPHA_BITS: u32 = 8;
const W_EST_BITS: u32 = SHARE_BITS + ALPHA_BITS;
/// State of one congestion avoidance stage, restored as a whole if its cause was spurious (section 4.9).
#[derive(Clone, Copy, Debug, Default)]
struct Stage {
    /// Whether the first ACK of the stage has come.
    begun: bool,
    /// Whether a reduction led here; if not, the curve starts at its plateau (sections 4.8 and 4.10).
    reduced: bool,
    /// `epoch_start`, advanced by the times in which the application limited the flow.
    start: Nanos,
    /// `K`, ticks.
    k: u64,
    /// `W_max`, bytes.
    w_max: u64,
    /// `cwnd_prior`, bytes.
    cwnd_prior: u64,
    /// `W_est`, bytes, and 2^-26 of one.
    w_est: u64,
    w_est_fraction: u64,
}

/// CUBIC by the rules of the RFC.
#[derive(Clone, Debug, Default)]
pub struct Rfc9438 {
    mss: u64,
    /// `C` in 2^-77 bytes per cubic tick.
    scale: u64,
    /// `alpha_cubic` segments, in 2^-8 bytes.
    alpha: u64,
    stage: Stage,
    before: Stage,
    /// Time of the last ACK outside recovery, and whether the flow was application-limited then.
    last: Nanos,
    limited: bool,
    /// Growth below one byte, 2^-18.
    fraction: u64,
    /// Remainder of the division for the last ACK, 2^-18 bytes.
    remainder: u64,
}

impl Rfc9438 {
    /// The first ACK of a congestion avoidance stage.
    #[cold]
    fn begin(&mut self, now: Nanos, cwnd: u64) {
        let stage = &mut self.stage;
        stage.begun = true;
        stage.start = now;
        // Section 4.3: "W_est is set equal to cwnd_epoch at the start of the congestion avoidance stage."
        stage.w_est = cwnd;
        stage.w_est_fraction = 0;
        if stage.reduced && stage.w_max > cwnd {
            // Figure 2: K = cubic root of ((W_max - cwnd_epoch) / C)
            stage.k = curve::k(stage.w_max - cwnd, self.scale);
        } else {
            // Sections 4.8 and 4.10: "K is set to 0, and W_max is set to the congestion window size at the
            // beginning of the current congestion avoidance stage."
            stage.k = 0;
            stage.w_max = cwnd;
        }
        self.last = now;
        self.limited = false;
        self.fraction = 0;
        self.remainder = 0;
    }

    /// Figure 1: `W_cubic(t) = C (t - K)^3 + W_max`, bytes.
    #[inline]
    fn w_cubic(&self, t: Nanos) -> u64 {
        curve::w_cubic(t, self.stage.k, self.stage.w_max, self.scale)
    }

    /// The constants that depend on the segment size.
    fn set_mss(&mut self, parameters: &Parameters, mss: u32) {
        self.mss = mss.into();
        self.scale = curve::scale(parameters.c.0, self.mss);
        // Section 4.3: alpha_cubic = 3 (1 - beta_cubic) / (1 + beta_cubic)
        self.alpha = mul_div(self.mss << ALPHA_BITS, 3 * (ONE - parameters.beta.0), ONE + parameters.beta.0);
    }
}

impl Ruled for Rfc9438 {
    fn enter(&mut self, parameters: &Parameters, entry: &Entry) {
        self.set_mss(parameters, entry.mss);
        // W_max and cwnd_prior stay: a loss in the slow start after a timeout still compares with them.
        self.stage.begun = false;
        self.stage.reduced = false;
    }

    #[inline]
    fn on_ack(&mut self, parameters: &Parameters, ack: &Ack, control: &mut Control) {
        if u64::from(ack.mss) != self.mss {
            self.set_mss(parameters, ack.mss);
        }
        if ack.is(Ack::RECOVERY) {
            return;
        }
        let cwnd = control.cwnd;
        if !self.stage.begun {
            self.begin(ack.now, cwnd);
        }
        // Sections 4.2 and 5.8: the elapsed time excludes application-limited times. The curve keeps its shape and
        // moves by the time from a limited ACK to the next.
        if self.limited {
            self.stage.start += ack.now - self.last;
        }
        self.last = ack.now;
        self.limited = ack.is(Ack::APP_LIMITED);
        if ack.growth == 0 {
            return;
        }

        // The part of the window that this ACK covers; an ACK for more than a window counts as one.
        let covered = (ack.growth.min(cwnd) << SHARE_BITS) + self.remainder;
        let share = covered / cwnd;
        self.remainder = covered % cwnd;

        // Figure 4: W_est = W_est + alpha_cubic * segments_acked / cwnd. "Once W_est has grown to reach the
        // cwnd at the time of most recently setting ssthresh -- that is, W_est >= cwnd_prior -- the sender
        // SHOULD set alpha_cubic to 1".
        let stage = &mut self.stage;
        let alpha = if stage.w_est >= stage.cwnd_prior { self.mss << ALPHA_BITS } else { self.alpha };
        stage.w_est_fraction += alpha * share;
        stage.w_est += stage.w_est_fraction >> W_EST_BITS;
        stage.w_est_fraction &= (1 << W_EST_BITS) - 1;
        let w_est = stage.w_est;

        let t = ack.now - stage.start;
        if self.w_cubic(t) < w_est {
            // Section 4.3: in the Reno-friendly region "cwnd SHOULD be set to W_est at each reception of a
            // new ACK". The clamp below can hold the window back while W_est runs ahead; even then it grows
            // no faster than slow start.
            control.cwnd = cwnd.max(w_est.min(cwnd + ack.growth));
        } else {
            // Section 4.2: "target = cwnd if W_cubic(t + RTT) < cwnd; 1.5 cwnd if W_cubic(t + RTT) > 1.5
            // cwnd; W_cubic(t + RTT) otherwise", RTT the smoothed one.
            let target = self.w_cubic(t.saturating_add(ack.srtt)).clamp(cwnd, cwnd + cwnd / 2);
            // Sections 4.4 and 4.5: "cwnd MUST be incremented by (target - cwnd)/cwnd for each received ACK",
            // here for each segment that the host lets count.
            self.fraction += (target - cwnd) * share;
            control.cwnd += self.fraction >> SHARE_BITS;
            self.fraction &= (1 << SHARE_BITS) - 1;
        }
    }

    fn on_congestion(&mut self, parameters: &Parameters, event: &Congestion, control: &mut Control) {
        self.before = self.stage;
        let cwnd = control.cwnd;
        // Section 4.7: W_max = cwnd (1 + beta_cubic) / 2 if cwnd < W_max and fast convergence is enabled,
        // else cwnd.
        self.stage.w_max = if parameters.fast_convergence && cwnd < self.stage.w_max {
            times(cwnd, (ONE + parameters.beta.0) / 2)
        } else {
            cwnd
        };
        // Section 4.6: "ssthresh = flight_size * beta_cubic; cwnd_prior = cwnd; cwnd = max(ssthresh, 2) if
        // reduction on loss, max(ssthresh, 1) if on ECE; ssthresh = max(ssthresh, 2)". Section 4.8: a timeout
        // sets ssthresh the same way; the host sets cwnd.
        let reduced = times(event.base, parameters.beta.0);
        self.stage.cwnd_prior = cwnd;
        event.reduce_to(reduced, control);
        self.stage.begun = false;
        self.stage.reduced = true;
    }

    fn on_spurious(&mut self) {
        // Section 4.9: restore W_max, K, epoch_start, W_est and cwnd_prior.
        self.stage = self.before;
    }
}

#[cfg(test)]
mod tests;
