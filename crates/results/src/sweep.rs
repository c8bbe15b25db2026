//! Results of sweeps: the rows of the dataset, and the object of `firstflight sweep --json`.

use crate::object::object;
use crate::{Column, FlowResult, LinkResult, RunResult, StartupExit, Table, Value};

object! {
    /// Row of table `sweep`: one run of a sweep. The values of the factors follow the column `cell`, one column for each key.
    pub struct SweepRow = "sweep row" {
        /// Number of the combination of the factors' values, from 0; the last factor varies fastest, then the sample.
        cell: u64,
        /// Chain of scheme labels, with its settings.
        scheme: String,
        /// Number of the replication, from 0.
        replication: u64,
        /// Seed from which every random stream of the run is derived; equal for all schemes and sizes of a replication.
        seed: u64,
        /// Hash of the cell's scenario before scheme and size are set: the first 32 hexadecimal digits of its SHA-256.
        scenario: String,
        /// Application bytes of the measured transfer; null if unlimited.
        size_bytes: Option<u64> ["bytes"],
        /// Time from the start until the sender has the acknowledgement of the last byte; null if it never had.
        completion_s: Option<f64> ["s"],
        /// Application bytes cumulatively acknowledged at the sender.
        delivered_bytes: u64 ["bytes"],
        /// Delivered application bits per second, from the start to the completion, or to the end of the run.
        goodput_bit_s: f64 ["bit/s"],
        /// Packets retransmitted.
        retransmits: u64 ["packets"],
        /// Retransmission timeouts.
        timeouts: u64,
        /// Packets of the measured transfer that the network dropped.
        lost_packets: u64 ["packets"],
        /// End of start-up; null while start-up lasts.
        startup_exit: Option<StartupExit> => optional("exit_", "Null while start-up lasts."),
        /// Packets sent before the first ACK arrived.
        first_flight_packets: u64 ["packets"],
        /// Largest congestion window.
        max_cwnd_packets: f64 ["packets"],
        /// Packets that all links dropped, of every flow.
        drops: u64 ["packets"],
        /// Time of the last transfer on the connection of several; null with a single one.
        last_round_s: Option<f64> ["s"],
        /// Mean time that a packet waited at the first link, by Little's law; null if no packet crossed it.
        wait_s: Option<f64> ["s"],
        /// Largest number of packets that waited at the first link.
        max_queue_packets: Option<u64> ["packets"],
        /// Application bytes of all other flows that were acknowledged.
        others_delivered_bytes: u64 ["bytes"],
        /// Packets of all other flows that the network dropped.
        others_lost_packets: u64 ["packets"],
        /// Number of finished transfers of all other flows.
        others_finished: u64,
        /// Mean time of the finished transfers of all other flows; null without one.
        others_completion_s: Option<f64> ["s"],
        /// Simulated time from zero to the last event.
        simulated_s: f64 ["s"],
        /// Packets, data and ACKs, counted once for every link that they cross.
        packet_hops: u64 ["packets"],
    }
}

object! {
    /// Result of a sweep: the state of its dataset when the command ends.
    pub struct SweepResult = "sweep" {
        /// Title of the grid.
        title: String,
        /// Folder of the dataset.
        dataset: String,
        /// SHA-256 of the grid with its base scenario written out, in hexadecimal.
        grid: String,
        /// Version of the results: equal versions have the same sources, the same host and the same observation.
        version: String,
        /// Combinations of the factors' values.
        cells: u64,
        /// Schemes of each cell.
        schemes: Vec<String> => nested,
        /// Sizes of the transfers; empty if the scenario has them.
        sizes_bytes: Vec<u64> ["bytes"] => nested,
        /// Runs of the whole sweep; the most, if an interval ends the replications.
        runs: u64,
        /// Parts of the dataset.
        parts: u64,
        /// Parts that were finished before.
        parts_before: u64,
        /// Parts made by this command.
        parts_made: u64,
        /// Numbers of the parts that are missing, as ranges: `3,7-9`; empty if the dataset is complete.
        open: String,
        /// Size of all finished parts.
        dataset_bytes: u64 ["bytes"],
        /// Parts that were damaged, or of another version or grid, and were not used.
        refused: Vec<String> => nested,
        /// Sobol indices of the sampled keys; absent without `--sensitivity`.
        @(default, skip_serializing_if = "Vec::is_empty") sensitivity: Vec<SobolIndex> => nested,
    }
}

object! {
    /// Share of the variance of a value over a sample that is due to one key, with 95 % confidence intervals. An estimate may be
    /// slightly below 0 or above 1.
    pub struct SobolIndex = "sobol index" {
        /// Values of the crossed factors; empty without any.
        point: String,
        /// Scheme.
        scheme: String,
        /// Application bytes of the measured transfer; null if unlimited.
        size_bytes: Option<u64> ["bytes"],
        /// The value: the measure, or its ratio to that of the first scheme.
        of: String,
        /// Key of the scenario.
        key: String,
        /// Share that is due to the key alone.
        first: f64 [""; Any],
        /// Half-width of its interval.
        first_half_width: f64,
        /// Share that is due to the key alone and together with others.
        total: f64 [""; Any],
        /// Half-width of its interval.
        total_half_width: f64,
    }
}

impl SweepRow {
    /// The row of a run whose measured transfer is `flow`.
    pub fn new(
        (cell, replication): (u64, u64),
        scheme: String,
        scenario: &str,
        run: &RunResult,
        flow: &FlowResult,
    ) -> Self {
        let others = || run.flows.iter().filter(|other| other.name != flow.name);
        // A flow of several transfers names the first of them among the rounds.
        let rounds = |other: &FlowResult| match other.rounds_s.is_empty() {
            true => other.completion_s.into_iter().collect(),
            false => other.rounds_s.clone(),
        };
        let finished: Vec<f64> = others().flat_map(rounds).collect();
        let link = run.links.first();
        let mean = |link: &LinkResult| {
            (link.packets > 0).then(|| link.mean_queue_packets * run.simulated_s / link.packets as f64)
        };
        Self {
            cell,
            scheme,
            replication,
            seed: run.seed,
            scenario: scenario.into(),
            size_bytes: flow.size_bytes,
            completion_s: flow.completion_s,
            delivered_bytes: flow.delivered_bytes,
            goodput_bit_s: flow.goodput_bit_s,
            retransmits: flow.retransmits,
            timeouts: flow.timeouts,
            lost_packets: flow.lost_packets,
            startup_exit: flow.startup_exit,
            first_flight_packets: flow.first_flight_packets,
            max_cwnd_packets: flow.max_cwnd_packets,
            drops: run.links.iter().map(|link| link.drops).sum(),
            last_round_s: flow.rounds_s.last().copied(),
            wait_s: link.and_then(mean),
            max_queue_packets: link.map(|link| link.max_queue_packets),
            others_delivered_bytes: others().map(|other| other.delivered_bytes).sum(),
            others_lost_packets: others().map(|other| other.lost_packets).sum(),
            others_finished: finished.len() as u64,
            others_completion_s: (!finished.is_empty())
                .then(|| finished.iter().sum::<f64>() / finished.len() as f64),
            simulated_s: run.simulated_s,
            packet_hops: run.engine.packet_hops,
        }
    }
}

impl Table {
    /// Table `sweep`: a row for each run, with the columns of the factors after the column `cell`. `factors` has each column,
    /// and its value in every row.
    ///
    /// # Panics
    /// If a column of a factor has another number of values than there are rows.
    pub fn of_sweep(rows: Vec<SweepRow>, factors: Vec<(Column, Vec<Value>)>) -> Self {
        let mut table = Self::of("sweep", rows);
        let length = table.rows();
        for (at, (column, values)) in (1..).zip(factors) {
            assert_eq!(values.len(), length, "{}", column.name);
            table.columns.insert(at, column);
            table.values.insert(at, values);
        }
        table
    }
}
