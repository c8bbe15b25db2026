//! A grid as work: cells, runs, and the parts of the dataset. Every part is computed by itself, from the grid and its number.

use std::ops::Range as Numbers;

use firstflight_document::{nearest, seconds::Seconds};
use firstflight_random::Dist;
use firstflight_results::{Column, SweepRow, Table, Value};
use firstflight_scenario::{Candidate, FlowGroup, Network, Profile, Scenario, Source, limits};

use super::columns::{FactorColumn, assign, units};
use super::grid::{CELLS, Grid, Replications};
use super::sample::Sampler;
use super::{Cell, Error, Sweep, settings, within, wrong};
use firstflight_hosts::host::{Host, Observe, Refusal};
use firstflight_hosts::memory;
use firstflight_hosts::parallel::{try_map, with_threads};
use firstflight_hosts::progress::{self, Progress};
use firstflight_hosts::stats::mean_ci95;

/// Work of a part, in packets of the measured transfers: about a second of a core.
const PART: f64 = 4e6;
/// Work of a run beside its packets, in packets.
const RUN: f64 = 100.0;
/// Largest number of rows of a part, unless the grid sets another: some 20 MB until they are written.
const ROWS: u64 = 20_000;
/// Largest number of parts: as many folders.
const PARTS: u64 = 100_000;
/// Replications of a cell that a thread takes at a time.
const CHUNK: u64 = 64;
/// Points of a sample that are checked before anything is run.
const CHECKED: u64 = 64;
/// Hexadecimal digits of a scenario's hash in a row.
const DIGITS: usize = 32;

/// A grid as work.
#[derive(Clone, Debug)]
pub struct Plan {
    grid: Grid,
    sweep: Sweep,
    sampler: Option<Sampler>,
    cells: u64,
    columns: Vec<FactorColumn>,
    schemes: Vec<Option<Candidate>>,
    sizes: Vec<Option<u64>>,
    groups_per_part: u64,
}

/// End of a part that was not made: the user has asked for the end, the host cannot run a cell, or a cell is no scenario.
pub type Halt = progress::Halt<Error>;

/// Replications of a cell that one thread runs, one after another.
#[derive(Clone, Debug)]
struct Chunk {
    cell: u64,
    replications: Numbers<u64>,
}

impl Plan {
    /// The work of a grid. Only the first and the last cell are read.
    ///
    /// # Errors
    /// If there are too many cells, a key does not fit the base, or two keys have the same column.
    pub fn new(grid: Grid) -> Result<Self, Error> {
        let sampler = grid.sample.as_ref().map(super::grid::Sample::sampler);
        let points = sampler.as_ref().map_or(1, Sampler::len);
        let crossed = grid.factors.iter().map(|axis| axis.points.len() as u64).chain([points]);
        let cells = crossed.fold(1, u64::saturating_mul);
        if cells > CELLS {
            return Err(wrong(&grid.file, format!("{cells} cells")).expecting(format!("at most {CELLS}")));
        }
        let sweep = Sweep {
            file: grid.file.clone(),
            base: grid.base.clone(),
            axes: grid.factors.clone(),
            replications: 1,
            seed: None,
            memory: memory::DEFAULT,
        };
        let filled = |all: Vec<_>, none| if all.is_empty() { vec![none] } else { all };
        let schemes = filled(grid.schemes.iter().cloned().map(Some).collect(), None);
        let sizes = match grid.sizes.is_empty() {
            true => vec![None],
            false => grid.sizes.iter().copied().map(Some).collect(),
        };
        let ranges = grid.sample.iter().flat_map(|sample| &sample.ranges);
        let keys =
            grid.factors.iter().flat_map(units).chain(ranges.map(|span| (span.key.as_str(), span.unit)));
        let columns = FactorColumn::of(keys).map_err(|error| within(&grid.file, error))?;
        let mut plan = Self { sampler, cells, columns, schemes, sizes, groups_per_part: 1, sweep, grid };
        plan.groups_per_part = plan.part_length()?;
        Ok(plan)
    }

    /// The grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Number of cells.
    pub fn cells(&self) -> u64 {
        self.cells
    }

    /// Number of runs; the most, if an interval ends the replications.
    pub fn runs(&self) -> u64 {
        self.cells
            .saturating_mul(u64::from(self.grid.replications.most()))
            .saturating_mul(self.runs_of_replication())
    }

    /// Number of parts.
    pub fn parts(&self) -> u64 {
        self.groups().div_ceil(self.groups_per_part)
    }

    /// Labels of the schemes; empty if the scenario has the scheme.
    pub fn schemes(&self) -> Vec<String> {
        self.grid.schemes.iter().map(Candidate::label).collect()
    }

    /// Number of sampled points in each combination of the crossed factors; 1 without a sample.
    pub fn points(&self) -> u64 {
        self.sampler.as_ref().map_or(1, Sampler::len)
    }

    /// Values of the crossed factors in combination `index`, joined by commas.
    pub fn combination(&self, mut index: u64) -> String {
        let mut names = vec![];
        for axis in self.grid.factors.iter().rev() {
            names.push(axis.points[(index % axis.points.len() as u64) as usize].name.as_str());
            index /= axis.points.len() as u64;
        }
        names.reverse();
        names.join(", ")
    }

    /// Steps of progress of a part.
    pub fn steps(&self, part: u64) -> u64 {
        let groups = self.groups_of(part);
        groups.end.saturating_sub(groups.start)
    }

    /// Runs of one replication of one cell.
    fn runs_of_replication(&self) -> u64 {
        self.schemes.len() as u64 * self.sizes.len() as u64
    }

    /// Groups of one cell. A group is never divided between parts: a replication with all schemes and sizes, or, where an
    /// interval ends the replications, all replications of a cell.
    fn groups_of_cell(&self) -> u64 {
        match self.grid.replications {
            Replications::Fixed(number) => u64::from(number),
            Replications::Until { .. } => 1,
        }
    }

    fn groups(&self) -> u64 {
        self.cells * self.groups_of_cell()
    }

    fn groups_of(&self, part: u64) -> Numbers<u64> {
        let first = part * self.groups_per_part;
        first..(first + self.groups_per_part).min(self.groups())
    }

    /// Number of groups in a part, from the grid alone, so that the parts are the same wherever they are made.
    fn part_length(&self) -> Result<u64, Error> {
        let ends = [self.cell(0)?, self.cell(self.cells - 1)?];
        let most = u64::from(self.grid.replications.most());
        let rows = self.runs_of_replication().saturating_mul(most / self.groups_of_cell()).max(1);
        let work = |cell: &Cell| -> f64 {
            let flow = self.flow(&cell.scenario).unwrap_or(0);
            let of_size = |size: &Option<u64>| RUN + packets(&cell.scenario, flow, *size);
            self.sizes.iter().map(of_size).sum::<f64>()
                * self.schemes.len() as f64
                * (most / self.groups_of_cell()) as f64
        };
        let heavy = ends.iter().map(work).fold(1.0, f64::max);
        let by_work = ((PART / heavy) as u64).max(1);
        let by_rows = (self.grid.rows_per_part.unwrap_or(ROWS) / rows).max(1);
        let length = if self.grid.rows_per_part.is_some() { by_rows } else { by_work.min(by_rows) };
        Ok(length.max(self.groups().div_ceil(PARTS)))
    }

    /// The document of a cell, read as a scenario.
    fn cell(&self, index: u64) -> Result<Cell, Error> {
        let points = self.points();
        let mut document = self.sweep.document((index / points) as usize)?;
        for (key, value) in self.sampled(index) {
            let set = settings::set(&mut document.table, key, &value);
            set.map_err(|error| self.sweep.at(&[format!("sample point {}", index % points)], error))?;
        }
        if self.sampler.is_some() {
            document.point.push(format!("sample point {}", index % points));
        }
        self.sweep.cell(document)
    }

    /// Keys and values of the sample in a cell.
    fn sampled(&self, index: u64) -> Vec<(&str, toml::Value)> {
        let (Some(sampler), Some(sample)) = (&self.sampler, &self.grid.sample) else { return vec![] };
        let shares = sampler.at(index % sampler.len());
        sample.ranges.iter().zip(shares).map(|(span, share)| (span.key.as_str(), span.at(share))).collect()
    }

    /// Values of the factors' columns in a cell.
    fn factors(&self, index: u64) -> Vec<Value> {
        let sampled = self.sampled(index);
        let mut rest = index / self.points();
        let mut points = vec![];
        for axis in self.grid.factors.iter().rev() {
            points.push(&axis.points[(rest % axis.points.len() as u64) as usize]);
            rest /= axis.points.len() as u64;
        }
        let value = |column: &FactorColumn| {
            let set = points.iter().find_map(|point| point.set.get(&column.key));
            let drawn = || sampled.iter().find(|(key, _)| *key == column.key).map(|(_, value)| value);
            let value = set.or_else(drawn).expect("every column has a factor");
            column.cell(value)
        };
        self.columns.iter().map(value).collect()
    }

    /// Index of the `[[flow]]` that has the schemes and is measured.
    fn flow(&self, scenario: &Scenario) -> Result<usize, Error> {
        let flows = || scenario.flows.iter().filter(|flow| flow.source == Source::Flow);
        let wanted = |flow: &&FlowGroup| self.grid.flow.as_ref().is_none_or(|name| flow.name == *name);
        let found = scenario.flows.iter().position(|flow| flow.source == Source::Flow && wanted(&flow));
        found.ok_or_else(|| {
            let name = self.grid.flow.as_deref().unwrap_or_default();
            let names: Vec<&str> = flows().map(|flow| flow.name.as_str()).collect();
            wrong(&self.grid.file, format!("flow = \"{name}\": the base has no such [[flow]]"))
                .expecting(format!("one of: {}", names.join(", ")))
                .near(nearest(name, names))
        })
    }

    /// The scenario of a cell with a scheme and a size.
    fn scenario(
        &self,
        cell: &Cell,
        flow: usize,
        scheme: Option<&Candidate>,
        size: Option<u64>,
    ) -> Result<Scenario, Error> {
        let mut scenario = cell.scenario.clone();
        assign(&mut scenario, flow, scheme, size).map_err(|error| self.sweep.at(&cell.point, error))?;
        Ok(scenario)
    }

    /// Whether the host can run every value of each factor with the first values of the others, the first points of the sample,
    /// and every scheme and size. Nothing is run. Answers the number of threads for which `observe` has memory.
    ///
    /// # Errors
    /// The first cell that is no scenario, or that the host refuses.
    pub fn check(&self, host: &dyn Host, observe: &Observe) -> Result<usize, Error> {
        let points = self.points();
        let mut cells: Vec<u64> = (0..points.min(CHECKED)).collect();
        let mut stride = points;
        for axis in self.grid.factors.iter().rev() {
            cells.extend((1..axis.points.len() as u64).map(|at| at * stride));
            stride *= axis.points.len() as u64;
        }
        cells.push(self.cells - 1);
        let mut threads = usize::MAX;
        for index in cells {
            let cell = self.cell(index)?;
            let flow = self.flow(&cell.scenario)?;
            for (scheme, size) in self.crossed() {
                let scenario = self.scenario(&cell, flow, scheme, size)?;
                let refused = |refusal| self.refused(&cell, scheme, refusal);
                let estimate = host.check(&scenario, observe).map_err(refused)?;
                estimate.admit(1, observe.memory).map_err(refused)?;
                threads = threads.min(estimate.threads(1, observe.memory));
            }
        }
        Ok(threads)
    }

    fn refused(&self, cell: &Cell, scheme: Option<&Candidate>, refusal: Refusal) -> Error {
        let key = match scheme {
            Some(candidate) => format!("{}: {}", candidate.label(), refusal.key),
            None => refusal.key,
        };
        self.sweep.at(&cell.point, Error::invalid(refusal.why).at_key(key))
    }

    /// Every size with every scheme.
    fn crossed(&self) -> impl Iterator<Item = (Option<&Candidate>, Option<u64>)> {
        self.sizes.iter().flat_map(|&size| self.schemes.iter().map(move |scheme| (scheme.as_ref(), size)))
    }

    /// The table of a part: its rows are in the order of cells, replications, sizes and schemes, whatever the number of threads.
    ///
    /// # Errors
    /// [`Halt`] if a cell cannot be run, or `progress` asks for the end.
    pub fn part(
        &self,
        part: u64,
        host: &dyn Host,
        observe: &Observe,
        threads: usize,
        progress: &dyn Progress,
    ) -> Result<Table, Halt> {
        let chunks = self.chunks(part);
        let made = with_threads(threads, || {
            try_map(&chunks, |chunk| {
                let rows = self.rows(chunk, host, observe, progress)?;
                progress.advance(match self.grid.replications {
                    Replications::Fixed(_) => chunk.replications.end - chunk.replications.start,
                    Replications::Until { .. } => 1,
                });
                Ok::<_, Halt>(rows)
            })
        })?;
        let mut factors: Vec<(Column, Vec<Value>)> =
            self.columns.iter().map(|column| (column.column.clone(), vec![])).collect();
        let mut rows = vec![];
        for (chunk, made) in chunks.iter().zip(made) {
            for ((_, values), value) in factors.iter_mut().zip(self.factors(chunk.cell)) {
                values.extend(std::iter::repeat_n(value, made.len()));
            }
            rows.extend(made);
        }
        Ok(Table::of_sweep(rows, factors))
    }

    fn chunks(&self, part: u64) -> Vec<Chunk> {
        let (groups, of_cell) = (self.groups_of(part), self.groups_of_cell());
        let mut chunks = vec![];
        let mut next = groups.start;
        while next < groups.end {
            let (cell, first) = (next / of_cell, next % of_cell);
            let end = (next + CHUNK).min(groups.end).min((cell + 1) * of_cell);
            chunks.push(Chunk { cell, replications: first..first + (end - next) });
            next = end;
        }
        chunks
    }

    fn rows(
        &self,
        chunk: &Chunk,
        host: &dyn Host,
        observe: &Observe,
        progress: &dyn Progress,
    ) -> Result<Vec<SweepRow>, Halt> {
        let cell = self.cell(chunk.cell)?;
        let flow = self.flow(&cell.scenario)?;
        let scenarios: Vec<(Option<&Candidate>, Scenario)> = self
            .crossed()
            .map(|(scheme, size)| Ok((scheme, self.scenario(&cell, flow, scheme, size)?)))
            .collect::<Result<_, Error>>()?;
        let mut rows = vec![];
        let run = |replications: Numbers<u64>, rows: &mut Vec<SweepRow>| {
            for replication in replications {
                for (scheme, scenario) in &scenarios {
                    if progress.stopped() {
                        return Err(Halt::Stopped);
                    }
                    let row =
                        self.row(&cell, (chunk.cell, replication), flow, (*scheme, scenario), host, observe)?;
                    rows.push(row);
                }
            }
            Ok(())
        };
        match self.grid.replications {
            Replications::Fixed(_) => run(chunk.replications.clone(), &mut rows)?,
            Replications::Until { least, most, measure, within } => {
                let (mut done, mut next) = (0, u64::from(least));
                loop {
                    run(done..next, &mut rows)?;
                    done = next;
                    if done >= u64::from(most) || narrow(&rows, scenarios.len(), measure, within) {
                        break;
                    }
                    next = (done + done.div_ceil(2)).min(most.into());
                }
            }
        }
        Ok(rows)
    }

    fn row(
        &self,
        cell: &Cell,
        (index, replication): (u64, u64),
        flow: usize,
        (scheme, scenario): (Option<&Candidate>, &Scenario),
        host: &dyn Host,
        observe: &Observe,
    ) -> Result<SweepRow, Halt> {
        let first = self.grid.seed.unwrap_or(scenario.seed);
        let own =
            if self.grid.own_seeds { index.wrapping_mul(self.grid.replications.most().into()) } else { 0 };
        let seed = first.wrapping_add(own).wrapping_add(replication);
        let run = host.run(scenario, seed, observe);
        let run = run.map_err(|halt| halt.map(|refusal| self.refused(cell, scheme, refusal)))?;
        let name = scenario.flows[flow].flow_name(0);
        let measured = run.result.flows.iter().find(|flow| flow.name == name).ok_or_else(|| {
            self.sweep
                .at(&cell.point, Error::invalid(format!("under seed {seed}, the flow {name} does not start")))
        })?;
        let label = scheme.map_or_else(|| scenario.flows[flow].scheme.label(), Candidate::label);
        Ok(SweepRow::new((index, replication), label, &cell.hash[..DIGITS], &run.result, measured))
    }
}

/// Observation of the runs of a sweep within `memory` bytes: totals only.
pub fn totals(memory: u64) -> Observe {
    Observe { grid: limits::TIME, memory, ..Observe::default() }
}

/// Packets of the measured transfer: of its size, or of the path in the duration.
fn packets(scenario: &Scenario, flow: usize, size: Option<u64>) -> f64 {
    let rate = match &scenario.network {
        Network::Dumbbell(path) => path.rate.0,
        Network::Graph(graph) => graph.links.iter().map(|link| link.rate.0).max().unwrap_or(1),
    };
    let seconds = scenario.duration.map(Seconds::as_secs_f64);
    let most = seconds
        .map_or(f64::INFINITY, |seconds| rate as f64 * seconds / f64::from(scenario.packet.size) / 8.0);
    let of = |flow: &FlowGroup, size: Option<f64>| {
        let payload = f64::from(scenario.packet.payload(Profile::Linux).max(1));
        size.map_or(f64::INFINITY, |size| flow.expected(scenario.duration).max(1.0) * (size / payload).ceil())
    };
    let sizes = scenario.flows.iter().enumerate().map(|(index, group)| {
        let own = group.size.map(Dist::mean);
        of(group, if index == flow { size.map(|size| size as f64).or(own) } else { own })
    });
    let all = sizes.sum::<f64>() + if scenario.udp.is_empty() { 0.0 } else { f64::INFINITY };
    all.min(most).min(PART)
}

/// Whether the interval of the mean of `measure` is narrow in every one of `of` interleaved series of rows.
fn narrow(rows: &[SweepRow], of: usize, measure: &str, within: f64) -> bool {
    let value = |row: &SweepRow| match measure {
        "goodput_bit_s" => Some(row.goodput_bit_s),
        "retransmits" => Some(row.retransmits as f64),
        "timeouts" => Some(row.timeouts as f64),
        "lost_packets" => Some(row.lost_packets as f64),
        "drops" => Some(row.drops as f64),
        "max_cwnd_packets" => Some(row.max_cwnd_packets),
        _ => row.completion_s,
    };
    (0..of).all(|series| {
        let values: Option<Vec<f64>> = rows.iter().skip(series).step_by(of).map(value).collect();
        let Some(values) = values else { return false };
        let (mean, interval) = mean_ci95(&values);
        interval.is_some_and(|[_, high]| high - mean <= within * mean.abs())
    })
}
