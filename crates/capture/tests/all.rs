//! The tests of this crate as one program: it is linked once, and its tests share the cores.

mod analysis;
mod bottlenecks;
mod clock;
mod common;
mod copies;
mod decoding;
mod files;
mod keys;
mod odd;
mod path;
mod qlogs;
mod quic;
mod reader;
mod transfers;
mod truth;
mod watch;
