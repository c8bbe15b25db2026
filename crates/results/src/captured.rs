//! Captured connections: the objects of `firstflight connections --json`.

use crate::object::object;

object! {
    /// A captured connection that carried data. Its sender is the end that sent more. A value that the capture does not show is null.
    pub struct CapturedConnection = "captured connection" {
        /// Number in the capture, from 0, by the time of the first packet; `compare --connection` takes it.
        index: u64,
        /// Time at which the connection was open at the sender, from the first packet of the capture.
        start_s: f64 ["s"],
        /// Network of the client: a /24 of IPv4 or a /48 of IPv6.
        client_network: String,
        /// Sender and receiver, each as `address:port`.
        name: String,
        /// Data bytes that the sender sent, each counted once.
        bytes: u64 ["bytes"],
        /// Transfers of the sender: a connection that is kept alive has one for each request, and TLS adds one for its handshake.
        requests: u64,
        /// Shortest round trip, of the handshake or of data; null if no round trip was captured.
        rtt_ms: Option<f64> ["ms"],
        /// Data packets sent before the first acknowledgement of data; null if the capture lacks the handshake.
        first_flight_packets: Option<u64> ["packets"],
        /// Whether the first flight was paced: it left over a tenth of the round trip or more, without a gap of half of that time. Null if
        /// the capture was not taken at the sender, and if the flight is too short to show it.
        first_flight_paced: Option<bool>,
        /// Initial window of the sender: the first flight that the congestion window ended. Null if the sender had no more data to send,
        /// or no room in the receive window, at every first flight.
        initial_window_packets: Option<u64> ["packets"],
        /// End of the start-up; null if the window grew to the end, or the capture does not show its end.
        startup_exit: Option<CapturedExit> => nested,
        /// Limit that held the sender back for longest: `congestion-window` (pacing and recovery from losses count here),
        /// `receive-window` or `application`. Null if nothing did, and if the capture lacks the scale of the receive window.
        limited_by: Option<String>,
        /// Time for which it did.
        limited_s: Option<f64> ["s"],
        /// Data packets sent, with retransmissions.
        packets: u64 ["packets"],
        /// Data packets retransmitted.
        retransmitted_packets: u64 ["packets"],
        /// Point of capture on the path: `sender`, `receiver`, `middle` or `unknown`.
        captured_at: String,
        /// Transport protocol: `tcp` or `quic`.
        transport: String,
        /// Source of the packets: `segments` of TCP, the `qlog` of one end of QUIC, QUIC that a key log `opened`, or the `datagrams` of encrypted QUIC, whose acknowledgements
        /// and losses are modelled.
        source: String,
        /// Registers of the sender, if its qlog has them.
        registers: Option<CapturedRegisters> => nested,
        /// Transfers of the sender that the capture shows to the end, in order.
        transfers: Vec<CapturedTransfer> => nested,
    }
}

object! {
    /// Captured end of a start-up.
    pub struct CapturedExit = "captured exit" {
        /// Time since the first data packet.
        time_s: f64 ["s"],
        /// Data in flight at that time.
        cwnd_packets: f64 ["packets"],
        /// Reason, as far as packets show it: `loss`, `mark` (the receiver echoed a congestion mark), or `slowed` (the flight stopped
        /// doubling without either: a delay or threshold rule, or a paced scheme).
        reason: String,
    }
}

object! {
    /// Registers that the qlog of a sender reports, in the bytes of its congestion control: packets without IP and UDP headers.
    pub struct CapturedRegisters = "captured registers" {
        /// First congestion window.
        first_window_bytes: Option<u64> ["bytes"],
        /// Largest congestion window.
        largest_window_bytes: Option<u64> ["bytes"],
        /// Last congestion window.
        last_window_bytes: Option<u64> ["bytes"],
        /// First slow-start threshold that was set; null if none was.
        first_threshold_bytes: Option<u64> ["bytes"],
    }
}

object! {
    /// Transfer of a captured sender: its data until the receiver, which has all of it, sends data again.
    pub struct CapturedTransfer: Copy = "captured transfer" {
        /// Data bytes.
        bytes: u64 ["bytes"],
        /// Time of its first data packet, since that of the connection.
        begin_s: f64 ["s"],
        /// Time from then until the sender has the acknowledgement of the last byte.
        completion_s: f64 ["s"],
        /// Part of that time for which the sender had nothing to send: a lower bound.
        application_limited_s: f64 ["s"],
    }
}
