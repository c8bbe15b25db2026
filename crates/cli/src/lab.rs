//! `firstflight lab`: scenarios on the kernel of this machine, in real time, and over QUIC, in virtual time.

mod attach;
mod probe;
mod run;

use clap::{Args, Subcommand};
use firstflight_lab::check::{Finding, can_run, check};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{print_json, show};

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
  firstflight lab run experiment.toml --host simulator,kernel,quic --out results
  firstflight lab probe quinn
  firstflight lab run experiment.toml --json | jq '.flows[0].completion_s, .validity'")]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Options),
    Probe(probe::Options),
    Attach(attach::Options),
    Check(CheckOptions),
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
        Command::Run(options) => run::execute(options),
        Command::Probe(options) => probe::execute(options),
        Command::Attach(options) => attach::execute(options),
        Command::Check(options) => examine(options),
    }
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
