//! The command line: parses arguments, calls the libraries, prints results.

mod algorithms;
mod cli;
mod compare;
mod failure;
mod input;
mod keys;
mod log;
mod memory;
mod output;
mod presets;
mod progress;
mod reference;
mod reproduce;
mod run;
mod schemes;
mod sender;
mod table;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::Cli::parse().execute() {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of standard output, such as `head`, has read enough.
        Err(failure::Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(failure::Failure::Because(why)) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}
