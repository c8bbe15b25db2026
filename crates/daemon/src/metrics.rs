//! Counts for Prometheus. Labels have few values: no address and no prefix is a label.

use std::sync::atomic::AtomicU64;

use firstflight_gateway::{Arm, Connection, Refused, Stage};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Upper bounds of the classes of completion time, seconds.
const SECONDS: [f64; 12] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];

/// Upper bounds of the classes of first windows, segments: the stack's own is the first.
const WINDOWS: [f64; 7] = [10.0, 15.0, 20.0, 30.0, 45.0, 90.0, 180.0];

/// Groups of connections by their start: `stock`, `holdout`, `planned`, or `no_room` where a plan was in force and the data of others left no
/// more than the stack's window. So `planned` and `holdout` compare like with like.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByStart {
    start: &'static str,
}

/// Kinds of decisions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByKind {
    decision: &'static str,
}

/// Reasons for which records of other gateways are refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByReason {
    reason: &'static str,
}

/// All counts.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    adopted: Counter,
    /// Of stock, held-out and planned connections, and those without room: to look up a label costs more than to count.
    ended: [Ended; 4],
    /// First windows of planned connections.
    given: Histogram,
    decisions: Family<ByKind, Counter>,
    transfers: Family<ByStart, Counter>,
    share_refused: Family<ByReason, Counter>,
    /// Own measurements that the store took.
    pub(crate) share_published: Counter,
    /// Observations of other gateways that were taken.
    pub(crate) share_taken: Counter,
    /// Requests and observations for which there was no room.
    pub(crate) share_dropped: Counter,
    /// Failures of the store.
    pub(crate) share_failures: Counter,
    /// One while the store answers.
    pub(crate) share_connected: Gauge<u64, AtomicU64>,
    /// Prefixes of which something is known.
    pub(crate) prefixes: Gauge<u64, AtomicU64>,
    /// Prefixes with a plan in force.
    pub(crate) plans: Gauge<u64, AtomicU64>,
    /// Reports that the kernel's program had to drop.
    pub(crate) lost: Gauge<u64, AtomicU64>,
    /// One if plans are applied.
    pub(crate) enforcing: Gauge<u64, AtomicU64>,
    /// One while the operator or the trial has stopped all plans.
    pub(crate) stopped: Gauge<u64, AtomicU64>,
    /// Bytes of the newest snapshot.
    pub(crate) snapshot: Gauge<u64, AtomicU64>,
    /// Age of the newest snapshot, seconds; not a number without one.
    pub(crate) snapshot_age: Gauge<f64, AtomicU64>,
    /// Failures of the disk of the state folder.
    pub(crate) store_failures: Gauge<u64, AtomicU64>,
}

/// Counts of connections that ended and were started in one way.
#[derive(Debug)]
struct Ended {
    connections: Counter,
    retransmits: Counter,
    sent: Counter,
    timeouts: Counter,
    first_window_losses: Counter,
    busy: Histogram,
}

impl Metrics {
    /// Counts of zero.
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("firstflight_gateway");
        let connections = Family::<ByStart, Counter>::default();
        registry.register(
            "connections",
            "Connections that ended, by how they were started",
            connections.clone(),
        );
        let adopted = Counter::default();
        registry.register(
            "adopted",
            "Connections older than the gateway that had sent data",
            adopted.clone(),
        );
        let retransmits = Family::<ByStart, Counter>::default();
        registry.register("retransmitted_segments", "Segments retransmitted, by start", retransmits.clone());
        let sent = Family::<ByStart, Counter>::default();
        registry.register(
            "sent_segments",
            "Data segments sent, with retransmissions, by start",
            sent.clone(),
        );
        let timeouts = Family::<ByStart, Counter>::default();
        registry.register("timeouts", "Retransmission timeouts, by start", timeouts.clone());
        let first_window_losses = Family::<ByStart, Counter>::default();
        let help = "Connections that retransmitted a segment of the first window, by start";
        registry.register("first_window_losses", help, first_window_losses.clone());
        let busy: Family<ByStart, Histogram> = Family::new_with_constructor(|| Histogram::new(SECONDS));
        let help = "Time with data waiting for an acknowledgement, of connections that ended, by start";
        registry.register_with_unit("busy", help, Unit::Seconds, busy.clone());
        let given = Histogram::new(WINDOWS);
        let help = "First windows that planned connections got, of those that ended";
        registry.register("planned_window_segments", help, given.clone());
        let decisions = Family::default();
        registry.register("decisions", "Decisions, by kind", decisions.clone());
        let transfers = Family::default();
        registry.register("transfer_plans", "Starts for single transfers, by answer", transfers.clone());
        let share_refused = Family::default();
        let help = "Records of other gateways that were refused, by reason";
        registry.register("share_refused", help, share_refused.clone());
        let mut counter = |name, help| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let share_published = counter("share_published", "Own measurements that the store took");
        let share_taken = counter("share_taken", "Observations of other gateways that were taken");
        let help = "Requests to the store and observations from it for which there was no room";
        let share_dropped = counter("share_dropped", help);
        let share_failures = counter("share_failures", "Failures of the store");
        let snapshot_age = Gauge::<f64, AtomicU64>::default();
        let help = "Time since the newest snapshot was begun; not a number without one";
        registry.register_with_unit("snapshot_age", help, Unit::Seconds, snapshot_age.clone());
        let mut gauge = |name, help| {
            let gauge = Gauge::<u64, AtomicU64>::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let ended = ["stock", "holdout", "planned", "no_room"].map(|start| {
            let by = ByStart { start };
            let of = |family: &Family<ByStart, Counter>| family.get_or_create_owned(&by);
            Ended {
                connections: of(&connections),
                retransmits: of(&retransmits),
                sent: of(&sent),
                timeouts: of(&timeouts),
                first_window_losses: of(&first_window_losses),
                busy: busy.get_or_create_owned(&by),
            }
        });
        Self {
            prefixes: gauge("prefixes", "Prefixes of which something is known"),
            plans: gauge("plans", "Prefixes with a plan in force"),
            lost: gauge("lost_reports", "Reports of connections that did not fit the ring buffer"),
            enforcing: gauge("enforcing", "One if plans are applied, zero if not"),
            stopped: gauge("stopped", "One while the operator or the trial has stopped all plans"),
            snapshot: gauge("snapshot_bytes", "Size of the newest snapshot"),
            share_connected: gauge("share_connected", "One while the store of the exchange answers"),
            store_failures: gauge("store_failures", "Times that the state folder could not be written"),
            snapshot_age,
            registry,
            adopted,
            ended,
            given,
            decisions,
            transfers,
            share_refused,
            share_published,
            share_taken,
            share_dropped,
            share_failures,
        }
    }

    /// Counts a record of another gateway that was refused for this reason, one of [`Refused::LABELS`].
    pub(crate) fn share_refused(&self, reason: &'static str) {
        self.share_refused.get_or_create(&ByReason { reason }).inc();
    }

    /// Records that were refused, by reason; reasons without one are left out.
    pub(crate) fn share_refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let count =
            |reason: &'static str| Some((reason, self.share_refused.get(&ByReason { reason })?.get()));
        Refused::LABELS.into_iter().filter_map(count)
    }

    /// Counts a start for a single transfer: `planned` or `stock`.
    pub(crate) fn transfer(&self, start: &'static str) {
        self.transfers.get_or_create(&ByStart { start }).inc();
    }

    /// Counts a connection.
    pub(crate) fn report(&self, connection: &Connection) {
        if connection.stage == Stage::Live {
            self.adopted.inc();
            return;
        }
        if let Arm::Planned(window) = connection.arm {
            self.given.observe(window.into());
        }
        let ended = match connection.arm {
            Arm::Stock => &self.ended[0],
            arm if !arm.is_compared() => &self.ended[3],
            Arm::Holdout(_) => &self.ended[1],
            Arm::Planned(_) => &self.ended[2],
        };
        ended.connections.inc();
        ended.retransmits.inc_by(connection.retransmits.into());
        ended.sent.inc_by(connection.sent.into());
        ended.timeouts.inc_by(connection.timeouts.into());
        ended.first_window_losses.inc_by((connection.first_window_lost > 0).into());
        ended.busy.observe(connection.busy.0 as f64 * 1e-9);
    }

    /// Counts a decision of this kind, one of a fixed set.
    pub(crate) fn decided(&self, decision: &'static str) {
        self.decisions.get_or_create(&ByKind { decision }).inc();
    }

    /// All counts as OpenMetrics text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        text::encode(&mut text, &self.registry).expect("a string takes all text");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_contract::Nanos;

    fn connection(arm: Arm) -> Connection {
        Connection {
            at: Nanos(1),
            peer: "192.0.2.7".parse().expect("an address"),
            arm,
            stage: Stage::Ended,
            age: Nanos(2),
            busy: Nanos(150_000_000),
            mss: 1448,
            bytes: 100_000,
            handshake_rtt: Nanos(3),
            min_rtt: Nanos(3),
            srtt: Nanos(3),
            rate: 1,
            limited: false,
            shared: false,
            cwnd: 20,
            ssthresh: None,
            receive_window: 65_535,
            sent: 72,
            retransmits: 2,
            timeouts: 1,
            first_window_lost: 1,
        }
    }

    #[test]
    fn connections_are_counted_by_start_and_never_by_address() {
        let metrics = Metrics::new();
        metrics.report(&connection(Arm::Planned(34)));
        metrics.report(&connection(Arm::Planned(20)));
        metrics.report(&connection(Arm::Holdout(34)));
        metrics.report(&Connection { stage: Stage::Live, ..connection(Arm::Stock) });
        metrics.decided("plan");
        metrics.lost.set(4);
        let text = metrics.text();
        for line in [
            "firstflight_gateway_connections_total{start=\"planned\"} 2",
            "firstflight_gateway_connections_total{start=\"holdout\"} 1",
            "firstflight_gateway_retransmitted_segments_total{start=\"planned\"} 4",
            "firstflight_gateway_adopted_total 1",
            "firstflight_gateway_decisions_total{decision=\"plan\"} 1",
            "firstflight_gateway_lost_reports 4",
            "firstflight_gateway_busy_seconds_bucket{le=\"0.2\",start=\"planned\"} 2",
            "firstflight_gateway_busy_seconds_bucket{le=\"0.1\",start=\"planned\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
        assert!(!text.contains("192.0.2"));
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn the_dashboard_asks_for_no_other_names() {
        let dashboard = include_str!("../../../packaging/grafana.json");
        let dashboard: serde_json::Value = serde_json::from_str(dashboard).expect("JSON");
        let metrics = Metrics::new();
        metrics.report(&connection(Arm::Stock));
        metrics.decided("plan");
        metrics.share_refused("signature");
        let text = metrics.text();
        let known: std::collections::BTreeSet<&str> =
            text.lines().filter_map(|line| line.split(['{', ' ']).next()).collect();
        let mut asked = 0;
        for panel in dashboard["panels"].as_array().expect("panels") {
            for target in panel["targets"].as_array().expect("targets") {
                let words = target["expr"].as_str().expect("a query");
                let words = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                for name in words.filter(|word| word.starts_with("firstflight_")) {
                    assert!(known.contains(name), "{name} is none of {known:?}");
                    asked += 1;
                }
            }
        }
        assert_eq!(asked, 19);
    }
}
