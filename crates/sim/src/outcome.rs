//! Results of a run.

use crate::config::{LinkConfig, Network};
use crate::divided;
use crate::engine::{Engine, Mode, Plan};
use crate::flow::Flow;
use crate::groups;
use crate::observe::{NoObserver, Observer};
use crate::parts::{self, Part};
use crate::windows::{self, Windows};
use firstflight_contract::StartupExit;
use firstflight_net::readings::LinkStats;

/// Result of a finished run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// End time, nanoseconds.
    pub end: u64,
    /// One entry per flow.
    pub flows: Vec<FlowOutcome>,
    /// One entry per link.
    pub links: Vec<LinkOutcome>,
}

/// Result of one connection. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOutcome {
    /// Time at which the connection was established; `None` if it never was.
    pub start: Option<u64>,
    /// Duration of each finished write.
    pub completions: Vec<u64>,
    /// Payload bytes acknowledged cumulatively.
    pub delivered_bytes: u64,
    /// Segments acknowledged cumulatively.
    pub delivered: u32,
    /// Segments acknowledged cumulatively at each grid time since the start.
    pub delivered_at: Vec<u32>,
    /// Segments sent, including retransmissions.
    pub sent: u64,
    /// Retransmissions.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Data packets dropped by queues or lost on wires.
    pub lost: u64,
    /// Of them, first transmissions that left before start-up ended; while start-up lasts, all first transmissions.
    pub lost_before_exit: u64,
    /// Segments sent before the first ACK.
    pub first_flight: u32,
    /// Largest window, bytes.
    pub max_cwnd: u64,
    /// Window at the end, bytes.
    pub final_cwnd: u64,
    /// Exit from start-up; `None` if it had not ended.
    pub startup_exit: Option<StartupExit>,
}

/// Result of one link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkOutcome {
    /// Counters at the end.
    pub stats: LinkStats,
    /// Bytes carried as a share of the bytes that the link could have carried, from 0 to 1.
    pub utilization: f64,
    /// Mean number of waiting packets.
    pub mean_queue: f64,
    /// Results at each reading time, or at the end if that came first; these contain no readings of their
    /// own.
    pub readings: Vec<LinkOutcome>,
}

impl LinkOutcome {
    /// Result of a link with these counters at `end`, nanoseconds, and these at each of its reading times.
    pub fn of(end: u64, (stats, read): (LinkStats, Vec<LinkStats>), config: &LinkConfig) -> Self {
        let readings = config.read_at.iter().zip(read);
        let readings = readings.map(|(at, stats)| Self::by(at.0.min(end), stats, config)).collect();
        Self { readings, ..Self::by(end, stats, config) }
    }

    /// Result of a link with these counters at `end`, without readings.
    fn by(end: u64, stats: LinkStats, config: &LinkConfig) -> Self {
        // The last transmission counted may end after the end of the run.
        let lasted = end.max(stats.busy_until).max(1);
        let (high, low) = stats.waiting_ns.words();
        Self {
            stats,
            utilization: match &config.trace {
                Some(trace) => trace.utilization(stats.packets, stats.bytes, lasted),
                None => stats.bytes as f64 * 8e9 / (config.rate.0 as f64 * lasted as f64),
            },
            mean_queue: (high as f64 * 2_f64.powi(64) + low as f64) / end.max(1) as f64,
            readings: vec![],
        }
    }
}

impl Outcome {
    /// Link crossings, summed over all packets.
    pub fn packet_hops(&self) -> u64 {
        self.links.iter().map(|link| link.stats.packets).sum()
    }
}

/// Simulates `network` without an observer, by one thread.
pub fn simulate(network: &Network) -> Outcome {
    simulate_on(network, 1)
}

/// Number of parts of `network` that nothing couples.
pub fn count_parts(network: &Network) -> usize {
    parts::of(network).len()
}

/// Number of threads that [`simulate_on`] uses, of at most `threads`.
pub fn count_threads(network: &Network, threads: usize) -> usize {
    match Way::of(network, threads) {
        Way::Windows(windows) => windows.threads(),
        Way::Parts(parts, threads) => threads.min(parts.len()),
    }
}

/// Simulates `network` in groups of stages, each on a thread, whatever that gains; `None` if it has no groups.
pub fn simulate_in_windows(network: &Network, threads: usize) -> Option<Outcome> {
    Windows::of(network, threads, 0.0)?.simulate(network)
}

/// Simulates `network` in groups of stages for `threads` threads, one after the other on this thread, and calls `after`
/// behind each window of each group with its number: for measurements of what threads could gain. `None` if there are no groups.
pub fn simulate_in_turns(network: &Network, threads: usize, after: impl FnMut(usize)) -> Option<Outcome> {
    windows::in_turns(network, threads, after)
}

/// Division of a run.
enum Way {
    /// Into parts that nothing couples, by at most so many threads.
    Parts(Vec<Part>, usize),
    /// Into groups of stages that meet after each window.
    Windows(Windows),
}

impl Way {
    fn of(network: &Network, threads: usize) -> Self {
        let mut parts = parts::of(network);
        if threads < 2 {
            return Self::Parts(parts, 1);
        }
        let hops = parts::sort(&mut parts, network);
        let all: f64 = hops.iter().sum();
        if all < parts::WORTH_THREADS {
            return Self::Parts(parts, 1);
        }
        // A part that is most of the network leaves the other threads without work.
        let is_uneven = hops.first().is_some_and(|&largest| largest > 1.5 * all / threads as f64);
        match is_uneven.then(|| Windows::of(network, threads, groups::WORTH)).flatten() {
            Some(windows) => Self::Windows(windows),
            None => Self::Parts(parts, threads),
        }
    }
}

/// Simulates `network` without an observer, by at most `threads` threads. The outcome is the same for any number of threads: only
/// what cannot reach each other runs at the same time.
pub fn simulate_on(network: &Network, threads: usize) -> Outcome {
    let (parts, threads) = match Way::of(network, threads) {
        Way::Parts(parts, threads) => (parts, threads),
        Way::Windows(windows) => match windows.simulate(network) {
            Some(outcome) => return outcome,
            None => (parts::of(network), 1),
        },
    };
    if parts.len() > 1 {
        return divided::simulate(network, parts, threads);
    }
    drop(parts);
    simulate_observed(network, Mode::Fused, NoObserver).0
}

/// Simulates `network` in `mode` with an observer. Neither the outcome nor the observer holds anything that happens after the
/// end.
pub fn simulate_observed<O: Observer + Clone>(network: &Network, mode: Mode, observer: O) -> (Outcome, O) {
    let plan = Plan::new(network, mode);
    let mut engine = Engine::new(network, &plan, None, observer.clone());
    let end = engine.run();
    if engine.has_run_past(end) {
        // Counters cannot be taken back. Copies of packets on their way at the end are rare, so that the run is made again.
        drop(engine);
        engine = Engine::new(network, &plan, Some(end), observer);
        engine.run();
    }
    outcome_of(engine, end, network.grid.0, &network.links)
}

/// The outcome of a run that ended at `end`, with deliveries at multiples of `grid`, and its observer.
pub(crate) fn outcome_of<'a, O: Observer>(
    mut engine: Engine<O>,
    end: u64,
    grid: u64,
    links: impl IntoIterator<Item = &'a LinkConfig>,
) -> (Outcome, O) {
    engine.forget_packets();
    let flows = std::mem::take(&mut engine.flows).into_iter().enumerate();
    let flows = flows.map(|(index, flow)| {
        let (lost, lost_before_exit) = (engine.lost(index), engine.lost_before_exit(index, &flow));
        flow_outcome(flow, (lost, lost_before_exit), end, grid)
    });
    let flows = flows.collect();
    let links = engine.link_stats(end).zip(links);
    let links = links.map(|(stats, config)| LinkOutcome::of(end, stats, config)).collect();
    (Outcome { end, flows, links }, engine.into_observer())
}

/// Result of a connection whose run ended at `end`; `lost` packets of it, and so many of them before the end of its start-up.
pub(crate) fn flow_outcome(
    mut flow: Flow,
    (lost, lost_before_exit): (u64, u64),
    end: u64,
    grid: u64,
) -> FlowOutcome {
    let delivered_at = flow.close_grid(end, grid);
    let sender = &flow.sender;
    let stats = sender.stats();
    FlowOutcome {
        start: sender.app().established_at(),
        completions: sender.app().completions().to_vec(),
        delivered_bytes: sender.app().bytes_in(sender.acked(), sender.mss()),
        delivered: sender.acked(),
        delivered_at,
        sent: stats.sent,
        retransmits: stats.retransmits,
        timeouts: stats.timeouts,
        lost,
        lost_before_exit,
        first_flight: stats.first_flight,
        max_cwnd: stats.max_cwnd,
        final_cwnd: sender.chain.control.cwnd,
        startup_exit: sender.chain.startup_exit(),
    }
}
