use super::*;
use crate::scheme::{Scheme as _, Value};

const MSS: u64 = 1448;

struct Sender {
    phase: Bic,
    control: Control,
    /// Round trips passed: ACKs over the window each came under.
    rounds: f64,
    /// Segments that an ACK covers in [`Sender::rounds_to`].
    per_ack: u64,
}

impl Sender {
    fn new(segments: u64) -> Self {
        let mut phase = Bic::default();
        let mut control = Control { cwnd: segments * MSS, ..Control::default() };
        phase.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut control);
        Self { phase, control, rounds: 0.0, per_ack: 1 }
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
            assert!(self.rounds - start < 1000.0, "the window stays at {} segments", self.window());
            self.ack(self.per_ack);
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

/// The solutions of w' for one segment a round trip (Reno), 16 (S_max), (max - w)/4 (search) and (w - max)/3 (max probing).
#[test]
fn the_window_takes_the_round_trips_of_the_papers_rules_from_any_size_whatever_an_ack_covers() {
    for per_ack in [1, 2] {
        let after_loss = |segments: u64| {
            let mut s = Sender::new(segments);
            s.per_ack = per_ack;
            s.congestion(Trigger::Loss);
            s
        };
        // 10 segments: half of them are left, below low_window: Reno up to 14, beyond the bound of 10.
        close(after_loss(10).rounds_to(14.0), 9.0, 0.02);
        // 60: 47.99 are left, the distance falls from 12.01 to 4 in 4 ln 3.003 = 4.40 round trips; then 0.2 a round trip.
        let mut s = after_loss(60);
        close(s.rounds_to(56.0), 4.398, 0.02);
        close(s.rounds_to(60.0), 20.0, 0.01);
        close(s.rounds_to(64.0), 20.0, 0.01);
        // Beyond the bound from 4 to 48 in 3 ln 12 = 7.45.
        close(s.rounds_to(108.0), 7.455, 0.02);
        // 300: 239.94 are left, from a distance of 60.06 to 4 in 4 ln 15.01 = 10.84.
        let mut s = after_loss(300);
        close(s.rounds_to(296.0), 10.836, 0.01);
        close(s.rounds_to(304.0), 40.0, 0.01);
        // 5000: 3999.02 are left, 16 a round trip up to 64 below the bound: 936.98/16 = 58.56.
        let mut s = after_loss(5000);
        close(s.rounds_to(4936.0), 58.56, 0.001);
        close(s.rounds_to(4996.0), 4.0 * 16.0_f64.ln(), 0.002);
    }
}

#[test]
fn before_the_first_congestion_a_round_trip_adds_a_twentieth_at_least() {
    // Reno up to 14 segments. Then the bound is zero: w' = w/3 up to 48, 3 ln (48/14) = 3.70, and 16 up to 320, 272/16 = 17.
    let mut s = Sender::new(10);
    close(s.rounds_to(14.0), 4.0, 0.01);
    close(s.rounds_to(48.0), 3.696, 0.01);
    close(s.rounds_to(320.0), 17.0, 0.003);
    // From there a twentieth is more than 16: w' = w/20, from 320 to 1000 in 20 ln 3.125 = 22.79, and doubling in 13.86.
    close(s.rounds_to(1000.0), 22.789, 0.002);
    close(s.rounds_to(2000.0), 20.0 * 2.0_f64.ln(), 0.001);
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
fn a_phase_that_begins_has_no_part_of_an_earlier_division_left() {
    // An ACK of one of 100 segments after a loss adds a part of a byte that the next ACK completes.
    let [mut again, mut fresh] = [0, 1].map(|_| {
        let mut s = Sender::new(100);
        s.congestion(Trigger::Loss);
        s
    });
    again.ack(1);
    again.control.cwnd = fresh.control.cwnd;
    again.phase.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut again.control);
    for _ in 0..200 {
        again.ack(1);
        fresh.ack(1);
        assert_eq!(again.control.cwnd, fresh.control.cwnd);
    }
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
