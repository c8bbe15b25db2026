//! Firstflight as a library: how a TCP or QUIC connection should start.
//!
//! - [`Scenario`] describes an experiment: read from text, or built in Rust.
//! - [`run`] runs a scenario; [`Run`] adds replications, a seed, another host.
//! - [`compare`] ranks start-up schemes on a path, a scenario, a preset or a capture of real connections.
//! - [`infer`] estimates a path from a capture.
//! - [`sweep`] crosses the values of keys of a scenario.
//! - [`scheme`] holds the contract for schemes of your own; they run beside the built-in ones.
//!
//! The core reads no clock, starts no thread and opens no file, so that it also builds for `wasm32-unknown-unknown`. The
//! default features `clock`, `files` and `threads` measure the cost of runs, read inputs from files and keep sweeps in them (`files`),
//! and use all cores. The same scenario and seed give
//! the same results on every machine and for every number of threads.
//!
//! # Examples
//!
//! ```
//! use firstflight::{Scenario, run};
//!
//! let scenario = Scenario::from_text(
//!     r#"
//!     [path]
//!     rate = "10 Mbit/s"
//!     rtt = "50 ms"
//!     buffer = "100 packets"
//!     [[flow]]
//!     size = "30 KB"
//!     startup = "hystart++"
//!     avoidance = "cubic"
//!     "#,
//! )?;
//! let result = run(&scenario)?;
//! // 21 segments in two round trips of 50 ms, and their time on the link.
//! let seconds = result.flows[0].completion_s.expect("a finite transfer ends");
//! assert!((0.1..0.15).contains(&seconds));
//! # Ok::<(), firstflight::Error>(())
//! ```

mod algorithms;
mod compare;
#[cfg(feature = "files")]
pub mod files;
mod infer;
mod path_values;
mod run;

pub use algorithms::{Algorithm, KERNEL, QUIC, algorithms};
pub use compare::{Compare, compare, parse_size, shell_word};
pub use firstflight_capture as capture;
pub use firstflight_compare::{
    DEFAULT_STARTUPS, DEFAULT_WINDOWS, Identity, Input, Known, Limits, Statistic, inferred_path, present,
};
pub use firstflight_document::{Error, quantity};
pub use firstflight_hosts::exhibit;
pub use firstflight_hosts::host::{Host, Observe, Refusal};
pub use firstflight_hosts::memory;
pub use firstflight_hosts::progress::{Halt, Progress, Silent};
pub use firstflight_hosts::run::{Made, over_time};
pub use firstflight_hosts::simulator::{Simulator, Stoppable};
pub use firstflight_hosts::timings;
pub use firstflight_hosts::trace::journey;
pub use firstflight_hosts::trace::record as recording;
pub use firstflight_results as results;
pub use firstflight_scenario::{
    Candidate, Limit, Loaded, Network, Profile, Scenario, SchemeSpec, Settings, Threshold, build, preset,
};
pub use firstflight_sweep as sweep;
pub use infer::infer;
pub use path_values::{PathValues, parse_share};
pub use run::{Run, run};

/// The contract for schemes, the macro [`scheme!`](scheme::scheme) that declares one, and the catalogue of the built-in
/// ones.
pub mod scheme {
    pub use firstflight_contract::{
        Ack, Beginning, Congestion, Control, Declaration, Declared, Entry, Exit, Load, Lost, Nanos, Phase,
        Plan, Rate, Role, Sent, Signals, Step, Trigger, Why, slow_start,
    };
    pub use firstflight_schemes::catalogue::{LabelError, Schemes};
    pub use firstflight_schemes::registry::SCHEMES;
    pub use firstflight_schemes::scheme::{Info, Param, ParamKind, Scheme, Value};
    pub use firstflight_schemes::{parameters, scheme};
}
