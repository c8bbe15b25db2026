//! Random graphs, the same for the same seed on every machine, and graphs from files.

pub(crate) mod flat;
pub(crate) mod graphml;
pub(crate) mod transit_stub;
