//! Less Informed Slow Start: I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 3.
//!
//! Slow start up to the fair share of a new connection, computed from the windows of the connections that share its
//! bottleneck (equation 2, in the plan). "LISS is the same as TCP Reno's slow start algorithm except that ssthresh is
//! taken from cwnd of the TCP connection with the longest duration sharing the same bottlenecks."

use crate::scheme;
use crate::startup::planned::{Follows, Planned};
use firstflight_contract::{Nanos, Role, Signals};

/// Slow start up to the fair share.
pub type Liss = Planned<Parameters>;

scheme! {
    impl Scheme for Liss {
        label: "liss",
        role: Role::Startup,
        source: "Yu, Newman 2011, section 3, equation (2)",
        summary: "slow start up to the fair share by the oldest connection's window",
        needs: Signals::PLAN,
    }

    pub struct Parameters {
        /// without a live connection, use the threshold of a closed connection to the same destination up to this age
        /// (section 5.4); 0 s is never
        fallback: Nanos = 0 s,
    }
}

impl Follows for Parameters {
    const PACES: bool = false;
}
