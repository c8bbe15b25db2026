//! Harm on the paths that explain a capture. The test measures the share of the variance that is between paths. It also compares the
//! intervals under two seeds, each with a search of its own.
//!
//! ```text
//! CAPTURES="A B" cargo test --locked -p firstflight-compare --lib -- --ignored --nocapture harm_on_paths
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use firstflight_capture::read;
use firstflight_results::InputFile;

use firstflight_hosts::progress::Silent;
use firstflight_hosts::simulator::Simulator;
use firstflight_scenario::{Candidate, Profile};

use crate::bench::Bench;
use crate::defaults::{DEFAULT_SIZES, default_candidates};
use crate::harm::Bystanders;
use crate::input::{Identity, Input, Known};
use crate::path::Subject;
use crate::request::Request;

/// Replications of every candidate.
const REPLICATIONS: u32 = 256;
/// The second seed has other replications and another search.
const SEEDS: [u64; 2] = [1, 1001];
/// Standard errors of an interval of 95 %.
const SURE: f64 = 1.96;

/// One-way layout of residuals: variance between paths, and variance among the replications on a path. The effective number of paths
/// is n^2 over the sum of the squares of their replications.
#[derive(Debug, PartialEq)]
struct Layout {
    between: f64,
    within: f64,
    paths: f64,
    /// Replications.
    all: f64,
}

impl Layout {
    /// The layout of residuals with the numbers of their paths, n_i on each of k paths. The variance between paths is (mean square
    /// between - mean square within) / n0, at least zero, where n0 = (n - sum n_i^2 / n) / (k - 1) (S. R. Searle, G. Casella,
    /// C. E. McCulloch, "Variance Components", 1992, section 3.6).
    fn of(residuals: &[(usize, f64)]) -> Self {
        let mut groups: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for (path, residual) in residuals {
            let (count, sum) = groups.entry(*path).or_default();
            (*count, *sum) = (*count + 1.0, *sum + residual);
        }
        let (all, k) = (residuals.len() as f64, groups.len() as f64);
        let square = |value: f64| value * value;
        let mean = residuals.iter().map(|(_, residual)| residual).sum::<f64>() / all;
        let own_mean = |path: &usize| groups[path].1 / groups[path].0;
        let apart = groups.values().map(|(count, sum)| count * square(sum / count - mean)).sum::<f64>();
        let within =
            residuals.iter().map(|(path, it)| square(it - own_mean(path))).sum::<f64>() / (all - k).max(1.0);
        let counts = groups.values().map(|(count, _)| count * count).sum::<f64>();
        let each = (all - counts / all) / (k - 1.0).max(1.0);
        let between = if each > 0.0 { ((apart / (k - 1.0) - within) / each).max(0.0) } else { 0.0 };
        Self { between, within, paths: all * all / counts, all }
    }

    /// Variance of the mean beyond that of independent replications: `between` has one part for each effective path.
    fn clustered(&self) -> f64 {
        self.between * (1.0 / self.paths - 1.0 / self.all)
    }
}

/// Harm to one bystander.
struct Measured {
    value: f64,
    /// Squares of its standard errors: from the replications, and what the few paths add.
    replications: f64,
    paths: f64,
    layout: Layout,
}

impl Measured {
    fn of(harm: (f64, [f64; 2]), times: &[(f64, f64)], paths: &[usize]) -> Self {
        let (value, [low, high]) = harm;
        let mean = times.iter().map(|(_, present)| present).sum::<f64>() / times.len() as f64;
        let residual =
            |((beside, present), path): (&(f64, f64), &usize)| (*path, (beside - value * present) / mean);
        let layout = Layout::of(&times.iter().zip(paths).map(residual).collect::<Vec<_>>());
        let error = (high - low) / 2.0 / SURE;
        Self { value, replications: error * error, paths: layout.clustered(), layout }
    }
}

/// Harm to each bystander, by size and candidate; `None` where a bystander did not end.
type BySize = Vec<Vec<Option<[Measured; 2]>>>;

/// Harm by every candidate on the paths of a capture.
fn measured(path: &Path, seed: u64) -> BySize {
    let file = InputFile { name: path.display().to_string(), bytes: 0, sha256: String::new() };
    let capture = Box::new(read(path).expect("a capture"));
    let input = Input::Capture { file, capture, known: Known::default(), identity: Identity::default() };
    let schemes = default_candidates(&input, Profile::Linux, &Simulator, false);
    let request = Request { schemes, seed, ..Request::of(input) };
    let subject = Subject::explained(&Simulator, &request, &Silent).expect("a path");
    let bench = Bench::new(&subject, seed);
    let own = Candidate::from(request.present());
    let bystanders = Bystanders::new(&bench, own, &request.schemes, &request.sizes, false);
    let mut bystanders = bystanders.expect("a small path").with_first(REPLICATIONS);
    bystanders.first(&bench, &request.schemes, &Silent).expect("a host that runs them");
    let paths: Vec<usize> = (0..REPLICATIONS).map(|index| bench.path(index)).collect();
    let one = |at: usize, place: usize| {
        let [bulk, requests] = bystanders.harm(request.sizes[at], place)?.each();
        let [of_bulk, of_requests] = bystanders.times(at, place)?;
        Some([Measured::of(bulk, &of_bulk, &paths), Measured::of(requests, &of_requests, &paths)])
    };
    let of_size = |at: usize| (0..request.schemes.len()).map(|place| one(at, place)).collect();
    (0..request.sizes.len()).map(of_size).collect()
}

#[test]
#[ignore = "takes minutes for each capture, and prints a table"]
fn intervals_of_harm_under_two_seeds() {
    #[expect(clippy::disallowed_methods, reason = "a test harness passes no arguments")]
    let captures = std::env::var("CAPTURES").expect("CAPTURES: files, separated by spaces");
    println!(
        "| capture | KB | effective paths | between paths, % | on a path, % | by chance | and few paths |"
    );
    for capture in captures.split(' ') {
        let [first, second] = SEEDS.map(|seed| measured(Path::new(capture), seed));
        for (at, size) in DEFAULT_SIZES.into_iter().enumerate() {
            let both = first[at].iter().zip(&second[at]).filter_map(|(a, b)| a.as_ref().zip(b.as_ref()));
            let both: Vec<(&Measured, &Measured)> = both
                .flat_map(|(a, b)| a.iter().zip(b))
                .filter(|(a, b)| a.replications + b.replications > 0.0)
                .collect();
            let all = || both.iter().flat_map(|(a, b)| [a, b]);
            let count = both.len() as f64;
            let mean =
                |of: &dyn Fn(&Layout) -> f64| all().map(|one| of(&one.layout)).sum::<f64>() / (2.0 * count);
            let beyond = |variance: &dyn Fn(&Measured) -> f64| {
                let apart = |a: &Measured, b: &Measured| {
                    (a.value - b.value).abs() > SURE * (variance(a) + variance(b)).sqrt()
                };
                both.iter().filter(|(a, b)| apart(a, b)).count()
            };
            println!(
                "| {capture} | {} | {:.0} | {:.1} | {:.1} | {} of {count} | {} |",
                size / 1000,
                mean(&|it| it.paths),
                100.0 * mean(&|it| it.between).sqrt(),
                100.0 * mean(&|it| it.within).sqrt(),
                beyond(&|it| it.replications),
                beyond(&|it| it.replications + it.paths),
            );
        }
    }
}

#[test]
fn a_layout_separates_the_variance_between_paths_from_that_of_replications() {
    // 1 and 3 on one path, -1 and -3 on another: means 2 and -2. Mean square between 2 * (4 + 4) / 1 = 16, within 4 / 2 = 2;
    // n0 = (4 - 8 / 4) / 1 = 2, (16 - 2) / 2 = 7. Two effective paths, of four replications: 7 * (1 / 2 - 1 / 4) = 1.75.
    let layout = Layout::of(&[(5, 1.0), (9, -1.0), (5, 3.0), (9, -3.0)]);
    assert_eq!(layout, Layout { between: 7.0, within: 2.0, paths: 2.0, all: 4.0 });
    assert_eq!(layout.clustered(), 1.75);
    // 0 and 2; 4, 6 and 8; mean 4: between 2 * 9 + 3 * 4 = 30, within (2 + 8) / 3; n0 = 5 - 13 / 5 = 2.4; (80 / 3) / 2.4 = 100 / 9.
    let layout = Layout::of(&[(0, 0.0), (0, 2.0), (1, 4.0), (1, 6.0), (1, 8.0)]);
    assert!(
        (layout.between - 100.0 / 9.0).abs() < 1e-12 && (layout.paths - 25.0 / 13.0).abs() < 1e-12,
        "{layout:?}"
    );
    // Paths that differ less than their replications; one path; one replication on each.
    assert_eq!(Layout::of(&[(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)]).between, 0.0);
    assert_eq!(Layout::of(&[(0, 1.0), (0, -1.0)]).clustered(), 0.0);
    assert_eq!(Layout::of(&[(0, 1.0), (1, -1.0)]).clustered(), 0.0);
}
