//! Summary of replications as rows: medians, intervals, ranks, differences.

use firstflight_contract::Exit;

use super::path::Subject;
use super::{Run, Task};
use crate::stats;
use firstflight_results::{Mean, SchemeResult, TypicalExit};

/// Description of the intervals, for provenance.
pub(super) const INTERVAL_METHOD: &str = "medians and percentiles: binomial intervals of order statistics; means and \
    paired differences: Student's t; on a path inferred from a capture, the interval of the median should contain 95 % \
    of further transfers: it comes from replications that draw the unknown values of the path anew, and is widened by \
    the departure of the re-runs of the captured connections";

/// One row per cell, ordered by size and rank, and the index of the cell of each row.
pub(super) fn results(
    cells: &[(&[Task<'_>], &[Run])],
    baseline: Option<&str>,
    subject: &Subject<'_>,
    departure: Option<f64>,
) -> (Vec<SchemeResult>, Vec<usize>) {
    let widened_by = subject.unknowns().noticeable();
    let mut rows: Vec<(usize, SchemeResult)> = vec![];
    for (index, &cell) in cells.iter().enumerate() {
        let mut row = SchemeResult { widened_by: widened_by.clone(), ..row(cell) };
        if let (Some(departure), Some(completion)) = (departure, &mut row.completion_s) {
            completion.ci95 = widened(prediction95(&finished(cell.1)), departure);
        }
        rows.push((index, row));
    }
    for (index, row) in &mut rows {
        row.against_baseline = baseline
            .filter(|label| *label != row.scheme)
            .and_then(|label| find(cells, label, row.size_bytes))
            .and_then(|base| paired(cells[*index].1, cells[base].1));
    }
    rows.sort_by(|(_, a), (_, b)| {
        let median = |row: &SchemeResult| row.completion_s.map_or(f64::INFINITY, |c| c.median);
        (a.size_bytes, median(a)).partial_cmp(&(b.size_bytes, median(b))).expect("medians are numbers")
    });
    rank(&mut rows, cells);
    let order = rows.iter().map(|(index, _)| *index).collect();
    (rows.into_iter().map(|(_, row)| row).collect(), order)
}

fn find(cells: &[(&[Task<'_>], &[Run])], label: &str, size: u64) -> Option<usize> {
    cells.iter().position(|(tasks, _)| tasks[0].size == size && tasks[0].scheme.label() == label)
}

fn rank(rows: &mut [(usize, SchemeResult)], cells: &[(&[Task<'_>], &[Run])]) {
    let mut best = 0;
    for i in 0..rows.len() {
        if rows[i].1.size_bytes != rows[best].1.size_bytes {
            best = i;
        }
        rows[i].1.rank = (i - best) as u32 + 1;
        let difference = paired(cells[rows[i].0].1, cells[rows[best].0].1);
        rows[i].1.ties_with_best =
            i == best || difference.is_some_and(|d| d.seconds_ci95[0] <= 0.0 && 0.0 <= d.seconds_ci95[1]);
    }
}

/// The paired difference over the replications in which both finished.
fn paired(these: &[Run], baseline: &[Run]) -> Option<firstflight_results::PairedDifference> {
    let both = these.iter().zip(baseline);
    let pairs: Vec<(f64, f64)> =
        both.filter_map(|(a, b)| Some((a.sample.completion_s?, b.sample.completion_s?))).collect();
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    stats::paired(&a, &b)
}

/// Interval that contains 95 % of further transfers: between the order statistics that exclude one in forty
/// on either side (S. Wilks, "Determination of Sample Sizes for Setting Tolerance Limits", 1941). Fewer than
/// 39 values cannot exclude any.
fn prediction95(sorted: &[f64]) -> [f64; 2] {
    let outside = ((sorted.len() + 1) as f64 * 0.025).floor().max(1.0) as usize;
    [sorted[outside - 1], sorted[sorted.len() - outside]]
}

/// Widens an interval whose ends may be wrong by `share`.
fn widened([low, high]: [f64; 2], share: f64) -> [f64; 2] {
    [low / (1.0 + share), high * (1.0 + share)]
}

/// Completion times, ascending.
fn finished(runs: &[Run]) -> Vec<f64> {
    let mut times: Vec<f64> = runs.iter().filter_map(|run| run.sample.completion_s).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn row((tasks, runs): (&[Task<'_>], &[Run])) -> SchemeResult {
    let of = |value: &dyn Fn(&Run) -> f64| stats::mean_ci95(&runs.iter().map(value).collect::<Vec<_>>());
    let times = finished(runs);
    let (drops, drops_ci95) = of(&|run| run.sample.drops as f64);
    // The normal approximation for a small mean may extend below zero; a count cannot.
    let drops_ci95 = drops_ci95.map(|[low, high]| [low.max(0.0), high]);
    SchemeResult {
        scheme: tasks[0].scheme.label(),
        size_bytes: tasks[0].size,
        completion_s: stats::completion(&times),
        retransmits_mean: of(&|run| run.sample.retransmits as f64).0,
        startup_exit: typical_exit(runs),
        rank: 0,
        ties_with_best: false,
        replications: runs.len() as u32,
        unfinished: (runs.len() - times.len()) as u32,
        against_baseline: None,
        drops: Mean { mean: drops, ci95: drops_ci95 },
        others_drops_mean: of(&|run| run.others_drops as f64).0,
        timeouts_mean: of(&|run| run.sample.timeouts as f64).0,
        widened_by: vec![],
        risks: vec![],
    }
}

/// Typical end of start-up; `None` if start-up outlasted the transfer in more than half the replications.
fn typical_exit(runs: &[Run]) -> Option<TypicalExit> {
    let exits: Vec<_> = runs.iter().filter_map(|run| run.sample.startup_exit).collect();
    if 2 * exits.len() < runs.len() || exits.is_empty() {
        return None;
    }
    let count = |reason: Exit| exits.iter().filter(|exit| exit.reason == reason).count();
    let reason = Exit::ALL.into_iter().max_by_key(|&reason| (count(reason), std::cmp::Reverse(reason)))?;
    let median = |value: &dyn Fn(&firstflight_results::StartupExit) -> f64| {
        let mut values: Vec<f64> = exits.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        stats::quantile(&values, 0.5)
    };
    Some(TypicalExit {
        time_s: median(&|exit| exit.time_s),
        cwnd_packets: median(&|exit| exit.cwnd_packets),
        reason,
        bdp_packets: median(&|exit| exit.bdp_packets),
        overshoot_packets: median(&|exit| exit.overshoot_packets as f64),
        lost_before_exit_packets: median(&|exit| exit.lost_before_exit_packets as f64),
        exited: exits.len() as f64 / runs.len() as f64,
        agreed: count(reason) as f64 / exits.len() as f64,
    })
}

/// Index of the replication whose completion is nearest the median; 0 if none finished.
pub(super) fn nearest_to_median(runs: &[Run]) -> usize {
    let times: Vec<f64> = runs.iter().filter_map(|run| run.sample.completion_s).collect();
    let Some(completion) = stats::completion(&times) else { return 0 };
    let distance =
        |run: &Run| run.sample.completion_s.map_or(f64::INFINITY, |t| (t - completion.median).abs());
    (0..runs.len()).min_by(|&a, &b| distance(&runs[a]).total_cmp(&distance(&runs[b]))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_39_values_are_needed_for_a_95_percent_prediction_interval() {
        // A further value falls below the smallest of 39, or above the largest, with a probability of 1 in 40
        // each.
        let sorted: Vec<f64> = (1..=79).map(f64::from).collect();
        assert_eq!(prediction95(&sorted[..39]), [1.0, 39.0]);
        assert_eq!(prediction95(&sorted), [2.0, 78.0]);
        assert_eq!(prediction95(&sorted[..1]), [1.0, 1.0]);
    }
}
