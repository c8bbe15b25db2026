//! Yu and Newman, "TCP slow start with fair share of bandwidth": equations (2) to (5) computed by hand, in
//! packets of 1000 bytes.

use crate::common::{MSS, RTT, at, open, plan, policy, sample, transfer};
use firstflight_contract::{Nanos, Plan};
use firstflight_paths::{Cluster, Key, Policy};
use firstflight_schemes::scheme::Value;

/// Three steady connections, the oldest with 20 packets, and two in slow start with 4 and 6: L = 3, w_o = 20,
/// S = 10.
fn five(policy: &Policy) -> (Cluster, Vec<Key>) {
    let mut cluster = Cluster::new(policy.settings());
    let keys = [(1.0, 4, false), (2.0, 20, true), (3.0, 16, true), (4.0, 6, false), (5.0, 30, true)]
        .map(|(seconds, packets, avoiding)| open(&mut cluster, seconds, packets, avoiding));
    (cluster, keys.to_vec())
}

#[test]
fn equation_2_divides_the_windows_between_all_connections_and_the_new_one() {
    let liss = policy("liss", &[]);
    let (cluster, _) = five(&liss);
    // s_n = (S + L w_o)/(L + S/w_o + 1) = (10 + 3*20)/(3 + 10/20 + 1) = 70/4.5 = 15.555... packets.
    let plan = plan(&liss, &cluster, 6.0);
    assert_eq!((plan.cwnd, plan.ssthresh), (0, 15_555));
    assert_eq!((plan.rtt, plan.samples), (RTT, 5));
    // The last observation of the oldest steady connection was at 2 s.
    assert_eq!(plan.age, at(4.0));
}

#[test]
fn the_next_oldest_steady_connection_replaces_the_oldest_at_its_end() {
    let liss = policy("liss", &[]);
    let (mut cluster, keys) = five(&liss);
    cluster.close(keys[1], at(6.0));
    // L = 2, w_o = 16, S = 10: (10 + 32)/(2 + 10/16 + 1) = 42/3.625 = 11.586... packets.
    assert_eq!(plan(&liss, &cluster, 7.0).ssthresh, 11_586);
}

#[test]
fn a_connection_is_not_steady_between_a_timeout_and_avoidance() {
    let liss = policy("liss", &[]);
    let (mut cluster, keys) = five(&liss);
    cluster.observe(keys[1], &sample(6.0, 1, false));
    // L = 2, w_o = 16, S = 11: (11 + 32)/(2 + 11/16 + 1) = 43/3.6875 = 11.661... packets.
    assert_eq!(plan(&liss, &cluster, 7.0).ssthresh, 11_661);
    cluster.observe(keys[1], &sample(7.0, 20, true));
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

#[test]
fn iss_uses_the_average_window_of_the_oldest_connection_as_w_o() {
    for (alpha, acks, share) in [
        // awnd starts at 20/2 = 10 packets; one ACK moves it to 0.998 * 10 + 0.002 * 20 = 10.02.
        (None, 1, 5_010),
        // 10, 15, 17.5 packets.
        (Some(0.5), 2, 8_750),
        (Some(1.0), 1, 10_000),
    ] {
        let params: Vec<_> = alpha.map(|alpha| ("alpha", Value::Number(alpha))).into_iter().collect();
        let iss = policy("iss", &params);
        let mut cluster = Cluster::new(iss.settings());
        let key = open(&mut cluster, 1.0, 20, true);
        for _ in 0..acks {
            cluster.observe(key, &sample(2.0, 20, true));
        }
        // L = 1, S = 0: s_n = w_o/2.
        assert_eq!(plan(&iss, &cluster, 3.0).ssthresh, share, "{alpha:?}");
    }
}

#[test]
fn js_uses_the_share_as_first_window_too() {
    let js = policy("js", &[]);
    let (cluster, _) = five(&js);
    let plan = plan(&js, &cluster, 6.0);
    assert_eq!((plan.cwnd, plan.ssthresh, plan.rtt), (15_555, 15_555, RTT));
}

#[test]
fn without_a_handshake_the_rtt_is_that_of_the_oldest_connection() {
    let js = policy("js", &[]);
    let (cluster, _) = five(&js);
    let unknown = firstflight_paths::Transfer { rtt: Nanos::ZERO, ..transfer(6.0) };
    assert_eq!(js.plan(&cluster, &unknown).rtt, RTT);
}

/// Two steady connections with 20 and 16 packets, and losses at these times.
fn dropping(policy: &Policy, oldest: &[f64], other: &[f64]) -> Cluster {
    let mut cluster = Cluster::new(policy.settings());
    let keys = [open(&mut cluster, 1.0, 20, true), open(&mut cluster, 2.0, 16, true)];
    let mut drops: Vec<(f64, Key)> = oldest.iter().map(|t| (*t, keys[0])).collect();
    drops.extend(other.iter().map(|t| (*t, keys[1])));
    drops.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (t, key) in drops {
        cluster.lost(key, at(t), 20 * MSS);
    }
    cluster
}

#[test]
fn equations_3_to_5_give_the_window_that_fits_before_the_next_drop() {
    let miss = policy("miss", &[]);
    let cluster = dropping(&miss, &[10.0, 18.0, 34.0], &[12.0, 26.0]);
    // (4): gamma = 8 s, then 7/8 * 8 + 1/8 * 16 = 9 s.
    // (3): intervals 2, 6, 8, 8 s; tau = 2, 7/8 * 2 + 6/8 = 2.5, 3.1875, 3.7890625 s.
    // (5) at 35 s: 9 * (3.7890625 - 1)/(3.7890625 * 0.1) = 66.24742... packets, more than s_n = 40/3.
    let at_35 = plan(&miss, &cluster, 35.0);
    assert_eq!((at_35.cwnd, at_35.ssthresh, at_35.rtt), (66_247, 66_247, RTT));
    // At 37.5 s: 9 * 0.2890625/(0.37890625) = 6.86597... packets: now s_n is more.
    let at_37_5 = plan(&miss, &cluster, 37.5);
    assert_eq!((at_37_5.cwnd, at_37_5.ssthresh), (6_865, 13_333));
}

#[test]
fn without_an_interval_or_with_an_overdue_drop_only_the_threshold_is_known() {
    let miss = policy("miss", &[]);
    let threshold_only = |plan: Plan| assert_eq!((plan.cwnd, plan.ssthresh), (0, 13_333));
    threshold_only(plan(&miss, &dropping(&miss, &[], &[]), 35.0));
    threshold_only(plan(&miss, &dropping(&miss, &[34.0], &[]), 35.0));
    // The cluster has an interval, but its oldest connection has none.
    threshold_only(plan(&miss, &dropping(&miss, &[18.0], &[34.0]), 35.0));
    // 34 + tau = 37.79 s has passed.
    threshold_only(plan(&miss, &dropping(&miss, &[10.0, 18.0, 34.0], &[12.0, 26.0]), 38.0));
}

#[test]
fn the_number_of_growing_connections_can_come_from_the_windows() {
    let miss = policy("miss", &[("growth", Value::Choice(1))]);
    let mut cluster = dropping(&miss, &[10.0, 18.0, 34.0], &[12.0, 26.0]);
    open(&mut cluster, 34.5, 10, false);
    // L + S/w_o = 2 + 10/20; 2.5 * 2.7890625/0.1 = 69.7265625 packets.
    assert_eq!(plan(&miss, &cluster, 35.0).cwnd, 69_726);
}

#[test]
fn a_shortened_burst_is_sent_in_the_time_to_the_next_drop() {
    let seconds = |r| firstflight_paths::Transfer { rtt: at(r), ..transfer(110.5) };
    let params = [("lambda", Value::Number(1.0)), ("short_burst", Value::Flag(true))];
    let miss = policy("miss", &params);
    let cluster = dropping(&miss, &[10.0, 110.0], &[109.0]);
    // gamma = 100 s, tau = 1 s (the last interval), R = 1 s, 0.5 s left: 100 * 0.5/1 = 50 packets; half of
    // them in half the time.
    let short = miss.plan(&cluster, &seconds(1.0));
    assert_eq!((short.cwnd, short.rtt), (25_000, at(0.5)));
    // R = 0.25 s ends before the drop: 100 * 0.5/0.25 = 200 packets in R.
    let whole = miss.plan(&cluster, &seconds(0.25));
    assert_eq!((whole.cwnd, whole.rtt), (200_000, at(0.25)));
    let long = policy("miss", &params[..1]).plan(&cluster, &seconds(1.0));
    assert_eq!((long.cwnd, long.rtt), (50_000, at(1.0)));
}

#[test]
fn drops_of_one_connection_within_an_rtt_are_one_event() {
    let miss = policy("miss", &[]);
    let cluster = dropping(&miss, &[10.0, 10.05, 20.0, 20.09], &[]);
    assert_eq!((cluster.drops().events(), cluster.drops().mean()), (2, Some(10e9)));
    let oldest = cluster.oldest_avoiding().expect("one");
    assert_eq!((oldest.drops.events(), oldest.drops.mean()), (2, Some(10e9)));
}

#[test]
fn drops_of_all_connections_within_an_rtt_are_optionally_one_event() {
    let (oldest, other) = ([10.0, 20.0, 30.0], [10.05, 20.05, 30.05]);
    let cluster_wide = policy("miss", &[("bursts", Value::Choice(1))]);
    // gamma = tau = 10 s: 1 * (10 - 5)/0.1 = 50 packets.
    assert_eq!(plan(&cluster_wide, &dropping(&cluster_wide, &oldest, &other), 35.0).cwnd, 50_000);
    // Otherwise tau falls to 1.96 s with each burst, and at 35 s the next drop is long overdue.
    let each = policy("miss", &[]);
    assert_eq!(plan(&each, &dropping(&each, &oldest, &other), 35.0).cwnd, 0);
}

#[test]
fn the_threshold_of_a_recently_closed_connection_is_the_fallback() {
    let liss = policy("liss", &[("fallback", Value::Time(at(60.0)))]);
    let mut cluster = Cluster::new(liss.settings());
    let key = open(&mut cluster, 1.0, 20, true);
    assert_eq!(plan(&liss, &cluster, 2.0).ssthresh, 10_000, "a live connection has priority: 20/2");
    cluster.close(key, at(3.0));
    let left = plan(&liss, &cluster, 63.0);
    assert_eq!((left.ssthresh, left.age, left.samples), (16_000, at(60.0), 1));
    assert_eq!(plan(&liss, &cluster, 63.1), Plan::default());
    let never = policy("liss", &[]);
    assert_eq!(plan(&never, &cluster, 3.5), Plan::default());
}
