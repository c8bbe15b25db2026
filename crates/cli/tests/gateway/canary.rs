//! A canary, and connections of a container, on the kernel of this machine.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use firstflight_lab::Netns;

use super::common::Scratch;
use super::faults::{ORDERED, SOCKET, command, ground, ready, stock, until_window};
use super::{Gateway, ask};

#[test]
fn a_canary_limits_plans_to_ports_reports_it_and_outlives_a_restart() {
    let scratch = Scratch::new();
    let Some((cgroup, _inside)) = ground(&scratch, "canary") else { return };
    let start = || match ready(command(&scratch, &cgroup).spawn().expect("it starts"), &scratch) {
        Ok(gateway) => gateway,
        Err(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
    };
    let gateway = start();
    until_window(ORDERED, Duration::from_secs(5), "its order is there");
    let rules = ["ports = \"9\"", "ramp = \"50 %\"", "evidence = 10"];
    let begun = ask(&scratch, &[&["canary", "begin"][..], &rules].concat());
    assert_eq!((&begun["state"], &begun["durable"]), (&"running".into(), &true.into()), "{begun}");
    stock("on another port");
    drop(gateway);
    let gateway = start();
    stock("after a restart");
    let report = scratch.run(&["gateway", "canary", SOCKET[0], SOCKET[1]]).out;
    for line in [
        "# Canary of the gateway: running",
        "| ports | 9 |",
        "| ramp | 50.0 % |",
        "| decision | none yet: the step waits for an order: its last step has no end |",
    ] {
        assert!(report.lines().any(|found| found == line), "{line}\n{report}");
    }
    assert!(
        report.contains("| ordered by | user 0, process ") && report.contains("(firstflight) |"),
        "{report}"
    );
    let bad = scratch.run(&["gateway", "canary", "begin", "ports = \"http\"", SOCKET[0], SOCKET[1]]);
    assert_eq!(bad.code, 2, "{}", bad.err);
    assert!(bad.err.contains("\"http\" is no port"), "{}", bad.err);
    ask(&scratch, &["canary", "release"]);
    until_window(ORDERED, Duration::from_secs(5), "after a release");
    let again = scratch.run(&["gateway", "canary", "release", SOCKET[0], SOCKET[1]]);
    assert!(again.code == 2 && again.err.contains("there is no canary"), "{}", again.err);
    drop(gateway);
}

/// A process in a network namespace, with a connection through which 100 KB went.
struct Container {
    _waits: Gateway,
    _ends: (TcpStream, TcpStream),
}

impl Container {
    fn new() -> Option<Self> {
        let netns = match Netns::new() {
            Ok(netns) => netns,
            Err(need) => {
                firstflight_skip::skip(need);
                return None;
            }
        };
        let work = || {
            assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().expect("ip").success());
            let waits = Command::new("sleep").arg("600").spawn().expect("a process");
            let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
            let mut client =
                TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
            let (mut server, _) = listener.accept().expect("a connection");
            let sender = std::thread::spawn(move || server.write_all(&[7; 100_000]).map(|()| server));
            client.read_exact(&mut [0; 100_000]).expect("all bytes");
            let server = sender.join().expect("a sender").expect("all bytes");
            Self { _waits: Gateway(waits), _ends: (client, server) }
        };
        netns.run(work).map_err(firstflight_skip::skip).ok()
    }
}

#[test]
fn connections_of_containers_that_are_older_than_the_gateway_are_learned_from() {
    let scratch = Scratch::new();
    let Some((cgroup, _inside)) = ground(&scratch, "containers") else { return };
    let adopted = || -> u64 {
        let mut socket = UnixStream::connect(scratch.path().join("gateway.sock")).expect("a gateway");
        socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: gateway\r\n\r\n").expect("room");
        let mut text = String::new();
        socket.read_to_string(&mut text).expect("the metrics");
        let line = text.lines().find_map(|line| line.strip_prefix("firstflight_gateway_adopted_total "));
        line.expect("the metric").parse().expect("a number")
    };
    let containers: Option<Vec<_>> = (0..2).map(|_| Container::new()).collect();
    let Some(_containers) = containers else { return };
    let gateway = match ready(command(&scratch, &cgroup).spawn().expect("it starts"), &scratch) {
        Ok(gateway) => gateway,
        Err(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
    };
    let tiers = ask(&scratch, &["status"])["tiers"].clone();
    let line = tiers.as_array().into_iter().flatten().filter_map(|line| line.as_str()).find_map(|line| {
        line.strip_prefix("network namespaces adopted: ")?.split(' ').next()?.parse::<u32>().ok()
    });
    assert!(line.is_some_and(|entered| entered >= 2), "{tiers}");
    // The end of each of the two connections that has sent data.
    for _ in 0..100 {
        if adopted() >= 2 {
            drop(gateway);
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{} connections were adopted; expected two or more", adopted());
}
