//! The tests of this crate as one program: it is linked once, and its tests share the cores.

mod catalogue;
mod common;
mod contract;
#[path = "errors/main.rs"]
mod errors;
#[cfg(unix)]
mod file;
mod generated;
mod graph;
mod keys;
mod meaning;
mod properties;
mod topology;
mod trace;
