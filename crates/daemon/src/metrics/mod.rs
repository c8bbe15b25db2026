//! Counts for Prometheus. Labels have few values: no address and no prefix is a label. `docs/gateway-metrics.md` lists all of them.

mod plain;
pub(crate) mod textfile;

use std::sync::atomic::{AtomicU64, Ordering};

use firstflight_gateway::{Arm, Connection, Mode, Refused, Stage, Verdict};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry, Unit};

/// Upper bounds of the classes of completion time, seconds.
const SECONDS: [f64; 12] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];

/// Upper bounds of the classes of first windows, segments: the stack's own is the first.
const WINDOWS: [f64; 7] = [10.0, 15.0, 20.0, 30.0, 45.0, 90.0, 180.0];

/// Groups of connections by their start: `no_room` where a plan was in force and the data of others left no more than the stack's window.
/// So `planned` and `holdout` compare like with like.
const STARTS: [&str; 4] = ["stock", "holdout", "planned", "no_room"];

/// Groups of connections by their peer.
const PEERS: [&str; 2] = ["client", "local"];

/// Sets of labels, each of which has words of a fixed set.
macro_rules! labels {
    ($($name:ident: $($label:ident),+;)+) => {
        $(
            #[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
            struct $name {
                $($label: &'static str,)+
            }
        )+
    };
}

labels! {
    ByStart: start, peer;
    ByPeer: peer;
    ByTransfer: start;
    ByKind: decision;
    ByReason: reason;
    ByMode: mode;
    ByOrder: origin, order;
    ByGiven: order, result;
    ByBound: bound;
    ByHypothesis: without;
    Build: version;
    Path: mechanism;
}

type Number = Gauge<u64, AtomicU64>;
type Real = Gauge<f64, AtomicU64>;

/// State of the gateway at a tick, which the gauges show.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) mode: Mode,
    /// Whether the operator has stopped all plans.
    pub(crate) stopped: bool,
    /// Whether the trial of the host has.
    pub(crate) reverted: bool,
    pub(crate) prefixes: u64,
    pub(crate) plans: u64,
    /// Orders in force of the configuration and of the socket: `set`, `freeze`, `off`.
    pub(crate) orders: [[u64; 3]; 2],
    /// Orders that the present limits do not allow.
    pub(crate) waiting: u64,
    pub(crate) trial: Verdict,
    /// Live connections, where they are counted.
    pub(crate) live: Option<u64>,
    /// Reports that the kernel's program had to drop.
    pub(crate) lost: Option<u64>,
    /// Bytes of the newest snapshot, failures of the disk, and the age of the snapshot, seconds.
    pub(crate) store: (u64, u64, Option<f64>),
    /// Whether the newest reload was taken.
    pub(crate) reloaded: bool,
    /// Time since 1970, seconds.
    pub(crate) wall: f64,
}

/// All counts.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    adopted: Counter,
    /// By peer and start: to look up a label costs more than to count.
    ended: [[Ended; STARTS.len()]; PEERS.len()],
    /// First windows of planned connections, by peer.
    given: [Histogram; PEERS.len()],
    decisions: Family<ByKind, Counter>,
    transfers: Family<ByTransfer, Counter>,
    operator_orders: Family<ByGiven, Counter>,
    warnings: Counter,
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
    pub(crate) share_connected: Number,
    gauges: Gauges,
}

/// Counts of connections that ended, of one peer and start.
#[derive(Debug)]
struct Ended {
    connections: Counter,
    retransmits: Counter,
    sent: Counter,
    timeouts: Counter,
    first_window_losses: Counter,
    busy: Histogram,
}

/// Metrics that [`State`] sets. Counters of others are set, too: they never fall while the process runs.
#[derive(Debug)]
struct Gauges {
    mode: Family<ByMode, Number>,
    enforcing: Number,
    stopped: Number,
    reverted: Number,
    prefixes: Number,
    plans: Number,
    orders: Family<ByOrder, Number>,
    waiting: Number,
    blocks: Number,
    ratio: Family<ByBound, Real>,
    chance: Family<ByHypothesis, Real>,
    live: Real,
    lost: Counter,
    snapshot: Number,
    snapshot_age: Real,
    store_failures: Counter,
    reloaded: Number,
    tick: Real,
}

/// Registers a metric, of which the registry keeps one half.
fn add<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

/// The same, with a unit in its name.
fn add_in<M: Metric + Clone>(registry: &mut Registry, unit: Unit, name: &str, help: &str, metric: M) -> M {
    registry.register_with_unit(name, help, unit, metric.clone());
    metric
}

impl Metrics {
    /// Counts of zero of a gateway that keeps at most this many prefixes, started at this time, with this mechanism in the kernel.
    pub(crate) fn new(most: u32, started: f64, mechanism: &'static str) -> Self {
        let mut registry = Registry::with_prefix("firstflight_gateway");
        let r = &mut registry;
        let version = env!("CARGO_PKG_VERSION");
        r.register("build", "Version of the gateway", Info::new(Build { version }));
        r.register("kernel", "Way by which the kernel starts connections", Info::new(Path { mechanism }));
        add_in(
            r,
            Unit::Seconds,
            "start_time",
            "Time since 1970 at which the gateway started",
            Real::default(),
        )
        .set(started);
        let help = "Most prefixes that are kept";
        add(r, "prefixes_limit", help, Number::default()).set(most.into());
        let mut by_start = |name, help| add(r, name, help, Family::<ByStart, Counter>::default());
        let connections = by_start("connections", "Connections that ended, by start and peer");
        let retransmits = by_start("retransmitted_segments", "Segments retransmitted, by start and peer");
        let sent = by_start("sent_segments", "Data segments sent, with retransmissions, by start and peer");
        let timeouts = by_start("timeouts", "Retransmission timeouts, by start and peer");
        let help = "Connections that retransmitted a segment of the first window, by start and peer";
        let first_window_losses = by_start("first_window_losses", help);
        let help =
            "Time with data waiting for an acknowledgement, of connections that ended, by start and peer";
        let busy: Family<ByStart, Histogram> = Family::new_with_constructor(|| Histogram::new(SECONDS));
        let busy = add_in(r, Unit::Seconds, "busy", help, busy);
        let help = "First windows that planned connections got, of those that ended, by peer";
        let given: Family<ByPeer, Histogram> = Family::new_with_constructor(|| Histogram::new(WINDOWS));
        let given = add(r, "planned_window_segments", help, given);
        let given = PEERS.map(|peer| given.get_or_create_owned(&ByPeer { peer }));
        let ended = PEERS.map(|peer| {
            STARTS.map(|start| {
                let by = ByStart { start, peer };
                let of = |family: &Family<ByStart, Counter>| family.get_or_create_owned(&by);
                Ended {
                    connections: of(&connections),
                    retransmits: of(&retransmits),
                    sent: of(&sent),
                    timeouts: of(&timeouts),
                    first_window_losses: of(&first_window_losses),
                    busy: busy.get_or_create_owned(&by),
                }
            })
        });
        let help = "Connections older than the gateway that had sent data";
        let adopted = add(r, "adopted", help, Counter::default());
        let decisions = add(r, "decisions", "Decisions, by kind", Family::default());
        let transfers = add(r, "transfer_plans", "Starts for single transfers, by answer", Family::default());
        let help = "Orders that were given at the socket or by a signal, by kind and result";
        let operator_orders = add(r, "operator_orders", help, Family::default());
        let help = "Warnings about the kernel, the logs and the store, without repetitions of the newest one";
        let warnings = add(r, "warnings", help, Counter::default());
        let help = "Records of other gateways that were refused, by reason";
        let share_refused = add(r, "share_refused", help, Family::default());
        let help = "Own measurements that the store of the exchange took";
        let share_published = add(r, "share_published", help, Counter::default());
        let help = "Observations of other gateways that were taken";
        let share_taken = add(r, "share_taken", help, Counter::default());
        let help =
            "Requests to the store of the exchange and observations from it for which there was no room";
        let share_dropped = add(r, "share_dropped", help, Counter::default());
        let help = "Failures of the store of the exchange";
        let share_failures = add(r, "share_failures", help, Counter::default());
        let help = "One while the store of the exchange answers";
        let share_connected = add(r, "share_connected", help, Number::default());
        let gauges = Gauges::new(r);
        Self {
            registry,
            adopted,
            ended,
            given,
            decisions,
            transfers,
            operator_orders,
            warnings,
            share_refused,
            share_published,
            share_taken,
            share_dropped,
            share_failures,
            share_connected,
            gauges,
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
        self.transfers.get_or_create(&ByTransfer { start }).inc();
    }

    /// Counts a connection; `local` is one within this host.
    pub(crate) fn report(&self, connection: &Connection, local: bool) {
        if connection.stage == Stage::Live {
            self.adopted.inc();
            return;
        }
        let peer = usize::from(local);
        if let Arm::Planned(window) = connection.arm {
            self.given[peer].observe(window.into());
        }
        let start = match connection.arm {
            Arm::Stock => 0,
            arm if !arm.is_compared() => 3,
            Arm::Holdout(_) => 1,
            Arm::Planned(_) => 2,
        };
        let ended = &self.ended[peer][start];
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

    /// Counts an order of the operator of this kind, one of a fixed set.
    pub(crate) fn ordered(&self, order: &'static str, done: bool) {
        let result = if done { "done" } else { "refused" };
        self.operator_orders.get_or_create(&ByGiven { order, result }).inc();
    }

    /// Counts a warning.
    pub(crate) fn warning(&self) {
        self.warnings.inc();
    }

    /// Shows a state.
    pub(crate) fn show(&self, state: &State) {
        self.gauges.show(state);
    }

    /// All counts as OpenMetrics text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        text::encode(&mut text, &self.registry).expect("a string takes all text");
        text
    }

    /// All counts in the text format 0.0.4 of Prometheus, which node_exporter reads.
    pub(crate) fn plain(&self) -> String {
        plain::of(&self.text())
    }
}

impl Gauges {
    fn new(r: &mut Registry) -> Self {
        let number = Number::default;
        Self {
            mode: add(r, "mode", "One for the mode of the gateway, zero for the others", Family::default()),
            enforcing: add(r, "enforcing", "One if plans are applied, zero if not", number()),
            stopped: add(r, "stopped", "One while the operator or the trial has stopped all plans", number()),
            reverted: add(
                r,
                "reverted",
                "One while the trial over all prefixes has stopped all plans",
                number(),
            ),
            prefixes: add(r, "prefixes", "Prefixes of which something is known", number()),
            plans: add(r, "plans", "Prefixes with a plan in force", number()),
            orders: add(r, "orders", "Orders in force, by origin and kind", Family::default()),
            waiting: add(
                r,
                "orders_waiting",
                "Orders that are kept, and that the present limits do not allow",
                number(),
            ),
            blocks: add(r, "trial_blocks", "Blocks of the trial over all prefixes, since it began", number()),
            ratio: add(
                r,
                "trial_completion_ratio",
                "Completion time of planned connections over that of held-out ones, geometric mean in round-trip times, with the \
                 ends of its confidence sequence; not a number before the third block",
                Family::default(),
            ),
            chance: add(
                r,
                "trial_chance",
                "Greatest probability of the evidence of the trial if planned connections were not slower, or had no more losses",
                Family::default(),
            ),
            live: add(
                r,
                "live_connections",
                "Connections that the kernel counts now; not a number where it counts none",
                Real::default(),
            ),
            lost: add(
                r,
                "lost_reports",
                "Reports of connections that did not fit the ring buffer",
                Counter::default(),
            ),
            snapshot: add(r, "snapshot_bytes", "Size of the newest snapshot", number()),
            snapshot_age: add_in(
                r,
                Unit::Seconds,
                "snapshot_age",
                "Time since the newest snapshot was begun; not a number without one",
                Real::default(),
            ),
            store_failures: add(
                r,
                "store_failures",
                "Times that the state folder could not be written",
                Counter::default(),
            ),
            reloaded: add(
                r,
                "reload_successful",
                "One if the newest reload of the configuration was taken, or none was asked for",
                number(),
            ),
            tick: add_in(
                r,
                Unit::Seconds,
                "last_tick_timestamp",
                "Time since 1970 at which the gateway's thread worked last, once a second",
                Real::default(),
            ),
        }
    }

    fn show(&self, state: &State) {
        let flag = |gauge: &Number, is: bool| {
            gauge.set(is.into());
        };
        for (mode, word) in [Mode::Observe, Mode::Advise, Mode::Enforce].map(|mode| (mode, mode.label())) {
            flag(&self.mode.get_or_create(&ByMode { mode: word }), state.mode == mode);
        }
        let stopped = state.stopped || state.reverted;
        flag(&self.enforcing, state.mode == Mode::Enforce && !stopped);
        flag(&self.stopped, stopped);
        flag(&self.reverted, state.reverted);
        self.prefixes.set(state.prefixes);
        self.plans.set(state.plans);
        for (origin, counts) in ["file", "socket"].into_iter().zip(state.orders) {
            for (order, count) in ["set", "freeze", "off"].into_iter().zip(counts) {
                self.orders.get_or_create(&ByOrder { origin, order }).set(count);
            }
        }
        self.waiting.set(state.waiting);
        self.blocks.set(state.trial.blocks.into());
        for (at, bound) in ["low", "mean", "high"].into_iter().enumerate() {
            self.ratio
                .get_or_create(&ByBound { bound })
                .set(state.trial.effect.map_or(f64::NAN, |effect| effect[at]));
        }
        for (without, chance) in [("slowdown", state.trial.slower), ("losses", state.trial.lossier)] {
            self.chance.get_or_create(&ByHypothesis { without }).set(chance);
        }
        self.live.set(state.live.map_or(f64::NAN, |live| live as f64));
        let (bytes, failures, age) = state.store;
        // The kernel may not answer: the number before stays.
        state.lost.iter().for_each(|lost| self.lost.inner().store(*lost, Ordering::Relaxed));
        self.store_failures.inner().store(failures, Ordering::Relaxed);
        self.snapshot.set(bytes);
        self.snapshot_age.set(age.unwrap_or(f64::NAN));
        flag(&self.reloaded, state.reloaded);
        self.tick.set(state.wall);
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

    fn empty() -> Metrics {
        Metrics::new(1_000_000, 1.7e9, "ebpf")
    }

    fn state() -> State {
        State {
            mode: Mode::Enforce,
            stopped: false,
            reverted: true,
            prefixes: 3,
            plans: 2,
            orders: [[1, 2, 3], [4, 5, 6]],
            waiting: 7,
            trial: Verdict { blocks: 9, effect: Some([0.5, 0.75, 1.5]), slower: 1.0, lossier: 0.25 },
            live: Some(11),
            lost: Some(4),
            store: (170, 5, Some(30.5)),
            reloaded: false,
            wall: 1.8e9,
        }
    }

    #[test]
    fn connections_are_counted_by_start_and_peer_and_never_by_address() {
        let metrics = empty();
        metrics.report(&connection(Arm::Planned(34)), false);
        metrics.report(&connection(Arm::Planned(20)), false);
        metrics.report(&connection(Arm::Planned(20)), true);
        metrics.report(&connection(Arm::Holdout(34)), false);
        metrics.report(&Connection { stage: Stage::Live, ..connection(Arm::Stock) }, false);
        metrics.decided("plan");
        let text = metrics.text();
        for line in [
            "firstflight_gateway_connections_total{start=\"planned\",peer=\"client\"} 2",
            "firstflight_gateway_connections_total{start=\"holdout\",peer=\"client\"} 1",
            "firstflight_gateway_retransmitted_segments_total{start=\"planned\",peer=\"client\"} 4",
            "firstflight_gateway_adopted_total 1",
            "firstflight_gateway_decisions_total{decision=\"plan\"} 1",
            "firstflight_gateway_connections_total{start=\"planned\",peer=\"local\"} 1",
            "firstflight_gateway_planned_window_segments_bucket{le=\"20.0\",peer=\"client\"} 1",
            "firstflight_gateway_busy_seconds_bucket{le=\"0.2\",start=\"planned\",peer=\"client\"} 2",
            "firstflight_gateway_busy_seconds_bucket{le=\"0.1\",start=\"planned\",peer=\"client\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
        assert!(!text.contains("192.0.2"));
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn a_state_is_shown_and_what_is_not_known_is_no_number() {
        let metrics = empty();
        metrics.show(&state());
        metrics.ordered("off", true);
        metrics.ordered("set", false);
        let text = metrics.text();
        for line in [
            "mode{mode=\"enforce\"} 1",
            "mode{mode=\"observe\"} 0",
            // The trial has stopped the plans.
            "enforcing 0",
            "stopped 1",
            "reverted 1",
            "prefixes 3",
            "prefixes_limit 1000000",
            "orders{origin=\"file\",order=\"freeze\"} 2",
            "orders{origin=\"socket\",order=\"off\"} 6",
            "orders_waiting 7",
            "trial_blocks 9",
            "trial_completion_ratio{bound=\"low\"} 0.5",
            "trial_completion_ratio{bound=\"high\"} 1.5",
            "trial_chance{without=\"losses\"} 0.25",
            "live_connections 11.0",
            "lost_reports_total 4",
            "store_failures_total 5",
            "snapshot_age_seconds 30.5",
            "reload_successful 0",
            "last_tick_timestamp_seconds 1800000000.0",
            "start_time_seconds 1700000000.0",
            "operator_orders_total{order=\"off\",result=\"done\"} 1",
            "operator_orders_total{order=\"set\",result=\"refused\"} 1",
            "kernel_info{mechanism=\"ebpf\"} 1",
            concat!("build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
        ] {
            let line = format!("firstflight_gateway_{line}");
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
        let trial = Verdict { effect: None, ..state().trial };
        // The kernel does not answer: the number before stays.
        metrics.show(&State {
            live: None,
            lost: None,
            store: (0, 5, None),
            trial,
            reverted: false,
            ..state()
        });
        let text = metrics.text();
        for line in [
            "live_connections NaN",
            "snapshot_age_seconds NaN",
            "trial_completion_ratio{bound=\"mean\"} NaN",
            "lost_reports_total 4",
            "enforcing 1",
            "stopped 0",
        ] {
            let line = format!("firstflight_gateway_{line}");
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
    }

    /// Metrics of which every label has had every value.
    fn full() -> Metrics {
        let metrics = empty();
        metrics.show(&state());
        for kind in ["set", "remove", "revert_host", "resume_host"] {
            metrics.decided(kind);
        }
        for order in ["set", "freeze", "off", "release", "import", "undo", "reload", "canary", "denied"] {
            [true, false].into_iter().for_each(|done| metrics.ordered(order, done));
        }
        ["stock", "planned"].into_iter().for_each(|start| metrics.transfer(start));
        Refused::LABELS.into_iter().for_each(|reason| metrics.share_refused(reason));
        metrics
    }

    /// `docs/gateway-metrics.md`.
    const PAGE: &str = include_str!("../../../../docs/gateway-metrics.md");

    #[test]
    fn the_page_states_every_metric_and_the_number_of_series() {
        let plain = full().plain();
        let series = plain.lines().filter(|line| !line.starts_with('#')).count();
        assert!(PAGE.contains(&format!("at most {series} series")), "there are {series}");
        let metrics = plain.lines().filter_map(|line| line.strip_prefix("# TYPE firstflight_gateway_"));
        for (name, kind) in metrics.filter_map(|line| line.split_once(' ')) {
            let row = format!("| `{name}` | {kind} |");
            assert!(PAGE.contains(&row), "no row {row:?}");
        }
        let rows = PAGE.lines().filter(|line| {
            ["| counter |", "| gauge |", "| histogram |"].iter().any(|kind| line.contains(kind))
        });
        for row in rows {
            let name = row.split('`').nth(1).expect("a name");
            assert!(plain.contains(&format!("# TYPE firstflight_gateway_{name} ")), "{name} is no metric");
        }
    }

    #[test]
    fn dashboard_and_alerts_ask_for_no_other_names() {
        let dashboard = include_str!("../../../../packaging/grafana.json");
        let rules = include_str!("../../../../packaging/prometheus/firstflight.rules.yml");
        let text = full().plain();
        let known: std::collections::BTreeSet<&str> =
            text.lines().filter_map(|line| line.split(['{', ' ']).next()).collect();
        for (file, least) in [(dashboard, 30), (rules, 12)] {
            let words = file.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let asked: Vec<_> = words.filter(|word| word.starts_with("firstflight_gateway_")).collect();
            assert!(asked.len() >= least, "{asked:?}");
            for name in asked {
                assert!(known.contains(name), "{name} is none of {known:?}");
            }
        }
    }
}
