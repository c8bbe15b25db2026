//! What one captured connection did: plain values for tables and plots.

use crate::seconds::Seconds;
use std::net::SocketAddr;

use firstflight_contract::Nanos;
use serde::{Serialize, Serializer};

use crate::trace::Trace;

/// A TCP connection that carried data, seen from the side that sent most of it.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The side that sent most of the data.
    pub sender: SocketAddr,
    /// The other side.
    pub receiver: SocketAddr,
    /// Where on the path the capture was taken.
    pub vantage: Vantage,
    /// What the connection did.
    pub observed: Observed,
    /// The packets, for the estimators.
    pub(crate) trace: Trace,
}

/// Where on the path a capture was taken, by which half of the round trip lies on which side of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Vantage {
    /// At the sender of the data, or within a tenth of the round trip of it.
    Sender,
    /// At the receiver of the data, or within a tenth of the round trip of it.
    Receiver,
    /// Between the two.
    Middle,
    /// Not told by handshake or timestamps.
    Unknown,
}

/// What a connection did. Times count from the moment the connection was established (the handshake's end as the
/// sender sees it), or from the first packet where the capture has no handshake.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Observed {
    /// When the connection was established, from the first packet of the capture.
    #[serde(serialize_with = "seconds", rename = "established_s")]
    pub established: Nanos,
    /// Whether the handshake is in the capture.
    pub handshake: bool,
    /// Data bytes sent, each counted once.
    pub bytes: u64,
    /// Data bytes known to have arrived, each counted once.
    pub delivered_bytes: u64,
    /// When the first data packet was sent: what the application took to speak.
    #[serde(serialize_with = "seconds", rename = "first_data_s")]
    pub first_data: Nanos,
    /// When the sender had the acknowledgement of the last data byte; `None` where the capture ends before that.
    #[serde(serialize_with = "maybe_seconds", rename = "completion_s")]
    pub completion: Option<Nanos>,
    /// When the sender had the receiver's first data after the last byte arrived, if it answered.
    #[serde(serialize_with = "maybe_seconds", rename = "answered_s")]
    pub answered: Option<Nanos>,
    /// SYN to SYN-ACK as the opener sees it (or its mirror image), where the capture has it and neither came twice.
    #[serde(serialize_with = "maybe_seconds", rename = "handshake_rtt_s")]
    pub handshake_rtt: Option<Nanos>,
    /// Smallest and largest round trip over the data segments (Karn's rule: sent once), in this order.
    #[serde(serialize_with = "maybe_span", rename = "rtt_span_s")]
    pub rtt_span: Option<(Nanos, Nanos)>,
    /// Data packets sent, retransmissions included; what the sender's hardware cuts is counted in full-sized pieces.
    pub packets: u64,
    /// Data packets sent again.
    pub retransmits: u64,
    /// Of these, the ones whose first transmission had arrived (DSACK, RFC 3708; or a timestamp that echoes the first one).
    pub spurious_retransmits: u64,
    /// Data packets whose first transmission did not arrive.
    pub lost_packets: u64,
    /// Retransmissions that came a whole retransmission timeout after the last sign of life.
    pub timeouts: u64,
    /// Payload of a full segment.
    pub mss: u32,
    /// Data packets sent before the first acknowledgement of data came.
    pub first_flight_packets: u64,
    /// Largest number of bytes in flight.
    pub max_flight_bytes: u64,
    /// How long the connection had nothing to send or held back a partial segment.
    #[serde(serialize_with = "seconds", rename = "application_limited_s")]
    pub application_limited: Nanos,
    /// How long the receive window held the sender back.
    #[serde(serialize_with = "seconds", rename = "window_limited_s")]
    pub window_limited: Nanos,
    /// How start-up went.
    pub startup: Startup,
    /// Flight, delivered bytes and round trips over time, for plots.
    pub series: Series,
}

/// How the start-up of a connection went, as far as packets show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Startup {
    /// Where the window stopped growing by a segment for every segment acknowledged; `None`: it never did.
    pub exit: Option<StartupExit>,
}

/// The end of start-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartupExit {
    /// When, in the time of [`Observed`].
    #[serde(serialize_with = "seconds", rename = "time_s")]
    pub time: Nanos,
    /// The window then, taken to be what was in flight, in full-sized packets.
    pub cwnd_packets: f64,
    /// Why, as far as packets show it.
    pub reason: ExitReason,
}

/// What ended start-up, as far as packets show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitReason {
    /// A packet was sent again.
    Loss,
    /// The receiver echoed a congestion mark.
    Mark,
    /// The flight stopped doubling without either: a delay or threshold rule, or a paced scheme.
    Slowed,
}

impl ExitReason {
    /// The word used in tables.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Mark => "mark",
            Self::Slowed => "slowed",
        }
    }
}

/// Curves of a connection, thinned to at most [`Series::POINTS`] points that keep every peak and trough worth a pixel.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// (seconds, bytes in flight).
    pub flight: Vec<(f64, f64)>,
    /// (seconds, bytes delivered, each counted once).
    pub delivered: Vec<(f64, f64)>,
    /// (seconds when the acknowledgement came, round trip in seconds).
    pub rtt: Vec<(f64, f64)>,
    /// Seconds when data was sent again, in order; each of them at most once.
    pub retransmissions: Vec<f64>,
}

impl Series {
    /// Most points in a curve.
    pub const POINTS: usize = 2000;
}

fn seconds<S: Serializer>(at: &Nanos, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(at.as_secs_f64())
}

fn maybe_seconds<S: Serializer>(at: &Option<Nanos>, to: S) -> Result<S::Ok, S::Error> {
    at.map(Seconds::as_secs_f64).serialize(to)
}

fn maybe_span<S: Serializer>(span: &Option<(Nanos, Nanos)>, to: S) -> Result<S::Ok, S::Error> {
    span.map(|(low, high)| (low.as_secs_f64(), high.as_secs_f64())).serialize(to)
}
