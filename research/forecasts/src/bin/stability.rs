//! How often the recommendation for a capture changes with the draw, and what that costs: each capture is compared under several seeds,
//! from which its paths, the replications over them and the bystanders are drawn anew.
//!
//! ```text
//! cargo run --release -p research-forecasts --bin stability -- CAPTURE… [--seeds N] [--runs N] [--same-paths] [--same-replications] [--fastest]
//! ```
//!
//! `--same-paths` and `--same-replications` draw one of both only once, which separates the two causes; `--fastest` has no limits, so that
//! harm has no part in the recommendation. Two seeds disagree if both decide, for different candidates: the present one counts where no gain
//! is worth its cost. A seed that finds none shown to be within the limits does not decide.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use firstflight_capture::read;
use firstflight_compare::{
    DEFAULT_REPLICATIONS, DEFAULT_SIZES, Identity, Input, Known, Limits, Request, compare, default_candidates,
};
use firstflight_hosts::progress::Silent;
use firstflight_hosts::simulator::Simulator;
use firstflight_results::{CompareReport, Harm, InputFile, Recommended, SampleSet, SchemeResult};
use firstflight_scenario::Profile;

/// Seeds of each capture.
const SEEDS: u64 = 10;

/// Distance between seeds: replication `i` of seed `s` has the random streams of `s + i`, and those of two seeds must differ.
const APART: u64 = 1000;

/// Default limit of harm.
const LIMIT: f64 = 1.1;

/// Options of the experiment: its seeds, replications of each answer, and draws that all seeds share.
struct Ask {
    seeds: u64,
    runs: u32,
    same_paths: bool,
    same_replications: bool,
    fastest: bool,
}

fn main() -> ExitCode {
    let (captures, ask) = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    println!(
        "| capture | KB | pairs of seeds that disagree, % | one of both decides, % | the other advice is later by, %: median, most | \
         its harm, most | deviation between seeds, % | within a seed, % | advice, number of seeds |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---|");
    let (mut all, mut one, mut later) = (vec![], vec![], vec![]);
    for capture in &captures {
        let answers: Result<Vec<CompareReport>, String> =
            (0..ask.seeds).map(|number| answer(capture, number, &ask)).collect();
        let answers = match answers {
            Ok(answers) => answers,
            Err(why) => {
                eprintln!("{}: {why}", capture.display());
                return ExitCode::from(2);
            }
        };
        let name = capture.file_name().unwrap_or_default().to_string_lossy();
        for size in DEFAULT_SIZES {
            let row = Row::of(&answers, size);
            println!("| {name} | {} | {} |", size / 1000, row.cells());
            all.push(row.differ);
            one.push(row.one_decides);
            later.extend(row.later);
        }
    }
    later.sort_by(f64::total_cmp);
    let [all, one] = [all, one].map(|shares| 100.0 * mean(&shares));
    println!("| **all** | | {all:.0} | {one:.0} | {} | | | | |", median_and_most(&later));
    ExitCode::SUCCESS
}

/// The advice of all seeds at one size.
struct Row {
    /// Share of the pairs of seeds that disagree.
    differ: f64,
    /// Share of the pairs of seeds of which one decides.
    one_decides: f64,
    /// By how much longer a transfer takes with the advice of another seed on the paths of one seed, ascending, of all pairs that differ;
    /// negative if it is sooner.
    later: Vec<f64>,
    /// Largest harm of the advice of another seed on the paths of one seed.
    harm: Option<f64>,
    /// Root mean square over the candidates of the standard deviation over seeds of the logarithm of the ratio to the present scheme,
    /// and of its standard error within a seed.
    deviations: [f64; 2],
    advice: Vec<(String, u64)>,
}

impl Row {
    fn of(answers: &[CompareReport], size: u64) -> Self {
        let at: Vec<AtSize<'_>> = answers.iter().map(|report| AtSize { report, size }).collect();
        let mut advice: BTreeMap<String, u64> = BTreeMap::new();
        at.iter().for_each(|one| *advice.entry(one.word()).or_default() += 1);
        let (mut later, mut harm, mut one_decides) = (vec![], None, 0);
        for own in &at {
            one_decides += at.iter().filter(|other| own.decides() != other.decides()).count();
            let decide = at.iter().filter(|other| own.decides() && other.decides());
            for other in decide.filter(|other| other.advice() != own.advice()) {
                later.extend(own.ratio(other.advice(), own.advice()).map(|ratio| mean(&ratio).exp_m1()));
                let bystanders = own.result(other.advice()).and_then(|it| it.harm);
                let value = bystanders.map(|it: Harm| it.deciding(Some(LIMIT)).0);
                harm = harm.into_iter().chain(value).reduce(f64::max);
            }
        }
        let pairs = (at.len() * (at.len() - 1)) as f64;
        let (differ, one_decides) = (later.len() as f64 / pairs, one_decides as f64 / pairs);
        later.sort_by(f64::total_cmp);
        let mut advice: Vec<(String, u64)> = advice.into_iter().collect();
        advice.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        Self { differ, one_decides, later, harm, deviations: deviations(&at), advice }
    }

    fn cells(&self) -> String {
        let advice: Vec<String> = self.advice.iter().map(|(word, n)| format!("{word} {n}")).collect();
        let harm = self.harm.map_or_else(|| "-".into(), |harm| format!("{harm:.2}"));
        let [between, within] = self.deviations.map(|it| 100.0 * it);
        format!(
            "{:.0} | {:.0} | {} | {harm} | {between:.1} | {within:.1} | {}",
            100.0 * self.differ,
            100.0 * self.one_decides,
            median_and_most(&self.later),
            advice.join(", ")
        )
    }
}

/// The answer of one seed at one size.
struct AtSize<'a> {
    report: &'a CompareReport,
    size: u64,
}

impl<'a> AtSize<'a> {
    fn recommended(&self) -> Option<&'a Recommended> {
        self.report.comparison.recommended.iter().find(|it| it.size_bytes == self.size)
    }

    fn present(&self) -> &'a str {
        self.report.comparison.present.as_deref().unwrap_or_default()
    }

    /// The candidate that an operator uses: the recommended one, or the present one.
    fn advice(&self) -> &'a str {
        self.recommended().and_then(|it| it.scheme.as_deref()).unwrap_or_else(|| self.present())
    }

    /// Whether the advice is to use a candidate, or that no gain is worth its cost.
    fn decides(&self) -> bool {
        self.recommended().is_some_and(|it| it.scheme.is_some() || it.undecided.is_empty())
    }

    /// A recommendation in a word: a candidate, or why there is none.
    fn word(&self) -> String {
        match self.recommended() {
            Some(Recommended { scheme: Some(scheme), .. }) => format!("`{scheme}`"),
            Some(one) if one.undecided.is_empty() => "none".into(),
            Some(_) => "none shown to be within the limits".into(),
            None => "no answer".into(),
        }
    }

    fn result(&self, scheme: &str) -> Option<&'a SchemeResult> {
        let mut all = self.report.comparison.results.iter();
        all.find(|it| it.size_bytes == self.size && it.scheme == scheme)
    }

    fn samples(&self, scheme: &str) -> Option<&'a SampleSet> {
        let mut all = self.report.samples.iter();
        all.find(|it| it.size_bytes == self.size && it.scheme == scheme)
    }

    /// Logarithms of the ratios of the times of two candidates, over the replications that both end.
    fn ratio(&self, scheme: &str, other: &str) -> Option<Vec<f64>> {
        let pairs = self.samples(scheme)?.samples.iter().zip(&self.samples(other)?.samples);
        let all: Vec<f64> =
            pairs.filter_map(|(a, b)| Some((a.completion_s? / b.completion_s?).ln())).collect();
        (!all.is_empty()).then_some(all)
    }
}

fn deviations(at: &[AtSize<'_>]) -> [f64; 2] {
    let (mut between, mut within) = (vec![], vec![]);
    for scheme in &at[0].report.comparison.schemes {
        let of = |one: &AtSize<'_>| one.ratio(scheme, one.present());
        let Some(ratios) = at.iter().map(of).collect::<Option<Vec<_>>>() else { continue };
        let errors: Vec<f64> = ratios.iter().map(|one| variance(one) / one.len() as f64).collect();
        if errors.iter().any(|&error| error > 0.0) {
            within.push(mean(&errors));
            between.push(variance(&ratios.iter().map(|one| mean(one)).collect::<Vec<_>>()));
        }
    }
    [between, within].map(|all| if all.is_empty() { 0.0 } else { mean(&all).sqrt() })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    squares / (values.len().max(2) - 1) as f64
}

/// Median and largest of ascending shares, in per cent; a dash of none.
fn median_and_most(ascending: &[f64]) -> String {
    let Some(most) = ascending.last() else { return "-".into() };
    let median = 0.5 * (ascending[(ascending.len() - 1) / 2] + ascending[ascending.len() / 2]);
    format!("{:.1}, {:.1}", 100.0 * median, 100.0 * most)
}

fn options(mut words: impl Iterator<Item = String>) -> Result<(Vec<PathBuf>, Ask), String> {
    let mut ask = Ask {
        seeds: SEEDS,
        runs: DEFAULT_REPLICATIONS,
        same_paths: false,
        same_replications: false,
        fastest: false,
    };
    let mut captures = vec![];
    while let Some(word) = words.next() {
        let mut above_one = || -> Result<u32, String> {
            let number = words.next().and_then(|word| word.parse().ok()).filter(|&number| number > 1);
            number.ok_or_else(|| format!("{word}: expected a number above one"))
        };
        match word.as_str() {
            "--seeds" => ask.seeds = above_one()?.into(),
            "--runs" => ask.runs = above_one()?,
            "--same-paths" => ask.same_paths = true,
            "--same-replications" => ask.same_replications = true,
            "--fastest" => ask.fastest = true,
            flag if flag.starts_with('-') => {
                return Err(format!(
                    "{flag}: expected captures, --seeds N, --runs N, --same-paths, --same-replications or --fastest"
                ));
            }
            capture => captures.push(capture.into()),
        }
    }
    if captures.is_empty() { Err("expected a capture".into()) } else { Ok((captures, ask)) }
}

/// The comparison of `firstflight compare CAPTURE --seed SEED`, but for what `ask` changes.
fn answer(path: &Path, number: u64, ask: &Ask) -> Result<CompareReport, String> {
    let capture = read(path).map_err(|error| error.to_string())?;
    let file = InputFile { name: path.display().to_string(), bytes: 0, sha256: String::new() };
    let input = Input::Capture {
        file,
        capture: Box::new(capture),
        known: Known::default(),
        identity: Identity::default(),
    };
    let schemes = default_candidates(&input, Profile::Linux, &Simulator, false);
    let seed = |same: bool| 1 + if same { 0 } else { APART * number };
    let request = Request {
        schemes,
        runs: ask.runs,
        seed: seed(ask.same_replications),
        search_seed: Some(seed(ask.same_paths)),
        harm: !ask.fastest,
        limits: Limits { fastest: ask.fastest, ..Limits::default() },
        ..Request::of(input)
    };
    compare(&Simulator, &request, &Silent).map_err(|error| error.to_string())
}
