//! Effects of a link's settings on a transfer, from the scenario's text.

use firstflight_contract::Nanos;
use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::network::build;
use firstflight_hosts::simulator::Simulator;
use firstflight_scenario::Scenario;

/// Completion of 1 MB on a line of 50 Mbit/s behind `queue`, with further keys, seconds, and the packets dropped.
fn transfer(queue: &str, scheme: &str) -> (f64, u64) {
    let text = format!(
        "[path]\nrate = \"50 Mbit/s\"\nrtt = \"20 ms\"\nqueue = {queue}\n\
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
    let policer = "{ kind = \"policer\", rate = \"8 Mbit/s\", burst = \"60 KB\" }\nbuffer = \"1 BDP\"";
    // Every 1448 bytes are a packet of 1500.
    let least = (1e6 * 1500.0 / 1448.0 - 60e3) * 8.0 / 8e6;
    for scheme in ["avoidance = \"reno\"", "avoidance = \"cubic\"", "startup = \"bbr\""] {
        let (policed, drops) = transfer(policer, scheme);
        let (free, _) = transfer("\"drop-tail\"\nbuffer = \"1 BDP\"", scheme);
        assert!(policed >= least && drops > 0, "{scheme}: {policed} {least} {drops}");
        assert!(free < least, "{scheme}: {free}");
    }
}

#[test]
fn a_megabyte_through_a_shaper_ends_with_its_tokens_and_without_a_loss() {
    let least = (1e6 * 1500.0 / 1448.0 - 60e3) * 8.0 / 8e6;
    let shaper =
        "\"drop-tail\"\nshaper = { rate = \"8 Mbit/s\", burst = \"60 KB\" }\nbuffer = \"1000 packets\"";
    for scheme in ["avoidance = \"reno\"", "avoidance = \"cubic\""] {
        let (shaped, drops) = transfer(shaper, scheme);
        // Data never runs out while packets wait: two round trips at most come on top.
        assert!((least..least + 0.04).contains(&shaped) && drops == 0, "{scheme}: {shaped} {least} {drops}");
    }
}

/// Share of losses and length of their runs of each named link of this network.
fn losses(network: &str) -> Vec<(f64, f64)> {
    let scenario = Scenario::from_text(network).unwrap_or_else(|error| panic!("{error}"));
    let built = build(&scenario, 1, Nanos::from_secs(1)).unwrap_or_else(|refusal| panic!("{}", refusal.why));
    built.named_links.iter().map(|&link| &built.network.links[link]).map(|l| (l.loss, l.loss_burst)).collect()
}

#[test]
fn every_network_has_losses_in_bursts() {
    let path = |loss: &str| {
        losses(&format!(
            "[path]\nrate = \"1 Mbit/s\"\nrtt = \"9 ms\"\nbuffer = \"9 packets\"\nloss = {loss}\n[[flow]]\nsize = \"1 KB\"\n"
        ))
    };
    assert_eq!(path("{ mean = 0.01, burst = 4 }"), [(0.01, 4.0); 2]);
    assert_eq!(path("0.01"), [(0.01, 1.0); 2]);
    let link = "rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nbuffer = \"9 packets\"\n";
    let graph = format!(
        "[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\n{link}loss = {{ mean = 0.2, burst = 9 }}\n\
         [[link]]\nfrom = \"b\"\nto = \"a\"\n{link}[[flow]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 KB\"\n"
    );
    assert_eq!(losses(&graph), [(0.2, 9.0), (0.0, 1.0)]);
}
