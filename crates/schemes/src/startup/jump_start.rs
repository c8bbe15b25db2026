//! Jump Start: D. Liu's thesis on start-up and congestion avoidance in high bandwidth-delay networks, section
//! 3.2; first in D. Liu, M. Allman, S. Jin, L. Wang, "Congestion Control Without a Startup Phase", PFLDnet
//! 2007.
//!
//! No start-up phase: the queued data, up to the receive window, is paced over the round-trip time of the handshake.
//! From the first ACK on the sender is a standard TCP. If packets of the first flight are lost, the window becomes half
//! of the packets that were delivered.

use crate::scheme;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Nanos, Phase, Role, Signals, Step, Trigger, Why, slow_start,
};

/// Bytes. Bound of the flight if queue, receive window and cap are all unlimited: 1 TiB fills 1 Tbit/s for 8.8 s.
const MAX_FLIGHT: u64 = 1 << 40;

/// Stage of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum State {
    /// No first flight: standard slow start.
    #[default]
    SlowStart,
    /// The first flight is being paced.
    Pacing,
    /// The first ACK arrived: standard TCP, but Jump Start still answers losses of the first flight.
    Acknowledging,
    /// Packets of the first flight were lost; retransmissions count from `retransmitted`.
    Recovering { retransmitted: u64 },
}

/// All queued data in the first round trip.
#[derive(Clone, Debug, Default)]
pub struct JumpStart {
    parameters: Parameters,
    state: State,
    /// `cwnd0` of the thesis, bytes.
    first_flight: u64,
    /// Total retransmissions when the last ACK came, bytes.
    retransmitted: u64,
}

scheme! {
    impl Scheme for JumpStart {
        label: "jump-start",
        role: Role::Startup,
        source: "Liu, thesis, section 3.2; Liu, Allman, Jin, Wang, PFLDnet 2007",
        summary: "all queued data paced over the first round trip, half of what arrived after a loss",
        needs: Signals::PACING.union(Signals::HANDSHAKE),
    }

    pub struct Parameters {
        // Segments. The thesis bounds the flight by the advertised window only, which is 10 000 packets in all its runs
        // (Table 3.1); this is the bound for a peer without one.
        /// largest first flight (Table 3.1: the window; section 3.4: a policy)
        cap: u64 = 10000 packets,
        /// mark the first flight, so that routers drop its packets before others (section 3.4)
        droppable: bool = false,
    }
}

impl JumpStart {
    /// Ends the pacing and the marking of the first flight.
    fn stop_jumping(control: &mut Control) {
        control.stop_pacing();
        control.droppable = false;
    }
}

impl Phase for JumpStart {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        self.state = State::SlowStart;
        // "the sender takes an RTT sample, RTT_0, from the three-way handshake": without one there is nothing
        // to pace over. It acts at the start of a connection only.
        if entry.why != Why::Connect || entry.rtt == Nanos::ZERO {
            return;
        }
        // "The value cwnd_0 is set to the minimum amount of D, data queued locally for transmission, and
        // awnd, the receiver advertised window."
        let awnd = if entry.receive_window == 0 { u64::MAX } else { entry.receive_window };
        let cap = self.parameters.cap.max(1).saturating_mul(u64::from(entry.mss)).min(MAX_FLIGHT);
        self.first_flight = entry.flow_size.max(1).min(awnd).min(cap);
        // A queue smaller than the initial window does not limit this flight: the window stays.
        control.cwnd = control.cwnd.max(self.first_flight.next_multiple_of(u64::from(entry.mss)));
        // "The sender then paces all cwnd_0 packets over RTT_0 seconds."
        control.pace(self.first_flight, entry.rtt, u64::from(entry.mss));
        control.droppable = self.parameters.droppable;
        self.state = State::Pacing;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        self.retransmitted = ack.retransmitted;
        match self.state {
            State::SlowStart => slow_start(ack, control),
            State::Pacing => {
                // "Jump Start terminates ... when either (a) the first ACK arrives and notifies the end of
                // the first RTT, or (b) all cwnd_0 packets are sent out." Nothing can be sent between the
                // two: the window is full, so both are seen here.
                Self::stop_jumping(control);
                self.state = State::Acknowledging;
                let all = ack.sent + u64::from(ack.mss) > self.first_flight;
                self.normal(ack, control);
                Step::Over(if all { Exit::PacedOut } else { Exit::FirstAck })
            }
            State::Acknowledging => {
                if ack.is(Ack::ROUND_START) && !ack.is(Ack::RECOVERY) {
                    // All data sent before the first ACK is acknowledged.
                    return Step::Exit(Exit::FirstAck);
                }
                self.normal(ack, control);
                Step::Stay
            }
            State::Recovering { retransmitted } => {
                if ack.is(Ack::RECOVERY) {
                    return Step::Stay;
                }
                // "the sender will keep counting the number, R, of the retransmitted packets until a new ACK
                // arrives. Then it will set the cwnd to (cwnd_0 - R)/2": the network delivered all but R of
                // the flight.
                let r = ack.retransmitted - retransmitted;
                let delivered = self.first_flight.saturating_sub(r);
                control.cwnd = control.cwnd.min((delivered / 2).max(u64::from(ack.mss)));
                control.ssthresh = control.cwnd.max(2 * u64::from(ack.mss));
                self.state = State::SlowStart;
                Step::Exit(Exit::Loss)
            }
        }
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        Self::stop_jumping(control);
        let first_flight = matches!(self.state, State::Pacing | State::Acknowledging);
        if !first_flight || event.trigger == Trigger::Timeout {
            self.state = State::SlowStart;
            return Step::Exit(event.trigger.into());
        }
        self.state = State::Recovering { retransmitted: self.retransmitted };
        // "the sender will halve its cwnd and retransmit the lost packet": RFC 5681 equation (4).
        event.reduce_to(event.base / 2, control);
        Step::Over(event.trigger.into())
    }

    fn on_spurious(&mut self) {
        if matches!(self.state, State::Recovering { .. }) {
            self.state = State::Acknowledging;
        }
    }
}

impl JumpStart {
    /// "the sender will turn back to standard TCP to finish the rest transmission": slow start below
    /// `ssthresh`. At or above it the window waits for the avoidance phase, which takes over within a round
    /// trip.
    fn normal(&self, ack: &Ack, control: &mut Control) {
        if control.cwnd < control.ssthresh {
            let _ = slow_start(ack, control);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Scheme as _, Value};
    use firstflight_contract::Rate;

    const MSS: u64 = 1460;
    const RTT: Nanos = Nanos::from_millis(64);

    fn entry(packets: u64, window: u64) -> Entry {
        Entry {
            rtt: RTT,
            flow_size: packets.saturating_mul(MSS),
            receive_window: window * MSS,
            mss: MSS as u32,
            ..Entry::default()
        }
    }

    fn jump(packets: u64, window: u64) -> (JumpStart, Control) {
        let mut phase = JumpStart::default();
        // Initial window 3, as in the thesis.
        let mut control = Control { cwnd: 3 * MSS, ..Control::default() };
        phase.enter(&entry(packets, window), &mut control);
        (phase, control)
    }

    fn ack(sent: u64, retransmitted: u64, flags: u32) -> Ack {
        Ack {
            acked: MSS,
            growth: MSS,
            sent: sent * MSS,
            retransmitted: retransmitted * MSS,
            flags,
            mss: MSS as u32,
            ..Ack::default()
        }
    }

    fn congestion(trigger: Trigger, base: u64) -> Congestion {
        Congestion { trigger, base: base * MSS, mss: MSS as u32, ..Congestion::default() }
    }

    #[test]
    fn the_first_flight_is_the_queue_or_the_receive_window_or_the_cap() {
        for (queue, window, expected) in
            [(100, 10_000, 100), (900, 500, 500), (50_000, 20_000, 10_000), (u64::MAX, 10_000, 10_000)]
        {
            let (_, control) = jump(queue, window);
            assert_eq!(control.cwnd, expected * MSS, "queue {queue}, window {window}");
        }
    }

    #[test]
    fn it_is_paced_over_the_handshake_rtt_one_segment_at_a_time() {
        let (_, control) = jump(100, 10_000);
        // 100 x 1460 x 8 bit in 64 ms = 18.25 Mbit/s; a segment every 0.64 ms.
        assert_eq!((control.pacing, control.burst), (Rate(18_250_000), MSS));
        assert_eq!(control.pacing.time_for(MSS), Nanos::from_micros(640));
    }

    #[test]
    fn two_packets_are_paced_too_so_slow_start_with_three_is_faster() {
        // Thesis, section 3.3.1.1: at 2 or 3 packets Slow Start wins, because Jump Start paces them.
        let (_, control) = jump(2, 10_000);
        assert_eq!(control.pacing.time_for(MSS), Nanos::from_millis(32));
        assert_eq!(control.cwnd, 3 * MSS);
    }

    #[test]
    fn the_first_ack_ends_the_pacing_and_reports_whether_all_data_was_sent() {
        for (sent, reason) in [(100, Exit::PacedOut), (80, Exit::FirstAck)] {
            let (mut phase, mut control) = jump(100, 10_000);
            let step = phase.on_ack(&ack(sent, 0, Ack::ROUND_START), &mut control);
            assert_eq!(step, Step::Over(reason));
            assert_eq!(control.pacing, Rate::NONE);
            assert_eq!(control.cwnd, 101 * MSS, "slow start goes on below an infinite threshold");
        }
    }

    #[test]
    fn only_the_first_flight_is_marked_as_droppable_and_only_if_asked() {
        let (_, control) = jump(100, 10_000);
        assert!(!control.droppable);
        for loss in [false, true] {
            let mut phase = JumpStart::default();
            phase.set("droppable", Value::Flag(true));
            let mut control = Control { cwnd: 3 * MSS, ..Control::default() };
            phase.enter(&entry(100, 10_000), &mut control);
            assert!(control.droppable);
            if loss {
                let _ = phase.on_congestion(&congestion(Trigger::Timeout, 100), &mut control);
            } else {
                let _ = phase.on_ack(&ack(100, 0, Ack::ROUND_START), &mut control);
            }
            assert!(!control.droppable);
            phase.enter(&Entry { why: Why::Timeout, ..entry(100, 10_000) }, &mut control);
            assert!(!control.droppable);
        }
    }

    #[test]
    fn it_leaves_when_the_first_flight_is_acknowledged() {
        let (mut phase, mut control) = jump(100, 10_000);
        let _ = phase.on_ack(&ack(100, 0, Ack::ROUND_START), &mut control);
        assert_eq!(phase.on_ack(&ack(101, 0, 0), &mut control), Step::Stay);
        assert!(matches!(phase.on_ack(&ack(102, 0, Ack::ROUND_START), &mut control), Step::Exit(_)));
    }

    #[test]
    fn after_a_loss_the_window_is_half_of_what_was_not_retransmitted() {
        let (mut phase, mut control) = jump(100, 10_000);
        let _ = phase.on_ack(&ack(100, 0, Ack::ROUND_START), &mut control);
        assert_eq!(
            phase.on_congestion(&congestion(Trigger::Loss, 101), &mut control),
            Step::Over(Exit::Loss)
        );
        assert_eq!(control.cwnd, 101 * MSS / 2);
        // Thesis: (cwnd_0 - R)/2 with cwnd_0 = 100 and R = 40: 30.
        for r in 1..=40 {
            assert_eq!(phase.on_ack(&ack(100 + r, r, Ack::RECOVERY), &mut control), Step::Stay);
            assert_eq!(control.cwnd, 101 * MSS / 2);
        }
        assert_eq!(phase.on_ack(&ack(140, 40, 0), &mut control), Step::Exit(Exit::Loss));
        assert_eq!((control.cwnd, control.ssthresh), (30 * MSS, 30 * MSS));
    }

    #[test]
    fn a_timeout_is_left_to_normal_tcp_and_does_not_jump_again() {
        let (mut phase, mut control) = jump(100, 10_000);
        let step = phase.on_congestion(&congestion(Trigger::Timeout, 100), &mut control);
        assert_eq!(step, Step::Exit(Exit::Timeout));
        assert_eq!(control.pacing, Rate::NONE);
        control.cwnd = MSS;
        phase.enter(&Entry { why: Why::Timeout, ..entry(100, 10_000) }, &mut control);
        let _ = phase.on_ack(&ack(1, 0, 0), &mut control);
        assert_eq!((control.cwnd, control.pacing), (2 * MSS, Rate::NONE));
    }

    #[test]
    fn a_spurious_loss_is_forgotten() {
        let (mut phase, mut control) = jump(100, 10_000);
        let _ = phase.on_ack(&ack(100, 0, Ack::ROUND_START), &mut control);
        let _ = phase.on_congestion(&congestion(Trigger::Loss, 100), &mut control);
        phase.on_spurious();
        // The host restores the registers.
        (control.cwnd, control.ssthresh) = (100 * MSS, u64::MAX);
        assert_eq!(phase.on_ack(&ack(101, 1, 0), &mut control), Step::Stay);
        assert_eq!(control.cwnd, 101 * MSS);
    }

    #[test]
    fn without_a_handshake_rtt_it_is_slow_start() {
        let mut phase = JumpStart::default();
        let mut control = Control { cwnd: 3 * MSS, ..Control::default() };
        phase.enter(&Entry { rtt: Nanos::ZERO, ..entry(100, 10_000) }, &mut control);
        assert_eq!((control.cwnd, control.pacing), (3 * MSS, Rate::NONE));
    }
}
