//! The tests of this crate as one program: it is linked once, and its tests share the cores.

mod audit;
mod behaviour;
mod by_hand;
mod common;
mod dequeue;
mod estimated;
mod growth;
mod idle;
mod joined;
mod jump_start;
mod limited;
mod memory;
mod modes;
mod parts;
mod quic;
mod quic_stacks;
mod readings;
mod recovery;
mod reordering;
mod routers;
mod shared_window;
mod stages;
mod token_bucket;
mod windows;
