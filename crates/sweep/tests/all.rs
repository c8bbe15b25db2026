//! The tests of this crate as one program: it is linked once, and its tests share the cores.

mod columns;
mod dataset;
mod grid;
mod sweep;
