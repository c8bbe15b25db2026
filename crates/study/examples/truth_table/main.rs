//! Accuracy of transfer times forecast from captures, compared with the times of a Linux kernel:
//!
//! ```text
//! cargo run --release -p firstflight-study --example truth_table -- DIR… [--true-path] [--brief] [--markdown FILE]
//! ```
//!
//! DIR contains captures named `path-control-size.pcap`; `truth.csv` is in DIR or its parent. Without options
//! every transfer measured on a path is forecast from every capture of that path. `--true-path` simulates the
//! true path instead, which separates errors of the model from errors of the inference. `--brief` omits
//! single captures and forecasts. `--markdown` writes the tables into the block of FILE that is marked as
//! generated.

mod controls;
mod forecast;
mod score;
mod table;
mod text;
mod truth;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;

use controls::Controls;
use forecast::{from_capture, on_true_path};
use score::FolderForecast;
use truth::{Folder, TruePath};

/// Command-line options.
#[derive(Default)]
struct Options {
    folders: Vec<PathBuf>,
    true_path: bool,
    brief: bool,
    markdown: Option<PathBuf>,
}

fn main() -> ExitCode {
    let done = options(std::env::args().skip(1)).and_then(|options| {
        let text = tables(&options)?;
        match &options.markdown {
            Some(file) => write_block(file, &text),
            None => {
                print!("{text}");
                Ok(())
            }
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--true-path" => options.true_path = true,
            "--brief" => options.brief = true,
            "--markdown" => {
                let file = words.next().ok_or("--markdown: expected a file with a generated block")?;
                options.markdown = Some(file.into());
            }
            flag if flag.starts_with('-') => {
                return Err(format!("{flag}: expected folders, --true-path, --brief, --markdown FILE"));
            }
            folder => options.folders.push(folder.into()),
        }
    }
    if options.folders.is_empty() {
        return Err("expected a folder with captures and truth.csv".into());
    }
    Ok(options)
}

fn tables(options: &Options) -> Result<String, String> {
    let folders = options.folders.iter().map(|folder| Folder::read(folder));
    let folders = folders.collect::<Result<Vec<_>, _>>()?;
    let controls = Controls::of(folders.iter().flat_map(|folder| &folder.paths));
    let bar = bar(&folders, options.true_path);
    let mut text = String::new();
    for folder in &folders {
        let on_true_path: Vec<_> =
            folder.paths.par_iter().map(|path| on_true_path(path, &controls)).collect();
        if options.true_path {
            text.push_str(&text::true_path(folder, &on_true_path, &controls));
            continue;
        }
        let inferred = |path: &TruePath| {
            let inferred = path.transfers.par_iter().map(|transfer| {
                let inferred = from_capture(path, transfer, &controls);
                bar.inc(1);
                inferred
            });
            inferred.collect::<Vec<_>>()
        };
        let inferred = folder.paths.par_iter().map(inferred).collect();
        text.push_str(&text::whole(
            &FolderForecast { folder, on_true_path, inferred },
            &controls,
            options.brief,
        ));
    }
    bar.finish_and_clear();
    Ok(text)
}

/// Progress bar over captures, if standard error is a terminal.
fn bar(folders: &[Folder], hidden: bool) -> ProgressBar {
    let captures =
        folders.iter().flat_map(|folder| &folder.paths).map(|path| path.transfers.len() as u64).sum();
    let style = ProgressStyle::with_template("captures {wide_bar} {pos}/{len}, {eta} left");
    let bar = ProgressBar::new(captures).with_style(style.expect("the template is right"));
    if hidden {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar
}

const BEGIN: &str = "<!-- generated: truth_table -->";
const END: &str = "<!-- end of generated -->";

/// Replaces the generated block of a file by `text`.
fn write_block(file: &Path, text: &str) -> Result<(), String> {
    let at = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    let old = std::fs::read_to_string(file).map_err(|error| at(&error))?;
    let block = old.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = block.ok_or_else(|| at(&format!("expected {BEGIN} and {END}")))?;
    let new = format!("{before}{BEGIN}\n\n{}\n{END}{after}", text.trim_end());
    std::fs::write(file, new).map_err(|error| at(&error))
}
