//! The row of a server: how it sends, computed from the packets between the server and its client.
//!
//! [`row()`] is a function of its arguments: it reads no clock and does no I/O. The packets may be those of a real server across an
//! emulated path, or those of a simulated sender. Times are nanoseconds on any clock that all packets and responses of one connection share.
//!
//! Definitions:
//! - A packet of the server is *data* if its payload has at least [`LEAST`] bytes. Smaller packets carry acknowledgements alone.
//! - The *acknowledgement* of a packet is the first packet that the client sends when or after the packet has arrived. A packet that the
//!   path lost has the acknowledgement of the next packet that arrived.
//! - A *round* begins with its first packet. It ends before the first packet that leaves when or after the acknowledgement of the round's
//!   first arrived packet has reached the server. The first round begins with the first data after the request.
//! - Bytes *in flight* are those of the packets that have left and whose acknowledgement has not reached the server.
//! - A *burst* is a group of packets less than [`GAP`] apart.

mod flights;
mod lost;
mod rounded;
mod row;

pub use flights::acknowledged;
pub use lost::{By, Repair, ThirdLost, third_lost};
pub use row::{AfterIdle, Burst, End, FirstFlight, Identity, PathTerms, Reason, Round, Row, Transfer, row};

use firstflight_contract::Nanos;

/// Least payload of a packet that counts as data, bytes.
pub const LEAST: u32 = 100;
/// Number of the data packet that a response with a loss loses.
pub const LOST: u32 = 3;
/// Least time between two bursts.
pub const GAP: Nanos = Nanos::from_micros(500);

/// A packet between a server and its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Whether the server sent it, and not the client.
    pub from_server: bool,
    /// Time at which it left its sender.
    pub left: Nanos,
    /// Time at which it reached the other end; `None` if the path lost it.
    pub arrived: Option<Nanos>,
    /// Bytes of the payload of TCP or UDP: without the headers of IP, TCP and UDP.
    pub bytes: u32,
}

impl Packet {
    /// Whether it is data of the server.
    pub fn is_data(&self) -> bool {
        self.from_server && self.bytes >= LEAST
    }
}

/// A response, with the packets of its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Bytes of the body.
    pub bytes: u64,
    /// Time at which the client sent the request.
    pub requested: Nanos,
    /// Time at which the request reached the server.
    pub asked: Nanos,
    /// Time at which the client had the last byte.
    pub finished: Nanos,
    /// Packets of both directions until the end of the response, in any order. Packets that the server sent before `asked` are left out of
    /// all results, so that they may be there.
    pub packets: Vec<Packet>,
}
