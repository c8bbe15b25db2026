//! Start-up from measurements of connections that share the bottleneck, in a running network.

use crate::common::{Case, MS, network};
use firstflight_paths::Policy;
use firstflight_sim::config::Network;
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::Observer;
use firstflight_sim::outcome::{Outcome, simulate, simulate_observed};
use firstflight_sim::sender::Sender;

/// A connection in congestion avoidance since its window reached 40 segments, and a second one on the same
/// path that begins at 3 s with `startup`.
fn pair(startup: &'static str) -> Network {
    let case =
        Case { flows: 2, handshake: true, buffer: 400, ssthresh: Some(40), seconds: 8, ..Case::default() };
    let mut first = network(&case);
    let second = network(&Case { schemes: vec![startup, "reno"], ..case });
    first.flows[1] = second.flows[1].clone();
    first.flows[1].app.start = 3000 * MS;
    first.flows[1].sharing.policy = Policy::new(startup, &[]).ok();
    first
}

/// Registers of the second connection when it begins, and the window of the first at that time.
#[derive(Clone, Default)]
struct Begin {
    first: u64,
    second: Option<(u64, u64)>,
}

impl Observer for Begin {
    const ON: bool = true;
    fn acted(&mut self, _: u64, flow: u32, sender: &Sender) {
        let control = &sender.chain.control;
        match flow {
            0 if self.second.is_none() => self.first = control.cwnd,
            1 if sender.app().established_at().is_some() && self.second.is_none() => {
                self.second = Some((control.cwnd, control.ssthresh));
            }
            _ => {}
        }
    }
}

fn begin(startup: &'static str) -> (u64, (u64, u64)) {
    let (_, seen) = simulate_observed(&pair(startup), Mode::Fused, Begin::default());
    (seen.first, seen.second.expect("the second connection begins"))
}

#[test]
fn liss_begins_at_two_segments_with_half_the_steady_window_as_threshold() {
    // Equation (2) with L = 1 and S = 0: s_n = (0 + 1 w_o)/(1 + 0 + 1) = w_o/2.
    let (steady, (cwnd, ssthresh)) = begin("liss");
    assert!(steady > 40 * 960, "in congestion avoidance for more than two seconds");
    assert_eq!(cwnd, 2 * 960);
    assert_eq!(ssthresh / 960, steady / 2 / 960);
}

#[test]
fn js_begins_with_half_the_steady_window() {
    let (steady, (cwnd, ssthresh)) = begin("js");
    assert_eq!((cwnd / 960, ssthresh / 960), (steady / 2 / 960, steady / 2 / 960));
}

#[test]
fn a_connection_of_another_cluster_shares_nothing() {
    let mut network = pair("js");
    network.flows[1].sharing.cluster = 1;
    let alone: Outcome = simulate(&network);
    assert_eq!(alone.flows[1].first_flight, 2);
    assert!(simulate(&pair("js")).flows[1].first_flight > 20);
}

#[test]
fn spand_follows_a_plan_after_an_idle_time_and_liss_does_not() {
    let second_transfer = |startup| {
        let mut network = pair(startup);
        let app = &mut network.flows[1].app;
        (app.bytes, app.pauses) = (Some(30 * 960), vec![2000 * MS]);
        let outcome = simulate(&network);
        outcome.flows[1].completions.clone()
    };
    // After two seconds without data the window is the initial one of 2: 30 segments take 2, 4, 8, 16 in four
    // round trips of about 100 ms. With a plan of 15 or more they take two.
    let (spand, liss) = (second_transfer("spand"), second_transfer("liss"));
    assert!(liss[1] > 400 * MS && spand[1] < 300 * MS, "{spand:?} {liss:?}");
}

#[test]
fn the_shared_memory_is_the_same_in_both_modes() {
    for startup in ["liss", "iss", "miss", "js", "cached", "averaged", "spand"] {
        let network = pair(startup);
        let of = |mode| simulate_observed(&network, mode, firstflight_sim::observe::NoObserver).0;
        assert_eq!(of(Mode::Fused), of(Mode::PerHop), "{startup}");
    }
}
