//! Estimators that several schemes share.

pub(crate) mod backlog;
pub mod eligible_rate;
pub(crate) mod flights;
pub mod packet_pair;
pub mod windowed_max;
