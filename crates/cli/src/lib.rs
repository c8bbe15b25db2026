//! The command line: parses arguments, calls the libraries, prints results.

#[cfg(any(test, not(all(target_os = "linux", feature = "gateway", feature = "lab", feature = "papers"))))]
mod absent;
mod algorithms;
mod arguments;
mod capture;
mod captures;
mod cli;
mod compare;
mod conform;
mod connections;
mod doctor;
mod effect;
mod failure;
#[cfg(all(target_os = "linux", feature = "gateway"))]
mod gateway;
mod identify;
mod interrupt;
mod keys;
#[cfg(all(target_os = "linux", feature = "lab"))]
mod lab;
#[cfg(feature = "papers")]
mod league;
mod log;
mod memory;
mod objects;
mod output;
mod presets;
mod progress;
mod reference;
#[cfg(feature = "papers")]
mod reproduce;
mod run;
mod schemes;
mod sender;
mod sweep;
mod table;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use cli::Cli;
use failure::Failure;

pub use reference::reference;

/// Runs the command of this process.
pub fn main() -> ExitCode {
    firstflight_report::discard_on_panic();
    let done = match Cli::try_parse() {
        Ok(cli) => cli.execute(),
        Err(error) => arguments::answer(&error, Cli::command()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of standard output, such as `head`, has read enough.
        Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(Failure::Unmet) => ExitCode::FAILURE,
        Err(Failure::NoArguments(help)) => {
            output::explain(&help);
            ExitCode::from(2)
        }
        Err(Failure::Because(why)) => {
            output::complain(format_args!("error: {why}"));
            ExitCode::from(2)
        }
    }
}
