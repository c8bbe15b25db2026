//! H-TCP: D. Leith, R. Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004.
//!
//! For the first second after a congestion a round trip adds 2 (1 - beta) segments, which gives the average window of
//! Reno at any beta: one segment at beta 0.5, 0.4 at beta 0.8. From then on the growth rises with the time since the
//! last congestion. A loss reduces the window by about the length of the queue.

use crate::scheme;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Moment, Nanos, Phase, Role, Step, mul_add_div, mul_div, mul_shift,
};

/// Delta_L: time after a congestion during which the increase is constant.
const LOW_SPEED: Nanos = Nanos::from_secs(1);
/// Seconds since then beyond which the increase rises no more: a million segments a round trip.
const LONGEST: u64 = 2000;
/// Factors, seconds and segments are in 2^-16.
const UNIT_BITS: u32 = 16;
const ONE: u64 = 1 << UNIT_BITS;
/// The backoff lies between a half and 0.8, here as in the kernel in 2^-16.
const SMALLEST_KEPT: u64 = ONE / 2;
const LARGEST_KEPT: u64 = ONE * 4 / 5;
/// RTT at which `rtt_scaling` leaves the increase unchanged; the ratio to it is bounded to 1/10 to 2.
const REFERENCE_RTT: u64 = 100_000_000;

/// State that a congestion changes, to restore if the congestion was spurious.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Time of the last congestion; before the first congestion, the time at which the phase began.
    since: Option<Nanos>,
    /// Part of the window that a congestion leaves, 2^-16.
    kept: u64,
    /// Largest RTT since then.
    max_rtt: Nanos,
    /// Largest rate of a round trip since then, and in the epoch before: bytes per second, zero if not known.
    rate: u64,
    rate_before: u64,
}

/// H-TCP.
#[derive(Clone, Debug)]
pub struct HTcp {
    parameters: Parameters,
    epoch: Epoch,
    before: Epoch,
    /// Beginning of the round trip whose rate is being measured.
    round_start: Moment,
    round_delivered: u64,
    /// Remainder of the division for the last ACK: growth in bytes, 2^-16, times the window.
    remainder: u64,
}

scheme! {
    impl Scheme for HTcp {
        label: "h-tcp",
        role: Role::Avoidance,
        source: "Leith and Shorten, PFLDnet 2004; Linux, net/ipv4/tcp_htcp.c",
        summary: "an increase that rises with the time since the last congestion, a decrease by what the queue held",
    }

    pub struct Parameters {
        /// congestion leaves RTTmin/RTTmax of the window, between 0.5 and 0.8; if false, one half
        adaptive_backoff: bool = true,
        /// one half also where the rate before a congestion differs by more than 20 % from that before the last one
        bandwidth_switch: bool = true,
        /// increase times 2 (1 - beta), so that the average window does not depend on beta; false as in Liu's thesis
        scaled: bool = true,
        /// increase times RTTmin/100 ms, within 0.1 and 2, so that growth depends less on the RTT (Linux:
        /// use_rtt_scaling)
        rtt_scaling: bool = false,
    }
}

impl Default for HTcp {
    fn default() -> Self {
        let epoch = Epoch { since: None, kept: SMALLEST_KEPT, max_rtt: Nanos(0), rate: 0, rate_before: 0 };
        Self {
            parameters: Parameters::default(),
            epoch,
            before: epoch,
            round_start: Moment::NEVER,
            round_delivered: 0,
            remainder: 0,
        }
    }
}

impl HTcp {
    /// Segments that a window of ACKs adds, 2^-16; at most 2^40.
    fn increase(&self, now: Nanos, min_rtt: Nanos) -> u64 {
        let elapsed = now.saturating_sub(self.epoch.since.unwrap_or(now));
        // alpha(Delta) = 1 + 10 (Delta - Delta_L) + ((Delta - Delta_L)/2)^2 beyond Delta_L, in seconds
        let beyond = elapsed.saturating_sub(LOW_SPEED).0.min(LONGEST * 1_000_000_000);
        let seconds = (beyond << UNIT_BITS) / 1_000_000_000;
        let mut increase = ONE + 10 * seconds + ((seconds * seconds) >> (UNIT_BITS + 2));
        if self.parameters.rtt_scaling && min_rtt > Nanos(0) {
            // At least Reno's one segment, as in the kernel.
            let rtt = min_rtt.0.clamp(REFERENCE_RTT / 10, REFERENCE_RTT * 2);
            increase = mul_div(increase, rtt, REFERENCE_RTT);
            increase = increase.max(ONE);
        }
        // alpha <- 2 (1 - beta) alpha, also within Delta_L and without a floor, as in tcp_htcp.c; ns-3 has a floor of 1.
        if self.parameters.scaled { (increase * 2 * (ONE - self.epoch.kept)) >> UNIT_BITS } else { increase }
    }

    /// The part of the window that a congestion now leaves, 2^-16.
    fn backoff(&self, min_rtt: Nanos) -> u64 {
        let Epoch { max_rtt, rate, rate_before, .. } = self.epoch;
        // |B(k+1) - B(k)| / B(k) > 0.2: the flow has not converged, and a backoff of one half makes it converge. An
        // unknown rate counts as not converged.
        let switched = self.parameters.bandwidth_switch
            && (rate == 0 || rate_before == 0 || rate.abs_diff(rate_before) > rate_before / 5);
        if !self.parameters.adaptive_backoff || switched || min_rtt == Nanos(0) || max_rtt == Nanos(0) {
            return SMALLEST_KEPT;
        }
        mul_div(min_rtt.0, ONE, max_rtt.0).clamp(SMALLEST_KEPT, LARGEST_KEPT)
    }

    /// Measures the RTT and, once a round trip, the rate.
    fn measure(&mut self, ack: &Ack) {
        if ack.is(Ack::RECOVERY) {
            self.round_start = Moment::NEVER;
            return;
        }
        self.epoch.max_rtt = self.epoch.max_rtt.max(ack.rtt);
        if ack.is(Ack::ROUND_START) {
            let time = self.round_start.elapsed(ack.now).unwrap_or_default();
            if time > Nanos(0) {
                let bytes = ack.delivered.saturating_sub(self.round_delivered);
                self.epoch.rate = self.epoch.rate.max(mul_div(bytes, 1_000_000_000, time.0));
            }
            self.round_start = Moment::at(ack.now);
            self.round_delivered = ack.delivered;
        }
    }
}

impl Phase for HTcp {
    fn enter(&mut self, entry: &Entry, _: &mut Control) {
        // The slow start after a timeout does not restart the clock: the timeout did.
        self.epoch.since.get_or_insert(entry.now);
        self.round_start = Moment::NEVER;
        self.remainder = 0;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        self.measure(ack);
        if ack.is(Ack::RECOVERY) || ack.growth == 0 {
            return Step::Stay;
        }
        // cwnd <- cwnd + alpha/cwnd for each segment that the host lets count. An ACK for more than a window counts as
        // one; even after a long time without congestion the window grows no faster than in slow start.
        let cwnd = control.cwnd;
        let covered = ack.growth.min(cwnd);
        let increase = self.increase(ack.now, ack.min_rtt) * u64::from(ack.mss);
        let divisor = cwnd.saturating_mul(ONE);
        let (grown, remainder) = mul_add_div(increase, covered, self.remainder, divisor);
        control.cwnd += grown.min(covered);
        self.remainder = remainder;
        Step::Stay
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        self.before = self.epoch;
        let kept = self.backoff(event.min_rtt);
        self.epoch =
            Epoch { since: Some(event.now), kept, max_rtt: Nanos(0), rate: 0, rate_before: self.epoch.rate };
        let left = mul_shift(event.base, kept, UNIT_BITS);
        event.reduce_to(left, control);
        self.round_start = Moment::NEVER;
        self.remainder = 0;
        Step::Stay
    }

    fn on_spurious(&mut self) {
        self.epoch = self.before;
    }
}

#[cfg(test)]
mod tests;
