//! A plan: how connections to a prefix start.

use firstflight_contract::Nanos;
use firstflight_paths::Prefix;
use serde::{Deserialize, Serialize};

use crate::connection::Arm;
use crate::serial;
use crate::settings::STOCK;

/// Start of new connections to the addresses of a prefix, until it expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The destinations.
    pub prefix: Prefix,
    /// First window of one connection alone, segments. The kernel divides it by the live connections of the prefix,
    /// the new one included, and gives no connection less than the stack's own window.
    pub window: u32,
    /// Slow-start threshold, segments; [`None`] leaves the stack's.
    pub ssthresh: Option<u32>,
    /// Segments of the first window in a round-trip time, divided like the window and at least as many; [`None`] leaves the
    /// stack's pace, on Linux twice the window.
    pub pace: Option<u32>,
    /// The plan is for handshakes between these round-trip times; others start as the stack starts them.
    #[serde(with = "serial::range")]
    pub rtt: (Nanos, Nanos),
    /// Time from which it is not used, `CLOCK_BOOTTIME`.
    #[serde(with = "serial::nanos")]
    pub expires: Nanos,
    /// Connections of a thousand that start as the stack starts them, to measure the plan's effect.
    pub holdout: u16,
}

/// Start of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its group in the trial, with its first window.
    pub arm: Arm,
    /// Segments of the first window in a round-trip time, at least the window; [`None`] leaves the stack's pace.
    pub pace: Option<u32>,
}

impl Start {
    /// As the stack starts a connection for which there is no plan.
    pub const STOCK: Self = Self { arm: Arm::Stock, pace: None };
}

impl Plan {
    /// Start that the kernel's program gives a connection under this plan, where `live` others of the prefix are live; `held_out`
    /// is the lot. The program of `firstflight_hooks` has the same rule; its tests hold the two to each other.
    pub fn start(&self, live: u32, held_out: bool) -> Start {
        if held_out {
            return Start { arm: Arm::Holdout, pace: None };
        }
        let sharing = live.saturating_add(1);
        let window = (self.window / sharing).max(STOCK);
        let pace = self.pace.map(|pace| pace / sharing).filter(|pace| (1..2 * window).contains(pace));
        let pace = pace.filter(|_| window > STOCK).map(|pace| pace.max(window));
        Start { arm: Arm::Planned(window), pace }
    }
}

/// Bounds that are fixed when the kernel's program is loaded. The program holds every plan to them, so that a
/// daemon that fails or is taken over cannot exceed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest first window, segments.
    pub window: u32,
    /// Whether plans may set the slow-start threshold.
    pub ssthresh: bool,
    /// Longest time for which a plan is used without a sign of life of the daemon.
    pub lease: Nanos,
    /// Least share of connections without a plan, of a thousand.
    pub holdout: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_connections_share_window_and_pace_and_no_pace_is_below_its_window() {
        let plan = |window, pace| Plan {
            prefix: "192.0.2.0/24".parse().expect("a prefix"),
            window,
            ssthresh: None,
            pace,
            rtt: (Nanos::ZERO, Nanos::NEVER),
            expires: Nanos::NEVER,
            holdout: 50,
        };
        let start = |window, pace, live| {
            let start = plan(window, pace).start(live, false);
            (start.arm.window(), start.pace)
        };
        assert_eq!(start(40, Some(60), 0), (40, Some(60)));
        assert_eq!(start(40, Some(60), 1), (20, Some(30)));
        // A third of 40 is 13, of 42 it is 14. A third of 39 is 13, and so is the pace.
        assert_eq!(start(40, Some(42), 2), (13, Some(14)));
        assert_eq!(start(40, Some(30), 2), (13, Some(13)));
        // Twice the window is Linux's own pace; a window of ten is Linux's own window.
        assert_eq!(start(40, Some(80), 0), (40, None));
        assert_eq!(start(40, Some(44), 3), (10, None));
        assert_eq!(start(40, None, 0), (40, None));
        assert_eq!(plan(40, Some(60)).start(0, true), Start { arm: Arm::Holdout, pace: None });
    }
}
