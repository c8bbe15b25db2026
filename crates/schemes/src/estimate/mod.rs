//! Estimators that several schemes share.

pub(crate) mod backlog;
pub mod eligible_rate;
pub(crate) mod flights;
pub(crate) mod own_limit;
pub mod packet_pair;
pub(crate) mod peak_rate;
pub(crate) mod rising_rtt;
pub mod windowed_max;
