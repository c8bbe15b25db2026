//! Death of the daemon, programs of others, and settings of applications.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use firstflight_contract::Nanos;
use firstflight_gateway::{Arm, Limits, Plan};
use firstflight_hooks::{Hooks, Override, Polls, Refusal, Routes, Setup, Tiers};
use firstflight_lab::{Netns, TcpInfo};
use libbpf_rs::libbpf_sys;
use rustix::net::{AddressFamily, SocketType, bind, listen, socket};

use crate::ground::{Ground, LIMITS, MILLISECOND, Pair, SECOND, STACK, any_v6, connect_in, ends, plan};

/// A process without capabilities that got the hooks from this one.
struct Daemon {
    process: Child,
    socket: UnixStream,
}

impl Daemon {
    fn start(ground: &Ground, hooks: Hooks) -> Self {
        let (near, far) = UnixStream::pair().expect("a pair of sockets");
        let test = std::env::current_exe().expect("this program");
        let process = ground.netns.run(|| {
            let mut command = Command::new(test);
            command.args(["--ignored", "--exact", "--nocapture", "faults::a_daemon_without_capabilities"]);
            command.stdin(OwnedFd::from(far)).stdout(Stdio::null()).spawn()
        });
        let process = process.expect("the namespace").expect("a process");
        let daemon = Self { process, socket: near };
        hooks.hand_over(&daemon.socket).expect("the socket takes them");
        daemon
    }

    /// Has the daemon do what the letter stands for, and answers with the number that it found.
    fn ask(&mut self, letter: u8) -> u8 {
        self.socket.write_all(&[letter]).expect("a daemon that lives");
        let mut answer = [0];
        self.socket.read_exact(&mut answer).expect("an answer");
        answer[0]
    }

    fn kill(mut self) {
        // SIGKILL.
        self.process.kill().expect("a process of this test");
        self.process.wait().expect("a process of this test");
    }
}

#[test]
#[ignore = "a process of the next test"]
fn a_daemon_without_capabilities() {
    let socket = io::stdin().as_fd().try_clone_to_owned().expect("a descriptor");
    let mut socket = UnixStream::from(socket);
    // SAFETY: takes no pointer that is used.
    let dropped = unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(65534, 65534, 65534) == 0
            && libc::setresuid(65534, 65534, 65534) == 0
    };
    assert!(dropped, "another user");
    let tiers = Tiers::detect().to_string();
    assert!(
        tiers.starts_with("sock_ops: missing: this process lacks CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN;"),
        "{tiers}"
    );
    assert!(matches!(Hooks::load(&Setup::new(LIMITS)), Err(Refusal::Privileges)));
    let mut hooks = Hooks::receive(&socket).expect("hooks");
    let mut letter = [0];
    while socket.read_exact(&mut letter).is_ok() {
        let number = match letter[0] {
            b'p' => {
                hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
                hooks.set(&plan("127.1.2.32/28", 20)).expect("room");
                hooks.renew().expect("a sign of life");
                hooks.lost().expect("a number") as usize
            }
            b'a' => hooks.adopt().expect("connections"),
            b'd' => hooks.drain(Duration::from_millis(100), |_| ()).expect("reports"),
            other => panic!("{other} is no letter of this test"),
        };
        socket.write_all(&[number as u8]).expect("the test");
    }
}

#[test]
fn a_daemon_without_capabilities_uses_the_hooks_and_its_death_takes_them_away() {
    let Some(ground) = Ground::new() else { return };
    let old = ground.connect("127.1.2.7");
    let limits = Limits { ssthresh: true, ..LIMITS };
    let setup = Setup { parts: Some((28, 56)), limits, ..ground.setup() };
    let mut daemon = Daemon::start(&ground, Hooks::load(&setup).expect("hooks"));
    assert_eq!(daemon.ask(b'p'), 0);
    assert_eq!(["127.1.2.9", "127.1.2.40"].map(|from| ground.connect(from).window()), [30, 20]);
    assert_eq!(daemon.ask(b'a'), 2, "both ends of the old connection");
    old.close();
    // Both ends of the two ended connections, and those of the old one, of which nothing was known when it was adopted.
    let reports: u8 = (0..10).map(|_| daemon.ask(b'd')).sum();
    assert_eq!(reports, 6);
    daemon.kill();
    assert_eq!(ground.connect("127.1.2.9").window(), STACK);
}

/// A network namespace in which a process waits, as in that of a container.
struct Container {
    netns: Netns,
    process: Child,
}

impl Container {
    fn new() -> Self {
        let netns = Netns::new().expect("a namespace");
        let process = netns.run(|| {
            let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
            assert!(up.expect("ip").success());
            Command::new("sleep").arg("600").spawn()
        });
        Self { process: process.expect("the namespace").expect("a process"), netns }
    }

    fn connect(&self, from: &str) -> Pair {
        let server = "127.0.0.1:0".parse().expect("an address");
        connect_in(&self.netns, TcpListener::bind, server, from.parse().expect("an address"))
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn connections_of_other_network_namespaces_are_adopted_and_planned() {
    let Some(ground) = Ground::new() else { return };
    let containers: Vec<_> = (0..5).map(|_| Container::new()).collect();
    let old: Vec<_> = containers.iter().map(|container| container.connect("127.1.2.7")).collect();
    ground.leave();
    let foreign = containers[0].connect("127.1.2.8");
    ground.come_back();
    let setup = Setup { parts: Some((28, 56)), ..ground.setup() };
    let mut hooks = Hooks::load(&setup).expect("hooks");
    let found = hooks.look_elsewhere();
    assert!(found.entered >= 5, "{found}");
    // Both ends of the five, by a process that may enter no namespace.
    let mut daemon = Daemon::start(&ground, hooks);
    assert_eq!(daemon.ask(b'p'), 0);
    assert_eq!((daemon.ask(b'a'), daemon.ask(b'a')), (10, 0));
    let windows: Vec<_> =
        containers.iter().map(|container| container.connect("127.1.2.9").window()).collect();
    assert_eq!(windows, [30; 5]);
    old.into_iter().for_each(Pair::close);
    foreign.close();
    // Both ends of the new and of the old connections, and none of the connection of another cgroup.
    let reports: u8 = (0..10).map(|_| daemon.ask(b'd')).sum();
    assert_eq!(reports, 20);
    daemon.kill();
}

#[test]
fn hooks_that_are_dropped_leave_the_kernel() {
    let Some(ground) = Ground::new() else { return };
    let hooks = ground.hooks(&ground.setup());
    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    let mut pair = ground.connect("127.1.2.9");
    assert_eq!(pair.window(), 30);
    drop(hooks);
    assert_eq!(ground.connect("127.1.2.9").window(), STACK);
    // The connection that was planned goes on.
    pair.transfer(1_000_000);
}

#[test]
fn a_message_that_is_no_handover_is_refused() {
    let (mut near, far) = UnixStream::pair().expect("a pair of sockets");
    near.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("room");
    let refusal = Hooks::receive(&far).expect_err("no hooks");
    assert!(matches!(refusal, Refusal::Handover(_)), "{refusal}");
}

/// A sock_ops program of someone else that wants these callbacks and no others, attached to the cgroup as long as the value lives.
struct Foreign {
    program: OwnedFd,
    cgroup: File,
}

impl Foreign {
    fn attach(ground: &Ground, flags: u32, callbacks: i32) -> Self {
        use libbpf_sys::{
            BPF_ALU64, BPF_CALL, BPF_EXIT, BPF_FUNC_sock_ops_cb_flags_set, BPF_JMP, BPF_K, BPF_MOV, bpf_insn,
        };
        let instruction = |code: u32, register: u8, number: i32| bpf_insn {
            code: code as u8,
            _bitfield_align_1: [],
            _bitfield_1: bpf_insn::new_bitfield_1(register, 0),
            off: 0,
            imm: number,
        };
        let program = [
            instruction(BPF_ALU64 | BPF_MOV | BPF_K, 2, callbacks),
            instruction(BPF_JMP | BPF_CALL, 0, BPF_FUNC_sock_ops_cb_flags_set as i32),
            instruction(BPF_ALU64 | BPF_MOV | BPF_K, 0, 1),
            instruction(BPF_JMP | BPF_EXIT, 0, 0),
        ];
        // SAFETY: the texts end in a zero, and there are as many instructions.
        let program = unsafe {
            libbpf_sys::bpf_prog_load(
                libbpf_sys::BPF_PROG_TYPE_SOCK_OPS,
                c"foreign_ops".as_ptr(),
                c"GPL".as_ptr(),
                program.as_ptr(),
                program.len() as u64,
                std::ptr::null_mut(),
            )
        };
        assert!(program >= 0, "the foreign program: {program}");
        // SAFETY: a descriptor that this call has opened.
        let program = unsafe { OwnedFd::from_raw_fd(program) };
        let cgroup = File::open(&ground.cgroup).expect("the cgroup");
        // SAFETY: takes no pointer.
        let attached = unsafe {
            libbpf_sys::bpf_prog_attach(
                program.as_raw_fd(),
                cgroup.as_raw_fd(),
                libbpf_sys::BPF_CGROUP_SOCK_OPS,
                flags,
            )
        };
        assert_eq!(attached, 0, "the foreign program is attached");
        Self { program, cgroup }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let (program, cgroup) = (self.program.as_raw_fd(), self.cgroup.as_raw_fd());
        // SAFETY: takes no pointer.
        unsafe { libbpf_sys::bpf_prog_detach2(program, cgroup, libbpf_sys::BPF_CGROUP_SOCK_OPS) };
    }
}

#[test]
fn a_program_that_wants_the_cgroup_alone_is_named() {
    let Some(ground) = Ground::new() else { return };
    let _foreign = Foreign::attach(&ground, 0, 0);
    let refusal = Hooks::load(&ground.setup()).expect_err("no room beside it");
    let Refusal::Foreign { cgroup, program } = &refusal else { panic!("{refusal}") };
    assert_eq!(*cgroup, ground.cgroup);
    assert!(program.starts_with("foreign_ops (program "), "{program}");
}

#[test]
fn a_foreign_program_beside_the_hooks_costs_reports_only_until_the_next_adoption() {
    let Some(ground) = Ground::new() else { return };
    let mut hooks = ground.hooks(&ground.setup());
    hooks.set(&plan("127.1.2.0/24", 40)).expect("room");
    let foreign = Foreign::attach(&ground, libbpf_sys::BPF_F_ALLOW_MULTI, 0);
    let pair = ground.connect("127.1.2.9");
    assert_eq!(pair.window(), 40, "the plan is used beside it");
    drop(foreign);
    // It has taken the callbacks of both ends away. They are not adopted again: their starts were reported.
    let adopted = ground.netns.run(|| hooks.adopt().expect("connections")).expect("the namespace");
    assert_eq!(adopted, 0);
    pair.close();
    assert_eq!(ends(&mut hooks, "127.1.2.9", 1)[0].arm, Arm::Planned(40));
    assert_eq!(ground.connect("127.1.2.9").window(), 40, "it no longer counts as live");
}

#[test]
fn a_program_that_takes_callbacks_is_named_and_counted() {
    let Some(ground) = Ground::new() else { return };
    let mut hooks = ground.hooks(&ground.setup());
    hooks.set(&plan("127.1.2.0/24", 40)).expect("room");
    let named =
        |what: &str| firstflight_hooks::beside(&ground.cgroup).iter().any(|name| name.starts_with(what));
    assert!(named("hooks_socket (program ") && !named("foreign_ops"));
    ground.connect("127.1.2.9").close();
    assert_eq!((ends(&mut hooks, "127.1.2.9", 1).len(), hooks.taken().expect("a count")), (1, 0));
    // As bpftune's tuner of connections: the states and the retransmissions, BPF_SOCK_OPS_STATE_CB_FLAG and _RETRANS_CB_FLAG.
    let foreign = Foreign::attach(&ground, libbpf_sys::BPF_F_ALLOW_MULTI, 4 | 2);
    assert!(named("foreign_ops (program "));
    ground.connect("127.1.2.9").close();
    // Both ends.
    assert_eq!((ends(&mut hooks, "127.1.2.9", 1).len(), hooks.taken().expect("a count")), (1, 2));
    drop(foreign);
    ground.connect("127.1.2.9").close();
    assert_eq!((ends(&mut hooks, "127.1.2.9", 1).len(), hooks.taken().expect("a count")), (1, 2));
}

#[test]
fn a_first_window_of_a_route_stays_and_an_order_comes_before_it() {
    let Some(ground) = Ground::new() else { return };
    let hooks = ground.hooks(&ground.setup());
    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    for (route, window) in [("4", 4), ("20", 20), ("40", 40), ("10", 30)] {
        ip(&ground, &format!("route replace local 127.1.2.9/32 dev lo table local initcwnd {route}"));
        let before = hooks.other_windows().expect("a count");
        assert_eq!(
            ["127.1.2.9", "127.1.2.10"].map(|from| ground.connect(from).window()),
            [window, 30],
            "initcwnd {route}"
        );
        assert_eq!(hooks.other_windows().expect("a count") - before, u64::from(window != 30));
    }
    ip(&ground, "route replace local 127.1.2.9/32 dev lo table local initcwnd 4");
    hooks.set_override(&"127.1.2.0/24".parse().expect("a prefix"), Some(Override::Fixed(25))).expect("room");
    assert_eq!(ground.connect("127.1.2.9").window(), 25);
}

const SO_MAX_PACING_RATE: libc::c_int = 47;

fn pacing_rate(socket: &impl std::os::fd::AsRawFd) -> u64 {
    let (mut rate, mut length) = (0_u64, 8);
    // SAFETY: a place for the answer, and its length.
    let answer = unsafe {
        let place = (&raw mut rate).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, SO_MAX_PACING_RATE, place, &mut length)
    };
    assert_eq!(answer, 0, "{}", io::Error::last_os_error());
    rate
}

#[test]
fn the_pacing_rate_of_an_application_stays() {
    let Some(ground) = Ground::new() else { return };
    let hooks = ground.hooks(&ground.setup());
    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    let usual = ground.connect("127.1.2.9");
    assert_eq!((usual.window(), pacing_rate(&usual.server)), (30, u64::MAX), "no bound is left behind");
    usual.close();
    // 10 MB/s on the listener, which its connections inherit.
    let bounded = |address: SocketAddr| -> io::Result<TcpListener> {
        let listener = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        let rate = 10_000_000_u64;
        // SAFETY: the value, and its length.
        let set = unsafe {
            let value = (&raw const rate).cast();
            libc::setsockopt(listener.as_raw_fd(), libc::SOL_SOCKET, SO_MAX_PACING_RATE, value, 8)
        };
        assert_eq!(set, 0, "{}", io::Error::last_os_error());
        bind(&listener, &address)?;
        listen(&listener, 8)?;
        Ok(listener.into())
    };
    let paced = ground.connect_to(
        bounded,
        "127.0.0.1:0".parse().expect("an address"),
        "127.1.2.9".parse().expect("an address"),
    );
    assert_eq!((paced.window(), pacing_rate(&paced.server)), (30, 10_000_000));
}

#[test]
fn a_sign_of_life_from_the_future_is_none() {
    let Some(ground) = Ground::new() else { return };
    let hooks = ground.hooks(&ground.setup());
    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    hooks.renew_at(Nanos(firstflight_hooks::now().0 + 3600 * SECOND)).expect("the control word");
    assert_eq!(ground.connect("127.1.2.9").window(), STACK);
    hooks.renew_at(Nanos(firstflight_hooks::now().0 - 2 * MILLISECOND)).expect("the control word");
    assert_eq!(ground.connect("127.1.2.9").window(), 30);
}

fn start(pair: &Pair) -> (u32, Option<u32>) {
    let info = TcpInfo::of(&pair.server).expect("TCP_INFO");
    (info.cwnd, info.ssthresh)
}

/// Runs `ip` in the namespace of the tests.
fn ip(ground: &Ground, arguments: &str) {
    let arguments: Vec<_> = arguments.split(' ').collect();
    let ran = ground.netns.run(|| Command::new("ip").args(&arguments).status());
    assert!(ran.expect("the namespace").expect("ip").success(), "ip {}", arguments.join(" "));
}

/// Has Linux remember connections by their destination, with the threshold, and 5 MB of segments of 1448 bytes from one.
fn remembered(ground: &Ground, from: &str) {
    for key in ["tcp_no_metrics_save", "tcp_no_ssthresh_metrics_save"] {
        ground.netns.set_ipv4(key, "0").expect("a setting of the namespace");
    }
    ip(ground, "link set lo mtu 1500");
    ip(ground, "tcp_metrics flush");
    let mut pair = ground.connect(from);
    pair.transfer(5_000_000);
    pair.close();
}

#[test]
fn a_window_that_a_route_locks_bounds_plans_and_orders() {
    let Some(ground) = Ground::new() else { return };
    let hooks = ground.hooks(&ground.setup());
    let windows = || ["127.1.2.9", "127.1.2.10"].map(|from| ground.connect(from).window());
    let all = "127.0.0.0/8".parse().expect("a prefix");
    ip(&ground, "route add local 127.1.2.9/32 dev lo table local cwnd lock 15");
    // Linux takes the bound from what it remembers, and that from the route.
    remembered(&ground, "127.1.2.9");
    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    assert_eq!(windows(), [15, 30]);
    hooks.set_override(&all, Some(Override::Fixed(25))).expect("room");
    assert_eq!(windows(), [15, 25]);
    hooks.set_override(&all, None).expect("the table");
    // A bound below ten segments.
    ip(&ground, "route change local 127.1.2.9/32 dev lo table local cwnd lock 4");
    remembered(&ground, "127.1.2.9");
    assert_eq!(windows(), [4, 30]);
    hooks.stop().expect("the kill switch");
    assert_eq!(windows(), [4, STACK], "as the stack starts them");
}

#[test]
fn a_threshold_that_linux_remembers_stays_unless_a_plan_has_one() {
    let Some(ground) = Ground::new() else { return };
    let limits = Limits { ssthresh: true, ..LIMITS };
    let hooks = ground.hooks(&Setup { limits, ..ground.setup() });
    // A connection beyond its threshold: Linux remembers that, or half of its window if that is greater.
    let taught = Plan { ssthresh: Some(12), ..plan("127.1.2.0/24", 11) };
    hooks.set(&taught).expect("room");
    remembered(&ground, "127.1.2.9");
    assert!(hooks.remove(&taught.prefix).expect("the table"));
    let stock = start(&ground.connect("127.1.2.9"));
    let (STACK, Some(threshold)) = stock else { panic!("Linux remembers no threshold: {stock:?}") };

    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    let mut planned = ground.connect("127.1.2.9");
    assert_eq!(start(&planned), (30, Some(threshold)), "the remembered one stays");
    planned.transfer(500_000);
    planned.close();
    hooks.set(&Plan { ssthresh: Some(200), ..plan("127.1.2.0/24", 30) }).expect("room");
    assert_eq!(start(&ground.connect("127.1.2.9")), (30, Some(200)), "that of a plan comes before it");
}

/// Connections of SYN cookies that the namespace of the tests has seen.
fn cookies(ground: &Ground) -> u64 {
    let text = ground.netns.run(|| fs::read_to_string("/proc/thread-self/net/netstat"));
    let text = text.expect("the namespace").expect("its counters");
    let mut rows = text.lines().filter_map(|line| line.strip_prefix("TcpExt: "));
    let (names, numbers) = (rows.next().expect("names"), rows.next().expect("numbers"));
    let found = names.split(' ').zip(numbers.split(' ')).find(|(name, _)| *name == "SyncookiesRecv");
    found.expect("the counter").1.parse().expect("a number")
}

#[test]
fn a_connection_of_a_syn_cookie_is_planned_only_if_timestamps_measured_its_round_trip() {
    let Some(ground) = Ground::new() else { return };
    let mut hooks = ground.hooks(&ground.setup());
    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    // Each SYN gets a cookie. The stack has forgotten when it sent the SYN-ACK; a timestamp brings that time back.
    ground.netns.set_ipv4("tcp_syncookies", "2").expect("a setting of the namespace");
    for (number, (timestamps, window, arm)) in
        [("0", STACK, Arm::Stock), ("1", 30, Arm::Planned(30))].into_iter().enumerate()
    {
        ground.netns.set_ipv4("tcp_timestamps", timestamps).expect("a setting of the namespace");
        let mut pair = ground.connect("127.1.2.9");
        assert_eq!(pair.window(), window, "timestamps {timestamps}");
        assert_eq!(cookies(&ground), number as u64 + 1);
        pair.transfer(1_000_000);
        pair.close();
        let end = ends(&mut hooks, "127.1.2.9", 1)[0];
        assert_eq!((end.arm, end.bytes, end.handshake_rtt.0 > 0), (arm, 1_000_000, timestamps == "1"));
    }
    // An order needs no round-trip time.
    ground.netns.set_ipv4("tcp_timestamps", "0").expect("a setting of the namespace");
    hooks.set_override(&"127.1.2.0/24".parse().expect("a prefix"), Some(Override::Fixed(20))).expect("room");
    let mut ordered = ground.connect("127.1.2.9");
    assert_eq!(ordered.window(), 20);
    ordered.transfer(1_000_000);
}

#[test]
fn a_machine_without_ipv6_plans_adopts_and_polls_its_connections_of_ipv4() {
    let Some(ground) = Ground::new() else { return };
    let off = ground.netns.run(|| {
        ["all", "default", "lo"]
            .map(|part| fs::write(format!("/proc/sys/net/ipv6/conf/{part}/disable_ipv6"), "1").is_ok())
    });
    assert_eq!(off.expect("the namespace"), [true; 3]);
    let refused = ground.netns.run(|| std::net::TcpListener::bind("[2001:db8:7::1]:0").is_err());
    assert!(refused.expect("the namespace"), "IPv6 is off");
    let old = ground.connect("127.1.2.8");
    let mut hooks = ground.hooks(&ground.setup());
    hooks.set(&plan("2001:db8:8::/48", 25)).expect("room");
    hooks.set(&plan("127.1.2.0/24", 30)).expect("room");
    let adopted = ground.netns.run(|| hooks.adopt().expect("connections")).expect("the namespace");
    assert_eq!(adopted, 2, "both ends");
    old.close();
    let pair = ground.connect("127.1.2.9");
    assert_eq!(pair.window(), 30);
    pair.close();
    let mapped = ground.connect_to(TcpListener::bind, any_v6(0), "127.1.2.9".parse().expect("an address"));
    assert_eq!(mapped.window(), 30);
    mapped.close();
    assert_eq!(ends(&mut hooks, "127.1.2.", 3).len(), 3);

    // Without eBPF: polls and routes of IPv4 work, and a route of IPv6 is refused.
    let live = ground.connect("127.1.2.9");
    ground
        .netns
        .run(|| {
            let mut polls = Polls::new().expect("sock_diag");
            assert_eq!(polls.poll(|_| None, |_| ()).expect("a poll"), 2);
            let mut routes = Routes::new(4).expect("routes");
            let why = routes.set("2001:db8:8::/48".parse().expect("a prefix"), 16).expect_err("no path");
            assert!(why.to_string().contains("2001:db8:8::/48"), "{why}");
        })
        .expect("the namespace");
    live.close();
}
