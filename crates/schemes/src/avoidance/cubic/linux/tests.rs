//! The kernel's CUBIC by hand, and against its rules in floating point.

use super::*;

const JIFFY: Nanos = Nanos::from_millis(4);

const MSS: u64 = 1000;

fn congestion(base: u64, trigger: Trigger) -> Congestion {
    Congestion { base, trigger, mss: MSS as u32, ..Congestion::default() }
}

/// A flow whose window is always full.
struct Flow {
    cubic: Linux,
    parameters: Parameters,
    control: Control,
    now: Nanos,
    rtt: Nanos,
}

impl Flow {
    fn new(window: u64, rtt_ms: u64) -> Self {
        Self::with(Parameters::default(), window, rtt_ms)
    }

    fn with(parameters: Parameters, window: u64, rtt_ms: u64) -> Self {
        let mut cubic = Linux::default();
        cubic.enter(&parameters, &Entry { mss: MSS as u32, ..Entry::default() });
        let control = Control { cwnd: window * MSS, ..Control::default() };
        Self { cubic, parameters, control, now: Nanos::from_secs(1), rtt: Nanos::from_millis(rtt_ms) }
    }

    fn window(&self) -> u64 {
        assert_eq!(self.control.cwnd % MSS, 0, "windows are whole segments");
        self.control.cwnd / MSS
    }

    /// One ACK at `self.now`.
    fn ack(&mut self, packets: u64, flags: u32) {
        let ack = Ack {
            now: self.now,
            rtt: self.rtt,
            min_rtt: self.rtt,
            acked: packets * MSS,
            growth: packets * MSS,
            in_flight: self.control.cwnd,
            flags,
            mss: MSS as u32,
            ..Ack::default()
        };
        self.cubic.on_ack(&self.parameters, &ack, &mut self.control);
    }

    /// ACKs for `packets` each, evenly spread, for `rounds` windows of them.
    fn rounds(&mut self, rounds: u64, packets: u64) {
        for _ in 0..rounds {
            let window = self.window();
            for _ in 0..window / packets {
                self.ack(packets, 0);
                self.now += Nanos(self.rtt.0 * packets / window);
            }
        }
    }

    fn congestion(&mut self, trigger: Trigger) {
        self.cubic.on_congestion(
            &self.parameters,
            &congestion(self.control.cwnd, trigger),
            &mut self.control,
        );
    }
}

#[test]
fn before_the_first_loss_the_window_grows_by_a_twentieth_a_round_trip() {
    // As after HyStart. 100 segments: an ACK each adds one for every 20, so a round adds 5, the next, of 105,
    // 5 more with 5 saved up; growth compounds to 100 x 1.05^20 = 265 within the last segment of each round.
    let mut flow = Flow::new(100, 10);
    flow.rounds(1, 1);
    assert_eq!(flow.window(), 105);
    flow.rounds(1, 1);
    assert_eq!(flow.window(), 110);
    flow.rounds(18, 1);
    let compounded = 100.0 * 1.05f64.powi(20);
    assert!((compounded - 20.0..=compounded).contains(&(flow.window() as f64)), "{}", flow.window());
}

#[test]
fn a_stretch_ack_counts_as_many_segments_as_it_covers() {
    let mut flow = Flow::new(100, 10);
    flow.rounds(1, 4);
    assert_eq!(flow.window(), 105);
}

#[test]
fn a_segment_acknowledged_in_parts_counts_once() {
    let mut flow = Flow::new(100, 10);
    for part in 0..400 {
        let ack = Ack {
            now: flow.now,
            min_rtt: flow.rtt,
            growth: MSS / 4,
            in_flight: flow.control.cwnd,
            mss: MSS as u32,
            ..Ack::default()
        };
        flow.cubic.on_ack(&flow.parameters, &ack, &mut flow.control);
        // 20 whole segments are 80 parts.
        assert_eq!(flow.window(), 100 + (part + 1) / 80);
    }
}

#[test]
fn a_loss_leaves_717_of_1024_and_not_less_than_two_segments() {
    // 100 x 717/1024 = 70.02, 37 x 717/1024 = 25.9, 2 x 717/1024 = 1.4: all cut off.
    for (window, left) in [(100, 70), (37, 25), (2, 2), (1, 2)] {
        for trigger in [Trigger::Loss, Trigger::Mark] {
            let mut flow = Flow::new(window, 100);
            flow.congestion(trigger);
            assert_eq!((flow.window(), flow.control.ssthresh), (left, left * MSS), "{window}");
        }
    }
}

#[test]
fn fast_convergence_gives_up_307_of_2048_of_a_window_that_did_not_come_back() {
    // 90 x (1024 + 717)/2048 = 76.5, cut off.
    for (on, w_max) in [(true, 76), (false, 90)] {
        let parameters = Parameters { fast_convergence: on, ..Parameters::default() };
        let mut flow = Flow::with(parameters, 100, 100);
        flow.congestion(Trigger::Loss);
        assert_eq!(flow.cubic.w_max, 100);
        flow.control.cwnd = 90 * MSS;
        flow.congestion(Trigger::Loss);
        assert_eq!(flow.cubic.w_max, w_max);
        // One that came back exactly is no smaller one: the kernel asks for less than the last maximum.
        flow.control.cwnd = w_max * MSS;
        flow.congestion(Trigger::Loss);
        assert_eq!(flow.cubic.w_max, w_max);
    }
}

#[test]
fn the_scales_are_those_of_the_kernel() {
    // C = 410/1024; 8 (1024 + 717)/3/(1024 - 717) = 4642/307 = 15 eighths of a window.
    let flow = Flow::new(100, 100);
    assert_eq!((flow.cubic.curve, flow.cubic.reno_eighths), (410, 15));
    // HZ / 32 in whole jiffies.
    for (jiffy, hold) in [(1, 31), (4, 7), (10, 3)] {
        let parameters = Parameters { jiffy: Nanos::from_millis(jiffy), ..Parameters::default() };
        assert_eq!(Flow::with(parameters, 100, 100).cubic.hold, hold);
    }
}

#[test]
fn the_plateau_comes_after_k_and_the_curve_is_symmetric_about_it() {
    let mut flow = Flow::new(1000, 100);
    flow.congestion(Trigger::Loss);
    flow.ack(1, 0);
    // 1000 x 717/1024 = 700: K = cbrt(300 x 1024/410) = cbrt(749.27) = 9.0826 s = 9300.6 x 2^-10 s, were the root exact. The
    // kernel's is of 300 x 2^40/410, cut off, 8.0452e11, which has 40 bits: 40 x 84/256 - 1 = 12, the table has 138 for the 11 in
    // front of 36 bits, and (138 + 10) x 2^12/64 = 9472. (2 x 9472 + 8.0452e11/(9472 x 9471)) x 341/1024 = 27912 x 341/1024.
    assert_eq!(flow.cubic.k, 9294);
    // On the way up a fraction of a segment of distance is cut off, so the target lies above the curve;
    // beyond K below it. 410/1024 x 1 s^3 = 0.4 of a segment.
    let at = |s: f64| flow.cubic.target((s * 1024.0) as u64);
    assert_eq!([at(0.0), at(9.0), at(10.08), at(19.0762), at(18.1938)], [701, 1000, 1000, 1400, 1303]);
}

#[test]
fn the_cube_root_is_that_of_the_kernel_and_off_by_a_sixth_of_a_percent_at_most() {
    // By hand: 7 bits, (4 << 1) from the table's 143 for 12; (2 x 4 + 100/12) x 341/1024 = 16 x 341/1024 = 5.3.
    assert_eq!(cube_root(100), 5);
    // Below 64 the table alone: (254 + 35)/64.
    assert_eq!([63, 8, 1, 0].map(cube_root), [4, 2, 1, 0]);
    // Answers of the kernel's function, for distances of these numbers of segments.
    let of = |segments: u64| (1 << 40) / 410 * segments;
    assert_eq!([1, 10, 300, 5000, 99_999].map(|d| cube_root(of(d))), [1388, 2991, 9294, 23_753, 64_487]);
    let error = |d: u64| (cube_root(of(d)) as f64 / (of(d) as f64).cbrt() - 1.0).abs();
    let worst = (1..100_000).map(error).fold(0.0, f64::max);
    assert!((0.001..0.001_67).contains(&worst), "{worst}");
}

#[test]
fn the_curve_is_far_ahead_of_any_growth_before_its_reach_ends() {
    let mut flow = Flow::new(100, 100);
    flow.congestion(Trigger::Loss);
    flow.ack(1, 0);
    // 0.4 x 2048^3 segments.
    assert!(flow.cubic.target(u64::MAX) > 3_000_000_000);
}

/// The same rules with real windows, counts and times, once an ACK instead of once a jiffy.
struct Real {
    window: f64,
    w_max: f64,
    k: f64,
    reno: f64,
}

impl Real {
    const BETA: f64 = 717.0 / 1024.0;
    const C: f64 = 410.0 / 1024.0;

    fn after_loss(at: f64) -> Self {
        let window = at * Self::BETA;
        Self { window, w_max: at, k: ((at - window) / Self::C).cbrt(), reno: window }
    }

    fn ack(&mut self, t: f64, min_rtt: f64, segments: f64) {
        let target = Self::C * (t + min_rtt - self.k).powi(3) + self.w_max;
        let mut count =
            if target > self.window { self.window / (target - self.window) } else { f64::INFINITY };
        // 8/15 of a segment a window.
        self.reno += segments / (self.window * 15.0 / 8.0);
        if self.reno > self.window {
            count = count.min(self.window / (self.reno - self.window));
        }
        self.window += segments / count.max(2.0);
    }
}

#[test]
fn growth_after_a_loss_stays_within_two_segments_of_the_rules_in_real_numbers() {
    // (window at the loss, RTT in ms, packets an ACK, jiffy in ms). Both the target and the reduced window
    // are cut to whole segments; nothing adds up beyond that. 1.5 K: well past the plateau.
    for (window, rtt_ms, per_ack, jiffy) in
        [(100, 100, 1, 4), (100, 100, 2, 1), (400, 60, 2, 4), (1000, 40, 1, 10), (60, 20, 1, 4)]
    {
        let parameters = Parameters { jiffy: Nanos::from_millis(jiffy), ..Parameters::default() };
        let mut flow = Flow::with(parameters, window, rtt_ms);
        flow.congestion(Trigger::Loss);
        let mut real = Real::after_loss(window as f64);
        let start = flow.now;
        let end = start + Nanos((1.5e9 * real.k) as u64);
        let mut worst = 0.0f64;
        while flow.now < end {
            real.ack((flow.now - start).0 as f64 / 1e9, flow.rtt.0 as f64 / 1e9, per_ack as f64);
            flow.ack(per_ack, 0);
            worst = worst.max((flow.window() as f64 - real.window).abs());
            flow.now += Nanos(flow.rtt.0 * per_ack / flow.window());
        }
        assert!(worst < 2.0, "window {window}, RTT {rtt_ms} ms, jiffy {jiffy} ms: off by {worst}");
        assert!(flow.window() > window, "the epoch must pass W_max: window {window}");
    }
}

#[test]
fn on_a_short_path_the_window_gains_8_fifteenths_of_a_segment_a_round_trip() {
    // From 14 after a loss at 20, K is 2.46 s: for 150 rounds of 5 ms the curve is far behind. The Reno flow is
    // looked at every 28 ms, 5.6 rounds or 3 segments, and caught up with in one: 14 + 80, or up to 4 less.
    let mut flow = Flow::new(20, 5);
    flow.congestion(Trigger::Loss);
    flow.rounds(150, 1);
    assert!((90..=94).contains(&flow.window()), "{}", flow.window());
}

#[test]
fn a_window_behind_that_of_a_reno_flow_makes_up_the_whole_distance_in_a_round_trip() {
    // 30 segments behind at 100: a segment for each 100/30 = 3 acknowledged. A curve that asks for more keeps its own count.
    let mut flow = Flow::new(100, 100);
    for (count, expected) in [(1000, 3), (2, 2)] {
        (flow.cubic.count, flow.cubic.reno_window, flow.cubic.reno_credit) = (count, 130, 0);
        flow.cubic.keep_up_with_reno(100);
        assert_eq!(flow.cubic.count, expected);
    }
}

#[test]
fn a_window_far_below_the_curve_grows_by_half_a_round_trip() {
    // 100 s after the loss the target is out of reach: a segment for every second one acknowledged.
    let mut flow = Flow::new(1000, 100);
    flow.congestion(Trigger::Loss);
    flow.ack(1, 0);
    flow.now += Nanos::from_secs(100);
    flow.ack(1, 0);
    flow.cubic.credit = 0;
    let window = flow.window();
    flow.rounds(1, 1);
    assert_eq!(flow.window(), window + window / 2);
}

#[test]
fn the_count_is_worked_out_at_most_once_a_jiffy_and_held_for_a_32nd_of_a_second_while_the_window_stays() {
    // Before the first loss with K = 0: 3 s on, the target is 0.4 x 27 = 10 segments above 100, so a segment
    // for 10 acknowledged.
    let mut flow = Flow::with(Parameters { jiffy: Nanos::from_millis(1), ..Parameters::default() }, 100, 1);
    flow.ack(1, 0);
    assert_eq!(flow.cubic.count, 20);
    flow.now += Nanos::from_secs(3);
    flow.ack(1, 0);
    assert_eq!(flow.cubic.count, 10);
    // A second later it would be less, 0.4 x 4.03^3 = 26 and 100/26; yet a jiffy is not over, then 31 are not.
    let (now, seen) = (flow.now, flow.cubic.seen_at);
    flow.cubic.epoch = flow.cubic.epoch.map(|epoch| epoch - 1000);
    for (ms, count) in [(0, 10), (1, 10), (31, 10), (32, 3)] {
        flow.now = now + Nanos::from_millis(ms);
        flow.ack(1, 0);
        assert_eq!(flow.cubic.count, count, "{ms} ms");
    }
    assert_eq!(flow.cubic.seen_at, seen + 32);
}

#[test]
fn a_timeout_forgets_the_last_loss() {
    let mut flow = Flow::new(200, 100);
    flow.congestion(Trigger::Loss);
    assert_eq!(flow.window(), 140);
    flow.congestion(Trigger::Timeout);
    // 140 x 717/1024 = 98.03. With slow start behind it, growth is that before the first loss, 98/20 a round.
    assert_eq!(flow.control.ssthresh, 98 * MSS);
    flow.cubic.enter(&flow.parameters, &Entry { mss: MSS as u32, why: Why::Handover, ..Entry::default() });
    flow.rounds(1, 1);
    assert_eq!(flow.window(), 102);
}

#[test]
fn a_slow_start_after_an_idle_time_leaves_the_curve_alone() {
    let mut flow = Flow::new(200, 100);
    flow.congestion(Trigger::Loss);
    flow.ack(1, 0);
    let before = format!("{:?}", flow.cubic);
    flow.cubic.enter(&flow.parameters, &Entry { mss: MSS as u32, why: Why::Handover, ..Entry::default() });
    assert_eq!(format!("{:?}", flow.cubic), before);
}

#[test]
fn time_with_nothing_in_flight_moves_the_curve() {
    let mut flow = Flow::new(200, 100);
    flow.congestion(Trigger::Loss);
    flow.rounds(20, 1);
    let epoch = flow.cubic.epoch.expect("begun");
    // The last packet left 100 ms before its ACK at T, the next leaves five minutes after T: 75 025 jiffies.
    flow.ack(flow.window(), 0);
    flow.now += Nanos::from_millis(300_000 + 100);
    flow.ack(2, 0);
    assert_eq!(flow.cubic.epoch, Some(epoch + 75_025));
    // Once only.
    flow.rounds(1, 1);
    assert_eq!(flow.cubic.epoch, Some(epoch + 75_025));
}

#[test]
fn an_epoch_moves_no_further_than_the_first_packet_after_the_pause() {
    let mut flow = Flow::new(200, 100);
    flow.congestion(Trigger::Loss);
    // The epoch begins with the very ACK that empties the flight, 25 jiffies after the last packet left.
    flow.ack(flow.window(), 0);
    flow.now += Nanos::from_secs(1);
    flow.ack(2, 0);
    let left = (flow.now - flow.rtt).0 / JIFFY.0;
    assert_eq!(flow.cubic.epoch, Some(left));
}

#[test]
fn time_that_the_application_left_unused_counts() {
    let mut flow = Flow::new(100, 100);
    flow.congestion(Trigger::Loss);
    flow.ack(1, 0);
    let epoch = flow.cubic.epoch;
    // Half the window in flight for 20 s: no growth is allowed, and the curve runs on to 0.4 x (20 - 4.22)^3
    // = 1572 segments above 100.
    for _ in 0..200 {
        flow.now += flow.rtt;
        let (now, min_rtt) = (flow.now, flow.rtt);
        let ack = Ack {
            now,
            rtt: min_rtt,
            min_rtt,
            acked: MSS,
            in_flight: 50 * MSS,
            mss: MSS as u32,
            ..Ack::default()
        };
        flow.cubic.on_ack(&flow.parameters, &ack, &mut flow.control);
    }
    assert_eq!((flow.window(), flow.cubic.epoch), (70, epoch));
    flow.ack(1, 0);
    assert_eq!(flow.cubic.count, 2);
}

#[test]
fn the_window_does_not_grow_during_recovery_or_without_the_hosts_permission() {
    let mut flow = Flow::new(100, 100);
    for _ in 0..1000 {
        flow.ack(1, Ack::RECOVERY);
        flow.ack(0, 0);
        flow.now += Nanos::from_millis(50);
    }
    assert_eq!(flow.window(), 100);
}
