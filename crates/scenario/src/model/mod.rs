//! An experiment after its file was read: plain values, every default filled in, every quantity in base units.
//!
//! Windows and transfer sizes are bytes of payload, as in [`firstflight_contract`]; packet sizes are
//! bytes on the wire. Nothing here is random: a distribution is its parameters, and the host draws from it.

mod network;
mod queue;
mod traffic;

pub use crate::choices::*;
pub use crate::stack::FlowGroup;
pub use network::*;
pub use queue::*;
pub use traffic::*;

use firstflight_contract::Nanos;

use crate::profile::Profile;

/// One experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Title; empty if not given.
    pub title: String,
    /// Time at which the run stops; if `None`, when every flow has finished.
    pub duration: Option<Nanos>,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// The network.
    pub network: Network,
    /// Packet sizes on the wire.
    pub packet: Packet,
    /// TCP traffic: an entry for each `[[flow]]`, then cross traffic of the topology, `[[telnet]]` and `[[web]]`.
    pub flows: Vec<FlowGroup>,
    /// Cross traffic without congestion control, in file order.
    pub udp: Vec<UdpSource>,
}

/// Packet sizes on the wire, headers included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// A full data packet, bytes.
    pub size: u32,
    /// An ACK, bytes; if `None`, the headers of the flow's profile.
    pub ack_size: Option<u32>,
}

impl Packet {
    /// Payload bytes of a full packet of a flow of `profile`; of QUIC, UDP payload of a full datagram at first.
    pub const fn payload(&self, profile: Profile) -> u32 {
        let largest = self.largest(profile);
        match profile.stack().rules.datagrams {
            Some(datagrams) if datagrams.first < largest => datagrams.first,
            _ => largest,
        }
    }

    /// Payload bytes of the largest packet of a flow of `profile` that the network carries; of QUIC, UDP payload.
    pub const fn largest(&self, profile: Profile) -> u32 {
        self.size - profile.stack().header
    }

    /// Bytes on the wire of an ACK to a flow of `profile`.
    pub const fn ack(&self, profile: Profile) -> u32 {
        match self.ack_size {
            Some(size) => size,
            None => profile.stack().ack_size(),
        }
    }
}
