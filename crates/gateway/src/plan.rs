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
    /// Largest first window, segments.
    pub window: u32,
    /// Segments that the path holds, of all connections of the prefix together, at least the window. A connection gets what the
    /// others have not in flight of it, and never less than the stack's own window.
    pub path: u32,
    /// Slow-start threshold, segments; [`None`] leaves the stack's.
    pub ssthresh: Option<u32>,
    /// Whether the first window leaves at what is free of the path in a round-trip time, at least the window. Otherwise it leaves at
    /// the stack's pace, on Linux twice the window.
    pub paced: bool,
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
    /// Start that the kernel's program gives a connection under this plan. Other connections of the prefix have `in_flight`
    /// segments in flight. `held_out`: whether the connection was drawn for the group without a plan. The program of
    /// `firstflight_hooks` has the same rule; its tests hold the two to each other.
    pub fn start(&self, in_flight: u32, held_out: bool) -> Start {
        let free = self.path.saturating_sub(in_flight);
        let window = match free {
            _ if free >= self.window => self.window,
            // Less than twice the stack's window saves no round trip, and joins segments that fill the path already.
            _ if free < 2 * STOCK => STOCK,
            _ => free,
        };
        if held_out {
            return Start { arm: Arm::Holdout(window), pace: None };
        }
        let pace = self.paced.then(|| free.max(window));
        let pace = pace.filter(|pace| window > STOCK && *pace < 2 * window);
        Start { arm: Arm::Planned(window), pace }
    }

    /// The round-trip times of its handshakes in words.
    pub fn round_trips(&self) -> String {
        let millis = |time: Nanos| format!("{:.1}", time.0 as f64 / 1e6);
        match self.rtt {
            (Nanos::ZERO, Nanos::NEVER) => "round trips of any length".to_owned(),
            (low, Nanos::NEVER) => format!("round trips from {} ms", millis(low)),
            (low, high) => format!("round trips from {} to {} ms", millis(low), millis(high)),
        }
    }

    /// Segments of the first window of a connection alone in a round-trip time; [`None`] for the stack's pace.
    pub fn pace(&self) -> Option<u32> {
        self.paced.then(|| self.path.max(self.window))
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
    fn a_bound_that_no_round_trip_reaches_is_no_number() {
        let plan = |low, high| Plan {
            prefix: "192.0.2.0/24".parse().expect("a prefix"),
            window: 20,
            path: 20,
            ssthresh: None,
            paced: false,
            rtt: (low, high),
            expires: Nanos::NEVER,
            holdout: 50,
        };
        let half = Nanos(500_000);
        assert_eq!(plan(Nanos::ZERO, Nanos::NEVER).round_trips(), "round trips of any length");
        assert_eq!(plan(half, Nanos::NEVER).round_trips(), "round trips from 0.5 ms");
        assert_eq!(plan(half, Nanos::from_millis(40)).round_trips(), "round trips from 0.5 to 40.0 ms");
    }

    #[test]
    fn a_connection_gets_what_others_leave_free_of_the_path_and_no_pace_is_below_its_window() {
        let plan = |window, path, paced| Plan {
            prefix: "192.0.2.0/24".parse().expect("a prefix"),
            window,
            path,
            ssthresh: None,
            paced,
            rtt: (Nanos::ZERO, Nanos::NEVER),
            expires: Nanos::NEVER,
            holdout: 50,
        };
        let start = |path, paced, in_flight| {
            let start = plan(40, path, paced).start(in_flight, false);
            (start.arm.window(), start.pace)
        };
        assert_eq!(start(60, true, 0), (40, Some(60)));
        // 60 - 15 = 45 are free, then 60 - 20 = 40, then 60 - 33 = 27.
        assert_eq!(start(60, true, 15), (40, Some(45)));
        assert_eq!(start(60, true, 20), (40, Some(40)));
        assert_eq!(start(60, true, 33), (27, Some(27)));
        // Less than twenty are no plan; a plan for less than twenty is one.
        assert_eq!([start(60, true, 40), start(60, true, 41)], [(20, Some(20)), (10, None)]);
        assert_eq!(plan(15, 15, true).start(0, false), Start { arm: Arm::Planned(15), pace: Some(15) });
        assert_eq!(plan(15, 15, true).start(1, false), Start { arm: Arm::Planned(10), pace: None });
        // A window of ten is Linux's own window, however little is free.
        assert_eq!([50, 60, 1000].map(|in_flight| start(60, true, in_flight)), [(10, None); 3]);
        // Twice the window is Linux's own pace.
        assert_eq!([start(80, true, 0), start(79, true, 0)], [(40, None), (40, Some(79))]);
        assert_eq!([start(60, false, 0), start(60, false, 33)], [(40, None), (27, None)]);
        // A held-out connection is denied the window that it would have got.
        assert_eq!(plan(40, 60, true).start(33, true), Start { arm: Arm::Holdout(27), pace: None });
    }
}
