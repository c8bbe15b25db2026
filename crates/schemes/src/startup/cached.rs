//! The cached method of I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 5.4, derived from TCP Fast Start; and the sharing of RFC 9040 (RFC 2140).
//!
//! Slow start up to the threshold of a live connection or of the last closed connection. RFC 9040 also shares the
//! window; a shared window is paced over one round trip.

use crate::startup::planned::{Follows, Planned};
use crate::{choice, scheme};
use firstflight_contract::{Nanos, Role, Signals};

/// Slow start up to another connection's threshold.
pub type Cached = Planned<Parameters>;

scheme! {
    impl Scheme for Cached {
        label: "cached",
        role: Role::Startup,
        source: "Yu, Newman 2011, section 5.4; RFC 9040",
        summary: "slow start up to the threshold of a live or a closed connection",
        needs: Signals::PLAN.union(Signals::PACING),
    }

    pub struct Parameters {
        /// the threshold (section 5.4); or RFC 9040: window and threshold that the last connection to the destination
        /// left, or an equal share of the live windows
        sharing: Sharing = Threshold,
        /// largest age of the state of a closed connection; 0 s is any age
        max_age: Nanos = 0 s,
    }
}

choice! {
    /// Values of the parameter `sharing`.
    pub enum Sharing {
        /// The threshold of a live connection of the cluster, else of the last closed connection to the same
        /// destination.
        Threshold = "threshold",
        /// RFC 9040 section 6: window and threshold of the last closed connection to the same destination.
        Temporal = "temporal",
        /// RFC 9040 section 7: an equal share of the windows of the live connections.
        Ensemble = "ensemble",
    }
}

impl Follows for Parameters {
    const PACES: bool = true;
}
