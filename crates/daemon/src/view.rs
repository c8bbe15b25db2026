//! Answers of the socket as JSON. `docs/gateway.md` lists the fields.

use std::fs;

use firstflight_contract::Nanos;
use firstflight_gateway::canary::SIZES;
use firstflight_gateway::{Advice, Arms, Explanation, Heard, HostVerdict, Override, Plan, Verdict, WhyNot};
use serde_json::{Value, json};

use crate::engine::Engine;
use crate::exchange::Exchange;
use crate::metrics::Metrics;

/// Parts of a segment in estimates.
const PARTS: f64 = 16.0;

/// Milliseconds; null for a time that is never reached.
fn ms(time: Nanos) -> Value {
    if time == Nanos::NEVER { Value::Null } else { json!(time.0 as f64 / 1e6) }
}

fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / 1e9
}

impl Engine<'_> {
    /// Reason for which all plans are stopped, if they are: by the operator, the canary, the host's trial or another program.
    pub(crate) fn stopped(&self) -> Option<String> {
        let book = &self.orders.book;
        if book.is_stopped() {
            let by = book.stopped_by();
            let user = by.and_then(|by| by.uid).map_or(String::new(), |uid| format!(", user {uid}"));
            let time = by.map_or(String::new(), |by| format!(", {}", by.time()));
            return Some(format!("stopped by the operator{user}{time}: no plan is used"));
        }
        if let Some(why) = self.canary.stopped() {
            return Some(format!("stopped by the canary: {why}: no plan is used"));
        }
        if self.foreign.until.is_some() {
            let hold = self.gateway.settings().hold_down.0 / 1_000_000_000;
            return Some(format!(
                "the gateway yields to another program, which takes the callbacks of connections: no plan is used until it has taken \
                 none for {hold} s"
            ));
        }
        let until = self.gateway.verdict().reverted?;
        Some(format!("stopped by the trial: {}: no plan is used", WhyNot::HostReverted { until }))
    }

    /// Plans in force.
    pub(crate) fn used(&self) -> usize {
        if self.stopped().is_some() {
            return 0;
        }
        match self.canary.canary() {
            None => self.gateway.planned(),
            Some(_) => self.gateway.plans().filter(|plan| self.kept_out(&plan.prefix).is_none()).count(),
        }
    }
}

/// [`explanation`], of a gateway whose plans may be stopped: the plan is then `plan_after_release`.
pub(crate) fn in_force(found: &Explanation, stopped: Option<&str>) -> Value {
    let mut view = explanation(found);
    if let Some(why) = stopped {
        let plan = view["plan"].take();
        // A network without a plan keeps its own reason.
        if !plan.is_null() || found.why_not.is_none() {
            view["why_no_plan"] = json!(why);
        }
        view["plan_after_release"] = plan;
    }
    view
}

/// Congestion control of this network namespace's new connections, and whether its CUBIC has HyStart; null where the kernel does not say.
pub(crate) fn control() -> Value {
    let read = |path| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let hystart = read("/sys/module/tcp_cubic/parameters/hystart").map(|word| word != "0");
    json!({
        "name": read("/proc/sys/net/ipv4/tcp_congestion_control"),
        "hystart": hystart,
    })
}

/// All that is known of a prefix, as `GET /v1/explain` answers.
pub fn explanation(found: &Explanation) -> Value {
    let since = |time: Nanos| seconds(Nanos(found.at.0.saturating_sub(time.0)));
    let estimate = found.estimate.map(|estimate| {
        let segments = |parts: u16| f64::from(parts) / PARTS;
        json!({
            "window_segments": segments(estimate.median),
            "range_segments": [segments(estimate.range.0), segments(estimate.range.1)],
            "deviation_segments": segments(estimate.deviation),
            "hosts": estimate.hosts,
            "hosts_measured_to_the_limit": estimate.exact,
            "samples": estimate.samples,
            "rtt_ms": [ms(estimate.rtt.0), ms(estimate.rtt.1)],
        })
    });
    json!({
        "prefix": found.prefix.to_string(),
        "seen_s_ago": found.seen.map(since),
        "hosts": found.hosts,
        "estimate": estimate,
        "plan": found.plan.map(|found_plan| plan(&found_plan, found.at)),
        "given_segments": found.given.map(|parts| f64::from(parts) / PARTS),
        "live_connections": found.live.map(|live| live.connections),
        "in_flight_segments": found.live.map(|live| live.in_flight),
        "why_no_plan": found.why_not.map(|why| why.to_string()),
        "order": found.order.map(order),
        "halvings_that_count": found.strikes,
        "first_window_loss_without_plan": found.own_loss,
        "trial": found.trial.as_ref().map(verdict),
        "how": found.plan.map(|plan| Advice::of(&plan).ways),
    })
}

/// Measurement of another gateway, as far as it counts.
pub(crate) fn heard(host: &str, found: &Heard) -> Value {
    json!({
        "host": host,
        "window_segments_at_least": f64::from(found.window) / PARTS,
        "age_s": seconds(found.age),
        "samples": found.samples,
        "weight": f64::from(found.weight) / 1000.0,
    })
}

/// A plan, at this time.
pub(crate) fn plan(plan: &Plan, at: Nanos) -> Value {
    json!({
        "prefix": plan.prefix.to_string(),
        "window_segments": plan.window,
        "ssthresh_segments": plan.ssthresh,
        "path_segments": plan.path,
        "pace_segments_per_rtt": plan.pace(),
        "rtt_ms": [ms(plan.rtt.0), ms(plan.rtt.1)],
        "expires_in_s": seconds(Nanos(plan.expires.0.saturating_sub(at.0))),
        "holdout_share": f64::from(plan.holdout) / 1000.0,
    })
}

/// An order of the operator.
pub(crate) fn order(order: Override) -> Value {
    match order {
        Override::Window(window) => json!({ "set": window }),
        Override::Freeze => json!("freeze"),
        Override::Off => json!("off"),
    }
}

/// Planned connections against those held out.
pub(crate) fn verdict(found: &Verdict) -> Value {
    json!({
        "blocks": found.blocks,
        "completion_ratio": found.effect.map(|[low, mean, high]| json!({ "low": low, "mean": mean, "high": high })),
        "chance_without_slowdown": found.slower,
        "chance_without_losses": found.lossier,
    })
}

/// The exchange with other gateways.
pub(crate) fn share(exchange: &Exchange, metrics: &Metrics) -> Value {
    let refused: serde_json::Map<_, _> =
        metrics.share_refusals().map(|(reason, count)| (reason.to_owned(), json!(count))).collect();
    json!({
        "host": exchange.host,
        "store": exchange.store,
        "connected": exchange.why.is_none(),
        "why_not_connected": exchange.why,
        "published": metrics.share_published.get(),
        "taken": metrics.share_taken.get(),
        "refused": refused,
        "dropped": metrics.share_dropped.get(),
        "failures": metrics.share_failures.get(),
    })
}

/// The trial over all prefixes.
pub(crate) fn host(found: &HostVerdict) -> Value {
    let classes = SIZES.iter().zip(&found.classes).map(|(name, [planned, holdout])| {
        json!({ "size": name, "planned": arm(planned), "holdout": arm(holdout) })
    });
    let mut view = verdict(&found.trial);
    view["reverted"] = json!(found.reverted.is_some());
    view["classes"] = classes.collect();
    view
}

fn arm(found: &Arms) -> Value {
    let mean = (found.connections > 0).then(|| found.ln_busy.exp() / 1e9);
    json!({
        "connections": found.connections,
        "geometric_mean_completion_s": mean,
        "sent_segments": found.sent,
        "retransmitted_segments": found.retransmits,
        "timeouts": found.timeouts,
    })
}
