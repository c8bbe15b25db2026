//! Effects of a link's settings on a transfer, from the scenario's text.

use firstflight_contract::Nanos;
use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::network::build;
use firstflight_hosts::simulator::Simulator;
use firstflight_results::RunResult;
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

/// Flows of a run of ten packets of 1000 bytes, which take 1 ms each on the bottleneck, with further keys of the path and the flow.
fn ten_packets(path: &str, flow: &str) -> RunResult {
    let text = format!(
        "[path]\nrate = \"8 Mbit/s\"\naccess_rate = \"80 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"100 packets\"\n{path}\n\
         [packet]\nsize = \"1000 B\"\n\
         [[flow]]\nsize = \"10 packets\"\ninitial_window = \"10 packets\"\nrecovery = \"newreno\"\nreceiver = \"ack-every-packet\"\nhandshake = false\n{flow}\n"
    );
    let scenario = Scenario::from_text(&text).unwrap_or_else(|error| panic!("{error}"));
    Simulator.run(&scenario, 1, &Observe::default()).unwrap_or_else(|error| panic!("{error}")).result
}

#[test]
fn the_third_of_ten_packets_is_lost_and_the_times_are_those_counted_by_hand() {
    // Packet i leaves the bottleneck at 0.1 + i ms, for an access link takes 0.1 ms, and arrives at 50.2 + i ms. Its ACK of 40 bytes
    // takes 0.04 ms on the bottleneck, and 0.004 ms on each access link.
    let whole = 60.2 + 50.048;
    // Packet 6, at 56.2 ms, causes the third duplicate ACK. The retransmission that follows finds free links: 1.2 ms and 50 ms; its
    // ACK covers all.
    let repaired = 56.2 + 50.048 + 51.2 + 50.048;
    for (flow, queue) in [("", ""), ("direction = \"reverse\"", ""), ("", "queue = \"codel\"")] {
        for (drop, expected, lost) in [("", whole, 0), ("drop = [3]", repaired, 1), ("drop = [11]", whole, 0)]
        {
            let run = ten_packets(&format!("{drop}\n{queue}"), flow);
            let flow = &run.flows[0];
            let took = flow.completion_s.expect("it ends") * 1e3;
            assert!((took - expected).abs() < 1e-5, "{drop} {queue}: {took} ms, expected {expected}");
            assert_eq!((flow.retransmits, flow.lost_packets, flow.timeouts), (lost, lost, 0));
            assert_eq!(run.links.iter().map(|link| link.drops).sum::<u64>(), lost);
        }
    }
}

#[test]
fn a_retransmission_has_the_next_number_and_each_flow_has_numbers_of_its_own() {
    // The retransmission of packet 3 is the eleventh packet: only the timeout repairs it.
    let run = ten_packets("drop = [3, 11]", "");
    let flow = &run.flows[0];
    assert_eq!((flow.retransmits, flow.lost_packets, flow.timeouts), (2, 2, 1));
    let run = ten_packets("drop = [3]", "count = 3\nstart = { every = \"1 s\" }");
    let took: Vec<f64> = run.flows.iter().map(|flow| flow.completion_s.expect("it ends")).collect();
    assert!(took.iter().all(|took| (took - 0.207_496).abs() < 1e-8), "{took:?}");
    // ACKs and datagrams of a source are no data of a flow.
    let run = ten_packets("drop = [1]", "[[udp]]\nrate = \"1 Mbit/s\"\n");
    assert_eq!(run.links.iter().map(|link| link.drops).sum::<u64>(), 1);
}
