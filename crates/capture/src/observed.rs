//! Behaviour of a captured connection, as plain values for tables and plots.

use std::net::{IpAddr, SocketAddr};

use firstflight_contract::Nanos;
use serde::Serialize;

use crate::aggregates::{Aggregates, aggregates};
use crate::bucket::{Bucket, bucket};
use crate::carried::{Transfer, first_flight_paced, initial_window, transfers};
use crate::ecn::CongestionMarks;
use crate::offered::{Offered, dropped, offered};
use crate::packet_trace::PacketTrace;
use crate::registers::Registers;
use crate::reordering::Reordering;
use crate::seconds::{self, Seconds};
use crate::sending::{Sending, sending};
use crate::sequence::TimeSequence;
use crate::series::Series;
use crate::source::Source;
use crate::startup::Startup;
use crate::summary::Summary;
use crate::threshold::{SlowStartEnd, end_without_delay};
use crate::vantage::Vantage;
use crate::view::View;
use crate::window::Windows;

/// A connection that carried data; the sender is the side that sent most of it.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Side that sent most of the data.
    pub sender: SocketAddr,
    /// The other side.
    pub receiver: SocketAddr,
    /// The end that opened the connection, or the one with the higher port if the capture lacks the handshake.
    pub client: IpAddr,
    /// Point of capture on the path.
    pub vantage: Vantage,
    /// Source of its packets, with the transport protocol.
    pub source: Source,
    /// Source of packets of the same form.
    pub(crate) form: Source,
    /// Behaviour of the connection.
    pub observed: Observed,
    /// Packets, for the estimators.
    pub(crate) trace: PacketTrace,
    /// The connection up to its first pause, if it has one.
    pub(crate) first: Option<Box<Connection>>,
}

impl Connection {
    /// Name of the connection: its sender and its receiver.
    pub fn name(&self) -> String {
        format!("{} > {}", self.sender, self.receiver)
    }

    /// Summary statistics, for comparison with simulations; `None` if nothing was delivered.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.trace)
    }

    /// The connection up to its first pause of a second or more with everything acknowledged: one transfer, as a simulation runs it again.
    /// The whole connection if it has no such pause, or carried less than a quarter of its data before.
    pub fn first_transfer(&self) -> &Self {
        self.first.as_deref().unwrap_or(self)
    }

    /// The transfers of the sender, in order: each is its data until the receiver, which has all of it, sends data again.
    pub fn transfers(&self) -> Vec<Transfer> {
        transfers(&self.trace, self.observed.first_data)
    }

    /// Initial window of the sender, packets: the first flight that the congestion window ended. `None` if the capture lacks the
    /// handshake, or if the application or the receive window ended every first flight.
    pub fn initial_window(&self) -> Option<u64> {
        self.observed.handshake.then(|| initial_window(&self.trace)).flatten()
    }

    /// Whether the sender paced its first flight; `None` if the capture does not show it.
    pub fn first_flight_paced(&self) -> Option<bool> {
        self.observed.handshake.then(|| first_flight_paced(&self.trace, self.shortest_rtt()?)).flatten()
    }

    /// Shortest round trip, of the handshake or of data.
    pub fn shortest_rtt(&self) -> Option<Nanos> {
        self.observed.handshake_rtt.into_iter().chain(self.observed.rtt_span.map(|(least, _)| least)).min()
    }

    /// Time-sequence graph of the sender's data. Its times count from the first data packet.
    pub fn time_sequence(&self) -> TimeSequence {
        TimeSequence::of(&self.trace)
    }

    /// Token bucket of a policer, if one dropped the packets of this connection; `None` with fewer than two losses.
    pub fn policing(&self) -> Option<Bucket> {
        bucket(&self.trace)
    }

    /// Aggregates in which packets left a bottleneck; `None` if the acknowledgements have no period.
    pub fn aggregates(&self) -> Option<Aggregates> {
        aggregates(&self.trace)
    }

    /// Packets in the order in which they were sent, with their fates.
    pub fn offered(&self) -> Vec<Offered> {
        offered(&self.trace)
    }

    /// Numbers of the transmissions that were lost, ascending, among all packets of data, from 1. A packet that was sent once and never arrived
    /// does not count: the capture may have ended before its acknowledgement.
    pub fn dropped(&self) -> Vec<u32> {
        dropped(&self.trace)
    }

    /// Source of packets of the same form: a log of QUIC without frames shows what encrypted datagrams do.
    pub fn form(&self) -> Source {
        self.form
    }

    /// Packets over time, with their rounds.
    pub fn sending(&self) -> Sending {
        sending(&self.trace)
    }

    /// Whether enough packets were overtaken to describe a path that reorders. One or two have no spread.
    pub fn shows_reordering(&self) -> bool {
        const FEW: u64 = 3;
        self.observed.reordering.as_ref().is_some_and(|seen| seen.packets >= FEW)
    }

    /// End of slow start before the first retransmission, without a sign of loss or delay, as at a threshold. `None` if it grew on, if the
    /// receive window limited it, or if the delay rule of Linux would have ended it there.
    pub fn slow_start_end(&self) -> Option<SlowStartEnd> {
        end_without_delay(&self.trace)
    }

    /// The congestion windows of the sender at its latest loss in congestion avoidance, and at the end. `None` if no
    /// acknowledgement of data was captured.
    pub fn windows(&self) -> Option<Windows> {
        Windows::of(&self.trace, self.observed.startup.exit.as_ref())
    }

    /// Full segments that the median acknowledgement newly reports while nothing is missing, and the share of the
    /// acknowledgements that report three or more; `None` without any.
    pub fn segments_per_ack(&self) -> Option<(u64, f64)> {
        let mss = u64::from(self.trace.mss.max(1));
        let acks = self.trace.acks.iter().filter(|ack| ack.pure && ack.bytes > 0 && !ack.disordered);
        let mut segments: Vec<u64> = acks.map(|ack| ack.bytes.div_ceil(mss)).collect();
        segments.sort_unstable();
        let few = segments.partition_point(|count| *count < 3);
        let many = 1.0 - few as f64 / segments.len().max(1) as f64;
        Some((*segments.get(segments.len() / 2)?, many))
    }

    /// Round trip of the first data packet that was acknowledged, against that of the handshake; `None` if the capture
    /// was not taken at the sender, lacks the handshake, or the first acknowledgement reports more than two packets.
    pub fn first_round_trip(&self) -> Option<FirstRoundTrip> {
        /// Packets of a burst leave a host within this time.
        const BURST: Nanos = Nanos::from_micros(100);
        let trace = &self.trace;
        let handshake = self.observed.handshake_rtt.filter(|_| trace.view == View::AtSender)?;
        let index = trace.pieces.iter().take(2).position(|piece| piece.prompt)?;
        let (first, piece) = (&trace.pieces[0], &trace.pieces[index]);
        let burst = piece.sent.saturating_sub(first.sent) <= BURST && piece.len == trace.mss;
        let rtt = piece.rtt().filter(|_| burst)?;
        Some(FirstRoundTrip {
            longer_by: rtt.as_secs_f64() - handshake.as_secs_f64(),
            packets: index as u32 + 1,
            syn_bytes: f64::from(trace.handshake_bytes) / 2.0,
        })
    }
}

/// Round trip of the first data packet against that of the handshake.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstRoundTrip {
    /// Difference, seconds.
    pub longer_by: f64,
    /// Number of full data packets sent in a burst up to the one that was acknowledged.
    pub packets: u32,
    /// Mean size of the packets of the handshake, bytes with IP and TCP headers.
    pub syn_bytes: f64,
}

/// Behaviour of a connection. Times count from the end of the handshake as the sender sees it, or from the
/// first packet if the capture has no handshake.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Observed {
    /// Time at which the connection was established, from the first packet of the capture.
    #[serde(serialize_with = "seconds::one", rename = "established_s")]
    pub established: Nanos,
    /// Whether the handshake is in the capture.
    pub handshake: bool,
    /// Data bytes sent, each counted once.
    pub bytes: u64,
    /// Data bytes known to have arrived, each counted once.
    pub delivered_bytes: u64,
    /// Time of the first data packet; until then the application sent nothing.
    #[serde(serialize_with = "seconds::one", rename = "first_data_s")]
    pub first_data: Nanos,
    /// Time at which the sender received the acknowledgement of the last data byte; `None` if the capture
    /// ends earlier.
    #[serde(serialize_with = "seconds::maybe", rename = "completion_s")]
    pub completion: Option<Nanos>,
    /// Time at which the sender received the first data of the receiver after the last byte had arrived, if
    /// any.
    #[serde(serialize_with = "seconds::maybe", rename = "answered_s")]
    pub answered: Option<Nanos>,
    /// Round trip of the handshake, if both SYNs were captured and sent once.
    #[serde(serialize_with = "seconds::maybe", rename = "handshake_rtt_s")]
    pub handshake_rtt: Option<Nanos>,
    /// Smallest and largest round trip of data segments that were sent once (Karn's rule).
    #[serde(serialize_with = "seconds::maybe_span", rename = "rtt_span_s")]
    pub rtt_span: Option<(Nanos, Nanos)>,
    /// Data packets sent, including retransmissions. Segments that the sender's hardware splits count as
    /// full-sized packets.
    pub packets: u64,
    /// Retransmitted data packets.
    pub retransmits: u64,
    /// Spurious retransmissions: the first transmission had arrived (DSACK, RFC 3708, or a timestamp that
    /// echoes it).
    pub spurious_retransmits: u64,
    /// Data packets whose first transmission did not arrive.
    pub lost_packets: u64,
    /// Packets that later ones overtook; `None` if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering: Option<Reordering>,
    /// Retransmissions a whole retransmission timeout after the last packet in either direction.
    pub timeouts: u64,
    /// Data packets that arrived with a congestion mark; `None` unless the connection uses accurate ECN (RFC 9768), which
    /// counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_marks: Option<CongestionMarks>,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Data packets sent before the first acknowledgement of data.
    pub first_flight_packets: u64,
    /// Maximum number of bytes in flight.
    pub max_flight_bytes: u64,
    /// Time without data to send, or with a partial segment held back, from the first data packet to the last with new
    /// data. A lower bound: an application that writes too little while data is in flight looks like a congestion window.
    #[serde(serialize_with = "seconds::one", rename = "application_limited_s")]
    pub application_limited: Nanos,
    /// Time during which the receive window had no room for a full segment, in the same span. Zero if the capture lacks
    /// the handshake, which contains the scale of the window.
    #[serde(serialize_with = "seconds::one", rename = "window_limited_s")]
    pub window_limited: Nanos,
    /// The rest of the same span: the congestion window limited the sender, or its pacing, or the recovery from losses.
    #[serde(serialize_with = "seconds::one", rename = "congestion_limited_s")]
    pub congestion_limited: Nanos,
    /// Start-up of the connection.
    pub startup: Startup,
    /// Registers that the sender reported in its qlog; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers: Option<Registers>,
    /// Flight, delivered bytes and round trips over time, for plots.
    pub series: Series,
}
