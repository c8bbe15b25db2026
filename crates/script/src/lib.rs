//! The line protocol of a sender that is driven from outside.
//!
//! A script is a list of events, one JSON object on each line: the handshake is done, the application writes, an ACK
//! arrives, time passes. Each [`Line`] is answered by an [`Answer`]: the segments that left, and the registers. The
//! command `firstflight sender` answers with the simulator's sender, the laboratory with a socket of the Linux kernel.

mod answer;
mod error;
mod line;

pub use answer::{Answer, Registers, Sent, State};
pub use error::Error;
pub use line::{Ack, Echo, Event, LONGEST, Line, MSS, Opening};
