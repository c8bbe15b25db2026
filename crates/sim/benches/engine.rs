//! Speed of the simulator on the standard works, with RTTs spread evenly over +-10 %; equal RTTs would
//! flatter it.
//!
//! `make bench` runs this in a release build. A packet-hop is one packet or ACK over one link. Times are CPU
//! seconds of this process, the best of several runs, because on a shared machine the best run is the least
//! disturbed. If valgrind is installed, the instructions per packet-hop follow, and then the speed-up of parallel replications. Names
//! of works as arguments select those works. `--once NAME` makes one run and prints one line for a program: million packet-hops, CPU seconds without
//! and with the preparation, peak memory in MB, a hash of the outcome, packets that crossed the bottleneck, drops there, and the
//! work: flows, Mbit/s, round-trip time in ms, buffer in packets, seconds, name. A number after NAME is its length in seconds.
//! `tools/bench-against` and `tools/bench-peers` read it.

#[path = "../tests/common/stacks.rs"]
#[allow(dead_code, reason = "the tests use the others")]
mod stacks;

use firstflight_contract::{Nanos, Rate};
use firstflight_host::chain::Chain;
use firstflight_random::Stream;
use firstflight_schemes::registry::AnyPhase;
use firstflight_sim::config::{FlowConfig, Network, QueueConfig, Sharing};
use firstflight_sim::dumbbell::Dumbbell;
use firstflight_sim::outcome::simulate;
use firstflight_sim::receiver::AckPolicy;
use firstflight_sim::sender::app::AppConfig;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;
use std::time::Instant;

const MS: u64 = 1_000_000;

struct Work {
    name: &'static str,
    /// Whether sender and receiver are Linux's (RACK, PRR, delayed ACKs, timestamps); otherwise ns-2's.
    linux: bool,
    flows: u64,
    mbit_s: u64,
    rtt_ms: u64,
    buffer: u32,
    seconds: u64,
    /// Bytes of flows that end, which arrive by a Poisson process until the end of the run. The others begin in the first second.
    bytes: Option<u64>,
    target: f64,
}

const WORKS: [Work; 10] = [
    Work {
        name: "A: 10 flows, 100 Mbit/s, 100 ms, BDP",
        linux: false,
        flows: 10,
        mbit_s: 100,
        rtt_ms: 100,
        buffer: 1250,
        seconds: 120,
        bytes: None,
        target: 120.0,
    },
    Work {
        name: "B: 16 flows, 1 Gbit/s, 80 ms, BDP",
        linux: false,
        flows: 16,
        mbit_s: 1000,
        rtt_ms: 80,
        buffer: 10_000,
        seconds: 20,
        bytes: None,
        target: 120.0,
    },
    Work {
        name: "100 flows, 1 Gbit/s, 80 ms, BDP",
        linux: false,
        flows: 100,
        mbit_s: 1000,
        rtt_ms: 80,
        buffer: 10_000,
        seconds: 20,
        bytes: None,
        target: 90.0,
    },
    Work {
        name: "1000 flows, 1 Gbit/s, 80 ms, BDP",
        linux: false,
        flows: 1000,
        mbit_s: 1000,
        rtt_ms: 80,
        buffer: 10_000,
        seconds: 20,
        bytes: None,
        target: 60.0,
    },
    Work {
        name: "10000 flows, 10 Gbit/s, 80 ms, BDP",
        linux: false,
        flows: 10_000,
        mbit_s: 10_000,
        rtt_ms: 80,
        buffer: 100_000,
        seconds: 5,
        bytes: None,
        target: 57.0,
    },
    Work {
        name: "100000 flows, 100 Gbit/s, 80 ms, BDP",
        linux: false,
        flows: 100_000,
        mbit_s: 100_000,
        rtt_ms: 80,
        buffer: 1_000_000,
        seconds: 2,
        bytes: None,
        target: 37.0,
    },
    Work {
        name: "50 flows, 10 Mbit/s, 100 ms, 50 packets",
        linux: false,
        flows: 50,
        mbit_s: 10,
        rtt_ms: 100,
        buffer: 50,
        seconds: 120,
        bytes: None,
        target: 35.0,
    },
    Work {
        name: "Odd: work A at 97 Mbit/s, no whole ns a byte",
        linux: false,
        flows: 10,
        mbit_s: 97,
        rtt_ms: 100,
        buffer: 1250,
        seconds: 120,
        bytes: None,
        target: 120.0,
    },
    Work {
        name: "Linux: work A by its stack",
        linux: true,
        flows: 10,
        mbit_s: 100,
        rtt_ms: 100,
        buffer: 1250,
        seconds: 120,
        bytes: None,
        target: 70.0,
    },
    Work {
        name: "Churn: 400000 flows of 30 KB, 10 Gbit/s, 80 ms",
        linux: false,
        flows: 400_000,
        mbit_s: 10_000,
        rtt_ms: 80,
        buffer: 100_000,
        seconds: 10,
        bytes: Some(30_000),
        target: 0.0,
    },
];

fn network(work: &Work) -> Network {
    let rate = Rate(work.mbit_s * 1_000_000);
    let queue = QueueConfig::Packets(work.buffer);
    let reverse = QueueConfig::Packets(100_000);
    let rtt = work.rtt_ms * MS;
    let mut net = Dumbbell::new(rate, Rate(10 * rate.0), Nanos(rtt), queue, reverse);
    let stack = if work.linux { stacks::linux() } else { stacks::ns2() };
    let ack_policy = if work.linux {
        AckPolicy { every: 2, quick: 16, timer: 40 * MS }
    } else {
        AckPolicy { every: 1, quick: 0, timer: 0 }
    };
    let phases = ["slow-start", "reno"].map(|l| AnyPhase::by_label(l).expect("registered"));
    let chain = Chain::new(phases.to_vec()).expect("a start-up and an avoidance phase");
    // Flows have stack and chain alike.
    let one = FlowConfig {
        name: String::new(),
        forward: vec![],
        reverse: vec![],
        stack: stack.into(),
        chain: chain.into(),
        sharing: Sharing::default(),
        app: AppConfig { bytes: work.bytes, pauses: vec![], lifetime: None, ..AppConfig::default() },
        header: 40,
        ack_size: 40,
        ack_policy,
    };
    let mut gaps = Stream::named(1, "arrivals");
    let mean = work.seconds as f64 * 1e9 / work.flows as f64;
    let mut last = 0.0;
    let mut start = |i: u64| match work.bytes {
        None => i * 100 * MS / work.flows.max(10) * 10,
        Some(_) => {
            last -= mean * (1.0 - gaps.unit()).ln();
            last as u64
        }
    };
    let flows = (0..work.flows).map(|i| {
        // Spread evenly over +-10 %, but not in the order of the flows.
        let place = (i * 7) % work.flows;
        let spread = rtt / 5 * place / (work.flows - 1).max(1);
        let paths = net.attach(&format!("flow.{i}"), Nanos(rtt * 9 / 10 + spread));
        FlowConfig {
            name: format!("flow.{i}"),
            forward: paths.forward,
            reverse: paths.reverse,
            app: AppConfig { start: start(i), ..one.app.clone() },
            ..one.clone()
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
        grid_points: u64::MAX,
        stop: None,
    }
}

/// CPU seconds of this process so far, user and system, from the kernel's accounting.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
}

/// Peak memory of this process, MB.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<f64>().ok()? / 1e3)
}

/// Runs a work several times; returns million packet-hops, CPU seconds of the best and the median run, and a
/// summary.
fn measure(work: &Work, runs: usize) -> (f64, f64, f64, String) {
    let network = network(work);
    let mut times = vec![];
    let mut outcome = None;
    for _ in 0..runs {
        let before = cpu_seconds();
        outcome = Some(simulate(&network));
        times.push(cpu_seconds() - before);
    }
    times.sort_by(f64::total_cmp);
    let outcome = outcome.expect("at least one run");
    let delivered: u64 = outcome.flows.iter().map(|f| u64::from(f.delivered)).sum();
    let timeouts: u64 = outcome.flows.iter().map(|f| f.timeouts).sum();
    let drops = outcome.links[0].stats.drops;
    let mut summary = format!("delivered {delivered} drops {drops} timeouts {timeouts}");
    if work.bytes.is_some() {
        // Little's law.
        let lives: u64 = outcome.flows.iter().flat_map(|f| &f.completions).sum();
        summary += &format!(" alive in the mean {:.0}", lives as f64 * 1e-9 / work.seconds as f64);
    }
    (outcome.packet_hops() as f64 * 1e-6, times[0], times[runs / 2], summary)
}

/// Instructions of one run of work A under callgrind, including set-up, if valgrind is installed.
fn instructions() -> Option<f64> {
    let out = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().ok()?)
        .args(["--once", "A:"])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&out.stderr).replace(',', "");
    let line = text.lines().find(|line| line.contains("Collected"))?;
    line.split_whitespace().last()?.parse().ok()
}

/// Million packet-hops of work A per second of wall time, with runs in each of `threads` threads.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn in_parallel(threads: usize) -> f64 {
    let began = Instant::now();
    let hops: u64 = std::thread::scope(|scope| {
        let run = |seed| {
            move || {
                let network = Network { seed, ..network(&WORKS[0]) };
                (0..4).map(|_| simulate(&network).packet_hops()).sum::<u64>()
            }
        };
        let runs: Vec<_> = (0..threads as u64).map(|seed| scope.spawn(run(seed))).collect();
        runs.into_iter().map(|run| run.join().expect("a run")).sum()
    });
    hops as f64 * 1e-6 / began.elapsed().as_secs_f64()
}

/// Runs a work once and prints a line for a program.
fn once(work: &Work) {
    let network = network(work);
    let before = cpu_seconds();
    let outcome = simulate(&network);
    let (all, peak) = (cpu_seconds(), peak_memory().unwrap_or(0.0));
    let hops = outcome.packet_hops() as f64 * 1e-6;
    let mut hash = DefaultHasher::new();
    format!("{outcome:?}").hash(&mut hash);
    let bottleneck = &outcome.links[0].stats;
    let Work { name, flows, mbit_s, rtt_ms, buffer, seconds, .. } = work;
    println!(
        "{hops:.3} {:.4} {all:.4} {peak:.1} {:016x} {} {} {flows} {mbit_s} {rtt_ms} {buffer} {seconds} {name}",
        all - before,
        hash.finish(),
        bottleneck.packets,
        bottleneck.drops
    );
}

fn refuse(why: &str) -> ! {
    eprintln!("engine: {why}; the works are:");
    WORKS.iter().for_each(|work| eprintln!("  {}", work.name));
    std::process::exit(2)
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if let [option, name, seconds @ ..] = &args[..]
        && option == "--once"
    {
        let Some(work) = WORKS.into_iter().find(|work| work.name.starts_with(name)) else {
            refuse(&format!("no work begins with {name:?}"))
        };
        let seconds = match seconds {
            [] => Some(work.seconds),
            [seconds] => seconds.parse().ok().filter(|&seconds| seconds > 0),
            _ => None,
        };
        let Some(seconds) = seconds else { refuse("expected --once, a name, and whole seconds from 1 on") };
        return once(&Work { seconds, ..work });
    }
    let wrong = |name: &&String| !WORKS.iter().any(|work| work.name.starts_with(name.as_str()));
    if let Some(name) = args.iter().find(wrong) {
        refuse(&format!("no work begins with {name:?}"));
    }
    println!("{:<42} {:>8} {:>8} {:>8} {:>7} {:>7}", "work", "Mhops", "CPU s", "Mhops/s", "median", "target");
    let mut first = None;
    for work in WORKS.iter().filter(|w| args.is_empty() || args.iter().any(|a| w.name.starts_with(a))) {
        let (hops, best, median, summary) = measure(work, if args.is_empty() { 7 } else { 3 });
        let speed = hops / best;
        first = first.or(Some(hops));
        println!(
            "{:<42} {hops:>8.3} {best:>8.4} {speed:>8.1} {:>7.1} {:>7.0}  {summary}",
            work.name,
            hops / median,
            work.target
        );
        if work.name == WORKS[0].name
            && let Some(peak) = peak_memory()
        {
            println!("{:<42} {peak:>8.1} MB at most (target 16)", "  memory");
        }
    }
    if !args.is_empty() {
        return;
    }
    if let (Some(count), Some(hops)) = (instructions(), first) {
        let per_hop = count * 1e-6 / hops;
        println!("{:<42} {per_hop:>8.1} per packet-hop on work A (target 150)", "instructions");
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (one, all) = (in_parallel(1), in_parallel(cores));
    let ratio = all / one;
    println!(
        "{:<42} {all:>8.1} Mhops/s of wall time on {cores} threads, {ratio:.2} times one",
        "replications"
    );
}
