//! Shared networks and runners of the simulator's tests.
#![allow(dead_code, reason = "each test program uses its own part")]

pub(crate) mod line;
pub(crate) mod stacks;

use firstflight_contract::{Nanos, Rate};
use firstflight_host::chain::Chain;
use firstflight_net::queue::red::RedConfig;
use firstflight_schemes::registry::AnyPhase;
use firstflight_sim::alike::Alike;
use firstflight_sim::audit::{Recorder, audit};
use firstflight_sim::config::{FlowConfig, LinkConfig, Network, QueueConfig, Sharing, UdpConfig};
use firstflight_sim::dumbbell::Dumbbell;
use firstflight_sim::engine::Mode;
use firstflight_sim::outcome::{Outcome, simulate, simulate_observed};
use firstflight_sim::receiver::AckPolicy;
use firstflight_sim::sender::app::AppConfig;
use firstflight_sim::sender::rto::RtoConfig;
use firstflight_sim::sender::stack::{DataInSyn, ReceiveWindow, Recovery, Stack};

pub(crate) const MS: u64 = 1_000_000;

/// Runs `network` fused and per hop with the auditor and once without observer; asserts that all outcomes
/// agree.
pub(crate) fn run(network: &Network) -> Outcome {
    let fused = audited(network, Mode::Fused).0;
    assert_eq!(fused, audited(network, Mode::PerHop).0, "per hop");
    assert_eq!(fused, simulate(network), "unobserved");
    fused
}

/// Runs `network` with the auditor; returns the outcome and the log.
pub(crate) fn audited(network: &Network, mode: Mode) -> (Outcome, Recorder) {
    let (outcome, recorder) = simulate_observed(network, mode, Recorder::default());
    let violations = audit(network, &outcome, &recorder.log);
    let shown: Vec<String> = violations.iter().take(5).map(ToString::to_string).collect();
    assert!(violations.is_empty(), "{} violations ({mode:?}):\n{}", violations.len(), shown.join("\n"));
    (outcome, recorder)
}

/// A gentle RED queue for packets of 1000 bytes at 10 Mbit/s.
pub(crate) const RED: RedConfig = RedConfig {
    min: 6.0,
    max: 20.0,
    weight: 0.002,
    max_p: 0.1,
    gentle: true,
    ecn: false,
    wait: true,
    limit: 60,
    mean_bytes: None,
    typical_ns: 800_000,
};

/// Parameters of a dumbbell. Times are milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) recovery: Recovery,
    /// Time of the sending host for each segment that an ACK makes it visit, microseconds.
    pub(crate) walk: u64,
    pub(crate) backlog: u32,
    pub(crate) ns2: bool,
    pub(crate) flows: usize,
    pub(crate) mbit_s: u64,
    pub(crate) rtt: u64,
    pub(crate) buffer: u32,
    pub(crate) seconds: u64,
    pub(crate) every: u32,
    pub(crate) initial_window: u32,
    pub(crate) ssthresh: Option<u32>,
    pub(crate) bytes: Option<u64>,
    pub(crate) pauses: Vec<u64>,
    pub(crate) unlimited_too: bool,
    pub(crate) udp_mbit_s: u64,
    pub(crate) red: bool,
    /// Replaces drop-tail or RED.
    pub(crate) queue: Option<QueueConfig>,
    pub(crate) ecn: bool,
    pub(crate) loss: f64,
    pub(crate) handshake: bool,
    pub(crate) data_in_syn: DataInSyn,
    /// Segments that the receiving application reads at a time; the window is twice that.
    pub(crate) reads: Option<u32>,
    pub(crate) schemes: Vec<&'static str>,
    pub(crate) seed: u64,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            recovery: Recovery::Sack,
            walk: 0,
            backlog: u32::MAX,
            ns2: false,
            flows: 1,
            mbit_s: 10,
            rtt: 100,
            buffer: 60,
            seconds: 20,
            every: 1,
            initial_window: 2,
            ssthresh: None,
            bytes: None,
            pauses: vec![],
            unlimited_too: false,
            udp_mbit_s: 0,
            red: false,
            queue: None,
            ecn: false,
            loss: 0.0,
            handshake: false,
            data_in_syn: DataInSyn::Never,
            reads: None,
            schemes: vec!["slow-start", "reno"],
            seed: 1,
        }
    }
}

pub(crate) fn stack(case: &Case) -> Stack {
    let base = match (case.ns2, case.recovery.is_rack()) {
        (true, _) => stacks::ns2(),
        (false, true) => stacks::linux(),
        (false, false) => stacks::rfc(),
    };
    Stack {
        mss: 960,
        recovery: case.recovery,
        sack_walk: case.walk * 1000,
        ack_backlog: case.backlog,
        initial_window: case.initial_window,
        initial_ssthresh: case.ssthresh,
        receive_window: case.reads.map_or(ReceiveWindow::fixed(100_000), |reads| {
            let write = case.bytes.map_or(u32::MAX, |bytes| bytes.div_ceil(960) as u32);
            ReceiveWindow::fixed(2 * reads).read_every(reads, write)
        }),
        rto: RtoConfig { max: 60_000 * MS, ..base.rto },
        ecn: case.ecn,
        handshake: case.handshake,
        data_in_syn: case.data_in_syn,
        ..base
    }
}

pub(crate) fn network(case: &Case) -> Network {
    let rate = Rate(case.mbit_s * 1_000_000);
    let limit = case.buffer;
    let queue = if let Some(queue) = case.queue {
        queue
    } else if case.red {
        QueueConfig::Red(RedConfig {
            min: f64::from(limit) / 10.0,
            max: f64::from(limit) / 3.0,
            ecn: case.ecn,
            limit,
            typical_ns: rate.time_for(1000).0,
            ..RED
        })
    } else {
        QueueConfig::Packets(limit)
    };
    let rtt = case.rtt * MS;
    let mut net = Dumbbell::new(rate, Rate(10 * rate.0), Nanos(rtt), queue, QueueConfig::Packets(100_000));
    net.links[0].loss = case.loss;
    let chain: Alike<_> =
        Chain::new(AnyPhase::chain(&case.schemes).expect("registered")).expect("a chain").into();
    let stack: Alike<_> = stack(case).into();
    let flows = (0..case.flows).map(|i| {
        let spread = rtt / 5 * i as u64 / (case.flows as u64).max(2);
        let paths = net.attach(&format!("flow.{i}"), Nanos(rtt * 9 / 10 + spread));
        let unlimited = case.unlimited_too && i == 0;
        FlowConfig {
            name: format!("flow.{i}"),
            forward: paths.forward,
            reverse: paths.reverse,
            stack: stack.clone(),
            chain: chain.clone(),
            sharing: Sharing::default(),
            app: AppConfig {
                start: i as u64 * 37 * MS,
                bytes: if unlimited { None } else { case.bytes },
                pauses: case.pauses.iter().map(|ms| ms * MS).collect(),
                lifetime: None,
                ..AppConfig::default()
            },
            header: 40,
            ack_size: 40,
            ack_policy: AckPolicy { every: case.every, quick: 0, timer: 100 * MS },
        }
    });
    let flows = flows.collect();
    let udp = (case.udp_mbit_s > 0).then(|| UdpConfig {
        name: "cbr".into(),
        path: vec![0],
        size: 1000,
        rate: Rate(case.udp_mbit_s * 1_000_000),
        on: vec![(Nanos(500 * MS), Nanos(2000 * MS)), (Nanos(3000 * MS), Nanos(9000 * MS))],
    });
    Network {
        links: net.links,
        flows,
        udp: udp.into_iter().collect(),
        seed: case.seed,
        end: Nanos::from_secs(case.seconds),
        until_finished: case.bytes.is_some(),
        grid: Nanos::from_secs(1),
        grid_points: u64::MAX,
        stop: None,
    }
}

/// Turns `case` into a line of routers with links in both directions. Flow `i` goes from router `spans[i].0`
/// to router `spans[i].1`, on the backward links if the second is smaller.
pub(crate) fn line_of_routers(case: &Case, delays_us: &[u64], spans: &[(usize, usize)]) -> Network {
    let mut net = network(&Case { flows: spans.len(), ..case.clone() });
    let hops = delays_us.len();
    let link = |name: String, us: u64| {
        let rate = Rate(case.mbit_s * 1_000_000);
        let queue = QueueConfig::Packets(case.buffer);
        let mut link = LinkConfig::new(name, rate, Nanos(us * 1000), queue);
        link.loss = case.loss;
        link
    };
    net.links = (0..hops).map(|i| link(format!("right{i}"), delays_us[i])).collect();
    net.links.extend((0..hops).map(|i| link(format!("left{i}"), delays_us[i])));
    for (flow, &(from, to)) in net.flows.iter_mut().zip(spans) {
        let right: Vec<usize> = (from.min(to)..from.max(to)).collect();
        let left: Vec<usize> = right.iter().rev().map(|i| hops + i).collect();
        (flow.forward, flow.reverse) = if from < to { (right, left) } else { (left, right) };
    }
    for udp in &mut net.udp {
        udp.path = (0..hops).collect();
    }
    net
}
