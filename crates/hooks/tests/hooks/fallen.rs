//! A path whose rate falls while the gateway has a plan for it.

use std::thread;
use std::time::Duration;

use firstflight_gateway::{Arm, Connection, Decision, Gateway, Mode, Settings};
use firstflight_hooks::{Hooks, Setup};

use crate::ground::{Ground, ends};
use crate::line::{BITS, Line, host};

/// Transfers to three hosts in turn, each reported to a gateway whose decisions the hooks follow.
struct Server<'a> {
    line: Line,
    hooks: &'a mut Hooks,
    gateway: &'a mut Gateway,
    number: usize,
}

impl Server<'_> {
    fn transfer(&mut self, bytes: usize) -> Connection {
        let number = self.number % 3;
        self.number += 1;
        let mut pair = self.line.connect(number);
        pair.transfer(bytes);
        pair.close();
        let [report] = ends(self.hooks, &host(number).to_string(), 1)[..] else { panic!("one report") };
        let mut decisions = vec![];
        self.gateway.report(&report, &mut decisions);
        for decision in decisions {
            match decision {
                Decision::Set { plan, .. } => self.hooks.set(&plan).expect("room"),
                Decision::Remove { prefix, .. } => assert!(self.hooks.remove(&prefix).expect("the kernel")),
                other => panic!("{other}"),
            }
        }
        self.hooks.renew().expect("a sign of life");
        // The rest of the path's queue drains.
        thread::sleep(Duration::from_millis(60));
        report
    }

    fn window(&self) -> Option<u32> {
        self.gateway.explain(host(0).into()).plan.map(|plan| plan.window)
    }
}

#[test]
fn a_fall_of_the_rate_behind_a_deep_queue_is_answered_within_three_connections() {
    let Some(ground) = Ground::new() else { return };
    let Some(line) = Line::lay("8 Mbit/s", 40) else { return };
    let settings = Settings { mode: Mode::Enforce, bits: BITS, split: None, ..Settings::default() };
    let mut gateway = Gateway::new(settings);
    let mut hooks = ground.hooks(&Setup { bits: BITS, ..ground.setup() });
    let mut fast = Server { line, hooks: &mut hooks, gateway: &mut gateway, number: 0 };
    // Within the eighth by which plans follow the estimate of 33.3.
    for lesson in 0..60 {
        fast.transfer(300_000);
        if lesson >= 15 && fast.window().is_some_and(|window| window >= 29) {
            break;
        }
    }
    let before = fast.window().unwrap_or(0);
    let validity = fast.line.cable.cut().expect("it was emulated");
    assert!((29..=36).contains(&before), "{before}: {:?}, {validity:?}", gateway.explain(host(0).into()));
    let Some(line) = Line::lay("0.8 Mbit/s", 40) else { return };
    let mut slow = Server { line, hooks: &mut hooks, gateway: &mut gateway, number: 0 };
    let mut planned = vec![];
    // Those that are held out, or met a queue in their handshake, are not among the three.
    for _ in 0..8 {
        let report = slow.transfer(100_000);
        let Connection { arm, first_window_lost, retransmits, .. } = report;
        println!("{arm:?}: {first_window_lost} segments of the first window lost, {retransmits} in all");
        if let Arm::Planned(window) = arm {
            planned.push((window, first_window_lost));
        }
        if slow.window().is_none() {
            break;
        }
    }
    let after = slow.window();
    let validity = slow.line.cable.cut().expect("it was emulated");
    println!("{validity:?}");
    // The queue holds the first window; only the second flight overflows it.
    assert_eq!(planned.first(), Some(&(before, 0)), "{planned:?}, {validity:?}");
    assert!(planned.iter().skip(1).all(|(window, _)| *window <= before / 2), "{planned:?}, {validity:?}");
    assert!(planned.len() <= 3 && after.is_none(), "{planned:?}, {after:?}, {validity:?}");
}
