//! Packets that overtake each other, as a property that every kind of path may have: a nuisance beside the kind, proposed where
//! the capture shows it.
//!
//! The candidate's bottleneck has two lanes behind its line (`firstflight_net::lanes`). The share of the packets on the slower
//! one and its further delay are two parameters more, with the packets that the capture saw overtaken as their scale.

use firstflight_capture::Connection;
use firstflight_contract::Nanos;
use firstflight_scenario::{Network, Reorder, Scenario};

use super::range::Range;

/// Number of parameters.
pub(super) const PARAMETERS: usize = 2;

/// Scales of the two lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    /// Share of the packets that were overtaken.
    pub(super) share: f64,
    /// Longest time by which one of them came after a later one, seconds.
    pub(super) late: f64,
}

impl Lanes {
    /// Scales from the connections that show enough overtaken packets; `None` if none does.
    pub(super) fn of(connections: &[&Connection]) -> Option<Self> {
        let seen = || connections.iter().filter(|one| one.shows_reordering()).map(|one| &one.observed);
        let packets: u64 = seen().map(|one| one.packets).sum();
        let overtaken: u64 = seen().filter_map(|one| Some(one.reordering.as_ref()?.packets)).sum();
        let late = seen().filter_map(|one| Some(one.reordering.as_ref()?.late_s.1)).max_by(f64::total_cmp)?;
        Some(Self { share: overtaken as f64 / packets.max(1) as f64, late: late.max(1e-6) })
    }

    /// Prior ranges: the share on the slower lane, and its further delay in seconds. More packets take the lane than are
    /// overtaken, since one that no other follows soon is not, and behind a loss none count. A packet is late by the delay less
    /// its distance to the next one.
    pub(super) fn ranges(&self) -> [Range; PARAMETERS] {
        let most = (20.0 * self.share).clamp(self.share, 0.9);
        [
            Range::new(self.share / 3.0, most).around(Some((1.2 * self.share, 0.3))),
            Range::new(self.late / 3.0, 5.0 * self.late).around(Some((1.1 * self.late, 0.2))),
        ]
    }
}

#[cfg(test)]
impl Lanes {
    /// Scales of a simulated transfer of `packets` with this summary.
    pub(super) fn of_summary(summary: &firstflight_capture::summary::Summary, packets: f64) -> Option<Self> {
        let count = summary.get("overtaken packets") * summary.get("overtaken packets");
        let late = libm::exp(summary.get("overtaken by, time, 90 %"));
        (count > 2.5).then_some(Self { share: count / packets, late })
    }
}

/// Share of the packets on the slower lane, and its delay in seconds.
pub(super) type Pair = [f64; PARAMETERS];

/// The lanes of these values.
pub(super) fn lanes([share, delay]: Pair) -> Reorder {
    let delay = Nanos((delay * 1e9).round().max(1.0) as u64);
    Reorder { share: share.min(0.99), delay, burst: 1.0 }
}

/// Adds them to the bottleneck, the first link of a candidate's `scenario`.
pub(super) fn add(scenario: &mut Scenario, values: Pair) {
    if let Network::Graph(graph) = &mut scenario.network
        && let Some(bottleneck) = graph.links.first_mut()
    {
        bottleneck.reorder = Some(lanes(values));
    }
}
