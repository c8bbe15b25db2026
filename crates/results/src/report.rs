//! Replications and time series: the data behind a comparison's printed object, and their tables.

use crate::object::object;
use crate::{Comparison, Completion, Harm, PairedDifference, PathResult, StartupExit, TypicalExit};

object! {
    /// A comparison with all replications and the time series of some.
    pub struct CompareReport = "report" {
        /// The object of `compare --json`.
        comparison: Comparison => nested,
        /// Replications behind each result, in the order of the comparison's results.
        samples: Vec<SampleSet> => nested,
        /// The replication nearest the median of each scheme and size, in the order of the comparison's results.
        traces: Vec<Trace> => nested,
        /// Time series of each captured connection, in the order of the comparison's connections.
        captured: Vec<CapturedTrace> => nested,
        /// Time-sequence graph of the captured connection if the capture has a single one; null otherwise.
        @(default, skip_serializing_if = "Option::is_none") sequence: Option<TimeSequence> => nested,
    }
}

object! {
    /// Time-sequence graph of a captured connection: pairs of seconds since its first data packet, and bytes.
    pub struct TimeSequence: Default = "time sequence" {
        /// End of the data sent.
        sent: Vec<(f64, f64)> => nested,
        /// Data acknowledged cumulatively.
        acked: Vec<(f64, f64)> => nested,
        /// End of the data that the receive window allows; empty if its scale is unknown.
        allowed: Vec<(f64, f64)> => nested,
        /// Last retransmission of each piece of data: its time and the offset of its first byte.
        resent: Vec<(f64, f64)> => nested,
        /// Times of acknowledgements, and the round trip of the newest packet that each reports, seconds.
        rtt: Vec<(f64, f64)> => nested,
    }
}

object! {
    /// Replications of one scheme at one size.
    pub struct SampleSet = "replications" {
        /// Chain of labels.
        scheme: String,
        /// Transfer size in application bytes.
        size_bytes: u64 ["bytes"],
        /// Replications in order; replications of the same number met the same randomness under every scheme.
        samples: Vec<Sample> => nested,
    }
}

object! {
    /// Result of one replication.
    pub struct Sample: Copy = "replication" {
        /// Seed of the replication's random streams.
        seed: u64,
        /// Completion time; null if the transfer did not finish in the time allowed.
        completion_s: Option<f64> ["s"],
        /// Packets retransmitted.
        retransmits: u64 ["packets"],
        /// Retransmission timeouts.
        timeouts: u64,
        /// TCP data packets of all flows lost on the path during the transfer.
        drops: u64 ["packets"],
        /// End of start-up; null if start-up outlasted the transfer.
        startup_exit: Option<StartupExit> => optional("exit_", "Null if start-up outlasted the transfer."),
    }
}

object! {
    /// Row of table `replication`: one replication of one scheme at one size. Values of all replications of a scheme and
    /// size, and the path, repeat in every row, so that tables of several comparisons can be read as one.
    pub struct ReplicationRow = "replication row" {
        /// Chain of labels.
        scheme: String,
        /// Transfer size in application bytes.
        size_bytes: u64 ["bytes"],
        /// Number of the replication, from 0; the same number met the same randomness under every scheme.
        replication: u64,
        /// Result of the replication.
        sample: Sample => flat(""),
        /// Distribution of the completion times of all replications.
        completion: Option<Completion> => optional("completion_s_", "Null if no replication finished."),
        /// Difference from the baseline.
        against_baseline: Option<PairedDifference> => optional("against_baseline_", "Null for the baseline, and without one."),
        /// Whether the scheme is recommended at this size.
        recommended: bool,
        /// The path.
        path: PathResult => flat("path_"),
    }
}

object! {
    /// Row of table `result`: one scheme at one size, over all replications.
    pub struct ResultRow = "result row" {
        /// Chain of labels.
        scheme: String,
        /// Transfer size in application bytes.
        size_bytes: u64 ["bytes"],
        /// Rank by median completion time at this size; 1 is the smallest.
        rank: u32,
        /// Whether the scheme is recommended at this size.
        recommended: bool,
        /// Whether the difference from rank 1 is not worth having.
        ties_with_best: bool,
        /// Scheme whose replications at this size are all equal to these; null if no other has the same.
        same_as: Option<String>,
        /// Replications run.
        replications: u32,
        /// Replications that did not finish in the time allowed.
        unfinished: u32,
        /// Distribution of the completion times.
        completion: Option<Completion> => optional("completion_s_", "Null if no replication finished."),
        /// Mean packets retransmitted.
        retransmits_mean: f64 ["packets"],
        /// Mean packets of all flows that were dropped during the transfer.
        drops_mean: f64 ["packets"],
        /// Mean retransmission timeouts.
        timeouts_mean: f64,
        /// Typical end of start-up.
        startup_exit: Option<TypicalExit> => optional("exit_", "Null if start-up outlasted the transfer in more than half the replications."),
        /// Initial window in which the candidate differs from the stack; null if it is the stack's own.
        initial_window_packets: Option<u64> ["packets"],
        /// Harm to others that share the bottleneck.
        harm: Option<Harm> => optional("harm_", "Null if it was not measured, or if they did not end."),
        /// Difference from the baseline.
        against_baseline: Option<PairedDifference> => optional("against_baseline_", "Null for the baseline, and without one."),
    }
}

object! {
    /// Row of table `window`: one scheme at one size at one time, in the replication nearest the median.
    pub struct WindowRow = "window row" {
        /// Chain of labels.
        scheme: String,
        /// Transfer size in application bytes.
        size_bytes: u64 ["bytes"],
        /// The time series; its run is the number of the replication, and its flow the first of the scenario.
        sample: SampleRow => flat(""),
    }
}

object! {
    /// Row of table `network`: one scheme at one size in one network of clients; one row for each size of a network that cannot
    /// be simulated.
    pub struct NetworkRow = "network row" {
        /// Network, as in `groups[].network`.
        network: String,
        /// Captured connections that carried data.
        connections: u64,
        /// Data bytes of all of them, in both directions.
        bytes: u64 ["bytes"],
        /// Reason why it has no answer and is no part of the mix; null if it has one.
        no_answer: Option<String>,
        /// Transfer size in application bytes.
        size_bytes: u64 ["bytes"],
        /// Captured transfers to the network whose size is within a factor of the square root of ten of this one.
        transfers: u64,
        /// Share of the network in the mix at this size; 0 without an answer.
        share: f64 [""; Share],
        /// Chain of labels; null if the network cannot be simulated.
        scheme: Option<String>,
        /// Whether the scheme is recommended for this network at this size.
        recommended: bool,
        /// Whether the scheme is recommended for the mix at this size.
        recommended_for_mix: bool,
        /// Distribution of the completion times.
        completion: Option<Completion> => optional("completion_s_", "Null if no replication finished."),
        /// Mean packets of all flows that were dropped during the transfer; null if the network cannot be simulated.
        drops_mean: Option<f64> ["packets"],
        /// Harm to others.
        harm: Option<Harm> => optional("harm_", "Null if it was not measured."),
        /// Difference from the scheme that the stack has now, or from the baseline.
        against: Option<PairedDifference> => optional("against_", "Null for that scheme itself, and without one."),
        /// The path of the network.
        path: PathResult => flat("path_"),
    }
}

object! {
    /// One replication over time.
    pub struct Trace = "trace" {
        /// Chain of labels.
        scheme: String,
        /// Transfer size in application bytes.
        size_bytes: u64 ["bytes"],
        /// Number of the replication, from 0.
        replication: u32,
        /// Completion time; null if the transfer did not finish.
        completion_s: Option<f64> ["s"],
        /// End of start-up; null if start-up outlasted the transfer.
        startup_exit: Option<StartupExit> => nested,
        /// Times since the flow's start at which packets of the flow were dropped, ascending.
        losses_s: Vec<f64> ["s"] => nested,
        /// Time series of the flow.
        series: Series => nested,
    }
}

object! {
    /// Time series of one flow: columns of equal length over ascending time. A column that is unknown is empty.
    pub struct Series: Default = "series" {
        /// Time since the flow's start.
        time_s: Vec<f64> ["s"] => nested,
        /// Congestion window.
        cwnd_packets: Vec<f64> ["packets"] => nested,
        /// Slow-start threshold; null if infinite.
        ssthresh_packets: Vec<Option<f64>> ["packets"] => nested,
        /// Packets in flight: sent, and neither acknowledged nor deemed lost.
        in_flight_packets: Vec<f64> ["packets"] => nested,
        /// Packets of all flows that wait at the first link.
        queue_packets: Vec<f64> ["packets"] => nested,
        /// Bytes acknowledged, cumulatively or selectively.
        delivered_bytes: Vec<f64> ["bytes"] => nested,
    }
}

object! {
    /// Row of table `sample`: one flow of one run at one time.
    pub struct SampleRow = "sample row" {
        /// Number of the run in table `run`.
        run: u64,
        /// Name of the flow in table `flow`.
        flow: String,
        /// Time since the flow's start.
        time_s: f64 ["s"],
        /// Congestion window; null if unknown.
        cwnd_packets: Option<f64> ["packets"],
        /// Slow-start threshold; null if infinite or unknown.
        ssthresh_packets: Option<f64> ["packets"],
        /// Packets in flight: sent, and neither acknowledged nor deemed lost; null if unknown.
        in_flight_packets: Option<f64> ["packets"],
        /// Packets of all flows that wait at the first link; null if unknown.
        queue_packets: Option<f64> ["packets"],
        /// Bytes acknowledged, cumulatively or selectively; null if unknown.
        delivered_bytes: Option<f64> ["bytes"],
    }
}

object! {
    /// One captured connection over time, and its re-run.
    pub struct CapturedTrace: Default = "captured trace" {
        /// Time series of the capture, which shows neither window nor queue.
        observed: Series => nested,
        /// Times at which the captured sender retransmitted packets.
        observed_retransmits_s: Vec<f64> ["s"] => nested,
        /// Time series of the re-run.
        rerun: Series => nested,
        /// Times at which the re-run retransmitted packets.
        rerun_retransmits_s: Vec<f64> ["s"] => nested,
    }
}

impl Series {
    /// The series as rows of table `sample`, for the flow of this name in run number `run`.
    pub fn rows(&self, run: u64, flow: &str) -> impl Iterator<Item = SampleRow> {
        (0..self.time_s.len()).map(move |i| SampleRow {
            run,
            flow: flow.into(),
            time_s: self.time_s[i],
            cwnd_packets: self.cwnd_packets.get(i).copied(),
            ssthresh_packets: self.ssthresh_packets.get(i).copied().flatten(),
            in_flight_packets: self.in_flight_packets.get(i).copied(),
            queue_packets: self.queue_packets.get(i).copied(),
            delivered_bytes: self.delivered_bytes.get(i).copied(),
        })
    }
}
