//! Number of candidates whose harm may exceed the default limit or not, for each preset and default size:
//!
//! ```text
//! cargo run --release -p research-forecasts --bin undecided [-- PRESET…]
//! ```

use firstflight_compare::{DEFAULT_SIZES, Input, Request, compare, default_candidates};
use firstflight_hosts::progress::Silent;
use firstflight_hosts::simulator::Simulator;
use firstflight_scenario::preset::PRESETS;
use firstflight_scenario::{Candidate, Profile};

/// Default limit: a tenth more than beside the present scheme.
const LIMIT: f64 = 1.1;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "| preset | KB | candidates | may exceed the limit | of these, faster than the present scheme | most replications |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    let mut sums = [0; 3];
    for preset in PRESETS.iter().filter(|it| wanted.is_empty() || wanted.iter().any(|name| name == it.name)) {
        let input = Input::Preset(preset);
        let schemes = default_candidates(&input, Profile::Linux, &Simulator, false);
        for size in DEFAULT_SIZES {
            let request = request(Input::Preset(preset), schemes.clone(), size);
            let comparison = match compare(&Simulator, &request, &Silent) {
                Ok(report) => report.comparison,
                Err(error) => {
                    println!("| {} | {} | {error} |", preset.name, size / 1000);
                    continue;
                }
            };
            let present = comparison.present.clone();
            let median = |of: Option<&str>| {
                let row = comparison.results.iter().find(|it| Some(it.scheme.as_str()) == of);
                row.and_then(|it| it.completion_s).map_or(f64::INFINITY, |it| it.median)
            };
            let own = median(present.as_deref());
            let measured: Vec<_> = comparison.results.iter().filter(|it| it.harm.is_some()).collect();
            let open = |it: &&&firstflight_results::SchemeResult| {
                it.harm.as_ref().expect("measured").within(LIMIT).is_none()
            };
            let open: Vec<_> = measured.iter().filter(open).collect();
            let faster =
                open.iter().filter(|it| it.completion_s.is_some_and(|time| time.median < own)).count();
            let most = measured.iter().map(|it| it.harm.as_ref().expect("measured").replications).max();
            println!(
                "| {} | {} | {} | {} | {faster} | {} |",
                preset.name,
                size / 1000,
                measured.len(),
                open.len(),
                most.unwrap_or(0)
            );
            for (sum, more) in sums.iter_mut().zip([measured.len(), open.len(), faster]) {
                *sum += more;
            }
        }
    }
    println!("| **all** | | {} | {} | {} | |", sums[0], sums[1], sums[2]);
}

fn request(input: Input, schemes: Vec<Candidate>, size: u64) -> Request {
    Request { schemes, sizes: vec![size], runs: 1, ..Request::of(input) }
}
