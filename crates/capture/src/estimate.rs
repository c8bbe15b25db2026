//! What a capture tells of a path: values with their uncertainty, or the reason why it cannot tell.

use serde::Serialize;

/// A value the capture tells, or why it does not.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Inferred<T> {
    /// The capture tells.
    Known(T),
    /// The capture cannot tell.
    CannotTell(Unknown),
}

impl<T> Inferred<T> {
    /// The value, where the capture tells it.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::CannotTell(_) => None,
        }
    }

    /// What stands in the way, where the capture cannot tell.
    pub fn unknown(&self) -> Option<&Unknown> {
        match self {
            Self::Known(_) => None,
            Self::CannotTell(unknown) => Some(unknown),
        }
    }

    pub(crate) fn cannot_tell(why: impl Into<String>) -> Self {
        Self::CannotTell(Unknown { why: why.into(), low: None, high: None })
    }
}

/// One number with the interval it lies in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Best single value, in the unit the field of [`PathEstimate`] names.
    pub value: f64,
    /// Lower end of the interval (about 95 % where it is statistical, a hard bound where it is not).
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// How it was measured, in one sentence for the reader of a report.
    pub how: String,
}

/// A value the capture cannot tell, with the bounds it does give.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unknown {
    /// The reason, in one sentence for the reader of a report.
    pub why: String,
    /// The value is at least this, where that much is known.
    pub low: Option<f64>,
    /// The value is at most this, where that much is known.
    pub high: Option<f64>,
}

/// How a receiver acknowledges: the labels of the scenario files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AckPolicy {
    /// An ACK for every data packet.
    AckEveryPacket,
    /// An ACK for every second packet, or after a timer (RFC 5681, section 4.2).
    DelayedAck,
    /// An ACK for every packet at first, for every second one later (Linux).
    QuickackThenDelayed,
}

impl AckPolicy {
    /// The label of the scenario files and of the JSON output.
    pub const fn label(self) -> &'static str {
        match self {
            Self::AckEveryPacket => "ack-every-packet",
            Self::DelayedAck => "delayed-ack",
            Self::QuickackThenDelayed => "quickack-then-delayed",
        }
    }
}

/// The path that the connections of a capture took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathEstimate {
    /// Bottleneck rate in bit/s of IP packets (headers included, link-layer framing not).
    pub rate: Inferred<Estimate>,
    /// Two-way propagation in seconds: no queueing, no serialisation at the bottleneck.
    pub rtt: Inferred<Estimate>,
    /// Drop-tail buffer in full-sized packets waiting, the one in transmission not counted.
    pub buffer: Inferred<Estimate>,
    /// Probability that a data packet is lost for another reason than a full buffer.
    pub loss: Inferred<Estimate>,
    /// Payload of a full segment in bytes, TCP options already taken off.
    pub mss: Inferred<Estimate>,
    /// Size of a full data packet in bytes, IP and TCP headers included.
    pub packet: Inferred<Estimate>,
    /// Size of a pure acknowledgement in bytes, IP and TCP headers included.
    pub ack: Inferred<Estimate>,
    /// Initial window of the sender in full-sized packets.
    pub initial_window: Inferred<Estimate>,
    /// Largest receive window advertised, in bytes.
    pub receive_window: Inferred<Estimate>,
    /// How the receiver acknowledges.
    pub receiver: Inferred<AckPolicy>,
    /// What the reader should know of the whole: connections left out, a vantage point that limits what can be told.
    pub notes: Vec<String>,
}

impl PathEstimate {
    /// The names of the path values (as the JSON contract spells them) the capture cannot tell, in its order.
    pub fn cannot_tell(&self) -> Vec<&'static str> {
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
