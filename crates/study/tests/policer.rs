//! Transfers through a policer, from the scenario's text.

use firstflight_scenario::Scenario;
use firstflight_study::host::{Host, Observe};
use firstflight_study::simulator::Simulator;

/// Completion of 1 MB on a line of 50 Mbit/s behind `queue`, seconds, and the number of packets that the network dropped.
fn transfer(queue: &str, scheme: &str) -> (f64, u64) {
    let text = format!(
        "[path]\nrate = \"50 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"1 BDP\"\nqueue = {queue}\n\
         [[flow]]\nprofile = \"linux\"\nsize = \"1 MB\"\n{scheme}\n"
    );
    let scenario = Scenario::from_text(&text).unwrap_or_else(|error| panic!("{error}"));
    let outcome =
        Simulator.run(&scenario, 1, &Observe::default()).unwrap_or_else(|error| panic!("{error}")).result;
    let drops = outcome.links.iter().map(|link| link.drops).sum();
    (outcome.flows[0].completion_s.expect("finished"), drops)
}

#[test]
fn a_megabyte_takes_at_least_the_time_in_which_its_tokens_accrue() {
    let policer = "{ kind = \"policer\", rate = \"8 Mbit/s\", burst = \"60 KB\" }";
    // Every 1448 bytes are a packet of 1500.
    let least = (1e6 * 1500.0 / 1448.0 - 60e3) * 8.0 / 8e6;
    for scheme in ["avoidance = \"reno\"", "avoidance = \"cubic\"", "startup = \"bbr\""] {
        let (policed, drops) = transfer(policer, scheme);
        let (free, _) = transfer("\"drop-tail\"", scheme);
        assert!(policed >= least && drops > 0, "{scheme}: {policed} {least} {drops}");
        assert!(free < least, "{scheme}: {free}");
    }
}
