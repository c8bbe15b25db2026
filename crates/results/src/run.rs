//! Results of runs: the object of `firstflight run --json`, and its tables.

use firstflight_contract::Exit;

use crate::object::object;
use crate::values::{Mean, exit_word};

object! {
    /// Result of one scenario: one run, or the first of several with means and all of them.
    pub struct RunResult = "run" {
        /// Title of the scenario.
        title: String,
        /// Seed from which every random stream of the run is derived.
        seed: u64,
        /// Simulated time from zero to the last event.
        simulated_s: f64 ["s"],
        /// Result of every flow, in the order of the scenario.
        flows: Vec<FlowResult> => nested,
        /// Result of every link that has a queue, in the order of the scenario.
        links: Vec<LinkResult> => nested,
        /// Jain's fairness index of the goodput of the flows: 1 is an equal share.
        fairness_jain: f64 [""; Share],
        /// Cost of the run; with several runs, of all of them.
        engine: EngineResult => flat(""),
        /// Means over all runs; absent for a single run.
        @(default, skip_serializing_if = "Option::is_none") means: Option<RunMeans> => nested,
        /// Every run as an object of its own, the first included; absent for a single run.
        @(default, skip_serializing_if = "Vec::is_empty") runs: Vec<RunResult> => nested,
        /// Host that made the run; absent for the simulator.
        @(default, skip_serializing_if = "Option::is_none") host: Option<String> => nested,
        /// Evidence that a host in real time kept its times; absent for the simulator.
        @(default, skip_serializing_if = "Option::is_none") validity: Option<Validity> => nested,
    }
}

object! {
    /// Evidence that the emulated network of a host in real time kept its times. Runs beyond the limits are not reported.
    pub struct Validity: Copy = "validity" {
        /// Median lateness: time from the moment at which a packet was due at its end of the path until it was handed over.
        lateness_p50_ms: f64 ["ms"],
        /// Lateness that 99 % of the packets do not exceed; at most 0.5.
        lateness_p99_ms: f64 ["ms"],
        /// Largest lateness; at most 10.
        lateness_max_ms: f64 ["ms"],
        /// Share of one core that the emulator's thread used; at most 0.7.
        core_share: f64 [""; Share],
        /// Packets handed over.
        packets: u64 ["packets"],
        /// Attempts made until the run was valid; at most 3.
        attempts: u32,
    }
}

object! {
    /// Result of one flow.
    pub struct FlowResult = "flow" {
        /// Name and index of the flow: `bulk.0`.
        name: String,
        /// Label of the start-up scheme; several are joined by `+`.
        startup: String,
        /// Label of the avoidance scheme.
        avoidance: String,
        /// Time at which the flow began, after its handshake.
        start_s: f64 ["s"],
        /// Application bytes to send; null if unlimited.
        size_bytes: Option<u64> ["bytes"],
        /// Time from the start until the sender has the acknowledgement of the last byte; null if it never had.
        completion_s: Option<f64> ["s"],
        /// Duration of each round of a connection with several rounds, from its first byte to the acknowledgement of its
        /// last; `completion_s` is the first. Absent from JSON without rounds.
        @(default, skip_serializing_if = "Vec::is_empty") rounds_s: Vec<f64> ["s"],
        /// Application bytes cumulatively acknowledged at the sender.
        delivered_bytes: u64 ["bytes"],
        /// Packets cumulatively acknowledged at the sender.
        delivered_packets: u64 ["packets"],
        /// Delivered application bits per second, from the start to the completion, or to the end of the run.
        goodput_bit_s: f64 ["bit/s"],
        /// Packets retransmitted.
        retransmits: u64 ["packets"],
        /// Retransmission timeouts.
        timeouts: u64,
        /// Data packets of this flow that the network dropped; a lost SYN or ACK counts in `drops` of its link only.
        lost_packets: u64 ["packets"],
        /// End of start-up; null while start-up lasts.
        startup_exit: Option<StartupExit> => optional("exit_", "Null while start-up lasts."),
        /// Packets sent before the first ACK arrived.
        first_flight_packets: u64 ["packets"],
        /// Largest congestion window.
        max_cwnd_packets: f64 ["packets"],
        /// Congestion window at the end of the run.
        final_cwnd_packets: f64 ["packets"],
        /// Packets cumulatively acknowledged by each time of the grid: seconds since the flow's start, and packets.
        delivered_at: Vec<(f64, u64)> => pairs("delivered_at_s" "s", "delivered_at_packets" "packets"),
        /// Reads of the receiving application: `eager`, or the bytes that wake the application. Absent for the simulator, which
        /// has it in the scenario.
        @(default, skip_serializing_if = "Option::is_none") receiver_reads: Option<String> => nested,
    }
}

object! {
    /// End of one start-up.
    pub struct StartupExit: Copy = "startup exit" {
        /// Time of the exit since the flow's start; 0 if data that left with the SYN ended start-up before it.
        time_s: f64 ["s"],
        /// Congestion window at the exit, before any reduction.
        cwnd_packets: f64 ["packets"],
        /// Bandwidth-delay product: bottleneck rate times two-way propagation, without the buffer.
        bdp_packets: f64 ["packets"],
        /// Window at the exit minus bandwidth-delay product minus buffer, at least 0.
        overshoot_packets: u64 ["packets"],
        /// Packets lost of those first sent before the exit; a lost retransmission does not count.
        lost_before_exit_packets: u64 ["packets"],
        /// Reason of the exit: threshold, loss, mark, delay, ack-train, delivery, estimate, validated, paced-out, first-ack or
        /// timeout.
        @(with = "exit_word") reason: Exit,
    }
}

object! {
    /// Result of one link.
    pub struct LinkResult = "link" {
        /// Name of the link; the link of the `[path]` shorthand is `bottleneck`.
        name: String,
        /// Share of the time in which the link transmitted, 0 to 1.
        utilization: f64 [""; Share],
        /// Packets dropped.
        drops: u64 ["packets"],
        /// Packets marked by ECN.
        marks: u64 ["packets"],
        /// Time average of the waiting packets.
        mean_queue_packets: f64 ["packets"],
        /// Largest number of waiting packets.
        max_queue_packets: u64 ["packets"],
        /// Packets transmitted. Not in JSON.
        @(skip) packets: u64 ["packets"],
        /// Packets waiting at the end of the run, or at the time of the reading. Not in JSON.
        @(skip) waiting_packets: u64 ["packets"],
        /// The same counters at each time at which the link was read, without readings of their own. Not in JSON.
        @(skip) readings: Vec<LinkResult> => nested,
    }
}

object! {
    /// Cost of a run. The times are the only values that differ between two runs of the same seed.
    pub struct EngineResult: Copy = "engine" {
        /// Packets, data and ACKs, counted once for every link that they cross.
        packet_hops: u64 ["packets"],
        /// Processor time; null for one of several runs, which share threads.
        cpu_s: Option<f64> ["s"],
        /// Elapsed time; null for one of several runs, which share threads.
        wall_s: Option<f64> ["s"],
    }
}

object! {
    /// Means over the runs of `run --runs N`, each with its 95 % confidence interval.
    pub struct RunMeans = "means" {
        /// Number of runs.
        count: u32,
        /// Seed of each run.
        seeds: Vec<u64> => nested,
        /// Means of every flow that all runs have, in the order of the first run.
        flows: Vec<FlowMeans> => nested,
        /// Means of every link, in the order of the first run.
        links: Vec<LinkMeans> => nested,
        /// Mean of Jain's fairness index.
        fairness_jain: Mean => nested,
    }
}

object! {
    /// Means of one flow over the runs.
    pub struct FlowMeans = "flow means" {
        /// Name of the flow.
        name: String,
        /// Mean completion time of the runs in which the flow finished; null if it never did.
        completion_s: Option<Mean> ["s"] => nested,
        /// Runs in which a finite flow did not finish.
        unfinished: u32,
        /// Mean packets cumulatively acknowledged at the sender.
        delivered_packets: Mean ["packets"] => nested,
        /// Mean goodput.
        goodput_bit_s: Mean ["bit/s"] => nested,
        /// Mean packets retransmitted.
        retransmits: Mean ["packets"] => nested,
        /// Mean retransmission timeouts.
        timeouts: Mean => nested,
        /// Mean packets of this flow that the network dropped.
        lost_packets: Mean ["packets"] => nested,
    }
}

object! {
    /// Means of one link over the runs.
    pub struct LinkMeans = "link means" {
        /// Name of the link.
        name: String,
        /// Mean share of the time in which the link transmitted, 0 to 1.
        utilization: Mean => nested,
        /// Mean packets dropped.
        drops: Mean ["packets"] => nested,
        /// Mean packets marked by ECN.
        marks: Mean ["packets"] => nested,
        /// Mean of the time averages of the waiting packets.
        mean_queue_packets: Mean ["packets"] => nested,
    }
}

object! {
    /// Row of table `run`: one run of a scenario.
    pub struct RunRow = "run row" {
        /// Number of the run, from 0.
        run: u64,
        /// Result of the run.
        result: RunResult => flat(""),
    }
}

object! {
    /// Row of table `flow`: one flow of one run.
    pub struct FlowRow = "flow row" {
        /// Number of the run in table `run`.
        run: u64,
        /// Result of the flow.
        flow: FlowResult => flat(""),
    }
}

object! {
    /// Row of table `link`: one link of one run.
    pub struct LinkRow = "link row" {
        /// Number of the run in table `run`.
        run: u64,
        /// Result of the link.
        link: LinkResult => flat(""),
    }
}

impl RunResult {
    /// Every run: the object itself, or all of `runs`.
    pub fn every_run(&self) -> &[RunResult] {
        if self.runs.is_empty() { std::slice::from_ref(self) } else { &self.runs }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::column::Record as _;

    /// The example object of the contract for `run --json`, with a value in place of every placeholder.
    fn contract_run() -> Value {
        json!({ "title": "t", "seed": 1, "simulated_s": 20.0,
            "flows": [ { "name": "bulk.0", "startup": "slow-start", "avoidance": "reno", "start_s": 0.0,
                "size_bytes": null, "completion_s": null, "delivered_bytes": 0, "delivered_packets": 0,
                "goodput_bit_s": 0.0, "retransmits": 0, "timeouts": 0, "lost_packets": 0,
                "startup_exit": { "time_s": 0.0, "cwnd_packets": 0.0, "bdp_packets": 0.0,
                    "overshoot_packets": 0, "lost_before_exit_packets": 0, "reason": "ack-train" },
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
    fn json_fields_keep_the_order_of_the_declaration() {
        let run: RunResult = serde_json::from_value(contract_run()).expect("the example is valid");
        let text = serde_json::to_string(&run.flows[0]).expect("serialisable");
        let places: Vec<usize> = FlowResult::fields()
            .iter()
            .filter(|field| !["rounds_s", "receiver_reads"].contains(&field.name))
            .map(|field| text.find(&format!("\"{}\":", field.name)).expect("in the object"))
            .collect();
        assert!(places.is_sorted() && places.len() == 17, "{text}");
    }

    #[test]
    fn an_unknown_exit_reason_is_refused_with_the_known_ones() {
        let mut run = contract_run();
        run["flows"][0]["startup_exit"]["reason"] = json!("boredom");
        let message = serde_json::from_value::<RunResult>(run).expect_err("no such reason").to_string();
        assert!(message.contains("boredom") && message.contains("first-ack"), "{message}");
    }
}
