//! Congestion-avoidance schemes: each rules the window after start-up, until the connection ends.

pub mod cubic;
pub mod exp;
pub mod h_tcp;
pub mod highspeed;
pub mod reno;
pub mod scalable;
pub mod westwood;
