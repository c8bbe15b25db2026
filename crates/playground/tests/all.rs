//! The tests of this crate as one program: it is linked once, and its tests share the cores.

#[path = "../../report/tests/chromium/mod.rs"]
mod browser;
mod chromium;
mod common;
mod firefox;
mod identity;
