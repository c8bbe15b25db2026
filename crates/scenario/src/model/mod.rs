//! What an experiment is once its file has been read: plain values, every default filled in, every quantity in
//! base units.
//!
//! Windows and transfer sizes are bytes of payload, as in [`firstflight_contract`]; packet sizes are
//! bytes on the wire. Nothing here is drawn at random: a distribution is its parameters, and the host draws.

mod choices;
mod network;
mod queue;
mod traffic;

pub(crate) use choices::words;
pub use choices::*;
pub use network::*;
pub use queue::*;
pub use traffic::*;

use firstflight_contract::Nanos;

use crate::profile::Profile;

/// One experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// For people; empty if not given.
    pub title: String,
    /// When to stop; without it, once every flow has finished.
    pub duration: Option<Nanos>,
    /// What every random stream of the run derives from.
    pub seed: u64,
    /// What the traffic crosses.
    pub network: Network,
    /// Packet sizes on the wire.
    pub packet: Packet,
    /// TCP traffic, one entry for each `[[flow]]`, in file order.
    pub flows: Vec<FlowGroup>,
    /// Cross traffic without congestion control, in file order.
    pub udp: Vec<UdpSource>,
}

/// Packet sizes on the wire, headers included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// A full data packet, bytes.
    pub size: u32,
    /// An ACK, bytes; without it, the headers of the flow's profile.
    pub ack_size: Option<u32>,
}

impl Packet {
    /// Payload bytes of a full packet of a flow of `profile`.
    pub const fn payload(&self, profile: Profile) -> u32 {
        self.size - profile.stack().header
    }

    /// Bytes on the wire of an ACK to a flow of `profile`.
    pub const fn ack(&self, profile: Profile) -> u32 {
        match self.ack_size {
            Some(size) => size,
            None => profile.stack().header,
        }
    }
}
