//! A survey: what a gateway would bring to a server, from its log of requests, before anything is installed.

use core::net::IpAddr;

use firstflight_contract::Nanos;
use serde::Serialize;

use crate::connection::{Arm, Connection, Stage};
use crate::estimate::{Bound, Sample};
use crate::gateway::Gateway;
use crate::settings::{Mode, STOCK, Settings};

/// Result of a survey.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Requests.
    pub requests: u64,
    /// Time from the first request to the last, seconds.
    pub span_s: f64,
    /// Share of the requests that came while their network had a plan. A request without a measurement counts as a sample
    /// of 40 segments, or of its size if that is less: an upper bound, because not every real sample allows a plan.
    pub hits: f64,
    /// The same by the sizes of the requests; [`None`] if the log has none.
    pub sized: Option<Sized>,
    /// Most prefixes that were kept at a time.
    pub prefixes: u64,
    /// Most bytes in use in user space.
    pub bytes: u64,
    /// Prefixes with enough measured hosts to be judged, and those whose hosts disagreed at the end; [`None`] if the
    /// requests have no measurements, as those of an access log.
    pub judged: Option<Judged>,
}

/// Requests by their sizes. A plan makes a response sooner only if it does not fit the stack's own first window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sized {
    /// Requests with a size.
    pub requests: u64,
    /// Share of them that carry more than the stack's first window.
    pub larger: f64,
    /// Share of them that do, and came while their network had a plan.
    pub larger_hits: f64,
    /// Share of all bytes that these carry.
    pub bytes_share: f64,
}

/// Prefixes whose hosts share a path, as far as their measurements show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Judged {
    /// Prefixes with an estimate.
    pub prefixes: u64,
    /// Those whose hosts disagree: the heuristic that a prefix shares a path errs.
    pub disagree: u64,
    /// Connections that came while their network had a plan, and whose own measurement reached the limit of their path.
    pub connections: u64,
    /// Those of which the path held less than half, or more than twice, of what the network's estimate said: the heuristic erred.
    pub wrong: u64,
}

/// A survey in steps: one call of [`Survey::add`] per request.
#[derive(Clone, Debug)]
pub struct Survey {
    gateway: Gateway,
    /// Time of the first request; the gateway's clock shows a second then.
    first: Option<Nanos>,
    last: Nanos,
    /// Time of the last review of all prefixes, and requests since then.
    swept: (Nanos, u64),
    requests: u64,
    hits: u64,
    /// Requests with a size, those beyond the stack's first window, and those of them that found a plan.
    sized: [u64; 3],
    /// Bytes of the first, and of the last.
    carried: [u64; 2],
    /// Prefixes that were reviewed.
    reviews: u64,
    measured: bool,
    /// Connections of [`Judged`], and those that were wrong.
    judged: (u64, u64),
    prefixes: usize,
    bytes: usize,
}

/// Time of the gateway's clock at the first request.
const BEGIN: Nanos = Nanos::from_secs(1);
/// Least time between two reviews of all prefixes, after each of which the memory is counted.
const SWEEP: Nanos = Nanos::from_secs(60);
/// Most prefixes that are reviewed for each request. A gateway reviews all within sixteen seconds, which is most of the work of a
/// long log and changes nothing of what a request meets: its own prefix is reviewed when it comes.
const REVIEWS: u64 = 4;

impl Survey {
    /// A survey without requests, for a gateway with these settings.
    pub fn new(settings: &Settings) -> Self {
        Self {
            gateway: Gateway::new(Settings { mode: Mode::Observe, ..settings.clone() }),
            first: None,
            last: Nanos::ZERO,
            swept: (Nanos::ZERO, 0),
            requests: 0,
            hits: 0,
            sized: [0; 3],
            carried: [0; 2],
            reviews: 0,
            measured: false,
            judged: (0, 0),
            prefixes: 0,
            bytes: 0,
        }
    }

    /// Adds a request, in order of time; an earlier time than the newest one counts as that one. `bytes` is the size of its response.
    pub fn add(&mut self, at: Nanos, client: IpAddr, bytes: Option<u64>) {
        let connection = bytes.map_or_else(|| typical(client), |bytes| sized(client, bytes));
        let hit = self.request(at, client, &connection, false);
        let Some(bytes) = bytes else { return };
        let larger = bytes > u64::from(STOCK) * u64::from(connection.mss);
        for (count, counts) in self.sized.iter_mut().zip([true, larger, larger && hit]) {
            *count += u64::from(counts);
        }
        for (sum, counts) in self.carried.iter_mut().zip([true, larger && hit]) {
            *sum = sum.saturating_add(if counts { bytes } else { 0 });
        }
    }

    /// Prefixes that were reviewed so far: the work that grows with the number of networks.
    pub fn reviews(&self) -> u64 {
        self.reviews
    }

    /// Adds a connection that was measured, as from a capture.
    pub fn add_measured(&mut self, connection: &Connection) {
        self.measured = true;
        self.request(connection.at, connection.peer, connection, true);
    }

    /// Takes a connection; answers whether its network had a plan.
    fn request(&mut self, at: Nanos, client: IpAddr, connection: &Connection, measured: bool) -> bool {
        let at = at.max(self.last);
        let first = *self.first.get_or_insert(at);
        self.last = at;
        self.requests += 1;
        let now = at - first + BEGIN;
        self.swept.1 += 1;
        if now >= self.swept.0 + SWEEP && REVIEWS * self.swept.1 >= self.gateway.prefixes() as u64 {
            self.swept = (now, 0);
            self.reviews += self.gateway.prefixes() as u64;
            self.gateway.sweep(now);
            self.count();
        }
        self.reviews += 1;
        self.gateway.refresh(now, client);
        let hit = self.gateway.plan(client).is_some();
        self.hits += u64::from(hit);
        if let (true, true, Some(sample)) = (hit, measured, Sample::of(connection))
            && sample.bound == Bound::Exact
            && let Some(estimate) = self.gateway.explain(client).estimate
        {
            let (own, known) = (u32::from(sample.parts), u32::from(estimate.median));
            self.judged.0 += 1;
            self.judged.1 += u64::from(2 * own < known || own > 2 * known);
        }
        self.gateway.report(&Connection { at: now, arm: Arm::Stock, ..*connection }, &mut vec![]);
        hit
    }

    fn count(&mut self) {
        self.prefixes = self.prefixes.max(self.gateway.prefixes());
        self.bytes = self.bytes.max(self.gateway.bytes());
    }

    /// The result.
    pub fn finish(mut self) -> Found {
        if let Some(first) = self.first {
            self.gateway.sweep(self.last - first + BEGIN);
        }
        self.count();
        let span = self.last.saturating_sub(self.first.unwrap_or_default());
        Found {
            requests: self.requests,
            span_s: span.0 as f64 / 1e9,
            hits: if self.requests == 0 { 0.0 } else { self.hits as f64 / self.requests as f64 },
            sized: (self.sized[0] > 0).then(|| {
                let [requests, larger, hits] = self.sized;
                let of = |part: u64, all: u64| if all == 0 { 0.0 } else { part as f64 / all as f64 };
                let (larger, larger_hits) = (of(larger, requests), of(hits, requests));
                Sized { requests, larger, larger_hits, bytes_share: of(self.carried[1], self.carried[0]) }
            }),
            prefixes: self.prefixes as u64,
            bytes: self.bytes as u64,
            judged: self.measured.then(|| {
                let (prefixes, disagree) = self.gateway.judged();
                let (connections, wrong) = self.judged;
                Judged { prefixes, disagree, connections, wrong }
            }),
        }
    }
}

/// The same connection with a response of this size: it shows no more than it carried.
fn sized(peer: IpAddr, bytes: u64) -> Connection {
    let usual = typical(peer);
    let sent = u32::try_from(bytes.div_ceil(usual.mss.into())).unwrap_or(u32::MAX);
    Connection { bytes, sent, ..usual }
}

/// A connection of 800 segments that measured 40 segments and 50 ms, for surveys and tests.
pub fn typical(peer: IpAddr) -> Connection {
    let rtt = Nanos::from_millis(50);
    Connection {
        at: Nanos::ZERO,
        peer,
        arm: Arm::Stock,
        stage: Stage::Ended,
        age: Nanos::ZERO,
        busy: Nanos::from_secs(1),
        mss: 1448,
        bytes: 800 * 1448,
        handshake_rtt: rtt,
        min_rtt: rtt,
        srtt: rtt,
        rate: 800 * 1448,
        limited: false,
        shared: false,
        cwnd: 40,
        ssthresh: Some(40),
        receive_window: 1 << 20,
        sent: 800,
        retransmits: 0,
        timeouts: 0,
        first_window_lost: 0,
    }
}
