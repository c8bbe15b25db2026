//! Nothing is cut silently between a scenario and the simulator: what cannot be run is refused by its key.

use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::simulator::Simulator;
use firstflight_scenario::Scenario;

fn refusal(text: &str) -> String {
    let scenario = Scenario::from_text(text).unwrap_or_else(|error| panic!("{error}"));
    let refusal = Simulator.run(&scenario, scenario.seed, &Observe::default()).expect_err("a refusal");
    refusal.to_string()
}

#[test]
fn more_flows_than_the_limit_are_refused_and_not_left_out() {
    // A Poisson process of 100 000 flows in the mean: about half of all seeds draw more.
    let text = |seed: u64| {
        format!(
            "seed = {seed}\nduration = \"100000 us\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"1 s\"\nbuffer = \"9 packets\"\n\
             [[flow]]\nstart = {{ exponential = \"1000 ns\" }}\nsize = \"1 B\"\n"
        )
    };
    let check =
        |seed| Simulator.check(&Scenario::from_text(&text(seed)).expect("a scenario"), &Observe::default());
    let refused = (1..20).find_map(|seed| check(seed).err()).expect("a seed with more flows than its mean");
    assert_eq!(refused.to_string(), "duration: this run has 100001 flows; expected at most 100000");
}

#[test]
fn a_run_longer_than_the_clock_is_refused_at_its_duration() {
    // 20 000 connections over three links each way make 160 000 feeds: 18 of 64 bits, which leaves 2^46 ns, 70 368.7 s.
    let text = "duration = \"70400 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"9 ms\"\nbuffer = \"9 packets\"\n[[flow]]\ncount = 20000\nsize = \"1 KB\"\n";
    assert_eq!(
        refusal(text),
        "duration: with 20000 connections the simulator's clock ends after 70368 s; expected a shorter run, or fewer connections"
    );
}

#[test]
fn a_host_that_needs_time_beside_connections_that_share_state_is_refused() {
    let text = "duration = \"9 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"9 ms\"\nbuffer = \"9 packets\"\n[[flow]]\ncount = 2\nstartup = \"liss\"\n[[flow]]\nsack_walk = \"100 ns\"\n";
    assert_eq!(
        refusal(text),
        "flow[1].sack_walk: other connections of this run share state, in whose order no host delays ACKs"
    );
}
