//! The commands and their arguments.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use firstflight_document::schema::schema_text;
use firstflight_scenario::{preset::PRESETS, schema};

use crate::doctor::VERSION;
use crate::failure::{Failure, wrong_at};
use crate::{
    algorithms, capture, compare, conform, connections, doctor, effect, identify, log, output, presets, run,
    sender, sweep,
};

/// Compare the start-up schemes of TCP connections.
///
/// firstflight simulates start-up schemes on a path that you describe, or on the path that it infers from a packet
/// capture of your own connections. It reports which scheme finishes transfers soonest and how many packets each one
/// drops.
#[derive(Debug, Parser)]
#[command(name = "firstflight", version = VERSION, max_term_width = 100)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  firstflight compare cable
  firstflight capture --port 443 --for 60s
  firstflight compare server.pcap
  firstflight effect before.pcap after.pcap
  firstflight compare --rate \"40 Mbit/s\" --rtt \"100 ms\" --buffer \"1 BDP\"
  firstflight run experiment.toml

Exit codes: 0 success, 1 a stated check failed, 2 bad input.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compare(Box<compare::Options>),
    Capture(capture::Options),
    Connections(connections::Options),
    Identify(identify::Options),
    Effect(effect::Options),
    Run(run::Options),
    Sweep(sweep::Options),
    #[cfg(all(target_os = "linux", feature = "lab"))]
    Lab(crate::lab::Options),
    #[cfg(not(all(target_os = "linux", feature = "lab")))]
    #[command(hide = true)]
    Lab(crate::absent::Options),
    #[cfg(all(target_os = "linux", feature = "gateway"))]
    Gateway(crate::gateway::Options),
    #[cfg(not(all(target_os = "linux", feature = "gateway")))]
    #[command(hide = true)]
    Gateway(crate::absent::Options),
    #[cfg(feature = "papers")]
    Reproduce(crate::reproduce::Options),
    #[cfg(not(feature = "papers"))]
    #[command(hide = true)]
    Reproduce(crate::absent::Options),
    #[cfg(feature = "papers")]
    League(crate::league::Options),
    #[cfg(not(feature = "papers"))]
    #[command(hide = true)]
    League(crate::absent::Options),
    Log(log::Options),
    Algorithms(algorithms::Options),
    Presets(presets::Options),
    Doctor(doctor::Options),
    Sender(sender::Options),
    Conform(conform::Options),
    Schema(Schema),
    Completions(Completions),
    Manual(Manual),
}

/// Print the JSON Schema of scenario files or of grids, which editors use for completion and checks
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight schema > scenario.schema.json
  firstflight schema grid > grid.schema.json")]
struct Schema {
    /// The kind of files
    #[arg(value_enum, value_name = "FILES", default_value_t = Files::Scenario)]
    files: Files,
}

/// Files that have a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Files {
    /// Scenarios
    Scenario,
    /// Grids of sweeps
    Grid,
}

/// Print the tab completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight completions bash > ~/.local/share/bash-completion/completions/firstflight
  firstflight completions fish > ~/.config/fish/completions/firstflight.fish")]
struct Completions {
    /// The shell
    shell: Shell,
}

/// Write the manual pages of all commands into a folder
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight manual ~/.local/share/man/man1")]
struct Manual {
    /// The folder, which must exist
    folder: PathBuf,
}

impl Cli {
    /// Runs the command.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        // Each thread has the rights of its start, so that a service starts none before it has given up its own.
        #[cfg(all(target_os = "linux", feature = "gateway"))]
        let later = matches!(&self.command, Command::Gateway(options) if options.serves());
        #[cfg(not(all(target_os = "linux", feature = "gateway")))]
        let later = false;
        if !later {
            crate::interrupt::clean_up_on_signals();
        }
        match self.command {
            Command::Compare(options) => compare::execute(&options),
            Command::Capture(options) => capture::execute(&options),
            Command::Connections(options) => connections::execute(&options),
            Command::Identify(options) => identify::execute(&options),
            Command::Effect(options) => effect::execute(&options),
            Command::Run(options) => run::execute(&options),
            Command::Sweep(options) => sweep::execute(&options),
            #[cfg(all(target_os = "linux", feature = "lab"))]
            Command::Lab(options) => crate::lab::execute(&options),
            #[cfg(not(all(target_os = "linux", feature = "lab")))]
            Command::Lab(_) => crate::absent::refuse("lab", "lab"),
            #[cfg(all(target_os = "linux", feature = "gateway"))]
            Command::Gateway(options) => crate::gateway::execute(&options),
            #[cfg(not(all(target_os = "linux", feature = "gateway")))]
            Command::Gateway(_) => crate::absent::refuse("gateway", "gateway"),
            #[cfg(feature = "papers")]
            Command::Reproduce(options) => crate::reproduce::execute(&options),
            #[cfg(not(feature = "papers"))]
            Command::Reproduce(_) => crate::absent::refuse("reproduce", "papers"),
            #[cfg(feature = "papers")]
            Command::League(options) => crate::league::execute(&options),
            #[cfg(not(feature = "papers"))]
            Command::League(_) => crate::absent::refuse("league", "papers"),
            Command::Log(options) => log::execute(&options),
            Command::Algorithms(options) => algorithms::execute(&options),
            Command::Presets(options) => presets::execute(&options),
            Command::Doctor(options) => doctor::execute(&options),
            Command::Sender(options) => sender::execute(&options),
            Command::Conform(options) => conform::execute(&options),
            Command::Schema(Schema { files }) => output::print(&match files {
                Files::Scenario => schema_text(&schema::schema()),
                Files::Grid => firstflight::sweep::schema_text(),
            }),
            Command::Completions(Completions { shell }) => output::print(&completions(shell)),
            Command::Manual(Manual { folder }) => {
                let mut command = Self::command().disable_help_subcommand(true);
                command.build();
                let written = manual(command, &folder);
                written.map_err(|error| Failure::new(wrong_at(folder.display(), error)))
            }
        }
    }
}

/// Writes the manual page of a command and those of its subcommands into a folder. Examples keep their lines.
fn manual(command: clap::Command, folder: &Path) -> io::Result<()> {
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        manual(part.clone(), folder)?;
    }
    let page = clap_mangen::Man::new(command);
    let mut text = vec![];
    page.render(&mut text)?;
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if let Some((before, after)) = text.split_once(".SH EXTRA\n") {
        let end = after.find("\n.SH ").map_or(after.len(), |at| at + 1);
        text = format!("{before}.SH EXTRA\n.nf\n{}\n.fi\n{}", after[..end].trim_end(), &after[end..]);
    }
    fs::write(folder.join(page.get_filename()), text)
}

/// The completions of a shell. An argument of `compare` is a path preset or a file.
fn completions(shell: Shell) -> String {
    let mut command = Cli::command();
    let names = || PRESETS.iter().map(|preset| preset.name);
    let mut change = |of: &str, argument: &str, change: &dyn Fn(clap::Arg) -> clap::Arg| {
        let place = command.find_subcommand_mut(of).expect("the command is declared");
        *place = std::mem::take(place).mut_arg(argument, change);
    };
    let named = |argument: clap::Arg| argument.value_parser(PossibleValuesParser::new(names()));
    change("presets", "name", &named);
    // The script of bash offers files if no name fits; those of other shells would offer none beside names.
    match shell {
        Shell::Bash => change("compare", "inputs", &named),
        _ => change("compare", "inputs", &|argument| argument.value_hint(ValueHint::AnyPath)),
    }
    let mut script = vec![];
    clap_complete::generate(shell, &mut command, "firstflight", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    let list = names().collect::<Vec<_>>().join(" ");
    match shell {
        Shell::Zsh => zsh_with_presets(&script, &list),
        // The script has nothing for arguments without an option, for which fish offers files.
        Shell::Fish => {
            let on = |command: &str, more: &str| {
                format!(
                    "complete -c firstflight -n \"__fish_firstflight_using_subcommand {command}\" {more}-a \"{list}\" -d 'Path preset'\n"
                )
            };
            script + &on("compare", "") + &on("presets", "-f ")
        }
        _ => script,
    }
}

/// The script of zsh with a function for the inputs of `compare`: the presets of `list`, and files.
fn zsh_with_presets(script: &str, list: &str) -> String {
    const FUNCTION: &str = "_firstflight_inputs";
    let lines = script.lines().map(|line| match line.strip_suffix(":_files' \\") {
        Some(argument) if argument.starts_with("'*::inputs ") => format!("{argument}:{FUNCTION}' \\\n"),
        _ => format!("{line}\n"),
    });
    let function = format!(
        "{FUNCTION}() {{\n    _alternative 'presets:path preset:({list})' 'files:file:_files'\n}}\n\n_firstflight() {{\n"
    );
    lines.collect::<String>().replacen("_firstflight() {\n", &function, 1)
}
