//! Speed of one run on several threads, beside the same run on one.
//!
//! `make bench` runs this in a release build. Each work runs alternately on one thread and on as many as the machine has cores, or on the
//! number behind `--threads`; the elapsed times are medians of five runs (`--runs`), and `best` is the ratio of the shortest ones. Names of works as arguments select those works. All
//! runs of a work must have the same outcome.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use firstflight_contract::Nanos;
use firstflight_hosts::network::build;
use firstflight_scenario::parse;
use firstflight_sim::config::Network;
use firstflight_sim::outcome::{count_parts, count_threads, simulate_in_turns, simulate_on};
use rustix::time::{ClockId, clock_gettime};

/// A network of so many separate bottlenecks of 1 Gbit/s, each with flows of its own.
fn bottlenecks(count: usize, flows: usize, seconds: u32) -> Network {
    let mut text = format!("duration = \"{seconds} s\"\n[packet]\nsize = \"1000 B\"\n");
    for i in 0..count {
        for end in ["a", "b"] {
            text += &format!("[[node]]\nname = \"{end}{i}\"\naccess_rate = \"10 Gbit/s\"\n");
        }
        text += &format!(
            "[[link]]\nfrom = \"a{i}\"\nto = \"b{i}\"\nboth = true\nrate = \"1 Gbit/s\"\ndelay = \"40 ms\"\nbuffer = \"10000 packets\"\n\
             [[flow]]\nname = \"f{i}\"\nfrom = \"a{i}\"\nto = \"b{i}\"\nprofile = \"ns2\"\nrecovery = \"sack\"\ncount = {flows}\n\
             start = {{ every = \"1 ms\" }}\n"
        );
    }
    network(&text)
}

/// A dumbbell of so many flows that start within a second, with round trips of 72 to 88 ms.
fn dumbbell(flows: usize, mbit_s: usize, seconds: u32) -> Network {
    network(&format!(
        "duration = \"{seconds} s\"\n[packet]\nsize = \"1000 B\"\n[path]\nrate = \"{mbit_s} Mbit/s\"\nrtt = \"72 ms\"\nbuffer = \"{} packets\"\n\
         [[flow]]\nname = \"f\"\nprofile = \"ns2\"\nrecovery = \"sack\"\ncount = {flows}\nstart = {{ every = \"{} us\" }}\n\
         extra_rtt = {{ uniform = [\"0 ms\", \"16 ms\"] }}\n",
        mbit_s * 10,
        1_000_000 / flows
    ))
}

fn network(text: &str) -> Network {
    let loaded = parse(text, "").unwrap_or_else(|error| panic!("{error}"));
    build(&loaded.scenario, loaded.scenario.seed, Nanos::from_secs(1)).expect("the simulator runs it").network
}

/// A work: its name, and its network.
type Work = (&'static str, fn() -> Network);

const WORKS: [Work; 6] = [
    ("16 bottlenecks of 1000 flows, 10 s", || bottlenecks(16, 1000, 10)),
    ("A: 10 flows, 100 Mbit/s, 60 s", || dumbbell(10, 100, 60)),
    ("100 flows, 1 Gbit/s, 20 s", || dumbbell(100, 1000, 20)),
    ("1000 flows, 1 Gbit/s, 20 s", || dumbbell(1000, 1000, 20)),
    ("10000 flows, 10 Gbit/s, 5 s", || dumbbell(10_000, 10_000, 5)),
    ("600 nodes", || network(include_str!("../../../papers/yu-newman/scenarios/nodes-600.toml"))),
];

/// Processor seconds so far of this process with all its threads, or of this thread.
fn cpu_seconds(of: ClockId) -> f64 {
    let spent = clock_gettime(of);
    spent.tv_sec as f64 + spent.tv_nsec as f64 * 1e-9
}

/// Elapsed and processor seconds of a run, its packet-hops, and a hash of its outcome.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn run(network: &Network, threads: usize) -> (f64, f64, u64, u64) {
    let (began, before) = (Instant::now(), cpu_seconds(ClockId::ProcessCPUTime));
    let outcome = simulate_on(network, threads);
    let (elapsed, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds(ClockId::ProcessCPUTime) - before);
    let mut hash = DefaultHasher::new();
    format!("{outcome:?}").hash(&mut hash);
    (elapsed, cpu, outcome.packet_hops(), hash.finish())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The windows of a network on several threads, made one after the other on this thread: prints their number, the packet-hops of a group
/// in one, and the processor time of all groups over that of the slowest group of each window. This ratio does not depend on what
/// else the machine does.
fn show_windows(network: &Network, threads: usize) {
    let thread_seconds = || cpu_seconds(ClockId::ThreadCPUTime);
    let (mut windows, mut spent, mut slowest, mut before) = (0_u64, 0.0, 0.0, thread_seconds());
    let mut most = 0.0_f64;
    let outcome = simulate_in_turns(network, threads, |group| {
        let now = thread_seconds();
        if group == 0 {
            windows += 1;
            slowest += std::mem::take(&mut most);
        }
        most = most.max(now - before);
        spent += now - before;
        before = thread_seconds();
    });
    let Some(outcome) = outcome else { return };
    slowest += most;
    let of_group = outcome.packet_hops() as f64 / windows as f64 / threads as f64;
    println!(
        "  {windows} windows of {of_group:.0} packet-hops a group; {spent:.2} CPU s in turns, {slowest:.2} s of the slowest group: {:.2}",
        spent / slowest
    );
}

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let mut option = |name: &str, default: usize| match args.iter().position(|a| a == name) {
        Some(place) => {
            args.drain(place..place + 2).next_back().and_then(|n| n.parse().ok()).expect("a number")
        }
        None => default,
    };
    let threads = option("--threads", std::thread::available_parallelism().map_or(1, usize::from));
    let runs = option("--runs", 5);
    println!(
        "{:<36} {:>5} {:>7} {:>7} {:>9} {:>9} {:>6} {:>6} {:>8} {:>8} {:>8}",
        "work",
        "parts",
        "threads",
        "Mhops",
        "s, 1",
        format!("s, {threads}"),
        "ratio",
        "best",
        "CPU, 1",
        format!("CPU, {threads}"),
        "waiting"
    );
    for (name, network) in
        WORKS.iter().filter(|(name, _)| args.is_empty() || args.iter().any(|a| name.starts_with(a)))
    {
        let network = network();
        let mut times = [vec![], vec![], vec![], vec![]];
        let mut hashes = vec![];
        let mut hops = 0;
        for _ in 0..runs {
            for (place, count) in [1, threads].into_iter().enumerate() {
                let (elapsed, cpu, crossed, hash) = run(&network, count);
                times[place].push(elapsed);
                times[2 + place].push(cpu);
                hashes.push(hash);
                hops = crossed;
            }
        }
        assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]), "{name}: the outcomes differ");
        let [least_one, least_all] =
            [0, 1].map(|place: usize| times[place].iter().copied().fold(f64::INFINITY, f64::min));
        let [one, all, cpu_one, cpu_all] = times.map(median);
        // The share of the threads' time in which they had nothing to do, or the system gave their core to others.
        let waiting = 100.0 * (1.0 - cpu_all / (all * threads as f64));
        println!(
            "{name:<36} {:>5} {:>7} {:>7.1} {one:>9.3} {all:>9.3} {:>6.2} {:>6.2} {cpu_one:>8.2} {cpu_all:>8.2} {waiting:>6.0} %",
            count_parts(&network),
            count_threads(&network, threads),
            hops as f64 * 1e-6,
            one / all,
            least_one / least_all,
        );
        show_windows(&network, threads);
    }
}
