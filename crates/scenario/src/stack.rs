//! The keys of a stack, which every source of TCP traffic has: one row for each.
//!
//! A row is the whole declaration of a key: the field of [`FlowGroup`], the setter of the builders, the line of the format, from which
//! the schema and the reference follow, the reading, the canonical text, and whether runs draw its value. The hosts name every field of
//! [`FlowGroup`], so that a host without an answer for a new key does not compile.

use firstflight_contract::Nanos;
use firstflight_document::format::{Key, Kind};
use firstflight_document::{Error, Item, Value};
use firstflight_random::Dist;

use crate::build::{Flow, Telnet, ValueOf, Web, kind, setters};
use crate::canonical::{bytes, dist, reads, time, window};
use crate::draws::Draws as _;
use crate::format::rows::habit;
use crate::format::{AVOIDANCE, DELAY, DELAYS, INITIAL_WINDOW, READS, STARTUP, TIME, optional, words};
use crate::limits;
use crate::model::{
    DataInSyn, Direction, Endpoints, Growth, IdleRestart, Network, PartialAcks, Processor, Reads, Receiver,
    Recovery, Rounds, Source, Start,
};
use crate::profile::Profile;
use crate::read::flow::Reading;
use crate::read::values;
use crate::scheme::SchemeSpec;

/// Whether the stack of a flow is one of QUIC.
fn at_quic(flow: &FlowGroup) -> bool {
    flow.profile.stack().is_quic()
}

/// Rows of keys, each `key: field of type, kind of the setter, row of the format, reading, text, draws`. A key without a field is a part
/// of another's.
macro_rules! stack {
    (
        ($at:ident, $flow:ident, $network:ident)
        fields { $($(#[$own_doc:meta])* $own:ident: $own_type:ty = $begin:expr;)* }
        keys { $(
            #[$doc:meta]
            $key:ident: $set:ty, $row:ident($($part:expr),*)
            $(=> $field:ident: $type:ty = $read:expr, $draws:ident)?
            $(, text $text:expr)?;
        )* }
    ) => {
        /// TCP flows that share their settings: one `[[flow]]`.
        #[derive(Clone, Debug, PartialEq)]
        pub struct FlowGroup {
            $($(#[$own_doc])* pub $own: $own_type,)*
            $($(#[$doc] pub $field: $type,)?)*
        }

        /// The keys of the stack that sends, and of its endpoints: the same for every source of TCP traffic.
        pub const STACK: &[Key] = &[$($row(stringify!($key), $($part),*)),*];

        setters!(Flow, set_stack { $(#[$doc] $key: $set;)* });
        setters!(Telnet, set_stack { $(#[$doc] $key: $set;)* });
        setters!(Web, set_stack { $(#[$doc] $key: $set;)* });

        /// One connection without end with the keys of a table, each read by itself.
        pub(crate) fn read($at: &Reading<'_>) -> Result<FlowGroup, Error> {
            Ok(FlowGroup { $($own: $begin,)* $($($field: $read,)?)* })
        }

        /// The keys with their values in the canonical text.
        pub(crate) fn texts($flow: &FlowGroup, $network: &Network) -> impl Iterator<Item = (&'static str, Value)> {
            let texts: Vec<(_, Option<Value>)> = vec![$($((stringify!($key), $text),)?)*];
            texts.into_iter().filter_map(|(key, text)| Some((key, text?)))
        }

        /// Whether runs draw the value of a key.
        pub(crate) fn draws(flow: &FlowGroup) -> bool {
            false $($(|| stack!(@$draws flow.$field))?)*
        }
    };
    (@fixed $field:expr) => { false };
    (@drawn $field:expr) => { $field.draws() };
}

stack! {
    (at, flow, network)
    fields {
        /// Name of the group; its flows have the names `name.0`, `name.1` and so on.
        name: String = at.name.clone();
        /// Stack that sets the defaults.
        profile: Profile = at.profile;
        /// Number of flows; if `None`, all that start before the run ends. Of [`Source::Web`], number of sessions.
        count: Option<u32> = Some(1);
        /// Start times.
        start: Start = Start::At(Nanos::ZERO);
        /// Payload bytes to deliver; if `None`, without end.
        size: Option<Dist<u64>> = None;
        /// Time after which each flow ends; if `None`, when `size` is delivered.
        lifetime: Option<Dist<Nanos>> = None;
        /// Connections over which each flow is split.
        parallel: u32 = 1;
        /// Traffic of its connections.
        source: Source = Source::Flow;
        /// Transfers of `size` by the same connection; if `None`, one.
        rounds: Option<Rounds> = None;
        /// Start-up and avoidance.
        scheme: SchemeSpec = at.scheme()?;
        /// Endpoints.
        endpoints: Endpoints = at.endpoints.clone();
    }
    keys {
        /// Stack whose defaults hold; default [`Profile::Rfc`].
        profile: kind::Word<Profile>, optional(words(Profile::WORDS), "`\"rfc\"`", "the stack that sets the defaults below");

        /// Start-up scheme, or several.
        startup: kind::Startup, habit(STARTUP, "start-up scheme");

        /// Avoidance scheme; none if the start-up scheme controls the whole connection.
        avoidance: kind::Avoidance,
            habit(AVOIDANCE, "avoidance scheme; not with a start-up scheme that controls the whole connection");

        /// Loss detection and retransmission.
        recovery: kind::Word<Recovery>, habit(words(Recovery::WORDS), "loss detection and retransmission")
            => recovery: Recovery = at.choice("recovery", at.stack.recovery, Recovery::from_word)?, fixed,
            text Some(Value::text(flow.recovery.word()));

        /// Response of NewReno to partial ACKs; `Impatient` if not [`FlowGroup::has_partial_acks`].
        partial_acks: kind::Word<PartialAcks>, optional(
                words(PartialAcks::WORDS),
                "`\"impatient\"`",
                "response to an ACK of a part of the data that was outstanding when recovery began; only with recovery `newreno`, not where losses are found by time, as under profile `linux`: see below"
            )
            => partial_acks: PartialAcks = PartialAcks::Impatient, fixed,
            text flow.has_partial_acks().then(|| Value::text(flow.partial_acks.word()));

        /// Processor time that selective ACKs cost the sending host; none if not [`FlowGroup::has_processor`].
        sack_walk: kind::Time, optional(
                TIME,
                "no time",
                "time that the sending host needs for each packet of its retransmission queue that it visits to mark those that an ACK reports; ACKs wait meanwhile; only under profile `rfc` with recovery `sack`: see below"
            )
            => processor: Option<Processor> = None, fixed,
            text flow.processor.map(|processor| time(processor.walk));

        /// ACKs that may wait for the sending host.
        ack_backlog: kind::Whole, optional(
                Kind::Integer { min: 1, max: limits::BACKLOG },
                "all of them",
                "ACKs that may wait for the sending host, the one in hand included; further ones are lost; only with `sack_walk`"
            ),
            text flow.processor.and_then(|processor| processor.backlog).map(|acks| Value::Integer(acks.into()));

        /// Initial window, payload bytes; at least one packet.
        initial_window: kind::InitialWindow, habit(INITIAL_WINDOW, "initial window, at least one packet")
            => initial_window: u64 = at.initial_window()?, fixed,
            text Some(bytes(flow.initial_window));

        /// Initial slow-start threshold, payload bytes, at least one packet; if `None`, infinite.
        initial_ssthresh: kind::Window, optional(
                Kind::AmountOrUnlimited,
                "`\"unlimited\"`",
                "initial slow-start threshold, at least one packet"
            )
            => initial_ssthresh: Option<u64> = at.window("initial_ssthresh")?, fixed,
            text Some(window(flow.initial_ssthresh));

        /// Largest window that the receiver offers, payload bytes; if `None`, without limit.
        receive_window: kind::Window, habit(
                Kind::AmountOrUnlimited,
                "largest window that the receiver offers, at least one packet; `unlimited` is 1000000 packets"
            )
            => receive_window: Option<u64> = at.offered, fixed,
            text Some(window(flow.receive_window));

        /// First window that the receiver offers, payload bytes; if `None`, `receive_window`. It opens by two packets for each that arrives.
        initial_receive_window: kind::Window, habit(
                Kind::AmountOrUnlimited,
                "first window that the receiver offers, at most `receive_window`; the window opens by two packets for each that arrives"
            )
            => initial_receive_window: Option<u64> = at.first_offer()?, fixed,
            text Some(window(flow.initial_receive_window));

        /// Most data beyond the first byte that is not acknowledged; if `None`, without limit.
        send_buffer: kind::Window, optional(
                Kind::AmountOrUnlimited,
                "the stack's",
                "most data beyond the first byte that is not acknowledged: the buffers of the stack that sends; only of stacks of QUIC"
            )
            => send_buffer: Option<u64> = at.send_buffer()?, fixed,
            text at_quic(flow).then(|| window(flow.send_buffer));

        /// Times at which the receiver acknowledges.
        receiver: kind::Word<Receiver>, habit(words(Receiver::WORDS), "times at which the receiver acknowledges")
            => receiver: Receiver = at.choice("receiver", at.stack.receiver, Receiver::from_word)?, fixed,
            text Some(Value::text(flow.receiver.word()));

        /// Time for which a receiver that delays ACKs waits for a second packet.
        delayed_ack_timer: kind::Time, habit(TIME, "time for which a receiver that delays ACKs waits for a second packet")
            => delayed_ack_timer: Nanos = at.value("delayed_ack_timer", at.stack.delayed_ack_timer, Item::time)?, fixed,
            text Some(time(flow.delayed_ack_timer));

        /// Times at which the receiving application reads.
        receiver_reads: kind::Reads, optional(
                READS,
                "`\"eager\"`",
                "times at which the receiving application reads: at once, or when this amount has arrived"
            )
            => receiver_reads: Reads = at.reads()?, fixed,
            text Some(reads(flow.receiver_reads));

        /// Growth of the window that one ACK allows: whether by the bytes that it acknowledges (RFC 3465).
        byte_counting: kind::Flag, habit(
                Kind::Flag,
                "whether an ACK enlarges the window by the bytes that it acknowledges, at most two packets (RFC 3465); refused where losses are found by time, as under profile `linux`: every byte counts there"
            )
            => growth: Growth = at.growth()?, fixed,
            text match flow.growth {
                Growth::PerAck => Some(Value::Flag(false)),
                Growth::ByteCounting => Some(Value::Flag(true)),
                // Only a profile sets it; the key is absent.
                Growth::AllAcked => None,
            };

        /// Smallest retransmission timeout.
        min_rto: kind::Time, habit(TIME, "smallest retransmission timeout, at most the largest of the profile")
            => min_rto: Nanos = at.timeout("min_rto", at.stack.min_rto)?, fixed,
            text Some(time(flow.min_rto));

        /// Clock granularity of the retransmission timeout, which is rounded up.
        rto_granularity: kind::Time, habit(
                TIME,
                "clock granularity of the retransmission timeout, at most the largest timeout of the profile; except under profile `linux` a clock of 1 ms or finer counts as exact"
            )
            => rto_granularity: Nanos = at.timeout("rto_granularity", at.stack.rto_granularity)?, fixed,
            text Some(time(flow.rto_granularity));

        /// Effect of an idle time on the window.
        idle_restart: kind::Word<IdleRestart>,
            habit(words(IdleRestart::WORDS), "effect of an idle time on the window: see below")
            => idle_restart: IdleRestart = at.choice("idle_restart", at.stack.idle_restart, IdleRestart::from_word)?, fixed,
            text Some(Value::text(flow.idle_restart.word()));

        /// Whether the stack paces what it sends, whatever the scheme, where it [can](crate::profile::Stack::can_pace).
        paced: kind::Flag, optional(
                Kind::Flag,
                "`false`",
                "whether the stack paces what it sends, as Linux does with the queueing discipline fq: after ten packets, at twice the window a round trip, from half the threshold on at 1.2 times; only under profile `linux`"
            )
            => paced: bool = at.paced()?, fixed,
            text flow.paced.then_some(Value::Flag(true));

        /// Pace of the initial window, payload bytes in a round-trip time; if `None`, the stack's ([`FlowGroup::initial_pace_conflict`]).
        initial_pace: kind::Amount, optional(
                Kind::Amount,
                "the stack's: twice `initial_window`",
                "pace of the initial window, in a round-trip time, as a plan of the gateway has one: see below; at least `initial_window` and less than twice as much; only with `paced` and a handshake"
            )
            => initial_pace: Option<u64> = at.optional("initial_pace", |item| values::window(item, at.payload))?, fixed,
            text flow.initial_pace.map(bytes);

        /// Whether the first two duplicate ACKs release a new packet each (RFC 3042).
        limited_transmit: kind::Flag, habit(
                Kind::Flag,
                "whether the first two duplicate ACKs release a new packet each (RFC 3042); always so where losses are found by time, as under profile `linux`"
            )
            => limited_transmit: bool = at.value("limited_transmit", at.stack.limited_transmit, Item::flag)?, fixed,
            text Some(Value::Flag(flow.limited_transmit));

        /// Whether a handshake precedes the data and gives the first RTT sample.
        handshake: kind::Flag, habit(Kind::Flag, "whether a handshake precedes the data")
            => handshake: bool = at.value("handshake", at.stack.handshake, Item::flag)?, fixed,
            text Some(Value::Flag(flow.handshake));

        /// Data in the SYN of that handshake, or right behind it.
        data_in_syn: kind::Word<DataInSyn>, optional(
                words(DataInSyn::WORDS),
                "`\"never\"`",
                "whether data leaves with the SYN, or right behind it: see below"
            )
            => data_in_syn: DataInSyn = at.choice("data_in_syn", DataInSyn::Never, DataInSyn::from_word)?, fixed,
            text Some(Value::text(flow.data_in_syn.word()));

        /// Flows of equal name share a bottleneck; if `None`, the topology decides.
        cluster: kind::Name, optional(Kind::Name, "the topology decides", "flows of equal name share a bottleneck")
            => cluster: Option<String> = at.optional("cluster", |item| item.name().map(String::from))?, fixed,
            text flow.cluster.as_ref().map(Value::text);

        /// Direction across a path.
        direction: kind::Word<Direction>, optional(words(Direction::WORDS), "`\"forward\"`", "direction across a `[path]`"),
            text flow.endpoints.texts(network)[0].take();

        /// Nodes that send the data.
        from: kind::Names, optional(
                Kind::Names,
                "the topology's; required in a graph",
                "node that sends the data, or several, of which each flow has one: names of nodes, of subnets, or of beginnings of subnet names up to a `-`"
            ),
            text flow.endpoints.texts(network)[1].take();

        /// Nodes that receive the data.
        to: kind::Names, optional(
                Kind::Names,
                "the topology's; required in a graph",
                "node that receives the data, or several; equal numbers in `from` and `to` are pairs"
            ),
            text flow.endpoints.texts(network)[2].take();

        /// Propagation of each flow beyond the network's, both ways together.
        extra_rtt: kind::Times, optional(
                Kind::Either(&DELAY, &DELAYS),
                "`\"0 ms\"`",
                "propagation of each flow beyond the network's, both ways together"
            )
            => extra_rtt: Dist<Nanos> = at.value("extra_rtt", Dist::Fixed(Nanos::ZERO), |item| values::dist(item, Item::time))?, drawn,
            text Some(dist(flow.extra_rtt, time));
    }
}
