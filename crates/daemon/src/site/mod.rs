//! The gateway of a site: it learns from the packets of an interface, to which the traffic of the site's hosts is mirrored,
//! and pushes what it knows of a client's network to the gateway of the host that the client asks.
//!
//! Y. Zhang, L. Qiu, S. Keshav ("Speeding Up Short Data Transfers", NOSSDAV 2000) call it the performance gateway: it rebuilds the
//! senders' state from their packets, and either answers a query or sees a request and pushes.

mod link;
mod push;
mod report;

use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use firstflight_capture::{Connection as Captured, PassedOver, Room, Watch, Watched};
use firstflight_contract::Nanos;
use firstflight_gateway::Connection;
use firstflight_paths::Prefix;
use serde_json::{Value, json};

use self::link::Link;
use self::push::Pushes;
use crate::clock;
use crate::kernel::Kernel;
use crate::service::Site;

pub use self::report::report;

/// Reports that wait for the gateway's thread.
const REPORTS: usize = 1 << 14;
/// Longest time between two looks for connections that have ended.
const LOOK: Duration = Duration::from_millis(20);
/// Time between two sweeps of the connections that are followed.
const SWEEP: Nanos = Nanos::from_secs(1);

/// The packets of an interface in the place of a kernel: it reports the connections that its packets show, and starts none.
#[derive(Debug)]
pub struct Mirror {
    shared: Arc<Shared>,
    reports: Receiver<Connection>,
    watcher: Option<JoinHandle<()>>,
    pushes: Option<Arc<Pushes>>,
}

/// State that the watching thread shows.
#[derive(Debug, Default)]
struct Shared {
    over: AtomicBool,
    /// Reports for which there was no room.
    lost: AtomicU64,
    /// Packets for which the socket had no room.
    dropped: AtomicU64,
    watched: Mutex<Seen>,
}

/// State of the watch.
#[derive(Debug, Default)]
struct Seen {
    counts: Watched,
    /// Connections now.
    open: usize,
    /// Packets that may have carried TCP and could not be read, by kind.
    passed_over: Vec<PassedOver>,
    /// Reason for which the interface can no longer be read.
    failed: Option<String>,
}

/// An interface whose packets can be read.
#[derive(Debug)]
pub struct Interface {
    name: String,
    link: Link,
}

impl Interface {
    /// Opens an interface. Needs CAP_NET_RAW until it returns.
    ///
    /// # Errors
    /// One line: there is no such interface, or its packets cannot be read.
    pub fn open(name: &str) -> Result<Self, String> {
        let link = Link::open(name).map_err(|why| format!("interface {name}: {why}"))?;
        Ok(Self { name: name.to_owned(), link })
    }
}

impl Mirror {
    /// Watches `interface`, in threads that have the rights of the caller. Connections whose sender is one of `hosts`, and whose
    /// receiver is not, are reported; all of them if `hosts` is empty. With a site, requests to its hosts are pushed to their
    /// gateways; `socket` is the own one.
    ///
    /// # Errors
    /// One line: a thread cannot be started.
    pub fn begin(
        Interface { name, link }: Interface,
        hosts: Vec<Prefix>,
        socket: &Path,
        site: Option<&Site>,
    ) -> Result<Self, String> {
        let pushes = site.map(|site| Pushes::begin(socket, site.listen.port()));
        let pushes = pushes.transpose().map_err(|error| format!("the thread of the pushes: {error}"))?;
        let pushes = pushes.map(Arc::new);
        let shared = Arc::new(Shared::default());
        let (sender, reports) = sync_channel(REPORTS);
        let watcher = {
            let (shared, pushes) = (Arc::clone(&shared), pushes.clone());
            let work = move || watch((&name, link), &hosts, &shared, &sender, pushes.as_deref());
            thread::Builder::new().name("mirror".to_owned()).spawn(work)
        };
        let watcher = watcher.map_err(|error| format!("the thread of the interface: {error}"))?;
        Ok(Self { shared, reports, watcher: Some(watcher), pushes })
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            // A panic there was printed.
            let _ = watcher.join();
        }
    }
}

/// Whether the data of a connection leaves the site of these hosts; of any connection, if there are none.
pub fn leaves(hosts: &[Prefix], captured: &Captured) -> bool {
    let [sender, receiver] = [captured.sender, captured.receiver].map(|end| end.ip().to_canonical());
    hosts.is_empty() || has(hosts, sender) && !has(hosts, receiver)
}

/// Whether one of these prefixes has the address.
fn has(hosts: &[Prefix], address: IpAddr) -> bool {
    hosts.iter().any(|prefix| prefix.contains(&Prefix::around(address, 128)))
}

fn watch(
    (interface, mut link): (&str, Link),
    hosts: &[Prefix],
    shared: &Shared,
    reports: &SyncSender<Connection>,
    pushes: Option<&Pushes>,
) {
    let mut watch = Watch::new(Room::default());
    let mut next_sweep = Nanos(clock::wall() + SWEEP.0);
    while !shared.over.load(Ordering::Relaxed) {
        let read = link.read(LOOK, |at, link_type, head, length| {
            let request = watch.frame(at, link_type, head, length);
            if let (Some(pushes), Some(request)) = (pushes, request)
                && has(hosts, request.server.ip().to_canonical())
                && !has(hosts, request.client)
            {
                pushes.add(request);
            }
        });
        let now = Nanos(clock::wall());
        // A wall clock that was set leaves no sweep out for long.
        if now >= next_sweep || next_sweep.0 - now.0 > SWEEP.0 {
            next_sweep = Nanos(now.0 + SWEEP.0);
            watch.sweep(now);
            shared.dropped.store(link.dropped(), Ordering::Relaxed);
        }
        for captured in watch.take_ended() {
            if !leaves(hosts, &captured) {
                continue;
            }
            let Some(connection) = report(&captured) else { continue };
            let connection = Connection { at: clock::since_boot(), ..connection };
            if reports.try_send(connection).is_err() {
                shared.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
        let mut watched = shared.watched.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        (watched.counts, watched.open) = (watch.counts(), watch.open());
        watched.passed_over = watch.passed_over(interface);
        if let Err(error) = read {
            watched.failed = Some(format!("the packets of the interface can no longer be read: {error}"));
            return;
        }
    }
}

// A connection that is older than the watch is followed from its next packet on, without adoption.
impl Kernel for Mirror {
    fn drain(&mut self, each: &mut dyn FnMut(Connection)) -> Result<(), String> {
        self.reports.try_iter().for_each(each);
        let watched = self.shared.watched.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        watched.failed.clone().map_or(Ok(()), Err)
    }

    fn lost(&mut self) -> Result<u64, String> {
        Ok(self.shared.lost.load(Ordering::Relaxed))
    }

    fn live_connections(&mut self) -> Option<u64> {
        let watched = self.shared.watched.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Some(watched.open as u64)
    }

    fn mechanism(&self) -> &'static str {
        "packets"
    }

    fn counts(&mut self) -> Value {
        let watched = self.shared.watched.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        json!({
            "seen": watched.counts,
            "passed_over": watched.passed_over,
            "open_connections": watched.open,
            "dropped_packets": self.shared.dropped.load(Ordering::Relaxed),
            "pushes": self.pushes.as_ref().map(|pushes| pushes.counts()),
        })
    }
}
