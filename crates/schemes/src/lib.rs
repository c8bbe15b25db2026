//! Start-up and congestion-avoidance schemes, each one file that reads like its paper.
//!
//! A scheme is a small state machine ([`firstflight_contract::Phase`]) without clock, I/O, randomness or allocation, so
//! that the same source runs in the simulator, over QUIC and in the Linux kernel. A connection runs a chain of schemes:
//! start-up schemes, which end, then one scheme that does not.

#![cfg_attr(not(test), no_std)]

extern crate alloc;

// For the macros, which other crates use.
#[doc(hidden)]
pub use firstflight_contract;

pub mod avoidance;
pub mod catalogue;
pub mod custom;
pub mod estimate;
pub mod not_implemented;
pub mod registry;
pub mod scheme;
pub mod standalone;
pub mod startup;
