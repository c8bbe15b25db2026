//! The service with a kernel that the test plays.

#![allow(dead_code, reason = "each test program uses its own part")]

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use firstflight_contract::Nanos;
use firstflight_daemon::{Client, Groups, Kernel, Setup, Source, serve};
use firstflight_gateway::{Connection, Metrics, Mode, Override, Plan, Settings, TransferPlan, typical};
use firstflight_hooks::Transfers;
use firstflight_paths::Prefix;

/// Calls that the played kernel got, and connections that it will report.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) reports: Vec<Connection>,
    pub(crate) plans: Vec<Plan>,
    pub(crate) transfers: Vec<(u64, TransferPlan)>,
    pub(crate) orders: Vec<(Prefix, Override)>,
    pub(crate) stopped: bool,
    /// Ports and cgroups to which plans are limited.
    pub(crate) limits: (Vec<u16>, Vec<String>),
    /// Prefix for whose order there is no room.
    pub(crate) full: Option<Prefix>,
    /// Connections whose callbacks another program took, and plans that were not used for another first window.
    pub(crate) yields: (u64, u64),
    pub(crate) renewals: u32,
    pub(crate) adoptions: u32,
    /// Reports of every look, besides.
    pub(crate) flood: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Played(pub(crate) Arc<Mutex<Told>>);

impl Played {
    pub(crate) fn told<T>(&self, look: impl FnOnce(&mut Told) -> T) -> T {
        look(&mut self.0.lock().expect("no panic"))
    }
}

impl Kernel for Played {
    fn drain(&mut self, each: &mut dyn FnMut(Connection)) -> Result<(), String> {
        let (reports, flood) = self.told(|told| (std::mem::take(&mut told.reports), told.flood));
        let now = firstflight_hooks::now().0;
        let flood = (0..flood).map(|number| connection(now, (number % 200) as u8));
        reports.into_iter().chain(flood).for_each(each);
        Ok(())
    }

    fn adopt(&mut self) -> Result<usize, String> {
        self.told(|told| told.adoptions += 1);
        Ok(0)
    }

    fn set(&mut self, plan: &Plan) -> Result<(), String> {
        self.told(|told| {
            told.plans.retain(|other| other.prefix != plan.prefix);
            told.plans.push(*plan);
        });
        Ok(())
    }

    fn transfer(&mut self, cookie: u64, plan: &TransferPlan) -> Result<(), String> {
        self.told(|told| told.transfers.push((cookie, *plan)));
        Ok(())
    }

    fn remove(&mut self, prefix: &Prefix) -> Result<(), String> {
        self.told(|told| told.plans.retain(|plan| plan.prefix != *prefix));
        Ok(())
    }

    fn order(&mut self, prefix: &Prefix, order: Option<Override>) -> Result<(), String> {
        self.told(|told| {
            if told.full == Some(*prefix) && order.is_some() {
                return Err(format!("no room for {prefix}"));
            }
            told.orders.retain(|(other, _)| other != prefix);
            told.orders.extend(order.map(|order| (*prefix, order)));
            Ok(())
        })
    }

    fn renew(&mut self) -> Result<(), String> {
        self.told(|told| told.renewals += 1);
        Ok(())
    }

    fn stop(&mut self, stopped: bool) -> Result<(), String> {
        self.told(|told| told.stopped = stopped);
        Ok(())
    }

    fn limit_to(&mut self, ports: &[u16], cgroups: &[String]) -> Result<(), String> {
        if let Some(folder) = cgroups.iter().find(|folder| !Path::new(folder).is_dir()) {
            return Err(format!("{folder}: no cgroup"));
        }
        self.told(|told| told.limits = (ports.to_vec(), cgroups.to_vec()));
        Ok(())
    }

    fn yields(&mut self) -> Result<(u64, u64), String> {
        Ok(self.told(|told| told.yields))
    }

    fn lost(&mut self) -> Result<u64, String> {
        Ok(7)
    }
}

/// A folder of its own, removed at the end.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("firstflight-daemon-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.0.join("gateway.sock")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Lines for the operator, of all services of this process.
pub(crate) static COMPLAINTS: Mutex<Vec<String>> = Mutex::new(vec![]);

fn complain(line: &str) {
    COMPLAINTS.lock().expect("no panic").push(line.to_owned());
}

/// A running service.
pub(crate) struct Service {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), String>>,
    pub(crate) client: Client,
    pub(crate) kernel: Played,
}

pub(crate) fn setup(folder: &Path, mode: Mode) -> Setup {
    Setup {
        settings: Settings { mode, ..Settings::default() },
        socket: folder.join("gateway.sock"),
        groups: Groups::default(),
        state: folder.join("state"),
        snapshot_every: Nanos::from_secs(3600),
        journal_bytes: 1 << 20,
        record: Some(folder.join("events.jsonl")),
        transfers: Some(Transfers { ssthresh: true }),
        idle: false,
        site: None,
        share: None,
        metrics: Metrics::default(),
        tiers: vec!["sock_ops: played".to_owned()],
        source: Source::default(),
    }
}

impl Service {
    pub(crate) fn start(folder: &Path, mode: Mode) -> Self {
        Self::with(setup(folder, mode))
    }

    pub(crate) fn with(setup: Setup) -> Self {
        let kernel = Played::default();
        let over = Arc::new(AtomicBool::new(false));
        let client = Client::new(&setup.socket);
        let thread = {
            let (kernel, over) = (kernel.clone(), Arc::clone(&over));
            thread::spawn(move || {
                // A program that another test starts has the lock of the service before, too, from its fork to its exec.
                let own = format!("process {}, has this folder", std::process::id());
                for _ in 0..200 {
                    let over = || over.load(Ordering::Relaxed);
                    let served = serve(&setup, Box::new(kernel.clone()), over, complain)
                        .map_err(|error| error.to_string());
                    match served {
                        Err(why) if why.contains(&own) => thread::sleep(Duration::from_millis(10)),
                        served => return served,
                    }
                }
                Err("the folder has a gateway of this process".to_owned())
            })
        };
        let service = Self { over, thread, client, kernel };
        service.until("the socket answers", || {
            service.thread.is_finished() || service.client.get("/v1/status").is_ok()
        });
        if service.thread.is_finished() {
            panic!("it has ended: {:?}", service.thread.join());
        }
        service
    }

    /// Waits for a fact, at most ten seconds.
    pub(crate) fn until(&self, what: &str, fact: impl Fn() -> bool) {
        for _ in 0..1000 {
            if fact() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{what}: not within ten seconds");
    }

    pub(crate) fn end(self) -> Result<(), String> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().expect("no panic")
    }
}

/// A connection of 100 KB to a host of 192.0.2.0/24 over 10 Mbit/s and 40 ms: 50 000 bytes fit into a round trip, 34
/// segments of 1448 bytes.
pub(crate) fn connection(at: u64, host: u8) -> Connection {
    let rtt = Nanos(40_000_000);
    Connection {
        at: Nanos(at),
        age: Nanos(300_000_000),
        busy: Nanos(250_000_000),
        bytes: 100_000,
        handshake_rtt: rtt,
        min_rtt: rtt,
        srtt: Nanos(42_000_000),
        rate: 1_250_000,
        ssthresh: None,
        sent: 70,
        ..typical(IpAddr::from([192, 0, 2, host]))
    }
}

/// Sum of the samples of a text of metrics that begin so: a machine may have an address of the test's own networks, so that connections
/// to it are counted apart.
pub(crate) fn counted(text: &str, metric: &str) -> u64 {
    let samples = text.lines().filter(|line| line.starts_with(metric));
    samples
        .map(|line| line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok()).expect("a count"))
        .sum()
}

/// Reports of 40 connections to five hosts, one each millisecond from now on.
pub(crate) fn teach(service: &Service) {
    let now = firstflight_hooks::now().0;
    let reports = (0..40).map(|i| connection(now + i * 1_000_000, 1 + (i % 5) as u8));
    service.kernel.told(|told| told.reports.extend(reports));
}
