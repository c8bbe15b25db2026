//! Simulation-based calibration of the forecasts from captures:
//!
//! ```text
//! cargo run --release -p research-forecasts --bin calibration -- [--items N] [--kind LABEL] [--draw NUMBER [--capture FILE]] [--out FILE] [--markdown FILE]
//! ```
//!
//! Each item is a draw: a path of the prior, a transfer on it that is captured, the answer to the capture, and further transfers on the path. Over
//! draws from the prior the weights of the kinds are the shares in which they are right, ranges of 90 % contain nine transfers in ten, and
//! the ranks of the true values are uniform (S. Talts et al., arXiv:1804.06788, 2018). Half of the paths are drawn by the prior and half from evenly
//! likely kinds, and both count by the prior, so that rare kinds are measured, too.
//!
//! FILE of `--out` has a line of JSON for each item, and a further call goes on behind its last one: `--items` is the number of all.
//! `--draw` prints one item, and `--capture` keeps its capture. `--kind` draws paths of one kind only. `--items 0` prints the tables of a file as it is. `--markdown` writes the tables into the
//! generated block of a page.

mod item;
mod report;

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use research_forecasts::block;

use item::{Draws, Item};

/// First line of the generated block of a page.
const BLOCK: &str = "<!-- generated: calibration -->";

struct Options {
    items: u64,
    kind: Option<String>,
    draw: Option<u64>,
    capture: Option<PathBuf>,
    out: PathBuf,
    markdown: Option<PathBuf>,
}

fn main() -> ExitCode {
    match options(std::env::args().skip(1)).and_then(|options| calibrate(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        items: 200,
        kind: None,
        draw: None,
        capture: None,
        out: "out/calibration.jsonl".into(),
        markdown: None,
    };
    while let Some(word) = words.next() {
        let mut value = |expected: &str| words.next().ok_or_else(|| format!("{word}: expected {expected}"));
        match word.as_str() {
            "--items" => {
                let number = value("a number of items")?;
                options.items =
                    number.parse().map_err(|_| format!("--items {number}: expected a number of items"))?;
            }
            "--draw" => {
                let number = value("the number of a draw")?;
                options.draw = Some(
                    number.parse().map_err(|_| format!("--draw {number}: expected the number of a draw"))?,
                );
            }
            "--kind" => options.kind = Some(value("a kind of path, as policer")?),
            "--capture" => options.capture = Some(value("a file for the capture of --draw")?.into()),
            "--out" => options.out = value("a file of items")?.into(),
            "--markdown" => options.markdown = Some(value("a page with a generated block")?.into()),
            _ => {
                return Err(format!(
                    "{word}: expected --items N, --kind LABEL, --draw NUMBER, --capture FILE, --out FILE, --markdown FILE"
                ));
            }
        }
    }
    match (&options.capture, options.draw) {
        (Some(_), None) => Err("--capture: expected beside --draw NUMBER".into()),
        _ => Ok(options),
    }
}

fn calibrate(options: &Options) -> Result<(), String> {
    if let Some(number) = options.draw {
        let draws = options.kind.as_deref().map_or(Draws::Mixed, Draws::Kind);
        let item = Item::of(number, draws, options.capture.as_deref());
        let item = item.map_err(|why| format!("draw {number}: {why}"))?;
        println!("{}", serde_json::to_string_pretty(&item).map_err(|error| error.to_string())?);
        return Ok(());
    }
    let mut items = read(&options.out)?;
    let draws = options.kind.as_deref().map_or(Draws::Mixed, Draws::Kind);
    if let Some(folder) = options.out.parent() {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let first = items.iter().map(|item| item.number + 1).max().unwrap_or(0);
    let bar = bar(options.items.saturating_sub(first));
    for number in first..options.items {
        let item = Item::of(number, draws, None).map_err(|why| format!("draw {number}: {why}"))?;
        append(&options.out, &item)?;
        items.push(item);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let text = report::tables(&items);
    match &options.markdown {
        Some(page) => block::write(page, BLOCK, &text),
        None => {
            print!("{text}");
            Ok(())
        }
    }
}

/// The items of a file; none if there is no such file. A line that was not written to its end is the last one, and is cut off.
fn read(file: &Path) -> Result<Vec<Item>, String> {
    let at = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    if !file.exists() {
        return Ok(vec![]);
    }
    let (mut items, mut whole) = (vec![], 0);
    let mut lines = BufReader::new(File::open(file).map_err(|error| at(&error))?);
    loop {
        let mut line = String::new();
        let length = lines.read_line(&mut line).map_err(|error| at(&error))?;
        if !line.ends_with('\n') {
            break;
        }
        let number = items.len() + 1;
        items.push(serde_json::from_str(&line).map_err(|error| at(&format!("line {number}: {error}")))?);
        whole += length as u64;
    }
    let open = OpenOptions::new().write(true).open(file).map_err(|error| at(&error))?;
    open.set_len(whole).map_err(|error| at(&error))?;
    Ok(items)
}

fn append(file: &Path, item: &Item) -> Result<(), String> {
    let at = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    let line = serde_json::to_string(item).map_err(|error| at(&error))? + "\n";
    let mut open = OpenOptions::new().create(true).append(true).open(file).map_err(|error| at(&error))?;
    open.write_all(line.as_bytes()).map_err(|error| at(&error))
}

/// Progress bar over items, if standard error is a terminal.
fn bar(items: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("items {wide_bar} {pos}/{len}, {eta} left");
    ProgressBar::new(items).with_style(style.expect("the template is right"))
}
