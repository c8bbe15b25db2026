//! A gateway with a million prefixes: memory, start, stop, the longest answers while it takes reports and makes snapshots, and
//! the reports that would have been lost.
//!
//! `cargo run -p research-gateway --bin million -- FOLDER [SECONDS] [REPORTS_PER_S] [PREFIXES] [HOSTS]`
//!
//! FOLDER gets the state; it should be on the disk that is to be measured. The kernel is played: it holds as many reports as the
//! kernel's buffer and counts those for which there is no room. The gateway runs in a process of its own, three times: it learns
//! the prefixes; it starts from the snapshot and stops again; it works for SECONDS with a snapshot every ten.

#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::env;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use firstflight_contract::Nanos;
use firstflight_daemon::{Client, Groups, Kernel, Setup, Source, serve};
use firstflight_gateway::{Arm, Connection, Metrics, Mode, Settings, typical};
use serde_json::{Value, json};

/// Reports that the kernel's buffer holds by default: 120 bytes each.
const ROOM: u64 = (8 << 20) / 128;
/// Time between two snapshots, seconds.
const SNAPSHOT_EVERY: u64 = 10;
/// Time between two requests of one kind.
const PAUSE: Duration = Duration::from_millis(5);

#[derive(Clone, Copy)]
struct Load {
    seconds: u64,
    rate: u64,
    prefixes: u32,
    hosts: u8,
}

/// A kernel that reports connections.
struct Played {
    load: Load,
    /// Reports of the lesson that are left.
    lesson: u64,
    began: Instant,
    made: u64,
    lost: Arc<AtomicU64>,
    number: u32,
    live: bool,
}

impl Played {
    fn connection(&self, number: u32, host: u8, arm: Arm) -> Connection {
        let peer = IpAddr::from(Ipv4Addr::from_bits((number + (1 << 16)) << 8 | u32::from(host)));
        let at = firstflight_hooks::now();
        Connection { at, arm, min_rtt: Nanos::from_millis(40), rate: 1_250_000, ..typical(peer) }
    }
}

impl Kernel for Played {
    fn drain(&mut self, each: &mut dyn FnMut(Connection)) -> Result<(), String> {
        if self.lesson > 0 {
            let count = self.lesson.min(1 << 16);
            for _ in 0..count {
                self.lesson -= 1;
                let prefix = (self.lesson % u64::from(self.load.prefixes)) as u32;
                let host = (self.lesson / u64::from(self.load.prefixes)) % u64::from(self.load.hosts);
                each(self.connection(prefix, host as u8, Arm::Stock));
            }
            self.live = self.lesson > 0;
            return Ok(());
        }
        if !self.live {
            return Ok(());
        }
        if self.made == 0 {
            // A gateway that starts finds what the buffer holds; it is not measured here.
            self.began = Instant::now();
            self.made = 1;
        }
        let due = (self.began.elapsed().as_secs_f64() * self.load.rate as f64) as u64;
        let count = due.saturating_sub(self.made);
        self.made = due.max(1);
        self.lost.fetch_add(count.saturating_sub(ROOM), Ordering::Relaxed);
        for _ in 0..count.min(ROOM) {
            // A congruential generator: no order is in a cache.
            self.number = self.number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let prefix = ((u64::from(self.number) * u64::from(self.load.prefixes)) >> 32) as u32;
            let arm = if self.number.is_multiple_of(20) { Arm::Holdout(20) } else { Arm::Planned(20) };
            each(self.connection(prefix, (self.number % u32::from(self.load.hosts)) as u8, arm));
        }
        Ok(())
    }

    fn lost(&mut self) -> Result<u64, String> {
        Ok(self.lost.load(Ordering::Relaxed))
    }
}

fn setup(folder: &Path, load: Load) -> Setup {
    Setup {
        settings: Settings { mode: Mode::Enforce, secret: 1, prefixes: load.prefixes, ..Settings::default() },
        socket: folder.join("gateway.sock"),
        groups: Groups::default(),
        state: folder.join("state"),
        snapshot_every: Nanos::from_secs(SNAPSHOT_EVERY),
        journal_bytes: 1 << 20,
        record: None,
        transfers: None,
        idle: false,
        site: None,
        share: None,
        metrics: Metrics::default(),
        tiers: vec![],
        source: Source::default(),
    }
}

/// Memory of this process, MB: now, and the most so far.
fn memory() -> [f64; 2] {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    ["VmRSS:", "VmHWM:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().next().and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) * 1024.0 / 1e6
    })
}

/// One process: `learn`, `start` or `work`.
fn child(what: &str, folder: &Path, load: Load) -> Value {
    let over = Arc::new(AtomicBool::new(false));
    let lost = Arc::new(AtomicU64::new(0));
    let lesson = if what == "learn" { u64::from(load.prefixes) * u64::from(load.hosts) * 2 } else { 0 };
    let kernel = Played {
        load,
        lesson,
        began: Instant::now(),
        made: 0,
        lost: Arc::clone(&lost),
        number: 0,
        live: what != "start",
    };
    let setup = setup(folder, load);
    let client = Client::new(&setup.socket);
    let began = Instant::now();
    let gateway = {
        let (over, setup) = (Arc::clone(&over), setup.clone());
        thread::spawn(move || {
            serve(&setup, Box::new(kernel), || over.load(Ordering::Relaxed), |line| eprintln!("{line}"))
                .map_err(|error| error.to_string())
        })
    };
    let status = || client.get("/v1/status");
    while status().is_err() {
        assert!(!gateway.is_finished(), "the gateway ended: {:?}", gateway.join());
        thread::sleep(Duration::from_millis(1));
    }
    let started = began.elapsed().as_secs_f64();
    let at_start = memory();
    let mut answers = json!(null);
    match what {
        "learn" => {
            while status().map_or(0, |found| found["prefixes"].as_u64().unwrap_or(0)) < load.prefixes.into() {
                thread::sleep(Duration::from_millis(20));
            }
            // The other turns of the lesson.
            thread::sleep(Duration::from_secs(u64::from(load.hosts) * 2));
        }
        "work" => answers = ask(&setup.socket, Duration::from_secs(load.seconds)),
        _ => {}
    }
    let found = status().expect("an answer");
    let at_end = memory();
    let stop = Instant::now();
    over.store(true, Ordering::Relaxed);
    gateway.join().expect("no panic").expect("it ends in order");
    json!({
        "start_s": started,
        "stop_s": stop.elapsed().as_secs_f64(),
        "memory_after_start_mb": at_start,
        "memory_at_end_mb": at_end,
        "prefixes": found["prefixes"],
        "plans": found["plans"],
        "table_mb": found["bytes"].as_f64().map(|bytes| bytes / 1e6),
        "reports_lost": lost.load(Ordering::Relaxed),
        "store": found["store"],
        "answers": answers,
    })
}

/// Asks for a time, each kind on a thread of its own; the longest and the 99th percentile of each, milliseconds.
fn ask(socket: &Path, time: Duration) -> Value {
    let until = Instant::now() + time;
    let order = json!({ "prefix": "198.51.100.0/24", "window": 20 });
    let prefix = json!({ "prefix": "198.51.100.0/24" });
    type Request = Box<dyn Fn(&Client) + Send>;
    let get = |path: &'static str| -> Request {
        Box::new(move |client| drop(client.get(path).expect("an answer")))
    };
    let post = |path: &'static str, body: Value| -> Request {
        Box::new(move |client| drop(client.post(path, &body).expect("an answer")))
    };
    // One behind the other: an order to end plans overtakes those that wait for the disk.
    let (set, off) = (post("/v1/set", order), post("/v1/off", prefix));
    let set_and_off: Request = Box::new(move |client| {
        set(client);
        off(client);
    });
    let kinds: Vec<(&str, Request)> = vec![
        ("status", get("/v1/status")),
        ("explain", get("/v1/explain/1.2.3.4")),
        ("top", get("/v1/prefixes?limit=20")),
        ("plan", post("/v1/plan", json!({ "destination": "1.2.3.4", "bytes": 100_000 }))),
        ("set, then off", set_and_off),
    ];
    let threads: Vec<_> = kinds
        .into_iter()
        .map(|(name, request)| {
            let client = Client::new(socket);
            let thread = thread::spawn(move || {
                let mut times = vec![];
                while Instant::now() < until {
                    let began = Instant::now();
                    request(&client);
                    times.push(began.elapsed().as_secs_f64() * 1e3);
                    // The table is scanned for this one.
                    thread::sleep(if name == "top" { Duration::from_secs(1) } else { PAUSE });
                }
                times.sort_by(f64::total_cmp);
                times
            });
            (name, thread)
        })
        .collect();
    let rows = threads.into_iter().map(|(name, thread)| {
        let times = thread.join().expect("no panic");
        let p99 = times[times.len() * 99 / 100];
        (name.to_owned(), json!({ "answers": times.len(), "p99_ms": p99, "longest_ms": times.last() }))
    });
    rows.collect::<serde_json::Map<_, _>>().into()
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number =
        |at: usize, usual: u64| arguments.get(at).map_or(usual, |text| text.parse().expect("a number"));
    let Some(folder) = arguments.first().map(PathBuf::from) else {
        eprintln!("error: expected a folder for the state");
        std::process::exit(2);
    };
    let load = Load {
        seconds: number(1, 30),
        rate: number(2, 50_000),
        prefixes: number(3, 1_000_000) as u32,
        hosts: number(4, 5) as u8,
    };
    if let Ok(what) = env::var("MILLION_PROCESS") {
        return println!("{:#}", child(&what, &folder, load));
    }
    fs::create_dir_all(&folder).expect("a folder");
    for what in ["learn", "start", "work"] {
        let program = env::current_exe().expect("this program");
        let ended =
            Command::new(program).args(&arguments).env("MILLION_PROCESS", what).output().expect("it runs");
        assert!(ended.status.success(), "{what}: {}", String::from_utf8_lossy(&ended.stderr));
        println!(
            "{what}: {}{}",
            String::from_utf8_lossy(&ended.stdout),
            String::from_utf8_lossy(&ended.stderr)
        );
    }
}
