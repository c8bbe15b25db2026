//! XCP: D. Katabi, M. Handley, C. Rohrs, "Congestion Control for High Bandwidth-Delay Product Networks", SIGCOMM 2002,
//! section 3.3 ("the paper").
//!
//! The routers on the path write a window change into every packet, and the sender applies it. There is no start-up
//! phase: the first feedback gives a single flow two fifths of the spare capacity.

use crate::scheme;
use firstflight_contract::{Ack, Beginning, Congestion, Control, Entry, Phase, Role, Signals, Step};

/// Feedback is in 2^-16 bytes.
const FRACTION_BITS: u32 = 16;
/// Bytes. Largest window, whatever the feedback: 1 TiB fills 1 Tbit/s for 8.8 s.
const MOST: u64 = 1 << 40;

/// The window set by the routers.
#[derive(Clone, Debug, Default)]
pub struct Xcp {
    /// Fraction of the window below one byte, 2^-16 bytes.
    fraction: i64,
}

scheme! {
    impl Scheme for Xcp {
        label: "xcp",
        role: Role::Avoidance,
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002, section 3.3",
        summary: "the routers on the path set the change of the window in every packet, from the first packet on",
        needs: Signals::FEEDBACK,
        beginning: Beginning::Alone,
    }
}

impl Phase for Xcp {
    fn enter(&mut self, _: &Entry, _: &mut Control) {
        self.fraction = 0;
    }

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        // A window that does not limit the sender is not enlarged.
        let feedback = if ack.growth > 0 { ack.feedback } else { ack.feedback.min(0) };
        if ack.is(Ack::RECOVERY) || feedback == 0 {
            return Step::Stay;
        }
        // Equation (1) of section 3.3: cwnd = max(cwnd + H_feedback, s).
        let window =
            ((control.cwnd.min(MOST) << FRACTION_BITS) as i64 + self.fraction).saturating_add(feedback);
        let window =
            window.clamp((u64::from(ack.mss) << FRACTION_BITS) as i64, (MOST << FRACTION_BITS) as i64);
        control.cwnd = (window >> FRACTION_BITS) as u64;
        self.fraction = window & ((1 << FRACTION_BITS) - 1);
        Step::Stay
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        // Section 3.3: "XCP responds to losses in a manner similar to TCP": RFC 5681 equation (4).
        event.reduce_to(event.base / 2, control);
        Step::Stay
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::AnyPhase;
    use firstflight_contract::Trigger;
    use firstflight_host::chain::{Chain, ChainError};

    const MSS: u64 = 1000;

    fn begun() -> (Xcp, Control) {
        let mut phase = Xcp::default();
        let mut control = Control { cwnd: 3 * MSS, ..Control::default() };
        phase.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut control);
        (phase, control)
    }

    fn ack(feedback: f64) -> Ack {
        Ack {
            acked: MSS,
            growth: MSS,
            feedback: (feedback * 65_536.0) as i64,
            mss: MSS as u32,
            ..Ack::default()
        }
    }

    #[test]
    fn the_window_changes_by_the_feedback_and_no_fraction_is_lost() {
        let (mut phase, mut control) = begun();
        for _ in 0..1000 {
            let _ = phase.on_ack(&ack(0.25), &mut control);
        }
        assert_eq!(control.cwnd, 3250);
        for _ in 0..999 {
            let _ = phase.on_ack(&ack(-0.25), &mut control);
        }
        // 3000.25 bytes.
        assert_eq!((control.cwnd, phase.fraction), (3000, 1 << 14));
        let _ = phase.on_ack(&ack(500_000.0), &mut control);
        assert_eq!(control.cwnd, 503_000);
    }

    #[test]
    fn one_segment_is_the_least() {
        let (mut phase, mut control) = begun();
        let _ = phase.on_ack(&ack(-1e9), &mut control);
        assert_eq!(control.cwnd, MSS);
    }

    #[test]
    fn a_window_that_does_not_limit_the_sender_only_shrinks() {
        let (mut phase, mut control) = begun();
        let _ = phase.on_ack(&Ack { growth: 0, ..ack(500.0) }, &mut control);
        let _ = phase.on_ack(&Ack { growth: 0, ..ack(-500.0) }, &mut control);
        assert_eq!(control.cwnd, 2500);
    }

    #[test]
    fn a_loss_halves_the_window_as_in_tcp() {
        let (mut phase, mut control) = begun();
        let loss =
            Congestion { base: 50 * MSS, trigger: Trigger::Loss, mss: MSS as u32, ..Congestion::default() };
        let _ = phase.on_congestion(&loss, &mut control);
        assert_eq!((control.cwnd, control.ssthresh), (25 * MSS, 25 * MSS));
    }

    #[test]
    fn below_the_threshold_it_does_not_slow_start() {
        let phase = AnyPhase::by_label("xcp").expect("registered");
        let mut chain = Chain::new(vec![phase]).expect("a chain");
        chain.start(&Entry { mss: MSS as u32, ..Entry::default() }, 3 * MSS, u64::MAX);
        chain.on_ack(&ack(0.0));
        assert_eq!(chain.control.cwnd, 3 * MSS);
        chain.on_congestion(&Congestion {
            base: 50 * MSS,
            trigger: Trigger::Timeout,
            mss: MSS as u32,
            ..Congestion::default()
        });
        chain.on_ack(&ack(100.0));
        assert_eq!(chain.control.cwnd, MSS + 100);
    }

    #[test]
    fn no_start_up_can_go_before_it() {
        let phases = ["slow-start", "xcp"].map(|label| AnyPhase::by_label(label).expect("registered"));
        assert_eq!(
            Chain::new(phases.to_vec()).err(),
            Some(ChainError::Alone { first: "slow-start", last: "xcp" })
        );
    }
}
