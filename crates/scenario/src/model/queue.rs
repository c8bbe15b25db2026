//! Queueing disciplines and their parameters.

use firstflight_contract::{Nanos, Rate};
pub use firstflight_net::queue::Discipline as Queue;
pub use firstflight_net::queue::codel::Settings as Codel;
pub use firstflight_net::queue::fq_codel::Settings as FqCodel;
pub use firstflight_net::queue::policer::Settings as Policer;
pub use firstflight_net::queue::red::Settings as Red;
pub use firstflight_net::router::Settings as Router;

/// A token-bucket shaper (`tc-tbf(8)` of Linux, without a peak rate): the first waiting packet leaves when the bucket has
/// a token for each of its bytes. The bucket is full at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// Rate at which tokens accrue.
    pub rate: Rate,
    /// Size of the bucket, bytes; at least one full packet.
    pub burst: u64,
}

/// Two lanes behind a line: packets on the slower one are overtaken by those that follow within `delay`. Each lane keeps its
/// order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// Share of the packets that take the slower lane, below 1.
    pub share: f64,
    /// Time that the slower lane takes longer.
    pub delay: Nanos,
    /// Mean number of packets in a run on the slower lane; 1 for independent choices.
    pub burst: f64,
}
