//! Costs of the hooks, each beside the same work without them, in one run. As root:
//!
//! ```sh
//! cargo run --package research-gateway --bin cost
//! ```
//!
//! With the word `cpu`, `pace`, `latency` or `adoption` it measures that part only. All connections are of a cgroup and a network namespace of its own. It ends within two minutes.

#![expect(clippy::disallowed_methods, reason = "costs are measured with clocks")]

#[path = "../../../../crates/hooks/tests/hooks/ground.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod ground;

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use firstflight_contract::Nanos;
use firstflight_gateway::{Decision, Gateway, Mode, Plan, Settings};
use firstflight_hooks::{Hooks, Setup, now};
use firstflight_paths::Prefix;
use libbpf_rs::libbpf_sys;
use libbpf_rs::query::ProgInfoIter;
use rustix::net::{AddressFamily, SocketFlags, SocketType, accept_with, bind, connect, socket_with, sockopt};

use ground::{Ground, SECOND, SERVER};

/// Plans in the kernel.
const PREFIXES: u32 = 1 << 20;
/// Networks of the clients, which the loopback has.
const NETWORKS: u32 = 1 << 16;
/// Connections of a block, and blocks of each side.
const BLOCK: u32 = 5000;
const BLOCKS: usize = 15;
/// Connections of a block under plans with a pace, and packets of each response.
const PACED_BLOCK: u32 = 2000;
const PACKETS: u32 = 25;
/// Connections that are adopted, with both ends: so many in each process, which has two descriptors for one.
const OLD: u32 = 8500;
const HOLDERS: u32 = 6;
/// Argument of a process that holds connections until its input ends.
const HOLD: &str = "hold";
/// Ends of connections a second in the run with many of them.
const RATE: f64 = 50_000.0;
/// Time of the run with many ends.
const SPAN: Duration = Duration::from_secs(10);

fn main() {
    if std::env::args().nth(1).as_deref() == Some(HOLD) {
        return hold();
    }
    let Some(ground) = Ground::new() else { return };
    let part = std::env::args().nth(1);
    let wants = |name: &str| part.as_deref().is_none_or(|part| part == name);
    let setup = Setup { plans: PREFIXES, buffer: 16 << 20, ..ground.setup() };

    let loading = Instant::now();
    let mut hooks = ground.hooks(&setup);
    println!("load: {:.1} ms", loading.elapsed().as_secs_f64() * 1e3);
    let (empty, free) = (memory_of_maps(), available());
    let filling = Instant::now();
    for number in 0..PREFIXES {
        hooks.set(&plan(prefix(number))).expect("room");
    }
    let filling = filling.elapsed().as_secs_f64();
    println!("set a plan: {:.2} us ({PREFIXES} plans)", filling * 1e6 / f64::from(PREFIXES));
    let each = |bytes: u64| (bytes - u64::from(setup.buffer)) as f64 / f64::from(PREFIXES);
    println!(
        "kernel memory per prefix, as the kernel accounts it, without reports and places of connections: {:.1} bytes, of which {:.1} at \
         the load",
        each(memory_of_maps()),
        each(empty),
    );
    println!("  (MemAvailable: {:.0} bytes more)", (free - available()) as f64 / f64::from(PREFIXES));

    if wants("cpu") {
        cpu(&ground, &mut hooks, 0, NETWORKS);
        cpu(&ground, &mut hooks, 8000, NETWORKS);
        // The same plan again and again: its lookup waits for no memory.
        cpu(&ground, &mut hooks, 0, 1);
    }
    if wants("pace") {
        pace(&ground, &mut hooks);
    }
    if wants("latency") {
        latency(&ground, &mut hooks);
    }
    drop(hooks);
    if wants("adoption") {
        adoption(&ground, &setup);
    }
}

/// A /24: of the loopback first, so that connections have plans, then of the rest.
fn prefix(number: u32) -> Prefix {
    let address = match number {
        0..0x1_0000 => 0x7f00_0000 | number << 8,
        _ => (number + 0x10_0000) << 8,
    };
    Prefix::around(Ipv4Addr::from_bits(address).into(), 24)
}

fn plan(prefix: Prefix) -> Plan {
    Plan {
        prefix,
        window: 30,
        ssthresh: None,
        path: 40,
        paced: false,
        rtt: (Nanos::ZERO, Nanos(10 * SECOND)),
        expires: Nanos(now().0 + 3600 * SECOND),
        holdout: 50,
    }
}

/// CPU time of a connection: of all its work, without and with the hooks in turn, and of the programs alone. The clients are of so
/// many networks, in an order that no cache foresees.
fn cpu(ground: &Ground, hooks: &mut Hooks, response: usize, networks: u32) {
    let at = AtomicU32::new(0);
    let mut block = || {
        let time = ground.netns.run(|| {
            let clients = Clients::new();
            let began = thread_time();
            for _ in 0..BLOCK {
                let number = at.fetch_add(1, Ordering::Relaxed) % networks;
                let ends = clients.connect(number).expect("a connection");
                serve(&ends, response);
            }
            thread_time() - began
        });
        hooks.renew().expect("a sign of life");
        let began = thread_time();
        let reports = hooks.drain(Duration::ZERO, |_| ()).expect("reports");
        let drained = (thread_time() - began) as f64 / reports.max(1) as f64 / 1e3;
        (time.expect("the namespace") as f64 / f64::from(BLOCK) / 1e3, drained)
    };
    let (mut without, mut with, mut difference, mut drained, mut alone) =
        (vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..BLOCKS {
        ground.leave();
        let stack = block().0;
        ground.come_back();
        let (hooked, reading) = block();
        without.push(stack);
        with.push(hooked);
        difference.push((hooked - stack) / 2.0);
        drained.push(reading);
    }
    let statistics = statistics();
    let mut calls = 0.0;
    for _ in 0..BLOCKS {
        let before = run_time();
        block();
        let after = run_time();
        calls = (after.1 - before.1) as f64 / f64::from(BLOCK) / 2.0;
        alone.push((after.0 - before.0) as f64 / f64::from(BLOCK) / 2e3);
    }
    drop(statistics);
    println!(
        "CPU of a connection on the loopback with a response of {response} bytes, from {networks} networks, {BLOCKS} blocks of \
         {BLOCK}, median and least of the blocks:"
    );
    let ([without, least_without], [with, least_with]) = (middle(&mut without), middle(&mut with));
    println!(
        "  both ends without hooks {without:.2} and {least_without:.2} us, with hooks {with:.2} and {least_with:.2} us"
    );
    let [difference, _] = middle(&mut difference);
    println!(
        "  so the hooks cost {difference:.2} us for each end (median of the differences of neighbouring blocks), {:.2} us by the \
         least",
        (least_with - least_without) / 2.0
    );
    let [alone, least_alone] = middle(&mut alone);
    println!(
        "  the program alone, by the kernel's statistics, their cost included: {alone:.2} and {least_alone:.2} us for each end, in \
         {calls:.1} calls"
    );
    let [drained, least_drained] = middle(&mut drained);
    println!("  reading a report in user space: {drained:.2} and {least_drained:.2} us");
}

/// Cost of the calls for each header of a plan with a pace: connections whose response are many packets of the first window, under plans
/// with and without a pace in turn. The rates of the loopback are so great that no packet waits.
fn pace(ground: &Ground, hooks: &mut Hooks) {
    for number in (1..NETWORKS).step_by(2) {
        hooks.set(&Plan { paced: true, ..plan(prefix(number)) }).expect("room");
    }
    let at = AtomicU32::new(0);
    let mut block = |paced: u32| {
        let time = ground.netns.run(|| {
            let clients = Clients::new();
            let began = thread_time();
            for _ in 0..PACED_BLOCK {
                // The networks with odd numbers have a pace.
                let number = at.fetch_add(1, Ordering::Relaxed) % (NETWORKS / 2) * 2 + paced;
                let (client, server) = clients.connect(number).expect("a connection");
                sockopt::set_tcp_nodelay(&server, true).expect("an option of TCP");
                for _ in 0..PACKETS {
                    send(&server, &client, 1000);
                }
            }
            thread_time() - began
        });
        hooks.renew().expect("a sign of life");
        hooks.drain(Duration::ZERO, |_| ()).expect("reports");
        time.expect("the namespace") as f64 / f64::from(PACED_BLOCK) / 1e3
    };
    let (mut plain, mut paced, mut difference) = (vec![], vec![], vec![]);
    for _ in 0..BLOCKS {
        let (without, with) = (block(0), block(1));
        plain.push(without);
        paced.push(with);
        difference.push(with - without);
    }
    let [[plain, _], [paced, _], [difference, _]] =
        [plain, paced, difference].map(|mut values| middle(&mut values));
    println!(
        "CPU of a connection with a response of {PACKETS} packets, {BLOCKS} blocks of {PACED_BLOCK}, median: {plain:.2} us under a plan \
         without a pace, {paced:.2} us with one"
    );
    println!(
        "  so a pace costs {difference:.2} us a connection (median of the differences), {:.3} us a packet",
        difference / f64::from(PACKETS)
    );
    let _statistics = statistics();
    let mut calls = |paced: u32| {
        let before = run_time();
        block(paced);
        let after = run_time();
        [after.0 - before.0, after.1 - before.1].map(|sum| sum as f64 / f64::from(PACED_BLOCK))
    };
    let ([time, count], [paced_time, paced_count]) = (calls(0), calls(1));
    println!(
        "  the program alone, by the kernel's statistics, their cost included: {count:.1} calls and {:.2} us, with a pace {paced_count:.1} \
         calls and {:.2} us: {:.3} us for each further call",
        time / 1e3,
        paced_time / 1e3,
        (paced_time - time) / 1e3 / (paced_count - count),
    );
}

/// Time from the end of a connection until a gateway has taken its report and the kernel its decisions, at [`RATE`].
fn latency(ground: &Ground, hooks: &mut Hooks) {
    let settings = Settings { mode: Mode::Enforce, prefixes: PREFIXES, ..Settings::default() };
    let mut gateway = Gateway::new(settings);
    let (over, made) = (AtomicBool::new(false), AtomicU64::new(0));
    let lost = hooks.lost().expect("a number");
    let mut delays: Vec<u64> = vec![];
    let (mut reports, mut decisions, mut decided) = (vec![], vec![], 0);
    let (mut worked, mut looks) = (0, vec![]);
    let began = Instant::now();
    thread::scope(|scope| {
        for worker in 0..2 {
            let (over, made) = (&over, &made);
            scope.spawn(move || {
                let work = || {
                    let clients = Clients::new();
                    let (began, mut at) = (Instant::now(), worker);
                    while !over.load(Ordering::Relaxed) {
                        // Each worker has half of the connections, and each connection two ends.
                        if u64::from(at) * 2 > (began.elapsed().as_secs_f64() * RATE) as u64 {
                            thread::sleep(Duration::from_micros(500));
                            continue;
                        }
                        at += 2;
                        serve(&clients.connect(at).expect("a connection"), 2000);
                        made.fetch_add(1, Ordering::Relaxed);
                    }
                };
                ground.netns.run(work).expect("the namespace");
            });
        }
        let mut looked = Instant::now();
        while began.elapsed() < SPAN {
            let cpu = thread_time();
            looks.push(looked.elapsed().as_nanos() as u64);
            looked = Instant::now();
            hooks.renew().expect("a sign of life");
            hooks.drain(Duration::ZERO, |connection| reports.push(connection)).expect("reports");
            for batch in reports.chunks(Gateway::BATCH) {
                gateway.prepare(batch);
                for connection in batch {
                    gateway.report(connection, &mut decisions);
                    for decision in decisions.drain(..) {
                        decided += 1;
                        match decision {
                            Decision::Set { plan, .. } => hooks.set(&plan).expect("room"),
                            Decision::Remove { prefix, .. } => drop(hooks.remove(&prefix).expect("a table")),
                            Decision::RevertHost { .. } | Decision::ResumeHost => {}
                        }
                    }
                    delays.push(now().0.saturating_sub(connection.at.0));
                }
            }
            reports.clear();
            worked += thread_time() - cpu;
            // As the daemon: it looks every 20 ms.
            thread::sleep(Duration::from_millis(20).saturating_sub(looked.elapsed()));
        }
        over.store(true, Ordering::Relaxed);
    });
    hooks.drain(Duration::from_millis(20), |_| ()).expect("reports");
    let reported = delays.len().max(1);
    let at = |values: &mut Vec<u64>, share: usize| {
        values.sort_unstable();
        values[(values.len() - 1) * share / 1000] as f64 / 1e6
    };
    println!(
        "end of a connection to policy, at {:.0} ends a second (wanted: {RATE:.0}): p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms, \
         lost {}",
        2.0 * made.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64(),
        at(&mut delays, 500),
        at(&mut delays, 990),
        at(&mut delays, 1000),
        hooks.lost().expect("a number") - lost,
    );
    println!(
        "  {:.2} us of CPU for a report, with reading it and {decided} decisions; the reader looked every {:.1} ms in the \
         median, {:.1} ms at most",
        worked as f64 / 1e3 / reported as f64,
        at(&mut looks, 500),
        at(&mut looks, 1000),
    );
}

/// Time to adopt connections that are there already.
fn adoption(ground: &Ground, setup: &Setup) {
    let program = std::env::current_exe().expect("this program");
    let hold = || {
        let mut command = Command::new(&program);
        let mut holder = command.arg(HOLD).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut ready = [0];
        holder.stdout.take().expect("a pipe").read_exact(&mut ready)?;
        Ok::<_, io::Error>(holder)
    };
    let holders = ground.netns.run(|| (0..HOLDERS).map(|_| hold()).collect::<Result<Vec<_>, _>>());
    let holders = holders.expect("the namespace").expect("connections");
    let mut hooks = ground.hooks(setup);
    let mut adopt = || {
        let (began, cpu) = (Instant::now(), thread_time());
        let adopted = hooks.adopt().expect("connections");
        (adopted, began.elapsed(), thread_time() - cpu)
    };
    let (adopted, time, cpu) = ground.netns.run(&mut adopt).expect("the namespace");
    println!(
        "adopt {adopted} connections: {:.0} ms, {:.0} ms of CPU ({:.2} us each)",
        time.as_secs_f64() * 1e3,
        cpu as f64 / 1e6,
        cpu as f64 / 1e3 / adopted as f64,
    );
    let (again, time, cpu) = ground.netns.run(&mut adopt).expect("the namespace");
    println!(
        "  once more: {again} connections, {:.0} ms, {:.0} ms of CPU",
        time.as_secs_f64() * 1e3,
        cpu as f64 / 1e6
    );
    let mut reports = 0;
    hooks.drain(Duration::ZERO, |_| reports += 1).expect("reports");
    println!(
        "  {reports} of them had sent data and were reported, {} reports lost",
        hooks.lost().expect("a number")
    );
    for mut holder in holders {
        drop(holder.stdin.take());
        holder.wait().expect("a process of this program");
    }
}

/// Opens connections, each with a request and a response, and holds them until the input ends.
fn hold() {
    let clients = Clients::new();
    let held: Vec<_> = (0..OLD).map(|at| clients.connect(at).expect("a connection")).collect();
    held.iter().for_each(|ends| serve(ends, 2000));
    let mut all = io::stdout();
    all.write_all(b"\n").and_then(|()| all.flush()).expect("the output");
    let _ = io::stdin().read(&mut [0]);
    drop(held);
}

/// A request, and a response of this many bytes; nothing for an empty one.
fn serve((client, server): &(OwnedFd, OwnedFd), response: usize) {
    if response == 0 {
        return;
    }
    send(client, server, 100);
    send(server, client, response);
}

/// Bytes, at most 16384, from one end to the other.
fn send(from: &OwnedFd, to: &OwnedFd, many: usize) {
    let mut bytes = [7; 1 << 14];
    let sent = rustix::io::write(from, &bytes[..many]).expect("a connection");
    let mut left = sent;
    while left > 0 {
        left -= rustix::io::read(to, &mut bytes[..left]).expect("a connection");
    }
    assert_eq!(sent, many);
}

/// A listener, and clients of it whose addresses go through the /24s of the loopback.
struct Clients {
    listener: TcpListener,
    to: SocketAddr,
}

impl Clients {
    fn new() -> Self {
        let listener = TcpListener::bind((SERVER, 0)).expect("a listener");
        let to = listener.local_addr().expect("an address");
        Self { listener, to }
    }

    /// The client's end, which is dropped first, resets the connection.
    fn connect(&self, number: u32) -> io::Result<(OwnedFd, OwnedFd)> {
        let client = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_linger(&client, Some(Duration::ZERO))?;
        late_port(&client);
        // An odd factor goes through all /24s in an order that no cache foresees.
        let network = number.wrapping_mul(40_503) & 0xffff;
        let from = Ipv4Addr::from_bits(0x7f00_0000 | network << 8 | 9);
        bind(&client, &SocketAddrV4::new(from, 0))?;
        connect(&client, &self.to)?;
        let server = accept_with(&self.listener, SocketFlags::CLOEXEC)?;
        Ok((client, server))
    }
}

/// Leaves the choice of the port to connect(), which finds one at once.
fn late_port(socket: &impl AsFd) {
    let on: libc::c_int = 1;
    // SAFETY: the value, and its length.
    unsafe {
        let (value, length) = ((&raw const on).cast(), 4);
        let socket = socket.as_fd().as_raw_fd();
        libc::setsockopt(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, value, length);
    }
}

/// Has the kernel measure the run time of programs while the descriptor is open.
fn statistics() -> OwnedFd {
    // SAFETY: takes no pointer.
    let statistics = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    assert!(statistics >= 0, "statistics of programs: {}", io::Error::last_os_error());
    // SAFETY: a descriptor that this call has opened.
    unsafe { OwnedFd::from_raw_fd(statistics) }
}

/// Run time of the sock_ops program, nanoseconds, and the number of its calls.
fn run_time() -> (u64, u64) {
    let named = |info: &libbpf_rs::query::ProgramInfo| info.name.as_encoded_bytes() == b"hooks_socket";
    ProgInfoIter::default().find(named).map_or((0, 0), |info| (info.run_time_ns, info.run_cnt))
}

/// Memory of the maps that this process has open, as the kernel accounts it, bytes.
fn memory_of_maps() -> u64 {
    let mut seen = vec![];
    let mut all = 0;
    for entry in fs::read_dir("/proc/self/fdinfo").expect("descriptors").flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let value = |key: &str| -> Option<u64> {
            text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
        };
        let Some((number, memory)) = value("map_id:").zip(value("memlock:")) else { continue };
        if !seen.contains(&number) {
            seen.push(number);
            all += memory;
        }
    }
    all
}

/// MemAvailable, bytes.
fn available() -> i64 {
    let text = fs::read_to_string("/proc/meminfo").expect("/proc/meminfo");
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<i64>().ok());
    kilobytes.expect("a number") * 1024
}

/// CPU time of this thread, nanoseconds. Packets on the loopback are worked on in the thread that sends them.
fn thread_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// The median and the least.
fn middle(values: &mut [f64]) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    [values[values.len() / 2], values[0]]
}
