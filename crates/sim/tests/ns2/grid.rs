//! Rows of `tests/ns2/scripts/grid.psv`, as options for ns-2 and as networks for this simulator.

use firstflight_contract::{Nanos, Rate};
use firstflight_host::chain::Chain;
use firstflight_net::queue::red::RedConfig;
use firstflight_random::Stream;
use firstflight_schemes::registry::AnyPhase;
use firstflight_schemes::scheme::Value;
use firstflight_sim::config::{FlowConfig, Network, QueueConfig, Sharing};
use firstflight_sim::dumbbell::Dumbbell;
use firstflight_sim::receiver::AckPolicy;
use firstflight_sim::sender::app::AppConfig;
use firstflight_sim::sender::rto::RtoConfig;
use firstflight_sim::sender::stack::{Recovery, Stack};

use crate::common::stacks;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;
/// ns-2's `tcpTick_`.
const TICK: u64 = 10 * MS;

/// Parses a table with `|` between columns and a heading line; `#` starts a comment.
pub(crate) fn table(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let heading: Vec<&str> = lines.next().expect("a heading").split('|').collect();
    let row = |line: &str| {
        let values: Vec<&str> = line.split('|').collect();
        assert_eq!(values.len(), heading.len(), "columns of {line}");
        heading.iter().zip(values).map(|(&key, value)| (key.into(), value.into())).collect()
    };
    lines.map(row).collect()
}

/// One row of the grid; its columns are the options of `dumbbell.tcl`.
#[derive(Clone, Debug)]
pub(crate) struct Cell(BTreeMap<String, String>);

impl Cell {
    /// All rows of a grid.
    pub(crate) fn all(grid: &str) -> Vec<Self> {
        table(grid).into_iter().map(Self).collect()
    }

    /// Name of the row.
    pub(crate) fn id(&self) -> &str {
        self.text("id")
    }

    /// Text of a column.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.0.get(key).unwrap_or_else(|| panic!("the grid has no column {key}"))
    }

    /// Number in a column.
    pub(crate) fn number(&self, key: &str) -> f64 {
        self.text(key).parse().unwrap_or_else(|_| panic!("{key} of {} is not a number", self.id()))
    }

    fn count(&self, key: &str) -> u64 {
        self.number(key) as u64
    }

    /// Number of runs, with seeds 1, 2, ..., whose mean is compared.
    pub(crate) fn runs(&self) -> u64 {
        self.count("runs")
    }

    /// Arguments of `dumbbell.tcl` for the run with this seed.
    pub(crate) fn options(&self, seed: u64) -> Vec<String> {
        let given = self.0.iter().filter(|(key, _)| !["id", "runs"].contains(&key.as_str()));
        given
            .flat_map(|(key, value)| [key.clone(), value.clone()])
            .chain(["seed".into(), seed.to_string()])
            .collect()
    }

    /// The same run in this simulator. ns-2 draws the phase of each flow's clock, RED's random numbers and
    /// the jitter of the starts from one generator; here each has its own stream.
    pub(crate) fn network(&self, seed: u64) -> Network {
        let rate = Rate(self.count("rate") * 1_000_000);
        let rtt = self.number("rtt") * MS as f64;
        let mut net = Dumbbell::new(
            rate,
            Rate((self.number("access") * rate.0 as f64).round() as u64),
            Nanos(rtt as u64),
            self.queue(rate),
            QueueConfig::Unlimited,
        );
        let chain = self.chain();
        let flows = self.count("flows");
        let flow = |i: u64| {
            let place = if flows > 1 { 2.0 * i as f64 / (flows - 1) as f64 - 1.0 } else { 0.0 };
            let own = rtt * (1.0 + self.number("spread") * place);
            let name = format!("flow.{i}");
            let paths = net.attach(&name, Nanos(own.round() as u64));
            let mut draws = Stream::named(seed, &name);
            let phase = (draws.unit() * TICK as f64) as u64;
            let late = draws.unit() * self.number("jitter") * 1e3;
            FlowConfig {
                name,
                forward: paths.forward,
                reverse: paths.reverse,
                stack: self.stack(phase).into(),
                chain: chain.clone().into(),
                sharing: Sharing::default(),
                app: AppConfig {
                    start: i * self.count("stagger") * MS + late as u64,
                    bytes: None,
                    pauses: vec![],
                    lifetime: None,
                    ..AppConfig::default()
                },
                header: 40,
                ack_size: 40,
                ack_policy: self.ack_policy(),
            }
        };
        // When packets of two flows reach a link in the same nanosecond, ns-2 serves the one that left first,
        // which has the longer access link. This simulator serves the one whose access link has the smaller
        // number, so flows are added in reverse order.
        let flows = (0..flows).rev().map(flow).collect();
        Network {
            links: net.links,
            flows,
            udp: vec![],
            seed,
            end: Nanos((self.number("duration") * 1e9) as u64),
            until_finished: false,
            grid: Nanos::from_secs(1),
            grid_points: u64::MAX,
            stop: None,
        }
    }

    fn chain(&self) -> Chain<AnyPhase> {
        let mut phases = AnyPhase::chain(match self.text("kind") {
            "vegas" => &["vegas", "vegas"],
            "hoe" => &["hoe", "reno"],
            _ => &["slow-start", "reno"],
        })
        .expect("registered");
        for phase in &mut phases {
            // ns-2 grows by 1/cwnd per ACK; its Hoe estimates from a single gap and can only lower the
            // threshold.
            for (label, name, word) in
                [("reno", "growth", 1), ("hoe", "estimator", 1), ("hoe", "apply", 1), ("vegas", "growth", 1)]
            {
                let info = phase.info();
                if info.label == label && info.params.iter().any(|param| param.name == name) {
                    phase.set(name, Value::Choice(word)).expect("a choice");
                }
            }
        }
        Chain::new(phases).expect("a chain")
    }

    fn queue(&self, rate: Rate) -> QueueConfig {
        let limit = self.count("buffer") as u32;
        match self.text("queue") {
            "drop-tail" => QueueConfig::Packets(limit),
            "red" | "red-ecn" => QueueConfig::Red(RedConfig {
                min: self.number("redmin"),
                max: self.number("redmax"),
                weight: 0.002,
                max_p: 0.1,
                gentle: true,
                ecn: self.marks(),
                wait: true,
                limit,
                mean_bytes: None,
                typical_ns: rate.time_for(1000).0,
            }),
            other => panic!("unknown queue {other}"),
        }
    }

    fn marks(&self) -> bool {
        self.text("queue") == "red-ecn"
    }

    fn ack_policy(&self) -> AckPolicy {
        match self.text("receiver") {
            "every" => AckPolicy { every: 1, quick: 0, timer: 0 },
            // ns-2's receiver acknowledges packet 0 at once.
            "delayed" => AckPolicy { every: 2, quick: 1, timer: 100 * MS },
            other => panic!("unknown receiver {other}"),
        }
    }

    fn stack(&self, phase: u64) -> Stack {
        let recovery = match self.text("kind") {
            "tahoe" => Recovery::Tahoe,
            "reno" | "vegas" => Recovery::Reno,
            "newreno" | "hoe" => Recovery::NewReno,
            "sack" => Recovery::Sack,
            other => panic!("unknown recovery {other}"),
        };
        let ssthresh = self.count("ssthresh") as u32;
        let ns2 = stacks::ns2();
        Stack {
            recovery,
            initial_window: self.count("iw") as u32,
            initial_ssthresh: (ssthresh > 0).then_some(ssthresh),
            rto: RtoConfig { granularity: TICK, phase, ..ns2.rto },
            ecn: self.marks(),
            ..ns2
        }
    }
}
