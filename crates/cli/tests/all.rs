//! The tests of this crate as one program: it is linked once, and its tests share the cores.

mod any_scenario;
mod bad_input;
mod capture;
mod captures;
mod command_line;
mod common;
mod conform;
mod conformance;
mod connections;
mod deb;
mod dependencies;
mod documentation;
mod effect;
mod identify;
mod inputs;
mod interrupt;
mod json;
mod layers;
mod link_trace;
mod log;
mod memory;
mod networks;
mod results;
mod sender;
mod sweep;
mod trace;
