//! The tests of this crate as one program: it is linked once, and its tests share the cores.

mod canary;
mod common;
mod configuration;
mod jumps;
mod lies;
mod log;
mod rank;
mod share;
mod state;
mod survey;
mod transfer;
mod trial;
