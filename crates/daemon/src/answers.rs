//! Answers to the questions of the socket.

use firstflight_gateway::{Event, Explanation, Transfer};
use serde_json::{Value, json};

use crate::api::{Answer, Content, Order};
use crate::engine::Engine;
use crate::{clock, view};

impl Engine<'_> {
    /// The answer to a question.
    pub(crate) fn answer(&mut self, order: Order) -> Answer {
        let value = match order {
            Order::Status => self.status(),
            Order::Orders => self.all_orders(),
            Order::Explain(address) => {
                let found = self.gateway.explain(address);
                let why = self.stopped().or_else(|| self.kept_out(&found.prefix));
                let mut found = view::in_force(&self.living(found), why.as_deref());
                found["order_origin"] = self.order_of(address);
                found["from"] = self.others.heard(&self.gateway, address);
                found
            }
            Order::Plan(transfer, cookie) => self.transfer(&transfer, cookie),
            Order::Observation(address) => self.others.observation(&self.gateway, address)?,
            Order::Observed(record) => {
                let remote = self.others.accept(&self.gateway, &record)?;
                let prefix = remote.observation.prefix;
                self.give(&Event::Remote(remote));
                let planned = self.used() > 0 && self.gateway.plan(prefix.first()).is_some();
                json!({ "prefix": prefix.to_string(), "planned": planned })
            }
            Order::Canary => self.canary_view(),
            _ => unreachable!("it takes more than a moment, or changes something"),
        };
        Ok(Content::Json(value))
    }

    /// The start for a transfer. In the mode enforce it waits for the socket with this cookie.
    fn transfer(&mut self, transfer: &Transfer, cookie: Option<u64>) -> Value {
        let plan = match self.gateway.transfer(transfer) {
            Ok(plan) => self.stopped().or_else(|| self.kept_out(&plan.plan.prefix)).map_or(Ok(plan), Err),
            Err(why) => Err(why.to_string()),
        };
        let mut plan = match plan {
            Ok(plan) => plan,
            Err(why) => {
                self.metrics.transfer("stock");
                return json!({ "start": "stock", "reason": why });
            }
        };
        if self.machine.transfers.is_none_or(|transfers| !transfers.ssthresh) {
            plan.plan.ssthresh = None;
        }
        self.metrics.transfer("planned");
        let waits = match (cookie, self.machine.transfers) {
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
        let running = clock::since_boot().0.saturating_sub(self.machine.started.0);
        let [share, observations] = self.others.view(&self.metrics);
        let mut status = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "mode": settings.mode.label(),
            "stopped": self.orders.book.is_stopped(),
            "running_s": running as f64 / 1e9,
            "tiers": self.machine.tiers,
            "prefixes": self.gateway.prefixes(),
            "plans": self.used(),
            "plans_after_release": self.gateway.planned(),
            "congestion_control": view::control(),
            "bytes": self.gateway.bytes(),
            "orders": settings.overrides.len(),
            "lost_reports": self.kernel.lost().ok(),
            "canary": self.canary_status(),
            "others": self.foreign_status(),
            "trial": view::host(&self.gateway.verdict()),
            "share": share,
            "complaint": self.troubles.newest,
            "store": self.store.view(),
            "observations": observations,
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
