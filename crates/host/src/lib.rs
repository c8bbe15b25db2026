//! Parts that every host shares: the chain of a connection's phases, packet-timed rounds, the delivery-rate sampler, the
//! pacer. Each is generic over the schemes; none knows a scheme by name.

#![no_std]

extern crate alloc;

pub mod chain;
pub mod pacer;
pub mod phases;
pub mod rate_sampler;
pub mod round;
