//! How near the transfer times that captures foretell are to those that the kernel took:
//!
//! ```text
//! cargo run --release -p firstflight-study --example truth_table -- DIR… [--true-path] [--markdown FILE]
//! ```
//!
//! DIR holds captures named `path-control-size.pcap` and, in itself or above it, `truth.csv`. Without options every
//! capture foretells every transfer measured on its path. `--true-path` gives the simulator the path itself instead,
//! which tells what the model gets wrong from what the inference does. `--markdown` writes the tables into the block
//! of FILE that is marked as generated.

mod controls;
mod foretell;
mod text;
mod truth;

use std::path::PathBuf;
use std::process::ExitCode;

use controls::Controls;
use truth::Folder;

/// The command line.
#[derive(Default)]
struct Options {
    folders: Vec<PathBuf>,
    true_path: bool,
}

fn main() -> ExitCode {
    match options(std::env::args().skip(1)).and_then(|options| execute(&options)) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn options(words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options::default();
    for word in words {
        match word.as_str() {
            "--true-path" => options.true_path = true,
            flag if flag.starts_with('-') => {
                return Err(format!("{flag}: expected folders, --true-path, --markdown FILE"));
            }
            folder => options.folders.push(folder.into()),
        }
    }
    if options.folders.is_empty() {
        return Err("name a folder that holds captures and truth.csv".into());
    }
    Ok(options)
}

fn execute(options: &Options) -> Result<String, String> {
    let mut text = String::new();
    for folder in options.folders.iter().map(PathBuf::as_path).map(Folder::read) {
        let folder = folder?;
        let controls = Controls::of(folder.paths.iter());
        text.push_str(&text::true_path(&folder, &controls));
    }
    Ok(text)
}
