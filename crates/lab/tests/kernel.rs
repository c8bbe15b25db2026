//! Runs on the kernel of this machine.

use firstflight_lab::Kernel;
use firstflight_results::RunResult;
use firstflight_study::host::{Host as _, Observe};

fn run(text: &str) -> RunResult {
    let scenario = firstflight_scenario::parse(text, "test.toml").expect("a valid scenario").scenario;
    Kernel::default()
        .run(&scenario, scenario.seed, &Observe::default())
        .unwrap_or_else(|why| panic!("{why}"))
        .result
}

#[test]
fn slow_start_of_reno_ends_with_the_windows_of_the_reference() {
    let result = run(r#"
        duration = "3 s"
        [path]
        rate = "10 Mbit/s"
        rtt = "100 ms"
        buffer = "83 packets"
        [[flow]]
        profile = "linux"
        avoidance = "reno"
    "#);
    let flow = &result.flows[0];
    let exit = flow.startup_exit.expect("slow start has ended");
    // A window of 10 doubles each round trip; pipe and buffer hold 83 each, so the round of 160 loses all above them. The
    // loss is known one round trip later, when the window has doubled once more.
    assert_eq!(exit.reason.label(), "loss");
    assert!((325.0..=340.0).contains(&exit.cwnd_packets), "{exit:?}");
    assert_eq!((flow.first_flight_packets, flow.timeouts), (10, 0));
    assert_eq!(result.links[0].max_queue_packets, 83);
    assert_eq!((flow.lost_packets, flow.retransmits), (result.links[0].drops, result.links[0].drops));
    assert_eq!((result.host.as_deref(), flow.receiver_reads.as_deref()), (Some("kernel"), Some("eager")));
    let validity = result.validity.expect("a run in real time has one");
    assert!(validity.packets > 3000 && validity.lateness_max_ms <= 10.0, "{validity:?}");
}
