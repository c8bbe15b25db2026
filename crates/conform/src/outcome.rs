//! Outcomes of comparisons as data.

use serde::Serialize;

/// Outcome for a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every window is the same, to the byte.
    Equal,
    /// The start-up is the same and ends at the same event; later windows differ by a datagram at most.
    WithinASegment,
    /// The start-up is the same and ends at the same event; later windows differ by more than a datagram.
    EqualStart,
    /// A model has the same states in the same order, and windows within 2 % at 95 % of the ACKs.
    AsTheModel,
    /// Windows of the start-up differ, or its end; a model has other states or windows.
    Differs,
    /// There is nothing to compare with.
    NotComparable,
}

/// The first event at which the answers differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Number of the event, from one.
    pub event: u64,
    /// Line of the file.
    pub line: u64,
    /// Time, seconds.
    pub at_s: f64,
    /// Window of the vector, bytes.
    pub theirs: u64,
    /// Window of the chain, bytes.
    pub ours: u64,
    /// State of the vector, in the project's word.
    pub state: String,
    /// State of a model here, in the project's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_ours: Option<String>,
}

/// A vector beside a chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Name of the file.
    pub file: String,
    /// Project with its release.
    pub project: String,
    /// Scheme in the project's word.
    pub scheme: String,
    /// Path.
    pub path: String,
    /// Chain of this program with its parameters; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours: Option<String>,
    /// Outcome.
    pub outcome: Outcome,
    /// Reason, where there is nothing to compare with, or the comparison ends early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Compared events of the start-up.
    pub start_events: u64,
    /// Those with the same window.
    pub start_equal: u64,
    /// Event that ended the start-up: of the vector, and of the chain; absent if it did not end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_theirs: Option<u64>,
    /// As `exit_theirs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_ours: Option<u64>,
    /// Compared events after the start-up.
    pub later_events: u64,
    /// Those with a window within a datagram.
    pub later_within: u64,
    /// Largest difference of windows after the start-up, datagrams.
    pub later_worst: f64,
    /// First difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<Difference>,
    /// Counts of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelVerdict>,
    /// The controller broke off; `why` states how.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub broken: bool,
}

/// A model beside the answers of a recording. Counts are of ACKs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ModelVerdict {
    /// Compared ACKs.
    pub acks: u64,
    /// Those whose window is the same, to the byte.
    pub windows_equal: u64,
    /// Those whose window is within 2 %.
    pub windows_within: u64,
    /// Those whose pacing rate is within 2 %, of those that have one.
    pub rates_within: u64,
    /// ACKs with a pacing rate.
    pub rates: u64,
    /// ACKs with another state.
    pub other_states: u64,
    /// The states in order.
    pub states_ours: Vec<&'static str>,
    /// As `states_ours`.
    pub states_theirs: Vec<String>,
    /// ACKs whose bandwidth sample follows from the rows within 2 %; of the others, another value of the row shows it.
    pub samples_computed: u64,
    /// Values that the recording has not, and their sources.
    pub taken: Vec<String>,
}
