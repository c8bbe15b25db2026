//! The tests of this crate as one program: it is linked once, and its tests share the cores.

mod advice;
#[path = "../../scenario/tests/common/mod.rs"]
mod common;
mod compare;
mod dataset;
mod deploy;
mod distinct;
mod draws;
mod extremes;
mod grid;
mod kernel;
mod limits;
mod links;
mod predictions;
mod sweep;
mod topologies;
mod traffic;
