//! What every host does the same way: run a chain of phases, count rounds, pace.

pub mod chain;
pub mod pacer;
pub mod rate_sampler;
pub mod round;
