//! The network's parts: links, queues, routers, random streams.
//!
//! Everything here is a function of arrival times. The simulator calls it in virtual time, the emulator with
//! real packets: the bottleneck of both is the same code.

pub mod catalogue;
pub mod held;
pub mod link;
pub mod queue;
pub mod random;
pub mod readings;
pub mod router;
pub mod trace;
