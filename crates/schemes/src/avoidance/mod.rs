//! Congestion-avoidance schemes: each controls the window after start-up until the connection ends.

pub mod bic;
pub mod cubic;
pub mod exp;
pub mod fast;
pub mod h_tcp;
pub mod highspeed;
pub mod reno;
pub mod scalable;
pub mod vcp;
pub mod vegas;
pub mod westwood;
pub mod xcp;
