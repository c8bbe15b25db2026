//! What papers claim, run again and judged.
//!
//! A paper is data: experiments (a scenario and the settings that are varied), claims (statements about what the
//! experiments measure) and figures. [`library`] reads them, [`run`] runs what they need, [`judge`] compares.

pub mod array;
mod cell;
pub mod checked;
pub mod claim;
mod error;
pub mod evidence;
mod experiment;
pub mod expression;
pub mod figure;
pub mod judge;
pub mod library;
mod log;
mod metric;
mod number;
mod registers;
pub mod run;
mod settings;
mod store;
pub mod target;

pub use error::PaperError;
pub use experiment::{Axis, Experiment, Point};
pub use metric::{Metric, Over, Take};
