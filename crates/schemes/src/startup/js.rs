//! Jump Start as Yu and Newman have it: I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks
//! 55 (2011), section 3. Not Liu's Jump Start, which is `jump-start`.
//!
//! The fair share of equation (2), in the plan, is threshold and first window in one, "and starts to transmit cwnd number
//! of packets in a burst. To reduce the impact from the burst, JS adopts packet pacing."

use crate::scheme::{Info, Param, ParamKind, Value};
use crate::startup::planned::Follows;
use firstflight_contract::{Role, Signals};

/// The fair share, paced over the first round trip.
#[derive(Clone, Debug)]
pub struct Js {
    /// Parameter.
    paced: bool,
}

impl Default for Js {
    fn default() -> Self {
        Self { paced: true }
    }
}

impl Follows for Js {
    const INFO: Info = Info {
        label: "js",
        role: Role::Startup,
        source: "Yu, Newman 2011, section 3, equation (2)",
        summary: "the fair share at once, paced over the first round trip",
        needs: Signals::PLAN.and(Signals::PACING),
        params: &[Param {
            name: "paced",
            kind: ParamKind::Flag,
            default: "true",
            doc: "send the first window at an even pace; without, in one burst (section 7: \"prohibitive\")",
        }],
    };

    fn depth(&self) -> u64 {
        if self.paced { 1 } else { u64::MAX }
    }

    fn set(&mut self, name: &str, value: Value) {
        if let ("paced", Value::Flag(on)) = (name, value) {
            self.paced = on;
        }
    }
}
