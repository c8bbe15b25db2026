//! Estimators that several schemes share.

pub mod eligible_rate;
pub mod packet_pair;
pub mod windowed_max;
