//! The extension module `firstflight._firstflight`: the library for Python.
//!
//! The Python files beside it (`python/firstflight`) are the package that users import. This module has what needs Rust: tables
//! as Arrow, scenarios, runs without the lock of the interpreter, and schemes written in Python. Its stub,
//! `python/firstflight/_firstflight.pyi`, is made from the compiled module (`make regenerate`).

// The macros of PyO3 make items of other modules public to the module below.
#![allow(unreachable_pub)]

mod error;
mod events;
mod input;
mod job;
mod outcome;
mod quantity;
mod rows;
mod scenario;
mod scheme;
mod study;
mod sweep;
mod table;

/// The compiled part of Firstflight.
#[pyo3::pymodule]
mod _firstflight {
    #[pymodule_export]
    use crate::events::{Ack, Congestion, Control, Entry, Lost, Plan, Sent, slow_start};
    #[pymodule_export]
    use crate::outcome::Outcome;
    #[pymodule_export]
    use crate::quantity::quantity;
    #[pymodule_export]
    use crate::scenario::{Scenario, in_toml, presets};
    #[pymodule_export]
    use crate::study::{algorithms, compare, identify, infer, profiles, run, signals};
    #[pymodule_export]
    use crate::sweep::sweep;
    #[pymodule_export]
    use crate::table::{Column, Rows, Table};
}
