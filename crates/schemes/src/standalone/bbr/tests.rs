//! Expectations by hand: on an ideal path of a segment a millisecond and 100 ms (a BDP of 100 segments), or from
//! ACKs written out.

mod kernel;
mod path;

use super::units::{ONE, over};
use super::*;
use crate::registry::AnyPhase;
use firstflight_contract::Rate;
use firstflight_host::chain::Chain;
use path::{MSS, Path};

const RTT: Nanos = Nanos::from_millis(100);

fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value}, expected {expected} +- {tolerance}");
}

/// The pacing rate in segments a millisecond.
fn pace(control: &Control) -> f64 {
    control.pacing.0 as f64 / 8.0 / MSS as f64 / 1000.0
}

#[test]
fn startup_doubles_until_three_rounds_bring_no_more_and_holds_2_887_bdp() {
    let mut path = Path::new(RTT);
    // 10 segments in 100 ms, at a gain of 739/256 less 1 %.
    near(pace(&path.control), 0.1 * 2.887 * 0.99, 0.0005);
    let mut largest = 0;
    while path.bbr.mode == Mode::Startup {
        largest = path.cwnd();
        path.step();
    }
    assert_eq!(path.bbr.mode, Mode::Drain);
    assert_eq!(path.over_at, Some(path.now));
    // Rounds carry 10, 20, 40, 80 and then more than 100 segments: the sixth shows the full rate, three more that
    // nothing is left. The fourth-last of them may still have found a quarter more.
    assert!((8..=10).contains(&path.bbr.rounds), "{} rounds", path.bbr.rounds);
    assert_eq!(path.bbr.max_bandwidth.get(), over(1, 1000));
    // 2.887 x 100, rounded up, and three pieces of two segments: 289 + 6, even.
    assert_eq!(largest, 296);
    assert_eq!(path.control.ssthresh, 106 * MSS);
}

#[test]
fn drain_empties_the_queue_of_startup_at_the_inverse_gain() {
    let mut path = Path::new(RTT);
    path.run_to(Mode::Drain);
    let (began, queued) = (path.millis(), path.in_flight);
    assert!(queued > 280, "{queued} in flight");
    path.run_to(Mode::ProbeBandwidth);
    // One segment leaves the path each millisecond, 88/256 x 0.99 enter it, until no more than a BDP and the
    // pieces, 106, are there.
    near(path.millis() - began, (queued - 106) as f64 / (1.0 - 0.3403), 4.0);
    assert!((100..=106).contains(&path.in_flight), "{} in flight", path.in_flight);
}

#[test]
fn the_cycle_probes_for_a_round_trip_gives_back_and_cruises_for_six() {
    let mut path = Path::new(RTT);
    // By then the bursts of STARTUP, ahead of an estimate that lagged, are forgotten.
    path.run_until(|p| p.now > Nanos::from_secs(3));
    path.run_until(|p| p.bbr.phase == 7);
    path.run_until(|p| p.bbr.phase == 0);
    for _ in 0..3 {
        let mut began = path.millis();
        for phase in 0..8 {
            assert_eq!(path.bbr.phase, phase);
            let gain = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0][phase];
            near(pace(&path.control), gain * 0.99, 0.001);
            let mut cwnd = 0;
            while path.bbr.phase == phase {
                cwnd = path.cwnd();
                path.step();
            }
            // Two BDP, the pieces and two segments that ACKs run ahead (one, and one more while the estimate of
            // just below one a millisecond rounds down); in the probing phase two more.
            assert_eq!(cwnd, if phase == 0 { 210 } else { 208 });
            let lasted = path.millis() - began;
            match phase {
                // A round trip, and until 1.25 BDP are in flight: 125 + 6, even, + 2, less the piece to come.
                // The queue of the cruise before is gone; 0.2375 segments a millisecond build it up.
                0 => {
                    assert!(lasted > 100.0, "{lasted}");
                    assert!((131..=133).contains(&path.in_flight), "{} in flight", path.in_flight);
                }
                // A round trip at most.
                1 => assert!(lasted < 102.5, "{lasted}"),
                // The first ACK after a round trip; they come a millisecond apart.
                _ => assert!(lasted > 100.0 && lasted < 102.5, "phase {phase}: {lasted}"),
            }
            began = path.millis();
        }
    }
}

#[test]
fn after_ten_seconds_without_a_smaller_rtt_four_segments_probe_for_200_ms_and_the_window_comes_back() {
    let mut path = Path::new(RTT);
    path.run_until(|p| p.now > Nanos::from_secs(3));
    path.rtt = Nanos::from_millis(120);
    let bandwidth = path.bbr.max_bandwidth.get();
    path.run_to(Mode::ProbeRtt);
    // The handshake, at 0, saw 100 ms; many a later sample was as small, none was smaller.
    near(path.millis(), 10_000.0, 2.0);
    assert_eq!(path.cwnd(), 4);
    path.run_until(|p| p.in_flight <= 4);
    let drained = path.millis();
    path.run_until(|p| p.bbr.mode != Mode::ProbeRtt);
    // 200 ms from then on, which is more than the round of 120 ms; seen with the next ACK: four come every 120 ms.
    let lasted = path.millis() - drained;
    assert!(lasted > 200.0 && lasted < 245.0, "{lasted}");
    let left = path.millis();
    assert_eq!(path.bbr.mode, Mode::ProbeBandwidth);
    assert_eq!(path.bbr.min_rtt, Some(120_000));
    assert_eq!(path.bbr.max_bandwidth.get(), bandwidth);
    // 208 or 210 before, and one for the ACK at hand; then up to the target for 120 ms: 240 + 6 + 2.
    assert!((208..=211).contains(&path.cwnd()), "{}", path.cwnd());
    path.run_until(|p| p.cwnd() > 240);
    path.run_until(|p| p.bbr.phase == 3);
    assert_eq!(path.cwnd(), 248);
    path.run_to(Mode::ProbeRtt);
    near(path.millis() - left, 10_000.0, 2.0);
}

/// A sender driven by ACKs written by hand: RTT 100 ms, running totals.
struct Driven {
    bbr: Bbr,
    control: Control,
    ack: Ack,
}

impl Driven {
    fn new() -> Self {
        let (mut bbr, mut control) = (Bbr::default(), Control { cwnd: 10 * MSS, ..Control::default() });
        bbr.enter(&Entry { rtt: RTT, mss: MSS as u32, ..Entry::default() }, &mut control);
        let ack = Ack {
            now: RTT,
            rtt: RTT,
            srtt: RTT,
            min_rtt: RTT,
            rate: Rate(10_000_000),
            mss: MSS as u32,
            ..Ack::default()
        };
        Self { bbr, control, ack }
    }

    /// In PROBE_BW at a segment a millisecond, the window at 206 or 208.
    fn cruising() -> Self {
        let mut driven = Self::new();
        while driven.bbr.mode != Mode::ProbeBandwidth || driven.cwnd() < 200 {
            driven.round(20);
        }
        driven
    }

    /// An ACK 1 ms later for `acked` segments, with as many in flight before it as after it and `acked`.
    fn ack(&mut self, acked: u64, pipe: u64, flags: u32) {
        let ack = &mut self.ack;
        ack.now += Nanos::from_millis(1);
        ack.acked = acked * MSS;
        ack.delivered += acked * MSS;
        ack.pipe = pipe * MSS;
        ack.in_flight = (pipe + acked) * MSS;
        ack.flags = flags;
        let _ = self.bbr.on_ack(&self.ack, &mut self.control);
    }

    /// An ACK that begins a round: what it delivers had left after everything before was delivered.
    fn round_ack(&mut self, acked: u64, pipe: u64, flags: u32) {
        self.ack.prior_delivered = self.ack.delivered;
        self.ack(acked, pipe, flags);
    }

    fn round(&mut self, acked: u64) {
        self.ack.now += RTT;
        self.round_ack(acked, 50, 0);
    }

    fn congestion(&mut self, trigger: Trigger) {
        let event = Congestion { now: self.ack.now, trigger, mss: MSS as u32, ..Congestion::default() };
        assert_eq!(self.bbr.on_congestion(&event, &mut self.control), Step::Stay);
    }

    fn cwnd(&self) -> u64 {
        self.control.cwnd / MSS
    }
}

#[test]
fn the_pipe_counts_as_full_after_three_rounds_without_a_quarter_more() {
    let mut driven = Driven::new();
    // 4, 5, 6.25 Mbit/s: each a quarter more. 7.8: not a quarter more than 6.25, and the first of three.
    for (rate, full_rounds) in
        [(4_000_000, 0), (5_000_000, 0), (6_260_000, 0), (7_800_000, 1), (7_800_000, 2)]
    {
        driven.ack.rate = Rate(rate);
        driven.round(10);
        assert_eq!((driven.bbr.full_rounds, driven.bbr.full_pipe), (full_rounds, false), "{rate}");
    }
    driven.round(10);
    assert!(driven.bbr.full_pipe);
}

#[test]
fn rounds_that_the_application_limited_do_not_fill_the_pipe() {
    let mut driven = Driven::new();
    driven.round(10);
    for _ in 0..20 {
        driven.ack.now += RTT;
        driven.round_ack(10, 50, Ack::RATE_LIMITED);
    }
    assert!(!driven.bbr.full_pipe);
    for _ in 0..3 {
        assert!(!driven.bbr.full_pipe);
        driven.round(10);
    }
    assert!(driven.bbr.full_pipe);
}

#[test]
fn an_application_limited_sample_counts_only_if_it_is_above_the_estimate() {
    let mut driven = Driven::new();
    driven.round(10);
    for (rate, expected) in [(9_000_000, 10_000_000), (11_000_000, 11_000_000), (10_000_000, 11_000_000)] {
        driven.ack.rate = Rate(rate);
        driven.round_ack(1, 50, Ack::RATE_LIMITED);
        assert_eq!(driven.bbr.max_bandwidth.get(), units::bandwidth(Rate(expected), MSS), "{rate}");
    }
    // For ten rounds and more: nothing slower takes the place of the 11 Mbit/s.
    driven.ack.rate = Rate(5_000_000);
    for _ in 0..20 {
        driven.round_ack(1, 50, Ack::RATE_LIMITED);
    }
    assert_eq!(driven.bbr.max_bandwidth.get(), units::bandwidth(Rate(11_000_000), MSS));
}

#[test]
fn the_pacing_rate_does_not_fall_before_the_pipe_was_full() {
    let mut driven = Driven::new();
    let first = driven.control.pacing;
    driven.ack.rate = Rate(500_000);
    driven.round(1);
    assert_eq!(driven.control.pacing, first);
    driven.ack.rate = Rate(2_000_000);
    driven.round(1);
    // 2 Mbit/s x 739/256 x 0.99
    near(driven.control.pacing.0 as f64, 5_715_703.0, 5_715.0);
}

#[test]
fn without_an_rtt_a_millisecond_is_assumed_until_one_is_known() {
    let (mut bbr, mut control) = (Bbr::default(), Control { cwnd: 10 * MSS, ..Control::default() });
    bbr.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut control);
    near(pace(&control), 10.0 * 2.887 * 0.99, 0.05);
    // Its own first sample: 10 segments in 50 ms are 0.2 a millisecond (the window may have grown by then).
    let rtt = Nanos::from_millis(50);
    let ack = Ack {
        now: rtt,
        srtt: rtt,
        rtt,
        acked: MSS,
        delivered: MSS,
        rate: Rate(8_000),
        mss: MSS as u32,
        ..Ack::default()
    };
    let _ = bbr.on_ack(&ack, &mut control);
    near(pace(&control), 0.2 * 2.887 * 0.99, 0.001);
}

#[test]
fn a_recovery_begins_with_a_round_of_conservation_and_ends_at_the_window_it_began_with() {
    let mut driven = Driven::cruising();
    let window = driven.cwnd();
    driven.congestion(Trigger::Loss);
    assert_eq!(driven.cwnd(), window);
    // Five lost, one delivered, 150 left in flight: the window is what is in flight and one for the one delivered.
    driven.ack.lost += 5 * MSS;
    driven.ack(1, 150, Ack::RECOVERY);
    assert_eq!(driven.cwnd(), 151);
    // As many leave as arrive, through the round; three more lost.
    driven.ack(2, 149, Ack::RECOVERY);
    assert_eq!(driven.cwnd(), 151);
    driven.ack.lost += 3 * MSS;
    driven.ack(1, 146, Ack::RECOVERY);
    assert_eq!(driven.cwnd(), 148);
    // The next round: as slow start, towards the target.
    driven.round_ack(2, 146, Ack::RECOVERY);
    assert_eq!(driven.cwnd(), 150);
    // Repaired: the window of before, at once; no more than the target.
    driven.ack(1, 149, 0);
    assert!(driven.cwnd() >= 206 && driven.cwnd() <= window + 2, "{}", driven.cwnd());
}

#[test]
fn a_timeout_restarts_from_one_segment_and_ends_at_the_window_of_before() {
    let mut driven = Driven::cruising();
    let window = driven.cwnd();
    driven.congestion(Trigger::Timeout);
    assert_eq!(driven.cwnd(), 1);
    // All 150 counted as lost when it fired: they do not count against this ACK, which begins slow start from the
    // least window.
    driven.ack.lost += 150 * MSS;
    driven.ack(1, 0, Ack::RECOVERY);
    assert_eq!(driven.cwnd(), 4);
    driven.ack(3, 2, Ack::RECOVERY);
    assert_eq!(driven.cwnd(), 7);
    // A loss that this ACK shows does.
    driven.ack.lost += MSS;
    driven.ack(2, 4, Ack::RECOVERY);
    assert_eq!(driven.cwnd(), 8);
    driven.ack(1, 4, 0);
    assert!(driven.cwnd() >= 206 && driven.cwnd() <= window + 2, "{}", driven.cwnd());
}

#[test]
fn a_mark_changes_nothing() {
    let mut driven = Driven::cruising();
    let window = driven.control;
    driven.congestion(Trigger::Mark);
    assert_eq!(driven.control, window);
    // Retransmissions after a timeout do not count as a recovery either.
    driven.ack(1, 100, Ack::RECOVERY);
    assert!(!driven.bbr.window.conserving);
}

#[test]
fn after_a_spurious_loss_the_pipe_has_to_prove_full_again() {
    let mut driven = Driven::new();
    for _ in 0..3 {
        driven.round(10);
    }
    assert_eq!(driven.bbr.full_rounds, 2);
    driven.bbr.on_spurious();
    // The next round is the first with bandwidth to compare to; three more make it full.
    for _ in 0..4 {
        assert!(!driven.bbr.full_pipe);
        driven.round(10);
    }
    assert!(driven.bbr.full_pipe);
}

#[test]
fn sending_resumes_at_the_estimated_rate_and_an_old_rtt_does_not_stop_it() {
    let mut driven = Driven::cruising();
    driven.ack.now += Nanos::from_secs(20);
    let entry = Entry { now: driven.ack.now, why: Why::Idle, ..Entry::default() };
    driven.bbr.phase = 0;
    driven.bbr.enter(&entry, &mut driven.control);
    near(pace(&driven.control), 0.99, 0.001);
    // The smallest RTT is older than ten seconds, but nobody was sending: the new one simply takes its place.
    driven.ack.rtt = RTT + Nanos::from_millis(5);
    driven.round_ack(1, 9, 0);
    assert_eq!(driven.bbr.mode, Mode::ProbeBandwidth);
    assert_eq!(driven.bbr.min_rtt, Some(105_000));
}

#[test]
fn acks_before_a_pause_are_no_burst_after_it() {
    let mut driven = Driven::cruising();
    // 20 segments, a pause of no time, and 20 more a millisecond later: bursts of 20, not one of 40.
    driven.round(20);
    let burst = driven.bbr.aggregation.window(driven.bbr.bandwidth());
    let entry = Entry { now: driven.ack.now, why: Why::Idle, ..Entry::default() };
    driven.bbr.enter(&entry, &mut driven.control);
    driven.ack(20, 50, 0);
    assert_eq!((burst, driven.bbr.aggregation.window(driven.bbr.bandwidth())), (20, 20));
}

#[test]
fn the_smallest_rtt_seen_again_does_not_put_the_probe_off() {
    let mut driven = Driven::cruising();
    driven.bbr.min_rtt_at = micros(driven.ack.now);
    for _ in 0..9 {
        driven.ack.now += Nanos::from_secs(1);
        driven.round_ack(1, 50, 0);
        assert_eq!(driven.bbr.mode, Mode::ProbeBandwidth);
    }
    driven.ack.now += Nanos::from_secs(1);
    driven.round_ack(1, 50, 0);
    assert_eq!(driven.bbr.mode, Mode::ProbeRtt);
}

#[test]
fn an_old_rtt_is_not_replaced_by_an_ack_that_may_have_been_held_back() {
    let mut driven = Driven::cruising();
    driven.ack.now += Nanos::from_secs(20);
    driven.ack.rtt = RTT + Nanos::from_millis(40);
    driven.round_ack(1, 0, Ack::MAYBE_DELAYED);
    assert_eq!(driven.bbr.min_rtt, Some(100_000));
    driven.round_ack(1, 0, 0);
    assert_eq!(driven.bbr.min_rtt, Some(140_000));
}

#[test]
fn segments_sent_during_probe_rtt_do_not_measure_the_bandwidth() {
    let mut driven = Driven::cruising();
    driven.ack.now += Nanos::from_secs(20);
    driven.round_ack(1, 3, 0);
    assert_eq!(driven.bbr.mode, Mode::ProbeRtt);
    let entered = driven.ack.delivered;
    // Three in flight were sent before; what leaves from now on until they and those after them are delivered
    // counts as limited.
    driven.ack(1, 3, 0);
    let last = driven.ack.delivered + 3 * MSS;
    for (prior, limited) in [(entered - MSS, false), (entered, true), (last, true), (last + MSS, false)] {
        let sample = driven.bbr.read(&Ack { prior_delivered: prior, ..driven.ack });
        assert_eq!(sample.app_limited, limited, "{prior}");
    }
}

#[test]
fn a_policed_path_is_paced_at_its_rate_without_probing() {
    let mut driven = Driven::cruising();
    // Rounds of 101 ms: 50 segments arrive, 25 are lost; samples still show 10 Mbit/s bursts.
    for _ in 0..9 {
        driven.ack.lost += 25 * MSS;
        driven.round(50);
    }
    let policed = driven.bbr.policer.rate().expect("two intervals are alike");
    // 50 segments in 101 ms.
    near(policed as f64, 50.0 / 101_000.0 * f64::from(1 << 24), 100.0);
    for _ in 0..8 {
        near(pace(&driven.control), 0.99 * 50.0 / 101.0, 0.01);
        driven.round(50);
    }
}

#[test]
fn probing_begins_in_any_phase_but_the_one_that_gives_back() {
    let mut bbr = Bbr::default();
    let mut began = [0; 8];
    for at in 0..7000 {
        bbr.enter_probe_bandwidth(Totals { at: at * 997, delivered: 100, lost: 0 });
        began[bbr.phase] += 1;
    }
    assert_eq!(began[1], 0);
    // 1000 each in the mean, standard deviation 29.
    for (phase, count) in began.into_iter().enumerate().filter(|(phase, _)| *phase != 1) {
        assert!((880..=1120).contains(&count), "phase {phase} began {count} times");
    }
}

#[test]
fn a_chain_of_bbr_alone_reports_when_the_pipe_was_full() {
    let mut chain = Chain::new(vec![AnyPhase::by_label("bbr").expect("registered")]).expect("whole");
    chain.start(&Entry { rtt: RTT, mss: MSS as u32, ..Entry::default() }, 10 * MSS, u64::MAX);
    let mut ack =
        Ack { rtt: RTT, srtt: RTT, rate: Rate(10_000_000), acked: MSS, mss: MSS as u32, ..Ack::default() };
    for round in 1..=4 {
        assert_eq!(chain.startup_exit(), None, "round {round}");
        ack.now += RTT;
        ack.prior_delivered = ack.delivered;
        ack.delivered += MSS;
        chain.on_ack(&ack);
    }
    let exit = chain.startup_exit().expect("three rounds without growth");
    assert_eq!((exit.at, exit.reason), (ack.now, Exit::Delivery));
    // And learns that sending resumes: pacing falls to the estimate, less 1 %.
    chain.on_idle(Entry { now: ack.now, rtt: RTT, ..Entry::default() });
    near(chain.control.pacing.0 as f64, 9_900_000.0, 5_000.0);
}

#[test]
fn gains_are_the_kernel_s() {
    assert_eq!((HIGH_GAIN, DRAIN_GAIN), (ONE * 2885 / 1000 + 1, ONE * 1000 / 2885));
}
