//! State that outlives connections: cached values, sampled averages, SPAND's reports.

use crate::common::{MSS, RTT, at, open, plan, policy, sample, transfer};
use firstflight_contract::{Nanos, Plan};
use firstflight_paths::{Cluster, Destination, Policy, Sample, Transfer};
use firstflight_schemes::scheme::Value;

fn to(destination: u128, seconds: f64) -> Transfer {
    Transfer { destination: Destination(destination), ..transfer(seconds) }
}

#[test]
fn cached_uses_the_threshold_of_a_live_connection_or_of_a_closed_one_to_the_same_destination() {
    let cached = policy("cached", &[]);
    let mut cluster = Cluster::new(cached.settings());
    let threshold = |cluster: &Cluster, destination| {
        let plan = cached.plan(cluster, &to(destination, 9.0));
        assert_eq!(plan.cwnd, 0);
        plan.ssthresh
    };
    assert_eq!(threshold(&cluster, 1), 0);
    let left = |packets| Sample { ssthresh: packets * MSS, ..sample(1.0, 20, true) };
    let first = cluster.open(&to(1, 1.0), &left(12));
    let second = cluster.open(&to(2, 1.0), &left(30));
    // The oldest in congestion avoidance, whatever its destination.
    assert_eq!([1, 2, 3].map(|d| threshold(&cluster, d)), [12_000; 3]);
    cluster.close(first, at(2.0));
    assert_eq!([1, 2, 3].map(|d| threshold(&cluster, d)), [30_000; 3]);
    cluster.close(second, at(3.0));
    assert_eq!([1, 2, 3].map(|d| threshold(&cluster, d)), [12_000, 30_000, 0]);
    // A connection without a finite threshold is ignored.
    cluster.open(&to(4, 4.0), &Sample { ssthresh: u64::MAX, ..sample(4.0, 20, false) });
    assert_eq!([1, 3].map(|d| threshold(&cluster, d)), [12_000, 0]);
}

#[test]
fn a_cached_threshold_that_is_too_old_does_not_count() {
    let cached = policy("cached", &[("max_age", Value::Time(at(60.0)))]);
    let mut cluster = Cluster::new(cached.settings());
    let key = open(&mut cluster, 1.0, 20, true);
    cluster.close(key, at(2.0));
    assert_eq!(plan(&cached, &cluster, 62.0).ssthresh, 16_000);
    assert_eq!(plan(&cached, &cluster, 62.1), Plan::default());
}

#[test]
fn temporal_sharing_uses_the_final_state_of_the_last_connection_to_the_destination() {
    let temporal = policy("cached", &[("sharing", Value::Choice(1))]);
    let mut cluster = Cluster::new(temporal.settings());
    let key = open(&mut cluster, 1.0, 20, true);
    assert_eq!(plan(&temporal, &cluster, 2.0), Plan::default(), "not closed yet");
    cluster.close(key, at(2.0));
    let expected = Plan { cwnd: 20_000, ssthresh: 16_000, rtt: RTT, age: at(3.0), samples: 1 };
    assert_eq!(plan(&temporal, &cluster, 5.0), expected);
    assert_eq!(temporal.plan(&cluster, &to(2, 5.0)), Plan::default());
}

#[test]
fn careful_resume_plans_the_smallest_rtt_until_a_later_connection_overruns_the_path() {
    let careful = policy("careful-resume", &[]);
    let temporal = policy("cached", &[("sharing", Value::Choice(1))]);
    let settings = Policy::settings_for([&careful, &temporal]).expect("the settings agree");
    let mut cluster = Cluster::new(settings);
    let least = Nanos::from_millis(60);
    let leave = |cluster: &mut Cluster, seconds: f64| {
        let key = open(cluster, seconds, 10, false);
        cluster.observe(key, &Sample { min_rtt: least, ..sample(seconds + 1.0, 50, true) });
        cluster.close(key, at(seconds + 1.0));
    };
    leave(&mut cluster, 0.0);
    let saved = |age: f64| Plan { cwnd: 50_000, ssthresh: 0, rtt: least, age: at(age), samples: 1 };
    assert_eq!(plan(&careful, &cluster, 2.0), saved(1.0));
    // A loss in congestion avoidance says nothing of the saved window, a loss in slow start does.
    let later = open(&mut cluster, 3.0, 10, true);
    cluster.lost(later, at(4.0), 20_000);
    assert_eq!(plan(&careful, &cluster, 5.0), saved(4.0));
    cluster.observe(later, &sample(5.0, 10, false));
    cluster.lost(later, at(6.0), 20_000);
    cluster.observe(later, &sample(7.0, 45, true));
    assert_eq!(plan(&careful, &cluster, 8.0), Plan::default());
    // The window that an earlier connection left still counts for the cache, and the next one to be left for both.
    assert_eq!(plan(&temporal, &cluster, 8.0).cwnd, 50_000);
    leave(&mut cluster, 9.0);
    assert_eq!(plan(&careful, &cluster, 11.0), saved(1.0));
}

#[test]
fn ensemble_sharing_gives_an_equal_share_of_the_live_windows() {
    let ensemble = policy("cached", &[("sharing", Value::Choice(2))]);
    let mut cluster = Cluster::new(ensemble.settings());
    assert_eq!(plan(&ensemble, &cluster, 1.0), Plan::default());
    open(&mut cluster, 1.0, 4, false);
    open(&mut cluster, 2.0, 20, true);
    // (4 + 20)/(2 + 1) = 8 packets.
    let plan = plan(&ensemble, &cluster, 3.0);
    assert_eq!((plan.cwnd, plan.ssthresh, plan.samples), (8_000, 16_000, 2));
}

#[test]
fn the_mean_of_all_windows_is_updated_every_minute() {
    let averaged = policy("averaged", &[]);
    let mut cluster = Cluster::new(averaged.settings());
    open(&mut cluster, 0.5, 10, true);
    let second = open(&mut cluster, 30.5, 30, false);
    assert_eq!(plan(&averaged, &cluster, 59.9), Plan::default());
    // From 1 to 59 s ten packets, from 31 to 59 s thirty: (590 + 870)/(59 + 29) = 16.5909... packets.
    let first_minute = Plan { ssthresh: 16_590, age: at(1.0), samples: 88, ..Plan::default() };
    assert_eq!(plan(&averaged, &cluster, 61.0), first_minute);
    cluster.close(second, at(90.5));
    assert_eq!(plan(&averaged, &cluster, 119.0).ssthresh, 16_590);
    // From 60 to 119 s ten packets, from 60 to 90 s thirty: (590 + 870 + 600 + 930)/(88 + 91) = 16.7039...
    // packets.
    let second_minute = plan(&averaged, &cluster, 120.0);
    assert_eq!((second_minute.ssthresh, second_minute.samples), (16_703, 179));
    // After five more minutes only the ten packets are left.
    assert_eq!(plan(&averaged, &cluster, 419.9).ssthresh, (600 + 930 + 4 * 600) * 1000 / (91 + 4 * 60));
    assert_eq!(plan(&averaged, &cluster, 420.0).ssthresh, 10_000);
}

/// A cluster with one connection that met a loss in congestion avoidance at 21 packets: `Wc` = 20.
fn reported(spand: &Policy) -> Cluster {
    let mut cluster = Cluster::new(spand.settings());
    let key = open(&mut cluster, 1.0, 21, true);
    cluster.lost(key, at(10.0), 21 * MSS);
    cluster
}

fn of(packets: u64, seconds: f64) -> Transfer {
    Transfer { bytes: packets * MSS, ..transfer(seconds) }
}

#[test]
fn spand_plans_for_the_size_from_the_losses_of_other_connections() {
    let spand = policy("spand", &[]);
    let cluster = reported(&spand);
    let window = |packets| spand.plan(&cluster, &of(packets, 11.0)).cwnd / MSS;
    // Algorithm page: Wc = 20. 60 packets: 14 + 15 + 16 + 17 = 62; 30: 15 + 16 = 31; 20 fit in one round
    // trip.
    assert_eq!([60, 30, 20, 7, 1].map(window), [14, 15, 20, 7, 1]);
    let plan = spand.plan(&cluster, &of(60, 11.0));
    assert_eq!(plan, Plan { cwnd: 14_000, ssthresh: 14_000, rtt: RTT, age: at(1.0), samples: 1 });
    // 20 packets and one byte are 21 packets: 10 + 11 = 21.
    assert_eq!(spand.plan(&cluster, &Transfer { bytes: 20_001, ..of(0, 11.0) }).cwnd, 10_000);
    // An unlimited transfer begins with an epoch, at Wc/2.
    assert_eq!(spand.plan(&cluster, &transfer(11.0)).cwnd, 10_000);
}

#[test]
fn spand_works_without_the_shift_and_with_loss_avoidance() {
    for (params, window) in [
        (vec![("shift", Value::Flag(false))], 17),
        // Wc = 19: 16 + 17 + 18 + 19 = 70 >= 60 > 54.
        (vec![("shift", Value::Flag(false)), ("avoid_loss", Value::Flag(true))], 16),
        // Two round trips per step: 2 (19 + 20) = 78 >= 60 > 40; in four of them 14 + 14 + 15 + 15 = 58 < 60
        // <= 15 + 15 + 16 + 16.
        (vec![("b", Value::Packets(2))], 15),
    ] {
        let spand = policy("spand", &params);
        assert_eq!(spand.plan(&reported(&spand), &of(60, 11.0)).cwnd, window * MSS, "{params:?}");
    }
}

#[test]
fn a_transfer_without_loss_reports_its_final_window() {
    let spand = policy("spand", &[("shift", Value::Flag(false))]);
    let mut cluster = reported(&spand);
    let wc = |cluster: &Cluster| spand.plan(cluster, &of(1, 20.0)).cwnd / MSS;
    let quiet = open(&mut cluster, 11.0, 33, true);
    cluster.done(quiet, at(12.0));
    // (20 + 33)/2 = 26.5; without the shift a single packet is sent with the window Wc.
    assert_eq!(wc(&cluster), 26);
    // Its next transfer meets a loss in slow start: neither the loss nor the end is a report.
    cluster.observe(quiet, &sample(13.0, 50, false));
    cluster.lost(quiet, at(14.0), 50 * MSS);
    cluster.close(quiet, at(15.0));
    assert_eq!(wc(&cluster), 26);
    // A connection without an ACK has measured nothing.
    let silent = cluster.open(&of(1, 16.0), &Sample { srtt: at(0.0), ..sample(16.0, 99, false) });
    cluster.close(silent, at(17.0));
    assert_eq!(wc(&cluster), 26);
}

#[test]
fn the_window_of_reports_slides_in_steps_of_a_tenth() {
    let spand = policy("spand", &[]);
    let mut cluster = reported(&spand);
    let key = open(&mut cluster, 99.0, 11, true);
    cluster.lost(key, at(100.0), 11 * MSS);
    let window = |seconds| spand.plan(&cluster, &of(60, seconds));
    // Wc = (20 + 10)/2 = 15, an epoch is 7 + ... + 15 = 99; 60 packets take five round trips from 11, and 10
    // + ... + 14 = 60.
    assert_eq!(window(299.9).cwnd, 10_000);
    // The tenth from 0 to 30 s is dropped at 300 s. Wc = 10, an epoch is 5 + ... + 10 = 45, F' = 15: 8 + 9 +
    // 10 >= 15 > 10 ..., so W = 9 and 2 + 6 round trips; from 7, 7 + 8 + 9 + 10 and 5 + 6 + 7 + 8 = 60 take
    // as many.
    assert_eq!(window(300.0).cwnd, 7_000);
    assert_eq!(window(389.9).samples, 1);
    assert_eq!(window(390.0), Plan::default());
}

#[test]
fn an_estimate_optionally_fades_instead_of_expiring() {
    let spand = policy("spand", &[("estimate", Value::Choice(1))]);
    let cluster = reported(&spand);
    let wc = |seconds| spand.plan(&cluster, &of(20, seconds)).cwnd;
    // All 20 packets fit while Wc = 20; 300 s after the end of the window it is 10: 8 + 9 + 10 = 27 >= 20 >
    // 19, 6 + 7 + 8 = 21.
    assert_eq!((wc(299.0), wc(310.0), wc(610.0)), (20_000, 20_000, 6_000));
    // After 4.33 halvings 20 packets are less than one packet.
    assert_eq!(spand.plan(&cluster, &of(20, 310.0 + 4.33 * 300.0)), Plan::default());
}

#[test]
fn an_estimate_optionally_weighs_reports_by_age() {
    let spand = policy("spand", &[("estimate", Value::Choice(2)), ("shift", Value::Flag(false))]);
    let mut cluster = Cluster::new(spand.settings());
    let key = open(&mut cluster, 0.0, 11, true);
    cluster.lost(key, at(10.0), 11 * MSS);
    cluster.lost(key, at(310.0), 21 * MSS);
    // (10/e + 20)/(1/e + 1) = 17.3106 packets.
    let average = cluster.reported(at(310.0)).expect("two reports");
    assert_eq!((average.cwnd, average.rtt, average.samples), (17_310, RTT, 2));
    assert_eq!(spand.plan(&cluster, &of(1, 610.0)).cwnd, 17_000);
    assert_eq!(spand.plan(&cluster, &of(1, 610.1)), Plan::default());
}
