//! How often the recommendation for a capture changes with the draw: each capture is compared under several seeds, from which
//! its paths, the replications over them and the bystanders are drawn anew.
//!
//! ```text
//! cargo run --release -p firstflight-study --example stability -- CAPTURE… [--seeds N]
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use firstflight_capture::read;
use firstflight_results::{Comparison, InputFile, Recommended};
use firstflight_scenario::Profile;
use firstflight_study::compare::{
    DEFAULT_CANDIDATES, DEFAULT_REPLICATIONS, DEFAULT_SIZES, Input, Known, Limits, Request, compare,
    default_candidates,
};
use firstflight_study::progress::Silent;
use firstflight_study::simulator::Simulator;

/// Seeds of each capture, from 1 on.
const SEEDS: u64 = 10;

fn main() -> ExitCode {
    let (captures, seeds) = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    println!("| capture | KB | pairs of seeds with different advice, % | advice, number of seeds |");
    println!("|---|---:|---:|---|");
    let mut all = vec![];
    for capture in &captures {
        let answers: Result<Vec<Comparison>, String> =
            (1..=seeds).map(|seed| answer(capture, seed)).collect();
        let answers = match answers {
            Ok(answers) => answers,
            Err(why) => {
                eprintln!("{}: {why}", capture.display());
                return ExitCode::from(2);
            }
        };
        for (at, size) in DEFAULT_SIZES.iter().enumerate() {
            let mut advice: BTreeMap<String, u64> = BTreeMap::new();
            for answer in &answers {
                *advice
                    .entry(answer.recommended.get(at).map_or_else(|| "no answer".into(), word))
                    .or_default() += 1;
            }
            let pairs = |n: u64| n * n.saturating_sub(1);
            let same: u64 = advice.values().map(|&n| pairs(n)).sum();
            let differ = 1.0 - same as f64 / pairs(seeds) as f64;
            all.push(differ);
            let mut advice: Vec<(String, u64)> = advice.into_iter().collect();
            advice.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
            let advice: Vec<String> = advice.iter().map(|(word, n)| format!("{word} {n}")).collect();
            let name = capture.file_name().unwrap_or_default().to_string_lossy();
            println!("| {name} | {} | {:.0} | {} |", size / 1000, 100.0 * differ, advice.join(", "));
        }
    }
    println!("| **all** | | {:.0} | |", 100.0 * all.iter().sum::<f64>() / all.len() as f64);
    ExitCode::SUCCESS
}

fn options(mut words: impl Iterator<Item = String>) -> Result<(Vec<PathBuf>, u64), String> {
    let (mut captures, mut seeds) = (vec![], SEEDS);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seeds" => {
                let number = words.next().and_then(|word| word.parse().ok()).filter(|&number| number > 1);
                seeds = number.ok_or("--seeds: expected a number above one")?;
            }
            flag if flag.starts_with('-') => return Err(format!("{flag}: expected captures and --seeds N")),
            capture => captures.push(capture.into()),
        }
    }
    if captures.is_empty() { Err("expected a capture".into()) } else { Ok((captures, seeds)) }
}

/// The default comparison of `firstflight compare CAPTURE --seed SEED`.
fn answer(path: &Path, seed: u64) -> Result<Comparison, String> {
    let capture = read(path).map_err(|error| error.to_string())?;
    let file = InputFile { name: path.display().to_string(), bytes: 0, sha256: String::new() };
    let input = Input::Capture { file, capture: Box::new(capture), known: Known::default() };
    let schemes = default_candidates(&input, Profile::Linux, &Simulator, false);
    let request = Request {
        input,
        schemes,
        sizes: DEFAULT_SIZES.into(),
        profile: Profile::Linux,
        runs: DEFAULT_REPLICATIONS,
        seed,
        candidates: DEFAULT_CANDIDATES,
        breadth: firstflight_study::compare::Breadth::All,
        deployable: false,
        harm: true,
        limits: Limits::default(),
        memory: firstflight_study::memory::DEFAULT,
        command: String::new(),
        revision: String::new(),
    };
    compare(&Simulator, &request, &Silent).map(|report| report.comparison).map_err(|error| error.to_string())
}

/// A recommendation in a word: a candidate, or why there is none.
fn word(one: &Recommended) -> String {
    match &one.scheme {
        Some(scheme) => format!("`{scheme}`"),
        None if one.undecided.is_empty() => "none".into(),
        None => "none, cannot be told".into(),
    }
}
