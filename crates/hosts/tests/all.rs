//! The tests of this crate as one program: it is linked once, and its tests share the cores.

mod distinct;
mod kernel;
mod limits;
mod links;
mod topologies;
mod traffic;
