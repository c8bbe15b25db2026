//! Whether a host draws random numbers for a scenario, answered by each of its parts.
//!
//! Fields and variants are all named, or declare it (`stack.rs`), so that the compiler asks for the answer of a new one. A property of the simulator's tests
//! holds the answers to runs: a scenario that draws nothing gives the same bytes under two seeds.

use crate::model::{
    Endpoints, FlowGroup, Graph, Interval, Link, Network, OnOff, Pages, Path, Queue, Reorder, Rounds,
    Scenario, Source, Start, UdpSource,
};
use crate::stack;
use firstflight_random::{Dist, Quantity};

/// A part of a scenario.
pub trait Draws {
    /// Whether runs under two seeds can differ by this part.
    fn draws(&self) -> bool;
}

impl<T: Draws> Draws for Option<T> {
    fn draws(&self) -> bool {
        self.as_ref().is_some_and(T::draws)
    }
}

impl<T: Draws> Draws for [T] {
    fn draws(&self) -> bool {
        self.iter().any(T::draws)
    }
}

impl<T: Quantity> Draws for Dist<T> {
    fn draws(&self) -> bool {
        match *self {
            Self::Fixed(_) => false,
            Self::Uniform(low, high) => low.real() != high.real(),
            Self::Exponential(mean) => mean.real() > 0.0,
            Self::Pareto { .. } | Self::ParetoII { .. } | Self::Lognormal { .. } => true,
        }
    }
}

impl Draws for Scenario {
    fn draws(&self) -> bool {
        let Self { title: _, duration: _, seed: _, network, packet: _, flows, udp } = self;
        network.draws() || flows.draws() || udp.draws()
    }
}

impl Draws for Network {
    fn draws(&self) -> bool {
        match self {
            Self::Dumbbell(path) => path.draws(),
            Self::Graph(Graph { nodes: _, links }) => links.draws(),
        }
    }
}

impl Draws for Path {
    #[rustfmt::skip]
    fn draws(&self) -> bool {
        let Self {
            rate: _, trace: _, rtt: _, buffer: _, queue, shaper: _, loss, loss_burst: _, drop: _, reorder,
            access_rate: _,
        } = self;
        queue.draws() || *loss > 0.0 || reorder.draws()
    }
}

impl Draws for Link {
    #[rustfmt::skip]
    fn draws(&self) -> bool {
        let Self {
            name: _, from: _, to: _, rate: _, trace: _, delay: _, cost: _, buffer: _, queue, shaper: _, loss,
            loss_burst: _, drop: _, reorder,
        } = self;
        queue.draws() || *loss > 0.0 || reorder.draws()
    }
}

impl Draws for Queue {
    fn draws(&self) -> bool {
        Self::draws(self)
    }
}

impl Draws for Reorder {
    fn draws(&self) -> bool {
        let Self { share, delay: _, burst: _ } = *self;
        share > 0.0
    }
}

impl Draws for FlowGroup {
    fn draws(&self) -> bool {
        self.start.draws()
            || self.size.draws()
            || self.lifetime.draws()
            || self.source.draws()
            || self.rounds.draws()
            || self.endpoints.draws()
            || stack::draws(self)
            || self.clock_phase().draws()
    }
}

impl Draws for Start {
    fn draws(&self) -> bool {
        match *self {
            Self::At(_) | Self::Every(_) => false,
            Self::Exponential(mean) => Dist::Exponential(mean).draws(),
            Self::Uniform(from, until) => Dist::Uniform(from, until).draws(),
        }
    }
}

impl Draws for Source {
    fn draws(&self) -> bool {
        match self {
            Self::Flow => false,
            Self::Telnet(Interval::Tcplib) => true,
            Self::Telnet(Interval::Law(law)) => law.draws(),
            Self::Web(pages) => pages.draws(),
        }
    }
}

impl Draws for Pages {
    fn draws(&self) -> bool {
        let Self { pages: _, page_gap, objects, object_gap, persistent: _ } = self;
        page_gap.draws() || objects.draws() || object_gap.draws()
    }
}

impl Draws for Rounds {
    fn draws(&self) -> bool {
        let Self { count, idle: _, jitter } = *self;
        count > 1 && jitter.real() > 0.0
    }
}

impl Draws for UdpSource {
    fn draws(&self) -> bool {
        let Self { name: _, rate: _, size: _, start: _, on_off, endpoints } = self;
        on_off.draws() || endpoints.draws()
    }
}

impl Draws for OnOff {
    fn draws(&self) -> bool {
        let Self { on, off } = self;
        on.draws() || off.draws()
    }
}

impl Draws for Endpoints {
    fn draws(&self) -> bool {
        match self {
            Self::Path(_) | Self::Nodes { .. } => false,
            Self::Pairs(pairs) => pairs.iter().any(|pair| *pair != pairs[0]),
        }
    }
}
