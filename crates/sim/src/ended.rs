//! The outcome of an engine that has come to its end.

use crate::config::LinkConfig;
use crate::engine::Engine;
use crate::flow::Flow;
use crate::observe::Observer;
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
