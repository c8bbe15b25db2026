//! TCP Westwood with eligible rate estimation (TCPW): R. Wang, G. Pau, K. Yamada, M. Y. Sanadidi, M. Gerla, "TCP
//! Startup Performance in Large Bandwidth Delay Networks", INFOCOM 2004, section II.B ("AS" below).
//!
//! Reno that does not halve the window on congestion. Instead it sets the window to the eligible rate of the flow times
//! the smallest RTT: a random loss costs little, and a full queue drains.

use crate::avoidance::reno::{self, Growth, Reno};
use crate::estimate::eligible_rate::{EligibleRate, Filter};
use crate::scheme;
use firstflight_contract::{Ack, Congestion, Control, Entry, Nanos, Phase, Role, Step, Why};

/// Reno's increase, and a decrease to the estimated share.
#[derive(Clone, Debug, Default)]
pub struct Westwood {
    parameters: Parameters,
    eligible: EligibleRate,
    /// Whether the first ACK of the connection has come.
    begun: bool,
    /// The increase is Reno's.
    linear: Reno,
}

scheme! {
    impl Scheme for Westwood {
        label: "westwood",
        role: Role::Avoidance,
        source: "Wang, Pau, Yamada, Sanadidi, Gerla, INFOCOM 2004, section II.B",
        summary: "Reno that falls to the estimated eligible rate times the smallest RTT on congestion",
        watches: true,
    }
    on set: configure;

    pub struct Parameters {
        /// counted: a segment for each window of acknowledged bytes, as RFC 5681 recommends and Linux does; per-ack:
        /// SMSS*SMSS/cwnd for each ACK (equation (3)), as ns-2 does
        growth: Growth = Counted,
        /// smoothing of rate samples: tustin (section II.B), adaptive (tau as in ABSE, 2002), none
        filter: Filter = Tustin,
        /// time constant of tustin; 0 is the smoothed RTT (the paper states none)
        tau: Nanos = 0 s,
    }
}

impl Westwood {
    fn configure(&mut self) {
        let Parameters { growth, filter, tau } = self.parameters;
        self.linear.parameters = reno::Parameters { growth };
        self.eligible.configure(filter, tau);
    }

    /// Measures an ACK, whichever phase answers it.
    fn measure(&mut self, ack: &Ack, cwnd: u64) {
        if !self.begun {
            // The first ACK is for data that left when the connection began, one round trip earlier.
            self.begun = true;
            self.eligible.start(ack.now.saturating_sub(ack.srtt));
        }
        self.eligible.on_ack(ack, cwnd);
    }
}

impl Phase for Westwood {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        if entry.why == Why::Connect {
            self.begun = false;
        }
        self.linear.enter(entry, control);
    }

    fn on_watched(&mut self, ack: &Ack, cwnd: u64) {
        self.measure(ack, cwnd);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        self.measure(ack, control.cwnd);
        self.linear.on_ack(ack, control)
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        let cwnd = control.cwnd;
        // Without a rate estimate the reduction is Reno's.
        let step = self.linear.on_congestion(event, control);
        if self.eligible.is_known() {
            // "ssthresh = (ERE*RTTmin)/seg_size; if (cwnd > ssthresh) cwnd = ssthresh"; after a timeout "if (ssthresh
            // < 2) ssthresh = 2", and the host sets the window to one segment.
            control.ssthresh = self.eligible.window(event.min_rtt).max(2 * u64::from(event.mss));
            control.cwnd = cwnd.min(control.ssthresh);
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::AnyPhase;
    use crate::scheme::Value;
    use firstflight_contract::{Nanos, Trigger};
    use firstflight_host::chain::Chain;

    const MSS: u64 = 1000;
    const RTT: Nanos = Nanos::from_millis(100);

    /// `acks` ACKs of one segment every `gap_us`, the first a round trip after the connection began.
    fn acks(gap_us: u64, acks: u64) -> impl Iterator<Item = Ack> {
        (1..=acks).map(move |n| Ack {
            now: RTT + Nanos::from_micros((n - 1) * gap_us),
            acked: MSS,
            growth: MSS,
            delivered: n * MSS,
            srtt: RTT,
            min_rtt: RTT,
            mss: MSS as u32,
            ..Ack::default()
        })
    }

    /// A flow that has seen those ACKs under a window of `cwnd` segments.
    fn after(gap_us: u64, count: u64, cwnd: u64) -> (Westwood, Control) {
        let mut westwood = Westwood::default();
        let mut control = Control { cwnd: cwnd * MSS, ..Control::default() };
        westwood.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut control);
        for ack in acks(gap_us, count) {
            assert_eq!(westwood.on_ack(&ack, &mut control), Step::Stay);
            control.cwnd = cwnd * MSS;
        }
        (westwood, control)
    }

    fn event(trigger: Trigger, base: u64) -> Congestion {
        Congestion { base, min_rtt: RTT, trigger, mss: MSS as u32, ..Congestion::default() }
    }

    #[test]
    fn a_loss_sets_the_window_to_the_rate_times_the_smallest_rtt_and_never_raises_it() {
        // AS base case: an ACK every 200 us is 40 Mbit/s, 5 MB/s, times 100 ms 500 packets. From a window of 1000
        // that is the half, from 700 it is more, and 300 stay 300 and slow start goes on to 500.
        for (cwnd, left) in [(1000, 500), (700, 500), (300, 300)] {
            let (mut westwood, mut control) = after(200, 20_000, cwnd);
            let _ = westwood.on_congestion(&event(Trigger::Loss, cwnd * MSS), &mut control);
            // Exact but for the rounding of the filter: less than a byte in 100 000.
            assert!((499_995..=500_000).contains(&control.ssthresh), "{cwnd}: {}", control.ssthresh);
            assert_eq!(control.cwnd, control.ssthresh.min(left * MSS), "{cwnd}");
        }
    }

    #[test]
    fn the_threshold_is_two_segments_at_least() {
        // An ACK every 100 ms is one packet in the smallest RTT.
        for trigger in [Trigger::Loss, Trigger::Timeout] {
            let (mut westwood, mut control) = after(100_000, 100, 10);
            let _ = westwood.on_congestion(&event(trigger, 10 * MSS), &mut control);
            assert_eq!((control.ssthresh, control.cwnd), (2 * MSS, 2 * MSS), "{trigger:?}");
        }
    }

    #[test]
    fn without_a_sample_congestion_halves() {
        let (mut westwood, mut control) = after(200, 0, 10);
        let _ = westwood.on_congestion(&event(Trigger::Loss, 10 * MSS), &mut control);
        assert_eq!((control.ssthresh, control.cwnd), (5 * MSS, 5 * MSS));
    }

    #[test]
    fn a_window_of_acks_adds_one_segment() {
        let mut westwood = Westwood::default();
        let mut control = Control { cwnd: 10 * MSS, ..Control::default() };
        westwood.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut control);
        for ack in acks(10_000, 10) {
            let _ = westwood.on_ack(&ack, &mut control);
        }
        assert_eq!(control.cwnd, 11 * MSS);
    }

    #[test]
    fn the_loss_that_ends_start_up_and_one_in_a_later_slow_start_already_know_the_rate() {
        // 2000 ACKs 200 us apart: whatever window slow start had reached, the loss leaves the 500 packets that 40
        // Mbit/s fill in 100 ms. Without the ACKs of slow start it would leave half of the base. Samples are not
        // smoothed: the filter needs some RTTs to forget the first.
        for startup in ["slow-start", "adaptive-start"] {
            let phase = |label| AnyPhase::by_label(label).expect("registered");
            let mut phases = vec![phase(startup), phase("westwood")];
            for estimator in phases.iter_mut().filter(|p| p.info().label != "slow-start") {
                assert_eq!(estimator.set("filter", Value::Choice(2)), Ok(()));
            }
            let mut chain = Chain::new(phases).expect("a chain");
            let ssthresh = if startup == "slow-start" { u64::MAX } else { 32 * MSS };
            chain.start(&Entry { mss: MSS as u32, ..Entry::default() }, 2 * MSS, ssthresh);
            let mut rest = acks(200, 4000);
            for ack in rest.by_ref().take(2000) {
                chain.on_ack(&ack);
            }
            assert!(chain.control.cwnd >= 500 * MSS, "{startup}: {}", chain.control.cwnd);
            chain.on_congestion(&event(Trigger::Loss, 1800 * MSS));
            assert!(chain.in_avoidance());
            let near = |window: u64| (499_000..=501_000).contains(&window);
            assert!(near(chain.control.ssthresh), "{startup}: {}", chain.control.ssthresh);
            assert!(near(chain.control.cwnd), "{startup}: {}", chain.control.cwnd);

            // Half the rate, seen only by the slow start after an idle time: 250 packets.
            chain.control.cwnd = 2 * MSS;
            for ack in rest.by_ref().take(2000) {
                let late = Ack { now: Nanos(2 * ack.now.0), ..ack };
                chain.control.ssthresh = u64::MAX;
                chain.on_ack(&late);
            }
            chain.on_congestion(&event(Trigger::Timeout, 1800 * MSS));
            let ssthresh = chain.control.ssthresh;
            assert!((249_000..=251_000).contains(&ssthresh), "{startup}: {ssthresh}");
            assert_eq!(chain.control.cwnd, MSS);
        }
    }
}
