//! The dumbbell: every flow has its own access links, all share one bottleneck each way.

use crate::config::{LinkConfig, QueueConfig};
use firstflight_contract::{Nanos, Rate};

/// A dumbbell under construction. A flow's propagation delay is split as ns-2's reference runs split it: half
/// of the nominal path's lies on the bottleneck, the rest evenly on the flow's two access links.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// The links so far; the first two are the bottleneck, forward and reverse.
    pub links: Vec<LinkConfig>,
    access: Rate,
    bottleneck_delay: Nanos,
}

/// Links from one end to the other and back.
#[derive(Clone, Debug)]
pub struct Paths {
    /// From left to right.
    pub forward: Vec<usize>,
    /// From right to left.
    pub reverse: Vec<usize>,
}

impl Dumbbell {
    /// A bottleneck of `rate` behind `queue` both ways, on a path of nominal two-way propagation `rtt`.
    pub fn new(rate: Rate, access: Rate, rtt: Nanos, forward: QueueConfig, reverse: QueueConfig) -> Self {
        let bottleneck_delay = Nanos(rtt.0 / 4);
        let link = |name: &str, queue| LinkConfig::new(name, rate, bottleneck_delay, queue);
        Self {
            links: vec![link("bottleneck", forward), link("bottleneck.reverse", reverse)],
            access,
            bottleneck_delay,
        }
    }

    /// Goes on with the links of a dumbbell begun by [`Dumbbell::new`].
    pub fn resume(links: Vec<LinkConfig>, access: Rate) -> Self {
        let bottleneck_delay = links[0].delay;
        Self { links, access, bottleneck_delay }
    }

    /// Paths of two-way propagation `rtt`, at least half the nominal one, through access links of their own.
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
