//! Transfers of given sizes between quinn's own client and server, without sockets and without a clock: the caller carries
//! datagrams and says what time it is. The network may be sockets of this machine, an emulator, or links of a simulator in
//! virtual time ([`virtual_time`]).
//!
//! The client opens a stream and asks for a number of bytes; the server answers on the same stream. With a ticket of an
//! earlier connection the client asks in its first flight (0-RTT).

mod credentials;
mod peer;
pub mod virtual_time;

pub use credentials::{Credentials, CredentialsError};
pub use peer::{Datagram, Fetched, Peer, Served, Settings};
pub use quinn_proto::EcnCodepoint;
