//! Capture of the first connection of a run at its sender: data and ACKs, as far as a captured connection goes.
//!
//! A sender runs ahead of others, but never of itself: where hops are computed together, its packets are the same as in a
//! [recording](super::record), which computes each hop by itself and takes several times as long.

use firstflight_capture::simulated::SimulatedPacket;
use firstflight_contract::Nanos;
use firstflight_sim::config::Network;
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::{Kind, Observer, Seen};
use firstflight_sim::outcome::{Outcome, simulate_observed};
use firstflight_sim::packet::{self, Blocks};
use firstflight_sim::sender::Sender;

use super::record::{Event, FlowRecording, SYN};

/// Packets of a connection at its sender, without its handshake.
#[derive(Clone, Debug, PartialEq)]
pub struct Capture {
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Data that was sent and ACKs that arrived, in order of time: up to the ACK of the bytes that were asked for, and the
    /// data sent after it until the next ACK.
    pub packets: Vec<(Nanos, SimulatedPacket)>,
    /// Whether the bytes that were asked for were acknowledged.
    pub whole: bool,
}

impl Capture {
    /// The capture that ends with the acknowledgement of `acked` bytes, of a connection that was recorded.
    pub fn of(recording: &FlowRecording, acked: u64) -> Self {
        let mut capture = Self { mss: recording.mss, packets: vec![], whole: false };
        for (at, event) in &recording.events {
            let packet = match event {
                Event::Data(data) => data_packet(recording, data.segment, data.payload),
                Event::Ack(_) if capture.whole => break,
                Event::Ack(ack) => ack_packet(recording, ack.next, &ack.blocks),
                _ => continue,
            };
            capture.add(*at, packet, acked);
        }
        capture
    }

    fn add(&mut self, at: u64, packet: SimulatedPacket, acked: u64) {
        if let SimulatedPacket::Ack { ack, .. } = packet {
            self.whole = ack >= acked;
        }
        self.packets.push((Nanos(at), packet));
    }
}

fn data_packet(connection: &FlowRecording, segment: u32, len: u32) -> SimulatedPacket {
    SimulatedPacket::Data { start: connection.offset(segment), len }
}

fn ack_packet(connection: &FlowRecording, next: u32, reported: &Blocks) -> SimulatedPacket {
    let mut blocks = [(0, 0); 4];
    let given = reported.iter().take_while(|(start, end)| end > start);
    for (block, &(start, end)) in blocks.iter_mut().zip(given) {
        *block = (connection.offset(start), connection.offset(end));
    }
    SimulatedPacket::Ack { ack: connection.offset(next), blocks }
}

/// Simulates `network` until `acked` bytes of its first connection, whose chain has the label `scheme`, are acknowledged, or the run
/// or the connection ends. The outcome is that of the part that was simulated. `None` without a connection.
pub(crate) fn capture(network: &Network, scheme: &str, acked: u64) -> Option<(Outcome, Capture)> {
    let config = network.flows.first()?;
    let watcher = Watcher {
        capture: Capture { mss: config.stack.mss, packets: vec![], whole: false },
        sizes: FlowRecording::new(config, scheme),
        header: config.header,
        acked,
        highest: 0,
        over: false,
    };
    let (outcome, watcher) = simulate_observed(network, Mode::Fused, watcher);
    Some((outcome, watcher.capture))
}

#[derive(Clone)]
struct Watcher {
    capture: Capture,
    /// Sizes of the segments.
    sizes: FlowRecording,
    header: u32,
    /// Bytes whose acknowledgement ends the capture.
    acked: u64,
    /// One past the highest segment sent.
    highest: u32,
    /// Whether nothing more belongs to the capture. The run ends a little later.
    over: bool,
}

impl Observer for Watcher {
    const ON: bool = true;

    #[inline]
    fn sent(&mut self, at: u64, packet: Seen, _retransmission: bool) {
        if packet.flow != 0 || packet.kind != Kind::Data || packet.seq == SYN || self.over {
            return;
        }
        let payload = packet.size - self.header;
        if packet.seq >= self.highest {
            self.highest = packet.seq + 1;
            if payload < self.sizes.mss {
                self.sizes.note_size(packet.seq, payload);
            }
        }
        self.capture.add(at, data_packet(&self.sizes, packet.seq, payload), self.acked);
    }

    #[inline]
    fn arrived(&mut self, at: u64, packet: Seen) {
        let is_ack = packet.kind == Kind::Ack && packet.flags & packet::PUSH_SYN == 0;
        if packet.flow != 0 || !is_ack || self.over {
            return;
        }
        self.over = self.capture.whole;
        if !self.over {
            self.capture.add(at, ack_packet(&self.sizes, packet.seq, &packet.blocks), self.acked);
        }
    }

    #[inline]
    fn acted(&mut self, _at: u64, flow: u32, sender: &Sender) {
        self.over |= flow == 0 && sender.finished();
    }

    fn is_full(&self) -> bool {
        self.over
    }
}
