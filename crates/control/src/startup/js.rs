//! Jump Start as Yu and Newman have it: I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks
//! 55 (2011), section 3. Not Liu's Jump Start, which is `jump-start`.
//!
//! The fair share of equation (2), in the plan, is threshold and first window in one, "and starts to transmit cwnd number
//! of packets in a burst. To reduce the impact from the burst, JS adopts packet pacing."

use crate::contract::Signals;
use crate::scheme::{Info, Role};
use crate::startup::planned::Follows;

/// The fair share, paced over the first round trip.
#[derive(Clone, Debug, Default)]
pub struct Js;

impl Follows for Js {
    const INFO: Info = Info {
        label: "js",
        role: Role::Startup,
        source: "Yu, Newman 2011, section 3, equation (2)",
        summary: "the fair share at once, paced over the first round trip",
        needs: Signals::PLAN.and(Signals::PACING),
        params: &[],
    };
}
