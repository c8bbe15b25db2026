//! A kernel without eBPF: routes set first windows, and polls of `sock_diag` report connections.

use std::collections::BTreeMap;

use firstflight_contract::Nanos;
use firstflight_gateway::{Connection, Orders, Override, Plan, TransferPlan};
use firstflight_hooks::{Polls, Refusal, Routes, WIDEST};
use firstflight_paths::Prefix;

use crate::clock;
use crate::kernel::Kernel;

/// Time between two polls. Connections that begin and end between two polls are missed.
const POLL: Nanos = Nanos::from_millis(200);
/// Time between two looks at the main table of routes.
const REFRESH: Nanos = Nanos::from_secs(10);

/// First windows by routes, at most [`WIDEST`] segments, because routes do not pace. There is no holdout, no gate on
/// round-trip times, and no end of plans without this process, which removes its routes when it ends.
#[derive(Debug)]
pub struct Routed {
    routes: Routes,
    polls: Polls,
    /// Ends of the plans in force.
    expires: BTreeMap<Prefix, Nanos>,
    orders: Orders,
    stopped: bool,
    /// Connections of the newest poll.
    live: u64,
    next_poll: Nanos,
    next_refresh: Nanos,
}

impl Routed {
    /// At most `most` routes. Removes those that an earlier process left behind. Needs CAP_NET_ADMIN.
    ///
    /// # Errors
    /// If `ip` is missing or may not change routes, or the kernel has no `sock_diag`.
    pub fn new(most: usize) -> Result<Self, Refusal> {
        Ok(Self {
            routes: Routes::new(most)?,
            polls: Polls::new()?,
            expires: BTreeMap::new(),
            orders: Orders::default(),
            stopped: false,
            live: 0,
            next_poll: Nanos::ZERO,
            next_refresh: Nanos::ZERO,
        })
    }
}

impl Kernel for Routed {
    fn drain(&mut self, each: &mut dyn FnMut(Connection)) -> Result<(), String> {
        let now = clock::since_boot();
        if now < self.next_poll {
            return Ok(());
        }
        self.next_poll = Nanos(now.0 + POLL.0);
        let Self { routes, polls, .. } = self;
        let live = polls.poll(|address| routes.window(address), each).map_err(|error| error.to_string())?;
        self.live = live as u64;
        Ok(())
    }

    fn adopt(&mut self) -> Result<usize, String> {
        // The first poll reports the connections that live.
        Ok(0)
    }

    fn set(&mut self, plan: &Plan) -> Result<(), String> {
        if self.stopped || self.orders.of(&plan.prefix).is_some() {
            return Ok(());
        }
        self.routes.set(plan.prefix, plan.window.min(WIDEST)).map_err(|error| error.to_string())?;
        self.expires.insert(plan.prefix, plan.expires);
        Ok(())
    }

    fn transfer(&mut self, _: u64, _: &TransferPlan) -> Result<(), String> {
        Err("routes cannot start single transfers; expected the mechanism sock_ops".to_owned())
    }

    fn remove(&mut self, prefix: &Prefix) -> Result<(), String> {
        self.expires.remove(prefix);
        self.routes.remove(prefix).map(drop).map_err(|error| error.to_string())
    }

    fn order(&mut self, prefix: &Prefix, order: Option<Override>) -> Result<(), String> {
        self.orders.set(*prefix, order);
        match order {
            Some(Override::Window(window)) if !self.stopped => {
                self.expires.insert(*prefix, Nanos::NEVER);
                self.routes.set(*prefix, window.min(WIDEST)).map_err(|error| error.to_string())
            }
            Some(Override::Freeze) => {
                self.expires.entry(*prefix).and_modify(|expires| *expires = Nanos::NEVER);
                Ok(())
            }
            // The next plan of the gateway sets a route again.
            Some(Override::Off | Override::Window(_)) | None => {
                let covered: Vec<_> =
                    self.expires.keys().filter(|one| prefix.contains(one)).copied().collect();
                covered.iter().try_for_each(|one| self.remove(one))
            }
        }
    }

    fn renew(&mut self) -> Result<(), String> {
        let now = clock::since_boot();
        let over: Vec<_> =
            self.expires.iter().filter(|(_, expires)| **expires <= now).map(|(prefix, _)| *prefix).collect();
        over.iter().try_for_each(|prefix| self.remove(prefix))?;
        if now >= self.next_refresh {
            self.next_refresh = Nanos(now.0 + REFRESH.0);
            self.routes.refresh().map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn stop(&mut self, stopped: bool) -> Result<(), String> {
        self.stopped = stopped;
        if !stopped {
            // The plans come from the gateway again, the orders do not.
            let orders: Vec<_> =
                self.orders.iter().filter(|(prefix, _)| !self.expires.contains_key(prefix)).collect();
            let mut windows = orders.iter().filter(|(_, order)| matches!(order, Override::Window(_)));
            return windows.try_for_each(|(prefix, order)| self.order(prefix, Some(*order)));
        }
        let all: Vec<_> = self.expires.keys().copied().collect();
        all.iter().try_for_each(|prefix| self.remove(prefix))
    }

    fn widest(&self) -> u32 {
        WIDEST
    }

    fn live_connections(&mut self) -> Option<u64> {
        Some(self.live)
    }

    fn mechanism(&self) -> &'static str {
        "routes"
    }
}
