//! The order in which a chain runs its phases, seen from the host.

use firstflight_contract::{Ack, Congestion, Entry, Exit, Nanos, Plan, Rate, StartupExit, Trigger};
use firstflight_host::chain::Chain;
use firstflight_schemes::registry::AnyPhase;

const MSS: u64 = 1000;
const RTT: Nanos = Nanos::from_millis(100);

fn chain(labels: &[&str]) -> Chain<AnyPhase> {
    Chain::new(AnyPhase::chain(labels).expect("registered")).expect("a start-up scheme, then avoidance")
}

fn started(labels: &[&str], initial_window: u64, ssthresh: u64) -> Chain<AnyPhase> {
    let mut chain = chain(labels);
    let entry = Entry {
        rtt: RTT,
        flow_size: 100 * MSS,
        receive_window: 1000 * MSS,
        mss: MSS as u32,
        ..Entry::default()
    };
    chain.start(&entry, initial_window, ssthresh);
    chain
}

fn ack(at_ms: u64, flags: u32) -> Ack {
    Ack {
        now: Nanos::from_millis(at_ms),
        rtt: RTT,
        min_rtt: RTT,
        srtt: RTT,
        acked: MSS,
        growth: MSS,
        sent: 100 * MSS,
        flags,
        mss: MSS as u32,
        ..Ack::default()
    }
}

fn congestion(at_ms: u64, trigger: Trigger, base: u64) -> Congestion {
    Congestion { now: Nanos::from_millis(at_ms), trigger, base, mss: MSS as u32, ..Congestion::default() }
}

#[test]
fn the_end_of_start_up_is_reported_at_once_while_its_phase_still_answers_losses() {
    let mut chain = started(&["jump-start", "reno"], 3 * MSS, u64::MAX);
    assert_eq!(chain.startup_exit(), None);
    chain.on_ack(&ack(100, Ack::ROUND_START));
    // One segment of slow start came with that ACK.
    let exit = StartupExit { at: Nanos::from_millis(100), cwnd: 101 * MSS, reason: Exit::PacedOut };
    assert_eq!((chain.startup_exit(), chain.in_avoidance()), (Some(exit), false));
    assert_eq!(chain.control.pacing, Rate::NONE);
    // Thirty packets of the first flight are retransmitted: the window is (100 - 30)/2.
    chain.on_congestion(&congestion(110, Trigger::Loss, 101 * MSS));
    chain.on_ack(&Ack { retransmitted: 30 * MSS, ..ack(200, 0) });
    assert_eq!((chain.control.cwnd, chain.in_avoidance()), (35 * MSS, true));
    assert_eq!(chain.startup_exit(), Some(exit), "the first reason is the one that counts");
}

#[test]
fn after_a_jump_that_lost_packets_exponential_growth_begins_from_what_it_leaves() {
    // The thesis's section 5.2, Jump Start and EXP-TCP together: 100 packets, 40 of them sent again, leave (100 - 40)/2 = 30.
    let mut chain = started(&["jump-start", "exp"], 3 * MSS, u64::MAX);
    chain.on_ack(&ack(100, Ack::ROUND_START));
    chain.on_congestion(&congestion(110, Trigger::Loss, 101 * MSS));
    chain.on_ack(&Ack { retransmitted: 40 * MSS, ..ack(200, 0) });
    assert_eq!((chain.control.cwnd, chain.in_avoidance()), (30 * MSS, true));
    // Equation (3) with w_0 = 30, after ten round trips: 30 + (1.05^10 - 1) sqrt(30) = 33.44.
    let mut rounds = 0.0;
    while rounds < 10.0 {
        rounds += MSS as f64 / chain.control.cwnd as f64;
        chain.on_ack(&ack(300, 0));
    }
    assert!((33_300..33_600).contains(&chain.control.cwnd), "{}", chain.control.cwnd);
}

#[test]
fn a_timeout_in_avoidance_begins_start_up_again_without_a_second_exit() {
    let mut chain = started(&["slow-start", "cubic"], 10 * MSS, 12 * MSS);
    chain.on_ack(&ack(1, 0));
    chain.on_ack(&ack(2, 0));
    let exit = Some(StartupExit { at: Nanos::from_millis(2), cwnd: 12 * MSS, reason: Exit::Threshold });
    assert_eq!(chain.startup_exit(), exit);
    chain.on_congestion(&congestion(500, Trigger::Timeout, 12 * MSS));
    // 12 x 0.7 = 8.4 packets.
    assert_eq!((chain.control.cwnd, chain.control.ssthresh), (MSS, 8_400));
    assert!(!chain.in_avoidance());
    for n in 0..8 {
        chain.on_ack(&ack(600 + n, 0));
    }
    assert_eq!((chain.control.cwnd, chain.in_avoidance(), chain.startup_exit()), (9 * MSS, true, exit));
}

#[test]
fn after_a_spurious_timeout_avoidance_continues_with_its_state() {
    let run = |spurious: bool| {
        let mut chain = started(&["slow-start", "cubic"], 10 * MSS, 100 * MSS);
        for n in 0..90 {
            chain.on_ack(&ack(100 + n, 0));
        }
        chain.on_congestion(&congestion(200, Trigger::Loss, 100 * MSS));
        for n in 0..2000 {
            chain.on_ack(&ack(300 + n, 0));
            if spurious && n == 1000 {
                chain.on_congestion(&congestion(1300, Trigger::Timeout, chain.control.cwnd));
                chain.on_spurious();
            }
        }
        (chain.control, chain.in_avoidance())
    };
    let (undisturbed, in_avoidance) = run(false);
    assert!(in_avoidance && undisturbed.cwnd > 75 * MSS, "the flow grew from 70 packets: {undisturbed:?}");
    assert_eq!(run(true), (undisturbed, true));
}

#[test]
fn a_flight_above_the_window_does_not_let_congestion_raise_it() {
    // After a timeout the window is one segment while old packets still count as flight: half a FlightSize of
    // 100 would be 50.
    let mut chain = started(&["slow-start", "reno"], 10 * MSS, u64::MAX);
    chain.on_congestion(&congestion(100, Trigger::Timeout, 100 * MSS));
    chain.on_ack(&ack(200, 0));
    assert_eq!(chain.control.cwnd, 2 * MSS);
    chain.on_congestion(&congestion(300, Trigger::Loss, 100 * MSS));
    assert_eq!((chain.control.cwnd, chain.control.ssthresh), (2 * MSS, 50 * MSS));
}

#[test]
fn a_plan_after_an_idle_time_restarts_a_scheme_that_follows_plans() {
    let plan = Plan { cwnd: 15 * MSS, ssthresh: 15 * MSS, rtt: RTT, ..Plan::default() };
    for (startup, cwnd) in [("spand", 15 * MSS), ("slow-start", 10 * MSS)] {
        let mut chain = started(&[startup, "reno"], 9 * MSS, 10 * MSS);
        chain.on_ack(&ack(100, 0));
        assert!(chain.in_avoidance());
        chain.on_idle(Entry { now: Nanos::from_secs(9), rtt: RTT, plan, ..Entry::default() });
        assert_eq!((chain.in_avoidance(), chain.control.cwnd), (startup != "spand", cwnd), "{startup}");
    }
}

#[test]
fn a_phase_for_idle_times_leads_back_to_where_the_window_is_and_ends_no_start_up() {
    let pacing = || AnyPhase::by_label("rate-based-pacing").expect("registered");
    let resumed = |ssthresh| {
        let mut chain = chain(&["hystart++", "cubic"]).resuming_with(pacing());
        let entry = Entry { rtt: RTT, mss: MSS as u32, ..Entry::default() };
        chain.start(&entry, 10 * MSS, ssthresh);
        assert_eq!((chain.label(), chain.resumes()), ("hystart+++cubic".into(), true));
        for n in 0..30 {
            chain.on_ack(&ack(100 + n, 0));
        }
        let before = (chain.control.cwnd, chain.in_avoidance(), chain.startup_exit());
        chain.control.cwnd = 10 * MSS;
        let idle = Entry { now: Nanos::from_secs(9), rtt: RTT, window: before.0, ..Entry::default() };
        chain.on_idle(idle);
        // Three quarters of the old window, whatever the host's rule left.
        assert_eq!(chain.control.cwnd, (before.0 * 3 / 4 + MSS / 2) / MSS * MSS);
        assert_eq!(chain.control.pacing, Rate::of(chain.control.cwnd, RTT));
        assert!(!chain.in_avoidance());
        chain.on_ack(&Ack { in_flight: chain.control.cwnd, ..ack(9100, 0) });
        assert_eq!(chain.control.pacing, Rate::NONE);
        assert_eq!(chain.startup_exit(), before.2, "what happened before counts");
        (before.1, chain)
    };
    // Start-up had not ended, and goes on.
    let (avoided, chain) = resumed(u64::MAX);
    assert!(!avoided && !chain.in_avoidance());
    assert_eq!(chain.control.cwnd, 31 * MSS, "0.75 x 40, and one for the ACK");
    // It had, and 0.75 of what avoidance had reached is still above the threshold.
    let (avoided, chain) = resumed(12 * MSS);
    assert!(avoided && chain.control.cwnd >= 8 * MSS);
    // A timeout while it paces is answered by the phases behind it.
    let mut chain = chain;
    chain.on_idle(Entry { rtt: RTT, window: 20 * MSS, ..Entry::default() });
    chain.on_congestion(&congestion(9500, Trigger::Timeout, 15 * MSS));
    assert_eq!((chain.control.cwnd, chain.control.pacing), (MSS, Rate::NONE));
    chain.on_ack(&ack(9600, 0));
    assert_eq!(chain.control.cwnd, 2 * MSS, "slow start, by the scheme that the connection began with");
}

#[test]
fn a_window_not_below_its_threshold_is_in_avoidance_from_the_start() {
    // A large initial window "straight to congestion avoidance": 64 KB and as much of a threshold.
    let mut chain = started(&["slow-start", "reno"], 64 * MSS, 64 * MSS);
    let exit = StartupExit { at: Nanos::ZERO, cwnd: 64 * MSS, reason: Exit::Threshold };
    assert_eq!((chain.in_avoidance(), chain.startup_exit()), (true, Some(exit)));
    // A host that begins again, with a smaller window, has what it would have had.
    let entry = Entry { rtt: RTT, mss: MSS as u32, ..Entry::default() };
    chain.start(&entry, 10 * MSS, 64 * MSS);
    assert_eq!((chain.in_avoidance(), chain.startup_exit()), (false, None));
    // Others may raise the threshold.
    assert!(!started(&["adaptive-start", "reno"], 64 * MSS, 64 * MSS).in_avoidance());
}
