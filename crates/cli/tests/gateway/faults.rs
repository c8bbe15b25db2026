//! Faults of the machine around a gateway: death at each step of its start, clocks that jump, cgroups of version 1.

#![expect(clippy::disallowed_methods, reason = "the kernel runs in real time")]

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::common::Scratch;
use super::{Cgroup, Gateway, ask};

/// Linux's initial window (RFC 6928), and the one that the operator orders here.
pub(super) const STOCK: u32 = 10;
pub(super) const ORDERED: u32 = 20;
pub(super) const SOCKET: [&str; 2] = ["--socket", "gateway.sock"];

/// The process is in one cgroup at a time, so tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// This process within the cgroup of the gateway, and back where it was at the end.
pub(super) struct Inside {
    home: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl Inside {
    pub(super) fn enter(cgroup: &Cgroup) -> io::Result<Self> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default().to_owned();
        let root = cgroup.0.parent().expect("the root of the hierarchy");
        enter(&cgroup.0)?;
        Ok(Self { home: root.join(own), _turn: turn })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = enter(&self.home);
    }
}

fn enter(cgroup: &Path) -> io::Result<()> {
    fs::write(cgroup.join("cgroup.procs"), std::process::id().to_string())
}

/// First window of a connection from 127.1.2.9 that this process accepts, which works: 100 KB go through it.
fn first_window() -> u32 {
    use std::io::{Read as _, Write as _};
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
    let to = listener.local_addr().expect("an address");
    let client = {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        let client = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        bind(&client, &std::net::SocketAddr::from(([127, 1, 2, 9], 0))).expect("an address of the loopback");
        connect(&client, &to).expect("a connection");
        TcpStream::from(client)
    };
    let (mut server, _) = listener.accept().expect("a connection");
    let window = firstflight_lab::TcpInfo::of(&server).expect("TCP_INFO").cwnd;
    let mut client = client;
    let sender = thread::spawn(move || server.write_all(&[7; 100_000]));
    let mut bytes = vec![];
    client.read_to_end(&mut bytes).expect("all bytes");
    sender.join().expect("a sender").expect("all bytes");
    assert_eq!(bytes.len(), 100_000);
    window
}

/// The same, until a connection begins with this window: a few per cent are held out, and a second may pass until the gateway
/// shows that it lives.
pub(super) fn until_window(expected: u32, within: Duration, when: &str) {
    let end = Instant::now() + within;
    loop {
        let window = first_window();
        assert!([STOCK, ORDERED].contains(&window), "{when}: {window} segments");
        if window == expected {
            return;
        }
        assert!(Instant::now() < end, "{when}: {window} segments, and {expected} not within {within:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Several connections, each as the stack starts it.
pub(super) fn stock(when: &str) {
    for _ in 0..3 {
        assert_eq!(first_window(), STOCK, "{when}");
    }
}

pub(super) fn command(scratch: &Scratch, cgroup: &Cgroup) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstflight"));
    command.args(["gateway", "run", "--mode", "enforce", "--state", "state", "--config", "gateway.toml"]);
    command.args(SOCKET).arg("--cgroup").arg(&cgroup.0).current_dir(scratch.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn answers(scratch: &Scratch) -> bool {
    scratch.run(&["gateway", "status", SOCKET[0], SOCKET[1]]).code == 0
}

/// Waits until the gateway answers; gives back what it said if it ended instead.
pub(super) fn ready(mut child: Child, scratch: &Scratch) -> Result<Gateway, Output> {
    for _ in 0..1500 {
        if child.try_wait().expect("a child").is_some() {
            return Err(child.wait_with_output().expect("its output"));
        }
        if answers(scratch) {
            return Ok(Gateway(child));
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("the gateway neither answered nor ended within 30 seconds");
}

/// A gateway in a cgroup of its own, with an order for 127.1.2.0/24; [`None`], with the reason, where this machine runs none.
pub(super) fn ground(scratch: &Scratch, name: &str) -> Option<(Cgroup, Inside)> {
    let Some(cgroup) = Cgroup::named(name) else {
        firstflight_skip::skip("no cgroup2 hierarchy in which this user may make a folder");
        return None;
    };
    // The least that can be held out, and every program of the hooks.
    scratch
        .write("gateway.toml", "[trial]\nholdout = 1\n[plan]\nssthresh = true\n[transfers]\napply = true\n");
    let inside = match Inside::enter(&cgroup) {
        Ok(inside) => inside,
        Err(error) => {
            firstflight_skip::skip(format_args!("{}: {error}", cgroup.0.display()));
            return None;
        }
    };
    match ready(command(scratch, &cgroup).spawn().expect("it starts"), scratch) {
        Ok(gateway) => {
            let tiers = ask(scratch, &["status"])["tiers"].to_string();
            assert!(tiers.contains("\"in use: sock_ops, struct_ops\""), "{tiers}");
            ask(scratch, &["set", "127.1.2.0/24", "20"]);
            until_window(ORDERED, Duration::from_secs(5), "at first");
            drop(gateway);
            stock("after its death");
            Some((cgroup, inside))
        }
        Err(output) => {
            firstflight_skip::skip(String::from_utf8_lossy(&output.stderr).trim());
            None
        }
    }
}

/// The child processes of a process.
fn children(process: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    list.split_whitespace().map(|number| number.parse().expect("a number")).collect()
}

/// Waits for a point of the start, at most ten seconds; [`false`] if the process has ended before.
fn wait_for(child: &mut Child, mut point: impl FnMut(u32) -> bool) -> bool {
    for _ in 0..20_000 {
        if point(child.id()) {
            return true;
        }
        if child.try_wait().expect("a child").is_some() {
            return false;
        }
        thread::sleep(Duration::from_micros(500));
    }
    panic!("the point of the start did not come within ten seconds");
}

fn kill(process: u32) {
    // It may have ended; the number is that of a process which this test started, and not yet free.
    let _ = Command::new("kill").args(["-KILL", &process.to_string()]).stderr(Stdio::null()).status();
}

fn exists(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Points of the start at which a process can be killed, as another process sees them.
const POINTS: [&str; 6] = [
    "the process has started",
    "the loader has started",
    "30 ms after the loader",
    "the loader has ended",
    "the socket is there",
    "the gateway answers",
];

#[test]
fn a_gateway_or_loader_killed_at_any_step_of_its_start_leaves_stock_connections_and_all_that_was_learned() {
    let scratch = Scratch::new();
    let Some((cgroup, _inside)) = ground(&scratch, "death") else { return };
    let socket = scratch.path().join("gateway.sock");
    for (number, point) in POINTS.into_iter().enumerate() {
        let _ = fs::remove_file(&socket);
        let mut child = command(&scratch, &cgroup).spawn().expect("it starts");
        let mut loaders = vec![];
        let reached = match number {
            0 => true,
            1 | 2 => wait_for(&mut child, |process| {
                loaders = children(process);
                !loaders.is_empty()
            }),
            3 => {
                wait_for(&mut child, |process| !children(process).is_empty())
                    && wait_for(&mut child, |process| children(process).is_empty())
            }
            4 => wait_for(&mut child, |_| socket.exists()),
            _ => wait_for(&mut child, |_| answers(&scratch)),
        };
        assert!(reached, "{point}: the gateway ended before");
        if number == 2 {
            thread::sleep(Duration::from_millis(30));
        }
        child.kill().expect("a child");
        child.wait().expect("a child");
        // The loader sends to nobody, and ends.
        let end = Instant::now() + Duration::from_secs(10);
        while loaders.iter().any(|loader| exists(*loader)) {
            assert!(Instant::now() < end, "{point}: the loader goes on");
            thread::sleep(Duration::from_millis(10));
        }
        stock(point);
    }
    // The loader dies: the gateway says so in one line, ends, and leaves nothing.
    for delay in [0, 10, 30, 60, 100] {
        let _ = fs::remove_file(&socket);
        let mut child = command(&scratch, &cgroup).spawn().expect("it starts");
        let mut loader = 0;
        let started = wait_for(&mut child, |process| {
            loader = children(process).first().copied().unwrap_or(0);
            loader != 0
        });
        assert!(started, "the gateway ended before its loader");
        thread::sleep(Duration::from_millis(delay));
        if children(child.id()).contains(&loader) {
            kill(loader);
        }
        match ready(child, &scratch) {
            // The loader had done its work.
            Ok(gateway) => drop(gateway),
            Err(output) => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert_eq!(output.status.code(), Some(2), "{said}");
                assert!(
                    said.contains("could not be loaded into the kernel") && said.lines().count() == 1,
                    "{said}"
                );
            }
        }
        stock("after the loader's death");
    }
    let _gateway = ready(command(&scratch, &cgroup).spawn().expect("it starts"), &scratch).expect("it runs");
    assert_eq!(ask(&scratch, &["status"])["orders"], 1);
    until_window(ORDERED, Duration::from_secs(5), "at last");
}

/// The state of a gateway that learned of five hosts of 198.18.0.0/24, a path of 34 segments.
fn learned() -> Vec<u8> {
    use firstflight_contract::Nanos;
    use firstflight_gateway::{Connection, Gateway, Settings, typical};
    let mut gateway = Gateway::new(Settings::default());
    for number in 0..40_u8 {
        let connection = Connection {
            at: firstflight_hooks::now(),
            min_rtt: Nanos::from_millis(40),
            rate: 1_250_000,
            ..typical([198, 18, 0, 1 + number % 5].into())
        };
        gateway.report(&connection, &mut vec![]);
    }
    gateway.save()
}

/// Adds seconds to the wall clock and to the time since boot, as the file that `CLOCKS` names has them.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time)
{
	static int (*real)(clockid_t, struct timespec *);
	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	int answer = real(clock, time);
	if (clock != CLOCK_REALTIME && clock != CLOCK_BOOTTIME)
		return answer;
	char text[64] = "";
	long wall = 0, boot = 0;
	int file = open(getenv("CLOCKS"), O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return answer;
	if (read(file, text, sizeof(text) - 1) > 0)
		sscanf(text, "%ld %ld", &wall, &boot);
	close(file);
	time->tv_sec += clock == CLOCK_REALTIME ? wall : boot;
	return answer;
}
"#;

#[test]
fn clocks_that_jump_cost_no_connection_and_nothing_that_was_learned() {
    let scratch = Scratch::new();
    let Some((cgroup, _inside)) = ground(&scratch, "clocks") else { return };
    scratch.write("shim.c", SHIM);
    let shim = scratch.path().join("shim.so");
    let compiled = Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .arg(&shim)
        .arg(scratch.path().join("shim.c"))
        .arg("-ldl")
        .status();
    match compiled {
        Err(error) => return firstflight_skip::skip(format_args!("cc: {error}")),
        Ok(status) => assert!(status.success(), "{status}"),
    }
    let set = |wall: i64, boot: i64| {
        scratch.write("clocks.new", format!("{wall} {boot}"));
        fs::rename(scratch.path().join("clocks.new"), scratch.path().join("clocks")).expect("renamed");
    };
    set(0, 0);
    let start = || {
        let mut command = command(&scratch, &cgroup);
        command.env("LD_PRELOAD", &shim).env("CLOCKS", scratch.path().join("clocks"));
        ready(command.spawn().expect("it starts"), &scratch).expect("it runs")
    };
    let gateway = start();
    until_window(ORDERED, Duration::from_secs(5), "before the jumps");
    scratch.write("learned.state", learned());
    ask(&scratch, &["import", "learned.state"]);
    let known = || {
        let found = ask(&scratch, &["explain", "198.18.0.1"]);
        assert_eq!(found["estimate"]["hosts"], 5, "{found}");
    };
    known();
    const YEAR: i64 = 365 * 86_400;
    const YEARS: i64 = 10 * YEAR;
    // Each step of the wall clock is a line of the decision log.
    let steps = || -> Vec<i64> {
        let log = fs::read_to_string(scratch.path().join("state/decisions.jsonl")).expect("the decision log");
        let lines = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
        lines.filter_map(|line| line["clock_step_s"].as_f64()).map(|step| step.round() as i64).collect()
    };
    // No sign of life is older than the lease of ten seconds.
    let within = Duration::from_secs(15);
    for (wall, boot, expected, when) in [
        (3600, 0, ORDERED, "an hour later by the wall clock"),
        (-3600, 0, ORDERED, "an hour earlier by the wall clock"),
        (YEAR, 0, ORDERED, "a year later by the wall clock"),
        (-YEAR, 0, ORDERED, "a year earlier by the wall clock"),
        (YEARS, 0, ORDERED, "ten years later by the wall clock"),
        (-YEARS, 0, ORDERED, "ten years earlier by the wall clock"),
        // The kernel has the true time: a sign of life from the future is none, nor is one from long ago.
        (0, 3600, STOCK, "an hour later by the time since boot"),
        (0, 0, ORDERED, "the time since boot is right again"),
        (0, -600, STOCK, "ten minutes earlier by the time since boot"),
        (0, 0, ORDERED, "the time since boot is right once more"),
    ] {
        set(wall, boot);
        thread::sleep(Duration::from_secs(2));
        until_window(expected, within, when);
        known();
    }
    let walls = [3600, -7200, YEAR + 3600, -2 * YEAR, YEARS + YEAR, -2 * YEARS];
    assert_eq!(steps()[..walls.len()], walls);
    // Snapshots that were taken in the future and in the past by the wall clock; each order takes one.
    let mut gateway = Some(gateway);
    for (wall, when) in [(YEARS, "taken in ten years"), (-300, "taken five minutes ago")] {
        set(wall, 0);
        ask(&scratch, &["set", "198.51.100.0/24", "20"]);
        drop(gateway.take());
        set(0, 0);
        gateway = Some(start());
        known();
        assert_eq!(ask(&scratch, &["status"])["orders"], 2, "{when}");
        until_window(ORDERED, Duration::from_secs(5), when);
    }
}

#[test]
fn a_machine_with_cgroups_of_version_1_alone_is_named_and_served_by_routes() {
    let Some(Cgroup(folder)) = &Cgroup::named("old") else {
        return firstflight_skip::skip("no cgroup2 hierarchy in which this user may make a folder");
    };
    let root = folder.parent().expect("the root of the hierarchy").display().to_string();
    let scratch = Scratch::new();
    let inside = |line: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--net", "sh", "-c", line, env!("CARGO_BIN_EXE_firstflight"), &root]);
        command.current_dir(scratch.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let without =
        "umount \"$1\" && ip link set lo up && exec \"$0\" gateway run --state state --socket gateway.sock";
    let old = {
        let mounts = fs::read_to_string("/proc/self/mounts").expect("the mounts");
        mounts.lines().any(|line| line.split(' ').nth(2) == Some("cgroup"))
    };
    let refused = inside(&format!("{without} --mechanism programs")).output().expect("unshare runs");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    if said.contains("umount:") || said.contains("unshare:") {
        return firstflight_skip::skip(said.trim());
    }
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("no cgroup2 hierarchy is mounted; `mount -t cgroup2"), "{said}");

    let gateway = ready(inside(without).spawn().expect("unshare runs"), &scratch).expect("it runs");
    let status = ask(&scratch, &["status"]);
    let tiers: Vec<_> =
        status["tiers"].as_array().expect("tiers").iter().filter_map(|tier| tier.as_str()).collect();
    assert!(
        tiers.iter().any(|tier| tier.starts_with("sock_ops: missing: no cgroup2 hierarchy is mounted")),
        "{tiers:?}"
    );
    let cgroups = if old { "cgroups: version 1 alone" } else { "cgroups: none" };
    assert!(tiers.contains(&cgroups) && tiers.contains(&"in use: routes"), "{tiers:?}");
    drop(gateway);
}
