//! Tables of the format as builders: one setter for each key, named as the key.

use super::given::{Given, ValueOf, kind};
use crate::model;
use crate::scheme::SchemeSpec;
use firstflight_document::{Tree, Value};

/// Setters of a table.
macro_rules! setters {
    ($name:ident, $by_name:ident { $($(#[$doc:meta])* $key:ident: $kind:ty;)* }) => {
        impl $name {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $key(mut self, $key: impl ValueOf<$kind>) -> Self {
                    self.0.set(stringify!($key), $key.given().0);
                    self
                }
            )*

            /// Calls the setter of this name, if there is one.
            #[cfg(test)]
            pub(crate) fn $by_name(self, key: &str, value: &Value) -> Option<Self> {
                let _ = value;
                match key {
                    $(stringify!($key) => Some(self.$key(crate::build::Given(value.clone()))),)*
                    _ => None,
                }
            }
        }
    };
}

/// A table: its constructors, with the required keys, and the setters of its other keys.
macro_rules! table {
    (
        $(#[$meta:meta])*
        $name:ident {
            $(
                $(#[$doc:meta])*
                fn $constructor:ident($($key:ident: $kind:ty),* $(,)?) $(with $fixed:ident = $word:literal)?;
            )+
        }
        { $($setters:tt)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        pub struct $name(pub(crate) Tree);

        impl $name {
            $(
                $(#[$doc])*
                pub fn $constructor($($key: impl ValueOf<$kind>),*) -> Self {
                    Self(Tree::default())$(.fixed(stringify!($fixed), $word))?$(.required(stringify!($key), $key))*
                }
            )+

            /// Sets the key of this name to a text, as a file has it; nothing for `None`.
            ///
            /// [`Builder::build`](super::Builder::build) refuses a key that the table does not have.
            #[must_use]
            pub fn text(mut self, key: &str, text: Option<&str>) -> Self {
                if let Some(text) = text {
                    self.0.set(key, Value::text(text));
                }
                self
            }

            #[allow(dead_code, reason = "not every table has required keys")]
            fn required<K>(mut self, key: &str, value: impl ValueOf<K>) -> Self {
                self.0.set(key, value.given().0);
                self
            }

            #[allow(dead_code, reason = "not every table has a fixed key")]
            fn fixed(mut self, key: &str, word: &str) -> Self {
                self.0.set(key, Value::text(word));
                self
            }
        }

        setters!($name, set_own { $($setters)* });
    };
}

table! {
    /// A dumbbell, `[path]`: one bottleneck in each direction, every flow with access links of its own.
    ///
    /// ```
    /// use firstflight_scenario::build::{Path, Queue};
    ///
    /// let path = Path::new("40 Mbit/s", "100 ms", "1 BDP").queue(Queue::new("red").ecn(true)).loss(0.001);
    /// ```
    Path {
        /// A path with this bottleneck rate, two-way propagation and buffer.
        fn new(rate: kind::Rate, rtt: kind::Time, buffer: kind::Buffer);
        /// A path without keys, for those who set each as a text: `build` names the first that is missing.
        fn empty();
        /// A path whose bottleneck rate follows a trace.
        fn traced(trace: kind::Trace, rtt: kind::Time, buffer: kind::Buffer);
    }
    {
        /// Queueing discipline of the bottleneck, each direction; default drop-tail.
        queue: kind::Discipline;
        /// Token bucket for which the packets of the queue wait, each direction.
        shaper: kind::Shaper;
        /// Random loss, each direction; default 0.
        loss: kind::Loss;
        /// Numbers of the packets with data of each flow that are lost, ascending.
        drop: kind::Numbers;
        /// Packets that take longer, so that others overtake them, each direction.
        reorder: kind::Reorder;
        /// Rate of each flow's access links; default 10 times the bottleneck rate.
        access_rate: kind::Rate;
    }
}

table! {
    /// Packet sizes on the wire, headers included: `[packet]`.
    Packet {
        /// The default sizes.
        fn new();
    }
    {
        /// Full data packet; default 1500 bytes.
        size: kind::Size;
        /// ACK; default the headers of the flow's profile.
        ack_size: kind::Size;
    }
}

pub(crate) use setters;

/// The setter of a chain, which every source of TCP traffic has.
macro_rules! scheme_setter {
    ($name:ident) => {
        impl $name {
            /// Start-up and avoidance from a chain, in place of earlier ones.
            #[must_use]
            pub fn scheme(mut self, scheme: &SchemeSpec) -> Self {
                self.0.remove("startup");
                self.0.remove("avoidance");
                crate::canonical::scheme(scheme, &mut self.0);
                self
            }
        }
    };
}

table! {
    /// TCP flows that share their settings: `[[flow]]`.
    ///
    /// ```
    /// use firstflight_scenario::build::{Flow, Law};
    ///
    /// let flow = Flow::new()
    ///     .start(Law::exponential("1 s"))
    ///     .size(Law::pareto("30 packets", 1.35))
    ///     .startup("hystart++")
    ///     .avoidance("cubic");
    /// ```
    Flow {
        /// One flow without end, as profile `rfc` sends it.
        fn new();
    }
    {
        /// Name of the group; default `flow` and the number of the group from 0.
        name: kind::Name;
        /// Number of flows; default 1, or `unlimited` if they arrive one by one.
        count: kind::Count;
        /// Start times; default 0.
        start: kind::Start;
        /// Application bytes or full packets of each flow; default `unlimited`.
        size: kind::Sizes;
        /// Time after which each flow ends.
        lifetime: kind::Times;
        /// Connections over which each flow is split; default 1.
        parallel: kind::Whole;
        /// Transfers of `size` on the same connection, each after an idle time.
        rounds: Rounds;
    }
}
scheme_setter!(Flow);

table! {
    /// TCP connections that send small messages: `[[telnet]]`.
    Telnet {
        /// One connection.
        fn new();
    }
    {
        /// Name of the group; default `telnet` and the number of the group from 0.
        name: kind::Name;
        /// Number of connections; default 1.
        count: kind::Whole;
        /// Start times; default 0.
        start: kind::Start;
        /// Time for which each connection sends.
        lifetime: kind::Times;
        /// Time from one message to the next; default `tcplib`.
        interval: kind::Interval;
        /// Size of the messages of a connection; default one packet.
        size: kind::Sizes;
    }
}
scheme_setter!(Telnet);

table! {
    /// Sessions of web pages: `[[web]]`.
    Web {
        /// One session of one page.
        fn new();
    }
    {
        /// Name of the group; default `web` and the number of the group from 0.
        name: kind::Name;
        /// Number of sessions; default 1.
        sessions: kind::Whole;
        /// Start times of the sessions; default 0.
        start: kind::Start;
        /// Pages of a session; default 1.
        pages: kind::Whole;
        /// Time from the beginning of a page's last object to the next page.
        page_gap: kind::Times;
        /// Objects of a page.
        objects: kind::Counts;
        /// Time from the beginning of an object to the beginning of the next.
        object_gap: kind::Times;
        /// Size of an object.
        size: kind::Sizes;
        /// `per-object` (HTTP/1.0) or `persistent` (HTTP/1.1).
        connections: kind::Word<model::Pages>;
        /// Persistent connections of a session; default 1.
        parallel: kind::Whole;
    }
}
scheme_setter!(Web);

table! {
    /// Packets of equal size at a constant rate: `[[udp]]`.
    Udp {
        /// A source of full packets at this rate on the wire.
        fn new(rate: kind::Rate);
    }
    {
        /// Name in results; default `udp` and the number of the source from 0.
        name: kind::Name;
        /// Packets on the wire, headers included; default full packets.
        size: kind::Size;
        /// Start time; default 0.
        start: kind::Time;
        /// Alternating periods; default always on.
        on_off: OnOff;
        /// Direction across a path.
        direction: kind::Word<model::Direction>;
        /// Node that sends.
        from: kind::Name;
        /// Node that receives.
        to: kind::Name;
    }
}

table! {
    /// Lengths of the periods of a UDP source.
    OnOff {
        /// Periods that send, and periods that do not.
        fn new(on: kind::Times, off: kind::Times);
    }
    {}
}

table! {
    /// Transfers by one connection, each after an idle time.
    Rounds {
        /// The number of transfers, and the time from the end of one to the beginning of the next.
        fn new(count: kind::Whole, idle: kind::Time);
    }
    {
        /// Each idle time is longer by up to this, uniformly; default 0.
        jitter: kind::Time;
    }
}

table! {
    /// A queueing discipline with parameters: `queue`.
    Queue {
        /// The discipline of this label, with its defaults: `red`, `codel`.
        fn new(kind: kind::Word<model::Queue>);
    }
    {
        /// RED: average queue from which packets are dropped or marked.
        min: kind::Threshold;
        /// RED: average queue at which the probability is `max_p`.
        max: kind::Threshold;
        /// RED: weight of a new sample in the average.
        weight: kind::Number;
        /// RED: probability at `max`.
        max_p: kind::Number;
        /// RED: beyond `max` the probability rises to 1 at twice `max`, instead of at once.
        gentle: kind::Flag;
        /// Mark packets instead of dropping them.
        ecn: kind::Flag;
        /// RED: mean size of a packet, in byte mode.
        mean_packet: kind::Size;
        /// CoDel: acceptable waiting time.
        target: kind::Time;
        /// CoDel: time for which a longer wait must last.
        interval: kind::Time;
        /// FQ-CoDel: bytes that a flow's queue sends in its turn.
        quantum: kind::Size;
        /// FQ-CoDel: number of queues.
        flows: kind::Whole;
        /// Quick-Start: share of the link in use below which a rate is granted.
        threshold: kind::Number;
        /// Quick-Start: share of the link up to which rates are granted.
        share: kind::Number;
        /// XCP: share of the spare bandwidth that a round trip distributes.
        alpha: kind::Number;
        /// XCP: share of the standing queue that a round trip removes.
        beta: kind::Number;
        /// XCP: share of the traffic that a round trip redistributes.
        gamma: kind::Number;
        /// VCP: share of the link that is to be used.
        utilization: kind::Number;
        /// Policer: rate at which tokens accrue.
        rate: kind::Rate;
        /// Policer: size of the bucket, full at the start.
        burst: kind::Size;
    }
}

table! {
    /// A node of a graph: `[[node]]`.
    Node {
        /// A node of this name.
        fn new(name: kind::Name);
    }
    {
        /// Rate of the access links of flows to the node; default 10 times the fastest link at the node.
        access_rate: kind::Rate;
        /// Subnet of the node.
        subnet: kind::Name;
    }
}

table! {
    /// A link of a graph, one direction: `[[link]]`.
    Link {
        /// A link between two nodes.
        fn new(from: kind::Name, to: kind::Name, rate: kind::Rate, delay: kind::Time, buffer: kind::Buffer);
        /// A link whose rate follows a trace.
        fn traced(from: kind::Name, to: kind::Name, trace: kind::Trace, delay: kind::Time, buffer: kind::Buffer);
    }
    {
        /// Name in results; default `<from>-<to>`.
        name: kind::Name;
        /// Whether an equal link leads the other way; default false.
        both: kind::Flag;
        /// Cost of a path over the link; default 1.
        cost: kind::Whole;
        /// Queueing discipline; default drop-tail.
        queue: kind::Discipline;
        /// Token bucket for which the packets of the queue wait.
        shaper: kind::Shaper;
        /// Random loss; default 0.
        loss: kind::Loss;
        /// Numbers of the packets with data of each flow that are lost, ascending.
        drop: kind::Numbers;
        /// Packets that take longer, so that others overtake them.
        reorder: kind::Reorder;
    }
}

table! {
    /// A row of routers: `[topology]` with kind `parking-lot`.
    ParkingLot {
        /// A row with this number of links, the rate of each, and the two-way propagation of all together.
        fn new(hops: kind::Whole, rate: kind::Rate, rtt: kind::Time, buffer: kind::Buffer) with kind = "parking-lot";
    }
    {
        /// Queueing discipline of every hop; default drop-tail.
        queue: kind::Discipline;
        /// Random loss at every hop; default 0.
        loss: kind::Loss;
        /// Rate of each flow's access links; default 10 times `rate`.
        access_rate: kind::Rate;
        /// Flows that cross one hop, the same at every hop.
        cross: Flow;
    }
}

table! {
    /// The homogeneous network of Yu and Newman: `[topology]` with kind `three-router`.
    ThreeRouter {
        /// The network with its defaults.
        fn new() with kind = "three-router";
    }
    {
        /// Clients behind the third router; default 5.
        clients: kind::Whole;
        /// Pairs of hosts of cross traffic; default 5.
        pairs: kind::Whole;
        /// Rate of the links between routers; default 20 Mbit/s.
        rate: kind::Rate;
        /// Delay of the links between routers, one way; default 50 ms.
        delay: kind::Time;
        /// Rate of all other links; default 10 times `rate`.
        side_rate: kind::Rate;
        /// Delay of all other links, one way; default 1 ms.
        side_delay: kind::Time;
        /// Buffer of every link; default 50 packets.
        buffer: kind::Buffer;
        /// Queueing discipline of every link; default drop-tail.
        queue: kind::Discipline;
        /// Random loss between routers; default 0.
        loss: kind::Loss;
        /// Rate of the access links of flows; default 100 Tbit/s.
        access_rate: kind::Rate;
        /// Flows of cross traffic.
        cross: Flow;
    }
}

table! {
    /// A random graph of transit and stub domains: `[topology]` with kind `transit-stub`.
    TransitStub {
        /// A graph of 200 nodes.
        fn new() with kind = "transit-stub";
    }
    {
        /// Seed of the graph; default 1.
        seed: kind::Whole;
        /// Graph of transit domains.
        top: Level;
        /// Each transit domain.
        transit: Level;
        /// Each stub domain.
        stub: Level;
        /// Mean number of stub domains at a transit node; default 4.
        stubs: kind::Whole;
        /// Further links between a transit node and a stub domain of another; default 0.
        ts_edges: kind::Whole;
        /// Further links between two stub domains; default 0.
        ss_edges: kind::Whole;
        /// Cost of links: `policy`, `hops` or `delay`.
        routing: kind::Word<TransitStub>;
        /// Rate of every link; default 10 Mbit/s.
        rate: kind::Rate;
        /// Delay of a link for each unit of its length, or a distribution; default 10 ms.
        delay: kind::Times;
        /// Buffer of every link; default 50 packets.
        buffer: kind::Buffer;
        /// Queueing discipline of every link; default drop-tail.
        queue: kind::Discipline;
        /// Random loss on every link; default 0.
        loss: kind::Loss;
        /// Rate of the access links of flows; default 10 times `rate`.
        access_rate: kind::Rate;
        /// Pairs of stub nodes for cross traffic; default 25.
        pairs: kind::Whole;
        /// Flows of cross traffic.
        cross: Flow;
    }
}

table! {
    /// A level of a transit-stub graph.
    Level {
        /// The level with its defaults.
        fn new();
    }
    {
        /// Number of nodes.
        n: kind::Whole;
        /// Probability of a link: `random`, `waxman` or `exponential`.
        method: kind::Word<Level>;
        /// Parameter of `method`.
        alpha: kind::Number;
        /// Parameter of `waxman`.
        beta: kind::Number;
    }
}

table! {
    /// A graph from a GraphML file: `[topology]` with kind `graphml`.
    GraphMl {
        /// The graph of this file, with the buffer of every link.
        fn new(file: kind::File, buffer: kind::Buffer) with kind = "graphml";
    }
    {
        /// Rate of edges that have none.
        rate: kind::Rate;
        /// Delay of edges that have none, one way.
        delay: kind::Time;
        /// Queueing discipline of every link; default drop-tail.
        queue: kind::Discipline;
        /// Random loss on every link; default 0.
        loss: kind::Loss;
        /// Rate of the access links of flows; default 10 times the fastest link at the node.
        access_rate: kind::Rate;
    }
}

table! {
    /// A token-bucket shaper.
    Shaper {
        /// Tokens accrue at `rate` up to `burst`.
        fn new(rate: kind::Rate, burst: kind::Size);
    }
    {}
}

table! {
    /// Random loss in bursts.
    ///
    /// ```
    /// use firstflight_scenario::build::{Loss, Path};
    ///
    /// let path = Path::new("40 Mbit/s", "100 ms", "1 BDP").loss(Loss::new(0.01, 4.0));
    /// ```
    Loss {
        /// This share of the packets, in runs of `burst` packets in the mean.
        fn new(mean: kind::Number, burst: kind::Number);
    }
    {}
}

table! {
    /// Two lanes behind a line: packets on the slower one are overtaken.
    ///
    /// ```
    /// use firstflight_scenario::build::{Path, Reorder};
    ///
    /// let path = Path::new("40 Mbit/s", "100 ms", "1 BDP").reorder(Reorder::new(0.01, "5 ms"));
    /// ```
    Reorder {
        /// This share of the packets takes `delay` longer.
        fn new(share: kind::Number, delay: kind::Time);
    }
    {
        /// Mean number of packets in a run on the slower lane; default 1, independent choices.
        burst: kind::Number;
    }
}

macro_rules! default_is_new {
    ($($name:ident),+) => {
        $(impl Default for $name {
            fn default() -> Self { Self::new() }
        })+
    };
}

default_is_new!(Packet, Flow, Telnet, Web, ThreeRouter, TransitStub, Level);

impl ValueOf<Flow> for Flow {
    fn given(self) -> Given {
        Given(Value::Table(self.0))
    }
}

impl ValueOf<Level> for Level {
    fn given(self) -> Given {
        Given(Value::Table(self.0))
    }
}

/// A graph that is generated or imported.
#[derive(Clone, Debug)]
pub struct Topology(pub(crate) Tree);

macro_rules! topologies {
    ($($name:ident),+) => {
        $(impl From<$name> for Topology {
            fn from(topology: $name) -> Self { Self(topology.0) }
        })+
    };
}

topologies!(ParkingLot, ThreeRouter, TransitStub, GraphMl);
