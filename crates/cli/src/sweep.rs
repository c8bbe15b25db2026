//! `firstflight sweep`: a grid of scenarios, run into a dataset.

mod dask;
mod sensitivity;
mod slurm;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::{Args, ValueEnum};
use firstflight::{Observe, Progress, Simulator};
use firstflight_document::file::read_text;
use firstflight_document::{Error, Problem, quoted};
use firstflight_results::{SobolIndex, SweepResult};
use firstflight_scenario::limits;
use firstflight_sweep::{Dataset, Grid, MEASURES, Plan, State, ranges, totals, version};

use crate::arguments::whole;
use crate::failure::{Failure, wrong_at};
use crate::interrupt;
use crate::keys::option;
use crate::memory::Memory;
use crate::output::{complain, print_json, show};
use crate::progress::Bar;

/// Run a grid of scenarios into a dataset of Parquet files
///
/// GRID is a TOML file: a base scenario, factors that are crossed, vary together or are sampled, schemes with common random
/// numbers, and replications. docs/sweeps.md has its keys.
///
/// The dataset has a file for each part of the grid, which appears when it is whole. A sweep that was stopped or killed goes on
/// with the same command; nothing is computed twice. The dataset has the same bytes for every executor and number of workers.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight sweep grid.toml --out sweep
  firstflight sweep grid.toml --out sweep --begin
  firstflight sweep grid.toml --out sweep --threads 4 --json | jq '.dataset_bytes'
  SBATCH_PARTITION=short firstflight sweep grid.toml --out sweep --executor slurm
  firstflight sweep saltelli.toml --out sweep --sensitivity completion_s
  firstflight sweep grid.toml --out sweep --executor dask --scheduler tcp://10.0.0.1:8786

Exit codes: 0 the dataset is complete, or --parts or --begin is done; 1 parts are missing; 2 bad input.")]
pub(crate) struct Options {
    /// The grid file
    grid: PathBuf,
    /// Folder of the dataset
    #[arg(long, value_name = "DIR", default_value = "out")]
    out: PathBuf,
    /// Where the parts are made: by threads of this process, by workers of Dask, or by an array of SLURM jobs
    #[arg(long, value_enum, default_value_t = Executor::Threads)]
    executor: Executor,
    /// Most threads of this process [default: one for each core]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole::<usize>(1..=4096))]
    threads: Option<usize>,
    /// Make only these parts, for executors of your own: numbers and ranges, such as 0-9,12
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, conflicts_with_all = ["begin", "executor"])]
    parts: Option<String>,
    /// Begin the dataset, or check it, and report the open parts; run nothing
    #[arg(long)]
    begin: bool,
    /// Address of the Dask scheduler [default: a cluster of this machine]
    #[arg(long, value_name = "ADDRESS")]
    scheduler: Option<String>,
    /// Time that SLURM takes to start a job
    #[arg(long, value_name = "TIME", default_value = "1 s", allow_hyphen_values = true)]
    dispatch: String,
    /// Largest share of a SLURM job's time in which it is started: --dispatch, and the start of this program
    #[arg(long, value_name = "SHARE", default_value = "2%", allow_hyphen_values = true)]
    overhead: String,
    /// Compute Sobol indices: the share of each sampled key in the variance of this measure, and of its ratio to the first scheme.
    /// Needs a sample of kind saltelli, and a python3 with SALib and pyarrow
    #[arg(long, value_name = "MEASURE", value_parser = clap::builder::PossibleValuesParser::new(MEASURES))]
    #[arg(conflicts_with_all = ["begin", "parts"])]
    sensitivity: Option<String>,
    #[command(flatten)]
    memory: Memory,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Executor {
    Threads,
    Dask,
    Slurm,
}

/// A sweep whose dataset is open.
struct Work<'a> {
    options: &'a Options,
    plan: Plan,
    dataset: Dataset,
    observe: Observe,
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let starting = slurm::Starting::read(&options.dispatch, &options.overhead)?;
    let plan = Plan::new(read(&options.grid)?)?;
    let listed = options.parts.as_deref().map(|text| listed(text, plan.parts())).transpose()?;
    let observe = totals(options.memory.bytes()?);
    let threads = plan.check(&Simulator, &observe)?.min(options.threads.unwrap_or(usize::MAX));
    if options.executor == Executor::Dask {
        dask::check()?;
    }
    if options.sensitivity.is_some() {
        sensitivity::check(&plan)?;
    }
    let dataset = Dataset::open(&options.out, &plan, &version(&Simulator, &observe))?;
    let work = Work { options, plan, dataset, observe };
    // Workers make parts side by side, and beside the sweep that gave them their parts.
    let alone = (listed.is_none() && !options.begin).then(|| work.dataset.alone()).transpose()?;
    if let Some(warning) = alone.as_ref().and_then(|alone| alone.warning.as_ref()) {
        complain(format_args!("warning: {warning}"));
    }
    let wanted = listed.clone().unwrap_or_else(|| (0..work.plan.parts()).collect());
    let before = work.dataset.state(wanted.iter().copied())?;
    for refused in &before.refused {
        complain(format_args!("warning: {refused}; the part is made again"));
    }
    if !options.begin {
        match options.executor {
            _ if before.open.is_empty() => {}
            Executor::Threads => drop(work.make(&before.open, threads, &Bar::new())?),
            Executor::Dask => dask::run(&work, &before.open)?,
            Executor::Slurm => slurm::run(&work, &before.open, &starting)?,
        }
    }
    let after = if options.begin { before.clone() } else { work.dataset.state(wanted)? };
    if after.open.is_empty() && listed.is_none() {
        work.dataset.remove_leftovers();
    }
    let indices = match &options.sensitivity {
        Some(measure) if after.open.is_empty() => sensitivity::indices(&work, measure)?,
        _ => vec![],
    };
    work.report(&before, &after, indices)?;
    if after.open.is_empty() || options.begin { Ok(()) } else { Err(Failure::Unmet) }
}

impl Work<'_> {
    /// Makes parts in this process; answers the seconds that it took. A Ctrl-C ends the work between two runs.
    #[expect(clippy::disallowed_methods, reason = "the time decides how many parts a job has, and no result")]
    fn make(&self, parts: &[u64], threads: usize, progress: &dyn Progress) -> Result<f64, Failure> {
        let begin = Instant::now();
        interrupt::while_stoppable(|| {
            self.dataset.make(&self.plan, parts, (&Simulator, &self.observe, threads), progress)
        })?;
        Ok(begin.elapsed().as_secs_f64())
    }

    fn report(&self, before: &State, after: &State, sensitivity: Vec<SobolIndex>) -> Result<(), Failure> {
        let Self { options, plan, dataset, .. } = self;
        let result = SweepResult {
            title: plan.grid().title.clone(),
            dataset: options.out.display().to_string(),
            grid: dataset.grid_sha256().into(),
            version: dataset.version().into(),
            cells: plan.cells(),
            schemes: plan.schemes(),
            sizes_bytes: plan.grid().sizes.clone(),
            runs: plan.runs(),
            parts: plan.parts(),
            parts_before: before.finished,
            parts_made: after.finished.saturating_sub(before.finished),
            open: ranges(&after.open),
            dataset_bytes: after.bytes,
            refused: before.refused.clone(),
            sensitivity,
        };
        if options.json { print_json(&result) } else { show(&text(&result, after)) }
    }
}

/// The grid in a file. The files that it names are relative to its folder.
fn read(path: &Path) -> Result<Grid, Error> {
    let file = path.display().to_string();
    let unreadable = |why| Error::new(Problem::Unreadable(why)).in_file(&file, None);
    let text = read_text(path, limits::FILE).map_err(unreadable)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    Grid::parse(&text, &file, &|name| read_text(&folder.join(name), limits::FILE))
}

/// The numbers of `--parts`, ascending.
fn listed(text: &str, parts: u64) -> Result<Vec<u64>, Failure> {
    let wrong = |problem: String| {
        let expected = format!("numbers and ranges from 0 to {}, such as 0-9,12", parts - 1);
        wrong_at(option("parts", Some(&quoted(text))), problem).expecting(expected)
    };
    let mut all = vec![];
    for word in text.split(',') {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let number =
            |text: &str| text.parse::<u64>().map_err(|_| wrong(format!("{} is no number", quoted(text))));
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last >= parts {
            return Err(wrong(format!("there are no parts {word}; the grid has {parts}")).into());
        }
        all.extend(first..=last);
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// Whether `python3` can do an import; `packages` are those that it needs.
fn python(place: &str, import: &str, packages: &str) -> Result<(), Failure> {
    let expected = format!("`pip install {packages}`, and its python3 first on PATH");
    let output = Command::new("python3").args(["-c", import]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| {
        wrong_at(place, format!("python3 cannot be started: {error}")).expecting(&expected)
    })?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    let why = why.lines().last().unwrap_or("the import fails").to_owned();
    Err(wrong_at(place, format!("python3 lacks a package: {why}")).expecting(expected).into())
}

/// Parts in groups of this length.
fn jobs(open: &[u64], length: usize) -> Vec<String> {
    open.chunks(length.max(1)).map(ranges).collect()
}

fn text(result: &SweepResult, after: &State) -> String {
    let SweepResult { title, dataset, cells, schemes, runs, parts, parts_before, parts_made, open, .. } =
        result;
    let mut out = if title.is_empty() { String::new() } else { format!("{title}\n\n") };
    let schemes = if schemes.is_empty() { String::new() } else { format!("; schemes: {}", schemes.len()) };
    out += &format!("Cells: {cells}{schemes}; runs: {runs}; parts: {parts}.\n");
    out += &format!("Parts finished before: {parts_before}; made now: {parts_made}.\n");
    out += &format!("Dataset {dataset}: {} KB.\n", after.bytes.div_ceil(1000));
    out += &sensitivity::text(&result.sensitivity);
    if open.is_empty() {
        out += &format!(
            "\nRead it, for example: duckdb -c \"SELECT scheme, median(completion_s) FROM '{dataset}/*/*.parquet' GROUP BY scheme\"\n"
        );
    } else {
        out += &format!("\nMissing parts: {open}. The same command goes on with them.\n");
    }
    out
}
