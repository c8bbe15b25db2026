//! Dumbbell topology: each flow has its own access links, and all share one bottleneck in each direction.

use crate::config::{LinkConfig, QueueConfig};
use firstflight_contract::{Nanos, Rate};

/// A dumbbell under construction. Half of the nominal propagation delay lies on the bottleneck; the rest of a
/// flow's delay is split evenly between its two access links, as in ns-2's reference runs.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// Links so far; the first two are the bottleneck, forward and reverse.
    pub links: Vec<LinkConfig>,
    access: Rate,
    bottleneck_delay: Nanos,
}

/// Forward and reverse path of one flow.
#[derive(Clone, Debug)]
pub struct Paths {
    /// From left to right.
    pub forward: Vec<usize>,
    /// From right to left.
    pub reverse: Vec<usize>,
}

impl Dumbbell {
    /// Creates a bottleneck of `rate` behind a queue in each direction, on a path of nominal two-way
    /// propagation `rtt`.
    pub fn new(rate: Rate, access: Rate, rtt: Nanos, forward: QueueConfig, reverse: QueueConfig) -> Self {
        let bottleneck_delay = Nanos(rtt.0 / 4);
        let link = |name: &str, queue| LinkConfig::new(name, rate, bottleneck_delay, queue);
        Self {
            links: vec![link("bottleneck", forward), link("bottleneck.reverse", reverse)],
            access,
            bottleneck_delay,
        }
    }

    /// Continues a dumbbell created by [`Dumbbell::new`] from its links.
    pub fn resume(links: Vec<LinkConfig>, access: Rate) -> Self {
        let bottleneck_delay = links[0].delay;
        Self { links, access, bottleneck_delay }
    }

    /// Adds access links for a flow of two-way propagation `rtt`, which must be at least half the nominal
    /// one, and returns its paths.
    pub fn attach(&mut self, name: &str, rtt: Nanos) -> Paths {
        let outside = Nanos(rtt.0 / 2).saturating_sub(self.bottleneck_delay);
        let near = Nanos(outside.0 / 2);
        let far = outside - near;
        let first = self.links.len();
        for (side, delay) in [("in", near), ("out", far), ("back-in", far), ("back-out", near)] {
            let name = format!("{name}.{side}");
            self.links.push(LinkConfig::new(name, self.access, delay, QueueConfig::Unlimited));
        }
        Paths { forward: vec![first, 0, first + 1], reverse: vec![first + 2, 1, first + 3] }
    }
}
