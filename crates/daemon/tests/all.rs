//! The tests of this crate as one program, but for those that wait for real time: it is linked once, and its tests share the cores.
#![cfg(target_os = "linux")]

mod canary;
mod common;
mod faults;
mod foreign;
mod limits;
mod metrics;
mod orders;
mod service;
mod site;
mod transfers;
