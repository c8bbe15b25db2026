//! Papers as data: their experiments run, their claims judged.
//!
//! A paper is a folder of files: experiments (a scenario, the keys that vary, the metrics), claims (statements about the
//! metrics) and figures. [`library`] reads them, [`run`] runs the experiments on a host, [`judge`] compares the claims with
//! the measured values.

mod cell;
pub mod checked;
pub mod claim;
pub mod evidence;
mod experiment;
pub mod expression;
pub mod figure;
pub mod judge;
pub mod library;
mod log;
mod metric;
mod number;
mod observe;
pub mod readings;
pub mod run;
pub mod sequential;
pub mod target;
pub mod words;

pub use experiment::Experiment;
pub use firstflight_document::Error as PaperError;
pub use metric::{Metric, Over, Take};
