//! Results of experiments: the objects that `run --json` and `compare --json` print, and the tables that programs read.
//!
//! Each field is declared once, in `object!`, with its name, type, unit and documentation. From the declaration come the
//! Rust struct, its JSON object, the columns of the [tables](Table) in memory, in Parquet (feature `parquet`) and in
//! Arrow (feature `arrow`), and the page `docs/results.md` ([`reference`]). The crate knows no host: any program can read
//! and write results with it.
//!
//! Every number has its unit in its name. An absent value is null, never zero: a flow that did not finish has no completion
//! time, a capture that never filled the queue has no buffer. Fields may be added to objects, never renamed or removed.
//!
//! ```
//! use firstflight_results::{EngineResult, RunResult, Table};
//!
//! let run = RunResult {
//!     title: "Nothing sent".into(),
//!     seed: 1,
//!     simulated_s: 20.0,
//!     flows: vec![],
//!     links: vec![],
//!     fairness_jain: 1.0,
//!     engine: EngineResult { packet_hops: 0, cpu_s: None, wall_s: None },
//!     means: None,
//!     runs: vec![],
//!     host: None,
//!     validity: None,
//! };
//! let table = Table::of_runs(&run);
//! assert_eq!((table.name, table.rows()), ("run", 1));
//! assert_eq!(table.columns[3].name, "simulated_s");
//! ```

mod answer;
#[cfg(feature = "arrow")]
pub mod arrow;
mod captured;
#[cfg(feature = "check")]
mod check;
mod column;
mod comparison;
mod effect;
mod identified;
mod object;
#[cfg(feature = "parquet")]
pub mod parquet;
mod path;
pub mod reference;
mod report;
mod run;
mod sweep;
mod table;
mod values;

pub use answer::*;
pub use captured::*;
#[cfg(feature = "check")]
pub use check::violations;
pub use column::{Cell, Column, Field, Json, Kind, Range, Record, Value};
pub use comparison::*;
pub use effect::*;
pub use identified::*;
pub use path::*;
pub use report::*;
pub use run::*;
pub use sweep::*;
pub use table::Table;
pub use values::{Ci95, Mean};
