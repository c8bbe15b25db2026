//! The window of a connection beside others of its network.

#![expect(clippy::disallowed_methods, reason = "the kernel runs in real time")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use firstflight_gateway::Plan;
use firstflight_hooks::{Hooks, Setup};
use firstflight_lab::TcpInfo;

use crate::ground::{Ground, Pair, STACK, ends, plan};
use crate::line::{BITS, Line, NETWORK, host};

/// Longer than four round-trip times of 50 ms, after which nothing counts of a connection that has nothing in flight.
const QUIET: Duration = Duration::from_millis(250);

fn window(server: &TcpStream) -> u32 {
    TcpInfo::of(server).expect("TCP_INFO").cwnd
}

/// Segments in flight to the network.
fn in_flight(hooks: &Hooks) -> u32 {
    hooks.live(host(0).into()).expect("the number").in_flight
}

/// Waits until nothing is in flight; the time that it took.
fn quiet(hooks: &Hooks) -> Duration {
    let began = Instant::now();
    while in_flight(hooks) > 0 && began.elapsed() < 4 * QUIET {
        thread::sleep(Duration::from_millis(5));
    }
    began.elapsed()
}

#[test]
fn open_connections_without_data_take_nothing_of_a_plan() {
    let Some(ground) = Ground::new() else { return };
    let Some(line) = Line::lay("8 Mbit/s", 60) else { return };
    let mut hooks = ground.hooks(&Setup { bits: BITS, ..ground.setup() });
    // Older than the plan, with data and without, and under the plan.
    let mut others = vec![line.connect(0), line.connect(1)];
    others[0].transfer(20_000);
    hooks.set(&plan(NETWORK, 33)).expect("room");
    for number in 2..6 {
        thread::sleep(QUIET);
        let mut pair = line.connect(number);
        assert_eq!(pair.window(), 33, "beside {} open connections", others.len());
        pair.transfer(20_000);
        others.push(pair);
    }
    assert_eq!(hooks.live(host(3).into()).expect("the number").connections, 6);
    assert_eq!(hooks.live("10.79.7.1".parse().expect("an address")).expect("the number").connections, 0);
    // A count of all lines takes some calls, 16 for a million.
    let all = (0..32).find_map(|_| hooks.live_connections());
    assert_eq!(all, Some(12), "both ends of each");
    drop(others);
    line.cable.cut().expect("it was emulated");
}

#[test]
fn connections_that_begin_at_once_share_what_the_path_holds_as_the_simulated_gateway_does() {
    let Some(ground) = Ground::new() else { return };
    let Some(line) = Line::lay("8 Mbit/s", 60) else { return };
    let mut hooks = ground.hooks(&Setup { bits: BITS, ..ground.setup() });
    let shared = Plan { path: 72, paced: true, ..plan(NETWORK, 40) };
    hooks.set(&shared).expect("room");
    let (clients, servers) = thread::scope(|scope| {
        let line = &line;
        let clients: Vec<_> = (0..6).map(|number| scope.spawn(move || line.open(number))).collect();
        let servers: Vec<_> = clients.iter().map(|_| line.accept()).collect();
        (clients.into_iter().map(|client| client.join().expect("a client")).collect::<Vec<_>>(), servers)
    });
    let mut given: Vec<_> = servers
        .into_iter()
        .map(|mut server| {
            server.write_all(&[7]).expect("a connection");
            let info = TcpInfo::of(&server).expect("TCP_INFO");
            // The only round-trip time that was measured is that of the handshake.
            let per_rtt = info.pacing_rate * u64::from(info.rtt) / 1_000_000 / u64::from(info.mss);
            (info.cwnd, per_rtt, server)
        })
        .collect();
    given.sort_by_key(|(window, ..)| std::cmp::Reverse(*window));
    // The function of the simulated gateway, one after the other. The windows are not sent: they count as if they were.
    let mut sum = 0;
    let mut expected = vec![];
    for (window, rate, _) in &given {
        let start = shared.start(sum, false);
        expected.push(start.arm.window());
        sum += start.arm.window();
        // Linux's own pace is twice the window in a round-trip time; a sixteenth is left for rounding and the clock.
        let pace = u64::from(start.pace.unwrap_or(2 * window));
        assert!((pace * 15 / 16..=pace * 17 / 16).contains(rate), "{window}: {rate} for {pace}");
    }
    // 72 - 40 = 32 are left for the second, nothing for the third.
    assert_eq!(expected, [40, 32, 10, 10, 10, 10]);
    assert_eq!(given.iter().map(|(window, ..)| *window).collect::<Vec<_>>(), expected);
    assert!((sum - 6..=sum).contains(&in_flight(&hooks)), "{} of {sum}", in_flight(&hooks));
    // Windows that nobody uses count for a second at most, and nothing is left at the end.
    let unused = quiet(&hooks);
    assert!(unused <= Duration::from_millis(1300), "{unused:?}");
    drop((given, clients));
    assert_eq!(ends(&mut hooks, "10.79.0.", 12).len(), 12, "both ends of each");
    assert_eq!(in_flight(&hooks), 0);
    line.cable.cut().expect("it was emulated");
}

#[test]
fn data_in_flight_counts_until_it_has_arrived_or_its_connection_has_died() {
    let Some(ground) = Ground::new() else { return };
    let Some(line) = Line::lay("8 Mbit/s", 60) else { return };
    let mut hooks = ground.hooks(&Setup { bits: BITS, ..ground.setup() });
    // Older than the plan: a bulk flow, which fills the path of 33 packets and part of the queue.
    let Pair { mut client, mut server } = line.connect(0);
    // After a failed assertion nobody reads, and the scope waits for the writer.
    server.set_write_timeout(Some(Duration::from_secs(10))).expect("an option");
    thread::scope(|scope| {
        scope.spawn(|| server.write_all(&vec![7; 2_000_000]));
        // The start is over, also where HyStart does not end it: then slow start has 101 segments in flight at 500 KB, those that the
        // queue has just dropped among them.
        client.read_exact(&mut vec![0; 1_000_000]).expect("data");
        hooks.set(&Plan { path: 70, ..plan(NETWORK, 40) }).expect("room");
        let counted = in_flight(&hooks);
        let live = window(&line.connect(1).server);
        assert!((33..=100).contains(&counted), "{counted}");
        // Within what two round trips change.
        let free = 70u32.saturating_sub(counted);
        assert!(
            live.abs_diff(free.clamp(STACK, 40)) <= 8 || live == STACK && free < 28,
            "{live} beside {counted}"
        );
        client.read_exact(&mut vec![0; 1_000_000]).expect("all bytes");
    });
    // The count of the last round trip stays for four round trips, and no longer.
    let left = quiet(&hooks);
    assert!(left <= QUIET + Duration::from_millis(150), "{left:?}");
    thread::sleep(QUIET);
    let after = line.connect(2);
    assert_eq!(after.window(), 40, "the bulk flow is open and has nothing in flight");
    // A client that dies with a window on its way to it.
    let mut died = line.connect(3);
    died.server.write_all(&[7; 50_000]).expect("a connection");
    thread::sleep(Duration::from_millis(70));
    assert!(in_flight(&hooks) > 0);
    rustix::net::sockopt::set_socket_linger(&died.client, Some(Duration::ZERO)).expect("an option");
    drop(died.client);
    assert_eq!(ends(&mut hooks, &host(3).to_string(), 1).len(), 1);
    let left = quiet(&hooks);
    assert!(left <= QUIET, "{left:?}");
    line.cable.cut().expect("it was emulated");
}

#[test]
fn a_rate_that_others_shared_is_reported_as_such() {
    let Some(ground) = Ground::new() else { return };
    let Some(line) = Line::lay("8 Mbit/s", 40) else { return };
    let mut hooks = ground.hooks(&Setup { bits: BITS, ..ground.setup() });
    let mut alone = line.connect(0);
    alone.transfer(200_000);
    alone.close();
    let [report] = ends(&mut hooks, &host(0).to_string(), 1)[..] else { panic!("one report") };
    assert!(!report.shared, "{report:?}");
    thread::sleep(QUIET);
    // 1 MB takes a second at least; 100 KB, and the connection with them, begin and end within it.
    let [mut long, mut within] = [line.connect(1), line.connect(2)];
    thread::scope(|scope| {
        scope.spawn(|| long.transfer(1_000_000));
        thread::sleep(Duration::from_millis(200));
        within.transfer(100_000);
        within.close();
    });
    long.close();
    // Both ends of each.
    let mut reports = ends(&mut hooks, "10.79.0.", 4);
    reports.retain(|report| report.bytes > 0);
    let within = reports.iter().find(|report| report.peer.to_string() == host(2).to_string());
    assert!(reports.len() == 2 && within.is_some_and(|report| report.shared), "{reports:?}");
    line.cable.cut().expect("it was emulated");
}
