//! The tests of this crate as one program: it is linked once, and its tests share the cores.

mod common;
mod kernel_selftests;
mod loader;
mod simulator;
