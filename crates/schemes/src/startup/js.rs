//! Jump Start of Yu and Newman: I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55
//! (2011), section 3. Not Liu's Jump Start, which is `jump-start`.
//!
//! The fair share of equation (2), which the plan carries, is both the threshold and the first window, "and starts to
//! transmit cwnd number of packets in a burst. To reduce the impact from the burst, JS adopts packet pacing."

use crate::scheme;
use crate::startup::planned::{Follows, Planned};
use firstflight_contract::{Role, Signals};

/// The fair share, paced over the first round trip.
pub type Js = Planned<Parameters>;

scheme! {
    impl Scheme for Js {
        label: "js",
        role: Role::Startup,
        source: "Yu, Newman 2011, section 3, equation (2)",
        summary: "the fair share at once, paced over the first round trip",
        needs: Signals::PLAN.union(Signals::PACING),
    }

    pub struct Parameters {
        /// pace the first window evenly; if false, send it in one burst (section 7: "prohibitive")
        paced: bool = true,
    }
}

impl Follows for Parameters {
    const PACES: bool = true;

    fn depth(&self) -> u64 {
        if self.paced { 1 } else { u64::MAX }
    }
}
