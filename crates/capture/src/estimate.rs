//! Inferred properties of a path: values with their uncertainty, or the reason why a value is unknown.

use serde::Serialize;

/// A value inferred from a capture, or the reason why it is unknown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Inferred<T> {
    /// The value was inferred.
    Known(T),
    /// The value could not be inferred.
    #[serde(rename = "cannot_tell")]
    Unknown(Unknown),
}

impl<T> Inferred<T> {
    /// Value, if it was inferred.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown(_) => None,
        }
    }

    /// Reason and bounds, if the value was not inferred.
    pub fn unknown(&self) -> Option<&Unknown> {
        match self {
            Self::Known(_) => None,
            Self::Unknown(unknown) => Some(unknown),
        }
    }

    pub(crate) fn not_inferred(why: impl Into<String>) -> Self {
        Self::Unknown(Unknown { why: why.into(), low: None, high: None })
    }
}

/// A number with the interval that contains it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Best single value, in the unit given for the field of [`PathEstimate`].
    pub value: f64,
    /// Lower end of the interval: about 95 % if it is statistical, otherwise a hard bound.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Method of measurement, one sentence for a report.
    pub how: String,
}

/// A value that could not be inferred, with its known bounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unknown {
    /// Reason, one sentence for a report.
    pub why: String,
    /// Lower bound, if known.
    pub low: Option<f64>,
    /// Upper bound, if known.
    pub high: Option<f64>,
}

/// ACK policy of a receiver, with the labels of the scenario files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AckPolicy {
    /// One ACK per data packet.
    AckEveryPacket,
    /// One ACK per two packets, or after a timer (RFC 5681, section 4.2).
    DelayedAck,
    /// One ACK per packet at first, later one per two packets (Linux).
    QuickackThenDelayed,
    /// `QuickackThenDelayed`, and one ACK per packet whenever the window opens: Linux with its default receive buffer.
    TunedBuffer,
}

impl AckPolicy {
    /// Label in scenario files and in the JSON output.
    pub const fn label(self) -> &'static str {
        match self {
            Self::AckEveryPacket => "ack-every-packet",
            Self::DelayedAck => "delayed-ack",
            Self::QuickackThenDelayed => "quickack-then-delayed",
            Self::TunedBuffer => "tuned-buffer",
        }
    }
}

/// Opening of a receive window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Opening {
    /// Window that the first acknowledgement offers, bytes.
    pub first: u64,
    /// Whether the window still opened in the last eighth of the acknowledgements.
    pub goes_on: bool,
}

/// Path of the connections of a capture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathEstimate {
    /// Bottleneck rate, bit/s of IP packets (with headers, without link-layer framing).
    pub rate: Inferred<Estimate>,
    /// Two-way propagation delay, seconds: no queueing and no serialisation at the bottleneck.
    pub rtt: Inferred<Estimate>,
    /// Drop-tail buffer, full-sized packets that can wait besides the one in transmission.
    pub buffer: Inferred<Estimate>,
    /// Probability that a data packet is lost for another reason than a full buffer.
    pub loss: Inferred<Estimate>,
    /// Payload of a full segment, bytes, without TCP options.
    pub mss: Inferred<Estimate>,
    /// Size of a full data packet, bytes, with IP and TCP headers.
    pub packet: Inferred<Estimate>,
    /// Size of a pure acknowledgement, bytes, with IP and TCP headers.
    pub ack: Inferred<Estimate>,
    /// Initial window of the sender, full-sized packets.
    pub initial_window: Inferred<Estimate>,
    /// Largest receive window advertised, bytes.
    pub receive_window: Inferred<Estimate>,
    /// Opening of the receive window; `None` if no acknowledgement shows a window.
    pub opening: Option<Opening>,
    /// ACK policy of the receiver.
    pub receiver: Inferred<AckPolicy>,
    /// Notes on the estimate as a whole: connections left out, limits of the point of capture.
    pub notes: Vec<String>,
}

impl PathEstimate {
    /// Names, as in the JSON contract and in its order, of the path values that could not be inferred.
    pub fn unknown_fields(&self) -> Vec<&'static str> {
        let numbers = [
            ("rate_bit_s", &self.rate),
            ("rtt_ms", &self.rtt),
            ("buffer_packets", &self.buffer),
            ("loss", &self.loss),
            ("mss_bytes", &self.mss),
            ("initial_window_packets", &self.initial_window),
        ];
        let mut names: Vec<_> =
            numbers.iter().filter(|(_, value)| value.known().is_none()).map(|(name, _)| *name).collect();
        if self.receiver.known().is_none() {
            names.push("receiver");
        }
        names
    }
}
