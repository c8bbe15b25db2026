//! Yu and Newman, "TCP slow start with fair share of bandwidth", worked by hand: equations (2) to (5) in packets of 1000
//! bytes.

use firstflight_control::contract::Plan;
use firstflight_control::scheme::Value;
use firstflight_control::units::Nanos;
use firstflight_paths::{Cluster, Destination, Key, Policy, Sample, Transfer};

const MSS: u64 = 1000;
const RTT: Nanos = Nanos::from_millis(100);

fn at(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9) as u64)
}

fn transfer(now: Nanos) -> Transfer {
    Transfer { now, destination: Destination(1), rtt: RTT, bytes: u64::MAX, mss: MSS as u32 }
}

fn sample(now: Nanos, packets: u64, avoiding: bool) -> Sample {
    Sample { now, cwnd: packets * MSS, ssthresh: 16 * MSS, srtt: RTT, avoiding }
}

/// Opens a connection that has this window in this phase.
fn open(cluster: &mut Cluster, seconds: f64, packets: u64, avoiding: bool) -> Key {
    let now = at(seconds);
    cluster.open(&transfer(now), &sample(now, packets, avoiding))
}

fn policy(label: &str, params: &[(&str, Value)]) -> Policy {
    Policy::new(label, params).expect("a policy")
}

fn plan(policy: &Policy, cluster: &Cluster, seconds: f64) -> Plan {
    policy.plan(cluster, &transfer(at(seconds)))
}

/// Three steady connections, the oldest with 20 packets, two in slow start with 4 and 6: L = 3, w_o = 20, S = 10.
fn five(policy: &Policy) -> (Cluster, Vec<Key>) {
    let mut cluster = Cluster::new(policy.settings());
    let keys = [(1.0, 4, false), (2.0, 20, true), (3.0, 16, true), (4.0, 6, false), (5.0, 30, true)]
        .map(|(seconds, packets, avoiding)| open(&mut cluster, seconds, packets, avoiding));
    (cluster, keys.to_vec())
}

#[test]
fn equation_2_shares_the_windows_among_the_connections_and_the_new_one() {
    let liss = policy("liss", &[]);
    let (cluster, _) = five(&liss);
    // s_n = (S + L w_o)/(L + S/w_o + 1) = (10 + 3*20)/(3 + 10/20 + 1) = 70/4.5 = 15.555... packets.
    let plan = plan(&liss, &cluster, 6.0);
    assert_eq!((plan.cwnd, plan.ssthresh), (0, 15_555));
    assert_eq!((plan.rtt, plan.samples), (RTT, 5));
    // The oldest steady connection was last heard of at 2 s.
    assert_eq!(plan.age, at(4.0));
}

#[test]
fn the_next_oldest_steady_connection_takes_over_when_the_oldest_ends() {
    let liss = policy("liss", &[]);
    let (mut cluster, keys) = five(&liss);
    cluster.close(keys[1], at(6.0));
    // L = 2, w_o = 16, S = 10: (10 + 32)/(2 + 10/16 + 1) = 42/3.625 = 11.586... packets.
    assert_eq!(plan(&liss, &cluster, 7.0).ssthresh, 11_586);
}

#[test]
fn a_timeout_takes_a_connection_out_of_the_steady_ones_and_avoidance_puts_it_back_in_its_place() {
    let liss = policy("liss", &[]);
    let (mut cluster, keys) = five(&liss);
    cluster.observe(keys[1], &sample(at(6.0), 1, false));
    // L = 2, w_o = 16, S = 11: (11 + 32)/(2 + 11/16 + 1) = 43/3.6875 = 11.661... packets.
    assert_eq!(plan(&liss, &cluster, 7.0).ssthresh, 11_661);
    cluster.observe(keys[1], &sample(at(7.0), 20, true));
    assert_eq!(plan(&liss, &cluster, 8.0).ssthresh, 15_555);
}

#[test]
fn without_a_steady_connection_equation_2_has_no_value() {
    for label in ["liss", "iss", "miss", "js"] {
        let policy = policy(label, &[]);
        let mut cluster = Cluster::new(policy.settings());
        assert_eq!(plan(&policy, &cluster, 1.0), Plan::default(), "{label}");
        open(&mut cluster, 1.0, 10, false);
        assert_eq!(plan(&policy, &cluster, 2.0), Plan::default(), "{label}");
    }
}
