//! The schemes of Firstflight as congestion controllers of quinn.
//!
//! A program that uses quinn adds two lines:
//!
//! ```
//! # fn main() -> Result<(), firstflight_quic::Refusal> {
//! # use std::sync::Arc;
//! # let mut transport = quinn_proto::TransportConfig::default();
//! let scheme = firstflight_quic::Scheme::named("hystart+++cubic")?;
//! transport.congestion_controller_factory(Arc::new(scheme));
//! # Ok(())
//! # }
//! ```
//!
//! The scheme files are those that the simulator runs; [`Scheme::recording`] records every event that a scheme was given,
//! and [`Log`] replays the events through a chain of the simulator.
//!
//! # Limits that quinn imposes
//!
//! - quinn paces every connection at 1.25 windows a smoothed round-trip time, in bursts of its own size, and takes no rate
//!   from a controller. A scheme that sets a pacing rate is refused.
//! - quinn has no retransmission timer that a controller sees: only persistent congestion (RFC 9002 section 7.6) is
//!   reported to schemes, as a timeout. quinn 0.11 does not report that a loss was spurious.
//! - The congestion window has the floor of RFC 9002 section 7.2, two datagrams.
//! - After an idle time the window stays as it is. No scheme sees idle times.
//! - quinn finds losses after it has reported the ACK: [`Ack::pipe`](firstflight_contract::Ack::pipe) counts bytes that the
//!   present ACK shows to be lost until the next ACK.
//! - Amounts are bytes of datagrams, headers and authentication tags included.

mod connection;
mod controller;
mod log;
mod scheme;
mod sent;
#[cfg(feature = "transfer")]
pub mod transfer;

pub use log::{Log, Recorded};
pub use scheme::{OFFERED, Refusal, Scheme};
