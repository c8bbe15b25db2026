//! Rate-based pacing after idle: V. Visweswaraiah, J. Heidemann, "Improving Restart of Idle TCP Connections", USC
//! technical report 97-661, 1997.
//!
//! After an idle time a connection has lost its ACK clock. Slow start from one segment is too slow, and the whole
//! previous window at once is a burst. Most of the previous window is paced evenly until the first ACK restarts the
//! clock. A new connection begins with plain slow start.

use crate::scheme;
use crate::scheme::Fixed;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Nanos, Phase, Rate, Role, Signals, Step, Why, mul_div_round,
    slow_start,
};

/// Segments. Smallest paced window (`RBP_MIN_SEGMENTS` in ns-2).
const LEAST: u64 = 2;

/// Most of the previous window paced evenly until the first ACK.
#[derive(Clone, Debug, Default)]
pub struct RateBasedPacing {
    parameters: Parameters,
    /// Whether sending has resumed and no ACK has arrived since.
    resuming: bool,
}

scheme! {
    impl Scheme for RateBasedPacing {
        label: "rate-based-pacing",
        role: Role::Startup,
        source: "Visweswaraiah and Heidemann, USC TR 97-661; ns-2 tcp-rbp.cc",
        summary: "slow start; after idle three quarters of the previous window, paced until the first ACK",
        needs: Signals::PACING,
        resumes: true,
    }

    pub struct Parameters {
        /// share of the previous window that is paced
        scale: Fixed<1000> in 0.001..=1.0 = 0.75,
    }
}

impl RateBasedPacing {
    /// `W = max (2, round (scale * cwnd))`, segments.
    fn paced_window(&self, window: u64, mss: u64) -> u64 {
        mul_div_round(window, self.parameters.scale.0, mss * 1000).max(LEAST)
    }

    fn stop(&mut self, control: &mut Control) {
        self.resuming = false;
        control.pacing = Rate::NONE;
        control.burst = 0;
    }
}

impl Phase for RateBasedPacing {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        self.stop(control);
        if entry.why != Why::Idle {
            return;
        }
        self.resuming = true;
        if entry.rtt == Nanos::ZERO {
            // Without an RTT there is no pacing: the host's restart window stays.
            return;
        }
        let mss = u64::from(entry.mss);
        // cwnd = min (cwnd, W): a window of one segment stays one segment.
        control.cwnd = self.paced_window(entry.window, mss).saturating_mul(mss).min(entry.window);
        let offered = if entry.receive_window == 0 { u64::MAX } else { entry.receive_window };
        // gap = SRTT / window, where the window is what cwnd and the receiver allow.
        control.pacing = Rate::of(control.cwnd.min(offered), entry.rtt).max(Rate(1));
        control.burst = mss;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if !self.resuming {
            return slow_start(ack, control);
        }
        self.stop(control);
        // If the path has become faster, the first ACK arrives before the whole window was sent; the rest must not
        // leave at once. From here on ACKs clock the sender.
        control.cwnd = control.cwnd.min(ack.in_flight);
        if control.cwnd < control.ssthresh {
            let _ = slow_start(ack, control);
        }
        Step::Exit(Exit::FirstAck)
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        self.stop(control);
        Step::Exit(event.trigger.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Scheme as _, Value};
    use firstflight_contract::Trigger;

    const MSS: u64 = 1000;
    const RTT: Nanos = Nanos::from_millis(90);

    fn resumed(window: u64, receive_window: u64) -> (RateBasedPacing, Control) {
        let mut phase = RateBasedPacing::default();
        // The host's rule has reduced the window to one segment.
        let mut control = Control { cwnd: MSS, ssthresh: 20 * MSS, ..Control::default() };
        let entry = Entry {
            rtt: RTT,
            window,
            receive_window: receive_window * MSS,
            mss: MSS as u32,
            why: Why::Idle,
            ..Entry::default()
        };
        phase.enter(&entry, &mut control);
        (phase, control)
    }

    fn ack(in_flight: u64) -> Ack {
        Ack { acked: MSS, growth: MSS, in_flight: in_flight * MSS, mss: MSS as u32, ..Ack::default() }
    }

    #[test]
    fn three_quarters_of_the_old_window_rounded_and_two_at_least_are_paced() {
        // 0.75 x 24 = 18; x 10 = 7.5, rounded 8; x 9 = 6.75, 7; x 5 = 3.75, 4; x 2.5 = 1.875, 2; x 2 = 1.5, 2. A window
        // of one stays one.
        for (before, paced) in [(24_000, 18), (10_000, 8), (9_000, 7), (5_000, 4), (2_500, 2), (2_000, 2)] {
            assert_eq!(resumed(before, 1000).1.cwnd, paced * MSS, "{before}");
        }
        assert_eq!(resumed(MSS, 1000).1.cwnd, MSS);
    }

    #[test]
    fn the_gap_is_the_rtt_over_the_window_that_the_receiver_allows() {
        // 18 in 90 ms: 5 ms. A receiver that takes 9 gets one each 10 ms.
        for (offered, gap) in [(1000, 5), (9, 10)] {
            let control = resumed(24_000, offered).1;
            assert_eq!(control.pacing.time_for(MSS), Nanos::from_millis(gap));
            assert_eq!(control.burst, MSS);
        }
    }

    #[test]
    fn the_first_ack_ends_the_pacing_with_a_window_of_the_data_in_flight() {
        // 18 were allowed, 12 had left: 12, and one for the ACK in slow start.
        let (mut phase, mut control) = resumed(24_000, 1000);
        assert_eq!(phase.on_ack(&ack(12), &mut control), Step::Exit(Exit::FirstAck));
        assert_eq!((control.cwnd, control.pacing, control.burst), (13 * MSS, Rate::NONE, 0));
        // 30 x 0.75 = 22.5, 23, is above the threshold of 20: no slow start.
        let (mut phase, mut control) = resumed(30_000, 1000);
        assert_eq!(phase.on_ack(&ack(23), &mut control), Step::Exit(Exit::FirstAck));
        assert_eq!((control.cwnd, control.ssthresh), (23 * MSS, 20 * MSS));
    }

    #[test]
    fn without_an_idle_time_the_scheme_is_slow_start() {
        for why in [Why::Connect, Why::Timeout, Why::Handover] {
            let mut phase = RateBasedPacing::default();
            let mut control = Control { cwnd: 2 * MSS, ..Control::default() };
            phase.enter(&Entry { why, rtt: RTT, mss: MSS as u32, ..Entry::default() }, &mut control);
            assert_eq!(phase.on_ack(&ack(2), &mut control), Step::Stay);
            assert_eq!((control.cwnd, control.pacing), (3 * MSS, Rate::NONE), "{why:?}");
        }
    }

    #[test]
    fn without_an_rtt_the_restart_window_stays_and_a_timeout_stops_the_pacing() {
        let mut phase = RateBasedPacing::default();
        let mut control = Control { cwnd: MSS, ..Control::default() };
        let entry = Entry { window: 24_000, mss: MSS as u32, why: Why::Idle, ..Entry::default() };
        phase.enter(&entry, &mut control);
        assert_eq!((control.cwnd, control.pacing), (MSS, Rate::NONE));
        let (mut phase, mut control) = resumed(24_000, 1000);
        let event =
            Congestion { trigger: Trigger::Timeout, base: MSS, mss: MSS as u32, ..Congestion::default() };
        assert_eq!(phase.on_congestion(&event, &mut control), Step::Exit(Exit::Timeout));
        assert_eq!(control.pacing, Rate::NONE);
    }

    #[test]
    fn the_scale_is_a_parameter() {
        let mut phase = RateBasedPacing::default();
        phase.set("scale", Value::Number(0.5));
        assert_eq!(phase.paced_window(24_000, MSS), 12);
    }
}
