//! The cached method of I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 5.4, which they made of TCP Fast Start; and the sharing of RFC 9040 (RFC 2140).
//!
//! Slow start up to the threshold that a live connection has or a closed one left. RFC 9040 shares the window, too; it
//! leaves at an even pace.

use crate::scheme::{Info, Param, ParamKind};
use crate::startup::planned::Follows;
use firstflight_contract::{Role, Signals};

/// Slow start up to another connection's threshold.
#[derive(Clone, Debug, Default)]
pub struct Cached;

impl Follows for Cached {
    const INFO: Info = Info {
        label: "cached",
        role: Role::Startup,
        source: "Yu, Newman 2011, section 5.4; RFC 9040",
        summary: "slow start up to the threshold a live connection has or a closed one left",
        needs: Signals::PLAN.and(Signals::PACING),
        params: &[
            Param {
                name: "sharing",
                kind: ParamKind::Choice(&["threshold", "temporal", "ensemble"]),
                default: "threshold",
                doc: "the threshold (section 5.4); or RFC 9040: window and threshold that the last connection to the destination left, or an equal share of the live windows",
            },
            Param {
                name: "max_age",
                kind: ParamKind::Time,
                default: "0 s",
                doc: "up to which age what a closed connection left counts; 0 s is any",
            },
        ],
    };
}
