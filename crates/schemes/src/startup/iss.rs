//! Informed Slow Start: I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 3.
//!
//! LISS with the moving average of the oldest connection's window in equation (2), "to smooth out the typical cwnd
//! growth pattern that follows the saw-tooth shaped cycles".

use crate::scheme;
use crate::startup::planned::{Follows, Planned};
use firstflight_contract::{Role, Signals};

/// Slow start up to the fair share by the averaged window.
pub type Iss = Planned<Parameters>;

scheme! {
    impl Scheme for Iss {
        label: "iss",
        role: Role::Startup,
        source: "Yu, Newman 2011, section 3, equation (2)",
        summary: "slow start up to the fair share by the oldest connection's averaged window",
        needs: Signals::PLAN,
    }

    pub struct Parameters {
        /// weight of one ACK's window in the average (section 5: ns-2's windowThresh_)
        alpha: f64 in 0.0..=1.0 = 0.002,
    }
}

impl Follows for Parameters {
    const PACES: bool = false;
}
