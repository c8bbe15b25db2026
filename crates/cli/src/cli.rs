//! The commands, and what every one of them takes.

use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::{algorithms, compare, log, output, presets, reproduce, run, sender};

/// The version and, where it is known, the source it was built from.
const VERSION: &str = env!("FIRSTFLIGHT_VERSION");

/// Learn how your connections should start.
///
/// firstflight runs TCP's start-up schemes on a path, or on the path found in a capture of your own connections, and
/// tells which of them would have finished your transfers soonest, and at what cost in loss.
#[derive(Debug, Parser)]
#[command(name = "firstflight", version = VERSION, max_term_width = 100)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
#[command(after_help = "\
Examples:
  firstflight compare cable
  firstflight compare upload.pcap
  firstflight compare --rate \"40 Mbit/s\" --rtt \"100 ms\" --buffer \"1 BDP\"
  firstflight run experiment.toml

Exit codes: 0 success, 1 a stated check failed, 2 bad input.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compare(compare::Options),
    Run(run::Options),
    Reproduce(reproduce::Options),
    Log(log::Options),
    Algorithms(algorithms::Options),
    Presets(presets::Options),
    Sender(sender::Options),
    Schema(Schema),
    Completions(Completions),
}

/// Print the JSON Schema of scenario files, for editors.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight schema > scenario.schema.json")]
struct Schema {}

/// Print the completions of a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight completions bash > ~/.local/share/bash-completion/completions/firstflight
  firstflight completions fish > ~/.config/fish/completions/firstflight.fish")]
struct Completions {
    /// Which shell
    shell: Shell,
}

impl Cli {
    /// Does what was asked for.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        match self.command {
            Command::Compare(options) => compare::execute(&options),
            Command::Run(options) => run::execute(&options),
            Command::Reproduce(options) => reproduce::execute(&options),
            Command::Log(options) => log::execute(&options),
            Command::Algorithms(options) => algorithms::execute(&options),
            Command::Presets(options) => presets::execute(&options),
            Command::Sender(options) => sender::execute(&options),
            Command::Schema(Schema {}) => output::print(&firstflight_scenario::schema::schema_text()),
            Command::Completions(Completions { shell }) => {
                let mut script = vec![];
                clap_complete::generate(shell, &mut Self::command(), "firstflight", &mut script);
                output::print(&String::from_utf8_lossy(&script))
            }
        }
    }
}
