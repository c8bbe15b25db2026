//! Parts that every host of a congestion-control scheme shares: the chain of a connection's phases, packet-timed rounds, the
//! delivery-rate sampler, the pacer, recovery episodes. Each works with any scheme; none knows a scheme by name.
//!
//! Without the default feature `alloc` the crate allocates nothing; a chain then stores its phases in
//! [`phases::Inline`].

#![no_std]

#[cfg(any(test, feature = "alloc"))]
extern crate alloc;

pub mod chain;
pub mod episode;
pub mod pacer;
pub mod phases;
pub mod rate_sampler;
pub mod replay;
pub mod round;
pub mod stack;
