//! What a comparison leaves: the object of `firstflight compare --json`.

use firstflight_contract::Exit;
use serde::{Deserialize, Serialize};

use super::{Ci95, Mean, StartupExit, exit_word};

/// The object of `firstflight compare --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The scenario's title, the preset's name or the capture's file name.
    pub title: String,
    /// The path the schemes were compared on.
    pub path: PathResult,
    /// The captured connections and their re-runs; empty without a capture.
    pub connections: Vec<ConnectionResult>,
    /// Every scheme at every size, by size and, within one, by [`SchemeResult::rank`].
    pub results: Vec<SchemeResult>,
    /// The schemes in the order they were asked for.
    pub schemes: Vec<String>,
    /// The scheme of `schemes` that the others are measured against: plain slow start with their avoidance.
    pub baseline: Option<String>,
    /// What produced these numbers and how to get them again.
    pub provenance: Provenance,
    /// What a reader must know before trusting the numbers, most important first.
    pub warnings: Vec<String>,
}

/// The path, as given or as inferred. A value that the capture cannot tell is `None` and named in `cannot_tell`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathResult {
    /// The capture it was inferred from; `None` if it was given.
    pub inferred_from: Option<String>,
    /// Bottleneck rate.
    pub rate_bit_s: Option<u64>,
    /// Two-way propagation, without queueing.
    pub rtt_ms: Option<f64>,
    /// Packets that can wait at the bottleneck.
    pub buffer_packets: Option<u64>,
    /// Probability that a packet is lost for reasons other than a full queue.
    pub loss: Option<f64>,
    /// Payload of a full segment.
    pub mss_bytes: Option<u64>,
    /// The sender's initial window.
    pub initial_window_packets: Option<u64>,
    /// How the receiver acknowledges: the word of the scenario format.
    pub receiver: Option<String>,
    /// Field names of the values that could not be told.
    pub cannot_tell: Vec<String>,
    /// One for each inferred value, in the order of the fields above; empty if the path was given.
    pub estimates: Vec<PathEstimate>,
}

/// How well one value of the path is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathEstimate {
    /// The field of [`PathResult`] this is about.
    pub field: String,
    /// The value in the field's unit; `None` if it cannot be told, or is a word.
    pub value: Option<f64>,
    /// The value if it is a word.
    pub word: Option<String>,
    /// Lower end of the range the value lies in, if known.
    pub low: Option<f64>,
    /// Upper end of that range, if known.
    pub high: Option<f64>,
    /// What the value rests on, or the reason why it cannot be told; a sentence without its full stop.
    pub how: String,
}

/// One captured connection beside its re-run in the simulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionResult {
    /// Application bytes the sender transferred.
    pub bytes: u64,
    /// From the first data packet to the last acknowledgement; `None` if the capture ends before.
    pub observed_completion_s: Option<f64>,
    /// The same in the re-run; `None` if it did not finish.
    pub rerun_completion_s: Option<f64>,
    /// Packets the captured sender sent again.
    pub observed_retransmits: u64,
    /// Packets the re-run sent again.
    pub rerun_retransmits: u64,
    /// Sender and receiver, `address:port`.
    pub name: String,
    /// The chain of labels that the re-run used.
    pub scheme: String,
    /// What the connection did in its start-up, in a sentence without its full stop.
    pub startup: String,
    /// How the start-up of the re-run ended; `None` if it lasted to the end.
    pub rerun_startup_exit: Option<StartupExit>,
}

/// What one scheme did at one size, over all replications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchemeResult {
    /// The chain of labels: `slow-start+reno`.
    pub scheme: String,
    /// Transfer size in application bytes.
    pub size_bytes: u64,
    /// Completion times; `None` if no replication finished.
    pub completion_s: Option<Completion>,
    /// Mean packets sent again.
    pub retransmits_mean: f64,
    /// How start-up typically ended; `None` if it outlasted the transfer in more than half the replications.
    pub startup_exit: Option<TypicalExit>,
    /// 1 for the smallest median completion time at this size.
    pub rank: u32,
    /// Whether the paired difference from rank 1 may be zero: the 95 % interval of the difference contains it.
    pub ties_with_best: bool,
    /// Replications run.
    pub replications: u32,
    /// Replications that did not finish in the time allowed.
    pub unfinished: u32,
    /// Paired difference from the baseline under common random numbers; `None` for the baseline itself, or without.
    pub against_baseline: Option<PairedDifference>,
    /// TCP data packets lost on the path during the transfer, whoever sent them: the loss this start caused.
    pub drops: Mean,
    /// Of `drops`, those of other flows; zero on a path without cross traffic.
    pub others_drops_mean: f64,
    /// Mean retransmission timeouts.
    pub timeouts_mean: f64,
    /// Field names of the unknown path values over whose range the intervals of this result extend.
    pub widened_by: Vec<String>,
}

/// The distribution of completion times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Interval of the median; on a path inferred from a capture, the one in which 95 % of further transfers end.
    pub ci95: Ci95,
    /// Interval of the 95th percentile.
    pub p95_ci95: Ci95,
    /// Mean.
    pub mean: f64,
    /// Interval of the mean.
    pub mean_ci95: Ci95,
}

/// A difference in completion time between two schemes that met the same randomness.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedDifference {
    /// Mean of (this - baseline); negative is sooner.
    pub seconds: f64,
    /// Its interval.
    pub seconds_ci95: Ci95,
    /// The same as a share of the baseline's mean; -0.23 is 23 % sooner.
    pub relative: f64,
    /// Its interval.
    pub relative_ci95: Ci95,
}

/// How start-up ended over the replications.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypicalExit {
    /// Median time since the flow's start.
    pub time_s: f64,
    /// Median congestion window at the exit, before any reduction.
    pub cwnd_packets: f64,
    /// The commonest reason.
    #[serde(with = "exit_word")]
    pub reason: Exit,
    /// Bottleneck rate times round-trip propagation, without the buffer.
    pub bdp_packets: f64,
    /// Median of the packets lost of those sent before the exit.
    pub overshoot_packets: f64,
    /// Share of the replications that left start-up at all, 0 to 1.
    pub exited: f64,
    /// Share of those that left for `reason`, 0 to 1.
    pub agreed: f64,
}

/// What produced the numbers, and how to get them again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of the program: `0.1.0`.
    pub version: String,
    /// The source it was built from, as `git describe` names it; equal to `version` outside a repository.
    pub revision: String,
    /// The seed all random streams were derived from.
    pub seed: u64,
    /// Replications of each scheme at each size.
    pub replications: u32,
    /// SHA-256 of `scenario`, in hexadecimal.
    pub scenario_sha256: String,
    /// The scenario that was run, complete, as TOML.
    pub scenario: String,
    /// The command line, quoted so that it can be pasted into a shell.
    pub command: String,
    /// Where the schemes ran: `simulator`.
    pub host: String,
    /// Operating system and processor of the machine: `linux x86_64`.
    pub machine: String,
    /// How the intervals were computed, in a sentence without its full stop.
    pub interval_method: String,
    /// The files that were read.
    pub inputs: Vec<InputFile>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Its name, without folders.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}

impl Comparison {
    /// The sizes compared, ascending, each once.
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.results.iter().map(|r| r.size_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// The results at one size, best first.
    pub fn ranked(&self, size_bytes: u64) -> Vec<&SchemeResult> {
        let mut of_size: Vec<_> = self.results.iter().filter(|r| r.size_bytes == size_bytes).collect();
        of_size.sort_by_key(|r| r.rank);
        of_size
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_compared_result_has_every_field_of_the_contract_at_its_place() {
        let exit = TypicalExit {
            time_s: 0.5,
            cwnd_packets: 160.0,
            reason: Exit::Loss,
            bdp_packets: 100.0,
            overshoot_packets: 60.0,
            exited: 1.0,
            agreed: 1.0,
        };
        let result = SchemeResult {
            scheme: "slow-start+reno".into(),
            size_bytes: 300_000,
            completion_s: Some(Completion {
                median: 0.7,
                p95: 0.8,
                ci95: [0.6, 0.75],
                p95_ci95: [0.7, 0.9],
                mean: 0.7,
                mean_ci95: [0.6, 0.8],
            }),
            retransmits_mean: 60.0,
            startup_exit: Some(exit),
            rank: 1,
            ties_with_best: true,
            replications: 30,
            unfinished: 0,
            against_baseline: None,
            drops: Mean { mean: 60.0, ci95: Some([60.0, 60.0]) },
            others_drops_mean: 0.0,
            timeouts_mean: 0.0,
            widened_by: vec![],
        };
        let value = serde_json::to_value(&result).expect("serialisable");
        let contract = json!({ "scheme": "slow-start+reno", "size_bytes": 300_000,
            "completion_s": { "median": 0.7, "p95": 0.8, "ci95": [0.6, 0.75] }, "retransmits_mean": 60.0,
            "startup_exit": { "time_s": 0.5, "cwnd_packets": 160.0, "reason": "loss" } });
        assert!(covers(&value, &contract), "{value:#}");
    }

    #[test]
    fn a_path_value_that_cannot_be_told_is_null_and_named() {
        let path = PathResult { cannot_tell: vec!["buffer_packets".into()], ..PathResult::default() };
        let contract = json!({ "inferred_from": null, "rate_bit_s": null, "rtt_ms": null, "buffer_packets": null,
            "loss": null, "mss_bytes": null, "initial_window_packets": null, "receiver": null,
            "cannot_tell": ["buffer_packets"] });
        assert!(covers(&serde_json::to_value(&path).expect("serialisable"), &contract));
    }

    /// Whether every field of `expected` is in `value` with the same content; `value` may have more.
    fn covers(value: &Value, expected: &Value) -> bool {
        match expected {
            Value::Object(fields) => {
                fields.iter().all(|(key, inner)| value.get(key).is_some_and(|v| covers(v, inner)))
            }
            other => value == other,
        }
    }
}
