//! A plan: how connections to a prefix start.

use firstflight_contract::Nanos;
use firstflight_paths::Prefix;
use serde::{Deserialize, Serialize};

use crate::connection::Arm;
use crate::serial;
use crate::settings::STOCK;

/// How new connections to the addresses of a prefix start, until it expires.
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

impl Plan {
    /// How the kernel's program starts a connection under this plan, where `live` others of the prefix are live; `held_out`
    /// is the lot. The program of `firstflight_hooks` has the same rule.
    pub fn arm(&self, live: u32, held_out: bool) -> Arm {
        match held_out {
            true => Arm::Holdout,
            false => Arm::Planned((self.window / live.saturating_add(1)).max(STOCK)),
        }
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
