//! `firstflight league`: the standing of all starts on one set of scenarios.

use std::path::{Path, PathBuf};

use clap::Args;
use firstflight::Simulator;
use firstflight_document::file::read_text;
use firstflight_document::{Error, Problem, nearest, quoted};
use firstflight_league::grid::text;
use firstflight_league::{League, NO_RANKS, Results, Settings, run};
use firstflight_report::Folder;
use firstflight_report::league::{PAGES, pages};
use firstflight_sweep::totals;

use crate::arguments::whole;
use crate::failure::{Failure, wrong_at};
use crate::interrupt;
use crate::keys::option;
use crate::memory::Memory;
use crate::output::{complain, json_line, print, show};
use crate::progress::Bar;
use crate::table::{Align, table};

/// No file of results is longer, bytes: that of the whole league has about one mebibyte.
const LONGEST_RESULTS: u64 = 64 << 20;

/// Compare all starts on the scenarios of the league
///
/// A start is a file of league/starts, a scenario a file of league/scenarios. The starts of the papers, of Linux, of drafts and of stacks
/// meet the same paths with the same randomness. Times are given over those of the start `linux`.
///
/// Finished runs are kept in the output folder, and an interrupted command continues from them. A new start is run alone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight league --quick
  firstflight league --quick --start search,rapid-start --scenario depth,beside-cubic
  firstflight league --league my-league --start my-start
  firstflight league --scenarios my-scenarios --scenario my-trace
  firstflight league --grids grids
  firstflight league --json | jq '.standings[] | {start, rank}'
  firstflight league --results docs/league/results.json

Exit codes: 0 the results are complete; 1 the work was stopped; 2 bad input.")]
pub(crate) struct Options {
    /// Few points and sizes: a first look in minutes
    #[arg(long)]
    quick: bool,
    /// Only these starts, and the reference
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    start: Vec<String>,
    /// Only these scenarios
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    scenario: Vec<String>,
    /// Read the league from this folder instead of the built-in one
    #[arg(long, value_name = "DIR")]
    league: Option<PathBuf>,
    /// Add the scenarios in this folder, its files NAME.toml; a trace that they name is looked for from the folder
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,
    /// Write the grids of all pairs into this folder, for `firstflight sweep` on other executors; run nothing
    #[arg(long, value_name = "DIR", conflicts_with = "results")]
    grids: Option<PathBuf>,
    /// Print the results in this results.json and write its pages, without running anything
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "start", "scenario", "threads"])]
    results: Option<PathBuf>,
    /// Most threads of this process [default: one for each core]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole::<usize>(1..=4096))]
    threads: Option<usize>,
    #[command(flatten)]
    memory: Memory,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Output folder for datasets, results and pages [default: out/league; out/league-quick with --quick]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let mut league = match &options.league {
        Some(folder) => League::open(folder),
        None => League::built_in(),
    }?;
    if let Some(folder) = &options.scenarios {
        league.add_scenarios(folder)?;
    }
    select(&mut league, options)?;
    let default = if options.quick { "out/league-quick" } else { "out/league" };
    let out = options.out.clone().unwrap_or_else(|| default.into());
    if let Some(folder) = &options.grids {
        return write_grids(&league, folder, &out, options.quick);
    }
    let mut files = Folder::open(&out)?;
    let results = match &options.results {
        Some(file) => read(file)?,
        None => {
            let observe = totals(options.memory.bytes()?);
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let settings = Settings {
                folder: &out.join("runs"),
                quick: options.quick,
                threads: options.threads.unwrap_or(cores),
            };
            let bar = Bar::new();
            let done = interrupt::while_stoppable(|| run(&league, &settings, (&Simulator, &observe), &bar))?;
            for refused in &done.refused {
                complain(format_args!("warning: {refused}; the part is made again"));
            }
            let Some(results) = done.results else {
                complain(format_args!(
                    "stopped: {} parts are made; the same command goes on with the others",
                    done.before + done.made
                ));
                return Err(Failure::Unmet);
            };
            let results = results.rounded();
            let json = json_line(&results);
            files.stage("results.json", |file| file.write_all(json.as_bytes()))?;
            results
        }
    };
    for (name, text) in pages(&league, &results).map_err(|why| wrong_at("results", why))? {
        files.stage(&format!("{PAGES}/{name}"), |file| file.write_all(text.as_bytes()))?;
    }
    files.commit()?;
    if options.json { print(&json_line(&results)) } else { show(&summary(&league, &results, &out)) }
}

/// Leaves the starts and scenarios that were asked for.
fn select(league: &mut League, options: &Options) -> Result<(), Failure> {
    let missing = |name: &String, names: Vec<&str>, of: &str| {
        wrong_at(option(of, Some(&quoted(name))), format!("there is no such {of}"))
            .expecting(format!("one of: {}", names.join(", ")))
            .near(nearest(name, names))
    };
    let starts: Vec<&str> = league.starts.keys().map(String::as_str).collect();
    if let Some(name) = options.start.iter().find(|name| !league.starts.contains_key(*name)) {
        return Err(missing(name, starts, "start").into());
    }
    let scenarios: Vec<&str> = league.scenarios.keys().map(String::as_str).collect();
    if let Some(name) = options.scenario.iter().find(|name| !league.scenarios.contains_key(*name)) {
        return Err(missing(name, scenarios, "scenario").into());
    }
    if !options.start.is_empty() {
        let reference = league.reference.clone();
        league.starts.retain(|name, _| options.start.contains(name) || *name == reference);
    }
    if !options.scenario.is_empty() {
        league.scenarios.retain(|name, _| options.scenario.contains(name));
    }
    Ok(())
}

fn write_grids(league: &League, folder: &Path, out: &Path, quick: bool) -> Result<(), Failure> {
    let mut files = Folder::open(folder)?;
    for (name, scenario) in &league.scenarios {
        for (start_name, start) in league.starts.iter().filter(|(_, start)| start.runs_on(name)) {
            let grid = text(league, (name, scenario), start, quick)?;
            files.stage(&format!("{name}/{start_name}.toml"), |file| file.write_all(grid.as_bytes()))?;
        }
    }
    let count = files.commit()?.len();
    let runs = out.join("runs");
    show(&format!(
        "{count} grids in {}. Run each with any executor, for example:\n  firstflight sweep {}/SCENARIO/START.toml --out \
         {}/SCENARIO/START --executor slurm\nThen `firstflight league --out {}` reads them.\n",
        folder.display(),
        folder.display(),
        runs.display(),
        out.display()
    ))
}

fn read(path: &Path) -> Result<Results, Error> {
    let file = path.display().to_string();
    let unreadable = |why| Error::new(Problem::Unreadable(why)).in_file(&file, None);
    let text = read_text(path, LONGEST_RESULTS).map_err(unreadable)?;
    serde_json::from_str(&text).map_err(|error| {
        Error::invalid(format!("not the results of a league: {error}"))
            .in_file(&file, Some((error.line(), error.column())))
    })
}

fn summary(league: &League, results: &Results, out: &Path) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.2}"));
    let rows: Vec<[String; 9]> = results
        .standings
        .iter()
        .map(|it| {
            [
                it.rank.to_string(),
                it.start.clone(),
                format!("{:.3}", it.ratio.mean),
                format!("{:.3} to {:.3}", it.ratio.low, it.ratio.high),
                number(it.classes[0]),
                number(it.classes[1]),
                number(it.classes[2]),
                format!("{:.2}", it.lost_share * 100.0),
                number(it.displaced.map(|it| it.mean)),
            ]
        })
        .collect();
    let columns = [
        ("rank", Align::Right),
        ("start", Align::Left),
        ("time", Align::Right),
        ("interval", Align::Left),
        ("to 100 KB", Align::Right),
        ("to 1 MB", Align::Right),
        ("above", Align::Right),
        ("lost, %", Align::Right),
        ("displaced", Align::Right),
    ];
    let quick = if results.quick { ", quick" } else { "" };
    let standing = if rows.is_empty() { format!("{NO_RANKS}\n") } else { table(columns, &rows) };
    format!(
        "League {}{quick}: {} starts on {} scenarios. Times are over those of `{}`.\n\n{standing}\nPages: {}\n",
        results.league,
        results.standings.len(),
        league.scenarios.len(),
        results.reference,
        out.join(PAGES).join("README.md").display()
    )
}
