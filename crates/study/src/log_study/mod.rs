//! What a server's log says of how much its connections could learn from each other, as Y. Zhang, L. Qiu and S. Keshav
//! ("Speeding Up Short Data Transfers", NOSSDAV 2000, section "Design") ask of one: the share of requests that come from a
//! network of which the server saw another request within a window of time, how many networks a window holds, and how
//! often requests that are taken to come from one network do not.
//!
//! A log is [read](Log) or [made up](Synthetic). Only of one that is made up the truth is known.

mod analysis;
mod read;
mod synthetic;

pub use analysis::{Analysis, Study, TooShort, Truth, WindowShare, analyse};
pub use read::{Keep, Log, LogError};
pub use synthetic::{Invalid, Synthetic};

pub use firstflight_paths::Grouping;

use std::net::IpAddr;

use firstflight_contract::Nanos;

/// A request to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When: since 1970 (UTC) in a log that was read, since its beginning in one that was made up.
    pub at: Nanos,
    /// Whose it is.
    pub client: IpAddr,
    /// The number of the bottleneck that its path has in truth; none in a log that was read.
    pub bottleneck: Option<u32>,
}
