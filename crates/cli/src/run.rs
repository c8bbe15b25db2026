//! `firstflight run`: one scenario in the simulator.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use firstflight::files;
use firstflight::recording::Recording;
use firstflight::timings::{Division, Timings};
use firstflight::{Made, Run};
use firstflight_contract::Nanos;
use firstflight_document::quantity::parse_time;
use firstflight_document::quoted;
use firstflight_report::{Folder, printable, stage_tables, stage_traces};
use firstflight_results::{
    FlowMeans, FlowResult, LinkMeans, LinkResult, Mean, RunMeans, RunResult, SampleRow,
};
use firstflight_scenario::preset::preset;
use firstflight_scenario::{Loaded, load_with};
use firstflight_schemes::catalogue::Schemes;

use crate::arguments::{SEEDS, whole};
use crate::failure::{Failure, wrong_at};
use crate::keys::option;
use crate::memory::{Memory, failed};
use crate::objects::Objects;
use crate::output::{places, print_json, show, write_json};
use crate::progress::Bar;
use crate::table::{Align, table};

/// Simulate a scenario file and report the results of its flows and links
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight run experiment.toml
  firstflight run experiment.toml --json | jq '.flows[0].completion_s'
  firstflight run experiment.toml --runs 30 --seed 7 --out results
  firstflight run experiment.toml --trace --out traces && wireshark traces/run.pcapng")]
pub(crate) struct Options {
    /// The scenario file
    scenario: PathBuf,
    /// Number of runs, each under its own seed; more than one adds every run and means with 95 % confidence intervals
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 1, value_parser = whole::<u32>(1..=100_000))]
    runs: u32,
    /// Seed of the first run, in place of the scenario's; each further run has the next number
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole::<u64>(SEEDS))]
    seed: Option<u64>,
    /// Report the delivered packets at each multiple of this time
    #[arg(long, value_name = "TIME", default_value = "1 s", allow_hyphen_values = true)]
    grid: String,
    #[command(flatten)]
    objects: Objects,
    /// Most threads of this process [default: one for each core]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole::<usize>(1..=4096))]
    threads: Option<usize>,
    /// Print how the run was divided among threads, and how long each worked and waited for the others
    #[arg(long, conflicts_with_all = ["runs", "json", "out", "trace"])]
    timings: bool,
    #[command(flatten)]
    memory: Memory,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Folder for the JSON object, run.json, and the tables run.parquet, flow.parquet, link.parquet and sample.parquet
    /// [default: none; with --trace, out]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write traces of the first run: its packets as pcapng, and the events of each sender as qlog
    #[arg(long)]
    trace: bool,
}

/// Name of the file with the JSON object.
const RUN_FILE: &str = "run.json";
/// Folder of `--trace` without `--out`.
const FOLDER: &str = "out";

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let known = options.objects.read()?;
    let loaded = scenario(&options.scenario, &known.catalogue)?;
    let grid = grid(&options.grid)?;
    let bar = Bar::new();
    let memory = options.memory.bytes()?;
    let mut run = Run::of(loaded).replications(options.runs).grid(grid).memory(memory).progress(&bar);
    if let Some(seed) = options.seed {
        run = run.seed(seed);
    }
    run = run.timings(options.timings);
    if let Some(threads) = options.threads {
        run = run.threads(threads);
    }
    let out = options.out.as_deref().or(options.trace.then_some(Path::new(FOLDER)));
    // Before the runs, so that a folder that cannot be written costs no run. Only what is written can need more memory than
    // the runs, which check theirs.
    let folder = match out {
        Some(out) => {
            run.check(true, options.trace).map_err(failed)?;
            Some(Folder::open(out)?)
        }
        None => None,
    };
    let Made { result, samples, recording, timings } =
        run.execute_observed(folder.is_some(), options.trace).map_err(failed)?;
    known.check()?;
    let written = match folder {
        Some(folder) => write(folder, &result, samples, recording.as_ref())?,
        None => vec![],
    };
    if options.json {
        return print_json(&result);
    }
    show(&(text(&result, &written) + &timings.map_or_else(String::new, |timings| of_threads(&timings))))
}

/// Where the threads of a run spent their time.
fn of_threads(timings: &Timings) -> String {
    let division = match timings.division {
        Division::Whole => "One thread had the whole run.".into(),
        Division::Parts(parts) => format!("{parts} parts that nothing couples."),
        Division::Groups(windows) => {
            format!("{} groups of links, whose threads met {windows} times.", timings.threads.len())
        }
    };
    let seconds = |time: Duration| format!("{:.3} s", time.as_secs_f64());
    let threads = (1..).zip(&timings.threads);
    let rows: Vec<[String; 3]> = threads
        .map(|(number, spent)| [number.to_string(), seconds(spent.working), seconds(spent.waiting)])
        .collect();
    let columns = [("thread", Align::Right), ("working", Align::Right), ("waiting", Align::Right)];
    format!("\n{division}\n\n{}", table(columns, &rows))
}

/// The value of `--grid`.
pub(crate) fn grid(text: &str) -> Result<Nanos, Failure> {
    let wrong = |problem: &dyn Display| {
        let place = option("grid", Some(&quoted(text)));
        wrong_at(place, problem).expecting("a time above zero, such as \"100 ms\"")
    };
    match parse_time(text).map_err(|error| wrong(&error.problem).near(error.nearest.as_deref()))? {
        Nanos(0) => Err(wrong(&"zero").into()),
        grid => Ok(grid),
    }
}

/// The scenario at `path`, which must have traffic.
pub(crate) fn scenario(path: &Path, schemes: &Schemes) -> Result<Loaded, Failure> {
    let named = path.display();
    if let (false, Ok(preset)) = (path.exists(), preset(&path.to_string_lossy())) {
        return Err(wrong_at(named, "a path preset has no traffic to run")
            .expecting(format!(
                "firstflight compare {0}, or a scenario with this path and a [[flow]]: firstflight presets {0} > {0}.toml",
                preset.name
            ))
            .into());
    }
    if files::head(path).is_ok_and(|head| files::is_one(path, &head)) {
        return Err(wrong_at(&named, "a capture is no scenario")
            .expecting("a scenario file")
            .near(Some(&format!("firstflight compare {named}")))
            .into());
    }
    let loaded = load_with(path, schemes)?;
    if loaded.scenario.flows.is_empty() && loaded.scenario.udp.is_empty() {
        return Err(wrong_at(&named, "the scenario has no traffic to run")
            .expecting(format!(
                "a table [[flow]], such as [[flow]] with size = \"3 MB\"; firstflight compare {named} needs none"
            ))
            .into());
    }
    Ok(loaded)
}

fn write(
    mut folder: Folder,
    result: &RunResult,
    samples: Vec<SampleRow>,
    recording: Option<&Recording>,
) -> Result<Vec<PathBuf>, Failure> {
    folder.stage(RUN_FILE, |file| write_json(file, result))?;
    stage_tables(&mut folder, result, samples, env!("CARGO_PKG_VERSION"))?;
    if let Some(recording) = recording {
        stage_traces(&mut folder, recording)?;
    }
    Ok(folder.commit()?)
}

/// The result as text.
fn text(result: &RunResult, written: &[PathBuf]) -> String {
    let engine = &result.engine;
    let mut out = tables(result);
    out += &format!("\nSimulated {} s{}", short(result.simulated_s), seeds(result));
    out += &format!(" in {:.2} s; {} packet hops.\n", engine.wall_s.unwrap_or(0.0), engine.packet_hops);
    out + &places(written)
}

/// Tables of flows and links, under the title.
pub(crate) fn tables(result: &RunResult) -> String {
    let title = match result.title.is_empty() {
        true => String::new(),
        false => format!("{}\n\n", printable(&result.title)),
    };
    title
        + &match &result.means {
            Some(runs) => means(result, runs),
            None => single(result),
        }
}

/// The seeds of the runs, in parentheses.
pub(crate) fn seeds(result: &RunResult) -> String {
    match &result.means {
        Some(runs) => format!(" (seed {}) and {} more runs", result.seed, runs.count - 1),
        None => format!(" (seed {})", result.seed),
    }
}

/// Flows shown; the rest is in the JSON object.
const SHOWN: usize = 40;

fn single(result: &RunResult) -> String {
    use Align::{Left, Right};
    let columns = [
        ("flow", Left),
        ("scheme", Left),
        ("completion", Right),
        ("Mbit/s", Right),
        ("delivered", Right),
        ("lost", Right),
        ("retransmitted", Right),
        ("timeouts", Right),
        ("start-up ended", Left),
    ];
    let rows: Vec<_> = result.flows.iter().take(SHOWN).map(flow_row).collect();
    let mut out = table(columns, &rows) + &left_out(result.flows.len());
    if result.flows.len() > 1 {
        out += &format!("Fairness (Jain): {:.3}\n", result.fairness_jain);
    }
    let columns = [
        ("link", Left),
        ("used", Right),
        ("dropped", Right),
        ("marked", Right),
        ("mean queue", Right),
        ("longest queue", Right),
    ];
    let rows: Vec<_> = result.links.iter().map(link_row).collect();
    out + "\n" + &table(columns, &rows)
}

fn flow_row(flow: &FlowResult) -> [String; 9] {
    let exit = flow.startup_exit.map_or("not yet".into(), |exit| {
        let (at, cwnd) = (short(exit.time_s), short(exit.cwnd_packets));
        format!("at {at} s by {}, cwnd {cwnd} of BDP {}", exit.reason.label(), short(exit.bdp_packets))
    });
    [
        flow.name.clone(),
        scheme(flow),
        flow.completion_s.map_or("-".into(), |s| format!("{} s", short(s))),
        short(flow.goodput_bit_s / 1e6),
        flow.delivered_packets.to_string(),
        flow.lost_packets.to_string(),
        flow.retransmits.to_string(),
        flow.timeouts.to_string(),
        exit,
    ]
}

/// The chain's label; a scheme that rules the whole connection is start-up and avoidance in one.
pub(crate) fn scheme(flow: &FlowResult) -> String {
    if flow.startup == flow.avoidance {
        return flow.startup.clone();
    }
    format!("{}+{}", flow.startup, flow.avoidance)
}

fn link_row(link: &LinkResult) -> [String; 6] {
    [
        link.name.clone(),
        format!("{:.1} %", link.utilization * 100.0),
        link.drops.to_string(),
        link.marks.to_string(),
        short(link.mean_queue_packets),
        link.max_queue_packets.to_string(),
    ]
}

fn means(result: &RunResult, runs: &RunMeans) -> String {
    use Align::{Left, Right};
    let columns = [
        ("flow", Left),
        ("scheme", Left),
        ("completion s", Right),
        ("unfinished", Right),
        ("Mbit/s", Right),
        ("lost", Right),
        ("retransmitted", Right),
        ("timeouts", Right),
    ];
    let flows = runs.flows.iter().zip(&result.flows).take(SHOWN);
    let rows: Vec<_> = flows.map(|(means, flow)| mean_row(means, flow)).collect();
    let mut out = format!("Means of {} runs, with 95 % confidence intervals.\n\n", runs.count);
    out += &table(columns, &rows);
    out += &left_out(runs.flows.len());
    if runs.flows.len() > 1 {
        out += &format!("Fairness (Jain): {}\n", interval(&runs.fairness_jain, 1.0));
    }
    let columns =
        [("link", Left), ("used %", Right), ("dropped", Right), ("marked", Right), ("mean queue", Right)];
    let rows: Vec<_> = runs.links.iter().map(mean_link_row).collect();
    out + "\n" + &table(columns, &rows)
}

fn mean_row(means: &FlowMeans, flow: &FlowResult) -> [String; 8] {
    [
        means.name.clone(),
        scheme(flow),
        means.completion_s.as_ref().map_or("-".into(), |mean| interval(mean, 1.0)),
        means.unfinished.to_string(),
        interval(&means.goodput_bit_s, 1e-6),
        interval(&means.lost_packets, 1.0),
        interval(&means.retransmits, 1.0),
        interval(&means.timeouts, 1.0),
    ]
}

fn mean_link_row(link: &LinkMeans) -> [String; 5] {
    [
        link.name.clone(),
        interval(&link.utilization, 100.0),
        interval(&link.drops, 1.0),
        interval(&link.marks, 1.0),
        interval(&link.mean_queue_packets, 1.0),
    ]
}

fn left_out(flows: usize) -> String {
    match flows.saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("... and {more} more flows: --json has all\n"),
    }
}

fn interval(mean: &Mean, scale: f64) -> String {
    let value = short(mean.mean * scale);
    match mean.ci95 {
        Some([low, high]) => format!("{value} [{}, {}]", short(low * scale), short(high * scale)),
        None => value,
    }
}

/// At most three decimals, none that are zero.
pub(crate) fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_decimals_and_no_idle_zeros() {
        assert_eq!([0.0, 20.0, 1.5, 0.12345].map(short), ["0", "20", "1.5", "0.123"]);
        let mean = Mean { mean: 0.5, ci95: Some([0.25, 0.75]) };
        assert_eq!(interval(&mean, 100.0), "50 [25, 75]");
        assert_eq!(interval(&Mean { mean: 2.0, ci95: None }, 1.0), "2");
    }
}
