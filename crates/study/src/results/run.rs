//! What a run leaves: the object of `firstflight run --json`.

use firstflight_contract::Exit;
use serde::{Deserialize, Serialize};

use super::{Mean, exit_word};

/// The object of `firstflight run --json`: one run of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The scenario's title.
    pub title: String,
    /// The seed every random stream of the run was derived from.
    pub seed: u64,
    /// Simulated time, from zero to the last event.
    pub simulated_s: f64,
    /// Every flow, in the scenario's order.
    pub flows: Vec<FlowResult>,
    /// Every link that queues, in the scenario's order.
    pub links: Vec<LinkResult>,
    /// Jain's index over the goodput of the flows; 1 is an equal share.
    pub fairness_jain: f64,
    /// What the run cost.
    pub engine: EngineResult,
    /// Means over independent seeds, with `--runs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<RunMeans>,
}

/// What one flow did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowResult {
    /// Name and index: `bulk.0`.
    pub name: String,
    /// Label of the start-up scheme; several joined by `+`.
    pub startup: String,
    /// Label of the avoidance scheme.
    pub avoidance: String,
    /// When the flow began, its handshake done.
    pub start_s: f64,
    /// Application bytes to send; `None` if unlimited.
    pub size_bytes: Option<u64>,
    /// From the start until the sender knows that the receiver has the last byte; `None` if that did not happen.
    pub completion_s: Option<f64>,
    /// Of a connection with several rounds: how long each took, from its beginning to its last acknowledgement;
    /// `completion_s` is the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds_s: Vec<f64>,
    /// Bytes cumulatively acknowledged at the sender.
    pub delivered_bytes: u64,
    /// Packets cumulatively acknowledged at the sender.
    pub delivered_packets: u64,
    /// Delivered application bits per second of the flow's life.
    pub goodput_bit_s: f64,
    /// Packets sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets of this flow that the network dropped.
    pub lost_packets: u64,
    /// How start-up ended; `None` while it lasts.
    pub startup_exit: Option<StartupExit>,
    /// Packets sent before the first ACK came back.
    pub first_flight_packets: u64,
    /// Largest congestion window.
    pub max_cwnd_packets: f64,
    /// Congestion window at the end.
    pub final_cwnd_packets: f64,
    /// `(seconds since the flow's start, packets delivered by then)`, at each grid time.
    pub delivered_at: Vec<(f64, u64)>,
}

/// How one start-up ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartupExit {
    /// Since the flow's start.
    pub time_s: f64,
    /// Congestion window at the exit, before any reduction.
    pub cwnd_packets: f64,
    /// Bottleneck rate times round-trip propagation, without the buffer.
    pub bdp_packets: f64,
    /// Packets lost of those sent before the exit.
    pub overshoot_packets: u64,
    /// Why.
    #[serde(with = "exit_word")]
    pub reason: Exit,
}

/// What one link did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkResult {
    /// The link's name; that of the `[path]` shorthand is `bottleneck`.
    pub name: String,
    /// Share of the time in which it was transmitting, 0 to 1.
    pub utilization: f64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked by ECN.
    pub marks: u64,
    /// Time average of the packets waiting.
    pub mean_queue_packets: f64,
    /// Most packets waiting.
    pub max_queue_packets: u64,
    /// Packets transmitted; for those who compute with results, not for the object that is printed.
    #[serde(skip)]
    pub packets: u64,
    /// Packets waiting at the end, or when the link was read; not printed.
    #[serde(skip)]
    pub waiting_packets: u64,
    /// The same by each time of [`crate::host::LinkReadings`]; none of their own, and not printed.
    #[serde(skip)]
    pub readings: Vec<LinkResult>,
}

/// What a run cost. The only fields that differ between two runs of the same seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineResult {
    /// One for each packet, data or ACK, that crossed one link.
    pub packet_hops: u64,
    /// Processor time.
    pub cpu_s: f64,
    /// Elapsed time.
    pub wall_s: f64,
}

/// What `run --runs N` adds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunMeans {
    /// Number of runs.
    pub count: u32,
    /// The seed of each.
    pub seeds: Vec<u64>,
    /// Every flow, in the order of [`RunResult::flows`].
    pub flows: Vec<FlowMeans>,
    /// Every link, in the order of [`RunResult::links`].
    pub links: Vec<LinkMeans>,
    /// Of [`RunResult::fairness_jain`].
    pub fairness_jain: Mean,
}

/// Means of one flow over the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowMeans {
    /// As in [`FlowResult::name`].
    pub name: String,
    /// Over the runs in which the flow finished; `None` if it never did.
    pub completion_s: Option<Mean>,
    /// Runs in which a finite flow did not finish.
    pub unfinished: u32,
    /// Of [`FlowResult::delivered_packets`].
    pub delivered_packets: Mean,
    /// Of [`FlowResult::goodput_bit_s`].
    pub goodput_bit_s: Mean,
    /// Of [`FlowResult::retransmits`].
    pub retransmits: Mean,
    /// Of [`FlowResult::timeouts`].
    pub timeouts: Mean,
    /// Of [`FlowResult::lost_packets`].
    pub lost_packets: Mean,
}

/// Means of one link over the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkMeans {
    /// As in [`LinkResult::name`].
    pub name: String,
    /// Of [`LinkResult::utilization`].
    pub utilization: Mean,
    /// Of [`LinkResult::drops`].
    pub drops: Mean,
    /// Of [`LinkResult::marks`].
    pub marks: Mean,
    /// Of [`LinkResult::mean_queue_packets`].
    pub mean_queue_packets: Mean,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The example object of the contract for `run --json`, with a value in place of every placeholder.
    fn contract_run() -> Value {
        json!({ "title": "t", "seed": 1, "simulated_s": 20.0,
            "flows": [ { "name": "bulk.0", "startup": "slow-start", "avoidance": "reno", "start_s": 0.0,
                "size_bytes": null, "completion_s": null, "delivered_bytes": 0, "delivered_packets": 0,
                "goodput_bit_s": 0.0, "retransmits": 0, "timeouts": 0, "lost_packets": 0,
                "startup_exit": { "time_s": 0.0, "cwnd_packets": 0.0, "bdp_packets": 0.0,
                    "overshoot_packets": 0, "reason": "ack-train" },
                "first_flight_packets": 0, "max_cwnd_packets": 0.0, "final_cwnd_packets": 0.0,
                "delivered_at": [[1.0, 0], [2.0, 0]] } ],
            "links": [ { "name": "bottleneck", "utilization": 0.0, "drops": 0, "marks": 0,
                "mean_queue_packets": 0.0, "max_queue_packets": 0 } ],
            "fairness_jain": 1.0,
            "engine": { "packet_hops": 0, "cpu_s": 0.0, "wall_s": 0.0 } })
    }

    #[test]
    fn a_single_run_prints_the_object_of_the_contract_and_nothing_else() {
        let run: RunResult = serde_json::from_value(contract_run()).expect("the example is valid");
        assert_eq!(serde_json::to_value(&run).expect("serialisable"), contract_run());
    }

    #[test]
    fn an_unknown_exit_reason_is_refused_with_the_known_ones() {
        let mut run = contract_run();
        run["flows"][0]["startup_exit"]["reason"] = json!("boredom");
        let message = serde_json::from_value::<RunResult>(run).expect_err("no such reason").to_string();
        assert!(message.contains("boredom") && message.contains("first-ack"), "{message}");
    }
}
