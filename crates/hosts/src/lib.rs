//! Hosts that run a scenario, the simulator among them, and the results of a run.

mod cost;
pub mod draw;
pub mod driven;
pub mod exhibit;
pub mod host;
pub mod memory;
pub mod network;
pub mod parallel;
pub mod progress;
mod refusal;
pub mod rows;
pub mod run;
pub mod simulator;
pub mod stats;
pub mod trace;

pub use firstflight_sim::timings;
