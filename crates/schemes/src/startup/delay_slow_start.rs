//! Delay-based slow start: D. Leith, R. Shorten, G. McCullagh, J. Heffner, L. Dunn, F. Baker, "Delay-based AIMD
//! congestion control", PFLDnet 2007, as S. Ha and I. Rhee describe it in "Hybrid Slow Start for High-Bandwidth and
//! Long-Distance Networks", PFLDnet 2008, section II ("HS" below).
//!
//! Limited slow-start that measures its own limit: the window at which the queueing delay first exceeds a threshold.

use crate::scheme;
use crate::startup::limited_slow_start::Limited;
use firstflight_contract::{Ack, Congestion, Control, Entry, Nanos, Phase, Role, Signals, Step};

/// Slow start until a queue builds, then linear growth.
#[derive(Clone, Debug, Default)]
pub struct DelaySlowStart {
    parameters: Parameters,
    /// Whether the queueing delay has exceeded `tau0`.
    found: bool,
    limited: Limited,
}

scheme! {
    impl Scheme for DelaySlowStart {
        label: "delay-slow-start",
        role: Role::Startup,
        source: "Leith, Shorten, McCullagh, Heffner, Dunn, Baker, PFLDnet 2007; Ha, Rhee, PFLDnet 2008, section II",
        summary: "limited slow-start above the window at which the queueing delay first exceeded a threshold",
        needs: Signals::RTT,
    }

    pub struct Parameters {
        // `tau_0`. HS gives no value. Above the jitter of RTT samples, and as short as the shortest threshold that RFC
        // 9406 (section 4.2, MIN_RTT_THRESH, 4 ms) takes for a queue, rounded up.
        /// RTT above the smallest one that limits the growth (HS section II names it and gives no value)
        tau0: Nanos = 5 ms,
    }
}

impl Phase for DelaySlowStart {
    fn enter(&mut self, _: &Entry, _: &mut Control) {
        self.found = false;
        self.limited = Limited::default();
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        // HS: "When the queueing delay, denoted by RTT - RTT_min, is larger than a certain threshold (tau_0), the algorithm
        // sets the current congestion window to the max_ssthresh of Limited Slow-Start". Once: a limit that followed the
        // window would still let it grow by half a round trip, and not in the O(RTT/tau_0) round trips that HS names.
        if !self.found && ack.rtt.saturating_sub(ack.min_rtt) > self.parameters.tau0 {
            self.found = true;
            self.limited = Limited::above(control.cwnd.max(2 * u64::from(ack.mss)));
        }
        self.limited.grow(ack, control)
    }

    fn spent(&self, grown: u64) -> u64 {
        self.limited.spent(grown)
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        Step::Exit(event.trigger.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAU: Nanos = Nanos::from_millis(5);
    use firstflight_contract::{Exit, Why};

    const MSS: u64 = 1000;
    const MIN_RTT: Nanos = Nanos::from_millis(100);

    fn phase() -> DelaySlowStart {
        let mut phase = DelaySlowStart::default();
        phase.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut Control::default());
        phase
    }

    fn ack(queued: Nanos) -> Ack {
        Ack {
            acked: MSS,
            growth: MSS,
            min_rtt: MIN_RTT,
            rtt: MIN_RTT + queued,
            mss: MSS as u32,
            ..Ack::default()
        }
    }

    fn round(phase: &mut DelaySlowStart, control: &mut Control, queued: Nanos) {
        for _ in 0..control.cwnd / MSS {
            assert_eq!(phase.on_ack(&ack(queued), control), Step::Stay);
        }
    }

    #[test]
    fn it_is_slow_start_while_packets_wait_no_longer_than_tau0() {
        let (mut phase, mut control) = (phase(), Control { cwnd: MSS, ..Control::default() });
        for expected in [2, 4, 8, 16, 32, 64, 128, 256] {
            round(&mut phase, &mut control, TAU);
            assert_eq!(control.cwnd, expected * MSS);
        }
    }

    #[test]
    fn the_window_at_the_first_longer_wait_becomes_max_ssthresh_for_good() {
        let (mut phase, mut control) = (phase(), Control { cwnd: 64 * MSS, ..Control::default() });
        // RFC 3742 with max_ssthresh = 64: at 64 a whole segment, above it 1/K, K = int(cwnd/32).
        let late = ack(TAU + Nanos(1));
        let mut windows = vec![];
        for _ in 0..4 {
            let _ = phase.on_ack(&late, &mut control);
            windows.push(control.cwnd);
        }
        assert_eq!(windows, [65_000, 65_500, 66_000, 66_500]);
        // The queue may drain, or grow: the limit stays. At 96 segments K is 3, at 320 it is 10.
        for (window, queued, grown) in [(96, 0, 333), (320, 90, 100)] {
            control.cwnd = window * MSS;
            phase.limited = Limited::above(64 * MSS);
            let _ = phase.on_ack(&ack(Nanos::from_millis(queued)), &mut control);
            assert_eq!(control.cwnd, window * MSS + grown, "window {window}");
        }
    }

    #[test]
    fn a_window_takes_about_rtt_over_tau0_rounds_once_it_is_limited() {
        // HS: "the number of RTTs to reach a given window takes O(RTT/tau_0)". 40 Mbit/s, 100 ms, 1000 bytes: 500 segments,
        // one every 0.2 ms. In slow start a burst of two segments for each ACK leaves half of the window waiting: 5 ms
        // are 25 segments, so that the limit is found at a window of 50. From there a round adds 25 segments, 37 at
        // most while K is 2 (windows below 75): (500 - 50)/25 = 18 rounds, two fewer with those; RTT/tau_0 = 20.
        let (mut phase, mut control) = (phase(), Control { cwnd: 51 * MSS, ..Control::default() });
        let _ = phase.on_ack(&ack(TAU + Nanos(1)), &mut control);
        let mut rounds = 0;
        while control.cwnd < 500 * MSS {
            round(&mut phase, &mut control, Nanos::ZERO);
            rounds += 1;
        }
        assert!((14..=20).contains(&rounds), "{rounds}");
    }

    #[test]
    fn missing_samples_do_not_count_and_a_new_start_resets_the_limit() {
        let (mut phase, mut control) = (phase(), Control { cwnd: 10 * MSS, ..Control::default() });
        let _ = phase.on_ack(&Ack { rtt: Nanos::ZERO, ..ack(Nanos::ZERO) }, &mut control);
        assert_eq!(control.cwnd, 11 * MSS);
        let _ = phase.on_ack(&ack(Nanos::from_millis(50)), &mut control);
        let _ = phase.on_ack(&ack(Nanos::from_millis(50)), &mut control);
        assert!(control.cwnd < 13 * MSS);
        control.cwnd = MSS;
        phase.enter(&Entry { mss: MSS as u32, why: Why::Timeout, ..Entry::default() }, &mut control);
        control.ssthresh = 3 * MSS;
        assert_eq!(phase.on_ack(&ack(Nanos::ZERO), &mut control), Step::Stay);
        assert_eq!(phase.on_ack(&ack(Nanos::ZERO), &mut control), Step::Exit(Exit::Threshold));
    }
}
