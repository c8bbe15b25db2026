//! Pushes: what the gateway of a site knows of a client's network, sent to the gateway of the host that the client asks.
//!
//! A thread of its own asks the own gateway, as any host would, and brings the signed answer to the other one. Requests wait
//! in a bounded queue; without room they are dropped, and the host starts the connection without the push.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use firstflight_capture::{Network, Request};
use firstflight_contract::Nanos;
use serde_json::{Value, json};

use crate::api::OBSERVATION;
use crate::client::Client;
use crate::clock;

/// Requests that wait.
const QUEUE: usize = 1 << 10;
/// Longest wait for the gateway of a host: a later answer is of no use to the connection.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time within which a host is not pushed the same network again.
const AGAIN: Nanos = Nanos::from_secs(1);
/// Hosts and networks that are remembered for that.
const REMEMBERED: usize = 1 << 14;

/// The queue, and counts of its requests.
#[derive(Debug)]
pub(super) struct Pushes {
    queue: SyncSender<Request>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Observations that a gateway took.
    taken: AtomicU64,
    /// Observations that no gateway took.
    refused: AtomicU64,
    /// Requests from networks of which nothing is known.
    unknown: AtomicU64,
    /// Requests without room in the queue.
    dropped: AtomicU64,
}

fn one_more(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

impl Pushes {
    /// Begins to push what the gateway at `socket` knows to the gateways at this port. The thread ends with the queue.
    pub(super) fn begin(socket: &Path, port: u16) -> io::Result<Self> {
        let (queue, requests) = sync_channel(QUEUE);
        let counts = Arc::new(Counts::default());
        let (own, shared) = (Client::new(socket), Arc::clone(&counts));
        thread::Builder::new().name("push".to_owned()).spawn(move || push(&requests, &own, port, &shared))?;
        Ok(Self { queue, counts })
    }

    /// Adds a request. It never waits.
    pub(super) fn add(&self, request: Request) {
        if self.queue.try_send(request).is_err() {
            one_more(&self.counts.dropped);
        }
    }

    pub(super) fn counts(&self) -> Value {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Counts { taken, refused, unknown, dropped } = &*self.counts;
        json!({ "taken": of(taken), "refused": of(refused), "unknown": of(unknown), "dropped": of(dropped) })
    }
}

fn push(requests: &Receiver<Request>, own: &Client, port: u16, counts: &Counts) {
    let mut pushed = BTreeMap::<(IpAddr, Network), Nanos>::new();
    for Request { client, server } in requests {
        let now = clock::since_boot();
        let host = server.ip().to_canonical();
        let place = (host, Network::of(client));
        if pushed.get(&place).is_some_and(|at| now.0 - at.0 < AGAIN.0) {
            continue;
        }
        if pushed.len() >= REMEMBERED {
            pushed.clear();
        }
        pushed.insert(place, now);
        let Ok(found) = own.get(&format!("{OBSERVATION}/{client}")) else {
            one_more(&counts.unknown);
            continue;
        };
        let to = Client::at(SocketAddr::new(host, port), PATIENCE);
        let answer = to.post(OBSERVATION, &json!({ "record": found["record"] }));
        one_more(if answer.is_ok() { &counts.taken } else { &counts.refused });
    }
}
