//! CUBIC against hand calculations and against RFC 9438 in floating point.

use super::*;
use firstflight_contract::Trigger;

const MSS: u64 = 1000;

fn cubic(mss: u64) -> Rfc9438 {
    let mut cubic = Rfc9438::default();
    cubic.enter(&Parameters::default(), &Entry { mss: mss as u32, ..Entry::default() });
    cubic
}

fn congestion(base: u64, trigger: Trigger) -> Congestion {
    Congestion { base, trigger, mss: MSS as u32, ..Congestion::default() }
}

/// A flow of one packet an ACK, each `rtt/window` after the one before.
struct Flow {
    cubic: Rfc9438,
    control: Control,
    mss: u64,
    now: Nanos,
    rtt: Nanos,
}

impl Flow {
    /// After a loss at a window of `window` packets.
    fn after_loss(window: u64, mss: u64, rtt: Nanos) -> Self {
        let mut cubic = cubic(mss);
        let mut control = Control { cwnd: window * mss, ..Control::default() };
        cubic.on_congestion(&Parameters::default(), &congestion(window * mss, Trigger::Loss), &mut control);
        Self { cubic, control, mss, now: Nanos::from_secs(1), rtt }
    }

    fn ack(&mut self, packets: u64, flags: u32) {
        let bytes = packets * self.mss;
        let ack = Ack {
            now: self.now,
            srtt: self.rtt,
            acked: bytes,
            growth: bytes,
            flags,
            mss: self.mss as u32,
            ..Ack::default()
        };
        self.cubic.on_ack(&Parameters::default(), &ack, &mut self.control);
        self.now += Nanos(self.rtt.0 * bytes / self.control.cwnd);
    }
}

/// RFC 9438 sections 4.2 to 4.5 in segments, seconds and f64: the same flow.
struct Rfc {
    cwnd: f64,
    w_max: f64,
    k: f64,
    w_est: f64,
    prior: f64,
    start: f64,
}

impl Rfc {
    fn after_loss(window: f64, now: f64) -> Self {
        let cwnd = 0.7 * window;
        Self {
            cwnd,
            w_max: window,
            k: ((window - cwnd) / 0.4).cbrt(),
            w_est: cwnd,
            prior: window,
            start: now,
        }
    }

    fn w_cubic(&self, t: f64) -> f64 {
        0.4 * (t - self.k).powi(3) + self.w_max
    }

    fn ack(&mut self, now: f64, rtt: f64, segments: f64) {
        let alpha = if self.w_est >= self.prior { 1.0 } else { 3.0 * (1.0 - 0.7) / (1.0 + 0.7) };
        self.w_est += alpha * segments / self.cwnd;
        let t = now - self.start;
        if self.w_cubic(t) < self.w_est {
            self.cwnd = self.cwnd.max(self.w_est);
        } else {
            let target = self.w_cubic(t + rtt).max(self.cwnd).min(1.5 * self.cwnd);
            self.cwnd += (target - self.cwnd) / self.cwnd * segments;
        }
    }
}

#[test]
fn the_curve_starts_at_the_reduced_window_and_passes_w_max_after_k() {
    // W_max 100 packets, cwnd_epoch 70: K = cbrt(30 / 0.4) = cbrt(75) = 4.217163 s.
    let mut flow = Flow::after_loss(100, MSS, Nanos::from_millis(100));
    flow.ack(1, 0);
    let ticks = 4.217_163e9 / 1024.0;
    assert!((flow.cubic.stage.k as f64 - ticks).abs() < 2.0, "{}", flow.cubic.stage.k);
    let at = |ns: u64| flow.cubic.w_cubic(Nanos(ns)) as f64 / MSS as f64;
    for (ns, expected) in [
        (0, 70.0),
        (4_217_163_000, 100.0),
        (8_434_327_000, 130.0),  // symmetric about K
        (5_217_163_000, 100.4),  // a second past it: 0.4 x 1
        (14_217_163_000, 500.0), // ten seconds past it: 0.4 x 1000
    ] {
        assert!((at(ns) - expected).abs() < 0.002, "{ns}: {} {expected}", at(ns));
    }
}

#[test]
fn growth_follows_the_rfc_in_floating_point_within_a_thousandth_over_an_epoch() {
    // (window at loss, mss, RTT in ms, packets an ACK): Reno-friendly, mixed, cubic, very large.
    for (window, mss, rtt_ms, per_ack) in [
        (20, 1460, 10, 1),
        (100, 1000, 30, 1),
        (100, 1000, 100, 2),
        (1000, 1448, 100, 1),
        (5000, 1000, 200, 4),
        (20_000, 9000, 50, 2),
    ] {
        let rtt = Nanos::from_millis(rtt_ms);
        let mut flow = Flow::after_loss(window, mss, rtt);
        let seconds = |t: Nanos| t.0 as f64 / 1e9;
        let mut rfc = Rfc::after_loss(window as f64, seconds(flow.now));
        let end = flow.now.0 as f64 / 1e9 + 1.5 * rfc.k;
        let mut worst = 0.0f64;
        while seconds(flow.now) < end {
            rfc.ack(seconds(flow.now), seconds(rtt), per_ack as f64);
            flow.ack(per_ack, 0);
            worst = worst.max((flow.control.cwnd as f64 / mss as f64 / rfc.cwnd - 1.0).abs());
        }
        assert!(worst < 1e-3, "window {window}, mss {mss}, RTT {rtt_ms} ms: off by {worst}");
        assert!(flow.control.cwnd > window * mss, "the epoch must pass W_max: window {window}");
    }
}

#[test]
fn on_a_short_path_the_window_is_renos_with_alpha_nine_seventeenths() {
    // RTT 10 ms, window 20: K = cbrt(6/0.4) = 2.47 s, so the curve is flat for 247 rounds; W_est adds
    // 3 x 0.3/1.7 = 0.5294 packets a round from 14 and reaches 20 after 11.3 rounds, then one a round.
    let mut flow = Flow::after_loss(20, MSS, Nanos::from_millis(10));
    let start = flow.now;
    let mut reached = None;
    while flow.now < start + Nanos::from_millis(200) {
        flow.ack(1, 0);
        if flow.control.cwnd >= 20 * MSS && reached.is_none() {
            reached = Some((flow.now - start).0 as f64 / 1e7);
        }
    }
    let rounds = reached.expect("reaches the old window");
    assert!((11.0..11.7).contains(&rounds), "{rounds}");
    // 200 ms are 20 rounds: 8.67 more at a packet each.
    let window = flow.control.cwnd as f64 / MSS as f64;
    assert!((window - 28.67).abs() < 0.1, "{window}");
}

#[test]
fn an_ack_never_aims_beyond_one_and_a_half_windows() {
    let mut flow = Flow::after_loss(1000, MSS, Nanos::from_millis(100));
    flow.ack(1, 0);
    // Far up the curve; a window of ACKs in no time adds at most half of it (700 -> 1050), as 700 ACKs each
    // adding half a packet.
    flow.now += Nanos::from_secs(1000);
    let start = flow.control.cwnd;
    for _ in 0..start / MSS {
        let now = flow.now;
        flow.ack(1, 0);
        flow.now = now;
    }
    let grown = (flow.control.cwnd - start) as f64 / MSS as f64;
    assert!((grown - 350.0).abs() < 1.0, "{grown}");
}

#[test]
fn a_loss_leaves_seven_tenths_and_not_less_than_two_segments() {
    for (base, expected) in [(100_000, 70_000), (2_500, 2_000), (1_000, 2_000)] {
        let mut cubic = cubic(MSS);
        let mut control = Control { cwnd: 100 * MSS, ..Control::default() };
        cubic.on_congestion(&Parameters::default(), &congestion(base, Trigger::Loss), &mut control);
        assert_eq!((control.cwnd, control.ssthresh), (expected, expected), "base {base}");
    }
}

#[test]
fn a_mark_may_leave_one_segment_but_no_smaller_threshold_than_two() {
    let mut cubic = cubic(MSS);
    let mut control = Control { cwnd: MSS, ..Control::default() };
    cubic.on_congestion(&Parameters::default(), &congestion(MSS, Trigger::Mark), &mut control);
    assert_eq!((control.cwnd, control.ssthresh), (MSS, 2 * MSS));
}

#[test]
fn fast_convergence_gives_up_15_percent_of_a_window_that_did_not_come_back() {
    for (on, expected) in [(true, 76_500), (false, 90_000)] {
        let mut cubic = cubic(MSS);
        let parameters = Parameters { fast_convergence: on, ..Parameters::default() };
        let mut control = Control { cwnd: 100 * MSS, ..Control::default() };
        cubic.on_congestion(&parameters, &congestion(100 * MSS, Trigger::Loss), &mut control);
        control.cwnd = 90 * MSS;
        cubic.on_congestion(&parameters, &congestion(90 * MSS, Trigger::Loss), &mut control);
        // 90 x (1 + 0.7)/2 = 76.5
        assert_eq!(cubic.stage.w_max, expected);
    }
}

#[test]
fn without_a_reduction_the_curve_starts_at_its_plateau() {
    // Section 4.10 (slow start left without a loss): K = 0, W_max = cwnd; after 10 s 0.4 x 1000 packets more.
    // The target looks one RTT ahead, and W_est (alpha 1: one packet a round) stays below.
    let mut flow = Flow::after_loss(100, MSS, Nanos::from_millis(100));
    flow.cubic.enter(&Parameters::default(), &Entry { mss: MSS as u32, ..Entry::default() });
    flow.control.cwnd = 500 * MSS;
    flow.ack(1, 0);
    assert_eq!((flow.cubic.stage.k, flow.cubic.stage.w_max), (0, 500 * MSS));
    assert_eq!(flow.cubic.w_cubic(Nanos::from_secs(10)) / MSS, 899); // 900 less rounding
}

#[test]
fn time_the_application_did_not_use_moves_the_curve() {
    let rtt = Nanos::from_millis(100);
    let mut busy = Flow::after_loss(1000, MSS, rtt);
    let mut paused = Flow::after_loss(1000, MSS, rtt);
    for _ in 0..1000 {
        busy.ack(1, 0);
        paused.ack(1, 0);
    }
    // The application pauses for five minutes: one limited ACK before, then as before.
    paused.ack(0, Ack::APP_LIMITED);
    paused.now += Nanos::from_secs(300);
    for _ in 0..5000 {
        busy.ack(1, 0);
        paused.ack(1, 0);
    }
    let (a, b) = (busy.control.cwnd as f64, paused.control.cwnd as f64);
    assert!((a / b - 1.0).abs() < 1e-3, "{a} {b}");
}

#[test]
fn a_spurious_loss_leaves_the_curve_where_it_was() {
    let rtt = Nanos::from_millis(100);
    let mut disturbed = Flow::after_loss(1000, MSS, rtt);
    let mut calm = Flow::after_loss(1000, MSS, rtt);
    for i in 0..5000 {
        if i == 2000 {
            let control = disturbed.control;
            disturbed.cubic.on_congestion(
                &Parameters::default(),
                &congestion(control.cwnd, Trigger::Loss),
                &mut disturbed.control,
            );
            disturbed.control = control;
            disturbed.cubic.on_spurious();
        }
        calm.ack(1, 0);
        disturbed.ack(1, 0);
        assert_eq!(disturbed.control, calm.control);
    }
}

#[test]
fn the_window_does_not_grow_during_recovery_or_without_the_hosts_permission() {
    let mut flow = Flow::after_loss(100, MSS, Nanos::from_millis(100));
    let control = flow.control;
    for _ in 0..1000 {
        flow.ack(1, Ack::RECOVERY);
        flow.ack(0, 0);
        flow.now += Nanos::from_millis(50);
    }
    assert_eq!(flow.control, control);
}
