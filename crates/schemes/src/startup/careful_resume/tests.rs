//! Windows by hand, from the sentences of RFC 9959.

use super::*;
use crate::scheme::{Scheme as _, Value};

const MSS: u64 = 1000;
const RTT: Nanos = Nanos::from_millis(100);

/// A connection with an initial window of ten segments, and a sender that always has data.
struct Sender {
    phase: CarefulResume,
    control: Control,
    now: Nanos,
    sent: u64,
    delivered: u64,
}

impl Sender {
    /// With this saved window in segments, and the saved round trip.
    fn resuming(saved: u64, saved_rtt: Nanos, params: &[(&str, Value)]) -> Self {
        let mut phase = CarefulResume::default();
        for &(name, value) in params {
            phase.set(name, value);
        }
        let mut control = Control { cwnd: 10 * MSS, ..Control::default() };
        let plan = Plan { cwnd: saved * MSS, rtt: saved_rtt, samples: 1, ..Plan::default() };
        phase.enter(&Entry { plan, mss: MSS as u32, ..Entry::default() }, &mut control);
        Self { phase, control, now: RTT, sent: 10 * MSS, delivered: 0 }
    }

    fn ack(&mut self, flags: u32) -> Step {
        let before = self.sent - self.delivered;
        self.delivered += MSS;
        let ack = Ack {
            now: self.now,
            rtt: RTT,
            min_rtt: RTT,
            srtt: RTT,
            acked: MSS,
            growth: if flags & Ack::RECOVERY == 0 { MSS } else { 0 },
            delivered: self.delivered,
            sent: self.sent,
            in_flight: before,
            pipe: before - MSS,
            flags,
            mss: MSS as u32,
            ..Ack::default()
        };
        let step = self.phase.on_ack(&ack, &mut self.control);
        if flags & Ack::APP_LIMITED == 0 {
            self.sent = self.sent.max(self.delivered + self.control.cwnd);
        }
        step
    }

    /// ACKs for so many segments.
    fn acks(&mut self, count: u64) {
        for _ in 0..count {
            assert_eq!(self.ack(0), Step::Stay);
        }
    }

    fn lose(&mut self, trigger: Trigger) -> Step {
        let event = Congestion { trigger, base: self.control.cwnd, mss: MSS as u32, ..Congestion::default() };
        self.phase.on_congestion(&event, &mut self.control)
    }
}

#[test]
fn the_first_round_trip_grows_as_usual_and_the_jump_is_half_of_the_saved_window_paced_over_a_round_trip() {
    let mut s = Sender::resuming(200, RTT, &[]);
    s.acks(9);
    assert_eq!((s.control.cwnd, s.control.pacing), (19 * MSS, firstflight_contract::Rate::NONE));
    s.acks(1);
    // 100 segments of 1000 bytes in 100 ms: 8 Mbit/s, a segment at a time.
    assert_eq!((s.control.cwnd, s.control.pacing.0, s.control.burst), (100 * MSS, 8_000_000, MSS));
    // A window of 19 segments was full, and the tenth ACK took one of them.
    assert_eq!(s.phase.pipe_size, 18 * MSS);
}

#[test]
fn a_smallest_round_trip_of_half_the_saved_one_or_of_more_than_ten_times_is_another_path() {
    for (saved_us, jumps) in [(199_999, true), (200_000, false), (10_000, true), (9_999, false)] {
        let mut s = Sender::resuming(200, Nanos::from_micros(saved_us), &[]);
        s.acks(10);
        assert_eq!(s.control.cwnd == 100 * MSS, jumps, "{saved_us} us");
        if !jumps {
            assert_eq!((s.control.cwnd, s.phase.state), (20 * MSS, State::Normal));
        }
    }
}

#[test]
fn a_saved_window_that_is_too_small_or_too_old_or_without_a_round_trip_is_not_used() {
    // Half of 40 segments is what slow start has after a round trip.
    let mut s = Sender::resuming(40, RTT, &[]);
    s.acks(10);
    assert_eq!((s.control.cwnd, s.phase.state), (20 * MSS, State::Normal));
    for (rtt, age, state) in [
        (RTT, Nanos::from_secs(600), State::Reconnaissance { initial: None }),
        (RTT, Nanos::from_secs(601), State::Normal),
        (Nanos::ZERO, Nanos::ZERO, State::Normal),
    ] {
        let mut phase = CarefulResume::default();
        let plan = Plan { cwnd: 200 * MSS, rtt, age, ..Plan::default() };
        phase.enter(&Entry { plan, mss: MSS as u32, ..Entry::default() }, &mut Control::default());
        assert_eq!(phase.state, state);
    }
}

#[test]
fn the_bound_of_the_jump_holds_and_the_jump_waits_for_data() {
    let mut s = Sender::resuming(200, RTT, &[("max_jump", Value::Packets(60))]);
    s.acks(9);
    assert_eq!(s.ack(Ack::APP_LIMITED), Step::Stay);
    assert_eq!(s.control.cwnd, 20 * MSS);
    s.acks(1);
    assert_eq!(s.control.cwnd, 60 * MSS);
}

#[test]
fn a_jump_without_a_loss_goes_on_from_what_is_in_flight() {
    let mut s = Sender::resuming(200, RTT, &[]);
    s.acks(10);
    // The next ACK finds the window full: 99 segments are in flight after it.
    s.acks(1);
    assert_eq!((s.control.cwnd, s.control.pacing.0), (99 * MSS, 0));
    assert!(matches!(s.phase.state, State::Validating { .. }), "{:?}", s.phase.state);
    // Slow start from there; the last packet of the jump is acknowledged after 99 more.
    s.acks(98);
    assert!(matches!(s.phase.state, State::Validating { .. }));
    s.acks(1);
    assert_eq!((s.control.cwnd, s.phase.state), (198 * MSS, State::Normal));
}

#[test]
fn a_sender_that_did_not_use_the_jump_falls_back_to_what_arrived() {
    let mut s = Sender::resuming(200, RTT, &[]);
    s.acks(10);
    // Nothing was sent since the jump; a round trip later a tenth of the jump is not in flight.
    s.sent = s.delivered + 19 * MSS;
    s.now = Nanos::from_millis(201);
    assert_eq!(s.ack(Ack::APP_LIMITED), Step::Stay);
    // PipeSize: 18 segments and one acknowledged.
    assert_eq!((s.control.cwnd, s.phase.state), (19 * MSS, State::Normal));
}

#[test]
fn a_loss_of_the_jump_leaves_half_of_what_the_path_delivered_and_a_threshold_at_beta_of_it() {
    for (beta, threshold) in [(0.5, 59_500), (0.7, 83_300)] {
        let mut s = Sender::resuming(200, RTT, &[("beta", Value::Number(beta))]);
        s.acks(11);
        s.acks(20);
        // PipeSize: 18, and 21 acknowledged since the jump.
        assert_eq!(s.phase.pipe_size, 39 * MSS);
        assert_eq!(s.lose(Trigger::Loss), Step::Over(Exit::Loss));
        assert_eq!(s.control.cwnd, 19_500);
        // The window stays while the others arrive.
        for _ in 0..79 {
            assert_eq!(s.ack(Ack::RECOVERY), Step::Stay);
            assert_eq!(s.control.cwnd, 19_500);
        }
        assert_eq!(s.ack(0), Step::Exit(Exit::Loss));
        // PipeSize: 119.
        assert_eq!((s.control.cwnd, s.control.ssthresh), (19_500, threshold));
    }
}

#[test]
fn congestion_before_the_jump_and_a_timeout_are_the_next_phase_s() {
    let mut s = Sender::resuming(200, RTT, &[]);
    s.acks(5);
    assert_eq!(s.lose(Trigger::Loss), Step::Exit(Exit::Loss));
    let mut s = Sender::resuming(200, RTT, &[]);
    s.acks(11);
    assert_eq!(s.lose(Trigger::Timeout), Step::Exit(Exit::Timeout));
    assert_eq!(s.phase.state, State::Normal);
}
