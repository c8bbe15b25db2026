//! How often a statement is decided wrongly because undecided statements get further seeds: the rule of the judge on normally
//! distributed distances from the border, `cargo run --release --package research-papers --bin stopping`.
//!
//! Prints a row for each number of first seeds and true distance (in standard deviations of one run). With a true distance of
//! zero every decision is an error; otherwise "fails" is.

use core::f64::consts::TAU;

use firstflight_random::Stream;
use firstflight_reproduce::checked::Outcome;
use firstflight_reproduce::judge::{MOST_SEEDS, decided};
use firstflight_reproduce::sequential::more;

const STATEMENTS: u32 = 200_000;

fn main() {
    println!(
        "| first seeds | true distance | decided with these, % | holds, % | fails, % | undecided with {MOST_SEEDS}, % | mean of seeds |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|");
    for first in [3, 5, 10, 20] {
        for distance in [0.0, 0.1, 0.3] {
            let row = judge(first, distance);
            let [early, holds, fails, open] = [row.early, row.holds, row.fails, row.open].map(percent);
            let seeds = row.seeds as f64 / f64::from(STATEMENTS);
            println!(
                "| {first} | {distance} | {early:.1} | {holds:.1} | {fails:.1} | {open:.1} | {seeds:.0} |"
            );
        }
    }
}

#[derive(Default)]
struct Row {
    early: u32,
    holds: u32,
    fails: u32,
    open: u32,
    seeds: u64,
}

fn judge(first: u32, distance: f64) -> Row {
    let mut stream = Stream::named(1, "stopping");
    let mut row = Row::default();
    for _ in 0..STATEMENTS {
        let mut distances: Vec<f64> = Vec::new();
        let mut seeds = first;
        let outcome = loop {
            while distances.len() < seeds as usize {
                distances.push(distance + normal(&mut stream));
            }
            match decided(&distances, false) {
                Outcome::Undecided if seeds < MOST_SEEDS => seeds = more(seeds),
                outcome => break outcome,
            }
        };
        row.early += u32::from(seeds == first);
        row.seeds += u64::from(seeds);
        *match outcome {
            Outcome::Holds => &mut row.holds,
            Outcome::Fails => &mut row.fails,
            Outcome::Undecided => &mut row.open,
        } += 1;
    }
    row
}

fn percent(count: u32) -> f64 {
    100.0 * f64::from(count) / f64::from(STATEMENTS)
}

/// A normally distributed number (G. Box, M. Muller, 1958).
fn normal(stream: &mut Stream) -> f64 {
    libm::sqrt(-2.0 * libm::log(1.0 - stream.unit())) * libm::cos(TAU * stream.unit())
}
