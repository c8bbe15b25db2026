//! Advice beyond a ranking: how a candidate is had today, and the harm that it does to others.

pub mod deploy;
pub(crate) mod harm;
pub mod how;
