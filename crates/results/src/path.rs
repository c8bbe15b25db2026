//! The path of a comparison, and the capture from which it was inferred.

use crate::object::object;
use crate::run::StartupExit;

object! {
    /// Packets of a file that may have carried TCP and could not be read, for one reason.
    pub struct PassedOver: Eq = "passed over" {
        /// Name of the file, as it was given.
        file: String,
        /// Content that could not be read: `headers cut off by the capture`, `TCP options cut off by the capture` (these packets are used
        /// without them), `IP fragments without the others of their packet`, `first IP fragments alone`, `IPsec ESP`, `EtherType
        /// 0x1234`, `IP protocol 94`, `link type 127` and the like.
        what: String,
        /// Packets.
        packets: u64 ["packets"],
        /// Their bytes on the wire.
        bytes: u64 ["bytes"],
    }
}

object! {
    /// Numbers of packets of a capture that were left out because it contains them another time, by the place of the copy.
    pub struct Copies: Copy Default = "copies" {
        /// At the same interface.
        same_interface: u64 ["packets"],
        /// At another interface, with other link addresses or in another encapsulation.
        other_interface: u64 ["packets"],
        /// On another side of a router: the TTL or hop limit differs.
        other_side_of_router: u64 ["packets"],
        /// In another file of the same place: the captures overlap, or one is a copy of the other.
        other_file: u64 ["packets"],
        /// In a file from the other end of the connection, or from another place on its path.
        other_end: u64 ["packets"],
    }
}

object! {
    /// The path, as given or as inferred. A value that the capture cannot show is null and named in `cannot_tell`.
    pub struct PathResult: Default = "path" {
        /// File name of the capture from which the path was inferred; null if the path was given.
        inferred_from: Option<String>,
        /// Rate of the bottleneck; null if unknown.
        rate_bit_s: Option<u64> ["bit/s"],
        /// Two-way propagation time, without queueing; null if unknown.
        rtt_ms: Option<f64> ["ms"],
        /// Bandwidth-delay product in whole packets of their size on the wire: as many as are in flight without a queue; null if unknown,
        /// and in a graph.
        @(default) bdp_packets: Option<u64> ["packets"],
        /// Packets that can wait at the bottleneck; null if unknown.
        buffer_packets: Option<u64> ["packets"],
        /// Probability that a packet is lost for a reason other than a full queue; null if unknown.
        loss: Option<f64> [""; Share],
        /// Payload of a full segment; null if unknown.
        mss_bytes: Option<u64> ["bytes"],
        /// Initial window of the sender; null if unknown.
        initial_window_packets: Option<u64> ["packets"],
        /// Acknowledgement policy of the receiver, as a word of the scenario format; null if unknown.
        receiver: Option<String>,
        /// The likeliest kind of path: `drop-tail`, `red`, `codel`, `fq-codel`, `policer`, `token-bucket`, `varying-rate`,
        /// `aggregating`, `other-traffic` or `limited-return-path`; null if the path was given or nothing resembles the capture.
        @(default) kind: Option<String>,
        /// Kinds of path that explain the capture, the likeliest first; empty if the path was given.
        @(default) kinds: Vec<KindWeight> => nested,
        /// Packets that overtake each other on the paths that explain the capture; null if they keep their order, or the path was
        /// given.
        @(default) reordering: Option<Reordering> => nested,
        /// Names of the fields whose value is unknown.
        cannot_tell: Vec<String> => nested,
        /// Estimate of each inferred value, in the order of the fields above; empty if the path was given.
        estimates: Vec<PathEstimate> => nested,
    }
}

object! {
    /// A kind of path that explains the capture.
    pub struct KindWeight = "kind" {
        /// Kind.
        kind: String,
        /// Its share of all paths that explain the capture; the shares add up to one.
        weight: f64 [""; Share],
    }
}

object! {
    /// Packets that take a slower lane, so that others overtake them: medians over the paths that explain the capture.
    pub struct Reordering: Copy = "reordering" {
        /// Share of the packets on the slower lane.
        share: f64 [""; Share],
        /// Further delay of that lane.
        delay_ms: f64 ["ms"],
    }
}

object! {
    /// Certainty of one value of the path.
    pub struct PathEstimate = "estimate" {
        /// Name of the field of the path.
        field: String,
        /// Value in the field's unit; null if unknown, or if it is a word.
        value: Option<f64>,
        /// Value if it is a word; null otherwise.
        word: Option<String>,
        /// Lower end of the range in which the value lies; null if unknown.
        low: Option<f64>,
        /// Upper end of that range; null if unknown.
        high: Option<f64>,
        /// Evidence for the value, or the reason why it is unknown: a sentence without its full stop.
        how: String,
    }
}

object! {
    /// One captured connection beside its re-run in the simulator.
    pub struct ConnectionResult = "connection" {
        /// Application bytes that the sender transferred.
        bytes: u64 ["bytes"],
        /// Time from the first data packet to the last acknowledgement; null if the capture ends before.
        observed_completion_s: Option<f64> ["s"],
        /// The same time in the re-run; null if the re-run did not finish.
        rerun_completion_s: Option<f64> ["s"],
        /// Packets that the captured sender retransmitted.
        observed_retransmits: u64 ["packets"],
        /// Packets that the re-run retransmitted.
        rerun_retransmits: u64 ["packets"],
        /// Sender and receiver, each as `address:port`.
        name: String,
        /// Chain of labels of the re-run, with the initial slow-start threshold of its sender if that is finite:
        /// `slow-start+reno@ssthresh=300`.
        scheme: String,
        /// Initial slow-start threshold of the sender of the re-run, full-sized packets; null without one.
        rerun_initial_ssthresh_packets: Option<u64> ["packets"],
        /// Start-up of the captured connection: a sentence without its full stop.
        startup: String,
        /// Limits of the captured sender, each with its time.
        limited_by: LimitedBy => nested,
        /// End of the start-up of the re-run; null if its start-up lasted to the end.
        rerun_startup_exit: Option<StartupExit> => nested,
    }
}

object! {
    /// Limits of a captured sender, each with its time. The times add up to the time from its first data packet to its last with new data.
    pub struct LimitedBy: Copy Default = "limits" {
        /// Its congestion window, its pacing or the recovery from losses: the rest of the time.
        congestion_window_s: f64 ["s"],
        /// The receive window, which had no room for a full segment; 0 if the capture lacks the handshake with its scale.
        receive_window_s: f64 ["s"],
        /// The application, which had nothing more to send: a lower bound.
        application_s: f64 ["s"],
    }
}

impl LimitedBy {
    /// Share of the time for which the receive window was the limit; 0 without any time.
    pub fn receive_window_share(&self) -> f64 {
        let total = self.congestion_window_s + self.receive_window_s + self.application_s;
        if total > 0.0 { self.receive_window_s / total } else { 0.0 }
    }
}
