//! The gateway's thread: reports of the kernel in, plans out, orders of the socket between.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use firstflight_contract::Nanos;
use firstflight_gateway::{
    Acceptance, Connection, Decision, Event, Explanation, Gateway, Mode, Observation, Override, Ranking,
    Transfer,
};
use firstflight_hooks::Transfers;
use firstflight_paths::Prefix;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::api::{Answer, Content, Message, Order};
use crate::exchange::{self, Exchange, News};
use crate::journal::Journal;
use crate::kernel::Kernel;
use crate::keys::SITE;
use crate::metrics::Metrics;
use crate::orders::Orders;
use crate::service::Site;
use crate::store::Store;
use crate::{clock, view};

/// Longest time between two looks at the kernel's reports: the tail of the time from a close to its effect on a plan.
const LOOK: Duration = Duration::from_millis(20);
/// Age from which an observation that is pushed is refused.
const OLDEST: Nanos = Nanos::from_secs(1800);
/// Most messages of the exchange that are taken between two looks.
const MOST_NEWS: usize = 1024;
/// Batches of reports between which requests are answered: 1 to 2 ms.
const BATCHES: usize = 32;
/// Decisions between which requests are answered: 1 to 3 ms.
const DECISIONS: usize = 512;
/// Time between two ticks of the gateway.
const TICK: Nanos = Nanos::from_secs(1);

/// The gateway with its kernel, its journal and its store.
pub(crate) struct Engine<'a> {
    pub(crate) gateway: Gateway,
    pub(crate) kernel: Box<dyn Kernel + 'a>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) journal: Journal,
    /// Log of all events, if the operator asked for one.
    pub(crate) recording: Option<BufWriter<File>>,
    pub(crate) store: Store,
    /// Mechanisms of this machine, one line each.
    pub(crate) tiers: Vec<String>,
    pub(crate) started: Nanos,
    pub(crate) next_tick: Nanos,
    /// The operator's orders.
    pub(crate) orders: Orders,
    /// Starts for single transfers that the kernel applies.
    pub(crate) transfers: Option<Transfers>,
    /// Whether idle connections are prepared once a tick.
    pub(crate) idle: bool,
    /// The site, its secret, and the observations of others that were accepted and refused.
    pub(crate) site: Option<Site>,
    pub(crate) observed: [u64; 2],
    /// Exchange with other gateways.
    pub(crate) exchange: Option<Exchange>,
    /// Newest complaint of the kernel, the journal or the store.
    pub(crate) complaint: Option<String>,
    pub(crate) complain: fn(&str),
    /// Decisions of the present list that were followed.
    pub(crate) followed: usize,
    /// Rankings of the prefixes that are being made, and their clients.
    pub(crate) rankings: Vec<(Ranking, oneshot::Sender<Answer>)>,
}

impl Engine<'_> {
    /// Puts in force what was restored: the plans and the operator's orders.
    pub(crate) fn begin(&mut self) {
        if self.gateway.settings().mode == Mode::Enforce {
            self.enforce();
        }
        self.audit_start();
        let alive = self.kernel.renew();
        self.note(alive);
        let adopted = self.kernel.adopt().map(drop);
        self.note(adopted);
    }

    /// Puts all plans and orders in force.
    pub(crate) fn enforce(&mut self) {
        for (prefix, order) in self.gateway.settings().overrides.clone() {
            let result = self.kernel.order(&prefix, Some(order));
            self.note(result);
        }
        let halted = self.halt();
        self.note(halted);
        // One line for all: a full table has as many reasons as plans.
        let failed = self.gateway.plans().filter_map(|plan| self.kernel.set(&plan).err()).last();
        self.note(failed.map_or(Ok(()), Err));
    }

    /// Has the kernel use plans and orders, or none: none while the operator or the trial of the host has stopped them.
    pub(crate) fn halt(&mut self) -> Result<(), String> {
        self.kernel.stop(self.stopped().is_some())
    }

    /// Works until `over`.
    pub(crate) fn work(
        &mut self,
        orders: &Receiver<Message>,
        mut over: impl FnMut() -> bool,
        mut alive: impl FnMut(),
    ) {
        let mut reports: Vec<Connection> = vec![];
        let mut decisions = vec![];
        while !over() {
            let read = self.kernel.drain(&mut |connection| reports.push(connection));
            self.note(read);
            let now = clock::since_boot();
            for (number, batch) in reports.chunks(Gateway::BATCH).enumerate() {
                if number % BATCHES == BATCHES - 1 {
                    self.take_waiting(orders, &mut decisions);
                }
                self.gateway.prepare(batch);
                for connection in batch {
                    self.metrics.report(connection);
                    self.give(&Event::Report(*connection), &mut decisions);
                    self.share(now, connection);
                }
            }
            reports.clear();
            self.take(now, &mut decisions);
            self.reload_if_asked(&mut decisions);
            // This clock never steps back, but for a machine that was moved or restored.
            if now >= self.next_tick || self.next_tick.0 - now.0 > TICK.0 {
                self.next_tick = Nanos(now.0 + TICK.0);
                self.give(&Event::Tick { now }, &mut decisions);
                let renewed = self.kernel.renew();
                self.note(renewed);
                if self.idle {
                    let prepared = self.kernel.prepare_idle();
                    self.note(prepared);
                }
                self.count();
                alive();
            }
            self.apply(&mut decisions, now, orders);
            self.take_import();
            let saved = self.store.save_some(&mut self.gateway, &self.orders.book);
            self.note(saved);
            // However long that took.
            self.take_waiting(orders, &mut decisions);
            self.apply(&mut decisions, now, orders);
            // A request is answered at once; without one the kernel's reports wait until the next look.
            // A longer time is left only if the clock has stepped back.
            let pause = LOOK.as_nanos() as u64;
            let look = now.0 + pause;
            while let Some(left) =
                look.checked_sub(clock::since_boot().0).filter(|left| (1..=pause).contains(left))
            {
                self.rank();
                // The disk answers by no message.
                let wait = if !self.rankings.is_empty() {
                    0
                } else if self.store.is_waiting() {
                    left.min(1_000_000)
                } else {
                    left
                };
                let ended = match orders.recv_timeout(Duration::from_nanos(wait)) {
                    Ok(message) => {
                        self.take_request(message, &mut decisions);
                        false
                    }
                    Err(RecvTimeoutError::Timeout) => false,
                    Err(RecvTimeoutError::Disconnected) => true,
                };
                self.take_saved(&mut decisions);
                self.apply(&mut decisions, now, orders);
                if ended {
                    // The thread of the socket has ended.
                    std::thread::sleep(LOOK);
                    break;
                }
            }
        }
        let now = clock::since_boot();
        self.take(now, &mut decisions);
        self.apply(&mut decisions, now, orders);
        self.end(&mut decisions);
        self.apply(&mut decisions, now, orders);
        if let Some(recording) = &mut self.recording {
            let written = recording.flush().map_err(|error| format!("the recording: {error}"));
            self.note(written);
        }
    }

    /// Gives the gateway an event, and records it with its decisions.
    pub(crate) fn give(&mut self, event: &Event, decisions: &mut Vec<Decision>) {
        let begin = decisions.len();
        match *event {
            Event::Report(connection) => self.gateway.report(&connection, decisions),
            Event::Tick { now } => self.gateway.tick(now, decisions),
            Event::Order { prefix, order } => self.gateway.order(prefix, order, decisions),
            Event::Remote(ref remote) => self.gateway.remote(remote, decisions),
            Event::Start { .. } | Event::Decide(_) => return,
        }
        let Some(recording) = &mut self.recording else { return };
        let decided = decisions[begin..].iter().map(|decision| Event::Decide(*decision).line());
        let mut lines = std::iter::once(event.line()).chain(decided);
        if let Err(error) = lines.try_for_each(|line| writeln!(recording, "{line}")) {
            self.recording = None;
            self.note(Err(format!("the recording has ended: {error}")));
        }
    }

    /// Hands the prefix of a connection to the exchange, with the own measurement.
    fn share(&mut self, now: Nanos, connection: &Connection) {
        let Some(exchange) = &mut self.exchange else { return };
        let gateway = &self.gateway;
        let prefix = gateway.prefix(connection.peer);
        exchange.saw(now, prefix, |host| gateway.observation(&prefix, host, clock::wall() / 1_000_000_000));
    }

    /// Takes what the exchange brings: observations of other gateways, and news of the store.
    fn take(&mut self, now: Nanos, decisions: &mut Vec<Decision>) {
        for _ in 0..MOST_NEWS {
            let Some(exchange) = &mut self.exchange else { return };
            let Some(news) = exchange.news() else { return };
            let line = exchange::line(&news, &exchange.store, now);
            let logged = match news {
                News::Remote(remote) => {
                    let before = decisions.len();
                    self.give(&Event::Remote(remote), decisions);
                    // One without an effect has no line.
                    decisions.len() > before
                }
                News::Away(why) => {
                    let store = exchange.store.clone();
                    self.note(Err(format!("the store {store} fails: {why}; own measurements only")));
                    true
                }
                News::Trouble(why) => {
                    self.note(Err(why));
                    true
                }
                News::Refused(_) | News::Here => true,
            };
            if logged {
                let written = self.journal.line(&line).and_then(|()| self.journal.flush());
                self.note(written.map_err(|error| format!("the decision log: {error}")));
            }
        }
    }

    pub(crate) fn enforces(&self) -> bool {
        self.gateway.settings().mode == Mode::Enforce && !self.orders.book.is_stopped()
    }

    /// Keeps a complaint for `status`, and says it once.
    pub(crate) fn note(&mut self, result: Result<(), String>) {
        if let Err(why) = result
            && self.complaint.as_ref() != Some(&why)
        {
            (self.complain)(&why);
            self.complaint = Some(why);
        }
    }

    fn count(&mut self) {
        self.metrics.prefixes.set(self.gateway.prefixes() as u64);
        let stopped = self.stopped().is_some();
        self.metrics.plans.set(self.used() as u64);
        let enforcing = self.gateway.settings().mode == Mode::Enforce && !stopped;
        self.metrics.enforcing.set(enforcing.into());
        self.metrics.stopped.set(stopped.into());
        let (bytes, failures, age) = self.store.counts();
        self.metrics.snapshot.set(bytes);
        self.metrics.store_failures.set(failures);
        self.metrics.snapshot_age.set(age.unwrap_or(f64::NAN));
        match self.kernel.lost() {
            Ok(lost) => {
                self.metrics.lost.set(lost);
            }
            Err(why) => self.note(Err(why)),
        }
    }

    /// Logs decisions and, in the mode enforce, has the kernel follow them. Requests are answered meanwhile: a tick may decide on
    /// tens of thousands of prefixes.
    fn apply(&mut self, decisions: &mut Vec<Decision>, now: Nanos, orders: &Receiver<Message>) {
        if decisions.is_empty() {
            return;
        }
        // An order may add decisions, or have all of them followed.
        while let Some(decision) = decisions.get(self.followed).copied() {
            self.followed += 1;
            self.follow(decision, now);
            if self.followed.is_multiple_of(DECISIONS) {
                self.take_waiting(orders, decisions);
            }
        }
        self.end_following(decisions);
    }

    fn end_following(&mut self, decisions: &mut Vec<Decision>) {
        decisions.clear();
        self.followed = 0;
        let flushed = self.journal.flush().map_err(|error| format!("the decision log: {error}"));
        self.note(flushed);
    }

    /// Follows the decisions that wait, now.
    pub(crate) fn follow_all(&mut self, decisions: &mut Vec<Decision>) {
        let now = clock::since_boot();
        decisions[self.followed..].iter().for_each(|decision| self.follow(*decision, now));
        self.end_following(decisions);
    }

    /// Logs a decision and, in the mode enforce, has the kernel follow it.
    fn follow(&mut self, decision: Decision, now: Nanos) {
        let kind = match decision {
            Decision::Set { .. } => "set",
            Decision::Remove { .. } => "remove",
            Decision::RevertHost { .. } => "revert_host",
            Decision::ResumeHost => "resume_host",
        };
        self.metrics.decided(kind);
        let line = json!({ "at_ns": now.0, "decision": decision, "text": decision.to_string() }).to_string();
        let written = self.journal.line(&line).map_err(|error| format!("the decision log: {error}"));
        self.note(written);
        if self.gateway.settings().mode != Mode::Enforce {
            return;
        }
        let done = match decision {
            Decision::Set { plan, .. } => self.restore(plan.prefix).and_then(|()| self.kernel.set(&plan)),
            Decision::Remove { prefix, .. } => {
                self.silence(prefix).and_then(|()| self.kernel.remove(&prefix))
            }
            Decision::RevertHost { .. } | Decision::ResumeHost => self.halt(),
        };
        self.note(done);
    }

    /// Takes back a window that the operator ordered: the kernel uses an order whether or not there is a plan.
    pub(crate) fn silence(&mut self, prefix: Prefix) -> Result<(), String> {
        if let Some(Override::Window(_)) = self.gateway.order_for(&prefix) {
            self.kernel.order(&prefix, Some(Override::Off))?;
            self.orders.silenced.insert(prefix);
        }
        Ok(())
    }

    /// Puts the order in force again that [`Engine::silence`] took back.
    fn restore(&mut self, prefix: Prefix) -> Result<(), String> {
        if !self.orders.silenced.remove(&prefix) {
            return Ok(());
        }
        let own = self.gateway.settings().overrides.iter().find(|(over, _)| *over == prefix);
        let own = own.map(|(_, order)| *order);
        self.kernel.order(&prefix, own)
    }

    /// The answer to a question.
    pub(crate) fn answer(&mut self, order: Order, decisions: &mut Vec<Decision>) -> Answer {
        let value = match order {
            Order::Status => self.status(),
            Order::Orders => self.all_orders(),
            Order::Explain(address) => {
                let found = self.gateway.explain(address);
                let mut found = view::in_force(&self.living(found), self.stopped().as_deref());
                found["order_origin"] = self.order_of(address);
                found["from"] = self.heard(address);
                found
            }
            Order::Plan(transfer, cookie) => self.transfer(&transfer, cookie),
            Order::Observation(address) => self.observation(address)?,
            Order::Observed(record) => self.observed(&record, decisions)?,
            _ => unreachable!("it takes more than a moment, or changes something"),
        };
        Ok(Content::Json(value))
    }

    /// Measurements of other gateways of the prefix of an address, as far as they count.
    fn heard(&self, address: IpAddr) -> Value {
        let site = self.site.as_ref().map(|_| SITE.to_owned());
        let others = self.exchange.as_ref().map_or(vec![], Exchange::others);
        let all = site.into_iter().chain(others);
        let heard = |host: String| self.gateway.heard(address, &host).map(|heard| view::heard(&host, &heard));
        all.filter_map(heard).collect()
    }

    fn site(&self) -> Result<&Site, String> {
        self.site.as_ref().ok_or_else(|| "the configuration has no [site]".to_owned())
    }

    /// This gateway's measurement of the prefix of an address.
    fn observation(&self, address: IpAddr) -> Result<Value, String> {
        let site = self.site()?;
        let wall = clock::wall() / 1_000_000_000;
        let observation =
            self.gateway.observation(&self.gateway.prefix(address), SITE, wall).ok_or_else(|| {
                let found = self.gateway.explain(address);
                let why = found.why_not.map_or_else(|| "no estimate".to_owned(), |why| why.to_string());
                format!("nothing to say of {}: {why}", found.prefix)
            })?;
        Ok(json!({
            "record": site.signer.as_ref().map(|signer| observation.sign(signer)),
            "observation": observation,
        }))
    }

    /// Takes an observation of another gateway.
    fn observed(&mut self, record: &str, decisions: &mut Vec<Decision>) -> Result<Value, String> {
        let Site { keys, weight, .. } = self.site()?;
        let rules = Acceptance {
            keys,
            host: "",
            bits: self.gateway.settings().bits,
            window: self.gateway.settings().window,
            now: clock::wall() / 1_000_000_000,
            max_age: OLDEST,
            weight: *weight,
        };
        let accepted = Observation::accept(record, &rules);
        self.observed[usize::from(accepted.is_err())] += 1;
        let remote = accepted.map_err(|why| why.to_string())?;
        let prefix = remote.observation.prefix;
        self.give(&Event::Remote(remote), decisions);
        Ok(
            json!({ "prefix": prefix.to_string(), "planned": self.used() > 0 && self.gateway.plan(prefix.first()).is_some() }),
        )
    }

    /// The start for a transfer. In the mode enforce it waits for the socket with this cookie.
    fn transfer(&mut self, transfer: &Transfer, cookie: Option<u64>) -> Value {
        let plan = match self.gateway.transfer(transfer) {
            Ok(plan) => self.stopped().map_or(Ok(plan), Err),
            Err(why) => Err(why.to_string()),
        };
        let mut plan = match plan {
            Ok(plan) => plan,
            Err(why) => {
                self.metrics.transfer("stock");
                return json!({ "start": "stock", "reason": why });
            }
        };
        if self.transfers.is_none_or(|transfers| !transfers.ssthresh) {
            plan.plan.ssthresh = None;
        }
        self.metrics.transfer("planned");
        let waits = match (cookie, self.transfers) {
            (None, _) => Err("the request has no cookie".to_owned()),
            _ if !self.enforces() => Err("the mode is not enforce".to_owned()),
            (Some(_), None) => Err("transfers.apply is false".to_owned()),
            (Some(cookie), Some(_)) => self.kernel.transfer(cookie, &plan),
        };
        let mut answer = view::plan(&plan.plan, clock::since_boot());
        answer["start"] = json!("planned");
        answer["pacing_bytes_per_s"] = json!(plan.rate);
        answer["waits_for_socket"] = json!(waits.is_ok());
        answer["why_not_applied"] = json!(waits.err());
        answer
    }

    fn status(&mut self) -> Value {
        let settings = self.gateway.settings();
        let running = clock::since_boot().0.saturating_sub(self.started.0);
        let mut status = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "mode": settings.mode.label(),
            "stopped": self.orders.book.is_stopped(),
            "running_s": running as f64 / 1e9,
            "tiers": self.tiers,
            "prefixes": self.gateway.prefixes(),
            "plans": self.used(),
            "plans_after_release": self.gateway.planned(),
            "congestion_control": view::control(),
            "bytes": self.gateway.bytes(),
            "orders": settings.overrides.len(),
            "lost_reports": self.kernel.lost().ok(),
            "trial": view::host(&self.gateway.verdict()),
            "share": self.exchange.as_ref().map(|exchange| view::share(exchange, &self.metrics)),
            "complaint": self.complaint,
            "store": self.store.view(),
            "observations": { "accepted": self.observed[0], "refused": self.observed[1] },
            "mirror": self.kernel.counts(),
        });
        self.order_status(&mut status);
        status
    }

    /// The same with what the kernel counts of the prefix.
    pub(crate) fn living(&mut self, found: Explanation) -> Explanation {
        Explanation { live: self.kernel.live(found.prefix.first()), ..found }
    }
}
