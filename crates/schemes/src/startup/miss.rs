//! More Informed Slow Start: I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 4.
//!
//! The threshold of LISS, and a first window from the times of earlier drops: what may be added before the next one is due
//! (equation 5, in the plan). "the first cwnd packets are paced with the packet transmission rate cwnd/R."

use crate::scheme::{Info, Param, ParamKind};
use crate::startup::planned::Follows;
use firstflight_contract::{Role, Signals};

/// A paced first window that fits before the next drop, then slow start up to the fair share.
#[derive(Clone, Debug, Default)]
pub struct Miss;

impl Follows for Miss {
    const INFO: Info = Info {
        label: "miss",
        role: Role::Startup,
        source: "Yu, Newman 2011, section 4, equations (2) to (5)",
        summary: "a paced first window that fits before the next drop is due, then slow start up to the fair share",
        needs: Signals::PLAN.and(Signals::PACING),
        params: &[
            Param {
                name: "lambda",
                kind: ParamKind::Number { min: 0.0, max: 1.0 },
                default: "0.125",
                doc: "weight of an interval between drops of all connections, equation (3) (section 5)",
            },
            Param {
                name: "theta",
                kind: ParamKind::Number { min: 0.0, max: 1.0 },
                default: "0.125",
                doc: "weight of an interval between drops of the oldest connection, equation (4) (section 5)",
            },
            Param {
                name: "bursts",
                kind: ParamKind::Choice(&["connection", "cluster"]),
                default: "connection",
                doc: "drops within an RTT that are one event: those of one connection, or of all",
            },
            Param {
                name: "growth",
                kind: ParamKind::Choice(&["intervals", "windows"]),
                default: "intervals",
                doc: "the number of connections in equation (5): gamma/tau, or L + S/w_o of equation (2) (section 6)",
            },
            Param {
                name: "short_burst",
                kind: ParamKind::Flag,
                default: "false",
                doc: "where the next drop is due within an RTT, send only what fits until then (section 6)",
            },
        ],
    };
}
