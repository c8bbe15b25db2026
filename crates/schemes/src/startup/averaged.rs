//! The averaged method of I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 5.4: their model of SPAND's network monitor.
//!
//! Slow start up to the mean of all windows to the subnet in the last minutes.

use crate::scheme;
use crate::startup::planned::{Follows, Planned};
use firstflight_contract::{Nanos, Role, Signals};

/// Slow start up to the mean window.
pub type Averaged = Planned<Parameters>;

scheme! {
    impl Scheme for Averaged {
        label: "averaged",
        role: Role::Startup,
        source: "Yu, Newman 2011, section 5.4",
        summary: "slow start up to the mean window of all connections in the last minutes",
        needs: Signals::PLAN,
    }

    pub struct Parameters {
        /// time between samples of the windows (section 5.4)
        sample: Nanos = 1 s,
        /// how long a sample counts (section 5.4); up to 60 times refresh
        window: Nanos = 300 s,
        /// time between updates of the mean (section 5.4)
        refresh: Nanos = 60 s,
    }
}

impl Follows for Parameters {
    const PACES: bool = false;
}
