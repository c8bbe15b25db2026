//! Interface of a controller: calls, and the answer to each.

use firstflight_contract::Nanos;
use thiserror::Error;

/// A packet of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Number, counted from zero.
    pub number: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// Time at which it left.
    pub sent_at: Nanos,
}

/// One acknowledgement with all that it shows, and the packets that left since the call before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Time since the flow began.
    pub at: Nanos,
    /// Payload bytes of a full packet.
    pub mss: u64,
    /// Packets that left since the call before.
    pub sent: Vec<Packet>,
    /// Newly acknowledged packets, ascending.
    pub acked: Vec<Packet>,
    /// Packets newly declared lost, ascending.
    pub lost: Vec<Packet>,
    /// Bytes in flight before the call.
    pub before: u64,
    /// Bytes in flight after the call, before anything is sent in response.
    pub after: u64,
    /// Bytes sent before the call.
    pub sent_total: u64,
    /// Round trip of the newest acknowledged packet; `None` without a new sample.
    pub rtt: Option<Nanos>,
    /// Smallest round trip so far.
    pub min_rtt: Nanos,
    /// Smoothed round trip.
    pub srtt: Nanos,
    /// The sender has no more data.
    pub limited: bool,
    /// The lost packets are a persistent congestion (RFC 9002 section 7.6).
    pub persistent: bool,
    /// Number of the next packet.
    pub next: u64,
    /// Time at which the last packet left.
    pub last_sent_at: Nanos,
    /// Another flow began before this one, so that the driver's clock began before the flow.
    pub shares_path: bool,
}

/// Answer of a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Whether the start-up is over; `None` where a controller does not say it.
    pub over: Option<bool>,
}

/// A controller that gives no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Broken(pub String);

/// A congestion controller.
pub trait Controller {
    /// The answer to a call.
    ///
    /// # Errors
    /// [`Broken`] if it gives none.
    fn answer(&mut self, call: &Call) -> Result<Answer, Broken>;
}
