//! Rows of a dataset, as the league reads them.

use std::collections::BTreeMap;

use firstflight_document::Error;
use firstflight_results::Value;
use firstflight_sweep::Dataset;

/// Columns of table `sweep` that are read, in the order of [`Row::of`].
const COLUMNS: [&str; 17] = [
    "cell",
    "replication",
    "size_bytes",
    "completion_s",
    "delivered_bytes",
    "goodput_bit_s",
    "lost_packets",
    "exit_reason",
    "exit_cwnd_packets",
    "exit_bdp_packets",
    "exit_lost_before_exit_packets",
    "first_flight_packets",
    "last_round_s",
    "wait_s",
    "others_delivered_bytes",
    "others_completion_s",
    "simulated_s",
];

/// A run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub cell: u64,
    pub replication: u64,
    pub size: u64,
    pub completion: Option<f64>,
    pub delivered: f64,
    pub goodput: f64,
    pub lost: f64,
    pub exit: Option<Exit>,
    pub first_flight: f64,
    pub last_round: Option<f64>,
    pub wait: Option<f64>,
    pub others_delivered: f64,
    pub others_completion: Option<f64>,
    pub simulated: f64,
}

/// End of the start-up of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exit {
    pub reason: String,
    pub cwnd: f64,
    pub bdp: f64,
    pub lost_before: f64,
}

/// The runs of a start on a scenario, by block: the sizes of a replication of a cell meet the same randomness.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    pub(crate) blocks: BTreeMap<(u64, u64), Vec<Row>>,
}

impl Rows {
    /// The rows of a finished dataset.
    ///
    /// # Errors
    /// If a part is missing or cannot be read.
    pub fn read(dataset: &Dataset) -> Result<Self, Error> {
        let columns = dataset.columns(&COLUMNS)?;
        let mut blocks: BTreeMap<_, Vec<Row>> = BTreeMap::new();
        let [first, ..] = &columns[..] else { return Ok(Self { blocks }) };
        for (at, _) in first.iter().enumerate() {
            let row = Row::of(std::array::from_fn(|column| &columns[column][at]));
            blocks.entry((row.cell, row.replication)).or_default().push(row);
        }
        Ok(Self { blocks })
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Row> {
        self.blocks.values().flatten()
    }
}

impl Row {
    fn of(values: [&Value; COLUMNS.len()]) -> Self {
        let number = |at: usize| match values[at] {
            Value::Real(value) => Some(*value),
            Value::Unsigned(value) => Some(*value as f64),
            _ => None,
        };
        let count = |at: usize| match values[at] {
            Value::Unsigned(value) => *value,
            _ => 0,
        };
        let real = |at: usize| number(at).unwrap_or(0.0);
        let exit = match values[7] {
            Value::Text(reason) => {
                Some(Exit { reason: reason.clone(), cwnd: real(8), bdp: real(9), lost_before: real(10) })
            }
            _ => None,
        };
        Self {
            cell: count(0),
            replication: count(1),
            size: count(2),
            completion: number(3),
            delivered: real(4),
            goodput: real(5),
            lost: real(6),
            exit,
            first_flight: real(11),
            last_round: number(12),
            wait: number(13),
            others_delivered: real(14),
            others_completion: number(15),
            simulated: real(16),
        }
    }

    /// Time of the transfer, seconds. A transfer that did not finish counts with its size at the rate that it had; `None` if nothing
    /// arrived.
    pub(crate) fn time(&self) -> Option<f64> {
        self.completion.or_else(|| (self.goodput > 0.0).then(|| self.size as f64 * 8.0 / self.goodput))
    }
}
