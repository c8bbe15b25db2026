//! What an experiment is, as data: the scenario format, its quantities, profiles and path presets.
//!
//! One file describes an experiment for every host. Reading it gives a [`Scenario`] with every default filled
//! in and every quantity in base units, or one error that says where and what was expected.

mod model;
mod profile;
mod scheme;

pub use model::*;
pub use profile::{InitialWindow, Profile, Stack};
pub use scheme::{PhaseSpec, SchemeSpec};
