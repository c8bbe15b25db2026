//! Slow start: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988; RFC 5681 section 3.1.

use crate::scheme;
use firstflight_contract::{Ack, Congestion, Control, Entry, Phase, Role, Step, slow_start};

/// Slow start. The host sets the initial window and the threshold.
#[derive(Clone, Debug, Default)]
pub struct SlowStart;

scheme! {
    impl Scheme for SlowStart {
        label: "slow-start",
        role: Role::Startup,
        source: "RFC 5681 section 3.1",
        summary: "one segment per ACK until the threshold or a loss",
        below_threshold: true,
    }
}

impl Phase for SlowStart {
    fn enter(&mut self, _: &Entry, _: &mut Control) {}

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        slow_start(ack, control)
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        Step::Exit(event.trigger.into())
    }
}

#[cfg(test)]
mod tests {
    use firstflight_contract::Exit;

    use super::*;

    const MSS: u64 = 1000;

    #[test]
    fn an_ack_per_segment_doubles_the_window_every_round_until_the_threshold() {
        let mut control = Control { cwnd: MSS, ssthresh: 32 * MSS, ..Control::default() };
        let ack = Ack { acked: MSS, growth: MSS, mss: MSS as u32, ..Ack::default() };
        let mut windows = vec![];
        // The Adaptive Start paper's case: initial window 1, threshold 32: 1, 2, 4, 8, 16, then out at 32.
        for _ in 0..4 {
            for _ in 0..control.cwnd / MSS {
                assert_eq!(SlowStart.on_ack(&ack, &mut control), Step::Stay);
            }
            windows.push(control.cwnd / MSS);
        }
        assert_eq!(windows, [2, 4, 8, 16]);
        for _ in 0..15 {
            assert_eq!(SlowStart.on_ack(&ack, &mut control), Step::Stay);
        }
        assert_eq!(SlowStart.on_ack(&ack, &mut control), Step::Exit(Exit::Threshold));
        assert_eq!(control.cwnd, 32 * MSS);
    }

    #[test]
    fn without_growth_from_the_host_the_window_stays_constant() {
        let mut control = Control { cwnd: 10 * MSS, ..Control::default() };
        let ack = Ack { acked: MSS, growth: 0, mss: MSS as u32, ..Ack::default() };
        assert_eq!(SlowStart.on_ack(&ack, &mut control), Step::Stay);
        assert_eq!(control.cwnd, 10 * MSS);
    }
}
