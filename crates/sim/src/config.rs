//! Configuration of a simulation: links, and flows over paths of links.

use crate::alike::Alike;
use crate::receiver::AckPolicy;
use crate::sender::app::AppConfig;
use crate::sender::stack::Stack;
use core::ops::{Deref, DerefMut};
use firstflight_contract::{Nanos, Rate};
use firstflight_host::chain::Chain;
use firstflight_net::lanes::LanesConfig;
pub use firstflight_net::queue::QueueConfig;
use firstflight_net::rate_trace::RateTrace;
use firstflight_net::serialisation::transmission;
use firstflight_net::token_bucket::BucketConfig;
use firstflight_paths::Policy;
use firstflight_schemes::registry::AnyPhase;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

/// A network and its traffic.
#[derive(Clone, Debug)]
pub struct Network {
    /// Unidirectional links.
    pub links: Vec<LinkConfig>,
    /// TCP connections.
    pub flows: Vec<FlowConfig>,
    /// Constant-rate sources.
    pub udp: Vec<UdpConfig>,
    /// Seed; together with names it selects every random stream of the run.
    pub seed: u64,
    /// End of the run.
    pub end: Nanos,
    /// Whether the run also ends once every finite flow has finished.
    pub until_finished: bool,
    /// Interval, counted from each flow's start, at which delivery is recorded.
    pub grid: Nanos,
    /// Limit of the recorded deliveries of each flow. Recording stops one beyond it.
    pub grid_points: u64,
    /// Ends the run soon after it becomes true; the outcome is then of no use. `None` runs to the end.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Network {
    /// Minimum time, nanoseconds, for a packet of `size` bytes to cross the links of `path`: all queues are empty.
    pub(crate) fn crossing(&self, path: &[usize], size: u32) -> u64 {
        path.iter().map(|&link| &self.links[link]).map(|link| link.delay.0 + link.least(size)).sum()
    }
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Name in results, and in the names of its random streams.
    pub name: String,
    /// Rate; the mean rate if there is a trace.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Nanos,
    /// All else, which the access links of a run have alike.
    pub kind: Alike<LinkKind>,
}

/// A link without its name, rate and delay. The fields are read and set as fields of [`LinkConfig`].
#[derive(Clone, Debug, PartialEq)]
pub struct LinkKind {
    /// Time-varying rate, if any.
    pub trace: Option<Arc<RateTrace>>,
    /// Queue in front of the link.
    pub queue: QueueConfig,
    /// Token bucket for which the packets of the queue wait, if any; the queue must decide on arrival.
    pub shaper: Option<BucketConfig>,
    /// Share of the packets that are lost on the wire.
    pub loss: f64,
    /// Mean number of packets in a run of such losses; 1 for independent losses.
    pub loss_burst: f64,
    /// Numbers of the packets with data of each flow that are lost on the wire, ascending: see [`firstflight_net::chosen`].
    pub drop: Arc<[u32]>,
    /// Lanes behind the line, if packets overtake each other.
    pub lanes: Option<LanesConfig>,
    /// Ascending times at which results also report the counters.
    pub read_at: Vec<Nanos>,
}

impl Deref for LinkConfig {
    type Target = LinkKind;

    fn deref(&self) -> &LinkKind {
        &self.kind
    }
}

impl DerefMut for LinkConfig {
    fn deref_mut(&mut self) -> &mut LinkKind {
        &mut self.kind
    }
}

impl From<QueueConfig> for LinkKind {
    /// Of constant rate, without loss on the wire.
    fn from(queue: QueueConfig) -> Self {
        Self {
            trace: None,
            queue,
            shaper: None,
            loss: 0.0,
            loss_burst: 1.0,
            drop: Arc::default(),
            lanes: None,
            read_at: vec![],
        }
    }
}

impl LinkConfig {
    /// Minimum time, nanoseconds, from the arrival of a packet of `size` bytes to the end of its transmission.
    pub(crate) fn least(&self, size: u32) -> u64 {
        self.trace.as_ref().map_or_else(|| transmission(self.rate, size), |trace| trace.least(size))
    }

    /// One-way delay of the slower lane, or of all packets where they keep their order.
    pub fn longest_delay(&self) -> Nanos {
        self.delay.saturating_add(self.lanes.map_or(Nanos::ZERO, |lanes| lanes.delay))
    }

    /// Creates a link of constant rate without loss on the wire.
    pub fn new(name: impl Into<String>, rate: Rate, delay: Nanos, queue: QueueConfig) -> Self {
        static ACCESS: LazyLock<Alike<LinkKind>> =
            LazyLock::new(|| LinkKind::from(QueueConfig::Unlimited).into());
        let kind = match queue {
            QueueConfig::Unlimited => ACCESS.clone(),
            queue => LinkKind::from(queue).into(),
        };
        Self { name: name.into(), rate, delay, kind }
    }
}

/// A TCP connection.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Name in results.
    pub name: String,
    /// Links from sender to receiver, by index.
    pub forward: Vec<usize>,
    /// Links from receiver to sender.
    pub reverse: Vec<usize>,
    /// Configuration of the sender.
    pub stack: Alike<Stack>,
    /// Congestion control schemes of the sender.
    pub chain: Alike<Chain<AnyPhase>>,
    /// Relations to other connections.
    pub sharing: Sharing,
    /// Behaviour of the application.
    pub app: AppConfig,
    /// Header bytes of a data packet on the wire.
    pub header: u32,
    /// Size of an ACK on the wire without SACK blocks, bytes; each block adds eight.
    pub ack_size: u16,
    /// ACK policy of the receiver.
    pub ack_policy: AckPolicy,
}

/// Relations of a connection to others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sharing {
    /// Connections with the same number share a bottleneck: their measurements, and one window if their
    /// schemes request it.
    pub cluster: u32,
    /// Connections with the same number have the same destination host.
    pub destination: u32,
    /// Policy that turns shared measurements into a start plan, if the scheme follows one.
    pub policy: Option<Policy>,
}

/// A source of packets of equal size at a constant rate during its on-periods.
#[derive(Clone, Debug, PartialEq)]
pub struct UdpConfig {
    /// Name in results.
    pub name: String,
    /// Links from the source to the sink.
    pub path: Vec<usize>,
    /// Bytes of a packet on the wire.
    pub size: u16,
    /// Rate while on.
    pub rate: Rate,
    /// On-periods, start and end: sorted and disjoint.
    pub on: Vec<(Nanos, Nanos)>,
}
