//! The object of `firstflight identify --json`.

use crate::object::object;

object! {
    /// A sender of a capture, and the stacks that start as it does.
    pub struct IdentifiedSender = "sender" {
        /// Address and port.
        sender: String,
        /// Transport protocol: `tcp` or `quic`.
        protocol: String,
        /// Source of the packets: `segments`, `datagrams` (encrypted, so that acknowledgements are modelled), `opened` (by a key log) or `qlog`.
        source: String,
        /// Connections that were compared: those with most data.
        connections: u64,
        /// Data of the largest of them, which the values below describe.
        bytes: u64 ["bytes"],
        /// Its shortest round trip.
        rtt_ms: f64 ["ms"],
        /// The stack, as a phrase: `nginx 1.26`, `Linux with hystart-linux+cubic or slow-start+reno`. Null if it is none of those that have a profile.
        starts_as: Option<String>,
        /// Probability of `starts_as`; null without it.
        probability: Option<f64> [""; Share],
        /// Probability that the sender is of no stack that has a profile; null if the start is not known.
        unknown: Option<f64> [""; Share],
        /// Reason why the start is not known: `the capture begins in mid-flight`. Null if it is; otherwise all values of the start are null or empty.
        start_unknown: Option<String>,
        /// Packets before the first acknowledgement of data came.
        first_flight_packets: Option<u64> ["packets"],
        /// Their payload of TCP or UDP.
        first_flight_bytes: Option<u64> ["bytes"],
        /// Packets that left at once, less than 0.5 ms apart.
        burst_packets: Option<u64> ["packets"],
        /// Median time from one burst of the first flight to the next; null if all left at once.
        spacing_ms: Option<f64> ["ms"],
        /// Most common payload of UDP in the first flight; null over TCP.
        datagram_bytes: Option<u64> ["bytes"],
        /// Largest payload of UDP in the first flight, a probe of the path MTU if it is larger than `datagram_bytes`; null over TCP.
        largest_datagram_bytes: Option<u64> ["bytes"],
        /// Payload of each round trip of the first transfer, at most twelve. A round ends with the acknowledgement of its first packet.
        rounds_bytes: Vec<u64> ["bytes"] => nested,
        /// Factor by which the rounds grow until start-up ends or the data does, their median; null with fewer than three rounds.
        growth: Option<f64>,
        /// End of start-up: `loss`, `mark`, `cap` (a buffer of the stack), `no growth` (delay, threshold or pacing), or `data` (the data ended first).
        exit: Option<String>,
        /// Full-sized packets in flight at that end; null if the data ended first.
        exit_packets: Option<f64> ["packets"],
        /// Silence before a second transfer; null without one.
        silence_s: Option<f64> ["s"],
        /// Packets of the second transfer before its first acknowledgement; null without one.
        after_silence_packets: Option<u64> ["packets"],
        /// Those of them that left at once.
        after_silence_burst_packets: Option<u64> ["packets"],
        /// The stacks with their probabilities, the likeliest first; at least the three nearest. Empty if the start is not known.
        stacks: Vec<IdentifiedStack> => nested,
    }
}

object! {
    /// A stack beside a captured sender.
    pub struct IdentifiedStack = "stack of a sender" {
        /// Profile: `nginx-1.26`.
        profile: String,
        /// The stack with its release, as a reader knows it.
        stack: String,
        /// Chain of labels, with the settings that differ from those of the stack.
        scheme: String,
        /// Probability.
        probability: f64 [""; Share],
        /// Mean difference of the times at which so many bytes had left from those of a simulated sender of this stack, in round trips.
        apart_round_trips: f64 ["round trips"],
    }
}
