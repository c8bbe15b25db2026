//! What the report and the Parquet file show beyond the object that is printed: samples and series.

use serde::{Deserialize, Serialize};

use super::{Comparison, StartupExit};

/// A comparison with all that the report and the Parquet file show beyond the printed object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareReport {
    /// What `compare --json` prints.
    pub comparison: Comparison,
    /// The replications behind each result, in the order of [`Comparison::results`].
    pub samples: Vec<SampleSet>,
    /// The replication nearest the median of each scheme and size, in the order of [`Comparison::results`].
    pub traces: Vec<Trace>,
    /// The series of each captured connection, in the order of [`Comparison::connections`].
    pub captured: Vec<CapturedTrace>,
}

/// The replications of one scheme at one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleSet {
    /// As in [`SchemeResult::scheme`].
    pub scheme: String,
    /// As in [`SchemeResult::size_bytes`].
    pub size_bytes: u64,
    /// One for each replication, in order; the same index met the same randomness under every scheme.
    pub samples: Vec<Sample>,
}

/// One replication.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The seed of its random streams.
    pub seed: u64,
    /// Completion time; `None` if it did not finish.
    pub completion_s: Option<f64>,
    /// Packets sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// TCP data packets lost on the path during the transfer, whoever sent them.
    pub drops: u64,
    /// How start-up ended; `None` if it outlasted the transfer.
    pub startup_exit: Option<StartupExit>,
}

/// One replication over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// As in [`SchemeResult::scheme`].
    pub scheme: String,
    /// As in [`SchemeResult::size_bytes`].
    pub size_bytes: u64,
    /// Index of the replication in [`SampleSet::samples`].
    pub replication: u32,
    /// Its completion time.
    pub completion_s: Option<f64>,
    /// How its start-up ended.
    pub startup_exit: Option<StartupExit>,
    /// When packets of this flow were dropped, ascending, since the flow's start.
    pub losses_s: Vec<f64>,
    /// The series themselves.
    pub series: Series,
}

/// Columns of equal length over ascending time. A column that is not known is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Since the flow's start.
    pub time_s: Vec<f64>,
    /// Congestion window.
    pub cwnd_packets: Vec<f64>,
    /// Slow-start threshold; `None` is infinite.
    pub ssthresh_packets: Vec<Option<f64>>,
    /// Packets sent and neither acknowledged nor deemed lost.
    pub in_flight_packets: Vec<f64>,
    /// Packets waiting at the bottleneck, whoever sent them.
    pub queue_packets: Vec<f64>,
    /// Bytes acknowledged, cumulatively or selectively.
    pub delivered_bytes: Vec<f64>,
}

/// One captured connection over time, and its re-run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CapturedTrace {
    /// As the capture shows it; without the window and the queue, which it does not show.
    pub observed: Series,
    /// When the captured sender sent packets again.
    pub observed_retransmits_s: Vec<f64>,
    /// As the simulator ran it.
    pub rerun: Series,
    /// When the re-run sent packets again.
    pub rerun_retransmits_s: Vec<f64>,
}
