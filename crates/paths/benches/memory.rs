//! Cost of a memory of a million clusters: time per event, and bytes.
//!
//! Peers come in an order that no cache predicts, each in a prefix of its own; then as many again, when the
//! memory is full and every new cluster replaces an old one. Times are CPU time of this process, the best of
//! several runs; bytes are those requested from the allocator. A number as argument is the number of
//! clusters.

#[path = "../tests/common/allocator.rs"]
mod allocator;

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};

use allocator::in_use;
use firstflight_contract::Nanos;
use firstflight_paths::{Destination, Grouping, Handle, Limits, Memory, Policy, Sample, Transfer};

const RUNS: usize = 3;
const MSS: u64 = 1448;
const RTT: Nanos = Nanos::from_millis(40);

/// CPU time of this process, nanoseconds.
fn cpu() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// A permutation of 0 .. n, where n is a power of two, without a pattern that a cache predicts.
fn scattered(n: u32) -> impl Iterator<Item = u32> {
    (0..n).map(move |i| i.wrapping_mul(2_654_435_761).wrapping_add(0x9e37) & (n - 1))
}

/// First host of the n-th /24 from 16.0.0.0.
fn peer(n: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from(0x1000_0000 + (n << 8) + 1))
}

fn sample(now: Nanos, packets: u64) -> Sample {
    Sample { now, cwnd: packets * MSS, ssthresh: 20 * MSS, srtt: RTT, min_rtt: RTT, avoiding: packets >= 20 }
}

fn transfer(now: Nanos, peer: IpAddr) -> Transfer {
    Transfer { now, destination: Destination::from(peer), rtt: RTT, bytes: 100_000, mss: MSS as u32 }
}

/// Nanoseconds per event, by kind of event; the minimum of all runs.
#[derive(Default)]
struct Costs(Vec<(String, f64)>);

impl Costs {
    fn time<T>(&mut self, what: &str, events: u32, work: impl FnOnce() -> T) -> T {
        let before = cpu();
        let result = work();
        let cost = (cpu() - before) as f64 / f64::from(events);
        match self.0.iter_mut().find(|(name, _)| name == what) {
            Some((_, least)) => *least = least.min(cost),
            None => self.0.push((what.into(), cost)),
        }
        result
    }
}

/// Bytes per remembered cluster, and per cluster with a live connection.
fn run(policies: &[Policy], clusters: u32, costs: &mut Costs) -> (f64, f64) {
    let settings = Policy::settings_for(policies).expect("the defaults agree");
    let limits = Limits { clusters, connections: 2 * clusters };
    let per_cluster = |bytes: usize| bytes as f64 / f64::from(clusters);
    let empty = in_use();
    let mut memory = Memory::new(settings, Grouping::default(), limits);
    let mut handles: Vec<Handle> = Vec::with_capacity(clusters as usize);
    let kept_for_handles = size_of::<Handle>() * clusters as usize;
    // One connection per microsecond, so that five minutes hold all of them.
    let mut now = Nanos::from_secs(1);
    let mut tick = || {
        now += Nanos::from_micros(1);
        now
    };
    let mut open = |memory: &mut Memory, n| {
        let (peer, now) = (peer(n), tick());
        let group = memory.group(peer);
        memory.open(group, &transfer(now, peer), &sample(now, 10))
    };

    costs.time("open, new cluster", clusters, || {
        for n in scattered(clusters) {
            handles.extend(open(&mut memory, n));
        }
    });
    let live = in_use() - empty - kept_for_handles;
    let now = Nanos::from_secs(60);
    costs.time("observe, cluster not in cache", clusters, || {
        for handle in &handles {
            memory.observe(*handle, &sample(now, 30));
        }
    });
    costs.time("observe, cluster in cache", clusters, || {
        for i in 0..clusters {
            memory.observe(handles[0], &sample(now, 30 + u64::from(i & 1)));
        }
    });
    costs.time("lost", clusters, || {
        for handle in &handles {
            memory.lost(*handle, now, 31 * MSS);
        }
    });
    for policy in policies {
        costs.time(&format!("plan, {}", policy.label()), clusters, || {
            for n in scattered(clusters) {
                let peer = peer(n);
                black_box(memory.plan(policy, memory.group(peer), &transfer(now, peer)));
            }
        });
    }
    costs.time("close", clusters, || {
        for handle in handles.drain(..) {
            memory.close(handle, now);
        }
    });
    assert_eq!(memory.connections(), 0);
    let remembered = in_use() - empty - kept_for_handles;
    costs.time("open, replacing another cluster", clusters, || {
        for n in scattered(clusters) {
            handles.extend(open(&mut memory, clusters + n));
        }
    });
    if memory.clusters() > 0 {
        assert_eq!((handles.len(), memory.clusters()), (clusters as usize, clusters as usize));
    }
    (per_cluster(remembered), per_cluster(live))
}

fn main() {
    let clusters =
        std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(1u32 << 20).next_power_of_two();
    let every: Vec<Policy> =
        Policy::LABELS.iter().map(|label| Policy::new(label, &[]).expect("a policy")).collect();
    println!("{clusters} clusters of one connection each, one memory for all policies\n");
    let mut costs = Costs::default();
    for _ in 0..RUNS {
        run(&every, clusters, &mut costs);
    }
    println!("{:<40} {:>8}", "event", "ns");
    for (what, ns) in &costs.0 {
        println!("{what:<40} {ns:>8.0}");
    }
    println!("\n{:<40} {:>10} {:>10}", "bytes per cluster, memory for", "remembered", "live");
    let each = every.iter().map(|policy| (policy.label(), vec![*policy]));
    for (label, policies) in each.chain([("all of them", every.clone())]) {
        let (remembered, live) = run(&policies, clusters, &mut Costs::default());
        println!("{label:<40} {remembered:>10.0} {live:>10.0}");
    }
}
