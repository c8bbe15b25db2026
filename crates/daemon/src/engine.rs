//! The gateway's thread: reports of the kernel in, plans out, orders of the socket between.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use firstflight_contract::Nanos;
use firstflight_gateway::{Connection, Decision, Event, Gateway, Mode, Override, Ranking, WhyNot};
use firstflight_hooks::Transfers;
use firstflight_paths::Prefix;
use tokio::sync::oneshot;

use crate::addresses::Addresses;
use crate::api::{Answer, Message};
use crate::canary::Keeper;
use crate::clock;
use crate::exchange::{self, News};
use crate::foreign::Foreign;
use crate::kernel::Kernel;
use crate::logs::{Logs, Troubles};
use crate::metrics::{Metrics, State};
use crate::orders::Orders;
use crate::others::Others;
use crate::pending::Pending;
use crate::store::Store;

/// Longest time between two looks at the kernel's reports: the tail of the time from a close to its effect on a plan.
const LOOK: Duration = Duration::from_millis(20);
/// Most messages of the exchange that are taken between two looks.
const MOST_NEWS: usize = 1024;
/// Batches of reports between which requests are answered: 1 to 2 ms.
const BATCHES: usize = 32;
/// Decisions between which requests are answered: 1 to 3 ms.
const DECISIONS: usize = 512;
/// Time between two ticks of the gateway.
const TICK: Nanos = Nanos::from_secs(1);

/// The gateway with its kernel and its store, and what they need of the machine.
pub(crate) struct Engine<'a> {
    pub(crate) gateway: Gateway,
    pub(crate) kernel: Box<dyn Kernel + 'a>,
    pub(crate) store: Store,
    /// The operator's orders.
    pub(crate) orders: Orders,
    /// Plans for a share of the connections.
    pub(crate) canary: Keeper,
    /// Programs and settings of others.
    pub(crate) foreign: Foreign,
    /// Decisions that wait to be followed.
    pub(crate) pending: Pending,
    /// Rankings of the prefixes that are being made, and their clients.
    pub(crate) rankings: Vec<(Ranking, oneshot::Sender<Answer>)>,
    pub(crate) others: Others,
    pub(crate) machine: Machine,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) logs: Logs,
    pub(crate) troubles: Troubles,
}

/// Facts of the machine and of the kernel's programs. But for the addresses, they hold until the process ends.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) started: Nanos,
    /// Its addresses.
    pub(crate) own: Addresses,
    /// Mechanisms, one line each.
    pub(crate) tiers: Vec<String>,
    /// Starts for single transfers that the kernel applies.
    pub(crate) transfers: Option<Transfers>,
    /// Whether idle connections are prepared once a tick.
    pub(crate) idle: bool,
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
        self.limit_plans();
        self.refresh_plans();
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
        let mut next_tick = self.machine.started;
        while !over() {
            let read = self.kernel.drain(&mut |connection| reports.push(connection));
            self.note(read);
            let now = clock::since_boot();
            for (number, batch) in reports.chunks(Gateway::BATCH).enumerate() {
                if number % BATCHES == BATCHES - 1 {
                    self.take_waiting(orders);
                }
                self.gateway.prepare(batch);
                for connection in batch {
                    self.metrics.report(connection, self.machine.own.has(connection.peer));
                    self.canary.report(connection);
                    self.give(&Event::Report(*connection));
                    self.others.share(now, &self.gateway, connection);
                }
            }
            reports.clear();
            self.take(now);
            self.reload_if_asked();
            // This clock never steps back, but for a machine that was moved or restored.
            if now >= next_tick || next_tick.0 - now.0 > TICK.0 {
                next_tick = Nanos(now.0 + TICK.0);
                self.give(&Event::Tick { now });
                let renewed = self.kernel.renew();
                self.note(renewed);
                if self.machine.idle {
                    let prepared = self.kernel.prepare_idle();
                    self.note(prepared);
                }
                self.yield_to_others(now);
                self.note_clock(now);
                self.tick_canary(now);
                self.count();
                alive();
            }
            self.apply(now, orders);
            self.take_import();
            self.take_canary_saved();
            let saved = self.store.save_some(&mut self.gateway, &self.orders.book);
            self.note(saved);
            // However long that took.
            self.take_waiting(orders);
            self.apply(now, orders);
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
                        self.take_request(message);
                        false
                    }
                    Err(RecvTimeoutError::Timeout) => false,
                    Err(RecvTimeoutError::Disconnected) => true,
                };
                self.take_saved();
                self.apply(now, orders);
                if ended {
                    // The thread of the socket has ended.
                    std::thread::sleep(LOOK);
                    break;
                }
            }
        }
        let now = clock::since_boot();
        self.take(now);
        self.apply(now, orders);
        self.end();
        self.apply(now, orders);
        let written = self.logs.end();
        self.note(written);
    }

    /// Gives the gateway an event, and records it with its decisions.
    pub(crate) fn give(&mut self, event: &Event) {
        let begin = self.pending.len();
        let decisions = &mut self.pending.all;
        match *event {
            Event::Report(connection) => self.gateway.report(&connection, decisions),
            Event::Tick { now } => self.gateway.tick(now, decisions),
            Event::Order { prefix, order } => self.gateway.order(prefix, order, decisions),
            Event::Remote(ref remote) => self.gateway.remote(remote, decisions),
            Event::Start { .. } | Event::Decide(_) => return,
        }
        let recorded = self.logs.event(event, &decisions[begin..]);
        self.note(recorded);
    }

    /// Takes what the exchange brings: observations of other gateways, and news of the store.
    fn take(&mut self, now: Nanos) {
        for _ in 0..MOST_NEWS {
            let Some(exchange) = &mut self.others.exchange else { return };
            let Some(news) = exchange.news() else { return };
            let line = exchange::line(&news, &exchange.store, now);
            let logged = match news {
                News::Remote(remote) => {
                    let before = self.pending.len();
                    self.give(&Event::Remote(remote));
                    // One without an effect has no line.
                    self.pending.len() > before
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
                let written = self.logs.line(&line);
                self.note(written);
            }
        }
    }

    pub(crate) fn enforces(&self) -> bool {
        self.gateway.settings().mode == Mode::Enforce && !self.orders.book.is_stopped()
    }

    pub(crate) fn note(&mut self, result: Result<(), String>) {
        self.troubles.note(result);
    }

    /// Shows the present state in the metrics.
    pub(crate) fn count(&mut self) {
        let looked = self.machine.own.refresh(clock::since_boot());
        self.note(looked);
        let lost = self.kernel.lost();
        let (lost, failed) = lost.map_or_else(|why| (None, Err(why)), |lost| (Some(lost), Ok(())));
        self.note(failed);
        let (orders, waiting) = self.orders.book.counts();
        let verdict = self.gateway.verdict();
        self.metrics.show(&State {
            mode: self.gateway.settings().mode,
            stopped: self.orders.book.is_stopped(),
            reverted: verdict.reverted.is_some(),
            prefixes: self.gateway.prefixes() as u64,
            plans: self.used() as u64,
            orders,
            waiting,
            trial: verdict.trial,
            live: self.kernel.live_connections(),
            lost,
            store: self.store.counts(),
            reloaded: self.orders.reloaded.as_ref().is_none_or(|reload| reload["error"].is_null()),
            wall: clock::wall() as f64 / 1e9,
        });
    }

    /// Logs decisions and, in the mode enforce, has the kernel follow them. Requests are answered meanwhile: a tick may decide on
    /// tens of thousands of prefixes.
    fn apply(&mut self, now: Nanos, orders: &Receiver<Message>) {
        if self.pending.is_empty() {
            return;
        }
        // An order may add decisions, or have all of them followed.
        while let Some((number, decision)) = self.pending.next() {
            self.follow(decision, now);
            if number.is_multiple_of(DECISIONS) {
                self.take_waiting(orders);
            }
        }
        self.end_following();
    }

    fn end_following(&mut self) {
        self.pending.clear();
        let flushed = self.logs.flush();
        self.note(flushed);
    }

    /// Follows the decisions that wait, now.
    pub(crate) fn follow_all(&mut self) {
        let now = clock::since_boot();
        while let Some((_, decision)) = self.pending.next() {
            self.follow(decision, now);
        }
        self.end_following();
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
        // A revert of the host is one line, however many plans it takes away.
        if !matches!(decision, Decision::Remove { why: WhyNot::HostReverted { .. }, .. }) {
            let written = self.logs.decision(now, &decision);
            self.note(written);
        }
        if self.gateway.settings().mode != Mode::Enforce {
            return;
        }
        let done = match decision {
            Decision::Set { plan, .. } => {
                self.restore(plan.prefix).and_then(|()| match self.kept_out(&plan.prefix) {
                    None => self.kernel.set(&plan),
                    Some(_) => Ok(()),
                })
            }
            // The kernel uses no order either until plans are made again.
            Decision::Remove { prefix, why: WhyNot::HostReverted { .. } } => self.kernel.remove(&prefix),
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
}
