//! Tables: the columns of a record, and their values.

use crate::column::{Column, Record, Value};
use crate::{
    CompareReport, Comparison, FlowRow, LinkRow, MixShare, NetworkResult, NetworkRow, Recommended,
    ReplicationRow, ResultRow, RunResult, RunRow, SampleRow, SampleSet, SchemeResult, Trace, WindowRow,
};

/// A table, stored by column.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name of the table; also that of its file, without the extension.
    pub name: &'static str,
    /// Columns.
    pub columns: Vec<Column>,
    /// Values of each column; all columns have the same length.
    pub values: Vec<Vec<Value>>,
}

impl Table {
    /// A table of these rows.
    pub fn of<R: Record>(name: &'static str, rows: impl IntoIterator<Item = R>) -> Self {
        let columns = Self::columns_of::<R>();
        let mut values = vec![vec![]; columns.len()];
        let mut cells = vec![];
        for row in rows {
            R::cells(Some(&row), &mut cells);
            debug_assert_eq!(cells.len(), columns.len());
            for (column, cell) in values.iter_mut().zip(cells.drain(..)) {
                column.push(cell);
            }
        }
        Self { name, columns, values }
    }

    /// The columns of a record.
    pub fn columns_of<R: Record>() -> Vec<Column> {
        let mut columns = vec![];
        R::columns(&mut columns, "", None);
        columns
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.first().map_or(0, Vec::len)
    }

    /// Table `run`: a row for each run.
    pub fn of_runs(result: &RunResult) -> Self {
        let own = |run: &RunResult| RunResult {
            flows: vec![],
            links: vec![],
            means: None,
            runs: vec![],
            host: None,
            title: run.title.clone(),
            ..*run
        };
        Self::of("run", numbered(result).map(|(run, result)| RunRow { run, result: own(result) }))
    }

    /// Table `flow`: a row for each flow of each run.
    pub fn of_flows(result: &RunResult) -> Self {
        let rows = numbered(result).flat_map(|(run, result)| {
            result.flows.iter().map(move |flow| FlowRow { run, flow: flow.clone() })
        });
        Self::of("flow", rows)
    }

    /// Table `link`: a row for each link of each run.
    pub fn of_links(result: &RunResult) -> Self {
        let rows = numbered(result).flat_map(|(run, result)| {
            result.links.iter().map(move |link| LinkRow { run, link: link.clone() })
        });
        Self::of("link", rows)
    }

    /// Table `sample`: a row for each time of each time series.
    pub fn of_samples(rows: impl IntoIterator<Item = SampleRow>) -> Self {
        Self::of("sample", rows)
    }

    /// Table `replication`: a row for each replication of a comparison.
    pub fn of_replications(report: &CompareReport) -> Self {
        let Comparison { path, results, recommended, .. } = &report.comparison;
        let rows = |set: &SampleSet| {
            let (scheme, size_bytes) = (set.scheme.clone(), set.size_bytes);
            let of_set = |it: &&SchemeResult| it.size_bytes == size_bytes && it.scheme == scheme;
            let result = results.iter().find(of_set);
            let (completion, against_baseline) =
                result.map_or((None, None), |it| (it.completion_s, it.against_baseline));
            let named =
                |it: &Recommended| it.size_bytes == size_bytes && it.scheme.as_ref() == Some(&set.scheme);
            let recommended = recommended.iter().any(named);
            let row = move |(replication, &sample): (usize, &_)| ReplicationRow {
                scheme: scheme.clone(),
                size_bytes,
                replication: replication as u64,
                sample,
                completion,
                against_baseline,
                recommended,
                path: path.clone(),
            };
            set.samples.iter().enumerate().map(row).collect::<Vec<_>>()
        };
        Self::of("replication", report.samples.iter().flat_map(rows))
    }

    /// Table `result`: a row for each scheme at each size, in the order of the results.
    pub fn of_results(comparison: &Comparison) -> Self {
        let Comparison { results, recommended, .. } = comparison;
        let named = |of: &SchemeResult| {
            let of_size = recommended.iter().find(|it| it.size_bytes == of.size_bytes);
            of_size.is_some_and(|it| it.scheme.as_ref() == Some(&of.scheme))
        };
        let row = |it: &SchemeResult| ResultRow {
            scheme: it.scheme.clone(),
            size_bytes: it.size_bytes,
            rank: it.rank,
            recommended: named(it),
            ties_with_best: it.ties_with_best,
            same_as: it.same_as.clone(),
            replications: it.replications,
            unfinished: it.unfinished,
            completion: it.completion_s,
            retransmits_mean: it.retransmits_mean,
            drops_mean: it.drops.mean,
            timeouts_mean: it.timeouts_mean,
            startup_exit: it.startup_exit,
            initial_window_packets: it.initial_window_packets,
            harm: it.harm,
            against_baseline: it.against_baseline,
        };
        Self::of("result", results.iter().map(row))
    }

    /// Table `window`: a row for each time of the replication nearest the median of each scheme and size.
    pub fn of_windows(report: &CompareReport) -> Self {
        let rows = |trace: &Trace| {
            let (scheme, size_bytes) = (trace.scheme.clone(), trace.size_bytes);
            let row = move |sample| WindowRow { scheme: scheme.clone(), size_bytes, sample };
            trace.series.rows(trace.replication.into(), "transfer").map(row).collect::<Vec<_>>()
        };
        Self::of("window", report.traces.iter().flat_map(rows))
    }

    /// Table `network`: a row for each scheme at each size in each network of a comparison's mix; `None` without a mix.
    pub fn of_networks(comparison: &Comparison) -> Option<Self> {
        let Comparison { groups, recommended: for_mix, .. } = comparison;
        let recommends = |by: &[Recommended], result: &SchemeResult| {
            let of = by.iter().find(|it| it.size_bytes == result.size_bytes);
            of.is_some_and(|it| it.scheme.as_ref() == Some(&result.scheme))
        };
        let row = |network: &NetworkResult, mix: &MixShare, result: Option<&SchemeResult>| NetworkRow {
            network: network.network.clone(),
            connections: network.connections,
            bytes: network.bytes,
            no_answer: network.no_answer.clone(),
            size_bytes: mix.size_bytes,
            transfers: mix.transfers,
            share: mix.share,
            scheme: result.map(|it| it.scheme.clone()),
            recommended: result.is_some_and(|it| recommends(&network.recommended, it)),
            recommended_for_mix: result.is_some_and(|it| recommends(for_mix, it)),
            completion: result.and_then(|it| it.completion_s),
            drops_mean: result.map(|it| it.drops.mean),
            harm: result.and_then(|it| it.harm),
            against: result.and_then(|it| it.against().copied()),
            path: network.path.clone(),
        };
        let rows = |network: &NetworkResult| {
            let of_size = |mix: &MixShare| {
                let results = network.results.iter().filter(|it| it.size_bytes == mix.size_bytes);
                let results: Vec<Option<&SchemeResult>> = results.map(Some).collect();
                let results = if results.is_empty() { vec![None] } else { results };
                results.into_iter().map(|result| row(network, mix, result)).collect::<Vec<_>>()
            };
            network.mix.iter().flat_map(of_size).collect::<Vec<_>>()
        };
        (!groups.is_empty()).then(|| Self::of("network", groups.iter().flat_map(rows)))
    }
}

fn numbered(result: &RunResult) -> impl Iterator<Item = (u64, &RunResult)> {
    (0..).zip(result.every_run())
}
