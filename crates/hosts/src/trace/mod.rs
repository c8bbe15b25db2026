//! Observers of the simulator: time series of one flow for plots, recordings of all packets of every sender, captures of one
//! sender, and the ways of the first packets of one connection.

pub mod capture;
pub mod journey;
pub mod record;
mod series;
mod sizes;
mod transit;

pub(crate) use journey::journeys;
pub(crate) use record::PacketRecorder;
pub(crate) use series::{SeriesRecorder, Traced, most_points};
