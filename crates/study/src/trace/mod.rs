//! Observers of the simulator: time series of one flow for plots, and recordings of all packets of every
//! sender.

pub mod record;
mod series;

pub(crate) use record::record;
pub(crate) use series::{Traced, most_points, simulate_sampled, simulate_traced};
