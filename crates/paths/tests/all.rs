//! The tests of this crate as one program: it is linked once, and its tests share the cores.

mod common;
mod fair_share;
mod histories;
mod memory;
mod model;
mod optimum;
mod policies;
#[cfg(feature = "serde")]
mod saved;
