//! The fair share of a new connection: I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks
//! 55 (2011), section 3.

use firstflight_contract::{Plan, mul_div};

use crate::{Cluster, Connection, Transfer};

/// Terms of equation (2).
pub(crate) struct Fair<'a> {
    /// The oldest connection in congestion avoidance.
    pub(crate) oldest: &'a Connection,
    /// Its window or an average of it, bytes; not zero.
    w_o: u64,
    /// Number of connections in congestion avoidance.
    l: u32,
    /// Number of connections in slow start.
    m: u32,
    /// Sum of the windows in slow start, bytes.
    s: u64,
}

impl<'a> Fair<'a> {
    /// `window` gives `w_o` for the oldest connection in congestion avoidance. [`None`] without such a connection, or if
    /// `w_o` is zero: equation (2) is then undefined.
    pub(crate) fn of(cluster: &'a Cluster, window: impl Fn(&Connection) -> u64) -> Option<Self> {
        let oldest = cluster.oldest_avoiding()?;
        let (l, m, s) = (cluster.avoiding(), cluster.starting(), cluster.starting_cwnd());
        Some(Self { oldest, w_o: window(oldest), l, m, s }).filter(|fair| fair.w_o > 0)
    }

    /// `s_n`, bytes.
    pub(crate) fn share(&self) -> u64 {
        // (2): s_n = (S + L w_o) / (L + S/w_o + 1), both sides of the fraction times w_o.
        let windows = self.s + u64::from(self.l) * self.w_o;
        mul_div(windows, self.w_o, windows + self.w_o)
    }

    /// `L + S/w_o`: the number of steady connections to which the windows amount.
    pub(crate) fn connections(&self) -> f64 {
        f64::from(self.l) + self.s as f64 / self.w_o as f64
    }

    /// A plan with this share as threshold.
    pub(crate) fn plan(&self, transfer: &Transfer) -> Plan {
        Plan {
            cwnd: 0,
            ssthresh: self.share(),
            rtt: if transfer.rtt.0 > 0 { transfer.rtt } else { self.oldest.srtt },
            age: transfer.now.saturating_sub(self.oldest.seen),
            samples: u64::from(self.l) + u64::from(self.m),
        }
    }
}
