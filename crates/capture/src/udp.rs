//! UDP packets of a capture, of which QUIC is recognised: a capture of QUIC connections shows no acknowledgements.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::packet::UdpPacket;

/// Maximum number of UDP flows that are counted apart.
const MAX_FLOWS: usize = 1 << 16;

/// Port of HTTP/3, the only one that QUIC has in common use.
const HTTPS: u16 = 443;

/// Counts of the UDP packets.
#[derive(Debug, Default)]
pub(crate) struct Udp {
    /// Flows, lower address first: whether they are QUIC, packets, bytes.
    flows: BTreeMap<(SocketAddr, SocketAddr), (bool, u64, u64)>,
    packets: u64,
}

impl Udp {
    pub(crate) fn add(&mut self, packet: &UdpPacket) {
        self.packets += 1;
        let key = (packet.from.min(packet.to), packet.from.max(packet.to));
        if self.flows.len() >= MAX_FLOWS && !self.flows.contains_key(&key) {
            return;
        }
        let (quic, packets, bytes) = self.flows.entry(key).or_default();
        *quic |= packet.quic || [packet.from.port(), packet.to.port()].contains(&HTTPS);
        *packets += 1;
        *bytes += u64::from(packet.payload);
    }

    /// Number of packets.
    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    /// Sentence about the QUIC connections; `None` if there are none.
    pub(crate) fn quic(&self) -> Option<String> {
        let quic = || self.flows.values().filter(|(quic, ..)| *quic);
        let (count, packets, bytes) = (
            quic().count(),
            quic().map(|(_, packets, _)| packets).sum::<u64>(),
            quic().map(|(.., bytes)| bytes).sum::<u64>(),
        );
        let least = if self.flows.len() >= MAX_FLOWS { "at least " } else { "" };
        let connections = if count == 1 { "connection" } else { "connections" };
        (count > 0).then(|| {
            format!(
                "{least}{count} {connections} of UDP with {packets} packets and {bytes} bytes look like QUIC, which is not \
                 TCP: its acknowledgements are encrypted, so that only the sizes and times of its packets could be told"
            )
        })
    }
}
