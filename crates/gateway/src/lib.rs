//! The performance gateway without its host: what a server learns from its connections, and the starts that it
//! gives to new ones.
//!
//! The kernel reports each connection as a [`Connection`]; the gateway answers with a [`Plan`] for a prefix of
//! destinations. The crate reads no clock, draws no random number without a seed and does no I/O, so that a log of
//! what it was told replays to the same plans.

mod connection;
mod plan;

pub use connection::{Arm, Connection, Stage};
pub use plan::{Limits, Plan};
