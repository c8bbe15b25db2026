//! The league: every start on one set of scenarios that was fixed before a result was seen.
//!
//! A league is a folder of files: `league.toml`, a file for each start (`starts/`), a file for each scenario (`scenarios/`), and
//! traces. A start on a scenario is a sweep (`firstflight-sweep`) with a dataset of its own, so that a new start is one new file and a
//! few new datasets. [`library`] reads the folder, [`grid`] makes the sweep of a pair, [`run`](mod@run) runs
//! what is missing, [`outcome`] summarises a dataset beside that of
//! the reference, and [`standing`] joins the outcomes of a start over the scenarios.

mod exits;
pub mod grid;
pub mod interval;
pub mod library;
pub mod outcome;
mod rows;
pub mod run;
pub mod standing;
#[cfg(test)]
mod tests;
mod trace;

pub use interval::Interval;
pub use library::{League, Measure, Scenario, Start};
pub use outcome::{Outcome, outcome};
pub use rows::Rows;
pub use run::{Done, Settings, run};
pub use standing::{NO_RANKS, Results, Standing, standings};
