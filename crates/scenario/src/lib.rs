//! An experiment as data: the scenario format, its quantities, profiles and path presets.
//!
//! One file describes an experiment for every host. Reading it ([`parse`], [`load`]) or building it from Rust
//! ([`Scenario::builder`]) gives a [`Scenario`] with every default filled in and every quantity in base units, or one
//! [`Error`] with its place and the expected value.

pub mod build;
pub mod candidate;
mod canonical;
mod choices;
mod draws;
pub mod format;
pub mod limits;
mod model;
pub mod preset;
mod profile;
mod read;
pub mod reference;
pub mod schema;
pub mod scheme;
mod stack;
mod topology;
mod trace;

pub use candidate::{Candidate, Settings, Threshold};
pub use draws::Draws;
pub use firstflight_document::{Error, Places};
pub use model::*;
pub use profile::{InitialWindow, Options, Profile, Stack, Transport};
pub use read::{Loaded, load, load_with, parse, parse_in, parse_with};
pub use scheme::{PhaseSpec, SchemeSpec};
pub use trace::columns::{Columns, RateUnit, TimeUnit};
pub use trace::{LinkTrace, Schedule};
