//! Quick-Start: S. Floyd, M. Allman, A. Jain, P. Sarolahti, "Quick-Start for TCP and IP", RFC 4782, 2007. Choices that
//! the RFC leaves to the sender are those of ns-2.35 (P. Sarolahti, S. Floyd).
//!
//! The first packet requests a rate from the routers. Each router may lower the rate. If every router approved the
//! request, the connection begins with a window for the granted rate, paced over a round trip. A loss of one of these
//! packets shows that the grant was wrong: the window becomes what it would have been without the grant.

use crate::scheme;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Nanos, Phase, Rate, Role, Signals, Step, Trigger, Why, slow_start,
};

/// Section 3.1: the largest rate that a request can carry, 40 kbit/s times 2^15.
const MOST: Rate = Rate(40_000 << 15);
/// Bytes. Section 4: the estimated size of the TCP and IP headers, H.
const HEADER: u64 = 40;

/// Stage of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum State {
    /// No grant, or the granted window is acknowledged: slow start.
    #[default]
    SlowStart,
    /// The granted window is being paced ("Quick-Start mode").
    Paced,
    /// The first ACK arrived: slow start, but a loss in the granted window still shows that the grant was wrong.
    Acknowledging,
    /// Some of it was lost.
    Recovering,
}

/// A first window at the rate that the routers granted.
#[derive(Clone, Debug, Default)]
pub struct QuickStart {
    parameters: Parameters,
    state: State,
    initial_window: u64,
}

scheme! {
    impl Scheme for QuickStart {
        label: "quick-start",
        role: Role::Startup,
        source: "RFC 4782",
        summary: "a first window at the rate that every router on the path granted, then slow start",
        needs: Signals::PACING.union(Signals::HANDSHAKE).union(Signals::GRANT),
    }

    pub struct Parameters {
        /// largest request (section 3.1: 40 kbit/s times a power of two, up to 2^15)
        request: Rate = 1310.72 Mbit/s,
        // ns-2's `qs_rtt_`: the assumed round-trip time before one is known.
        /// the request is at most the rate that sends the queued data in this time (ns-2: qs_rtt_)
        expected_rtt: Nanos = 50 ms,
        /// smallest amount of queued data for which a rate is requested (ns-2: qs_thresh_)
        worthwhile: u64 = 4 packets,
    }
}

impl Phase for QuickStart {
    fn open(&mut self, entry: &Entry, control: &mut Control) {
        if entry.flow_size < self.parameters.worthwhile.saturating_mul(entry.mss.into()) {
            return;
        }
        // For unlimited data the request is the full rate.
        let wanted = match entry.flow_size {
            u64::MAX => self.parameters.request,
            queued => Rate::of(queued, self.parameters.expected_rtt.max(Nanos(1))),
        };
        control.ask = wanted.min(self.parameters.request).min(MOST);
    }

    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        self.state = State::SlowStart;
        if entry.why != Why::Connect || entry.granted == Rate::NONE || entry.rtt == Nanos::ZERO {
            return;
        }
        // Section 4: QS-cwnd = R T / (MSS + H), in whole segments; not above the default window it is ignored.
        let segments = entry.granted.bytes_in(entry.rtt) / (u64::from(entry.mss) + HEADER);
        let window = segments * u64::from(entry.mss);
        if window <= control.cwnd {
            return;
        }
        self.initial_window = control.cwnd;
        control.cwnd = window;
        // The window is paced over one round trip: the routers did not approve a burst.
        control.pacing = Rate::of(window, entry.rtt).max(Rate(1));
        control.burst = u64::from(entry.mss);
        self.state = State::Paced;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        match self.state {
            State::SlowStart => return slow_start(ack, control),
            State::Paced => {
                // With the first acknowledgement Quick-Start mode ends, and the window becomes the amount in flight if
                // that is smaller.
                Self::stop_pacing(control);
                control.cwnd = control.cwnd.min(ack.in_flight.max(self.initial_window));
                self.state = State::Acknowledging;
            }
            State::Acknowledging => {
                if ack.is(Ack::ROUND_START) {
                    // Everything sent before the first ACK is acknowledged: the grant was right.
                    self.state = State::SlowStart;
                }
            }
            State::Recovering => {
                if ack.is(Ack::RECOVERY) {
                    return Step::Stay;
                }
                control.cwnd = control.cwnd.min(self.initial_window);
                self.state = State::SlowStart;
                return Step::Exit(Exit::Loss);
            }
        }
        slow_start(ack, control)
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        Self::stop_pacing(control);
        let granted = matches!(self.state, State::Paced | State::Acknowledging);
        if !granted || event.trigger == Trigger::Timeout {
            self.state = State::SlowStart;
            return Step::Exit(event.trigger.into());
        }
        // If packets of the Quick-Start window are lost or marked, the sender reverts to the window it would have
        // had without the grant. Above half of the data in flight it does not slow-start again: RFC 5681 equation (4).
        self.state = State::Recovering;
        control.ssthresh = (event.base / 2).max(2 * u64::from(event.mss));
        control.cwnd = self.initial_window;
        Step::Over(event.trigger.into())
    }

    fn on_spurious(&mut self) {
        if self.state == State::Recovering {
            self.state = State::Acknowledging;
        }
    }
}

impl QuickStart {
    fn stop_pacing(control: &mut Control) {
        control.pacing = Rate::NONE;
        control.burst = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const RTT: Nanos = Nanos::from_millis(100);

    fn asks(queued: u64) -> Rate {
        let mut control = Control::default();
        let entry = Entry { flow_size: queued, mss: MSS as u32, ..Entry::default() };
        QuickStart::default().open(&entry, &mut control);
        control.ask
    }

    /// After a handshake whose SYN was granted `kbit_s`; the initial window is 3.
    fn granted(kbit_s: u64) -> (QuickStart, Control) {
        let mut phase = QuickStart::default();
        let mut control = Control { cwnd: 3 * MSS, ..Control::default() };
        let entry = Entry { granted: Rate(kbit_s * 1000), rtt: RTT, mss: MSS as u32, ..Entry::default() };
        phase.enter(&entry, &mut control);
        (phase, control)
    }

    fn ack(in_flight: u64, flags: u32) -> Ack {
        Ack { acked: MSS, growth: MSS, in_flight: in_flight * MSS, flags, mss: MSS as u32, ..Ack::default() }
    }

    fn congestion(trigger: Trigger) -> Congestion {
        Congestion { trigger, base: 60 * MSS, mss: MSS as u32, ..Congestion::default() }
    }

    #[test]
    fn the_request_sends_the_queued_data_in_fifty_milliseconds_and_three_segments_request_nothing() {
        // 100 000 bytes in 50 ms: 16 Mbit/s.
        assert_eq!(asks(100_000), Rate(16_000_000));
        assert_eq!(asks(3_999), Rate::NONE);
        assert_eq!(asks(4_000), Rate(640_000));
        // Unlimited data: the largest rate that the option can carry.
        assert_eq!(asks(u64::MAX), Rate(1_310_720_000));
    }

    #[test]
    fn the_window_is_the_granted_rate_times_the_round_trip_over_segment_and_header() {
        // 5.12 Mbit/s for 100 ms are 64 000 bytes: 61 segments of 1040 on the wire.
        let (_, control) = granted(5_120);
        assert_eq!(control.cwnd, 61 * MSS);
        // 61 000 bytes in 100 ms: a segment every 1/61 of it.
        assert_eq!((control.pacing, control.burst), (Rate(4_880_000), MSS));
    }

    #[test]
    fn less_than_the_initial_window_is_ignored() {
        // 160 kbit/s for 100 ms: 2000 bytes, one segment.
        let (mut phase, mut control) = granted(160);
        assert_eq!((control.cwnd, control.pacing), (3 * MSS, Rate::NONE));
        let _ = phase.on_ack(&ack(3, 0), &mut control);
        assert_eq!(control.cwnd, 4 * MSS);
    }

    #[test]
    fn the_first_ack_ends_the_pacing_and_limits_the_window_to_the_data_sent() {
        let (mut phase, mut control) = granted(5_120);
        assert_eq!(phase.on_ack(&ack(40, Ack::ROUND_START), &mut control), Step::Stay);
        // Forty were out, and the ACK adds one: slow start goes on from there.
        assert_eq!((control.cwnd, control.pacing), (41 * MSS, Rate::NONE));
    }

    #[test]
    fn a_loss_in_the_granted_window_restores_the_initial_window() {
        for trigger in [Trigger::Loss, Trigger::Mark] {
            let (mut phase, mut control) = granted(5_120);
            let _ = phase.on_ack(&ack(61, Ack::ROUND_START), &mut control);
            assert_eq!(phase.on_congestion(&congestion(trigger), &mut control), Step::Over(trigger.into()));
            assert_eq!((control.cwnd, control.ssthresh), (3 * MSS, 30 * MSS));
            // The host's window during recovery does not matter.
            control.cwnd = 30 * MSS;
            assert_eq!(phase.on_ack(&ack(30, Ack::RECOVERY), &mut control), Step::Stay);
            assert_eq!(phase.on_ack(&ack(30, 0), &mut control), Step::Exit(Exit::Loss));
            assert_eq!(control.cwnd, 3 * MSS);
        }
    }

    #[test]
    fn a_loss_after_the_granted_window_is_acknowledged_is_left_to_avoidance() {
        let (mut phase, mut control) = granted(5_120);
        let _ = phase.on_ack(&ack(61, Ack::ROUND_START), &mut control);
        let _ = phase.on_ack(&ack(61, Ack::ROUND_START), &mut control);
        assert_eq!(phase.on_congestion(&congestion(Trigger::Loss), &mut control), Step::Exit(Exit::Loss));
        assert_eq!(control.cwnd, 63 * MSS);
    }

    #[test]
    fn nothing_granted_is_slow_start() {
        let (mut phase, mut control) = granted(0);
        let _ = phase.on_ack(&ack(3, 0), &mut control);
        assert_eq!((control.cwnd, control.pacing), (4 * MSS, Rate::NONE));
    }
}
