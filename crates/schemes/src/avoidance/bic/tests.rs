use super::*;
use crate::scheme::{Scheme as _, Value};

const MSS: u64 = 1448;

struct Sender {
    phase: Bic,
    control: Control,
    /// Round trips passed: ACKs over the window each came under.
    rounds: f64,
}

impl Sender {
    fn new(segments: u64) -> Self {
        let mut phase = Bic::default();
        let mut control = Control { cwnd: segments * MSS, ..Control::default() };
        phase.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut control);
        Self { phase, control, rounds: 0.0 }
    }

    fn window(&self) -> f64 {
        self.control.cwnd as f64 / MSS as f64
    }

    fn ack(&mut self, segments: u64) {
        self.rounds += (segments * MSS) as f64 / self.control.cwnd as f64;
        let ack = Ack { acked: segments * MSS, growth: segments * MSS, mss: MSS as u32, ..Ack::default() };
        let _ = self.phase.on_ack(&ack, &mut self.control);
    }

    fn congestion(&mut self, trigger: Trigger) {
        let event = Congestion { base: self.control.cwnd, trigger, mss: MSS as u32, ..Congestion::default() };
        let _ = self.phase.on_congestion(&event, &mut self.control);
    }

    /// Round trips until the window has this many segments.
    fn rounds_to(&mut self, segments: f64) -> f64 {
        let start = self.rounds;
        while self.window() < segments {
            self.ack(1);
        }
        self.rounds - start
    }
}

fn close(is: f64, expected: f64, share: f64) {
    assert!((is / expected - 1.0).abs() < share, "{is}, expected {expected}");
}

#[test]
fn the_search_takes_the_round_trips_that_a_calculation_by_hand_gives() {
    let mut s = Sender::new(1000);
    s.congestion(Trigger::Loss);
    // 1000 x 819/1024 = 799.8 segments.
    assert_eq!(s.control.cwnd, 1000 * MSS * 819 / 1024);
    assert_eq!(s.control.ssthresh, s.control.cwnd);
    // A quarter of the distance is more than 16 up to 936 segments: 136.2/16 = 8.51 round trips.
    close(s.rounds_to(936.0), 136.2 / 16.0, 0.002);
    // Then w' = (1000 - w)/4: the distance falls from 64 to 4 in 4 ln 16 = 11.09 round trips.
    close(s.rounds_to(996.0), 4.0 * 16.0_f64.ln(), 0.005);
    // Four segments in smooth_part = 20 round trips up to the bound, and as many beyond it.
    close(s.rounds_to(1000.0), 20.0, 0.01);
    close(s.rounds_to(1004.0), 20.0, 0.01);
    // w' = (w - 1000)/3: from 4 beyond to 48 in 3 ln 12 = 7.45, then 16 a round trip.
    close(s.rounds_to(1048.0), 3.0 * 12.0_f64.ln(), 0.01);
    close(s.rounds_to(1208.0), 10.0, 0.005);
}

/// The rule as a recurrence over segments, in floating point.
fn recurrence(mut w: f64, last_max: f64, acks: u64, per_ack: f64) -> f64 {
    for _ in 0..acks {
        let distance = (last_max - w) / 4.0;
        let mut increment = if w < 14.0 {
            1.0
        } else if distance > 16.0 {
            16.0
        } else if distance > 1.0 {
            distance
        } else if w < last_max + 4.0 {
            4.0 / 20.0
        } else {
            ((w - last_max) / 3.0).min(16.0)
        };
        if last_max == 0.0 && w >= 14.0 {
            increment = increment.max(w / 20.0);
        }
        w += per_ack * increment.min(w) / w;
    }
    w
}

#[test]
fn the_window_follows_the_recurrence_within_a_thousandth_whatever_an_ack_covers() {
    // From 5 segments six round trips stay below the low window; from the others forty go through the whole search.
    for (segments, rounds) in [(10, 6), (60, 40), (300, 40), (5000, 40)] {
        for per_ack in [1, 2] {
            let mut s = Sender::new(segments);
            s.congestion(Trigger::Loss);
            let start = s.window();
            let acks = rounds * segments;
            for _ in 0..acks / per_ack {
                s.ack(per_ack);
            }
            let expected = recurrence(start, segments as f64, acks / per_ack, per_ack as f64);
            close(s.window(), expected, 0.001);
        }
    }
}

#[test]
fn before_the_first_congestion_a_round_trip_adds_a_twentieth_at_least() {
    // 20 segments: (20 - 0)/3 = 6.7 a round trip. 1000: 50 rather than 16; w' = w/20 doubles it in 20 ln 2 = 13.86.
    let mut s = Sender::new(1000);
    close(s.rounds_to(2000.0), 20.0 * 2.0_f64.ln(), 0.001);
    for segments in [10, 20, 100, 1000] {
        let mut s = Sender::new(segments);
        for _ in 0..10 * segments {
            s.ack(1);
        }
        close(s.window(), recurrence(segments as f64, 0.0, 10 * segments, 1.0), 0.001);
    }
}

#[test]
fn a_timeout_forgets_the_bound() {
    let mut s = Sender::new(1000);
    s.congestion(Trigger::Timeout);
    assert_eq!(s.control.ssthresh, 1000 * MSS * 819 / 1024);
    s.control.cwnd = 1000 * MSS;
    close(s.rounds_to(2000.0), 20.0 * 2.0_f64.ln(), 0.001);
}

#[test]
fn below_the_low_window_it_is_reno_and_at_it_only_with_the_kernels_rules() {
    let after_congestion = |rules: &str, segments: u64| {
        let mut s = Sender::new(segments);
        s.phase.set("rules", Value::Choice(Rules::WORDS.iter().position(|&rule| rule == rules).unwrap()));
        s.congestion(Trigger::Loss);
        s.control.cwnd
    };
    // The paper: "if (cwnd < low_window)"; tcp_bic.c: cwnd <= low_window.
    for rules in ["xu", "linux"] {
        assert_eq!(after_congestion(rules, 13), 13 * MSS / 2);
        assert_eq!(after_congestion(rules, 15), 15 * MSS * 819 / 1024);
    }
    assert_eq!(after_congestion("xu", 14), 14 * MSS * 819 / 1024);
    assert_eq!(after_congestion("linux", 14), 7 * MSS);
    let mut s = Sender::new(13);
    for _ in 0..13 {
        s.ack(1);
    }
    close(s.window(), 14.0, 0.005);
    let mut s = Sender::new(3);
    s.congestion(Trigger::Loss);
    assert_eq!(s.control.cwnd, 2 * MSS);
}

#[test]
fn a_bound_that_was_not_reached_again_is_lowered_half_way() {
    let bound = |fast: bool| {
        let mut s = Sender::new(1000);
        s.phase.set("fast_convergence", Value::Flag(fast));
        s.congestion(Trigger::Loss);
        s.control.cwnd = 900 * MSS;
        s.congestion(Trigger::Loss);
        s.phase.last_max
    };
    // 900 (1 + 819/1024)/2
    assert_eq!(bound(true), 900 * MSS * 1843 / 2048);
    assert_eq!(bound(false), 900 * MSS);
    let mut s = Sender::new(1000);
    s.congestion(Trigger::Loss);
    s.control.cwnd = 1000 * MSS;
    s.congestion(Trigger::Loss);
    assert_eq!(s.phase.last_max, 1000 * MSS, "reached");
}

#[test]
fn a_spurious_congestion_gives_the_bound_back() {
    let mut s = Sender::new(1000);
    s.congestion(Trigger::Loss);
    s.congestion(Trigger::Loss);
    s.phase.on_spurious();
    assert_eq!(s.phase.last_max, 1000 * MSS);
}

#[test]
fn the_theses_decrease_is_an_eighth() {
    let mut s = Sender::new(1000);
    s.phase.set("beta", Value::Number(0.875));
    s.congestion(Trigger::Loss);
    assert_eq!(s.control.cwnd, 875 * MSS);
}

#[test]
fn the_window_does_not_grow_during_recovery_or_while_it_does_not_limit() {
    let mut s = Sender::new(100);
    for ack in [Ack { growth: MSS, flags: Ack::RECOVERY, mss: MSS as u32, ..Ack::default() }, Ack::default()]
    {
        let _ = s.phase.on_ack(&ack, &mut s.control);
        assert_eq!(s.control.cwnd, 100 * MSS);
    }
}

#[test]
fn the_kernels_whole_segments_make_the_last_part_of_the_search_longer() {
    let mut s = Sender::new(1000);
    s.phase.set("rules", Value::Choice(1));
    s.congestion(Trigger::Loss);
    // A step of 16 is a segment for each 1000/16 acknowledged, cut to 49 at 799 segments and 58 at 933: 16.2 a round trip.
    close(s.rounds_to(933.0), 133.2 / 16.2, 0.01);
    // From 67 segments away on a step is a quarter of the distance cut to a whole number: four segments each at 16, 15, ... 2
    // a round trip take 4 (1/16 + 1/15 + ... + 1/2) = 9.52.
    let harmonic: f64 = (2..=16).map(|step| 4.0 / f64::from(step)).sum();
    close(s.rounds_to(993.0), harmonic, 0.01);
    // A step of one is slow: the last seven segments take 35 round trips, where `xu` has four in twenty.
    close(s.rounds_to(1000.0), 35.0, 0.01);
}
