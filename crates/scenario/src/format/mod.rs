//! The format of a scenario: every table with its keys. The reader looks keys up here; the JSON Schema and the reference are
//! generated from the same rows.

mod laws;
mod networks;
mod queues;
pub(crate) mod rows;
mod tables;
mod topologies;
mod traffic;

pub use laws::*;
pub use networks::*;
pub use queues::*;
pub use tables::*;
pub use topologies::*;
pub use traffic::*;

pub use crate::stack::STACK;
pub use firstflight_document::format::*;
pub(crate) use rows::EAGER;
pub use rows::{AVOIDANCE, BUFFER, FILE, INITIAL_WINDOW, LINK_BUFFER, LINK_NAME, READS, STARTUP, THRESHOLD};
