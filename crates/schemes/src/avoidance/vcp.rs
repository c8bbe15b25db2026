//! VCP: Y. Xia, L. Subramanian, I. Stoica, S. Kalyanaraman, "One More Bit Is Enough", SIGCOMM 2005, sections 3 and 4
//! ("the paper"); the behaviour after a decrease is that of the authors' program.
//!
//! The most loaded router on the path reports low load, high load or overload in two bits. The window grows by a share
//! of itself, grows by a constant, or shrinks by a share.

use crate::scheme;
use firstflight_contract::{
    Ack, Beginning, Congestion, Control, Entry, Load, Nanos, Phase, Role, Signals, Step, Trigger, mul_div,
};

/// Nanoseconds. `t_rho`, the interval over which routers measure and to which the constants below refer.
const SPAN: u64 = 200_000_000;
/// `ln(1 + xi)` for the paper's `xi` = 0.0625, 2^-32: the share of a multiplicative increase.
const LN_GROWTH: u64 = 260_380_768;
/// Nanoseconds. A round trip counts as at most this: five spans, after which a window grows by 35 %.
const MOST_RTT: u64 = 5 * SPAN;
/// `beta`, the part of the window that remains after a decrease, in eighths.
const LEFT: u64 = 7;

const ONE_BITS: u32 = 32;

/// Reaction to overload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Overload {
    /// No reaction yet.
    #[default]
    None,
    /// The window was decreased; until this time reports of overload date from before the decrease.
    Frozen(Nanos),
    /// After that, until this time, the window may grow by a constant and does not shrink.
    Waiting(Nanos),
}

/// Variable-structure congestion control.
#[derive(Clone, Debug, Default)]
pub struct Vcp {
    overload: Overload,
    /// Growth below one byte, 2^-32 bytes.
    fraction: u64,
}

scheme! {
    impl Scheme for Vcp {
        label: "vcp",
        role: Role::Avoidance,
        source: "Xia, Subramanian, Stoica, Kalyanaraman, SIGCOMM 2005, sections 3 and 4",
        summary: "grows by a share, grows by a constant, or shrinks, by two bits from the routers on the path",
        needs: Signals::LOAD,
        beginning: Beginning::Own,
    }
}

impl Phase for Vcp {
    fn enter(&mut self, _: &Entry, _: &mut Control) {
        self.fraction = 0;
    }

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        self.pass_time(ack.now, ack.srtt);
        if ack.is(Ack::RECOVERY) {
            return Step::Stay;
        }
        // The paper's rules refer to the bytes delivered in a round trip, independent of the number of ACKs.
        let delivered = if ack.growth > 0 { ack.acked } else { 0 };
        match (ack.load, self.overload) {
            (Load::Unknown, _) | (Load::Over, Overload::Frozen(_)) => {}
            (Load::Low, _) => self.grow(control, multiplicative(ack.srtt, delivered), delivered),
            (Load::High, _) | (Load::Over, Overload::Waiting(_)) => {
                let increase = self.additive(ack.srtt, delivered, control.cwnd, ack.mss.into());
                self.grow(control, increase, delivered);
            }
            (Load::Over, Overload::None) => {
                self.shrink(control, ack.now, ack.mss.into());
            }
        }
        Step::Stay
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        if event.trigger == Trigger::Mark {
            // A start-up scheme received the report of overload; this scheme makes the reduction.
            self.shrink(control, event.now, event.mss.into());
            control.ssthresh = control.cwnd.max(2 * u64::from(event.mss));
            return Step::Stay;
        }
        // The response to losses is that of TCP: RFC 5681 equation (4).
        event.reduce_to(event.base / 2, control);
        Step::Stay
    }
}

/// Equation (2) of the paper for a flow of this RTT, xi_s = (1 + xi)^(rtt / t_rho) - 1 of what was delivered: 2^-32 bytes.
fn multiplicative(rtt: Nanos, delivered: u64) -> u64 {
    // e^x - 1 by its series; x is below 0.31, so that eight terms are exact to 2^-32.
    let x = rtt.0.min(MOST_RTT) * LN_GROWTH / SPAN;
    let (mut term, mut sum) = (x, x);
    for n in 2..=8 {
        term = ((term * x) >> ONE_BITS) / n;
        sum += term;
    }
    sum.saturating_mul(delivered)
}

impl Vcp {
    /// A segment a round trip for a flow of the RTT t_rho, and (rtt / t_rho)^2 of one for others, so that rates grow by
    /// the same: the part of it for what was delivered, 2^-32 bytes.
    fn additive(&self, rtt: Nanos, delivered: u64, cwnd: u64, mss: u64) -> u64 {
        // Squares of microseconds fit 64 bits.
        let (rtt, span) = (rtt.0.min(MOST_RTT) / 1000, SPAN / 1000);
        let segment = mul_div(mss << ONE_BITS, rtt * rtt, span * span);
        mul_div(segment, delivered, cwnd.max(1))
    }

    /// Grows by `increase`, 2^-32 bytes, at most by the delivered bytes.
    fn grow(&mut self, control: &mut Control, increase: u64, delivered: u64) {
        let grown = increase.min(delivered.saturating_mul(1 << ONE_BITS)).saturating_add(self.fraction);
        control.cwnd = control.cwnd.saturating_add(grown >> ONE_BITS);
        self.fraction = grown & ((1 << ONE_BITS) - 1);
    }

    /// Equation (4): cwnd <- beta cwnd.
    fn shrink(&mut self, control: &mut Control, now: Nanos, mss: u64) {
        control.cwnd = (control.cwnd / 8 * LEFT + control.cwnd % 8 * LEFT / 8).max(mss);
        self.overload = Overload::Frozen(now.saturating_add(Nanos(SPAN)));
    }

    fn pass_time(&mut self, now: Nanos, rtt: Nanos) {
        if let Overload::Frozen(until) = self.overload
            && now >= until
        {
            self.overload = Overload::Waiting(until.saturating_add(rtt));
        }
        if let Overload::Waiting(until) = self.overload
            && now >= until
        {
            self.overload = Overload::None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn begun(cwnd: u64) -> (Vcp, Control) {
        let mut phase = Vcp::default();
        let mut control = Control { cwnd: cwnd * MSS, ..Control::default() };
        phase.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut control);
        (phase, control)
    }

    fn ack(ms: u64, rtt: u64, load: Load) -> Ack {
        Ack {
            now: Nanos::from_millis(ms),
            srtt: Nanos::from_millis(rtt),
            acked: MSS,
            growth: MSS,
            load,
            mss: MSS as u32,
            ..Ack::default()
        }
    }

    /// The window, segments, after a window of ACKs under this load.
    fn after_a_round(cwnd: u64, rtt: u64, load: Load) -> f64 {
        let (mut phase, mut control) = begun(cwnd);
        for _ in 0..cwnd {
            let _ = phase.on_ack(&ack(0, rtt, load), &mut control);
        }
        control.cwnd as f64 / MSS as f64
    }

    #[test]
    fn under_low_load_an_interval_adds_a_sixteenth_at_any_rtt() {
        // A round trip of 200 ms: 1.0625. Of 100 ms: sqrt(1.0625) = 1.030776. Of 400 ms: 1.12890625.
        for (rtt, expected) in [(200, 1062.5), (100, 1030.776), (400, 1128.906)] {
            assert!((after_a_round(1000, rtt, Load::Low) - expected).abs() < 0.01, "{rtt} ms");
        }
    }

    #[test]
    fn under_high_load_rates_grow_by_the_same_amount_at_any_rtt() {
        // A segment in 200 ms; a quarter of one in 100 ms; four in 400 ms. The window grows while it is applied.
        for (rtt, expected) in [(200, 1001.0), (100, 1000.25), (400, 1004.0)] {
            assert!((after_a_round(1000, rtt, Load::High) - expected).abs() < 0.02, "{rtt} ms");
        }
    }

    #[test]
    fn overload_takes_an_eighth_once_and_then_holds_for_a_span_and_a_round_trip() {
        let (mut phase, mut control) = begun(800);
        let mut window = |ms| {
            let _ = phase.on_ack(&ack(ms, 100, Load::Over), &mut control);
            control.cwnd
        };
        // Frozen for 200 ms; then growing for 100 ms by a quarter of a segment a round trip, 1000/4/700 of a byte an ACK;
        // then it shrinks again.
        assert_eq!((window(1000), window(1100), window(1199)), (700_000, 700_000, 700_000));
        for _ in 0..3 {
            window(1200);
        }
        assert_eq!(window(1299), 700_001);
        assert_eq!(window(1300), 612_500);
    }

    #[test]
    fn room_that_is_said_after_a_decrease_is_taken() {
        let (mut phase, mut control) = begun(800);
        let _ = phase.on_ack(&ack(1000, 200, Load::Over), &mut control);
        let _ = phase.on_ack(&ack(1100, 200, Load::Low), &mut control);
        assert_eq!(control.cwnd, 700_062);
    }

    #[test]
    fn a_silent_path_leaves_the_window_alone() {
        assert_eq!(after_a_round(100, 200, Load::Unknown), 100.0);
    }

    #[test]
    fn a_mark_that_ended_start_up_is_overload_and_a_loss_halves() {
        for (trigger, left) in [(Trigger::Mark, 70_000), (Trigger::Loss, 40_000)] {
            let (mut phase, mut control) = begun(80);
            let event = Congestion { trigger, base: 80 * MSS, mss: MSS as u32, ..Congestion::default() };
            let _ = phase.on_congestion(&event, &mut control);
            assert_eq!((control.cwnd, control.ssthresh), (left, left));
        }
    }
}
