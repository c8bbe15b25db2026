//! More Informed Slow Start: I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 4.
//!
//! The threshold of LISS, and a first window from the times of earlier drops: the packets that fit before the next drop
//! is due (equation 5, in the plan). "the first cwnd packets are paced with the packet transmission rate cwnd/R."

use crate::startup::planned::{Follows, Planned};
use crate::{choice, scheme};
use firstflight_contract::{Role, Signals};

/// A paced first window that fits before the next drop, then slow start up to the fair share.
pub type Miss = Planned<Parameters>;

scheme! {
    impl Scheme for Miss {
        label: "miss",
        role: Role::Startup,
        source: "Yu, Newman 2011, section 4, equations (2) to (5)",
        summary: "a paced first window that fits before the next drop is due, then slow start up to the fair share",
        needs: Signals::PLAN.union(Signals::PACING),
    }

    pub struct Parameters {
        /// weight of an interval between drops of all connections, equation (3) (section 5)
        lambda: f64 in 0.0..=1.0 = 0.125,
        /// weight of an interval between drops of the oldest connection, equation (4) (section 5)
        theta: f64 in 0.0..=1.0 = 0.125,
        /// drops within an RTT that count as one event: those of one connection, or of all
        bursts: Bursts = Connection,
        /// the number of connections in equation (5): gamma/tau, or L + S/w_o of equation (2) (section 6)
        growth: Growth = Intervals,
        /// where the next drop is due within an RTT, send only what fits until then (section 6)
        short_burst: bool = false,
    }
}

choice! {
    /// Values of the parameter `bursts`.
    pub enum Bursts {
        /// Drops of one connection within an RTT.
        Connection = "connection",
        /// Drops of any connections of the cluster within an RTT.
        Cluster = "cluster",
    }
}

choice! {
    /// Values of the parameter `growth`.
    pub enum Growth {
        /// `gamma / tau`: drops of the cluster for each drop of its oldest connection.
        Intervals = "intervals",
        /// `L + S/w_o` of equation (2) (section 6).
        Windows = "windows",
    }
}

impl Follows for Parameters {
    const PACES: bool = true;
}
