//! Parts of the network: links, queues, routers.
//!
//! Everything here is a function of arrival times. The simulator calls it in virtual time and the emulator
//! with real packets, so the bottleneck of both is the same code.

pub mod arrival;
pub mod catalogue;
pub mod chosen;
pub mod dequeue_link;
pub mod lanes;
pub mod link;
pub mod queue;
pub mod rate_trace;
pub mod readings;
pub mod router;
pub mod serialisation;
pub mod settings;
pub mod shaper;
pub mod token_bucket;
pub mod two_state;
