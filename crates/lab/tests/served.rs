//! A server under test as a host of scenarios.

use std::path::Path;
use std::thread;
use std::time::Duration;

use firstflight_contract::Nanos;
use firstflight_hosts::host::{Host, Observe, Refusal};
use firstflight_hosts::progress::Halt;
use firstflight_hosts::simulator::Simulator;
use firstflight_lab::{Served, check};
use firstflight_results::RunResult;
use firstflight_scenario::Scenario;

fn scenario(text: &str) -> Scenario {
    firstflight_scenario::parse(text, "test.toml").expect("a valid scenario").scenario
}

/// Attempts to find the machine on time, with pauses of 5 s: other work of the host of a virtual machine comes and goes.
const ATTEMPTS: u32 = 20;

/// The run of a scenario on a machine that is on time; without such a machine the test is skipped.
fn on_time(text: &str) -> Option<RunResult> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        match run(text) {
            Ok(result) => return Some(result),
            Err(refusal) if !refusal.why.contains("are allowed") => panic!("it runs: {refusal:?}"),
            Err(refusal) if attempts == ATTEMPTS => {
                firstflight_skip::skip(format!("accuracy: {}", refusal.why));
                return None;
            }
            Err(_) => thread::sleep(Duration::from_secs(5)),
        }
    }
}

/// Runs a scenario on quinn's server, which is a part of this program.
fn run(text: &str) -> Result<RunResult, Refusal> {
    let server = Served::named("quinn", Path::new("none")).expect("it needs no installation");
    let observe = Observe { grid: Nanos::from_millis(100), ..Observe::default() };
    match server.run(&scenario(text), 1, &observe) {
        Ok(run) => Ok(run.result),
        Err(Halt::Failed(refusal)) => Err(refusal),
        Err(Halt::Stopped) => panic!("the run was stopped"),
    }
}

const PATH: &str = "[path]\nrate = \"20 Mbit/s\"\nrtt = \"60 ms\"\nbuffer = \"1 BDP\"\n";

#[test]
fn flows_of_a_scenario_are_responses_of_a_server() {
    if !check::can_run(&check::abilities()) {
        firstflight_skip::skip("`firstflight lab check` says what this machine lacks");
        return;
    }
    let text = format!(
        "{PATH}drop = [3]\n[[flow]]\nname = \"a\"\nprofile = \"quinn\"\nsize = \"30 KB\"\ncount = 2\nstart = {{ every = \"200 ms\" }}\n\
         [[flow]]\nname = \"far\"\nprofile = \"quinn\"\nsize = \"12345 B\"\nextra_rtt = \"100 ms\"\n"
    );
    let Some(result) = on_time(&text) else { return };
    assert_eq!(result.host.as_deref(), Some("quinn"));
    let names: Vec<_> = result.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["a.0", "a.1", "far.0"]);
    for (flow, bytes) in result.flows.iter().zip([30_000, 30_000, 12_345]) {
        // The third datagram of each flow, and no other, for the buffer holds all of them.
        assert_eq!((flow.delivered_bytes, flow.lost_packets, flow.retransmits), (bytes, 1, 1), "{flow:?}");
        assert_eq!((flow.startup.as_str(), flow.avoidance.as_str()), ("quinn", "quinn"));
        assert!((9..=11).contains(&flow.first_flight_packets), "{flow:?}");
    }
    assert_eq!(result.links.iter().map(|link| link.drops).sum::<u64>(), 3);
    let took: Vec<f64> = result.flows.iter().map(|flow| flow.completion_s.expect("it ends")).collect();
    // A round trip, and the repair, a round trip later; of the third flow each has 160 ms.
    assert!(took[0] > 0.12 && took[1] > 0.12 && took[2] > 0.32, "{took:?}");
    let starts: Vec<f64> = result.flows.iter().map(|flow| flow.start_s).collect();
    // A handshake takes a round trip, and the request half of one.
    assert!(starts[0] >= 0.09 && starts[1] >= 0.29 && starts[2] >= 0.24, "{starts:?}");
    let simulated = Simulator.run(&scenario(&text), 1, &Observe::default()).expect("it runs").result;
    assert_eq!(simulated.flows.iter().map(|flow| flow.lost_packets).sum::<u64>(), 3);
}

#[test]
fn a_run_with_a_duration_ends_within_a_transfer() {
    if !check::can_run(&check::abilities()) {
        firstflight_skip::skip("`firstflight lab check` says what this machine lacks");
        return;
    }
    let text = format!(
        "duration = \"1 s\"\n{PATH}[[flow]]\nprofile = \"quinn\"\nsize = \"10 MB\"\n[[udp]]\nrate = \"1 Mbit/s\"\n"
    );
    let Some(result) = on_time(&text) else { return };
    let flow = &result.flows[0];
    assert_eq!((result.simulated_s, flow.completion_s, flow.size_bytes), (1.0, None, Some(10_000_000)));
    // 20 Mbit/s for 1 s are 2.5 MB.
    assert!((100_000..2_500_000).contains(&flow.delivered_bytes), "{flow:?}");
    assert!(result.links[0].packets > 800, "{:?}", result.links);
}

#[test]
fn a_server_that_is_not_installed_is_named_with_its_remedy() {
    let missing = Served::named("s2n-quic", Path::new("none")).expect_err("it is not there").to_string();
    assert!(missing.starts_with("the stack s2n-quic is not installed"), "{missing}");
    assert!(missing.contains("`make stacks`"), "{missing}");
}
