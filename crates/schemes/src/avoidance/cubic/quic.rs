//! CUBIC as four QUIC stacks have it: neqo 80ca01ee (`neqo-transport/src/cc/cubic.rs` and `classic_cc.rs`), quinn-proto 0.11.19
//! (`congestion/cubic.rs`), s2n-quic-core 0.91.0 (`recovery/cubic.rs`), tquic 1.6.0 (`congestion_control/cubic.rs`).
//!
//! All follow RFC 9438's curve. They differ in these places:
//!
//! | | neqo | quinn | s2n-quic | tquic |
//! |---|---|---|---|---|
//! | the curve begins | first ACK after the loss | loss | end of recovery | loss |
//! | `K` | from the window that is left | from 0.3 `W_max` (RFC 8312) | as neqo | as neqo |
//! | look ahead | smallest RTT | smoothed RTT | smallest RTT | smoothed RTT |
//! | `W_est` | by acknowledged bytes, in whole segments | by time (RFC 8312) | as quinn | by acknowledged bytes |
//! | `alpha` becomes 1 | never | never | never | at `W_max` |
//! | unit of growth | a segment for so many acknowledged bytes | a segment at most once per delivered packet | a part of a segment per ACK, half of what it acknowledges at most | whole segments |

use super::{ONE, Parameters, Ruled, Rules, curve, times};
use firstflight_contract::{Ack, Congestion, Control, Entry, Nanos, mul_add_div, mul_div};

/// Fractions of bytes are in 2^-16.
const FRACTION_BITS: u32 = 16;

/// State of one congestion avoidance stage.
#[derive(Clone, Copy, Debug, Default)]
struct Stage {
    /// Whether the curve has begun.
    begun: bool,
    /// Beginning of the curve.
    start: Nanos,
    /// `K`, ticks.
    k: u64,
    /// `W_max`, bytes; zero before the first loss.
    w_max: u64,
    /// `w_last_max` of s2n-quic, bytes.
    w_last_max: u64,
    /// `W_est`, bytes in 2^-16.
    w_est: u64,
    /// tquic: `W_est` has reached `W_max`.
    passed: bool,
    /// neqo: acknowledged bytes that have not enlarged `W_est`.
    reno_acked: u64,
    /// Growth that has not enlarged the window: neqo counts acknowledged bytes, quinn and tquic bytes of growth, s2n-quic 2^-16 of
    /// a byte.
    credit: u64,
}

/// CUBIC by the rules of a QUIC stack.
#[derive(Clone, Debug, Default)]
pub struct Quic {
    mss: u64,
    /// `C`, in the unit of [`curve`].
    scale: u64,
    stage: Stage,
    before: Stage,
    /// s2n-quic: time of the last growth, and of the last ACK that the application limited since.
    grown_at: Nanos,
    limited_at: Option<Nanos>,
}

/// `alpha_cubic` segments of `mss` bytes for `bytes` of a window of `cwnd`, bytes in 2^-16 (RFC 9438 section 4.3).
fn alpha(parameters: &Parameters, mss: u64) -> u64 {
    mul_div(mss << FRACTION_BITS, 3 * (ONE - parameters.beta.0), ONE + parameters.beta.0)
}

/// `part` of `bytes`, rounded down as in the stacks' floating point: 0.7 of 501,600 is 351,120, though 0.7 in 2^-32 is a little less.
fn part(bytes: u64, part: u64) -> u64 {
    mul_add_div(bytes, part, ONE >> 10, ONE).0
}

impl Quic {
    fn set_mss(&mut self, parameters: &Parameters, mss: u32) {
        self.mss = mss.into();
        self.scale = curve::scale(parameters.c.0, self.mss);
    }

    fn w_cubic(&self, t: Nanos) -> u64 {
        curve::w_cubic(t, self.stage.k, self.stage.w_max, self.scale)
    }

    /// RFC 8312 section 4.2: `W_max beta + 3 (1 - beta) / (1 + beta) t / RTT`, bytes.
    fn w_est_by_time(&self, parameters: &Parameters, t: Nanos, rtt: Nanos) -> u64 {
        let rounds = mul_div(alpha(parameters, self.mss), t.0, rtt.0.max(1)) >> FRACTION_BITS;
        times(self.stage.w_max, parameters.beta.0).saturating_add(rounds)
    }

    /// The curve begins at `now`, with the window `cwnd`.
    fn begin(&mut self, now: Nanos, cwnd: u64) {
        let stage = &mut self.stage;
        stage.begun = true;
        stage.start = now;
        stage.w_est = cwnd << FRACTION_BITS;
        stage.passed = false;
        stage.reno_acked = 0;
        if stage.w_max > cwnd {
            stage.k = curve::k(stage.w_max - cwnd, self.scale);
        } else {
            (stage.k, stage.w_max) = (0, cwnd);
        }
        self.grown_at = now;
        self.limited_at = None;
    }

    fn on_ack_of_neqo(&mut self, parameters: &Parameters, ack: &Ack, control: &mut Control) {
        let cwnd = control.cwnd;
        if ack.growth == 0 {
            // `on_app_limited`: a new curve begins.
            self.stage.begun &= !ack.is(Ack::APP_LIMITED);
            return;
        }
        if !self.stage.begun {
            self.begin(ack.now, cwnd);
        }
        let alpha = alpha(parameters, self.mss);
        let stage = &mut self.stage;
        stage.reno_acked += ack.growth;
        // Whole segments: alpha reno_acked / cwnd. `alpha` has the segment in it.
        let unit = mul_div(cwnd << FRACTION_BITS, self.mss, alpha).max(1);
        let segments = stage.reno_acked / unit;
        stage.reno_acked -= segments * unit;
        stage.w_est += (segments * self.mss) << FRACTION_BITS;
        let w_est = stage.w_est >> FRACTION_BITS;
        let t = ack.now.saturating_sub(stage.start);
        let target = self.w_cubic(t.saturating_add(ack.min_rtt)).clamp(cwnd, cwnd + cwnd / 2).max(w_est);
        let for_a_segment = mul_div(self.mss, cwnd, (target - cwnd).max(1)).max(1);
        let credit = self.stage.credit.min(for_a_segment) + ack.growth;
        self.stage.credit = credit % for_a_segment;
        // A small window far below `W_est` would grow by more than an ACK delivers: slow start is the fastest growth here.
        control.cwnd += (credit / for_a_segment * self.mss).min(ack.growth.max(self.mss));
    }

    /// Delivered packets of an ACK, each of which is a call of the controller.
    fn packets(&self, ack: &Ack) -> u64 {
        ack.growth.div_ceil(self.mss.max(1))
    }

    fn on_ack_of_quinn(&mut self, parameters: &Parameters, ack: &Ack, control: &mut Control) {
        if ack.growth == 0 {
            return;
        }
        if !self.stage.begun {
            // "When we come here without congestion_event() triggered": the window is the plateau.
            self.stage.w_max = control.cwnd;
            self.begin(ack.now, control.cwnd);
        }
        let t = ack.now.saturating_sub(self.stage.start);
        let w_cubic = self.w_cubic(t.saturating_add(ack.srtt));
        let w_est = self.w_est_by_time(parameters, t, ack.srtt);
        for _ in 0..self.packets(ack) {
            let cwnd = control.cwnd;
            self.stage.credit += if w_cubic < w_est {
                w_est.saturating_sub(cwnd)
            } else {
                mul_div(w_cubic.saturating_sub(cwnd), self.mss, cwnd)
            };
            if self.stage.credit >= self.mss {
                control.cwnd += self.mss;
                self.stage.credit = 0;
            }
        }
    }

    fn on_ack_of_s2n_quic(&mut self, parameters: &Parameters, ack: &Ack, control: &mut Control) {
        if ack.is(Ack::APP_LIMITED) {
            self.limited_at = Some(ack.now);
            return;
        }
        if !self.stage.begun {
            // The plateau is known since the loss, or is the window at the end of slow start.
            let (k, w_max) = (self.stage.k, self.stage.w_max);
            self.begin(ack.now, control.cwnd);
            if w_max > 0 {
                (self.stage.k, self.stage.w_max) = (k, w_max);
            }
        }
        if ack.growth == 0 {
            return;
        }
        if let Some(limited) = self.limited_at.take() {
            self.stage.start += limited.saturating_sub(self.grown_at);
        }
        self.grown_at = ack.now;
        let t = ack.now.saturating_sub(self.stage.start);
        let w_est = self.w_est_by_time(parameters, t, ack.min_rtt);
        let most = control.cwnd + ack.growth / 2;
        if self.w_cubic(t) < w_est {
            control.cwnd = w_est.min(most);
            return;
        }
        let target = self.w_cubic(t.saturating_add(ack.min_rtt));
        let rise = target.saturating_sub(control.cwnd);
        self.stage.credit += mul_div(rise << FRACTION_BITS, self.mss, control.cwnd);
        control.cwnd = (control.cwnd + (self.stage.credit >> FRACTION_BITS)).min(most);
        self.stage.credit &= (1 << FRACTION_BITS) - 1;
    }

    fn on_ack_of_tquic(&mut self, parameters: &Parameters, ack: &Ack, control: &mut Control) {
        if ack.growth == 0 {
            return;
        }
        if !self.stage.begun {
            self.stage.w_max = control.cwnd;
            self.begin(ack.now, control.cwnd);
        }
        let t = ack.now.saturating_sub(self.stage.start);
        let (w_cubic, ahead) = (self.w_cubic(t), self.w_cubic(t.saturating_add(ack.srtt)));
        for _ in 0..self.packets(ack) {
            let cwnd = control.cwnd;
            let target = ahead.clamp(cwnd, cwnd + cwnd / 2);
            let share =
                if self.stage.passed { self.mss << FRACTION_BITS } else { alpha(parameters, self.mss) };
            self.stage.w_est += mul_div(share, ack.growth.min(self.mss), cwnd);
            let w_est = self.stage.w_est >> FRACTION_BITS;
            self.stage.passed |= w_est >= self.stage.w_max;
            self.stage.credit += if w_cubic < w_est {
                w_est.saturating_sub(cwnd)
            } else {
                mul_div(target - cwnd, self.mss, cwnd)
            };
            control.cwnd += (self.stage.credit / self.mss * self.mss).min(self.mss);
            self.stage.credit %= self.mss;
        }
    }
}

impl Ruled for Quic {
    fn enter(&mut self, parameters: &Parameters, entry: &Entry) {
        self.set_mss(parameters, entry.mss);
        self.stage.begun = false;
    }

    fn on_ack(&mut self, parameters: &Parameters, ack: &Ack, control: &mut Control) {
        if u64::from(ack.mss) != self.mss {
            self.set_mss(parameters, ack.mss);
        }
        if ack.is(Ack::RECOVERY) {
            // neqo asks its curve at every ACK, also for none of its bytes.
            if parameters.rules == Rules::Neqo && !self.stage.begun && !ack.is(Ack::APP_LIMITED) {
                self.begin(ack.now, control.cwnd);
            }
            return;
        }
        match parameters.rules {
            Rules::Neqo => self.on_ack_of_neqo(parameters, ack, control),
            Rules::Quinn => self.on_ack_of_quinn(parameters, ack, control),
            Rules::S2nQuic => self.on_ack_of_s2n_quic(parameters, ack, control),
            _ => self.on_ack_of_tquic(parameters, ack, control),
        }
    }

    fn on_congestion(&mut self, parameters: &Parameters, event: &Congestion, control: &mut Control) {
        self.before = self.stage;
        if u64::from(event.mss) != self.mss {
            self.set_mss(parameters, event.mss);
        }
        let cwnd = control.cwnd;
        let beta = parameters.beta.0;
        let stage = &mut self.stage;
        // Fast convergence: neqo asks for a segment less than before; s2n-quic compares with the window of the last loss itself.
        let lower = match parameters.rules {
            Rules::Neqo => cwnd + self.mss < stage.w_max,
            Rules::S2nQuic => cwnd < stage.w_last_max,
            _ => cwnd < stage.w_max,
        };
        stage.w_last_max = cwnd;
        stage.w_max = if parameters.fast_convergence && lower { times(cwnd, (ONE + beta) / 2) } else { cwnd };
        event.reduce_to(part(event.base, beta), control);
        stage.credit = if parameters.rules == Rules::S2nQuic { 0 } else { part(stage.credit, beta) };
        stage.begun = false;
        match parameters.rules {
            Rules::Quinn => {
                stage.begun = true;
                stage.start = event.now;
                stage.k = curve::k(times(stage.w_max, ONE - beta), self.scale);
            }
            Rules::Tquic => self.begin(event.now, control.cwnd),
            Rules::S2nQuic => {
                stage.k = curve::k(stage.w_max.saturating_sub(times(cwnd, beta)), self.scale);
            }
            _ => {}
        }
    }

    fn on_spurious(&mut self) {
        self.stage = self.before;
    }
}
