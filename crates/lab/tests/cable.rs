//! An emulated path for programs of any kind.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::simulator::Simulator;
use firstflight_lab::{Cable, check};
use firstflight_results::Validity;
use firstflight_scenario::Scenario;

const SCENARIO: &str = r#"
    duration = "30 s"
    [path]
    rate = "8 Mbit/s"
    rtt = "50 ms"
    buffer = "100 packets"
    [[flow]]
    name = "transfer"
    profile = "linux"
    startup = "slow-start"
    avoidance = "cubic"
    size = "300 KB"
"#;
const BYTES: usize = 300_000;

#[test]
fn a_transfer_over_a_cable_takes_the_time_that_the_simulator_says() {
    if !check::can_run(&check::abilities()) {
        firstflight_skip::skip("`firstflight lab check` says what this machine lacks");
        return;
    }
    let scenario = firstflight_scenario::parse(SCENARIO, "test.toml").expect("a valid scenario").scenario;
    let run = Simulator.run(&scenario, 1, &Observe::default()).expect("it runs");
    let simulated = run.result.flows[0].completion_s.expect("it ends");

    // A transfer counts if the emulator was on time: 99 % of the packets late by half a millisecond at most.
    let transfers = (0..20).map(|_| transfer(&scenario));
    let on_time = transfers.into_iter().find(|(_, validity)| validity.lateness_p99_ms <= 0.5);
    let (took, validity) = on_time.expect("of twenty transfers one is emulated on time");
    // The client sees the last byte half a round trip before the server has its acknowledgment, and the first byte left
    // half a round trip after the end of the client's handshake.
    println!("{took:.3} s over the cable, {simulated:.3} s simulated, {validity:?}");
    assert!((took / simulated - 1.0).abs() <= 0.03, "{took} s, simulated {simulated} s, {validity:?}");
}

#[test]
fn a_queue_that_reads_acknowledgements_is_refused_by_name() {
    let text = "[path]\nrate = \"8 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"60 packets\"\nqueue = \"ack-filter\"\n\
                [[flow]]\nprofile = \"linux\"\nsize = \"100 KB\"\n";
    let scenario = Scenario::from_text(text).expect("a scenario");
    let [near, far] = [Ipv4Addr::new(10, 86, 1, 1), Ipv4Addr::new(10, 86, 1, 2)];
    let refused = Cable::lay(&scenario, &[near], &[far]).expect_err("it is refused").to_string();
    assert!(
        refused.starts_with("queue \"ack-filter\": a cable does not tell connections apart"),
        "{refused}"
    );
}

/// Time of a transfer over a cable, seconds, and whether the emulator was on time.
#[expect(clippy::disallowed_methods, reason = "the test measures a transfer in real time")]
fn transfer(scenario: &Scenario) -> (f64, Validity) {
    let [near, far] = [Ipv4Addr::new(10, 86, 1, 1), Ipv4Addr::new(10, 86, 1, 2)];
    let cable = Cable::lay(scenario, &[near], &[far]).expect("a cable");
    let address = SocketAddr::from((near, 8080));
    let listener = cable.near().run(|| TcpListener::bind(address)).expect("a network").expect("a listener");
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.write_all(&vec![7; BYTES]).expect("it is sent");
        stream
    });
    let mut client =
        cable.far().run(|| TcpStream::connect(address)).expect("a network").expect("a connection");
    let begun = Instant::now();
    let mut bytes = vec![0; BYTES];
    client.read_exact(&mut bytes).expect("it arrives");
    let took = begun.elapsed().as_secs_f64();
    drop(server.join().expect("no panic"));
    drop(client);
    let validity = cable.cut().expect("it was emulated");
    assert!(bytes.iter().all(|byte| *byte == 7));
    (took, validity)
}
