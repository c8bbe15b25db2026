//! Experiments: scenarios run many times, compared, and the results they leave.

pub mod advice;
pub mod compare;
mod cost;
pub mod draw;
pub mod driven;
pub mod exhibit;
mod explain;
pub mod host;
pub mod memory;
pub mod network;
mod paired;
mod parallel;
pub mod progress;
pub mod rows;
pub mod run;
mod sharing;
pub mod simulator;
pub mod stats;
pub mod sweep;
pub mod trace;
