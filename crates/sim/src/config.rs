//! What is simulated: links, and flows over paths of them.

use crate::receiver::AckPolicy;
use crate::sender::app::AppConfig;
use crate::sender::stack::Stack;
use firstflight_contract::{Nanos, Rate};
use firstflight_host::chain::Chain;
use firstflight_net::queue::Room;
use firstflight_net::queue::codel::CodelConfig;
use firstflight_net::queue::fq_codel::FqCodelConfig;
use firstflight_net::queue::red::RedConfig;
use firstflight_net::router::RouterConfig;
use firstflight_net::trace::Trace;
use firstflight_paths::Policy;
use firstflight_schemes::registry::AnyPhase;
use std::sync::Arc;

/// A network and its traffic.
#[derive(Clone, Debug)]
pub struct Network {
    /// Unidirectional links.
    pub links: Vec<LinkConfig>,
    /// TCP connections.
    pub flows: Vec<FlowConfig>,
    /// Constant-rate sources.
    pub udp: Vec<UdpConfig>,
    /// Names every random stream of the run.
    pub seed: u64,
    /// The run ends here.
    pub end: Nanos,
    /// The run also ends once every finite flow has finished.
    pub until_finished: bool,
    /// Delivery is recorded at multiples of this since each flow's start.
    pub grid: Nanos,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Its name in results; also names its random streams.
    pub name: String,
    /// Bits per second; the mean where there is a trace.
    pub rate: Rate,
    /// What the rate is, where it changes with time.
    pub trace: Option<Arc<Trace>>,
    /// Propagation, one way.
    pub delay: Nanos,
    /// The queue in front of it.
    pub queue: QueueConfig,
    /// Probability that a packet is lost on the wire.
    pub loss: f64,
    /// Times, ascending, by which results also tell what it had counted.
    pub read_at: Vec<Nanos>,
}

impl LinkConfig {
    /// A link of constant rate that loses nothing on the wire.
    pub fn new(name: impl Into<String>, rate: Rate, delay: Nanos, queue: QueueConfig) -> Self {
        Self { name: name.into(), rate, trace: None, delay, queue, loss: 0.0, read_at: vec![] }
    }
}

/// A queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueConfig {
    /// No limit.
    Unlimited,
    /// Drop-tail of this many waiting packets.
    Packets(u32),
    /// Drop-tail of this many waiting bytes.
    Bytes(u64),
    /// Random early detection.
    Red(RedConfig),
    /// A router that takes part in congestion control, with room for so much.
    Router(RouterConfig, Room),
    /// Drop-tail that drops droppable packets first.
    Priority(Room),
    /// RED before which packets are compared.
    Choke(RedConfig),
    /// Controlled delay.
    Codel(CodelConfig, Room),
    /// Flow queues under controlled delay.
    FqCodel(FqCodelConfig),
}

impl QueueConfig {
    /// Whether packets are kept until the link is free, and only then it is known what becomes of them.
    pub fn holds(&self) -> bool {
        matches!(self, Self::Priority(_) | Self::Choke(_) | Self::Codel(..) | Self::FqCodel(_))
    }
}

/// A TCP connection.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Its name in results.
    pub name: String,
    /// Links from sender to receiver, by index.
    pub forward: Vec<usize>,
    /// Links from receiver to sender.
    pub reverse: Vec<usize>,
    /// The sender's rules.
    pub stack: Stack,
    /// The schemes it runs.
    pub chain: Chain<AnyPhase>,
    /// What ties it to other connections.
    pub sharing: Sharing,
    /// What its application does.
    pub app: AppConfig,
    /// Header bytes of a data packet on the wire.
    pub header: u32,
    /// Bytes of an ACK on the wire without SACK blocks; each adds eight.
    pub ack_size: u16,
    /// When its receiver acknowledges.
    pub ack_policy: AckPolicy,
}

/// What ties a connection to others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sharing {
    /// Connections of equal number share a bottleneck: what they know, and a window if their schemes ask for one.
    pub cluster: u32,
    /// Connections of equal number go to the same host.
    pub destination: u32,
    /// How what others know becomes a plan, where the connection's scheme follows one.
    pub policy: Option<Policy>,
}

/// A source of equal packets at a constant rate while it is on.
#[derive(Clone, Debug)]
pub struct UdpConfig {
    /// Its name in results.
    pub name: String,
    /// Links to its sink.
    pub path: Vec<usize>,
    /// Bytes of a packet on the wire.
    pub size: u16,
    /// Rate while on.
    pub rate: Rate,
    /// When it is on: sorted, disjoint, from and until.
    pub on: Vec<(Nanos, Nanos)>,
}
