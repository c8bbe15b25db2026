//! The memory of a host: grouping of peers into clusters, and eviction from a full memory.

use core::net::IpAddr;

use crate::common::{MSS, at, policy, sample, transfer};
use firstflight_contract::Plan;
use firstflight_paths::{Group, Grouping, Handle, Limits, Memory, Policy, Sample};

const PLENTY: Limits = Limits { clusters: 1000, connections: 1000 };

fn memory(policy: &Policy, limits: Limits) -> Memory {
    Memory::new(policy.settings(), Grouping::default(), limits)
}

fn group(memory: &Memory, address: &str) -> Group {
    memory.group(address.parse::<IpAddr>().expect("an address"))
}

/// A connection with twenty packets in congestion avoidance and a threshold of sixteen.
fn open(memory: &mut Memory, seconds: f64, address: &str) -> Option<Handle> {
    let group = group(memory, address);
    memory.open(group, &transfer(seconds), &sample(seconds, 20, true))
}

fn plan(memory: &Memory, policy: &Policy, address: &str) -> Plan {
    memory.plan(policy, group(memory, address), &transfer(100.0))
}

#[test]
fn only_peers_of_one_prefix_share_a_cluster() {
    let liss = policy("liss", &[]);
    let mut memory = memory(&liss, PLENTY);
    open(&mut memory, 1.0, "192.0.2.1").expect("room");
    assert_eq!(plan(&memory, &liss, "192.0.2.200").ssthresh, 10_000);
    assert_eq!(plan(&memory, &liss, "192.0.3.1"), Plan::default());
    let named = Group::Named(7);
    memory.open(named, &transfer(1.0), &sample(1.0, 30, true)).expect("room");
    assert_eq!(memory.plan(&liss, named, &transfer(2.0)).ssthresh, 15_000);
    assert_eq!((memory.clusters(), memory.connections()), (2, 2));
}

#[test]
fn events_of_a_connection_update_its_cluster() {
    let spand = policy("spand", &[]);
    let mut memory = memory(&spand, PLENTY);
    let lossy = open(&mut memory, 1.0, "192.0.2.1").expect("room");
    let quiet = open(&mut memory, 1.0, "192.0.2.2").expect("room");
    memory.observe(lossy, &sample(2.0, 21, true));
    memory.lost(lossy, at(3.0), 21 * MSS);
    memory.done(quiet, at(4.0));
    let cluster = memory.cluster(group(&memory, "192.0.2.3")).expect("known");
    // (20 + 20)/2 packets.
    let average = cluster.reported(at(5.0)).expect("two reports");
    assert_eq!((average.cwnd, average.samples), (20_000, 2));
}

#[test]
fn the_longest_idle_cluster_is_evicted_and_live_ones_stay() {
    let cached = policy("cached", &[]);
    let mut memory = memory(&cached, Limits { clusters: 3, ..PLENTY });
    let knows = |memory: &Memory, n: u8| plan(memory, &cached, &format!("10.0.{n}.1")) != Plan::default();
    let [a, b, _c] = [1, 2, 3].map(|n| open(&mut memory, 1.0, &format!("10.0.{n}.1")).expect("room"));
    assert_eq!(open(&mut memory, 2.0, "10.0.4.1"), None, "all three clusters are live");
    memory.close(b, at(3.0));
    memory.close(a, at(4.0));
    // The first cluster is used again; now the second one has been idle longest.
    let again = open(&mut memory, 5.0, "10.0.1.9").expect("known");
    memory.close(again, at(6.0));
    let d = open(&mut memory, 7.0, "10.0.4.1").expect("the second cluster is evicted");
    assert_eq!([1, 2, 3, 4].map(|n| knows(&memory, n)), [true, false, true, true]);
    open(&mut memory, 8.0, "10.0.5.1").expect("the first cluster is evicted");
    assert_eq!([1, 3, 4, 5].map(|n| knows(&memory, n)), [false, true, true, true]);
    assert_eq!(open(&mut memory, 9.0, "10.0.6.1"), None);
    memory.close(d, at(10.0));
    open(&mut memory, 11.0, "10.0.6.1").expect("the fourth cluster is evicted");
    assert_eq!((memory.clusters(), memory.connections()), (3, 3));
}

#[test]
fn a_cluster_without_lasting_state_ends_with_its_last_connection() {
    let liss = policy("liss", &[]);
    let mut memory = memory(&liss, Limits { clusters: 1, ..PLENTY });
    for n in 1..=3 {
        let handle = open(&mut memory, 1.0, &format!("10.0.{n}.1")).expect("room");
        assert_eq!(memory.clusters(), 1);
        memory.close(handle, at(2.0));
        assert_eq!(memory.clusters(), 0);
    }
}

#[test]
fn the_number_of_connections_is_limited() {
    let liss = policy("liss", &[]);
    let mut memory = memory(&liss, Limits { connections: 2, ..PLENTY });
    let first = open(&mut memory, 1.0, "10.0.0.1").expect("room");
    open(&mut memory, 1.0, "10.0.0.2").expect("room");
    assert_eq!(open(&mut memory, 1.0, "10.0.0.3"), None);
    memory.close(first, at(2.0));
    assert!(open(&mut memory, 3.0, "10.0.0.3").is_some());
}

#[test]
fn an_event_of_a_closed_connection_changes_no_other() {
    let cached = policy("cached", &[]);
    let mut memory = memory(&cached, Limits { clusters: 1, ..PLENTY });
    let old = open(&mut memory, 1.0, "10.0.1.1").expect("room");
    memory.close(old, at(2.0));
    // Another cluster in the same entry, with its connection in the same slot.
    let new = open(&mut memory, 3.0, "10.0.2.1").expect("room");
    assert_ne!(old, new);
    memory.observe(old, &Sample { ssthresh: MSS, ..sample(4.0, 1, false) });
    memory.lost(old, at(5.0), MSS);
    memory.done(old, at(6.0));
    memory.close(old, at(7.0));
    let cluster = memory.cluster(group(&memory, "10.0.2.1")).expect("known");
    assert_eq!((cluster.avoiding(), cluster.avoiding_cwnd(), cluster.drops().events()), (1, 20_000, 0));
    assert_eq!(memory.connections(), 1);
}

#[test]
fn a_cluster_in_a_reused_entry_starts_empty() {
    let all: Vec<_> = Policy::LABELS.iter().map(|label| policy(label, &[])).collect();
    let settings = Policy::settings_for(&all).expect("the defaults agree");
    let mut memory = Memory::new(settings, Grouping::default(), Limits { clusters: 1, ..PLENTY });
    let live = |memory: &mut Memory, address| {
        let handle = open(memory, 61.0, address).expect("room");
        memory.lost(handle, at(62.0), 30 * MSS);
        memory.lost(handle, at(63.0), 30 * MSS);
        memory.observe(handle, &sample(121.0, 20, true));
        memory.close(handle, at(122.0));
    };
    let plans = |memory: &Memory, address| {
        all.iter()
            .map(|policy| memory.plan(policy, group(memory, address), &transfer(123.0)))
            .collect::<Vec<_>>()
    };
    live(&mut memory, "10.0.1.1");
    let first = plans(&memory, "10.0.1.1");
    live(&mut memory, "10.0.2.1");
    assert_eq!(plans(&memory, "10.0.1.1"), [Plan::default(); 8]);
    assert_eq!(plans(&memory, "10.0.2.1"), first);
    let known: Vec<_> = all.iter().zip(&first).filter(|(_, plan)| **plan != Plan::default()).collect();
    // The window that was left is below four initial windows, so that careful-resume has no plan.
    assert_eq!(known.len(), 3, "cached, averaged and spand have lasting state: {known:?}");
}
