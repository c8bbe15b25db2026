//! An experiment as data: the scenario format, its quantities, profiles and path presets.
//!
//! One file describes an experiment for every host. Reading it ([`parse`], [`load`]) or building it from Rust
//! ([`Scenario::builder`]) gives a [`Scenario`] with every default filled in and every quantity in base units, or one
//! [`Error`] with its place and the expected value.

pub mod build;
pub mod calendar;
pub mod candidate;
mod canonical;
mod choices;
pub mod document;
mod draws;
mod error;
pub mod file;
pub mod format;
pub mod limits;
mod model;
mod places;
pub mod preset;
mod profile;
pub mod quantity;
mod read;
pub mod reference;
pub mod schema;
pub mod scheme;
pub mod seconds;
mod source;
mod topology;
mod trace;
mod tree;

pub use candidate::{Candidate, Settings, Threshold};
pub use draws::Draws;
pub use error::{Error, Fault, Place, Problem, QuantityProblem, clipped, nearest};
pub use firstflight_random::{Dist, Quantity};
pub use model::*;
pub use places::Places;
pub use profile::{InitialWindow, Profile, Stack, Transport};
pub use read::{Loaded, load, load_with, parse, parse_in, parse_with};
pub use scheme::{PhaseSpec, SchemeSpec};
pub use trace::columns::{Columns, RateUnit, TimeUnit};
pub use trace::{LinkTrace, Schedule};
pub use tree::quoted;
