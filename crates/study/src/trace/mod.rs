//! What an observer of the simulator sees: one flow over time for plots, every packet of every sender for traces.

pub mod record;
mod series;

pub(crate) use record::record;
pub(crate) use series::{Traced, simulate_sampled, simulate_traced};
