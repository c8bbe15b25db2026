//! Plans of prefixes after an idle time, and the retreat after a loss in a planned window.

#![expect(clippy::disallowed_methods, reason = "the kernel runs in real time")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use firstflight_gateway::{Arm, Limits, Plan};
use firstflight_hooks::{Hooks, Setup};
use firstflight_lab::{TcpInfo, Turn};
use rustix::net::sockopt;

use crate::ground::{Ground, LIMITS, Pair, STACK, ends, plan};
use crate::wire::{FLIGHT, Path};

/// Six retransmission timeouts of the path, 240 ms: with each Linux halves the window, down to ten segments.
const IDLE: Duration = Duration::from_millis(1500);

fn control(socket: &TcpStream) -> String {
    sockopt::tcp_congestion(socket).expect("a name")
}

#[test]
fn a_plan_of_a_prefix_holds_after_an_idle_time_where_the_setup_says_so() {
    let Some(ground) = Ground::new() else { return };
    let Some(path) = Path::new() else { return };
    let _turn = Turn::take().expect("a turn on this machine");
    // The second flight of the connection: its segments, and the time until the last of them left.
    let once = |hooks: &mut Hooks, idle: bool, before_second: fn(&mut Hooks)| {
        hooks.set(&plan("10.78.0.2/32", 30)).expect("room");
        hooks.resume().expect("the switch");
        let write = |server: &mut TcpStream| {
            server.write_all(&[0; 60_000]).expect("a connection");
            thread::sleep(IDLE);
            path.server.run(|| hooks.prepare_idle().expect("connections")).expect("the namespace");
            assert_eq!(control(server) != "reno", idle, "{}", control(server));
            before_second(hooks);
            server.write_all(&[0; 60_000]).expect("a connection");
            assert_eq!(control(server), "reno", "the socket has its own control back");
        };
        let (data, _) = path.serve(120_000, |_| false, write);
        let at = data.iter().position(|time| *time > IDLE).expect("a second response");
        let times: Vec<_> = data[at..].iter().map(|time| *time - data[at]).collect();
        let flight = times.iter().filter(|time| **time < FLIGHT).count() as u32;
        (flight, times[flight as usize - 1].as_millis())
    };
    // A busy machine sends a part of a flight late, and never sends more: a flight that is too small is measured again, twice at most.
    // The number of connections that it took stands beside it.
    let second = |hooks: &mut Hooks, idle: bool, before_second: fn(&mut Hooks), expected: u32| {
        let (mut seen, mut connections) = ((0, 0), 0);
        while connections < 3 {
            seen = once(hooks, idle, before_second);
            connections += 1;
            if seen.0 >= expected {
                break;
            }
        }
        (seen, connections)
    };
    let mut stock = ground.hooks(&Setup { bits: (32, 48), ..ground.setup() });
    assert_eq!(second(&mut stock, false, |_| (), STACK).0.0, STACK);
    drop(stock);
    let mut hooks = ground.hooks(&Setup { bits: (32, 48), idle: true, ..ground.setup() });
    let ((flight, spread), first) = second(&mut hooks, true, |_| (), 30);
    // Paced over half of the 40 ms, all of it: the connection is no longer new.
    assert!(flight == 30 && (15..30).contains(&spread), "{flight} in {spread} ms");
    // The plan is asked for when the connection sends again.
    let remove = |hooks: &mut Hooks| {
        assert!(hooks.remove(&"10.78.0.2/32".parse().expect("a prefix")).expect("a table"));
    };
    let (lifted, removed) = second(&mut hooks, true, remove, STACK);
    // The connection stays paced, but what the stack sends at once still leaves at once: at the stack's pace it takes 18 ms.
    assert!(lifted.0 == STACK && lifted.1 < 9, "{lifted:?}");
    let (halted, stopped) = second(&mut hooks, true, |hooks| hooks.stop().expect("the switch"), STACK);
    assert_eq!(halted.0, STACK);
    let ended = first + removed + stopped;
    let arms: Vec<_> = ends(&mut hooks, "10.78.0.2", ended).iter().map(|end| end.arm).collect();
    assert_eq!(arms, vec![Arm::Planned(30); ended]);
}

#[test]
fn after_an_idle_time_a_paced_plan_begins_as_the_stack_does_and_goes_on_at_its_pace() {
    let Some(ground) = Ground::new() else { return };
    let Some(path) = Path::new() else { return };
    let _turn = Turn::take().expect("a turn on this machine");
    let mut hooks = ground.hooks(&Setup { bits: (32, 48), idle: true, ..ground.setup() });
    let mut once = || {
        hooks.set(&Plan { path: 40, paced: true, ..plan("10.78.0.2/32", 30) }).expect("room");
        let write = |server: &mut TcpStream| {
            server.write_all(&[0; 30_000]).expect("a connection");
            thread::sleep(IDLE);
            path.server.run(|| hooks.prepare_idle().expect("connections")).expect("the namespace");
            server.write_all(&[0; 60_000]).expect("a connection");
        };
        let (data, _) = path.serve(90_000, |_| false, write);
        let at = data.iter().position(|time| *time > IDLE).expect("a second response");
        let before =
            |time: Duration| data[at..].iter().filter(|sent| **sent - data[at] < time).count() as u32;
        (before(Duration::from_millis(7)), before(Duration::from_millis(20)), before(FLIGHT))
    };
    // Ten at once, then one each millisecond: at 7 ms 16 or 17, at 20 ms 29 or 30. At twice the window it would be 20 and 30, without the
    // first ten 7 and 20. A busy machine sends a part late; where that is the first packet, the others seem early.
    let seen: Vec<_> = (0..3).map(|_| once()).collect();
    assert!(seen.iter().all(|seen| seen.0 < 20 && seen.2 <= 30), "{seen:?}");
    assert!(seen.iter().any(|seen| (14..=17).contains(&seen.0) && seen.1 >= 26 && seen.2 == 30), "{seen:?}");
    let arms: Vec<_> = ends(&mut hooks, "10.78.0.2", 3).iter().map(|end| end.arm).collect();
    assert_eq!(arms, vec![Arm::Planned(30); 3]);
}

/// Congestion window and slow-start threshold, segments.
type State = (u32, Option<u32>);

/// The state before and after an idle time in which `rest` is called, and the timeouts that passed.
fn rested(pair: &mut Pair, rest: impl FnOnce()) -> (State, State, u32) {
    let show = |pair: &Pair| {
        let info = TcpInfo::of(&pair.server).expect("TCP_INFO");
        (info.cwnd, info.ssthresh)
    };
    pair.transfer(6_000_000);
    let (before, rto) = (show(pair), TcpInfo::of(&pair.server).expect("TCP_INFO").rto);
    let began = Instant::now();
    // Half way between the second and the third timeout that passes.
    thread::sleep(Duration::from_micros(u64::from(rto) * 5 / 2));
    rest();
    pair.server.write_all(&[0]).expect("a connection");
    let halvings = (began.elapsed().as_micros() / u128::from(rto)) as u32;
    let after = show(pair);
    pair.client.read_exact(&mut [0]).expect("a byte");
    (before, after, halvings)
}

#[test]
fn a_prepared_connection_without_a_plan_restarts_as_linux_restarts_it() {
    let Some(ground) = Ground::new() else { return };
    let mut hooks = ground.hooks(&Setup { idle: true, ..ground.setup() });
    for prepared in [false, true] {
        let mut pair = ground.connect("127.1.2.9");
        let ((window, threshold), after, halvings) = rested(&mut pair, || {
            if prepared {
                ground.netns.run(|| hooks.prepare_idle().expect("connections")).expect("the namespace");
            }
        });
        // tcp_cwnd_restart: half for each timeout, not below ten; the threshold is three quarters of the window, or what it was.
        let expected = (window >> halvings).max(STACK.min(window));
        let threshold = threshold.map(|threshold| threshold.max(window / 2 + window / 4));
        assert_eq!(
            after,
            (expected, threshold),
            "of {window} after {halvings} timeouts, prepared: {prepared}"
        );
        assert_eq!(control(&pair.server), "reno");
        pair.close();
    }
}

#[test]
fn connections_that_are_busy_or_held_out_are_not_prepared() {
    let Some(ground) = Ground::new() else { return };
    let limits = Limits { holdout: 1000, ..LIMITS };
    let mut hooks = ground.hooks(&Setup { idle: true, limits, ..ground.setup() });
    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    let held = ground.connect("127.1.2.9");
    thread::sleep(Duration::from_millis(400));
    // Nothing was sent since less than a timeout.
    let mut busy = ground.connect("127.1.3.9");
    busy.transfer(1000);
    ground.netns.run(|| hooks.prepare_idle().expect("connections")).expect("the namespace");
    assert_eq!([control(&held.server), control(&busy.server)], ["reno", "reno"]);
    drop(hooks);
}

#[test]
fn a_loss_in_a_planned_window_leaves_half_of_what_arrived_where_the_setup_says_so() {
    let Some(ground) = Ground::new() else { return };
    let Some(mut path) = Path::new() else { return };
    let _turn = Turn::take().expect("a turn on this machine");
    // One segment is lost, the three behind it bring the SACKs that show the loss, and later ones come after the retransmission.
    let mut threshold = |retreat: bool, lost: usize| {
        path.pause_from = Some(lost + 4);
        let mut hooks = ground.hooks(&Setup { bits: (32, 48), retreat, ..ground.setup() });
        hooks.set(&plan("10.78.0.2/32", 30)).expect("room");
        let report = path.transfer(&mut hooks, 100_000, |number| number == lost).report;
        assert_eq!((report.arm, report.timeouts, report.first_window_lost), (Arm::Planned(30), 0, 1));
        report.ssthresh.expect("a loss sets it")
    };
    // The 21st of 30 segments is lost. Reno halves the window: 30, and 20 of slow start.
    assert_eq!(threshold(false, 20), 25);
    // The retreat halves 23, those that arrived.
    assert_eq!(threshold(true, 20), 11);
    // Ten segments need no plan, so that half of ten is the least.
    assert_eq!(threshold(true, 2), 5);
}
