//! Start-up and congestion-avoidance schemes, each one file that reads like its paper.
//!
//! A scheme is a small state machine ([`contract::Phase`]) without clock, I/O, randomness or allocation, so the
//! same one runs in the simulator, over QUIC and, mirrored in C, in the Linux kernel. A connection runs a chain
//! of them ([`host::chain::Chain`]): start-up phases, which end, then an avoidance phase, which does not.

pub mod absent;
pub mod avoidance;
pub mod contract;
pub mod estimate;
pub mod host;
pub mod registry;
pub mod scheme;
pub mod startup;
pub mod units;
pub mod whole;
