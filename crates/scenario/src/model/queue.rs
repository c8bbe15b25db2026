//! Queueing disciplines and their parameters.

use firstflight_contract::{Nanos, Rate};

/// A queueing discipline.
#[derive(Clone, Debug, PartialEq)]
pub enum Queue {
    /// First in, first out; a packet that finds no room is dropped.
    DropTail,
    /// Random early detection.
    Red(Red),
    /// Drop-tail that drops droppable packets first.
    Priority,
    /// RED, after a comparison of each packet with a waiting one.
    Choke(Red),
    /// Controlled delay.
    Codel(Codel),
    /// A queue for each flow under controlled delay.
    FqCodel(FqCodel),
    /// First in, first out, behind a token-bucket policer.
    Policer(Policer),
    /// First in, first out, at a router that takes part in congestion control.
    Router(Router),
}

impl Queue {
    /// Label.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::DropTail => "drop-tail",
            Self::Red(_) => "red",
            Self::Priority => "priority",
            Self::Choke(_) => "choke",
            Self::Codel(_) => "codel",
            Self::FqCodel(_) => "fq-codel",
            Self::Policer(_) => "policer",
            Self::Router(router) => router.label(),
        }
    }
}

/// A router that takes part in congestion control, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Router {
    /// The router grants the rates that SYN packets request (RFC 4782).
    QuickStart {
        /// Share of the link in use below which a rate is granted.
        threshold: f64,
        /// Share of the link up to which rates are granted.
        share: f64,
    },
    /// The router sends each flow the change of its window (XCP).
    Xcp {
        /// Share of the spare bandwidth that a round trip distributes.
        alpha: f64,
        /// Share of the standing queue that a round trip removes.
        beta: f64,
        /// Share of the traffic that a round trip redistributes.
        gamma: f64,
    },
    /// The router signals its load (VCP).
    Vcp {
        /// Share of the link that is to be used.
        target: f64,
    },
}

impl Router {
    /// The router of this label, with the parameters of its source.
    pub fn by_label(label: &str) -> Option<Self> {
        match label {
            "quick-start" => Some(Self::QuickStart { threshold: 0.85, share: 0.85 }),
            "xcp" => Some(Self::Xcp { alpha: 0.4, beta: 0.226, gamma: 0.1 }),
            "vcp" => Some(Self::Vcp { target: 0.98 }),
            _ => None,
        }
    }

    /// Label.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::QuickStart { .. } => "quick-start",
            Self::Xcp { .. } => "xcp",
            Self::Vcp { .. } => "vcp",
        }
    }

    /// Parameters by name.
    pub fn params(&mut self) -> Vec<(&'static str, &mut f64)> {
        match self {
            Self::QuickStart { threshold, share } => vec![("threshold", threshold), ("share", share)],
            Self::Xcp { alpha, beta, gamma } => vec![("alpha", alpha), ("beta", beta), ("gamma", gamma)],
            Self::Vcp { target } => vec![("utilization", target)],
        }
    }
}

/// Controlled delay (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codel {
    /// Acceptable standing waiting time.
    pub target: Nanos,
    /// Time for which waits must exceed `target`.
    pub interval: Nanos,
    /// Packets are marked instead of dropped, except if there is no room.
    pub ecn: bool,
}

impl Codel {
    /// The settings of RFC 8289, section 4.
    pub const STANDARD: Self =
        Self { target: Nanos::from_millis(5), interval: Nanos::from_millis(100), ecn: false };
}

/// Flow queues under controlled delay (RFC 8290).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodel {
    /// Controlled delay of each queue.
    pub codel: Codel,
    /// Bytes that a queue sends in its turn.
    pub quantum: u64,
    /// Number of queues.
    pub flows: u32,
}

impl FqCodel {
    /// The settings of RFC 8290, sections 5.2.4 and 5.2.5.
    pub const STANDARD: Self = Self { codel: Codel::STANDARD, quantum: 1514, flows: 1024 };
}

/// A token-bucket policer (RFC 2697 with one rate and no excess burst): a packet without enough tokens is dropped. The bucket
/// is full at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policer {
    /// Rate at which tokens accrue.
    pub rate: Rate,
    /// Size of the bucket, bytes; at least one full packet.
    pub burst: u64,
}

/// A token-bucket shaper (`tc-tbf(8)` of Linux, without a peak rate): the first waiting packet leaves when the bucket has
/// a token for each of its bytes. The bucket is full at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// Rate at which tokens accrue.
    pub rate: Rate,
    /// Size of the bucket, bytes; at least one full packet.
    pub burst: u64,
}

/// Two lanes behind a line: packets on the slower one are overtaken by those that follow within `delay`. Each lane keeps its
/// order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// Share of the packets that take the slower lane, below 1.
    pub share: f64,
    /// Time that the slower lane takes longer.
    pub delay: Nanos,
    /// Mean number of packets in a run on the slower lane; 1 for independent choices.
    pub burst: f64,
}

/// Random early detection: the average queue is counted in packets, or in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// Average queue from which packets are dropped or marked, packets.
    pub min: f64,
    /// Average queue at which the probability is `max_p`, packets.
    pub max: f64,
    /// Weight of a new sample in the average.
    pub weight: f64,
    /// Probability at `max`.
    pub max_p: f64,
    /// Beyond `max` the probability rises to 1 at twice `max`, instead of at once.
    pub gentle: bool,
    /// Packets are marked instead of dropped, except if there is no room.
    pub ecn: bool,
    /// Byte mode: mean size of a packet, bytes. Thresholds and the buffer count packets of this size. `None` is packet mode.
    pub mean_packet: Option<u32>,
}

impl Red {
    /// Default settings on a path with a bandwidth-delay product of `bdp` packets: thresholds of 0.1 and 0.3 BDP, gentle.
    pub(crate) const fn for_bdp(bdp: f64) -> Self {
        Self {
            min: 0.1 * bdp,
            max: 0.3 * bdp,
            weight: 0.002,
            max_p: 0.1,
            gentle: true,
            ecn: false,
            mean_packet: None,
        }
    }
}
