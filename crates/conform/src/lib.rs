//! Schemes held to their authors' code: vectors of events with the answers of other projects' controllers, replayed through the
//! chains of this program.

mod calls;
mod controller;
mod replay;
mod rules;
#[cfg(test)]
mod tests;
mod vector;
mod verdict;

pub use vector::{Answer, Driver, Event, Flaw, Vector, vectors};
pub use verdict::{Difference, Outcome, Verdict, is_of, known_schemes};
