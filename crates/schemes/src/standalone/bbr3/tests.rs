//! Tests of the parts whose values can be computed by hand. The draft's cases run in the simulator (tests of crate `hosts`).

mod vectors;

use super::{Bbr3, Parameters, State, View};
use crate::scheme::Fixed;
use firstflight_contract::{Ack, Congestion, Control, Entry, Lost, Nanos, Phase, Rate, Trigger, Why};

const MSS: u64 = 1000;
const RTT: Nanos = Nanos::from_millis(100);

/// A connection of segments of 1000 bytes whose ACKs a test makes.
struct Connection {
    bbr: Bbr3,
    control: Control,
    now: Nanos,
    delivered: u64,
    lost: u64,
}

impl Connection {
    fn new(parameters: Parameters) -> Self {
        let mut connection = Self {
            bbr: Bbr3 { parameters, ..Bbr3::default() },
            control: Control { cwnd: 10 * MSS, ..Control::default() },
            now: RTT,
            delivered: 0,
            lost: 0,
        };
        let entry = Entry { now: RTT, rtt: RTT, mss: MSS as u32, ..Entry::default() };
        connection.bbr.enter(&entry, &mut connection.control);
        connection
    }

    /// A round trip later, an ACK of a segment of this round at `rate`, with `pipe` left in flight.
    fn round(&mut self, rate: Rate, pipe: u64) -> View {
        self.now += RTT;
        let prior_delivered = self.delivered;
        self.delivered += rate.bytes_in(RTT).max(MSS);
        let ack = Ack {
            now: self.now,
            rtt: RTT,
            min_rtt: RTT,
            srtt: RTT,
            acked: self.delivered - prior_delivered,
            delivered: self.delivered,
            lost: self.lost,
            in_flight: pipe + MSS,
            pipe,
            rate,
            prior_delivered,
            prior_lost: self.lost,
            prior_in_flight: pipe,
            mss: MSS as u32,
            ..Ack::default()
        };
        let _ = self.bbr.on_ack(&ack, &mut self.control);
        self.bbr.view()
    }

    fn lose(&mut self, number: u64, prior_lost: u64, in_flight: u64) -> View {
        self.lost += MSS;
        let lost = Lost {
            now: self.now,
            bytes: MSS,
            number,
            delivered: self.delivered,
            lost: self.lost,
            prior_delivered: self.delivered.saturating_sub(in_flight),
            prior_lost,
            prior_in_flight: in_flight,
            flags: 0,
            mss: MSS as u32,
        };
        self.bbr.on_lost(&lost, &mut self.control);
        self.bbr.view()
    }

    /// Startup at 8 Mbit/s, a BDP of 100 segments, until the state is `state`.
    fn run_to(&mut self, state: State) -> View {
        for _ in 0..200 {
            let view = self.round(Rate(8_000_000), 90 * MSS);
            if view.state == state {
                return view;
            }
        }
        panic!("never {state:?}");
    }
}

#[test]
fn the_first_rate_is_the_initial_window_over_the_round_trip_at_the_gain_of_startup() {
    let connection = Connection::new(Parameters::default());
    // 10 000 bytes in 100 ms are 800 kbit/s, times 2.77.
    assert_eq!(connection.control.pacing, Rate(2_216_000));
    let mut unknown = Connection::new(Parameters::default());
    let entry = Entry { mss: MSS as u32, ..Entry::default() };
    unknown.bbr = Bbr3::default();
    unknown.control = Control { cwnd: 10 * MSS, ..Control::default() };
    unknown.bbr.enter(&entry, &mut unknown.control);
    // 10 000 bytes in a millisecond; the first round-trip time corrects it.
    assert_eq!(unknown.control.pacing, Rate(221_600_000));
    unknown.round(Rate(80_000), 9 * MSS);
    assert_eq!(unknown.control.pacing, Rate(2_216_000));
}

#[test]
fn three_rounds_without_a_quarter_more_end_startup_and_the_growth_is_a_parameter() {
    let rounds_to_drain = |growth: f64| {
        let parameters = Parameters { full_bw_growth: Fixed::new(growth), ..Parameters::default() };
        let mut connection = Connection::new(parameters);
        // A tenth more each round.
        let mut rate = 8_000_000.0;
        (1..50).find(|_| {
            rate *= 1.1;
            connection.round(Rate(rate as u64), 200 * MSS).state == State::Drain
        })
    };
    // 1.1, 1.21 and then 1.33 of the baseline: the third round is a quarter more, and the count begins again.
    assert_eq!(rounds_to_drain(1.25), None);
    // 1.1^3 = 1.331 is below 1.4: rounds 2, 3 and 4.
    assert_eq!(rounds_to_drain(1.4), Some(4));
}

#[test]
fn losses_between_two_probes_lower_the_short_term_bounds_once_a_round() {
    let mut connection = Connection::new(Parameters::default());
    connection.run_to(State::Cruise);
    let cwnd = connection.control.cwnd;
    // The rounds of losses end after the one in which the rate had been 8 Mbit/s: then only what they deliver counts.
    connection.round(Rate(4_000_000), 60 * MSS);
    connection.lose(500, connection.lost, 100 * MSS);
    let view = connection.round(Rate(4_000_000), 60 * MSS);
    // 0.7 of 8 Mbit/s is more than the 4 that the round delivered, and 0.7 of the window more than its 50 segments.
    assert_eq!((view.bw_shortterm, view.inflight_shortterm), (Rate(5_600_000), cwnd * 7 / 10));
    connection.lose(600, connection.lost, 100 * MSS);
    let view = connection.round(Rate(4_000_000), 60 * MSS);
    // 0.7 of 5.6 Mbit/s are 3.92: the 4 that were delivered are the bound.
    assert_eq!(view.bw_shortterm, Rate(4_000_000));
}

#[test]
fn a_probe_is_over_at_the_packet_with_which_the_losses_pass_the_threshold() {
    let mut connection = Connection::new(Parameters::default());
    connection.run_to(State::Up);
    let before = connection.lost;
    // 101 segments in flight: 2 % are 2020 bytes. Two losses are not too much, the third is.
    assert_eq!(connection.lose(1000, before, 101 * MSS).state, State::Up);
    assert_eq!(connection.lose(1001, before, 101 * MSS).state, State::Up);
    let view = connection.lose(1002, before, 101 * MSS);
    assert_eq!(view.state, State::Down);
    // Before it 100 segments were in flight and two lost, which is the threshold of 2000 bytes: nothing of the packet was left.
    assert_eq!(view.inflight_longterm, 100 * MSS);
}

#[test]
fn a_spurious_recovery_in_up_leads_to_refill_and_restores_the_bounds() {
    let mut connection = Connection::new(Parameters::default());
    connection.run_to(State::Up);
    let before = connection.bbr.view();
    let event = Congestion {
        now: connection.now,
        in_flight: 100 * MSS,
        base: 100 * MSS,
        trigger: Trigger::Loss,
        mss: MSS as u32,
        ..Congestion::default()
    };
    let _ = connection.bbr.on_congestion(&event, &mut connection.control);
    for number in 0..3 {
        connection.lose(2000 + number, 0, 100 * MSS);
    }
    assert_eq!(connection.bbr.view().state, State::Down);
    assert_ne!(connection.bbr.view().inflight_longterm, before.inflight_longterm);
    connection.bbr.on_spurious();
    let view = connection.bbr.view();
    assert_eq!((view.state, view.inflight_longterm), (State::Refill, before.inflight_longterm));
}

#[test]
fn the_wait_before_a_probe_is_two_to_three_seconds_and_the_seed_changes_it() {
    let waits: std::collections::BTreeSet<_> = (0..20)
        .map(|seed| {
            let mut connection = Connection::new(Parameters { seed, ..Parameters::default() });
            connection.run_to(State::Cruise).probe_wait
        })
        .collect();
    assert!(waits.iter().all(|wait| (2_000..3_000).contains(&(wait.0 / 1_000_000))), "{waits:?}");
    assert_eq!(waits.len(), 20, "{waits:?}");
}

#[test]
fn the_budget_is_three_quanta_of_a_millisecond_within_their_bounds() {
    let bbr = Connection::new(Parameters::default()).bbr;
    // Two segments at least: six. 400 Mbit/s are 50 000 bytes a millisecond. 64 KiB at most.
    for (pacing, budget) in [(1_000_000, 6_000), (400_000_000, 150_000), (10_000_000_000, 196_608)] {
        assert_eq!(bbr.inflight(Rate::NONE, 1000, Rate(pacing)), budget, "{pacing}");
    }
    let quic = Connection::new(Parameters { offload_quanta: 1, ..Parameters::default() }).bbr;
    // A quantum of two segments is below the four of the smallest window.
    assert_eq!(quic.inflight(Rate::NONE, 1000, Rate(1_000_000)), 4_000);
}

#[test]
fn after_an_idle_time_it_paces_at_the_bandwidth_itself() {
    let mut connection = Connection::new(Parameters::default());
    connection.run_to(State::Up);
    let entry = Entry { now: connection.now, why: Why::Idle, mss: MSS as u32, ..Entry::default() };
    connection.bbr.enter(&entry, &mut connection.control);
    // 99 % of 8 Mbit/s.
    assert_eq!(connection.control.pacing, Rate(7_920_000));
    assert!(connection.bbr.view().idle_restart);
}
