//! CUBIC as picoquic has it: C. Huitema, picoquic/cubic.c at d199d45b (2026-08-16), without ECN.
//!
//! It rules the connection from the start: slow start follows half of the largest delivery rate times the smoothed RTT, and ends when the
//! RTT rises or when losses are frequent. Then the window is the value of the curve, not a step towards it, and a single loss reduces
//! nothing. The window left is 7/8, where RFC 9438 has 0.7.
//!
//! Amounts are bytes, times microseconds, rates bytes a second.

#[cfg(test)]
mod tests;

use crate::avoidance::cubic::curve;
use crate::estimate::peak_rate::PeakRate;
use crate::estimate::rising_rtt::RisingRtt;
use crate::scheme;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Lost, Nanos, Phase, Rate, Role, Signals, Step, Trigger, Why,
    mul_div, mul_shift,
};

/// `PICOQUIC_CUBIC_C`, 0.4, in 2^-32.
const C: u64 = 1_717_986_918;
/// `PICOQUIC_CWIN_INITIAL` and `PICOQUIC_CWIN_MINIMUM`: ten and two packets of 1536 bytes, whatever a packet has.
const CWIN_INITIAL: u64 = 15_360;
const CWIN_MINIMUM: u64 = 3_072;
/// `PICOQUIC_TARGET_RENO_RTT`, `PICOQUIC_TARGET_SATELLITE_RTT`, microseconds.
const TARGET_RENO_RTT: u64 = 100_000;
const TARGET_SATELLITE_RTT: u64 = 610_000;
/// Loss rates are parts of this.
const WHOLE: u64 = 1 << 30;
/// `PICOQUIC_SMOOTHED_LOSS_THRESHOLD`, 0.15; `_SCOPE`, packets; `_FACTOR`, a right shift.
const LOSS_THRESHOLD: u64 = WHOLE * 15 / 100;
const LOSS_SCOPE: u64 = 32;
const LOSS_WEIGHT: u32 = 4;
/// Windows below so many packets are not paced.
const PACED_PACKETS: u64 = 8;
/// Burst of the pacer, packets: at least, and at most after start-up and on round trips of up to `4 * LONG_BURST`.
const BURST: [u64; 2] = [2, 16];
/// In start-up on longer round trips: at least these bytes, or what the rate has in this time, microseconds.
const LEAST_LONG_BURST: u64 = 0x8000;
const LONG_BURST: u64 = 15_000;

/// CUBIC of picoquic.
#[derive(Clone, Debug, Default)]
pub struct CubicPicoquic {
    parameters: Parameters,
    mss: u64,
    srtt: u64,
    delivered: u64,
    /// `alg_state`: slow start, or else avoidance.
    slow_start: bool,
    /// Infinite until start-up has ended.
    ssthresh: u64,
    /// `start_of_epoch`.
    start: u64,
    /// `K`, in ticks of the curve.
    k: u64,
    /// `W_max` and `W_last_max`, 2^-16 packets: the window follows the size of a packet.
    w_max: u64,
    w_last_max: u64,
    /// The window of Reno, 2^-16 bytes.
    w_reno: u64,
    /// Bytes that were delivered when the last reduction came: packets sent later belong to the next.
    recovers: u64,
    /// Whether a packet that left after it has arrived.
    recovered: bool,
    /// The averaged loss rate, and the packet lost last.
    loss_rate: u64,
    last_lost: u64,
    rtts: RisingRtt,
    peak: PeakRate,
    /// Reason why start-up ended, until the host has it.
    exit: Option<Exit>,
}

scheme! {
    impl Scheme for CubicPicoquic {
        label: "cubic-picoquic",
        role: Role::Standalone,
        source: "Huitema, picoquic d199d45b (picoquic/cubic.c, cc_common.c, pacing.c)",
        summary: "CUBIC with the slow start of picoquic: a window of half the peak rate at least, an end by delay or frequent losses, 7/8 left",
        needs: Signals::RTT.union(Signals::PACING).union(Signals::RATE).union(Signals::LOSSES),
    }

    pub struct Parameters {
        /// window of an earlier connection to resume, bytes; 0 for none
        seed_window: u64 in 0..=1000000000 = 0,
    }
}

impl CubicPicoquic {
    /// Whether the window grows by slow start, and not by the curve; for comparisons with other implementations.
    pub fn in_slow_start(&self) -> bool {
        self.slow_start
    }

    /// Raises the peak rate to one that a transport has measured, bytes a second.
    pub fn raise_peak(&mut self, rate: u64) {
        self.peak.rate = self.peak.rate.max(rate);
    }

    /// `cubic_reset`, and the notification of a seed.
    fn begin(&mut self, entry: &Entry, control: &mut Control) {
        *self = Self {
            parameters: self.parameters,
            mss: entry.mss.into(),
            srtt: micros(entry.rtt),
            delivered: self.delivered,
            slow_start: true,
            ssthresh: u64::MAX,
            start: micros(entry.now),
            w_max: u64::MAX,
            w_last_max: u64::MAX,
            w_reno: CWIN_INITIAL << 16,
            recovered: true,
            ..Self::default()
        };
        control.ssthresh = u64::MAX;
        if entry.why == Why::Timeout {
            control.cwnd = CWIN_MINIMUM;
        }
        // The handshake has two ACKs for a server: of its Initial and of its Handshake packets.
        if self.srtt > 0 {
            self.rtts.begin([self.srtt; 2]);
        }
        let seed = self.parameters.seed_window;
        if seed > 0 && entry.why == Why::Connect {
            control.cwnd = control.cwnd.max(seed);
            self.leave_startup(control.cwnd, Exit::Threshold);
            self.ssthresh = seed;
            self.enter_avoidance(micros(entry.now));
        }
        self.pace(control);
    }

    /// The window at which start-up ends becomes the plateau.
    fn leave_startup(&mut self, cwnd: u64, exit: Exit) {
        (self.ssthresh, self.w_reno) = (cwnd, cwnd << 16);
        self.w_max = self.packets(cwnd);
        self.w_last_max = self.w_max;
        self.exit = Some(exit);
    }

    /// Bytes in 2^-16 packets.
    fn packets(&self, bytes: u64) -> u64 {
        mul_div(bytes, 1 << 16, self.mss.max(1))
    }

    /// `W_max`, bytes.
    fn plateau(&self) -> u64 {
        mul_shift(self.w_max, self.mss, 16)
    }

    fn scale(&self) -> u64 {
        curve::scale(C, self.mss)
    }

    /// `cubic_enter_avoidance`: K = cubic root (W_max / 8 / C).
    fn enter_avoidance(&mut self, now: u64) {
        self.k = curve::k(self.plateau() / 8, self.scale());
        self.slow_start = false;
        self.start = now;
    }

    /// `cubic_W_cubic`.
    fn w_cubic(&self, now: u64) -> u64 {
        let t = Nanos::from_micros(now.saturating_sub(self.start));
        curve::w_cubic(t, self.k, self.plateau(), self.scale())
    }

    /// `cubic_enter_recovery`.
    fn enter_recovery(&mut self, now: u64, timeout: bool, exit: Exit, control: &mut Control) {
        if self.ssthresh == u64::MAX {
            self.exit = Some(exit);
        }
        (self.recovers, self.recovered) = (self.delivered, false);
        self.w_max = self.packets(control.cwnd);
        // Fast convergence
        let lower = self.w_max < self.w_last_max;
        self.w_last_max = self.w_max;
        if lower {
            self.w_max -= self.w_max / 8;
        }
        self.ssthresh = self.plateau() - self.plateau() / 8;
        if self.ssthresh < CWIN_MINIMUM {
            (self.slow_start, self.ssthresh, self.start) = (true, u64::MAX, now);
            (self.w_reno, control.cwnd) = (CWIN_MINIMUM << 16, CWIN_MINIMUM);
        } else if timeout {
            (self.slow_start, self.start) = (true, now);
            control.cwnd = CWIN_MINIMUM;
        } else {
            self.enter_avoidance(now);
            self.w_reno = (control.cwnd << 16) / 2;
            control.cwnd = self.w_cubic(now);
        }
    }

    /// Half of the window leaves where the RTT is small; where it is large, the window has grown less since (`cubic_notify`).
    fn on_rise(&mut self, now: u64, control: &mut Control) {
        let least = self.rtts.filtered_min;
        if least > TARGET_RENO_RTT {
            let target = if least > TARGET_SATELLITE_RTT { TARGET_SATELLITE_RTT } else { TARGET_RENO_RTT };
            control.cwnd -= (control.cwnd - mul_div(control.cwnd, target, least)) / 2;
        } else {
            control.cwnd /= 2;
        }
        self.leave_startup(control.cwnd, Exit::Delay);
        self.enter_recovery(now, false, Exit::Delay, control);
        // The curve begins at its plateau, or where the connection is younger than K, at its beginning.
        let k = (self.k << 10) / 1000;
        if k > now {
            (self.k, self.start) = ((now * 1000) >> 10, 0);
        } else {
            self.start = now - k;
        }
    }

    /// `picoquic_cc_hystart_loss_test`: whether losses are frequent, with the packet `number`.
    fn is_lossy(&mut self, number: u64) -> bool {
        if number <= self.last_lost {
            return false;
        }
        for _ in 0..(number - self.last_lost).min(LOSS_SCOPE) {
            self.loss_rate -= self.loss_rate >> LOSS_WEIGHT;
        }
        self.loss_rate += (WHOLE - self.loss_rate) >> LOSS_WEIGHT;
        self.last_lost = number;
        self.loss_rate > LOSS_THRESHOLD
    }

    /// `picoquic_update_pacing_window`.
    fn pace(&self, control: &mut Control) {
        let cwnd = control.cwnd;
        if cwnd < PACED_PACKETS * self.mss || self.srtt <= 1 {
            control.stop_pacing();
            return;
        }
        let startup = self.slow_start && self.ssthresh == u64::MAX;
        let rate = mul_div(cwnd, 1_000_000, self.srtt);
        let [least, most] = BURST.map(|packets| packets * self.mss);
        let quarter = cwnd / 4;
        control.burst = if quarter < least {
            least
        } else if startup && self.srtt > 4 * LONG_BURST {
            let timed = mul_div(rate, LONG_BURST, 1_000_000);
            if quarter < LEAST_LONG_BURST { LEAST_LONG_BURST } else { quarter.max(timed) }
        } else {
            quarter.min(most)
        };
        let rate = if startup { rate / 4 * 5 } else { rate };
        control.pacing = Rate(rate.max(1).saturating_mul(8));
    }

    /// The window after an ACK (`cubic_notify`).
    fn take_ack(&mut self, ack: &Ack, control: &mut Control) {
        let now = micros(ack.now);
        if self.slow_start {
            // `picoquic_cc_update_target_cwin_estimation`
            control.cwnd = control.cwnd.max(mul_div(self.peak.rate, self.srtt, 1_000_000) / 2);
            if ack.growth > 0 {
                control.cwnd += ack.growth;
                if control.cwnd >= self.ssthresh {
                    self.w_reno = (control.cwnd << 16) / 2;
                    self.enter_avoidance(now);
                }
            }
        } else if !ack.is(Ack::APP_LIMITED) {
            let w_reno = (self.w_reno >> 16).max(1);
            self.w_reno += mul_div(ack.acked << 16, self.mss, w_reno);
            control.cwnd = self.w_cubic(now).max(self.w_reno >> 16);
        } else {
            // `last_sender_limited_time`: the curve waits while the application limits the sender.
            self.start = self.start.max(now.saturating_sub(self.srtt));
        }
    }
}

impl Phase for CubicPicoquic {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        match entry.why {
            // picoquic keeps its state while nothing is sent.
            Why::Idle => {}
            Why::Connect | Why::Handover | Why::Migrate | Why::Timeout => self.begin(entry, control),
        }
    }

    fn on_lost(&mut self, lost: &Lost, control: &mut Control) {
        self.mss = lost.mss.into();
        self.delivered = lost.delivered;
        let now = micros(lost.now);
        // A packet that left before the last reduction is of no interest, and does not count; in slow start it counts.
        let is_new = lost.prior_delivered >= self.recovers;
        let may = if self.slow_start { self.recovered || now > self.start + self.srtt } else { is_new };
        let counts = self.slow_start || is_new;
        if counts && self.is_lossy(lost.number + 1) && may {
            self.enter_recovery(now, false, Exit::Loss, control);
        }
        self.pace(control);
    }

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        self.mss = ack.mss.into();
        self.delivered = ack.delivered;
        self.srtt = micros(ack.srtt);
        if ack.acked == 0 {
            return Step::Stay;
        }
        self.recovered |= ack.prior_delivered >= self.recovers;
        if ack.rtt > Nanos::ZERO {
            let (now, rtt) = (micros(ack.now), micros(ack.rtt));
            if self.slow_start && self.ssthresh == u64::MAX {
                let packet_time = mul_div(self.mss, 8_000_000, control.pacing.0.max(1));
                if self.rtts.rises(rtt, packet_time, now) {
                    self.on_rise(now, control);
                }
            }
            self.peak.update(now, rtt, ack.delivered);
        }
        self.take_ack(ack, control);
        self.pace(control);
        match self.exit.take() {
            Some(reason) => Step::Over(reason),
            None => Step::Stay,
        }
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        // Losses come packet by packet.
        if event.trigger == Trigger::Timeout {
            self.mss = event.mss.into();
            self.enter_recovery(micros(event.now), true, Exit::Timeout, control);
            self.pace(control);
        }
        Step::Stay
    }

    fn on_spurious(&mut self) {
        // The host restores the window; the next ACK sets the curve's.
    }
}

fn micros(t: Nanos) -> u64 {
    t.0 / 1000
}
