//! CUBIC of Linux 6.x: `net/ipv4/tcp_cubic.c`, and `tcp_cong_avoid_ai` of `tcp_cong.c`.
//!
//! Windows are whole segments. The time on the curve is in 2^-10 s, taken from a clock of jiffies. Growth is a number
//! of acknowledged segments for each new segment (`cnt`), recalculated at most once a jiffy: a window far below the
//! curve reaches it in a round trip, and a window above it waits. Integer divisions truncate like the kernel's, because
//! the results depend on it.

use super::{ONE, Parameters, Ruled};
use firstflight_contract::{Ack, Congestion, Control, Entry, Nanos, Trigger, Why, cube_shift};

/// The kernel's parameters are in 1/1024.
const SCALE_BITS: u32 = 10;
/// Time on the curve is in 2^-10 s (`BICTCP_HZ`).
const TIME_BITS: u32 = 10;
/// The curve's scale is in 2^-40 segments per cubic unit of time.
const CURVE_BITS: u32 = SCALE_BITS + 3 * TIME_BITS;
/// Largest distance from the plateau on the curve, 34 minutes. (The kernel's 64 bits overflow after six minutes; growth
/// reaches its bound long before.)
const FARTHEST: u64 = (1 << 21) - 1;
/// Before the first loss, a segment for each 20 acknowledged at least: 5 % a round trip.
const UNKNOWN_COUNT: u64 = 20;
/// At most a segment for each two acknowledged: 1.5 windows a round trip.
const LEAST_COUNT: u64 = 2;

/// CUBIC in the kernel's integers. The documentation of a field gives its name in the kernel.
#[derive(Clone, Debug, Default)]
pub struct Linux {
    /// Nanoseconds.
    jiffy: u64,
    /// The jiffies counter, and the time of its next tick, nanoseconds: one division a jiffy instead of one an ACK.
    jiffies: u64,
    next_jiffy: u64,
    /// Jiffies for which a count holds while the window is constant (`HZ / 32`).
    hold: u64,
    /// `cube_rtt_scale`: C in 2^-40 segments per cubic unit of time.
    curve: u64,
    /// `beta_scale`: eighths of a window of segments for each segment of growth of the compared Reno flow.
    reno_eighths: u64,

    /// `cnt`, segments.
    count: u64,
    /// `snd_cwnd_cnt`: segments acknowledged and not yet turned into growth.
    credit: u64,
    /// Acknowledged bytes that do not make a segment yet.
    partial: u64,
    /// `last_max_cwnd`, segments; zero before the first loss and after a timeout.
    w_max: u64,
    /// `last_cwnd` and `last_time`: window and jiffy at the last calculation of the count.
    seen_window: u64,
    seen_at: u64,
    /// `epoch_start`, jiffies; `None` until a new epoch begins.
    epoch: Option<u64>,
    /// `bic_origin_point`, segments.
    origin: u64,
    /// `bic_K`, 2^-10 s.
    k: u64,
    /// `ack_cnt`: segments acknowledged that the Reno flow has not yet turned into growth.
    reno_credit: u64,
    /// `tcp_cwnd`: the window of that flow.
    reno_window: u64,
    /// The jiffy when the last packet left, while none is in flight.
    last_left: Option<u64>,
}

impl Ruled for Linux {
    fn enter(&mut self, parameters: &Parameters, entry: &Entry) {
        if matches!(entry.why, Why::Connect | Why::Migrate) {
            *self = Self::default();
        }
        self.jiffy = parameters.jiffy.0.max(1);
        self.hold = 1_000_000_000 / 32 / self.jiffy;
        // bic_scale, 41 for 0.4: the kernel takes C in tenths of 1/1024.
        self.curve = 10 * rounded((parameters.c.0 << SCALE_BITS) / 10);
        // 3 (1 - beta)/(1 + beta) segments a window, turned over; divided in this order.
        let beta = beta(parameters);
        self.reno_eighths = 8 * (1024 + beta) / 3 / (1024 - beta);
    }

    #[inline]
    fn on_ack(&mut self, _: &Parameters, ack: &Ack, control: &mut Control) {
        if ack.is(Ack::RECOVERY) {
            return;
        }
        self.leave_out_idle(ack);
        let bytes = self.partial + ack.growth;
        let acked = bytes / u64::from(ack.mss);
        self.partial = bytes - acked * u64::from(ack.mss);
        if acked > 0 {
            let now = self.clock(ack.now);
            self.update(control.cwnd / u64::from(ack.mss), acked, now, ack.min_rtt);
            control.cwnd += self.grow(acked) * u64::from(ack.mss);
        }
    }

    fn on_congestion(&mut self, parameters: &Parameters, event: &Congestion, control: &mut Control) {
        let beta = beta(parameters);
        let window = control.cwnd / u64::from(event.mss);
        self.w_max = if parameters.fast_convergence && window < self.w_max {
            window * (1024 + beta) / 2048
        } else {
            window
        };
        self.epoch = None;
        self.credit = 0;
        control.ssthresh = (event.base / u64::from(event.mss) * beta / 1024).max(2) * u64::from(event.mss);
        control.cwnd = control.ssthresh;
        if event.trigger == Trigger::Timeout {
            // A timeout resets the state: growth is as before the first loss.
            self.w_max = 0;
            (self.seen_window, self.seen_at) = (0, 0);
        }
    }

    /// The kernel restores the window and the threshold, and no other state.
    fn on_spurious(&mut self) {}
}

impl Linux {
    /// The jiffies counter.
    #[inline]
    fn clock(&mut self, now: Nanos) -> u64 {
        if now.0 >= self.next_jiffy {
            self.jiffies = now.0 / self.jiffy;
            self.next_jiffy = (self.jiffies + 1).saturating_mul(self.jiffy);
        }
        self.jiffies
    }

    /// Moves the epoch by a time in which nothing was in flight: from the last packet before it to the first packet
    /// after it, as far as ACKs show these times. Unlike in RFC 9438, times in which the application did not use the
    /// window count.
    #[inline]
    fn leave_out_idle(&mut self, ack: &Ack) {
        let emptied = ack.acked >= ack.in_flight;
        if !emptied && self.last_left.is_none() {
            return;
        }
        // Sending time of the newest packet that this ACK delivered; unknown for a retransmitted packet.
        let left = (ack.rtt != Nanos::ZERO).then(|| ack.now.saturating_sub(ack.rtt).0 / self.jiffy);
        if let (Some(last), Some(left), Some(epoch)) = (self.last_left, left, self.epoch) {
            self.epoch = Some((epoch + left.saturating_sub(last)).min(left));
        }
        self.last_left = left.filter(|_| emptied);
    }

    /// Recalculates the count if due (`bictcp_update`).
    fn update(&mut self, window: u64, acked: u64, now: u64, min_rtt: Nanos) {
        self.reno_credit += acked;
        if window == self.seen_window && now - self.seen_at <= self.hold {
            return;
        }
        if self.epoch.is_none() || now != self.seen_at {
            (self.seen_window, self.seen_at) = (window, now);
            let epoch = match self.epoch {
                Some(epoch) => epoch,
                None => self.begin(window, acked, now),
            };
            let jiffies = now - epoch + min_rtt.0.div_ceil(self.jiffy);
            // Nanoseconds to 2^-10 s: 1024 / 10^9.
            let target = self.target(jiffies.saturating_mul(self.jiffy).saturating_mul(2) / 1_953_125);
            self.count = if target > window { window / (target - window) } else { 100 * window };
            if self.w_max == 0 {
                self.count = self.count.min(UNKNOWN_COUNT);
            }
        }
        self.keep_up_with_reno(window);
        self.count = self.count.max(LEAST_COUNT);
    }

    /// Begins a new epoch at `now`; returns `now`.
    fn begin(&mut self, window: u64, acked: u64, now: u64) -> u64 {
        self.epoch = Some(now);
        self.reno_credit = acked;
        self.reno_window = window;
        if self.w_max <= window {
            self.k = 0;
            self.origin = window;
        } else {
            let cubic_units = (1 << CURVE_BITS) / self.curve;
            self.k = cube_root(cubic_units.saturating_mul(self.w_max - window));
            self.origin = self.w_max;
        }
        now
    }

    /// The curve at `t`, segments.
    fn target(&self, t: u64) -> u64 {
        let change = cube_shift(t.abs_diff(self.k).min(FARTHEST) as u32, self.curve, CURVE_BITS);
        if t < self.k { self.origin.saturating_sub(change) } else { self.origin + change }
    }

    /// Lowers the count where a Reno flow would have the larger window by now (RFC 9438 section 4.3).
    fn keep_up_with_reno(&mut self, window: u64) {
        let each = ((window * self.reno_eighths) >> 3).max(1);
        if self.reno_credit > each {
            let grown = (self.reno_credit - 1) / each;
            self.reno_credit -= grown * each;
            self.reno_window += grown;
        }
        if self.reno_window > window {
            self.count = self.count.min(window / (self.reno_window - window));
        }
    }

    /// Segments by which `acked` more enlarge the window (`tcp_cong_avoid_ai`).
    fn grow(&mut self, acked: u64) -> u64 {
        // Credit from a larger count is worth one segment, whatever its amount.
        let mut grown = 0;
        if self.credit >= self.count {
            self.credit = 0;
            grown = 1;
        }
        self.credit += acked;
        if self.credit >= self.count {
            grown += self.credit / self.count;
            self.credit %= self.count;
        }
        grown
    }
}

/// 64 times the cube root of a number below 64, less 10, of which `cube_root` makes a first approximation. The kernel's table
/// (`cubic_root` in tcp_cubic.c): its values were refined by hand, and no formula gives all of them.
const ROOTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173,
    176, 179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221,
    222, 224, 225, 227, 229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// Cube root as the kernel computes it: the highest bits by the table, then one step of Newton's method with x (x - 1) for
/// the square. Its error decides when the curve reaches its plateau.
fn cube_root(a: u64) -> u64 {
    let bits = u64::from(64 - a.leading_zeros());
    if bits < 7 {
        return (u64::from(ROOTS[a as usize & 63]) + 35) >> 6;
    }
    // A third of the bits, as a product with 84/256; the table has the rest, which is below 64.
    let third = ((bits * 84) >> 8) - 1;
    let first = ((u64::from(ROOTS[(a >> (3 * third)) as usize & 63]) + 10) << third) >> 6;
    // A third, as a product with 341/1024. The kernel keeps 32 bits of the quotient.
    let sum = 2 * first + u64::from((a / (first * (first - 1))) as u32);
    (sum * 341) >> 10
}

/// beta in 1/1024: 717 for 0.7.
fn beta(parameters: &Parameters) -> u64 {
    rounded(parameters.beta.0 << SCALE_BITS)
}

/// A number in 2^-32 to the nearest integer.
fn rounded(x: u64) -> u64 {
    (x + ONE / 2) >> 32
}

#[cfg(test)]
mod tests;
