//! What an experiment is once its file has been read: plain values, every default filled in, every quantity in
//! base units.
//!
//! Windows and transfer sizes are bytes of payload, as in [`firstflight_control::contract`]; packet sizes are
//! bytes on the wire. Nothing here is drawn at random: a distribution is its parameters, and the host draws.

use firstflight_control::units::{Nanos, Rate};

use crate::dist::Dist;
use crate::profile::Profile;
use crate::scheme::SchemeSpec;
use crate::trace::LinkTrace;

/// One experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// For people; empty if not given.
    pub title: String,
    /// When to stop; without it, once every flow has finished.
    pub duration: Option<Nanos>,
    /// What every random stream of the run derives from.
    pub seed: u64,
    /// What the traffic crosses.
    pub network: Network,
    /// Packet sizes on the wire.
    pub packet: Packet,
    /// TCP traffic, one entry for each `[[flow]]`, in file order.
    pub flows: Vec<FlowGroup>,
    /// Cross traffic without congestion control, in file order.
    pub udp: Vec<UdpSource>,
}

/// Packet sizes on the wire, headers included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// A full data packet, bytes.
    pub size: u32,
    /// An ACK, bytes; without it, the headers of the flow's profile.
    pub ack_size: Option<u32>,
}

impl Packet {
    /// Payload bytes of a full packet of a flow of `profile`.
    pub const fn payload(&self, profile: Profile) -> u32 {
        self.size - profile.stack().header
    }

    /// Bytes on the wire of an ACK to a flow of `profile`.
    pub const fn ack(&self, profile: Profile) -> u32 {
        match self.ack_size {
            Some(size) => size,
            None => profile.stack().header,
        }
    }
}

/// What the traffic crosses.
#[derive(Clone, Debug, PartialEq)]
pub enum Network {
    /// `[path]`: one bottleneck in each direction, every flow with access links of its own.
    Dumbbell(Path),
    /// `[[node]]` and `[[link]]`, or what a `[topology]` generated.
    Graph(Graph),
}

/// A dumbbell.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Bottleneck rate, each direction; the mean where there is a trace.
    pub rate: Rate,
    /// What the rate is, where it changes with time.
    pub trace: Option<LinkTrace>,
    /// Two-way propagation of the whole path, without queueing and serialisation.
    pub rtt: Nanos,
    /// Room for packets that wait, the one in transmission not counted.
    pub buffer: Limit,
    /// The bottleneck's discipline.
    pub queue: Queue,
    /// Chance that the bottleneck loses a packet, each independently.
    pub loss: f64,
    /// Rate of each flow's own access links.
    pub access_rate: Rate,
}

impl Path {
    /// The bandwidth-delay product in bytes, rounded down.
    pub const fn bdp(&self) -> u64 {
        self.rate.bytes_in(self.rtt)
    }
}

/// Any directed graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Its nodes; elsewhere a node is its index here.
    pub nodes: Vec<Node>,
    /// One-way links.
    pub links: Vec<Link>,
}

impl Graph {
    /// Whether links lead from node `from` to node `to`.
    pub fn reaches(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.nodes.len()];
        let mut open = vec![from];
        let mut next = vec![vec![]; self.nodes.len()];
        for link in &self.links {
            next[link.from].push(link.to);
        }
        while let Some(node) = open.pop() {
            if node == to {
                return true;
            }
            if !core::mem::replace(&mut seen[node], true) {
                open.extend(&next[node]);
            }
        }
        false
    }
}

/// A node of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Rate of the access links by which the endpoints of flows reach it, without delay.
    pub access_rate: Rate,
    /// The subnet it belongs to: what comes from one and goes to one shares a bottleneck.
    pub subnet: Option<String>,
}

/// One direction between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name in results.
    pub name: String,
    /// Index of the node it leaves.
    pub from: usize,
    /// Index of the node it reaches.
    pub to: usize,
    /// Its rate; the mean where there is a trace.
    pub rate: Rate,
    /// What the rate is, where it changes with time.
    pub trace: Option<LinkTrace>,
    /// One-way propagation.
    pub delay: Nanos,
    /// What a path over it costs; flows take the cheapest.
    pub cost: u64,
    /// Room for packets that wait, the one in transmission not counted.
    pub buffer: Limit,
    /// Its discipline.
    pub queue: Queue,
    /// Chance that it loses a packet, each independently.
    pub loss: f64,
}

impl Link {
    /// Its highest rate.
    pub fn fastest(&self) -> Rate {
        self.trace.as_ref().map_or(self.rate, |trace| trace.schedule.fastest())
    }
}

/// How much a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Counted in packets, whatever their size. At least 1.
    Packets(u64),
    /// Counted in bytes on the wire. At least one full packet.
    Bytes(u64),
}

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

/// TCP flows that share their settings: one `[[flow]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowGroup {
    /// Name of the group; its flows are `name.0`, `name.1` and so on.
    pub name: String,
    /// The stack whose habits apply where no key says otherwise.
    pub profile: Profile,
    /// How many flows; without it, all that begin before the run ends. Of [`Source::Web`], how many sessions.
    pub count: Option<u32>,
    /// When each starts.
    pub start: Start,
    /// Payload bytes to deliver; without it the flow never runs out.
    pub size: Option<Dist<u64>>,
    /// How long each flow goes on; without it, until `size` is delivered.
    pub lifetime: Option<Dist<Nanos>>,
    /// Connections over which each flow is split.
    pub parallel: u32,
    /// What its connections do.
    pub source: Source,
    /// Further transfers of `size` by the same connection; without it, one.
    pub rounds: Option<Rounds>,
    /// Start-up and avoidance.
    pub scheme: SchemeSpec,
    /// How losses are found and repaired.
    pub recovery: Recovery,
    /// What its partial ACKs do; `Impatient` where [`FlowGroup::has_partial_acks`] says there are none.
    pub partial_acks: PartialAcks,
    /// Initial window, payload bytes; at least one packet.
    pub initial_window: u64,
    /// Initial slow-start threshold, payload bytes; without it, infinite.
    pub initial_ssthresh: Option<u64>,
    /// What the receiver offers at most, payload bytes; without it, never a limit.
    pub receive_window: Option<u64>,
    /// What it offers at first, payload bytes, no more than `receive_window`; without it, that from the start. The window
    /// opens by two packets for each that arrives.
    pub initial_receive_window: Option<u64>,
    /// When the receiver acknowledges.
    pub receiver: Receiver,
    /// How long a receiver that delays ACKs waits for a second packet.
    pub delayed_ack_timer: Nanos,
    /// When the receiving application reads.
    pub receiver_reads: Reads,
    /// How much of an ACK may enlarge the window.
    pub growth: Growth,
    /// Smallest retransmission timeout.
    pub min_rto: Nanos,
    /// Clock granularity that the timeout is rounded up to.
    pub rto_granularity: Nanos,
    /// What an idle time does to the window.
    pub idle_restart: IdleRestart,
    /// Whether the first two duplicate ACKs release a new packet each (RFC 3042).
    pub limited_transmit: bool,
    /// Whether a handshake precedes the data, and gives the first RTT sample.
    pub handshake: bool,
    /// What the SYN of that handshake carries.
    pub data_in_syn: DataInSyn,
    /// Flows of equal name share a bottleneck; without it the topology tells.
    pub cluster: Option<String>,
    /// Where it runs.
    pub endpoints: Endpoints,
    /// Propagation that each flow has beyond the network's, both ways together.
    pub extra_rtt: Dist<Nanos>,
}

impl FlowGroup {
    /// Whether [`FlowGroup::partial_acks`] can be chosen: NewReno has such ACKs, and Linux its own answer to them.
    pub fn has_partial_acks(&self) -> bool {
        self.recovery == Recovery::NewReno && self.profile != Profile::Linux
    }

    /// How many connections it makes, in the mean, in a run of this duration.
    pub fn expected(&self, duration: Option<Nanos>) -> f64 {
        let run = duration.unwrap_or(Nanos::ZERO).0 as f64;
        let begin = match (self.count, self.start) {
            (Some(count), _) => count.into(),
            (None, Start::Every(gap) | Start::Exponential(gap)) => run / gap.0.max(1) as f64,
            (None, Start::At(_) | Start::Uniform(..)) => 1.0,
        };
        match self.source {
            Source::Web(Pages { persistent: false, pages, objects, .. }) => {
                // Rounding up adds one half or so.
                begin * f64::from(pages) * (objects.mean() + 0.5)
            }
            _ => begin * f64::from(self.parallel),
        }
    }

    /// The name of the group's flow `index` in results: `bulk.0`.
    pub fn flow_name(&self, index: u32) -> String {
        format!("{}.{index}", self.name)
    }
}

/// What the connections of a group do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// `[[flow]]`: each transfers `size`.
    Flow,
    /// `[[telnet]]`: each sends messages of `size`, one after such a time from the one before.
    Telnet(Interval),
    /// `[[web]]`: sessions, of which each page has objects of `size`.
    Web(Pages),
}

/// The time from one message to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interval {
    /// As P. Danzig and S. Jamin found it for telnet.
    Tcplib,
    /// From a distribution.
    Law(Dist<Nanos>),
}

/// Pages of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pages {
    /// How many.
    pub pages: u32,
    /// From the beginning of a page's last object to the next page.
    pub page_gap: Dist<Nanos>,
    /// Objects of a page; what is drawn is rounded up.
    pub objects: Dist<f64>,
    /// From the beginning of an object to that of the next of its page.
    pub object_gap: Dist<Nanos>,
    /// Whether all objects of a session come over the same connections, as many as are parallel.
    pub persistent: bool,
}

/// Transfers of one connection, each after an idle time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// How many, the first included.
    pub count: u32,
    /// From the end of a transfer to the beginning of the next.
    pub idle: Nanos,
    /// Each idle time is longer by up to this, uniformly.
    pub jitter: Nanos,
}

/// A source of datagrams at a constant rate, possibly on and off.
#[derive(Clone, Debug, PartialEq)]
pub struct UdpSource {
    /// Its name in results.
    pub name: String,
    /// Rate on the wire while it is on.
    pub rate: Rate,
    /// Each of its packets, bytes on the wire; at most a full packet.
    pub size: u32,
    /// When it begins, in an on period.
    pub start: Nanos,
    /// Lengths of the periods; without it, always on.
    pub on_off: Option<OnOff>,
    /// Where it runs.
    pub endpoints: Endpoints,
}

/// Alternating periods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// Length of a period in which it sends.
    pub on: Dist<Nanos>,
    /// Length of a period in which it does not.
    pub off: Dist<Nanos>,
}

/// Where traffic enters and leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoints {
    /// Across the dumbbell.
    Path(Direction),
    /// Between two nodes of the graph, by index; ACKs have a way back.
    Nodes {
        /// Where the data comes from.
        from: usize,
        /// Where the data goes.
        to: usize,
    },
    /// Each flow between one of these pairs of nodes, drawn for it; at least two.
    Pairs(Vec<(usize, usize)>),
}

/// Which way across a dumbbell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The data crosses the forward bottleneck.
    Forward,
    /// The data crosses the reverse bottleneck, its ACKs the forward one.
    Reverse,
}

/// When the flows of a group start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// All at this time.
    At(Nanos),
    /// Flow `i` at `i` times this.
    Every(Nanos),
    /// A Poisson process: gaps with this mean, the first one before the first flow.
    Exponential(Nanos),
    /// Each on its own, uniformly between the two.
    Uniform(Nanos, Nanos),
}

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// Every choice, in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The words of [`Self::ALL`].
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The choice that `word` is.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|choice| choice.word() == word)
            }

            /// The word in a scenario file.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// How losses are found and repaired.
    Recovery {
        /// Fast retransmit, then slow start.
        Tahoe = "tahoe",
        /// Fast recovery (RFC 5681), ended by the first new ACK.
        Reno = "reno",
        /// Fast recovery with partial ACKs (RFC 6582).
        NewReno = "newreno",
        /// Selective acknowledgements (RFC 6675).
        Sack = "sack",
    }
}

words! {
    /// What NewReno does with partial ACKs: those of something new, but not of all that was outstanding when the repair
    /// began.
    PartialAcks {
        /// The first one restarts the retransmit timer. The window deflates by what each acknowledges, less a packet
        /// (RFC 6582).
        Impatient = "impatient",
        /// Each one restarts the timer (RFC 3782 section 4). The window deflates in the same way.
        SlowButSteady = "slow-but-steady",
        /// Each one restarts the timer, and takes away what duplicate ACKs added to the window: ns-2 before May 2003.
        Ns2Of2002 = "ns2-2002",
    }
}

words! {
    /// When a receiver acknowledges.
    Receiver {
        /// Every packet at once.
        AckEveryPacket = "ack-every-packet",
        /// Every second packet, or when the timer fires (RFC 5681 section 4.2).
        Delayed = "delayed-ack",
        /// Every packet at first, then as `Delayed` (Linux).
        QuickAckThenDelayed = "quickack-then-delayed",
    }
}

words! {
    /// What an idle time longer than the retransmission timeout does to the window.
    IdleRestart {
        /// Back to the initial window (RFC 5681 section 4.1).
        Restart = "restart",
        /// Nothing.
        Keep = "keep",
        /// Half for each timeout that passed, and half of what the application leaves unused (RFC 2861). What profile
        /// `linux` does as `Restart`.
        Validate = "validate",
        /// Most of it leaves at an even pace until the first ACK (`rate-based-pacing`).
        Pace = "pace",
    }
}

words! {
    /// What the packet that opens a connection carries.
    DataInSyn {
        /// No data.
        Never = "never",
        /// The first packet of it; the others wait for the answer (TCP Fast Open, RFC 7413).
        Tfo = "tfo",
        /// The first packet, which the rest of the initial window follows at once (T/TCP, RFC 1644).
        Ttcp = "t/tcp",
    }
}

/// When the receiving application reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// At once.
    Eager,
    /// Only when this many bytes have come, or the last one.
    Every(u64),
}

/// How much of an ACK may enlarge the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// One packet per ACK (RFC 5681).
    PerAck,
    /// The bytes acknowledged, at most two packets per ACK (RFC 3465).
    ByteCounting,
    /// All the bytes acknowledged (Linux).
    AllAcked,
}
