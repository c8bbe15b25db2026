//! The log of events and its replay.

use crate::common::*;
use firstflight_gateway::{
    Arm, Connection, Event, Gateway, Logged, Override, Policy, STATE_VERSION, Settings, Stage, replay,
};

/// Forty minutes of a server with 40 prefixes: losses, hold-outs, orders, a fallen rate. A linear congruential generator
/// draws the values.
fn log(settings: Settings) -> String {
    let mut text = String::new();
    let mut logged = Logged::begin(Gateway::new(settings), &mut text);
    let mut random = 12345u64;
    let mut draw = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for second in 0..2400u32 {
        let now = f64::from(second);
        for _ in 0..3 {
            let third = draw(40) as u8;
            let peer = [10, 9, third, draw(9) as u8].into();
            let slow = second > 1200 && third < 10;
            let segments = if slow { 4 } else { 15 + third as u32 + draw(6) as u32 };
            let plan = logged.gateway().explain(peer).plan;
            let arm = match (plan, draw(10)) {
                (Some(plan), 0) => Arm::Holdout(plan.window),
                (Some(plan), _) => Arm::Planned(plan.window),
                (None, _) => Arm::Stock,
            };
            let window = plan.map_or(10, |plan| plan.window);
            let overflow = !matches!(arm, Arm::Holdout(_)) && window > 2 * segments || draw(60) == 0;
            let first_window_lost = if overflow { 10 } else { 0 };
            let connection = exact(now, peer, segments.max(1));
            let busy = firstflight_contract::Nanos(connection.busy.0 * (100 + draw(50)) / 100);
            logged
                .apply(&Event::Report(Connection { arm, first_window_lost, busy, ..connection }), &mut text);
        }
        // Forty connections that began in the first minute live on; each is reported once a minute.
        if second % 60 < 40 {
            let peer = [10, 9, (second % 60) as u8, 77].into();
            let age = firstflight_contract::Nanos::from_secs((second / 60 * 60).into());
            let live = Connection { stage: Stage::Live, age, ..exact(now, peer, 30) };
            logged.apply(&Event::Report(live), &mut text);
        }
        logged.apply(&Event::Tick { now: at(now + 0.5) }, &mut text);
        if second % 1000 == 500 {
            let prefix = "10.9.0.0/20".parse().expect("a prefix");
            let order = [Some(Override::Off), None][second as usize / 1000 % 2];
            logged.apply(&Event::Order { prefix, order }, &mut text);
        }
    }
    text
}

#[test]
fn a_replay_gives_the_same_decisions_byte_for_byte() {
    for label in ["measured", "spand", "cached", "liss", "averaged"] {
        let settings = Settings {
            policy: Policy::by_label(label).expect("a policy"),
            ssthresh: true,
            secret: 7,
            ..enforcing()
        };
        let text = log(settings);
        let decisions = text.lines().filter(|line| line.starts_with("{\"decide\"")).count();
        assert!(decisions > 100, "{label}: {decisions} decisions");
        let replay = replay(text.lines()).expect("a log");
        assert_eq!((replay.difference, replay.decisions), (None, decisions), "{label}");
        assert_eq!(replay.events, 3 * 2400 + 40 * 40 + 2400 + 2, "{label}");
    }
}

#[test]
fn a_log_may_begin_in_the_middle() {
    let mut gateway = Gateway::new(enforcing());
    for _ in 0..3 {
        learn(&mut gateway, 5.3, 3, 40);
    }
    let mut text = String::new();
    let mut logged = Logged::begin(gateway, &mut text);
    for turn in 0..8u8 {
        let connection = planned(exact(6.0 + f64::from(turn) / 3.0, host(turn % 3 + 1), 40), 20);
        logged.apply(&Event::Report(connection), &mut text);
    }
    logged.apply(&Event::Tick { now: at(2000.0) }, &mut text);
    assert!(text.contains("whole_jump") && text.contains("unfounded"), "{text}");
    let replay = replay(text.lines()).expect("a log");
    assert_eq!((replay.events, replay.difference), (9, None));
}

#[test]
fn another_estimator_gives_another_log() {
    let text = log(Settings { secret: 7, ..enforcing() });
    // A half-life of 9 minutes instead of 10; a plan from seven samples instead of eight; another hold-down.
    for (from, to) in [
        ("\"half_life\":600000000000", "\"half_life\":540000000000"),
        ("\"samples\":8", "\"samples\":7"),
        ("\"hold_down\":600000000000", "\"hold_down\":601000000000"),
    ] {
        let (first, rest) = text.split_once('\n').expect("lines");
        assert!(first.contains(from), "{first:.300}");
        let other = first.replacen(from, to, 1) + "\n" + rest;
        let difference = replay(other.lines()).expect("a log").difference.expect("a difference");
        assert_ne!(difference.logged, difference.replayed);
    }
}

#[test]
fn a_log_with_a_changed_line_is_not_repeated() {
    let text = log(Settings { secret: 7, ..enforcing() });
    let lines: Vec<_> = text.lines().collect();
    let decision = lines.iter().rposition(|line| line.starts_with("{\"decide\"")).expect("a decision");
    let without: Vec<_> =
        lines.iter().enumerate().filter(|(at, _)| *at != decision).map(|(_, line)| *line).collect();
    let difference = replay(without).expect("a log").difference.expect("a difference");
    assert_eq!((difference.line, difference.replayed.as_str()), (decision + 1, lines[decision]));
    let mut twice = lines.clone();
    twice.insert(decision, lines[decision]);
    let difference = replay(twice).expect("a log").difference.expect("a difference");
    assert_eq!((difference.line, difference.logged.as_str()), (decision + 2, lines[decision]));
}

/// A window below that of the stack ended the replay by a panic at the first plan.
#[test]
fn a_log_with_settings_or_orders_out_of_range_is_refused_by_name() {
    let mut text = String::new();
    Logged::begin(Gateway::new(enforcing()), &mut text);
    let refused = |text: &str| replay(text.lines()).expect_err("it is refused").to_string();
    for (from, to, why) in [
        ("\"window\":45", "\"window\":9", "line 1: window is 9; expected 10 to 45"),
        ("\"bits\":[24,48]", "\"bits\":[200,48]", "line 1: bits of IPv4 is 200; expected 0 to 32"),
        ("\"split\":[28,56]", "\"split\":[24,56]", "line 1: split of IPv4 is 24; expected 25 to 32"),
        ("\"holdout\":50", "\"holdout\":1001", "line 1: holdout is 1001; expected 0 to 1000"),
    ] {
        assert!(text.contains(from), "{text}");
        assert_eq!(refused(&text.replacen(from, to, 1)), why);
    }
    let order = "{\"order\":{\"prefix\":\"192.0.2.0/24\",\"order\":{\"window\":70000}}}";
    assert_eq!(
        refused(&format!("{text}{order}")),
        "line 2: not an event of the gateway's log: a first window of 70000 segments; expected 10 to 45"
    );
}

#[test]
fn a_log_that_cannot_be_read_is_refused_with_its_line() {
    let text = log(enforcing());
    let error = |text: &str| replay(text.lines()).expect_err("it is refused").to_string();
    assert_eq!(error(""), "line 1: expected the settings and the state, {\"start\": …}");
    assert_eq!(
        error("{\"tick\":{\"now\":1}}"),
        "line 1: expected the settings and the state, {\"start\": …}"
    );
    let (start, _) = text.split_once('\n').expect("lines");
    let broken = format!("{start}\n{{\"tick\":{{\"now\":1}}}}\n{{\"tock\":1}}");
    assert!(error(&broken).starts_with("line 3: not an event of the gateway's log: unknown variant `tock`"));
    let version = |number: u32| format!("\"version\":{number}");
    let other = start.replacen(&version(STATE_VERSION), &version(STATE_VERSION - 1), 1);
    let expected = format!("line 1: the state has version {}; expected {STATE_VERSION}", STATE_VERSION - 1);
    assert_eq!(error(&other), expected);
    let damaged = start.replacen("46464757", "46464758", 1);
    assert_eq!(
        error(&damaged),
        "line 1: not a state of the gateway: expected the bytes FFGW at its beginning"
    );
}
