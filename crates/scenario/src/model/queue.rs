//! Queueing disciplines and their parameters.

use firstflight_contract::Nanos;

/// A queueing discipline.
#[derive(Clone, Debug, PartialEq)]
pub enum Queue {
    /// First in, first out, and what finds no room is dropped.
    DropTail,
    /// Random early detection.
    Red(Red),
    /// As drop-tail, but droppable packets are dropped first.
    Priority,
    /// RED, before which a packet is compared with another one.
    Choke(Red),
    /// Controlled delay.
    Codel(Codel),
    /// Flow queues under controlled delay.
    FqCodel(FqCodel),
    /// First in, first out, at a router that takes part in congestion control.
    Router(Router),
}

/// A router that takes part in congestion control, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Router {
    /// It grants the rates that opening packets ask for (RFC 4782).
    QuickStart {
        /// Share of the link in use below which something is granted.
        threshold: f64,
        /// Share of the link up to which it is granted.
        share: f64,
    },
    /// It says by how much windows are to change (XCP).
    Xcp {
        /// Share of the spare bandwidth handed out in a round trip.
        alpha: f64,
        /// Share of the standing queue taken back in a round trip.
        beta: f64,
        /// Share of the traffic that changes hands in a round trip.
        gamma: f64,
    },
    /// It says how loaded it is (VCP).
    Vcp {
        /// Share of the link that is to be used.
        target: f64,
    },
}

impl Router {
    /// The router of this label, with the parameters its source gives.
    pub fn by_label(label: &str) -> Option<Self> {
        match label {
            "quick-start" => Some(Self::QuickStart { threshold: 0.85, share: 0.85 }),
            "xcp" => Some(Self::Xcp { alpha: 0.4, beta: 0.226, gamma: 0.1 }),
            "vcp" => Some(Self::Vcp { target: 0.98 }),
            _ => None,
        }
    }

    /// Its label.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::QuickStart { .. } => "quick-start",
            Self::Xcp { .. } => "xcp",
            Self::Vcp { .. } => "vcp",
        }
    }

    /// Its parameters by name.
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
    /// The standing wait that is acceptable.
    pub target: Nanos,
    /// How long a wait must last to be a standing one.
    pub interval: Nanos,
    /// Mark instead of dropping where the wait, not the room, decides.
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
    /// Of each queue.
    pub codel: Codel,
    /// Bytes that a queue may send in its turn.
    pub quantum: u64,
    /// How many queues flows are spread over.
    pub flows: u32,
}

impl FqCodel {
    /// The settings of RFC 8290, sections 5.2.4 and 5.2.5.
    pub const STANDARD: Self = Self { codel: Codel::STANDARD, quantum: 1514, flows: 1024 };
}

/// Random early detection, in packet mode: the average queue is counted in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// Average queue from which packets are dropped or marked, packets.
    pub min: f64,
    /// Average queue at which the chance reaches `max_p`, packets.
    pub max: f64,
    /// Weight of a new sample in the average.
    pub weight: f64,
    /// Chance at `max`.
    pub max_p: f64,
    /// Beyond `max` the chance rises to 1 at twice `max`, instead of at once.
    pub gentle: bool,
    /// Mark instead of dropping where the chance, not the room, decides.
    pub ecn: bool,
}

impl Red {
    /// The usual settings on a path that holds `bdp` packets: thresholds of 0.1 and 0.3 BDP, gentle.
    pub const fn for_bdp(bdp: f64) -> Self {
        Self { min: 0.1 * bdp, max: 0.3 * bdp, weight: 0.002, max_p: 0.1, gentle: true, ecn: false }
    }
}
