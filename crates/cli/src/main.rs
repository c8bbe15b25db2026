//! The program `firstflight`.

use std::process::ExitCode;

fn main() -> ExitCode {
    firstflight_cli::main()
}
