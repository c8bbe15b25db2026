//! Estimators that several schemes share.

pub mod eligible_rate;
pub mod windowed_max;
