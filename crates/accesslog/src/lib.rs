//! Analysis of a web server's access log: the share of connections that a memory of paths would help.
//!
//! The questions are those of Y. Zhang, L. Qiu and S. Keshav ("Speeding Up Short Data Transfers", NOSSDAV 2000, section
//! "Design"): the share of requests whose client network sent another request within a time window, the number of networks
//! per window, and the error rate of address prefixes as networks.
//!
//! A log is [read](Log) or [generated](Synthetic). The true bottleneck of a client is known only in a generated log.

mod analysis;
mod read;
mod synthetic;

pub use analysis::{Analysis, Study, TooShort, Truth, WindowShare, Windows, analyse};
pub use read::{Format, Keep, Log, LogError, Passed, Reason};
pub use synthetic::{Invalid, Synthetic};

pub use firstflight_paths::Grouping;

use std::net::IpAddr;

use firstflight_contract::Nanos;

/// A request to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Time since 1970 (UTC) in a log that was read, since the log's beginning in a generated one.
    pub at: Nanos,
    /// Address of the client.
    pub client: IpAddr,
    /// Bytes of the answer without its headers; `None` if the log does not have them.
    pub bytes: Option<u64>,
    /// Number of the true bottleneck on the client's path; `None` in a log that was read.
    pub bottleneck: Option<u32>,
}
