//! Who sends what to whom, and when.

use firstflight_contract::{Nanos, Rate};

use super::{DataInSyn, Growth, IdleRestart, PartialAcks, Reads, Receiver, Recovery, words};
use crate::dist::Dist;
use crate::profile::Profile;
use crate::scheme::SchemeSpec;

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

words! {
    /// Direction across a dumbbell.
    Direction {
        /// The data crosses the forward bottleneck.
        Forward = "forward",
        /// The data crosses the reverse bottleneck, its ACKs the forward one.
        Reverse = "reverse",
    }
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
