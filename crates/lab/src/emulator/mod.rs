//! The emulated network: the simulator's own links, crossed by real packets in real time.
//!
//! [`network`] holds the links and moves packets over them in virtual time. It reads no clock, so its answers are exact.
//! [`realtime`] reads packets from the two devices, gives each the time at which it was read, and hands it over when its
//! virtual time has come. A busy machine therefore delays stamps and deliveries, never the links: [`lateness`] measures the
//! delay, and a run that was late does not count.

pub(crate) mod lateness;
pub(crate) mod network;
pub(crate) mod realtime;
