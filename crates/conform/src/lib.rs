//! Schemes held to their authors' code: vectors of events with the answers of other projects' controllers, replayed through the
//! chains of this program.

mod calls;
mod cases;
mod controller;
mod model;
mod outcome;
mod pipe;
mod replay;
mod rules;
mod stack;
#[cfg(test)]
mod tests;
mod unlike;
mod vector;
mod verdict;

pub use cases::{CaseVerdict, Kept, cases, own_cases, schemes_with_cases};
pub use controller::{Answer as Decision, Broken, Call, Controller, Packet};
pub use outcome::{Difference, ModelVerdict, Outcome, Verdict};
pub use stack::{PROTOCOL, Stack};
pub use vector::{Answer, Driver, Event, Flaw, Vector, vectors};
pub use verdict::{is_of, known_schemes};
