//! The estimated memory of runs beside their peak, as the table of `docs/reliability.md`. Each run has a process of its own.

use std::fs::read_to_string;
use std::process::Command;

use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::simulator::Simulator;
use firstflight_scenario::Scenario;

const PATH: &str = "[path]\nrate = \"10 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"50 packets\"\n";

/// Name of each run, its lines before and after [`PATH`], and whether every packet is recorded.
const RUNS: &[(&str, &str, &str, bool)] = &[
    ("a short transfer", "", "[[flow]]\nsize = \"30 KB\"", false),
    ("1 million deliveries", "duration = \"1000000 s\"", "[[flow]]\nsize = \"30 KB\"", false),
    ("10,000 flows", "duration = \"10 s\"", "[[flow]]\ncount = 10000\nsize = \"10 KB\"", false),
    ("100,000 flows", "duration = \"10 s\"", "[[flow]]\ncount = 100000\nsize = \"10 KB\"", false),
    (
        "10,000 flows of QUIC with the largest start-up scheme",
        "duration = \"10 s\"",
        "[[flow]]\ncount = 10000\nsize = \"10 KB\"\nprofile = \"quinn\"\nstartup = \"adaptive-start\"",
        false,
    ),
    (
        "1 million telnet messages",
        "duration = \"1000 s\"",
        "[[telnet]]\ninterval = { exponential = \"1 ms\" }",
        false,
    ),
    (
        "1000 flows of 1000 rounds",
        "duration = \"100 s\"",
        "[[flow]]\ncount = 1000\nsize = \"1 KB\"\nrounds = { count = 1000, idle = \"0 s\" }",
        false,
    ),
    (
        "an initial window of 1 million packets",
        "duration = \"10 s\"",
        "[[flow]]\ninitial_window = \"1000000 packets\"",
        false,
    ),
    ("every packet of 10 s recorded", "duration = \"10 s\"", "[[flow]]", true),
];

fn observe(packets: bool) -> Observe {
    Observe { packets, ..Observe::default() }
}

fn scenario(run: usize) -> Scenario {
    let (_, head, tail, _) = RUNS[run];
    Scenario::from_text(&format!("{head}\n{PATH}{tail}\n")).expect("a valid scenario")
}

/// Peak memory of this process, bytes.
fn peak() -> f64 {
    let status = read_to_string("/proc/self/status").expect("a Linux system");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak");
    line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number") * 1024.0
}

fn main() {
    if let Some(run) = std::env::args().nth(1) {
        let run = run.parse().expect("the number of a run");
        let done = Simulator.run(&scenario(run), 1, &observe(RUNS[run].3));
        done.expect("within the limit");
        return println!("{}", peak());
    }
    println!("| run | estimate | peak |\n|---|---:|---:|");
    for (run, (name, _, _, packets)) in RUNS.iter().enumerate() {
        let estimate =
            Simulator.check(&scenario(run), &observe(*packets)).expect("within the limit").bytes(1);
        let child =
            Command::new(std::env::current_exe().expect("this program")).arg(run.to_string()).output();
        let printed = String::from_utf8(child.expect("a process").stdout).expect("a number");
        let peak: f64 = printed.trim().parse().expect("the run ends");
        println!("| {name} | {:.1} MB | {:.1} MB |", estimate / 1e6, peak / 1e6);
    }
}
