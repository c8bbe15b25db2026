//! Packet-hops per CPU second of the standard works, RTTs spread evenly over +-10 %.
//!
//! `make bench` runs this in a release build. Times are CPU seconds of this process, the best of several runs:
//! on a shared machine the best is the least disturbed.

use firstflight_control::host::chain::Chain;
use firstflight_control::registry::AnyPhase;
use firstflight_control::units::{Nanos, Rate};
use firstflight_sim::config::{FlowConfig, Network, QueueConfig};
use firstflight_sim::dumbbell::Dumbbell;
use firstflight_sim::outcome::simulate;
use firstflight_sim::receiver::AckPolicy;
use firstflight_sim::sender::app::AppConfig;
use firstflight_sim::sender::rto::RtoConfig;
use firstflight_sim::sender::stack::{IdleRestart, Recovery, Stack};

const MS: u64 = 1_000_000;

struct Work {
    name: &'static str,
    flows: u64,
    mbit_s: u64,
    rtt_ms: u64,
    buffer: u32,
    seconds: u64,
    target: f64,
}

const WORKS: [Work; 5] = [
    Work {
        name: "A: 10 flows, 100 Mbit/s, 100 ms, BDP",
        flows: 10,
        mbit_s: 100,
        rtt_ms: 100,
        buffer: 1250,
        seconds: 120,
        target: 120.0,
    },
    Work {
        name: "B: 16 flows, 1 Gbit/s, 80 ms, BDP",
        flows: 16,
        mbit_s: 1000,
        rtt_ms: 80,
        buffer: 10_000,
        seconds: 20,
        target: 120.0,
    },
    Work {
        name: "100 flows, 1 Gbit/s, 80 ms, BDP",
        flows: 100,
        mbit_s: 1000,
        rtt_ms: 80,
        buffer: 10_000,
        seconds: 20,
        target: 90.0,
    },
    Work {
        name: "1000 flows, 1 Gbit/s, 80 ms, BDP",
        flows: 1000,
        mbit_s: 1000,
        rtt_ms: 80,
        buffer: 10_000,
        seconds: 20,
        target: 60.0,
    },
    Work {
        name: "50 flows, 10 Mbit/s, 100 ms, 50 packets",
        flows: 50,
        mbit_s: 10,
        rtt_ms: 100,
        buffer: 50,
        seconds: 120,
        target: 35.0,
    },
];

fn network(work: &Work) -> Network {
    let rate = Rate(work.mbit_s * 1_000_000);
    let queue = QueueConfig::Packets(work.buffer);
    let reverse = QueueConfig::Packets(100_000);
    let rtt = work.rtt_ms * MS;
    let mut net = Dumbbell::new(rate, Rate(10 * rate.0), Nanos(rtt), queue, reverse);
    let stack = Stack {
        mss: 960,
        recovery: Recovery::Sack,
        ns2: true,
        initial_window: 1,
        initial_ssthresh: None,
        receive_window: 1_000_000,
        growth_per_ack: 1,
        grow_only_when_limited: false,
        decrease_from_window: true,
        limited_transmit: true,
        rtt_per_ack: false,
        rto: RtoConfig {
            initial: 3000 * MS,
            min: 200 * MS,
            max: 60_000 * MS,
            granularity: 10 * MS,
            phase: 0,
        },
        idle_restart: IdleRestart::Restart,
        ecn: false,
        handshake: false,
    };
    let phases = ["slow-start", "reno"].map(|l| AnyPhase::by_label(l).expect("registered"));
    let chain = Chain::new(phases.to_vec()).expect("a start-up and an avoidance phase");
    let flows = (0..work.flows).map(|i| {
        // Spread evenly over +-10 %, but not in order of the flows.
        let place = (i * 7) % work.flows;
        let spread = rtt / 5 * place / (work.flows - 1).max(1);
        let paths = net.attach(&format!("flow.{i}"), Nanos(rtt * 9 / 10 + spread));
        FlowConfig {
            name: format!("flow.{i}"),
            forward: paths.forward,
            reverse: paths.reverse,
            stack,
            chain: chain.clone(),
            app: AppConfig {
                start: i * 100 * MS / work.flows.max(10) * 10,
                bytes: None,
                pauses: vec![],
                lifetime: None,
            },
            header: 40,
            ack_size: 40,
            ack_policy: AckPolicy { every: 1, quick: 0, timer: 0 },
        }
    });
    let flows = flows.collect();
    Network {
        links: net.links,
        flows,
        udp: vec![],
        seed: 1,
        end: Nanos::from_secs(work.seconds),
        until_finished: false,
        grid: Nanos::from_secs(1),
    }
}

/// CPU seconds of this process so far, user and system, from the kernel's accounting.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
}

fn main() {
    let only: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    println!("{:<42} {:>10} {:>8} {:>9} {:>7}", "work", "Mhops", "CPU s", "Mhops/s", "target");
    for work in WORKS.iter().filter(|w| only.is_empty() || only.iter().any(|o| w.name.starts_with(o))) {
        let network = network(work);
        let mut best = f64::INFINITY;
        let mut hops = 0;
        let repeats = if only.is_empty() { 7 } else { 3 };
        let mut summary = String::new();
        for _ in 0..repeats {
            let before = cpu_seconds();
            let outcome = simulate(&network);
            best = best.min(cpu_seconds() - before);
            hops = outcome.packet_hops();
            let delivered: u64 = outcome.flows.iter().map(|f| u64::from(f.delivered)).sum();
            summary = format!(
                "delivered {delivered} drops {} timeouts {}",
                outcome.links[0].stats.drops,
                outcome.flows.iter().map(|f| f.timeouts).sum::<u64>()
            );
        }
        let mhops = hops as f64 * 1e-6;
        println!(
            "{:<42} {:>10.3} {:>8.4} {:>9.1} {:>7.0}  {summary}",
            work.name,
            mhops,
            best,
            mhops / best,
            work.target
        );
    }
}
