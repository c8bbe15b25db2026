//! A packet-level simulator of connection start-up.
//!
//! Three ideas make it fast (docs/inside.md). A FIFO link needs no event of its own: the departure of a
//! packet follows from the previous one. An ordered stream of packets needs only its head among the events.
//! An endpoint that only its own packets and timers affect may run ahead of the clock. [`engine`] runs a
//! [`config::Network`] and produces an [`outcome::Outcome`].

mod ahead;
pub mod alike;
pub mod audit;
pub mod begun;
#[cfg(test)]
mod bytes;
mod calendar;
mod clocks;
pub mod config;
mod divided;
pub mod dumbbell;
mod ended;
pub mod engine;
mod flow;
mod groups;
mod header;
pub mod hop;
mod lookahead;
pub mod observe;
pub mod outcome;
pub mod packet;
mod part;
mod parts;
mod pool;
mod receive_buffer;
pub mod receiver;
mod route;
pub mod schedule;
pub mod sender;
mod shared;
pub mod timings;
mod windows;
mod wire;
