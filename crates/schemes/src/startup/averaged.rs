//! The averaged method of I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 5.4: their model of SPAND's network monitor.
//!
//! Slow start up to the mean of all windows to the subnet in the last minutes.

use crate::scheme::{Info, Param, ParamKind};
use crate::startup::planned::Follows;
use firstflight_contract::{Role, Signals};

/// Slow start up to the mean window.
#[derive(Clone, Debug, Default)]
pub struct Averaged;

impl Follows for Averaged {
    const INFO: Info = Info {
        label: "averaged",
        role: Role::Startup,
        source: "Yu, Newman 2011, section 5.4",
        summary: "slow start up to the mean window of all connections in the last minutes",
        needs: Signals::PLAN,
        params: &[
            Param {
                name: "sample",
                kind: ParamKind::Time,
                default: "1 s",
                doc: "time between samples of the windows (section 5.4)",
            },
            Param {
                name: "window",
                kind: ParamKind::Time,
                default: "300 s",
                doc: "how long a sample counts (section 5.4); up to 60 times refresh",
            },
            Param {
                name: "refresh",
                kind: ParamKind::Time,
                default: "60 s",
                doc: "how often the mean is made anew (section 5.4)",
            },
        ],
    };
}
