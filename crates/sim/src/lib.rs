//! A packet-level simulator of how connections start.
//!
//! Three ideas make it fast (ARCHITECTURE.md says more): a FIFO link needs no event of its own, because an
//! arriving packet's departure follows from the last one's; a stream of packets that is in order needs only its
//! head among the events; and an endpoint that nothing but its own packets and timers can move may run ahead of
//! the clock. [`engine`] runs a [`config::Network`] and gives an [`outcome::Outcome`].

pub mod audit;
mod clocks;
pub mod config;
pub mod dumbbell;
pub mod engine;
mod flow;
mod header;
mod hold;
mod lookahead;
pub mod observe;
pub mod outcome;
pub mod packet;
pub mod receiver;
mod recovery;
mod route;
pub mod schedule;
pub mod sender;
mod shared;
mod wire;
