//! The tests of this crate as one program: it is linked once, and its tests share the cores.

mod advice;
mod answer;
#[path = "../../scenario/tests/common/mod.rs"]
mod common;
mod compare;
mod draws;
mod extremes;
mod predictions;
mod recognition;
