//! Plans from their first window to their end.

use crate::common::*;
use firstflight_contract::Nanos;
use firstflight_gateway::{
    Arm, Connection, Decision, Gateway, Misfit, Mode, Override, Settings, Why, WhyNot,
};

#[test]
fn the_first_plan_is_half_of_the_doublings_and_the_second_the_whole() {
    let mut gateway = Gateway::new(enforcing());
    // Hosts 1, 2, 3 with three samples each: the eighth sample is the first to found an estimate.
    let decisions = learn(&mut gateway, 1.0, 3, 40);
    // Half of the doublings from 10 to 40 is one doubling: sqrt(10 x 40) = 20.
    let [Decision::Set { plan, why: Why::HalfJump(target) }] = decisions[..] else {
        panic!("one plan: {decisions:?}")
    };
    assert_eq!((plan.window, target.window), (20, 40));
    assert_eq!(plan.prefix.to_string(), "192.0.2.0/24");
    // A round trip of 100 ms in units of 64 us is at most 100.032 ms: from half of that to an eighth more, in whole units.
    assert_eq!(plan.rtt, (Nanos::from_micros(781 * 64), Nanos::from_micros(1758 * 64)));
    for turn in 0..3 {
        assert_eq!(report(&mut gateway, &planned(exact(2.0, host(turn + 1), 40), 20)), []);
    }
    let decisions = report(&mut gateway, &planned(exact(3.0, host(1), 40), 20));
    let [Decision::Set { plan, why: Why::WholeJump { clean: 4, .. } }] = decisions[..] else {
        panic!("the whole: {decisions:?}")
    };
    assert_eq!(plan.window, 40);
}

#[test]
fn too_few_hosts_or_samples_are_no_ground_for_a_plan() {
    let mut gateway = Gateway::new(enforcing());
    assert_eq!(learn(&mut gateway, 1.0, 2, 40), []);
    assert_eq!(learn(&mut gateway, 1.0, 2, 40), []);
    let why = gateway.explain(host(1)).why_not.expect("no plan");
    assert_eq!(why.to_string(), "2 hosts with a sample; 3 are needed");
    let mut gateway = Gateway::new(enforcing());
    for number in 1..=7 {
        assert_eq!(report(&mut gateway, &exact(1.0, host(number), 40)), []);
    }
    let why = gateway.explain(host(1)).why_not.expect("no plan");
    assert_eq!(why.to_string(), "samples of the weight of 7 new ones; 8 are needed");
    assert_eq!(report(&mut gateway, &exact(1.0, host(8), 40)).len(), 1);
}

#[test]
fn an_overflow_of_the_first_window_halves_it_and_the_third_ends_the_plan() {
    let mut gateway = Gateway::new(enforcing());
    learn(&mut gateway, 1.0, 3, 45);
    for turn in 0..4 {
        report(&mut gateway, &planned(exact(2.0, host(turn % 3 + 1), 45), 21));
    }
    assert_eq!(window(&gateway), Some(45));
    let decisions = report(&mut gateway, &overflown(planned(exact(3.0, host(1), 45), 45)));
    let [Decision::Set { plan, why: Why::Halved { from: 45, strikes: 1, .. } }] = decisions[..] else {
        panic!("{decisions:?}")
    };
    assert_eq!(plan.window, 22);
    // Host 1 alone is a third of three: its losses move nothing.
    for _ in 0..50 {
        assert_eq!(report(&mut gateway, &overflown(planned(exact(3.0, host(1), 45), 22))), []);
    }
    // 22 / 2 = 11.
    report(&mut gateway, &overflown(planned(exact(4.0, host(2), 45), 22)));
    assert_eq!(window(&gateway), Some(11));
    let decisions = report(&mut gateway, &overflown(planned(exact(5.0, host(3), 45), 11)));
    let [Decision::Remove { why: WhyNot::Frozen { until, .. }, .. }] = decisions[..] else {
        panic!("{decisions:?}")
    };
    assert_eq!(until, at(5.0 + 3600.0));
    // Nothing until the freeze is over; then from the beginning.
    assert_eq!(tick(&mut gateway, 3500.0), []);
    assert_eq!(learn(&mut gateway, 3500.0, 3, 45), []);
    assert_eq!(tick(&mut gateway, 3604.0), []);
    let decisions = tick(&mut gateway, 3605.5);
    assert!(matches!(decisions[..], [Decision::Set { why: Why::HalfJump(_), .. }]), "{decisions:?}");
}

#[test]
fn a_window_is_not_raised_in_the_hold_down() {
    let mut gateway = Gateway::new(enforcing());
    learn(&mut gateway, 1.0, 3, 45);
    for turn in 0..4 {
        report(&mut gateway, &planned(exact(2.0, host(turn % 3 + 1), 45), 21));
    }
    report(&mut gateway, &overflown(planned(exact(3.0, host(1), 45), 45)));
    for second in 4..602 {
        report(&mut gateway, &planned(exact(f64::from(second), host((second % 3) as u8 + 1), 45), 22));
        assert_eq!(window(&gateway), Some(22), "at {second} s");
    }
    report(&mut gateway, &planned(exact(604.0, host(1), 45), 22));
    assert_eq!(window(&gateway), Some(45));
}

/// A window of 30 in force, after this many of each first window of the stack were lost in turn.
fn thirty(lost_by_stock: &[u32]) -> Gateway {
    let mut gateway = Gateway::new(enforcing());
    for (second, segments) in lost_by_stock.iter().cycle().take(60).enumerate() {
        report(&mut gateway, &lost(exact(second as f64, host(second as u8 % 6 + 1), 30), *segments));
    }
    for turn in 0..4 {
        let plan = window(&gateway).expect("a plan");
        report(&mut gateway, &planned(exact(60.0, host(turn + 1), 30), plan));
    }
    assert_eq!(window(&gateway), Some(30));
    gateway
}

#[test]
fn losses_that_first_windows_have_without_a_plan_are_no_evidence_against_the_plan() {
    // Four segments in 100 are lost, planned or not: of five first windows of ten, two lose one; of 30, 1.2 are lost.
    let after = |mut gateway: Gateway| {
        for turn in 0..200u32 {
            let connection = planned(exact(61.0 + f64::from(turn) / 10.0, host(turn as u8 % 6 + 1), 30), 30);
            report(&mut gateway, &lost(connection, if turn % 5 == 0 { 2 } else { 1 }));
        }
        window(&gateway)
    };
    assert_eq!(after(thirty(&[1, 0, 1, 0, 0])), Some(30));
    // They are if no first window of the stack lost any: four times 1 % explains them better than 1 %.
    assert_eq!(after(thirty(&[0])), Some(15));
}

#[test]
fn connections_that_began_before_a_halving_count_no_more() {
    let mut gateway = thirty(&[0]);
    for turn in 0..30 {
        report(&mut gateway, &overflown(planned(exact(61.0, host(turn % 6 + 1), 30), 30)));
    }
    assert_eq!(window(&gateway), Some(15));
}

#[test]
fn losses_of_slow_start_do_not_excuse_a_first_window() {
    let mut gateway = thirty(&[0]);
    // A short queue: slow start loses a tenth of the segments of each connection, and none of its first ten.
    let overflow = |connection| Connection { sent: 1100, retransmits: 100, ..connection };
    for turn in 0..16 {
        report(&mut gateway, &overflow(exact(61.0, host(turn % 6 + 1), 30)));
        report(&mut gateway, &overflow(planned(exact(62.0, host(turn % 6 + 1), 30), 30)));
    }
    assert_eq!(window(&gateway), Some(30));
    report(&mut gateway, &lost(overflow(planned(exact(63.0, host(1), 30), 30)), 8));
    assert_eq!(window(&gateway), Some(15));
}

#[test]
fn a_window_is_halved_when_its_losses_are_a_thousand_times_likelier_under_an_overflow() {
    // Of 30 segments 0.3 are lost at 1 %, 1.2 at 4 %: Poisson's ratio is 4^n e^-0.9 for n losses. It is above 1000 from 6 on,
    // 1665, and for 3 and 4 in two connections, 2708; 3 and 3 give 677.
    let halved = |losses: &[u32]| {
        let mut gateway = thirty(&[0]);
        for (number, segments) in losses.iter().enumerate() {
            report(&mut gateway, &lost(planned(exact(61.0, host(number as u8 + 1), 30), 30), *segments));
        }
        window(&gateway) == Some(15)
    };
    assert!(halved(&[6]) && halved(&[3, 4]));
    assert!(!halved(&[5]) && !halved(&[3, 3]));
    // A connection of 20 segments has sent 20 of the first window: 4^5 e^-0.6 = 562.
    let mut gateway = thirty(&[0]);
    let short =
        Connection { bytes: 20 * u64::from(MSS), sent: 25, retransmits: 5, ..exact(61.0, host(1), 30) };
    report(&mut gateway, &lost(planned(short, 30), 5));
    assert_eq!(window(&gateway), Some(30));
}

#[test]
fn random_losses_of_one_in_a_hundred_halve_a_window_once_in_a_thousand_connections_or_less() {
    let mut state = 18u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut connections = 0;
    const RUNS: u32 = 40;
    for _ in 0..RUNS {
        let mut gateway = thirty(&[0]);
        let mut number = 0u32;
        while window(&gateway) == Some(30) && number < 20_000 {
            let segments = (0..30).filter(|_| draw(100) == 0).count() as u32;
            let connection =
                planned(exact(61.0 + f64::from(number) / 100.0, host(number as u8 % 6 + 1), 30), 30);
            report(&mut gateway, &lost(connection, segments));
            number += 1;
        }
        connections += number;
    }
    assert!(connections / RUNS >= 1000, "{}", connections / RUNS);
}

#[test]
fn a_first_window_leaves_at_the_pace_of_the_path_where_that_is_measured() {
    let pace = |gateway: &Gateway| gateway.explain(host(1)).plan.expect("a plan").pace();
    let mut gateway = Gateway::new(enforcing());
    learn(&mut gateway, 1.0, 3, 40);
    // 20 segments leave at 40 in a round-trip time by themselves.
    assert_eq!((window(&gateway), pace(&gateway)), (Some(20), None));
    for turn in 0..4 {
        report(&mut gateway, &planned(exact(2.0, host(turn % 3 + 1), 40), 20));
    }
    assert_eq!((window(&gateway), pace(&gateway)), (Some(40), Some(40)));
    // The path holds 60, a window of at most 45. The pace follows the estimate in steps of an eighth.
    for _ in 0..6 {
        learn(&mut gateway, 3.0, 3, 60);
    }
    assert_eq!(window(&gateway), Some(45));
    assert!(matches!(pace(&gateway), Some(53..=60)), "{:?}", pace(&gateway));
    // After an overflow, half of the window at Linux's own pace.
    report(&mut gateway, &overflown(planned(exact(4.0, host(1), 60), 45)));
    assert_eq!((window(&gateway), pace(&gateway)), (Some(22), None));
    // Of a path of which only lower bounds are known nobody knows the pace.
    let mut gateway = Gateway::new(enforcing());
    for turn in 0..12 {
        let connection = bound(1.0, host(turn % 3 + 1), 40);
        let plan = window(&gateway);
        report(&mut gateway, &plan.map_or(connection, |plan| planned(connection, plan)));
    }
    assert_eq!((window(&gateway), pace(&gateway)), (Some(40), None));
}

#[test]
fn a_lower_bound_raises_the_estimate_and_never_lowers_it() {
    let mut gateway = Gateway::new(enforcing());
    learn(&mut gateway, 1.0, 3, 20);
    let median = |gateway: &Gateway| gateway.explain(host(1)).estimate.expect("an estimate").segments();
    assert_eq!(median(&gateway), 20);
    for number in 1..=3 {
        report(&mut gateway, &bound(2.0, host(number), 12));
        report(&mut gateway, &Connection { limited: true, ..exact(2.0, host(number), 12) });
    }
    assert_eq!(median(&gateway), 20);
    for number in 1..=3 {
        report(&mut gateway, &bound(3.0, host(number), 30));
    }
    assert_eq!(median(&gateway), 30);
}

#[test]
fn a_lower_bound_replaces_what_is_known_when_that_is_a_half_life_old() {
    let mut gateway = Gateway::new(enforcing());
    learn(&mut gateway, 1.0, 3, 40);
    let median = |gateway: &Gateway| gateway.explain(host(1)).estimate.expect("an estimate").segments();
    // Short transfers for ten minutes: the samples of the first second grow old.
    for second in 2..=600 {
        report(&mut gateway, &bound(f64::from(second), host((second % 3) as u8 + 1), 20));
        assert_eq!(median(&gateway), 40, "at {second} s");
    }
    for second in 601..=606 {
        report(&mut gateway, &bound(f64::from(second), host((second % 3) as u8 + 1), 20));
    }
    assert_eq!(median(&gateway), 20);
}

#[test]
fn a_connection_that_the_receiver_limited_is_a_lower_bound() {
    let mut gateway = Gateway::new(enforcing());
    learn(&mut gateway, 1.0, 3, 40);
    for number in 1..=3 {
        let receiver =
            Connection { receive_window: 15 * u64::from(MSS), cwnd: 60, ..exact(2.0, host(number), 15) };
        report(&mut gateway, &receiver);
    }
    assert_eq!(gateway.explain(host(1)).estimate.expect("an estimate").segments(), 40);
}

#[test]
fn a_planned_first_window_without_a_loss_is_no_sample_of_its_size() {
    let mut gateway = Gateway::new(enforcing());
    // Transfers of 60 segments whose rate was that of 15 a round trip, started with 28.
    for number in 1..=8 {
        let short =
            Connection { bytes: 60 * u64::from(MSS), busy: Nanos(4 * RTT.0), ..exact(1.0, host(number), 15) };
        report(&mut gateway, &planned(short, 28));
    }
    assert_eq!(gateway.explain(host(1)).estimate.expect("an estimate").segments(), 15);
}

#[test]
fn a_transfer_of_one_flight_is_measured_by_the_time_between_its_acks() {
    // 24 segments of a window of 28, which the application limited. They end a round trip and `spread` after their start.
    let median = |spread: u64| {
        let mut gateway = Gateway::new(enforcing());
        for number in 1..=8 {
            let busy = RTT.saturating_add(Nanos::from_millis(spread));
            let short =
                Connection { bytes: 24 * u64::from(MSS), busy, limited: true, ..exact(1.0, host(number), 3) };
            report(&mut gateway, &planned(short, 28));
        }
        gateway.explain(host(1)).estimate.map(|estimate| estimate.segments())
    };
    // 24 in 200 ms are 12 in a round trip of 100 ms; 24 in 80 ms would be 30, of which 24 were acknowledged.
    assert_eq!((median(200), median(80)), (Some(12), Some(24)));
    // 24 in 1 s are 2.4 in a round trip: below the stack's own window a lower bound is worth nothing.
    assert_eq!(median(1000), None);
}

#[test]
fn a_path_whose_rate_fell_tenfold_is_found_within_three_connections() {
    let mut gateway = Gateway::new(Settings { hosts: 1, ..enforcing() });
    for turn in 0..8 {
        let connection = exact(1.0 + f64::from(turn), host(1), 45);
        let plan = window(&gateway);
        report(&mut gateway, &plan.map_or(connection, |plan| planned(connection, plan)));
    }
    for turn in 0..8 {
        let connection =
            planned(exact(10.0 + f64::from(turn), host(1), 45), window(&gateway).expect("a plan"));
        report(&mut gateway, &connection);
    }
    assert_eq!(window(&gateway), Some(45));
    // The path now holds 4.5 segments: 45 and 22 lose segments of their first window.
    let mut started = vec![];
    for turn in 0..4 {
        let plan = window(&gateway);
        started.push(plan.unwrap_or(10));
        let connection = exact(20.0 + f64::from(turn), host(1), 4);
        report(&mut gateway, &plan.map_or(connection, |plan| overflown(planned(connection, plan))));
    }
    assert_eq!(started, [45, 22, 11, 10]);
}

/// A plan of 33 segments for a path of 33, which eight hosts measured and used.
fn thirty_three() -> Gateway {
    let mut gateway = Gateway::new(enforcing());
    for turn in 0..40 {
        let connection = exact(f64::from(turn), host(turn as u8 % 8 + 1), 33);
        let plan = window(&gateway);
        report(&mut gateway, &plan.map_or(connection, |plan| planned(connection, plan)));
    }
    assert_eq!(window(&gateway), Some(33));
    gateway
}

/// 100 KB over a path whose rate fell to a tenth, 3.3 segments in a round trip, behind a queue of 40 packets. 33 segments fit path and
/// queue; of the second flight seven are lost.
fn fallen(seconds: f64, peer: core::net::IpAddr) -> Connection {
    let bytes = 70 * u64::from(MSS);
    let rate = 33 * u64::from(MSS);
    // 70 segments at 33 a second.
    let busy = Nanos::from_millis(2120);
    Connection { bytes, rate, busy, sent: 77, retransmits: 7, ..exact(seconds, peer, 3) }
}

#[test]
fn a_fall_of_the_rate_behind_a_deep_queue_is_answered_within_three_connections() {
    let mut gateway = thirty_three();
    let mut started = vec![];
    for turn in 0..5 {
        let plan = window(&gateway);
        started.push(plan.unwrap_or(10));
        let connection = fallen(50.0 + f64::from(turn), host(turn as u8 + 1));
        report(&mut gateway, &plan.map_or(connection, |plan| planned(connection, plan)));
    }
    // 3.3 is less than a third of 33 and of 16. Half of 33 is 16; hosts 1, 2 and 3 of eight are more than a third, and half of 16
    // is the stack's own window.
    assert_eq!(started, [33, 16, 16, 10, 10]);
}

#[test]
fn the_reason_of_a_halving_is_what_the_connection_measured() {
    let mut gateway = thirty_three();
    let decisions = report(&mut gateway, &planned(fallen(50.0, host(1)), 33));
    let [decision @ Decision::Set { plan, why: Why::Halved { misfit, .. } }] = decisions[..] else {
        panic!("{decisions:?}")
    };
    // 33 segments a second in 100 ms: 3.3, in whole sixteenths 52.
    assert_eq!((plan.window, misfit), (16, Misfit::Slow { delivered: 52, of: 33 }));
    let text = decision.to_string();
    assert!(
        text.contains("to 192.0.2.1, delivered 3.2 of 33 segments in a round trip (halving 1 of 3)"),
        "{text}"
    );
}

#[test]
fn a_connection_that_the_path_did_not_limit_is_no_evidence_of_a_fall() {
    let after = |connection: Connection| {
        let mut gateway = thirty_three();
        report(&mut gateway, &planned(connection, 33));
        window(&gateway)
    };
    // The application wrote slowly, or the peer took little.
    assert_eq!(after(Connection { limited: true, ..fallen(50.0, host(1)) }), Some(33));
    assert_eq!(
        after(Connection { receive_window: 3 * u64::from(MSS), cwnd: 33, ..fallen(50.0, host(1)) }),
        Some(33)
    );
    // Half of the window in a round trip is what a paced first window measures at least: 16.5 segments.
    let half = Connection { rate: 165 * u64::from(MSS), busy: Nanos(5 * RTT.0), ..fallen(50.0, host(1)) };
    assert_eq!(after(half), Some(33));
}

#[test]
fn a_host_that_is_known_to_be_slow_halves_nothing() {
    let mut gateway = thirty_three();
    // A ninth host, whose path holds 3.3 segments: known before it is planned.
    report(&mut gateway, &fallen(50.0, host(9)));
    for turn in 0..8 {
        report(&mut gateway, &planned(fallen(51.0 + f64::from(turn), host(9)), 33));
    }
    assert_eq!(window(&gateway), Some(33));
}

#[test]
fn a_sample_is_at_most_what_was_acknowledged() {
    let mut gateway = Gateway::new(enforcing());
    for number in 1..=8 {
        // 15 segments at a rate that would fill 200 a round trip.
        let short = Connection { bytes: 15 * u64::from(MSS), ..exact(1.0, host(number), 200) };
        report(&mut gateway, &short);
    }
    let estimate = gateway.explain(host(1)).estimate.expect("an estimate");
    assert_eq!((estimate.segments(), estimate.exact), (15, 0));
}

#[test]
fn a_plan_ends_when_its_samples_are_too_old() {
    let mut gateway = Gateway::new(enforcing());
    learn(&mut gateway, 1.0, 3, 40);
    // Nine samples weigh 9 x (1 - t / 1200 s) in the first half-life: 8 until 134 s after them.
    assert_eq!(tick(&mut gateway, 130.0), []);
    let decisions = tick(&mut gateway, 140.0);
    assert!(matches!(decisions[..], [Decision::Remove { why: WhyNot::Unfounded(_), .. }]), "{decisions:?}");
}

#[test]
fn a_plan_is_renewed_at_half_of_its_life() {
    let mut gateway = Gateway::new(Settings { half_life: Nanos::from_secs(90_000), ..enforcing() });
    for _ in 0..3 {
        learn(&mut gateway, 1.0, 3, 40);
    }
    assert_eq!(tick(&mut gateway, 900.0), []);
    let decisions = tick(&mut gateway, 901.0);
    let [Decision::Set { plan, why: Why::Renewed(_) }] = decisions[..] else { panic!("{decisions:?}") };
    assert_eq!(plan.expires, at(901.0 + 1800.0));
}

#[test]
fn hosts_that_disagree_split_their_prefix_and_then_are_refused() {
    let mut gateway = Gateway::new(enforcing());
    // Hosts 1 to 8 have a window of 15, hosts 33 to 40 one of 90.
    let mut decisions = vec![];
    for turn in 0..6 {
        for number in 1..=8 {
            decisions.extend(report(&mut gateway, &exact(f64::from(turn), host(number), 15)));
            decisions.extend(report(&mut gateway, &exact(f64::from(turn), host(32 + number), 90)));
        }
    }
    let plan = |number| gateway.explain(host(number)).plan.map(|plan| (plan.prefix.to_string(), plan.window));
    // sqrt(10 x 15) = 12, sqrt(10 x 45) = 21.
    assert_eq!(plan(1), Some(("192.0.2.0/28".into(), 12)));
    assert_eq!(plan(40), Some(("192.0.2.32/28".into(), 21)));
    assert_eq!(gateway.plans().count(), 2, "{decisions:?}");

    let mut gateway = Gateway::new(Settings { split: None, ..enforcing() });
    for turn in 0..6 {
        for number in 1..=8 {
            report(
                &mut gateway,
                &exact(f64::from(turn), host(number), if number % 2 == 0 { 15 } else { 90 }),
            );
        }
    }
    let why = gateway.explain(host(1)).why_not;
    assert!(matches!(why, Some(WhyNot::Disagree(_))), "{why:?}");
}

#[test]
fn hosts_that_each_vary_as_much_as_they_differ_do_not_disagree() {
    let mut gateway = Gateway::new(enforcing());
    for turn in 0..8u32 {
        for number in 1..=8u8 {
            // Each host has windows of 14 and 44 in turn.
            let segments = if (turn + u32::from(number)) % 2 == 0 { 14 } else { 44 };
            report(&mut gateway, &exact(f64::from(turn), host(number), segments));
        }
    }
    assert!(window(&gateway).is_some(), "{:?}", gateway.explain(host(1)));
}

#[test]
fn the_operator_sets_freezes_and_ends_plans() {
    let mut gateway = Gateway::new(enforcing());
    learn(&mut gateway, 1.0, 3, 40);
    let prefix = |text: &str| text.parse().expect("a prefix");
    let mut out = vec![];
    gateway.order(prefix("192.0.0.0/16"), Some(Override::Off), &mut out);
    assert!(matches!(out[..], [Decision::Remove { why: WhyNot::Operator, .. }]), "{out:?}");
    assert_eq!(learn(&mut gateway, 2.0, 3, 40), []);
    // The longer prefix counts.
    out.clear();
    gateway.order(prefix("192.0.2.0/24"), Some(Override::Window(33)), &mut out);
    assert!(matches!(out[..], [Decision::Set { plan, why: Why::Operator }] if plan.window == 33), "{out:?}");
    gateway.order(prefix("192.0.2.0/24"), Some(Override::Freeze), &mut out);
    learn(&mut gateway, 3.0, 3, 12);
    assert_eq!(window(&gateway), Some(33));
    gateway.order(prefix("192.0.2.0/24"), None, &mut out);
    assert_eq!(window(&gateway), None);
}

#[test]
fn a_window_that_the_operator_ordered_ends_by_harm_and_not_by_losses() {
    let all = "0.0.0.0/0".parse().expect("a prefix");
    let overrides = vec![(all, Override::Window(30))];
    // The trial of the host, which has the same connections here, is not to find the harm first.
    let mut gateway = Gateway::new(Settings { overrides, false_alarm: (0.01, 1e-12), ..enforcing() });
    let mut decisions = report(&mut gateway, &exact(1.0, host(1), 30));
    assert!(matches!(decisions[..], [Decision::Set { why: Why::Operator, .. }]), "{decisions:?}");
    for turn in 0..10 {
        assert_eq!(report(&mut gateway, &overflown(planned(exact(2.0, host(turn), 30), 30))), []);
    }
    // Every planned connection takes twice as long as those held out.
    decisions.clear();
    for turn in 0..160u32 {
        let now = 3.0 + f64::from(turn) / 100.0;
        let connection = exact(now, host((turn % 6) as u8), 30);
        let connection = if turn % 8 == 0 {
            Connection { arm: Arm::Holdout(30), ..connection }
        } else {
            planned(Connection { busy: Nanos(2 * connection.busy.0), ..connection }, 30)
        };
        decisions.extend(report(&mut gateway, &connection));
    }
    let [Decision::Remove { why: WhyNot::Harm { until, .. }, .. }] = decisions[..] else {
        panic!("{decisions:?}")
    };
    assert_eq!(tick(&mut gateway, until.0 as f64 / 1e9 - 1.0), []);
    let decisions = tick(&mut gateway, until.0 as f64 / 1e9);
    assert!(matches!(decisions[..], [Decision::Set { why: Why::Operator, .. }]), "{decisions:?}");
}

#[test]
fn of_ten_thousand_orders_the_one_with_the_longest_prefix_counts() {
    // A /20 with a window, its /24s off but for every fourth, and a /28 in one of these.
    let order = |text: String, order| (text.parse().expect("a prefix"), order);
    let mut overrides = vec![];
    for second in 0..160u32 {
        overrides.push(order(format!("10.{second}.0.0/18"), Override::Window(20)));
        for third in (0..64).filter(|third| third % 4 != 0) {
            overrides.push(order(format!("10.{second}.{third}.0/24"), Override::Off));
        }
    }
    overrides.push(order("10.7.4.16/28".into(), Override::Freeze));
    overrides.push(order("2001:db8::/32".into(), Override::Window(30)));
    assert!(overrides.len() > 7000);
    let gateway = Gateway::new(Settings { overrides, ..enforcing() });
    let of = |address: &str| gateway.explain(address.parse().expect("an address")).order;
    assert_eq!(of("10.7.4.1"), Some(Override::Window(20)));
    assert_eq!(of("10.7.4.17"), Some(Override::Freeze));
    assert_eq!(of("10.7.5.17"), Some(Override::Off));
    assert_eq!(of("10.7.64.1"), None);
    assert_eq!(of("::ffff:10.7.5.17"), Some(Override::Off));
    assert_eq!(of("2001:db8:1::1"), Some(Override::Window(30)));
    assert_eq!(of("2001:db9::1"), None);
}

#[test]
fn the_mode_observe_makes_no_decision_and_explains_the_plan_that_would_be() {
    let mut gateway = Gateway::new(Settings { mode: Mode::Observe, ..enforcing() });
    assert_eq!(learn(&mut gateway, 1.0, 3, 40), []);
    let explanation = gateway.explain(host(1));
    assert_eq!(explanation.plan.map(|plan| plan.window), Some(20));
    assert_eq!(explanation.why_not, Some(WhyNot::Observing));
    assert_eq!(gateway.plans().count(), 0);
}

#[test]
fn a_clock_that_jumps_is_held_back() {
    let mut gateway = Gateway::new(enforcing());
    learn(&mut gateway, 100.0, 3, 40);
    // A report from the end of time moves the clock by a minute, one from the past not at all.
    report(&mut gateway, &Connection { at: Nanos::NEVER, ..exact(0.0, host(1), 40) });
    assert_eq!(gateway.explain(host(1)).at, at(160.0));
    report(&mut gateway, &exact(3.0, host(1), 40));
    assert_eq!(gateway.explain(host(1)).at, at(160.0));
    tick(&mut gateway, 1e9);
    assert_eq!(gateway.explain(host(1)).at, at(160.0 + 86_400.0));
}

#[test]
fn a_report_without_measurements_is_harmless() {
    let mut gateway = Gateway::new(enforcing());
    let whole = exact(1.0, host(1), 40);
    for connection in [
        Connection { mss: 0, ..whole },
        Connection { bytes: 0, ..whole },
        Connection { min_rtt: Nanos::ZERO, ..whole },
        Connection { rate: u64::MAX, min_rtt: Nanos::NEVER, ..whole },
        Connection { busy: Nanos::ZERO, rate: 0, ..whole },
        Connection {
            sent: 0,
            retransmits: u32::MAX,
            timeouts: u32::MAX,
            arm: Arm::Holdout(u32::MAX),
            ..whole
        },
        Connection { busy: Nanos::NEVER, arm: Arm::Planned(u32::MAX), first_window_lost: u32::MAX, ..whole },
    ] {
        assert_eq!(report(&mut gateway, &connection), [], "{connection:?}");
    }
}

#[test]
fn a_full_table_forgets_the_prefix_reported_longest_ago() {
    let mut gateway = Gateway::new(Settings { prefixes: 4, ..enforcing() });
    for third in 0..6u8 {
        report(&mut gateway, &exact(f64::from(third), [198, 51, third, 1].into(), 40));
    }
    assert_eq!(gateway.prefixes(), 4);
    let known = |third: u8| gateway.explain([198, 51, third, 1].into()).seen.is_some();
    assert_eq!((0..6).map(known).collect::<Vec<_>>(), [false, false, true, true, true, true]);
}
