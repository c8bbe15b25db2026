//! Starts of real connections, and their reports, in a cgroup and a network namespace of the tests' own.

mod fallen;
mod faults;
mod flight;
mod ground;
mod idle;
mod line;
mod transfer;
mod wire;

use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use firstflight_contract::Nanos;
use firstflight_gateway::{Arm, Limits, Plan, Stage};
use firstflight_hooks::{Hooks, Override, Refusal, Setup, now};

use ground::{Ground, LIMITS, MILLISECOND, Pair, SECOND, SERVER, STACK, any_v6, ends, plan};

#[test]
fn a_connection_starts_as_planned_and_is_reported_when_it_ends() {
    let Some(ground) = Ground::new() else { return };
    let mut hooks = ground.hooks(&ground.setup());
    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    let began = now();
    let mut pair = ground.connect("127.1.2.9");
    assert_eq!(pair.window(), 30);
    assert_eq!(ground.connect("127.1.3.9").window(), STACK, "the next prefix has no plan");
    pair.transfer(3_000_000);
    pair.close();
    let ended = now();
    let reports = ends(&mut hooks, "127.1.", 2);
    let [other, report] = reports[..] else { panic!("two reports: {reports:?}") };
    assert_eq!((report.arm, report.stage), (Arm::Planned(30), Stage::Ended));
    assert_eq!(report.bytes, 3_000_000);
    assert!(report.sent >= 3_000_000 / report.mss + report.retransmits);
    assert!(
        report.at > began
            && report.age.0 <= ended.0 - began.0
            && report.busy.0 <= report.age.0 + 10 * MILLISECOND
    );
    assert!(report.handshake_rtt > Nanos::ZERO && report.min_rtt <= report.handshake_rtt);
    assert!(report.handshake_rtt.0 < ended.0 - began.0 && report.srtt.0 < SECOND && report.rate > 0);
    // On a busy machine a probe of the tail may be sent, and Linux may reduce the window for the segment that it repeats.
    assert!(report.first_window_lost <= report.retransmits, "{report:?}");
    assert!(report.retransmits > 0 || report.cwnd >= 30, "{report:?}");
    assert!(report.receive_window > 0, "{report:?}");
    assert_eq!((other.peer.to_string().as_str(), other.arm, other.bytes), ("127.1.3.9", Arm::Stock, 0));
    assert_eq!(hooks.lost().expect("a number"), 0);
}

#[test]
fn ipv6_and_ipv4_on_a_socket_of_ipv6_start_as_planned() {
    let Some(ground) = Ground::new() else { return };
    let mut hooks = ground.hooks(&ground.setup());
    hooks.set(&plan("2001:db8:8::/48", 25)).expect("room");
    hooks.set(&plan("127.1.2.0/24", 26)).expect("room");
    let pair = ground.connect("2001:db8:8::1");
    assert_eq!(pair.window(), 25);
    pair.close();
    assert_eq!(ends(&mut hooks, "2001:db8:8::1", 1)[0].arm, Arm::Planned(25));
    let mapped = ground.connect_to(TcpListener::bind, any_v6(0), "127.1.2.9".parse().expect("an address"));
    assert!(mapped.server.local_addr().expect("an address").is_ipv6());
    assert_eq!(mapped.window(), 26);
    mapped.close();
    assert_eq!(ends(&mut hooks, "127.1.2.9", 1)[0].arm, Arm::Planned(26));
    assert!(hooks.remove(&"127.1.2.0/24".parse().expect("a prefix")).expect("the table"));
    assert!(!hooks.remove(&"127.1.2.0/24".parse().expect("a prefix")).expect("the table"));
    assert_eq!(ground.connect("127.1.2.9").window(), STACK);
}

#[test]
fn a_plan_is_used_only_while_the_daemon_lives() {
    let Some(ground) = Ground::new() else { return };
    let limits = Limits { lease: Nanos(300 * MILLISECOND), ..LIMITS };
    let hooks = firstflight_hooks::Hooks::load(&Setup { limits, ..ground.setup() }).expect("hooks");
    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    assert_eq!(ground.connect("127.1.2.9").window(), STACK, "no sign of life yet");
    hooks.renew().expect("a sign of life");
    assert_eq!(ground.connect("127.1.2.9").window(), 30);
    thread::sleep(Duration::from_millis(400));
    assert_eq!(ground.connect("127.1.2.9").window(), STACK, "the lease ran out");
    hooks.renew().expect("a sign of life");
    hooks.stop().expect("the kill switch");
    assert_eq!(ground.connect("127.1.2.9").window(), STACK, "the kill switch");
    hooks.resume().expect("the kill switch");
    assert_eq!(ground.connect("127.1.2.9").window(), 30);
}

#[test]
fn a_plan_is_used_until_it_expires_and_for_its_round_trip_times() {
    let Some(ground) = Ground::new() else { return };
    let hooks = ground.hooks(&ground.setup());
    let usual = plan("127.1.2.0/24", 30);
    // The handshake over the loopback takes less than 10 ms.
    let far = (Nanos(100 * MILLISECOND), Nanos(SECOND));
    let cases = [
        (usual, 30),
        (Plan { expires: now(), ..usual }, STACK),
        (Plan { expires: Nanos(u64::MAX), ..usual }, 30),
        (Plan { rtt: far, ..usual }, STACK),
        (Plan { rtt: (Nanos::ZERO, Nanos(999)), ..usual }, STACK),
        (Plan { rtt: (Nanos::ZERO, Nanos(u64::MAX)), ..usual }, 30),
        (Plan { window: 1_000_000, path: 1_000_000, ..usual }, LIMITS.window),
        (Plan { window: 4, ..usual }, STACK),
    ];
    for (plan, expected) in cases {
        hooks.set(&plan).expect("room");
        let pair = ground.connect("127.1.2.9");
        assert_eq!(pair.window(), expected, "{plan:?}");
        pair.close();
    }
}

#[test]
fn as_many_prefixes_as_the_table_has_lines_all_have_their_plans() {
    let Some(ground) = Ground::new() else { return };
    let hooks = ground.hooks(&ground.setup());
    const PREFIXES: u32 = 4096;
    let prefix = |number: u32| format!("127.{}.{}.0/24", 16 + number / 256, number % 256);
    let window = |number: u32| 11 + number % 30;
    let differ = |expected: &dyn Fn(u32) -> u32| {
        let started = |number: u32| ground.connect(&prefix(number).replace("0/24", "9")).window();
        let of = (0..PREFIXES).map(|number| (number, started(number), expected(number)));
        let (shared, others): (Vec<_>, Vec<_>) = of
            .filter(|(_, started, expected)| started != expected)
            .partition(|(_, started, expected)| (STACK..*expected).contains(started));
        // The client's end is a connection to the server's network, which counts the stack's window. A prefix that shares the line of that
        // network shares its path with it: one of 4096 in the mean, and more than eight in one run of a million.
        assert!(shared.len() <= 8, "{shared:?}");
        others
    };
    for number in 0..PREFIXES {
        hooks.set(&plan(&prefix(number), window(number))).expect("room");
    }
    // About a tenth of them find their line full.
    assert_eq!(differ(&window), []);
    assert_eq!(
        hooks.set(&plan("127.1.2.0/24", 30)).expect_err("as many plans as there may be").to_string(),
        Refusal::Full { what: "plans", most: PREFIXES }.to_string()
    );
    for number in (0..PREFIXES).step_by(2) {
        assert!(hooks.remove(&prefix(number).parse().expect("a prefix")).expect("the table"));
    }
    let expected = |number: u32| if number.is_multiple_of(2) { STACK } else { window(number) };
    assert_eq!(differ(&expected), []);
    // The plans of full lines move into lines that have room now.
    for number in 0..PREFIXES {
        hooks.set(&plan(&prefix(number), window(number + 7))).expect("room");
    }
    assert_eq!(differ(&|number| window(number + 7)), []);
    hooks.set(&plan("127.1.2.0/24", 30)).expect_err("as many plans as there may be");
    for number in 0..PREFIXES {
        let prefix = prefix(number).parse().expect("a prefix");
        assert!(hooks.remove(&prefix).expect("the table"), "{number}");
        assert!(!hooks.remove(&prefix).expect("the table"), "{number}");
    }
    assert_eq!(differ(&|_| STACK), []);
}

#[test]
fn a_random_share_is_held_out() {
    let Some(ground) = Ground::new() else { return };
    let limits = Limits { holdout: 100, ..LIMITS };
    let mut hooks = ground.hooks(&Setup { limits, ..ground.setup() });
    // The greater of the plan's and the limits' share holds: 100, then 500 and 1000 of a thousand. The bounds are more
    // than five standard deviations, sqrt(400 p (1 - p)), from the mean of 400 connections.
    for (share, low, high) in [(0, 8, 72), (500, 148, 252), (1000, 400, 400)] {
        hooks.set(&Plan { holdout: share, ..plan("127.1.2.0/24", 30) }).expect("room");
        let mut untouched = 0;
        for _ in 0..400 {
            let pair = ground.connect("127.1.2.9");
            let window = pair.window();
            assert!(window == STACK || window == 30);
            untouched += usize::from(window == STACK);
            pair.close();
        }
        assert!((low..=high).contains(&untouched), "{untouched} of 400 at {share} of a thousand");
        let reports = ends(&mut hooks, "127.1.2.9", 400);
        let held = reports.iter().filter(|report| matches!(report.arm, Arm::Holdout(_))).count();
        let planned = reports.iter().filter(|report| report.arm == Arm::Planned(30)).count();
        assert_eq!((held, held + planned), (untouched, 400));
    }
}

#[test]
fn orders_of_the_operator_come_before_plans() {
    let Some(ground) = Ground::new() else { return };
    let hooks = ground.hooks(&ground.setup());
    let window = |from: &str| ground.connect(from).window();
    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    let host = "127.1.2.9/32".parse().expect("a prefix");
    let wide = "127.0.0.0/8".parse().expect("a prefix");
    hooks.set_override(&wide, Some(Override::Fixed(20))).expect("room");
    hooks.set_override(&host, Some(Override::Off)).expect("room");
    assert_eq!([window("127.1.2.9"), window("127.1.2.8"), window("127.9.9.9")], [STACK, 20, 20]);
    hooks.set_override(&wide, Some(Override::Fixed(4000))).expect("room");
    assert_eq!(window("127.9.9.9"), LIMITS.window, "the limits hold for orders");
    hooks.set_override(&host, None).expect("the table");
    hooks.set_override(&wide, None).expect("the table");
    assert_eq!([window("127.1.2.9"), window("127.9.9.9")], [30, STACK]);
    hooks.set(&Plan { expires: now(), ..plan("127.1.2.0/24", 30) }).expect("room");
    assert_eq!(window("127.1.2.9"), STACK, "expired");
    hooks.set_override(&host, Some(Override::Freeze)).expect("room");
    assert_eq!([window("127.1.2.9"), window("127.1.2.8")], [30, STACK]);
}

#[test]
fn an_order_for_one_family_leaves_the_other_alone() {
    let Some(ground) = Ground::new() else { return };
    let hooks = ground.hooks(&ground.setup());
    let windows = || ["127.1.2.9", "2001:db8:8::1"].map(|from| ground.connect(from).window());
    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    hooks.set(&plan("2001:db8:8::/48", 31)).expect("room");
    let order = |prefix: &str, order| {
        hooks.set_override(&prefix.parse().expect("a prefix"), order).expect("room");
    };
    for (prefix, order_of, expected) in [
        ("::/0", Override::Fixed(20), [30, 20]),
        ("::/0", Override::Off, [30, STACK]),
        ("::/80", Override::Off, [30, 31]),
        ("0.0.0.0/0", Override::Fixed(20), [20, 31]),
        ("0.0.0.0/0", Override::Off, [STACK, 31]),
    ] {
        order(prefix, Some(order_of));
        assert_eq!(windows(), expected, "{prefix} {order_of:?}");
        order(prefix, None);
        assert_eq!(windows(), [30, 31], "{prefix} is lifted");
    }
    // The order for IPv4 ends, and that for IPv6 does not take its place.
    order("::/0", Some(Override::Fixed(20)));
    order("0.0.0.0/0", Some(Override::Fixed(25)));
    assert_eq!(windows(), [25, 20]);
    order("0.0.0.0/0", None);
    assert_eq!(windows(), [30, 20]);
}

#[test]
fn the_plan_of_a_part_comes_before_the_plan_of_its_prefix() {
    let Some(ground) = Ground::new() else { return };
    let hooks = ground.hooks(&Setup { parts: Some((28, 56)), plans: 1, ..ground.setup() });
    let window = |from: &str| ground.connect(from).window();
    // 9 is in the part from 0 to 15, 17 in the next.
    hooks.set(&plan("127.1.2.0/28", 20)).expect("room");
    assert_eq!([window("127.1.2.9"), window("127.1.2.17")], [20, STACK]);
    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    assert_eq!([window("127.1.2.9"), window("127.1.2.17")], [20, 30]);
    let refusal = hooks.set(&plan("127.1.2.16/28", 20)).expect_err("no room");
    assert!(matches!(refusal, Refusal::Full { what: "plans of parts", most: 1 }), "{refusal}");

    // A connection to one part counts for another.
    let other = ground.connect("127.1.2.17");
    let open = hooks.live("127.1.2.9".parse().expect("an address")).expect("the number").connections;
    assert_eq!((other.window(), open), (30, 1));
    other.close();
    hooks.set(&Plan { expires: now(), ..plan("127.1.2.0/28", 20) }).expect("its place");
    assert_eq!(window("127.1.2.9"), 30, "the part's plan has expired");
    let prefix = |text: &str| text.parse().expect("a prefix");
    let frozen = Some(Override::Freeze);
    hooks.set_override(&prefix("127.1.2.0/24"), frozen).expect("room");
    assert_eq!([window("127.1.2.9"), window("127.1.2.17")], [20, 30], "a frozen plan does not expire");
    assert!(hooks.remove(&prefix("127.1.2.0/28")).expect("the table"));
    assert!(!hooks.remove(&prefix("127.1.2.0/28")).expect("the table"));
    assert_eq!([window("127.1.2.9"), window("127.1.2.17")], [30, 30]);
    assert!(hooks.remove(&prefix("127.1.2.0/24")).expect("the table"));
    assert_eq!(window("127.1.2.9"), STACK);

    // 2001:db8:8::1 is in the first part of its /48.
    hooks.set(&plan("2001:db8:8:100::/56", 20)).expect("room");
    hooks.set(&plan("2001:db8:8::/48", 30)).expect("room");
    assert_eq!(window("2001:db8:8::1"), 30);
    assert!(hooks.remove(&prefix("2001:db8:8:100::/56")).expect("the table"));
    hooks.set(&plan("2001:db8:8::/56", 20)).expect("room");
    assert_eq!(window("2001:db8:8::1"), 20);

    let refusal = hooks.set(&plan("127.1.2.0/27", 30)).expect_err("another length").to_string();
    assert_eq!(
        refusal,
        "127.1.2.0/27: plans are for prefixes of 24 or 28 bits, as the hooks were loaded; the nearest is \
         127.1.2.0/28"
    );
}

#[test]
fn a_full_table_refuses_and_changes_nothing() {
    let Some(ground) = Ground::new() else { return };
    let hooks = ground.hooks(&Setup { plans: 1, overrides: 1, ..ground.setup() });
    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    let refusal = hooks.set(&plan("127.1.3.0/24", 30)).expect_err("no room");
    assert!(matches!(refusal, Refusal::Full { what: "plans", most: 1 }), "{refusal}");
    hooks.set(&plan("127.1.2.0/24", 31)).expect("the place that it has");
    let order = Some(Override::Off);
    hooks.set_override(&"127.1.4.0/24".parse().expect("a prefix"), order).expect("room");
    let refusal = hooks.set_override(&"127.1.5.0/24".parse().expect("a prefix"), order).expect_err("no room");
    assert!(matches!(refusal, Refusal::Full { what: "overrides", most: 1 }), "{refusal}");
    assert_eq!([31, STACK], ["127.1.2.9", "127.1.3.9"].map(|from| ground.connect(from).window()));
}

#[test]
fn reports_without_room_are_counted() {
    let Some(ground) = Ground::new() else { return };
    // A buffer of 4096 bytes has room for 34 reports of 112 bytes and 8 more of the kernel's.
    let mut hooks = ground.hooks(&Setup { buffer: 4096, ..ground.setup() });
    for _ in 0..100 {
        ground.connect("127.1.2.9").close();
    }
    // Both ends of a connection are reported.
    let mut read = 0;
    for _ in 0..10 {
        read += hooks.drain(Duration::from_millis(20), |_| ()).expect("reports");
    }
    let lost = hooks.lost().expect("a number");
    assert_eq!((read, lost), (34, 200 - 34));
    ground.connect("127.1.2.9").close();
    assert_eq!(ends(&mut hooks, "127.1.2.9", 1).len(), 1, "there is room again");
}

#[test]
fn older_connections_are_adopted_once_and_reported_when_they_end() {
    let Some(ground) = Ground::new() else { return };
    let mut old = ground.connect("127.1.2.9");
    old.transfer(1_000_000);
    ground.leave();
    let foreign = ground.connect("127.1.2.10");
    ground.come_back();
    let mut hooks = ground.hooks(&ground.setup());
    hooks.set(&plan("127.1.2.0/24", 40)).expect("room");
    let new = ground.connect("127.1.2.11");
    let open =
        |hooks: &Hooks| hooks.live("127.1.2.1".parse().expect("an address")).expect("the number").connections;
    assert_eq!((new.window(), open(&hooks)), (40, 1), "connections count once they are adopted");
    let mut adopt = || ground.netns.run(|| hooks.adopt().expect("connections")).expect("the namespace");
    // Both ends of the one old connection.
    assert_eq!([adopt(), adopt()], [2, 0]);
    assert_eq!(open(&hooks), 2);
    let mut live = vec![];
    hooks.drain(Duration::from_millis(100), |connection| live.push(connection)).expect("reports");
    let report = live.iter().find(|report| {
        report.stage == Stage::Live && report.peer == old.client.local_addr().expect("an address").ip()
    });
    let report = report.expect("a report of the old connection");
    assert_eq!((report.bytes, report.arm, report.age.0 < SECOND), (1_000_000, Arm::Stock, true));
    assert!(report.srtt > Nanos::ZERO && report.cwnd >= STACK);
    old.transfer(500_000);
    old.close();
    assert_eq!(ends(&mut hooks, "127.1.2.9", 1)[0].bytes, 1_500_000);
    foreign.close();
    assert!(ends(&mut hooks, "127.1.2.10", 1).is_empty(), "it is of another cgroup");
    assert_eq!(SERVER, new.server.local_addr().expect("an address").ip());
}

#[test]
fn connections_without_a_place_of_their_own_are_reported_too() {
    let Some(ground) = Ground::new() else { return };
    let mut hooks = ground.hooks(&ground.setup());
    hooks.set(&plan("127.1.2.0/24", 40)).expect("room");
    // The hooks have 4096 places, and each connection has two ends.
    const MANY: usize = 2200;
    let pairs: Vec<_> = (0..MANY).map(|_| ground.connect("127.1.2.9")).collect();
    pairs.into_iter().for_each(Pair::close);
    assert_eq!(ends(&mut hooks, "127.", 2 * MANY).len(), 2 * MANY);
    assert_eq!(hooks.lost().expect("a number"), 0);
    assert_eq!(ground.connect("127.1.2.9").window(), 40, "none of them counts as live any more");
}

#[test]
fn what_the_hooks_cannot_do_is_refused() {
    let Some(ground) = Ground::new() else { return };
    let refusal = |setup: Setup| firstflight_hooks::Hooks::load(&setup).expect_err("a refusal").to_string();
    let limits = |limits: Limits| Setup { limits, ..ground.setup() };
    assert_eq!(
        refusal(limits(Limits { window: 0, ..LIMITS })),
        "limits.window = 0: expected 1 to 65535 segments"
    );
    assert!(
        refusal(limits(Limits { holdout: 1001, ..LIMITS })).starts_with("limits.holdout = 1001: expected")
    );
    assert!(refusal(Setup { buffer: 5000, ..ground.setup() }).starts_with("buffer = 5000: expected a power"));
    for (parts, start) in [
        ((24, 56), "bits of the parts of IPv4 = 24: expected more than"),
        ((33, 56), "bits of the parts of IPv4 = 33: expected more than"),
        ((28, 48), "bits of the parts of IPv6 = 48: expected more than"),
        ((28, 65), "bits of the parts of IPv6 = 65: expected more than"),
    ] {
        let why = refusal(Setup { parts: Some(parts), ..ground.setup() });
        assert!(why.starts_with(start), "{why}");
    }
    let folder = Setup { cgroup: Some("/tmp".into()), ..ground.setup() };
    assert!(refusal(folder).starts_with("/tmp: "));
    let hooks = ground.hooks(&ground.setup());
    let refusal = hooks.set(&plan("127.1.0.0/16", 30)).expect_err("another length").to_string();
    assert_eq!(
        refusal,
        "127.1.0.0/16: plans are for prefixes of 24 bits, as the hooks were loaded; the nearest is 127.1.0.0/24"
    );
    let refusal = hooks.set(&Plan { ssthresh: Some(20), ..plan("127.1.2.0/24", 30) });
    assert!(matches!(refusal, Err(Refusal::Ssthresh)));
}

#[test]
fn plans_are_limited_to_ports_and_cgroups() {
    let Some(ground) = Ground::new() else { return };
    let mut hooks = ground.hooks(&ground.setup());
    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    hooks.set_override(&"127.1.3.0/24".parse().expect("a prefix"), Some(Override::Fixed(20))).expect("room");
    let inner = ground.cgroup.join("inner");
    std::fs::create_dir(&inner).expect("a cgroup");
    // The cgroup of a connection is that of the process that opened the listening socket.
    let windows = |port: u16| {
        ["127.1.2.9", "127.1.3.9"].map(|from| {
            let server = (SERVER, port).into();
            ground.connect_to(TcpListener::bind, server, from.parse().expect("an address")).window()
        })
    };
    let number = |folder: &std::path::Path| {
        std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(folder).expect("a cgroup"))
    };
    assert_eq!(windows(4711), [30, 20]);
    hooks.limit_to(&[443, 4711, 65_535], &[]).expect("the tables");
    assert_eq!([4711, 4712, 65_535].map(windows), [[30, 20], [STACK; 2], [30, 20]]);
    hooks.limit_to(&[], &[number(&inner)]).expect("the tables");
    assert_eq!(windows(4711), [STACK; 2], "of the cgroup above it");
    std::fs::write(inner.join("cgroup.procs"), std::process::id().to_string()).expect("the inner cgroup");
    assert_eq!(windows(4711), [30, 20]);
    hooks.limit_to(&[4711], &[number(&ground.cgroup)]).expect("the tables");
    assert_eq!([4711, 4712].map(windows), [[30, 20], [STACK; 2]], "a cgroup has those below it");
    ground.come_back();
    std::fs::remove_dir(&inner).expect("no process is in it");
    assert_eq!(windows(4711), [30, 20]);
    hooks.limit_to(&[], &[]).expect("the tables");
    assert_eq!(windows(4712), [30, 20]);
    let many: Vec<u64> = (1..=65).collect();
    let refusal = hooks.limit_to(&[], &many).expect_err("too many");
    assert!(matches!(refusal, Refusal::Full { most: 64, .. }), "{refusal}");
}
