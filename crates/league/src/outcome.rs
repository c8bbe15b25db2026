//! The outcome of a start on a scenario, beside the reference.

use std::collections::BTreeMap;

use firstflight_quantile::type_7;
use serde::{Deserialize, Serialize};

use crate::exits::{lost_before_rule, median, over_bdp, shares};
use crate::interval::Interval;
use crate::library::{Measure, Scenario};
use crate::rows::{Row, Rows};

/// Largest size of a short transfer, bytes; a medium one has up to ten times as much.
const SHORT: u64 = 100_000;
/// Largest size of a medium transfer, bytes.
const MEDIUM: u64 = 1_000_000;
/// Data of a full segment, bytes: the number of packets that a size needs at least.
const SEGMENT: f64 = 1448.0;

/// Summary of the runs of a start on a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Name of the start.
    pub start: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Runs.
    pub runs: u64,
    /// Transfers that did not finish, and count with their size over their goodput.
    pub unfinished: u64,
    /// Times over those of the reference, geometric mean; absent where times are not the measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Interval>,
    /// The same of transfers of up to 100 KB, of up to 1 MB, and above.
    pub classes: [Option<f64>; 3],
    /// Times by size.
    pub sizes: Vec<OfSize>,
    /// Shares of the runs by the reason of their exit from start-up.
    pub exits: BTreeMap<String, f64>,
    /// Median exit window over the bandwidth-delay product.
    pub exit_over_bdp: Option<f64>,
    /// Mean number of packets lost before an exit by a rule.
    pub lost_before_rule: Option<f64>,
    /// Lost packets as a share of the lost and the delivered.
    pub lost_share: f64,
    /// Mean time that a packet waits at the bottleneck, seconds.
    pub wait_s: Option<f64>,
    /// Share of the transfers that need more than their first flight.
    pub limited: f64,
    /// The measure of the scenario, if it is not a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harm: Option<Interval>,
    /// The same by the value of a factor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
}

/// Times of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfSize {
    /// Size, bytes.
    pub size_bytes: u64,
    /// Median time, seconds; `None` if fewer than half of the transfers finished.
    pub median_s: Option<f64>,
    /// 95th percentile, seconds; `None` if fewer than 95 % finished.
    pub p95_s: Option<f64>,
    /// Times over those of the reference, geometric mean.
    pub ratio: Option<Interval>,
}

/// Outcome at one value of a factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The value.
    pub value: String,
    /// Times over those of the reference.
    pub ratio: Option<Interval>,
    /// Shares of the runs by the reason of their exit.
    pub exits: BTreeMap<String, f64>,
    /// Median exit window over the bandwidth-delay product.
    pub exit_over_bdp: Option<f64>,
    /// Mean number of packets lost before an exit by a rule.
    pub lost_before_rule: Option<f64>,
    /// Lost packets as a share of those sent.
    pub lost_share: f64,
}

/// Time of a run on a scenario.
fn time(measure: Measure, row: &Row) -> Option<f64> {
    match measure {
        Measure::Rounds => row.last_round,
        Measure::Newcomer | Measure::Delivered => None,
        _ => row.time(),
    }
}

/// Whether the run is the baseline: a transfer of one byte.
fn is_baseline(row: &Row) -> bool {
    row.size == 1
}

/// Summarises the runs of a start. `value_of` gives the value of the scenario's factor in a cell, if the scenario shows one apart.
pub fn outcome(
    (start, scenario_name): (&str, &str),
    scenario: &Scenario,
    own: &Rows,
    reference: &Rows,
    value_of: &dyn Fn(u64) -> String,
) -> Outcome {
    let measure = scenario.measure;
    let rows: Vec<&Row> = own.all().filter(|row| !is_baseline(row)).collect();
    let ratios = |wanted: &dyn Fn(&Row) -> bool| ratio(measure, own, reference, wanted);
    let class = |least: u64, most: u64| ratios(&|row| row.size > least && row.size <= most).map(|it| it.mean);
    let mut by_size: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for row in &rows {
        if let Some(time) = time(measure, row) {
            let finished = row.completion.is_some();
            by_size.entry(row.size).or_default().push(if finished { time } else { f64::INFINITY });
        }
    }
    let of_size = |(size, mut times): (u64, Vec<f64>)| {
        times.sort_by(f64::total_cmp);
        OfSize {
            size_bytes: size,
            median_s: Some(type_7(&times, 0.5)).filter(|time| time.is_finite()),
            p95_s: Some(type_7(&times, 0.95)).filter(|time| time.is_finite()),
            ratio: ratios(&|row| row.size == size),
        }
    };
    let mut values: BTreeMap<u64, String> = BTreeMap::new();
    if scenario.by.is_some() {
        values = rows.iter().map(|row| (row.cell, value_of(row.cell))).collect();
    }
    let mut names: Vec<&String> = vec![];
    for value in values.values() {
        if !names.contains(&value) {
            names.push(value);
        }
    }
    let group = |name: &String| {
        let of = |row: &Row| values.get(&row.cell) == Some(name);
        let rows = || rows.iter().copied().filter(|row| of(row));
        Group {
            value: name.clone(),
            ratio: ratios(&of),
            exits: shares(rows()),
            exit_over_bdp: over_bdp(rows()),
            lost_before_rule: lost_before_rule(rows()),
            lost_share: lost_share(rows()),
        }
    };
    let limited = rows.iter().filter(|row| row.size as f64 / SEGMENT > row.first_flight).count();
    let waits: Vec<f64> = rows.iter().filter_map(|row| row.wait).collect();
    Outcome {
        start: start.into(),
        scenario: scenario_name.into(),
        runs: rows.len() as u64,
        unfinished: rows.iter().filter(|row| time(measure, row).is_some() && row.completion.is_none()).count()
            as u64,
        ratio: ratios(&|_| true),
        classes: [class(0, SHORT), class(SHORT, MEDIUM), class(MEDIUM, u64::MAX)],
        groups: names.into_iter().map(group).collect(),
        sizes: if scenario.population { vec![] } else { by_size.into_iter().map(of_size).collect() },
        exits: shares(rows.iter().copied()),
        exit_over_bdp: over_bdp(rows.iter().copied()),
        lost_before_rule: lost_before_rule(rows.iter().copied()),
        lost_share: lost_share(rows.iter().copied()),
        wait_s: (!waits.is_empty()).then(|| waits.iter().sum::<f64>() / waits.len() as f64),
        limited: limited as f64 / rows.len().max(1) as f64,
        harm: harm(measure, own, reference),
    }
}

/// Packets lost as a share of those lost and those delivered.
fn lost_share<'a>(rows: impl Iterator<Item = &'a Row>) -> f64 {
    let (mut lost, mut sent) = (0.0, 0.0);
    for row in rows {
        lost += row.lost;
        sent += (row.delivered / SEGMENT).ceil() + row.lost;
    }
    if sent > 0.0 { lost / sent } else { 0.0 }
}

/// Geometric mean of the times over those of the reference, of the wanted runs. A block is one value: the mean of its sizes.
fn ratio(measure: Measure, own: &Rows, reference: &Rows, wanted: &dyn Fn(&Row) -> bool) -> Option<Interval> {
    let blocks = own.blocks.iter().filter_map(|(block, rows)| {
        let others = reference.blocks.get(block)?;
        let pairs = rows.iter().zip(others).filter(|(row, _)| !is_baseline(row) && wanted(row));
        let logs: Vec<f64> = pairs
            .filter_map(|(row, other)| Some(libm::log(time(measure, row)? / time(measure, other)?)))
            .filter(|log| log.is_finite())
            .collect();
        (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
    });
    Interval::of(&blocks.collect::<Vec<_>>()).map(Interval::exp)
}

/// The measure of a scenario that is not about times; the mean over the blocks.
fn harm(measure: Measure, own: &Rows, reference: &Rows) -> Option<Interval> {
    let mean =
        |values: Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let of_block = |(block, rows): (&(u64, u64), &Vec<Row>)| -> Option<f64> {
        let baseline = rows.iter().find(|row| is_baseline(row));
        let transfers = || rows.iter().filter(|row| !is_baseline(row));
        match measure {
            Measure::Time | Measure::Rounds => None,
            Measure::Displaced => {
                let alone = baseline?.others_delivered;
                let lost =
                    |row: &Row| (row.delivered > 0.0).then(|| (alone - row.others_delivered) / row.delivered);
                mean(transfers().filter_map(lost).collect())
            }
            Measure::Requests => {
                let alone = baseline?.others_completion?;
                let longer = |row: &Row| Some(libm::log(row.others_completion? / alone));
                mean(transfers().filter_map(longer).collect())
            }
            Measure::Newcomer => {
                let other = reference.blocks.get(block)?.first()?;
                Some(libm::log(newcomer(rows.first()?) / newcomer(other)))
            }
            Measure::Twins => {
                let unlike = |row: &Row| Some(libm::log(row.time()? / row.others_completion?).abs());
                mean(transfers().filter_map(unlike).collect())
            }
            Measure::Delivered => {
                let other = reference.blocks.get(block)?.first()?;
                Some(libm::log(rows.first()?.delivered / other.delivered)).filter(|log| log.is_finite())
            }
        }
    };
    let values: Vec<f64> = own.blocks.iter().filter_map(of_block).collect();
    let joined = Interval::of(&values)?;
    Some(if measure == Measure::Displaced { joined } else { joined.exp() })
}

/// Time of the transfer of the flow that came later; to the end of the run if it did not finish.
fn newcomer(row: &Row) -> f64 {
    row.others_completion.unwrap_or(row.simulated)
}

/// Median over the starts, for pictures.
pub(crate) fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    median(values.collect())
}
