//! Plans for single transfers: an application that holds the socket has its plan applied.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::thread;
use std::time::Duration;

use firstflight_contract::Nanos;
use firstflight_gateway::{Arm, Limits, Plan};
use firstflight_hooks::{Hooks, Refusal, Setup, TRANSFER, Transfers, now};
use firstflight_lab::{TcpInfo, Turn};
use rustix::net::sockopt;

use crate::ground::{Ground, LIMITS, Pair, SECOND, SERVER, STACK, ends, plan};
use crate::wire::{FLIGHT, Path};

/// Bounds under which the threshold may be set.
pub(crate) const TRANSFERS: Option<Transfers> = Some(Transfers { ssthresh: true });

/// Has the plan of a socket applied; answers with the kernel's error number.
pub(crate) fn apply(socket: &TcpStream) -> Result<(), i32> {
    let value = 1_i32;
    // SAFETY: the descriptor is open, and the value has the length that is stated.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            TRANSFER,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)) }
}

fn cookie(pair: &Pair) -> u64 {
    sockopt::socket_cookie(&pair.server).expect("a cookie")
}

fn control(pair: &Pair) -> String {
    sockopt::tcp_congestion(&pair.server).expect("a name")
}

fn planned(prefix: &str, window: u32, ssthresh: u32) -> Plan {
    Plan { ssthresh: Some(ssthresh), ..plan(prefix, window) }
}

fn hooks(ground: &Ground, limits: Limits) -> Hooks {
    ground.hooks(&Setup { limits, transfers: TRANSFERS, ..ground.setup() })
}

#[test]
fn a_plan_is_applied_to_its_socket_once_and_the_socket_keeps_its_congestion_control() {
    let Some(ground) = Ground::new() else { return };
    let mut hooks = hooks(&ground, LIMITS);
    let mut pair = ground.connect("127.1.2.9");
    assert_eq!((pair.window(), control(&pair).as_str()), (STACK, "reno"));
    assert_eq!(apply(&pair.server), Err(libc::ENODATA), "no plan was asked for");
    hooks.transfer(cookie(&pair), &planned("127.1.2.0/24", 30, 32), 0).expect("a plan");
    assert_eq!(apply(&pair.server), Ok(()));
    let info = TcpInfo::of(&pair.server).expect("TCP_INFO");
    assert_eq!((info.cwnd, info.ssthresh), (30, Some(32)));
    assert_eq!(apply(&pair.server), Err(libc::ENODATA), "it is used once");
    pair.server.write_all(&[0; 100]).expect("a connection");
    assert_eq!(control(&pair), "reno");
    assert_eq!(TcpInfo::of(&pair.server).expect("TCP_INFO").ssthresh, Some(32));
    pair.close();
    let report = ends(&mut hooks, "127.1.2.9", 1)[0];
    assert_eq!(report.arm, Arm::Planned(30));
}

#[test]
fn cubic_and_bbr_get_the_window_and_bbr_sets_its_own_threshold() {
    let Some(ground) = Ground::new() else { return };
    let hooks = hooks(&ground, LIMITS);
    // TCP_INFO reports an infinite threshold as none.
    for (name, ssthresh) in [("cubic", Some(32)), ("bbr", None)] {
        let mut pair = ground.connect("127.1.2.9");
        if let Err(error) = sockopt::set_tcp_congestion(&pair.server, name) {
            firstflight_skip::skip(format_args!("{name}: {error}"));
            continue;
        }
        hooks.transfer(cookie(&pair), &planned("127.1.2.0/24", 30, 32), 0).expect("a plan");
        assert_eq!(apply(&pair.server), Ok(()));
        pair.server.write_all(&[0; 100]).expect("a connection");
        let info = TcpInfo::of(&pair.server).expect("TCP_INFO");
        assert_eq!((control(&pair).as_str(), info.ssthresh), (name, ssthresh));
        assert!(info.cwnd >= 30, "{name}: {}", info.cwnd);
        pair.close();
    }
}

/// A listener whose connections have the congestion control `name`. The setting of a network namespace takes only those that the
/// kernel allows to all, of which cubic need not be one.
fn listening(name: &'static str) -> impl Fn(SocketAddr) -> io::Result<TcpListener> {
    move |at| {
        let listener = TcpListener::bind(at)?;
        sockopt::set_tcp_congestion(&listener, name)?;
        Ok(listener)
    }
}

/// Whether the kernel has the congestion control; the test is skipped for it otherwise.
fn has(ground: &Ground, name: &'static str) -> bool {
    let listener = ground.netns.run(|| listening(name)((SERVER, 0).into())).expect("the namespace");
    listener.map_err(|error| firstflight_skip::skip(format_args!("{name}: {error}"))).is_ok()
}

#[test]
fn a_plan_of_a_prefix_sets_the_threshold_where_the_limits_allow_it() {
    let Some(ground) = Ground::new() else { return };
    let mut hooks = ground.hooks(&Setup { limits: Limits { ssthresh: true, ..LIMITS }, ..ground.setup() });
    let start = |pair: &Pair| {
        let info = TcpInfo::of(&pair.server).expect("TCP_INFO");
        (info.cwnd, info.ssthresh, control(pair))
    };
    for name in ["reno", "cubic"] {
        if !has(&ground, name) {
            continue;
        }
        let connect = |from: &str| {
            ground.connect_to(listening(name), (SERVER, 0).into(), from.parse().expect("an address"))
        };
        let named = |cwnd, ssthresh| (cwnd, ssthresh, name.to_owned());
        hooks.set(&planned("127.1.2.0/24", 30, 34)).expect("room");
        let mut pair = connect("127.1.2.9");
        assert_eq!(start(&pair), named(30, Some(34)));
        // A second connection, when the unsent window of the first no longer counts.
        thread::sleep(Duration::from_millis(50));
        let second = connect("127.1.2.9");
        assert_eq!(start(&second), named(30, Some(34)));
        second.close();
        // The congestion control works: the window grows to the threshold, and then no longer by a segment for each. HyStart of cubic may
        // end slow start before, by the delay of the loopback device: its threshold is then its window.
        // On a busy machine the client may read so fast that a window is never full, and does not grow.
        let mut sent = 0;
        while start(&pair).0 < 34 && start(&pair).1 == Some(34) && sent < 60_000_000 {
            pair.transfer(3_000_000);
            sent += 3_000_000;
        }
        let segments = sent / TcpInfo::of(&pair.server).expect("TCP_INFO").mss;
        let (cwnd, ssthresh, control) = start(&pair);
        let least =
            if name == "cubic" { ssthresh.filter(|it| (30..34).contains(it)).unwrap_or(34) } else { 34 };
        assert!((least..30 + segments).contains(&cwnd), "{cwnd} after {segments}, {ssthresh:?}");
        assert!(ssthresh == Some(least) && control == name, "{ssthresh:?} {control}");
        pair.close();
        assert_eq!(
            ends(&mut hooks, "127.1.2.9", 2).iter().map(|end| end.arm).max_by_key(|arm| format!("{arm:?}")),
            Some(Arm::Planned(30))
        );
        hooks.set(&planned("127.1.2.0/24", 30, 12)).expect("room");
        let low = connect("127.1.2.9");
        assert_eq!(start(&low), named(30, Some(30)), "no threshold is below its window");
        low.close();
        hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
        let without = connect("127.1.2.9");
        assert_eq!(start(&without), named(30, None));
        without.close();
        let stock = connect("127.1.3.9");
        assert_eq!(start(&stock), named(STACK, None));
        stock.close();
    }
    // BBR sets its own.
    if has(&ground, "bbr") {
        hooks.set(&planned("127.1.2.0/24", 30, 34)).expect("room");
        let from = "127.1.2.9".parse().expect("an address");
        let mut pair = ground.connect_to(listening("bbr"), (SERVER, 0).into(), from);
        let (cwnd, ssthresh, control) = start(&pair);
        assert!(cwnd >= 30 && ssthresh.is_none() && control == "bbr", "{cwnd} {ssthresh:?} {control}");
        pair.transfer(1_000_000);
    }
}

#[test]
fn a_plan_holds_for_its_prefix_its_time_its_round_trips_and_within_the_limits() {
    let Some(ground) = Ground::new() else { return };
    let hooks = hooks(&ground, LIMITS);
    let pair = ground.connect("127.1.2.9");
    let usual = planned("127.1.2.0/24", 30, 32);
    let far = (Nanos(100_000_000), Nanos(SECOND));
    let cases = [
        (Plan { expires: now(), ..usual }, Err(libc::ETIME)),
        (Plan { prefix: "127.1.3.0/24".parse().expect("a prefix"), ..usual }, Err(libc::ENODATA)),
        (Plan { rtt: far, ..usual }, Err(libc::ENODATA)),
        (Plan { window: 60_000, path: 60_000, ..usual }, Ok(LIMITS.window)),
        (Plan { window: 2, ..usual }, Ok(STACK)),
        (Plan { prefix: "127.1.2.0/28".parse().expect("a part"), ..usual }, Ok(30)),
    ];
    for (plan, expected) in cases {
        hooks.transfer(cookie(&pair), &plan, 0).expect("a plan");
        assert_eq!(apply(&pair.server).map(|()| pair.window()), expected, "{plan:?}");
    }
    // A second live connection, when the unsent windows of the first no longer count.
    thread::sleep(Duration::from_millis(50));
    let second = ground.connect("127.1.2.10");
    hooks.transfer(cookie(&second), &usual, 0).expect("a plan");
    assert_eq!(apply(&second.server).map(|()| second.window()), Ok(30));
    hooks.stop().expect("the kill switch");
    hooks.transfer(cookie(&pair), &usual, 0).expect("a plan");
    assert_eq!(apply(&pair.server), Err(libc::EACCES));
    hooks.resume().expect("the kill switch");
    hooks.renew_at(Nanos(now().0 - LIMITS.lease.0 - SECOND)).expect("a sign of life of long ago");
    hooks.transfer(cookie(&pair), &usual, 0).expect("a plan");
    assert_eq!(apply(&pair.server), Err(libc::EACCES));
}

#[test]
fn an_unconnected_socket_and_hooks_without_transfers_are_refused() {
    let Some(ground) = Ground::new() else { return };
    let hooks = hooks(&ground, LIMITS);
    let pair = ground.connect("127.1.2.9");
    let listener = std::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a listener");
    let socket = TcpStream::from(std::os::fd::OwnedFd::from(listener));
    assert_eq!(apply(&socket), Err(libc::ENOTCONN));
    drop(hooks);
    thread::sleep(Duration::from_millis(10));
    assert_eq!(apply(&pair.server), Err(libc::ENOPROTOOPT), "the option left with the hooks");
    let hooks = ground.hooks(&ground.setup());
    let refused = hooks.transfer(1, &planned("127.1.2.0/24", 30, 32), 0);
    assert!(matches!(refused, Err(Refusal::NoTransfers)));
    assert_eq!(apply(&pair.server), Err(libc::ENOPROTOOPT));
}

#[test]
fn the_lot_holds_connections_out_for_good() {
    let Some(ground) = Ground::new() else { return };
    let mut hooks = hooks(&ground, Limits { holdout: 500, ..LIMITS });
    let (mut held, many) = (0, 60);
    for _ in 0..many {
        let mut pair = ground.connect("127.1.2.9");
        let first = {
            hooks.transfer(cookie(&pair), &planned("127.1.2.0/24", 30, 32), 0).expect("a plan");
            apply(&pair.server)
        };
        pair.transfer(1000);
        hooks.transfer(cookie(&pair), &planned("127.1.2.0/24", 30, 32), 0).expect("a plan");
        assert_eq!(apply(&pair.server), first, "one lot for the connection");
        held += usize::from(first == Err(libc::ECANCELED));
        pair.close();
    }
    // Binomial, n = 60, p = 1/2: outside of 12 to 48 with a probability below 3e-6.
    assert!((12..=48).contains(&held), "{held} of {many}");
    let ends = ends(&mut hooks, "127.1.2.9", many);
    let arms = ends.iter().filter(|end| matches!(end.arm, Arm::Holdout(_))).count();
    assert_eq!(arms, held);
}

/// Six retransmission timeouts of the path, 240 ms: with each Linux halves the window, down to ten segments.
const IDLE: Duration = Duration::from_millis(1500);

#[test]
fn the_window_of_a_plan_leaves_paced_on_a_new_connection_and_after_an_idle_time() {
    let Some(ground) = Ground::new() else { return };
    let Some(path) = Path::new() else { return };
    let _turn = Turn::take().expect("a turn on this machine");
    let bits = (32, 48);
    let mut hooks = ground.hooks(&Setup { bits, transfers: TRANSFERS, ..ground.setup() });
    // 30 segments of 1448 bytes in 20 ms, half of the round-trip time.
    let rate = 30 * 1448 * 50;
    let ask = |hooks: &Hooks, server: &TcpStream| {
        let cookie = sockopt::socket_cookie(server).expect("a cookie");
        let plan = Plan { ssthresh: Some(32), ..plan("10.78.0.2/32", 30) };
        hooks.transfer(cookie, &plan, rate).expect("a plan");
        apply(server)
    };
    let starts = |hooks: &Hooks, planned: bool| {
        let write = |server: &mut TcpStream| {
            for pause in [IDLE, Duration::ZERO] {
                if planned {
                    assert_eq!(ask(hooks, server), Ok(()));
                }
                server.write_all(&[0; 60_000]).expect("a connection");
                if planned {
                    assert_eq!(ask(hooks, server), Err(libc::EBUSY), "the response is on its way");
                }
                thread::sleep(pause);
            }
        };
        let (data, _) = path.serve(120_000, |_| false, write);
        // The first response takes a few round-trip times of 40 ms.
        let second = data.iter().position(|time| *time > IDLE).expect("a second response");
        [&data[..second], &data[second..]].map(|response| {
            let first: Vec<_> = response.iter().map(|time| *time - response[0]).collect();
            let flight = first.iter().filter(|time| **time < FLIGHT).count();
            (flight, first[flight - 1])
        })
    };
    let [new, idle] = starts(&hooks, false);
    assert_eq!((new.0, idle.0), (STACK as usize, STACK as usize));
    let [new, idle] = starts(&hooks, true);
    assert_eq!((new.0, idle.0), (30, 30));
    // Linux paces from the eleventh segment of a connection on: 20 of the 30 segments of the first response, all of the
    // second. Unpaced, either would leave within one millisecond.
    assert!(
        (9..22).contains(&new.1.as_millis()) && (15..30).contains(&idle.1.as_millis()),
        "{new:?}, {idle:?}"
    );
    let arms: Vec<_> = ends(&mut hooks, "10.78.0.2", 2).iter().map(|end| end.arm).collect();
    assert_eq!(arms, [Arm::Stock, Arm::Planned(30)]);
}
