//! Comparison of schemes: completion times of transfers on a path, and the losses that they cause.
//!
//! Every scheme runs the same replications, with the same draws of everything random or unknown about the
//! path. Differences between schemes are thus caused by the schemes, and are reported pair by pair.
//!
//! A comparison has these steps, and each has its module:
//!
//! | step | module |
//! |---|---|
//! | inputs: the path, and the transfers that it carries | `request`, `input`, `path`, `transfers` |
//! | candidates: the schemes and settings that are tried | `defaults` |
//! | differences: times of the candidates, their ranks and intervals | `differences`, `paired` |
//! | harm: times of bystanders beside the candidates | `harm` |
//! | advice: costs of a candidate, and the way to have it | `costs`, `how` |
//! | recommendation: the candidate to use at each size and for all, and the answer: the one setting that the server should have | `recommended`, `weights` |
//! | reply: the report, built once from the finished parts | `reply` |
//!
//! `measured` goes through these steps for one path, `mix` for all networks of a server.

mod bench;
mod captured;
mod connections;
mod costs;
mod defaults;
pub mod deploy;
mod differences;
mod draw;
mod effect;
#[cfg(feature = "gateway")]
pub mod gateway;
mod halt;
mod harm;
#[cfg(test)]
mod harm_on_paths;
mod how;
mod inferred;
mod input;
mod measured;
mod mix;
mod networks;
mod paired;
mod path;
mod present;
mod recommended;
mod recording;
mod replication;
mod reply;
mod request;
mod resemblance;
mod risks;
mod statistic;
mod transfers;
mod weights;

use firstflight_document::{Error, Problem};
use firstflight_hosts::host::Host;
use firstflight_hosts::progress::Progress;
use firstflight_results::CompareReport;

pub use connections::connections;
pub use defaults::{
    DEFAULT_AVOIDANCE, DEFAULT_CANDIDATES, DEFAULT_REPLICATIONS, DEFAULT_SIZES, DEFAULT_STARTUPS,
    DEFAULT_WINDOWS, default_candidates, default_startups,
};
pub use effect::{Connections, effect, forecast};
pub use firstflight_explain::{Breadth, Explanation};
pub use how::deployable;
pub use inferred::inferred_path;
pub use input::{Identity, Input, Known, is_capture};
pub use present::present;
pub use recording::{admit_recordings, recordings, shown_run};
pub use request::{Limits, Request};
pub use statistic::Statistic;

use networks::Networks;

/// Compares the schemes.
///
/// # Errors
/// [`Error`] if a value of the path is missing, there is no scheme or size, a scheme cannot run on the path, or the
/// comparison takes more memory than the limit.
pub fn compare(host: &dyn Host, request: &Request, progress: &dyn Progress) -> Result<CompareReport, Error> {
    compare_explained(host, request, progress).map(|(report, _)| report)
}

/// As [`compare`], with the paths that explain a capture of one network; `None` for other inputs.
///
/// # Errors
/// As [`compare`].
pub fn compare_explained(
    host: &dyn Host,
    request: &Request,
    progress: &dyn Progress,
) -> Result<(CompareReport, Option<Explanation>), Error> {
    let at_least_one = |key: &str| Error::new(Problem::Missing).at_key(key).expecting("at least one");
    if request.schemes.is_empty() {
        return Err(at_least_one("schemes"));
    }
    if request.sizes.is_empty() {
        return Err(at_least_one("sizes"));
    }
    match Networks::of(request) {
        Some(networks) => mix::compare(host, request, &networks, progress).map(|report| (report, None)),
        None => measured::compare(host, request, progress),
    }
}

/// Number of networks of clients that a comparison of `request` answers one after another; 0 if it is of a single path.
pub fn networks(request: &Request) -> usize {
    Networks::of(request).map_or(0, |networks| networks.answered.len())
}
