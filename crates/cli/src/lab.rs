//! `firstflight lab`: scenarios on the kernel of this machine, in real time, and over QUIC, in virtual time.

mod attach;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use firstflight::{Host, Run};
use firstflight_lab::check::{Finding, can_run, check};
use firstflight_lab::{Controls, Kernel, Quic, STOCK};
use firstflight_results::{RunResult, Validity};
use firstflight_schemes::catalogue::Schemes;
use serde_json::json;

use crate::arguments::{SEEDS, whole};
use crate::failure::Failure;
use crate::memory::failed;
use crate::output::{json_line, print, print_json, show};
use crate::progress::Bar;
use crate::run::{grid, scenario, seeds, short, tables};

/// Run scenarios on real stacks: this machine's kernel, or a QUIC stack, across an emulated network
///
/// The links and queues are those of the simulator. For the kernel they work in real time between two network namespaces,
/// which needs Linux and root. Nothing outside these namespaces is changed, and nothing remains when the command ends,
/// however it ends. QUIC runs in virtual time and needs neither.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight lab check
  firstflight lab run experiment.toml
  firstflight lab run experiment.toml --host quic
  firstflight lab run experiment.toml --json | jq '.flows[0].completion_s, .validity'")]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(RunOptions),
    Attach(attach::Options),
    Check(CheckOptions),
}

/// Run a scenario file on the kernel or over QUIC and report the results of its flows and links
///
/// A run of the kernel that did not keep its times is repeated, at most twice; then the command fails, and prints no result.
#[derive(Debug, Args)]
#[command(after_help = "\
Range: 200 Mbit/s, round trips from 5 ms, 64 connections and 600 s. Between 200 and 400 Mbit/s runs
count only if they kept their times. QUIC has no such range. `firstflight algorithms --json` lists
the schemes of each under hosts; schemes that follow a plan run in the simulator only.

Examples:
  firstflight lab run experiment.toml
  firstflight lab run experiment.toml --host quic
  firstflight lab run experiment.toml --runs 5 --json")]
struct RunOptions {
    /// The scenario file; its flows have profile = "linux"
    scenario: PathBuf,
    /// The stack that runs it: the TCP of this machine's kernel, or quinn
    #[arg(long, value_enum, default_value_t = Stack::Kernel)]
    host: Stack,
    /// Number of runs, each under its own seed; more than one adds every run and means with 95 % confidence intervals
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 1, value_parser = whole::<u32>(1..=1000))]
    runs: u32,
    /// Seed of the first run, in place of the scenario's; each further run has the next number
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole::<u64>(SEEDS))]
    seed: Option<u64>,
    /// Report the delivered packets at each multiple of this time
    #[arg(long, value_name = "TIME", default_value = "1 s", allow_hyphen_values = true)]
    grid: String,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// A real stack.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Stack {
    /// The TCP of this machine's kernel, in real time.
    Kernel,
    /// The QUIC stack quinn, in virtual time.
    Quic,
}

/// Report what this machine can do for runs in real time, and what is missing
///
/// Exits 0 if `lab run` can work here, else 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight lab check
  firstflight lab check --json | jq '.checks[] | select(.ok | not)'")]
struct CheckOptions {
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    match &options.command {
        Command::Run(options) => run(options),
        Command::Attach(options) => attach::execute(options),
        Command::Check(options) => examine(options),
    }
}

fn run(options: &RunOptions) -> Result<(), Failure> {
    let loaded = scenario(&options.scenario, &Schemes::built_in())?;
    let controls = match options.host {
        Stack::Kernel => Some(
            Controls::of(&loaded.scenario)
                .map_err(|refusal| failed(loaded.places.refuse(&refusal.key, refusal.why)))?,
        ),
        Stack::Quic => None,
    };
    let kernel = Kernel { controls: controls.as_ref().map_or(STOCK, Controls::all) };
    let host: &dyn Host = match options.host {
        Stack::Kernel => &kernel,
        Stack::Quic => &Quic,
    };
    let bar = Bar::new();
    let mut run =
        Run::of(loaded).host(host).replications(options.runs).grid(grid(&options.grid)?).progress(&bar);
    if let Some(seed) = options.seed {
        run = run.seed(seed);
    }
    let result = run.execute().map_err(failed)?;
    match options.json {
        true => print(&json_line(&result)),
        false => show(&text(&result, options.host)),
    }
}

fn text(result: &RunResult, host: Stack) -> String {
    let mut out = tables(result);
    let (who, time) = match host {
        Stack::Kernel => ("The kernel", ""),
        Stack::Quic => ("quinn", " of virtual time"),
    };
    out += &format!("\n{who} ran {} s{time}{}.\n", short(result.simulated_s), seeds(result));
    for run in result.every_run() {
        // In virtual time nothing is late.
        if let (Some(validity), Stack::Kernel) = (&run.validity, host) {
            out += &on_time(validity);
        }
    }
    let mut reads: Vec<_> = result.flows.iter().filter_map(|flow| flow.receiver_reads.as_deref()).collect();
    reads.sort_unstable();
    reads.dedup();
    out + &format!("Receivers read: {}.\n", reads.join(", "))
}

/// The sentence on how a run kept its times.
fn on_time(validity: &Validity) -> String {
    let Validity { lateness_p50_ms, lateness_p99_ms, lateness_max_ms, core_share, packets, attempts } =
        *validity;
    let attempt = if attempts == 1 { "first attempt".into() } else { format!("attempt {attempts}") };
    format!(
        "Valid at the {attempt}: {packets} packets, late by {lateness_p50_ms:.3} ms in the median, {lateness_p99_ms:.3} ms \
         at 99 % and {lateness_max_ms:.1} ms at most; {:.0} % of a core.\n",
        core_share * 100.0
    )
}

fn examine(options: &CheckOptions) -> Result<(), Failure> {
    let findings = check();
    let works = can_run(&findings);
    match options.json {
        true => print_json(&json!({ "works": works, "checks": findings }))?,
        false => show(&findings.iter().map(line).collect::<String>())?,
    }
    if works { Ok(()) } else { Err(Failure::Unmet) }
}

fn line(finding: &Finding) -> String {
    let Finding { what, ok, needed, found, remedy } = finding;
    let word = match (ok, needed) {
        (true, _) => "yes",
        (false, true) => "NO",
        (false, false) => "no",
    };
    let remedy = remedy.map_or(String::new(), |remedy| format!(". Remedy: {remedy}"));
    format!("{word:<4}{what:<20} {found}{remedy}\n")
}
