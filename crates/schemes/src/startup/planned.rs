//! Schemes that follow a plan ([`Entry::plan`]), which a memory of the path computes from other connections. A
//! threshold in the plan is that of slow start; a window in the plan is a first flight, which is paced evenly.

use core::fmt::Debug;

use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Nanos, Phase, Plan, Rate, Step, Why, slow_start,
};

/// Bytes. No plan makes a first flight larger: no TCP peer takes more (RFC 7323 section 2.2).
const MAX_FLIGHT: u64 = 1 << 30;

/// Parameters of a scheme that follows a plan.
pub trait Follows: Clone + Debug + Default {
    /// Whether a window in the plan becomes a first flight; if not, the scheme follows the threshold only.
    const PACES: bool;

    /// Whether a plan is followed after an idle time, too.
    const AFTER_IDLE: bool = false;

    /// Largest number of segments that may leave back to back in the first flight.
    fn depth(&self) -> u64 {
        1
    }
}

/// A scheme that follows a plan; without a plan it is slow start.
#[derive(Clone, Debug, Default)]
pub struct Planned<P> {
    pub(crate) parameters: P,
    flight: Option<Flight>,
}

/// A first flight that is leaving.
#[derive(Clone, Copy, Debug)]
struct Flight {
    /// `cwnd_0`, bytes.
    window: u64,
    /// Bytes the connection had sent before it; known with the first ACK.
    before: Option<u64>,
    mss: u64,
}

impl<P: Follows> Planned<P> {
    fn stop_pacing(&mut self, control: &mut Control) {
        self.flight = None;
        control.pacing = Rate::NONE;
        control.burst = 0;
    }
}

impl<P: Follows> Phase for Planned<P> {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        self.stop_pacing(control);
        let Plan { cwnd, ssthresh, rtt, .. } = entry.plan;
        if entry.why != Why::Connect && !(P::AFTER_IDLE && entry.why == Why::Idle) {
            return;
        }
        if ssthresh > 0 {
            control.ssthresh = ssthresh;
        }
        // The RTT of the plan is the duration of the flight; without an RTT the flight cannot be paced.
        let over = if rtt > Nanos::ZERO { rtt } else { entry.rtt };
        if cwnd == 0 || over == Nanos::ZERO || !P::PACES {
            return;
        }
        let mss = u64::from(entry.mss);
        let window = cwnd.clamp(mss, MAX_FLIGHT.max(mss));
        control.cwnd = window;
        control.pacing = Rate::of(window, over).max(Rate(1));
        control.burst = self.parameters.depth().max(1).saturating_mul(mss).min(MAX_FLIGHT);
        self.flight = Some(Flight { window, before: None, mss });
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        let Some(flight) = &mut self.flight else { return slow_start(ack, control) };
        // Until the first ACK nothing else is in flight.
        let before = *flight.before.get_or_insert(ack.sent.saturating_sub(ack.in_flight));
        let all = ack.sent - before + flight.mss > flight.window;
        let had_no_more = ack.is(Ack::APP_LIMITED) && ack.pipe == 0;
        if control.cwnd < control.ssthresh {
            let _ = slow_start(ack, control);
        }
        if !all && !had_no_more {
            return Step::Stay;
        }
        self.stop_pacing(control);
        if control.cwnd >= control.ssthresh { Step::Exit(Exit::PacedOut) } else { Step::Stay }
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        self.stop_pacing(control);
        Step::Exit(event.trigger.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Scheme as _, Value};
    use crate::startup::{js::Js, liss::Liss, miss::Miss, spand::Spand};
    use firstflight_contract::Trigger;

    const MSS: u64 = 1000;
    const RTT: Nanos = Nanos::from_millis(100);

    fn start<S: Phase + Default>(why: Why, plan: Plan) -> (S, Control) {
        let mut phase = S::default();
        // Initial window 1 and threshold 10, as in Yu and Newman.
        let mut control = Control { cwnd: MSS, ssthresh: 10 * MSS, ..Control::default() };
        phase.enter(&Entry { why, plan, mss: MSS as u32, ..Entry::default() }, &mut control);
        (phase, control)
    }

    fn plan(cwnd: u64, ssthresh: u64) -> Plan {
        Plan { cwnd: cwnd * MSS, ssthresh: ssthresh * MSS, rtt: RTT, ..Plan::default() }
    }

    fn ack(sent: u64, in_flight: u64) -> Ack {
        let [sent, in_flight] = [sent, in_flight].map(|packets| packets * MSS);
        Ack {
            acked: MSS,
            growth: MSS,
            sent,
            in_flight,
            pipe: in_flight - MSS,
            mss: MSS as u32,
            ..Ack::default()
        }
    }

    #[test]
    fn a_threshold_alone_is_slow_start_up_to_it() {
        let (mut phase, mut control) = start::<Liss>(Why::Connect, plan(0, 3));
        assert_eq!(control, Control { cwnd: MSS, ssthresh: 3 * MSS, ..Control::default() });
        assert_eq!(phase.on_ack(&ack(1, 1), &mut control), Step::Stay);
        assert_eq!(phase.on_ack(&ack(3, 2), &mut control), Step::Exit(Exit::Threshold));
        assert_eq!(control.cwnd, 3 * MSS);
    }

    #[test]
    fn a_scheme_that_does_not_pace_follows_the_threshold_only() {
        let (_, control) = start::<Liss>(Why::Connect, plan(20, 20));
        assert_eq!(control, Control { cwnd: MSS, ssthresh: 20 * MSS, ..Control::default() });
    }

    #[test]
    fn a_first_window_leaves_one_segment_at_a_time_over_the_rtt() {
        let (_, control) = start::<Js>(Why::Connect, plan(20, 20));
        // 20 x 8000 bit in 100 ms = 1.6 Mbit/s: a segment every 5 ms.
        assert_eq!((control.cwnd, control.ssthresh), (20 * MSS, 20 * MSS));
        assert_eq!((control.pacing, control.burst), (Rate(1_600_000), MSS));
        assert_eq!(control.pacing.time_for(MSS), Nanos::from_millis(5));
    }

    #[test]
    fn js_without_pacing_may_send_all_of_its_window_back_to_back() {
        let mut phase = Js::default();
        phase.set("paced", Value::Flag(false));
        let mut control = Control { cwnd: MSS, ..Control::default() };
        let entry = Entry { why: Why::Connect, plan: plan(20, 20), mss: MSS as u32, ..Entry::default() };
        phase.enter(&entry, &mut control);
        assert!(control.cwnd == 20 * MSS && control.burst >= 20 * MSS, "{control:?}");
        assert_eq!(phase.on_ack(&ack(20, 20), &mut control), Step::Exit(Exit::PacedOut));
        assert_eq!((control.pacing, control.burst), (Rate::NONE, 0));
    }

    #[test]
    fn js_enters_avoidance_once_the_whole_flight_was_sent() {
        let (mut phase, mut control) = start::<Js>(Why::Connect, plan(20, 20));
        assert_eq!(phase.on_ack(&ack(18, 18), &mut control), Step::Stay);
        assert_eq!((control.cwnd, control.pacing), (20 * MSS, Rate(1_600_000)));
        assert_eq!(phase.on_ack(&ack(20, 19), &mut control), Step::Exit(Exit::PacedOut));
        assert_eq!((control.cwnd, control.pacing, control.burst), (20 * MSS, Rate::NONE, 0));
    }

    #[test]
    fn miss_continues_with_slow_start_below_the_threshold() {
        let (mut phase, mut control) = start::<Miss>(Why::Connect, plan(4, 6));
        assert_eq!(phase.on_ack(&ack(4, 4), &mut control), Step::Stay);
        assert_eq!((control.cwnd, control.pacing), (5 * MSS, Rate::NONE));
        assert_eq!(phase.on_ack(&ack(5, 4), &mut control), Step::Exit(Exit::Threshold));
    }

    #[test]
    fn a_flight_cut_short_by_the_end_of_the_data_ends_with_its_last_ack() {
        let (mut phase, mut control) = start::<Js>(Why::Connect, plan(20, 20));
        let last = Ack { flags: Ack::APP_LIMITED, ..ack(5, 1) };
        assert_eq!(phase.on_ack(&Ack { flags: Ack::APP_LIMITED, ..ack(5, 2) }, &mut control), Step::Stay);
        assert_eq!(phase.on_ack(&last, &mut control), Step::Exit(Exit::PacedOut));
    }

    #[test]
    fn spand_sends_its_bucket_at_once_and_also_follows_a_plan_after_an_idle_time() {
        for why in [Why::Connect, Why::Idle] {
            let (mut phase, mut control) = start::<Spand>(why, plan(15, 15));
            assert_eq!((control.cwnd, control.ssthresh, control.burst), (15 * MSS, 15 * MSS, 4 * MSS));
            // 100 packets were sent before this transfer.
            assert_eq!(phase.on_ack(&ack(112, 12), &mut control), Step::Stay);
            assert_eq!(phase.on_ack(&ack(115, 14), &mut control), Step::Exit(Exit::PacedOut));
        }
        let (_, control) = start::<Js>(Why::Idle, plan(15, 15));
        assert_eq!(control.cwnd, MSS);
    }

    #[test]
    fn no_scheme_follows_a_plan_after_a_timeout() {
        let (_, control) = start::<Spand>(Why::Timeout, plan(15, 15));
        assert_eq!(control, Control { cwnd: MSS, ssthresh: 10 * MSS, ..Control::default() });
    }

    #[test]
    fn a_loss_ends_the_pacing_and_leaves_the_reduction_to_avoidance() {
        let (mut phase, mut control) = start::<Miss>(Why::Connect, plan(20, 20));
        let loss =
            Congestion { trigger: Trigger::Loss, base: 20 * MSS, mss: MSS as u32, ..Congestion::default() };
        assert_eq!(phase.on_congestion(&loss, &mut control), Step::Exit(Exit::Loss));
        assert_eq!((control.cwnd, control.pacing), (20 * MSS, Rate::NONE));
    }

    #[test]
    fn without_an_rtt_only_the_threshold_is_followed() {
        let blind = Plan { rtt: Nanos::ZERO, ..plan(20, 20) };
        let (_, control) = start::<Js>(Why::Connect, blind);
        assert_eq!(control, Control { cwnd: MSS, ssthresh: 20 * MSS, ..Control::default() });
    }

    #[test]
    fn without_a_plan_it_is_slow_start() {
        let (mut phase, mut control) = start::<Spand>(Why::Connect, Plan::default());
        assert_eq!(control, Control { cwnd: MSS, ssthresh: 10 * MSS, ..Control::default() });
        let _ = phase.on_ack(&ack(1, 1), &mut control);
        assert_eq!(control.cwnd, 2 * MSS);
    }
}
