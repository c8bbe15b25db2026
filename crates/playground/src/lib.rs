//! The playground: comparisons in the browser.
//!
//! [`Engine`] answers orders: JSON and a file in, bytes out. In the browser it is a WebAssembly module in a worker
//! (`wasm.rs`); natively it is this library, so that tests hold the answers of both to each other, byte for byte. [`page()`]
//! makes the one HTML file of the module, the scripts of `assets/` and the report's own scripts and styles. [`live`] makes the scripts of
//! the figures of the schemes' pages.

mod engine;
mod exhibit;
mod offer;
#[cfg(not(target_family = "wasm"))]
mod page;
mod request;
#[cfg(target_family = "wasm")]
mod wasm;

pub use engine::Engine;
pub use firstflight::{Progress, Silent};
#[cfg(not(target_family = "wasm"))]
pub use page::{Live, live, page};
