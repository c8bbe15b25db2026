//! Point of capture on the path.

use serde::Serialize;

/// Point of capture on the path, from the two halves of the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Vantage {
    /// At the sender of the data, or within a tenth of the round trip of it.
    Sender,
    /// At the receiver of the data, or within a tenth of the round trip of it.
    Receiver,
    /// Between sender and receiver.
    Middle,
    /// Unknown: neither handshake nor timestamps show it.
    Unknown,
}
