//! Starts for transfers of known size: SPAND's windows by hand, within the plan of the prefix.

use crate::common::{MSS, enforcing, exact, host, learn, planned, report, tick, window};
use firstflight_gateway::{Gateway, Mode, Override, Policy, Rule, Settings, Transfer, TransferPlan, WhyNot};

fn asked(gateway: &Gateway, segments: u64, rule: Rule) -> Result<TransferPlan, WhyNot> {
    let bytes = segments * u64::from(MSS);
    gateway.transfer(&Transfer { destination: host(77), bytes, mss: MSS, rule })
}

/// Window and threshold, segments.
fn start(gateway: &Gateway, segments: u64, rule: Rule) -> (u32, Option<u32>) {
    let plan = asked(gateway, segments, rule).expect("a plan").plan;
    (plan.window, plan.ssthresh)
}

/// Three hosts that measured 40 segments, and four clean connections with the plan of half the jump.
fn confirmed(settings: Settings) -> Gateway {
    let mut gateway = Gateway::new(settings);
    learn(&mut gateway, 1.0, 3, 40);
    for connection in 0..4 {
        report(&mut gateway, &planned(exact(2.0, host(connection % 3 + 1), 40), 20));
    }
    assert_eq!(window(&gateway), Some(40));
    gateway
}

#[test]
fn the_windows_are_those_of_spand() {
    let gateway = confirmed(enforcing());
    // Wc = 40. Of 70 segments the last epoch is 39 + 40: two round trips, for which 35 + 36 are enough.
    assert_eq!(start(&gateway, 70, Rule::Optimal), (39, Some(39)));
    assert_eq!(start(&gateway, 70, Rule::Shifted), (35, Some(35)));
    // 32 + 33 + ... + 40 = 324 is the shortest ramp of 300 segments.
    assert_eq!(start(&gateway, 300, Rule::Optimal), (32, Some(32)));
    // 20 + ... + 40 = 630 is a whole epoch: of 650 segments 20 are left for the ramp before it.
    assert_eq!(start(&gateway, 650, Rule::Optimal), (40, Some(40)));
    // A transfer that the first window holds needs no threshold; the stack's own window is the least.
    assert_eq!(start(&gateway, 30, Rule::Optimal), (40, None));
    assert_eq!(start(&gateway, 30, Rule::Shifted), (30, None));
    assert_eq!(start(&gateway, 3, Rule::Shifted), (10, None));
    // Twice 40 segments of 1460 bytes in 100 ms, which the gateway keeps in units of 64 us.
    let rate = asked(&gateway, 70, Rule::Optimal).expect("a plan").rate as f64;
    assert!((rate / 1_168_000.0 - 1.0).abs() < 0.001, "{rate}");
}

#[test]
fn the_policy_spand_plans_from_its_own_reports() {
    let policy = Policy::by_label("spand").expect("a policy");
    let mut gateway = Gateway::new(Settings { policy, ..enforcing() });
    learn(&mut gateway, 1.0, 3, 40);
    let most = window(&gateway).expect("a plan");
    // Of a transfer without an end the policy plans a whole epoch from 20; the plan goes half of the way from 10.
    assert!((11..=20).contains(&most), "{most}");
    // A report is one segment less than the window of 40 that met a loss: Wc = 39, and 38 + 39 or 35 + 36 hold 70 segments.
    assert_eq!(start(&gateway, 70, Rule::Optimal), (most, Some(38)));
    assert_eq!(start(&gateway, 70, Rule::Shifted), (most, Some(35)));
}

#[test]
fn the_plan_of_the_prefix_bounds_the_window() {
    let mut gateway = Gateway::new(enforcing());
    learn(&mut gateway, 1.0, 3, 40);
    // Half of the jump. Slow start goes on to SPAND's window.
    assert_eq!(start(&gateway, 70, Rule::Optimal), (20, Some(39)));
    gateway.order("192.0.2.0/24".parse().expect("a prefix"), Some(Override::Window(25)), &mut vec![]);
    // Wc = 25: a whole epoch 12 + ... + 25 = 259, and 24 + 25 for the other 41 of 300 segments.
    assert_eq!(start(&gateway, 300, Rule::Optimal), (24, Some(24)));
}

#[test]
fn a_transfer_without_a_plan_has_a_reason() {
    let mut gateway = Gateway::new(enforcing());
    assert_eq!(asked(&gateway, 70, Rule::Optimal), Err(WhyNot::Unknown));
    learn(&mut gateway, 1.0, 2, 40);
    assert!(matches!(asked(&gateway, 70, Rule::Optimal), Err(WhyNot::Unfounded(_))));
    let mut gateway = confirmed(enforcing());
    gateway.order("192.0.2.64/26".parse().expect("a prefix"), Some(Override::Off), &mut vec![]);
    assert_eq!(
        asked(&gateway, 70, Rule::Optimal),
        Err(WhyNot::Operator),
        "an order for less than the prefix"
    );
    let observing = Gateway::new(Settings { mode: Mode::Observe, ..enforcing() });
    assert_eq!(asked(&observing, 70, Rule::Optimal), Err(WhyNot::Observing));
    let mut gateway = confirmed(enforcing());
    for later in 1..20 {
        tick(&mut gateway, 3600.0 * f64::from(later));
    }
    assert!(asked(&gateway, 70, Rule::Optimal).is_err(), "it has aged");
}
