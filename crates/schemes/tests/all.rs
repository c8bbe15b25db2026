//! The tests of this crate as one program: it is linked once, and its tests share the cores.

mod chain;
mod custom;
mod kernel_rules;
#[path = "properties/main.rs"]
mod properties;
mod registry;
