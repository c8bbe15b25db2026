//! Capture of the first connection of a run at its sender: data and ACKs, as far as a captured connection goes.
//!
//! A sender runs ahead of others, but never of itself: where hops are computed together, its packets are the same as in a
//! [recording](super::record), which computes each hop by itself and takes several times as long.

use firstflight_capture::Source;
use firstflight_capture::simulated::{LEAST_DATA, Simulated, SimulatedPacket, full_size};
use firstflight_contract::Nanos;
use firstflight_sim::config::Network;
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::{Kind, Observer, Seen};
use firstflight_sim::outcome::{Outcome, simulate_observed};
use firstflight_sim::packet::{self, Blocks};
use firstflight_sim::sender::Sender;

use super::record::{Data, Event, FlowRecording, SYN};
use super::sizes::Sizes;

/// Capture that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Bytes whose acknowledgement ends it.
    pub acked: u64,
    /// Source of the captured packets that it is compared with. Where datagrams are encrypted, those without data count as data.
    pub source: Source,
}

/// Packets of a connection at its sender, without its handshake.
#[derive(Clone, Debug, PartialEq)]
pub struct Capture {
    /// Source of captured packets of this form.
    source: Source,
    /// Payload of a full segment, or data of a full datagram, bytes.
    mss: u32,
    /// Headers and tags of a full packet, bytes.
    header: u32,
    /// Data that was sent and ACKs that arrived, in order of time: up to the ACK of the bytes that were asked for, and the
    /// data sent after it until the next ACK.
    packets: Vec<(Nanos, SimulatedPacket)>,
    /// Whether the bytes that were asked for were acknowledged.
    pub whole: bool,
}

impl Capture {
    /// The capture of a connection that was recorded; `header` is the length of its headers up to that of TCP or UDP, bytes.
    pub fn of(recording: &FlowRecording, header: u32, wanted: Wanted) -> Self {
        let mut builder = Builder::new(recording, header, wanted);
        for (at, event) in &recording.events {
            match event {
                Event::Data(data) => builder.sent(*at, data),
                Event::Ack(_) if builder.capture.whole => break,
                Event::Ack(ack) => builder.arrived(*at, ack.next, &ack.blocks),
                _ => {}
            }
        }
        builder.finish()
    }

    /// The connection in the form of a captured one.
    pub fn into_simulated(self) -> Simulated {
        Simulated::new(self.source, self.mss, self.header, self.packets)
    }
}

/// Capture while it is made.
#[derive(Clone)]
struct Builder {
    capture: Capture,
    wanted: Wanted,
    /// Bytes of a full datagram of QUIC that carry no data.
    overhead: u32,
    /// Rule by which segments count as data.
    sizes: Sizes,
    /// One past the highest segment sent.
    highest: u32,
}

impl Builder {
    fn new(connection: &FlowRecording, header: u32, wanted: Wanted) -> Self {
        let (mss, overhead) = (connection.mss, connection.overhead);
        let source = if overhead > 0 { wanted.source } else { Source::Segments };
        let header = header + overhead;
        let capture = Capture { source, mss, header, packets: vec![], whole: false };
        Self { capture, wanted, overhead, sizes: Sizes::new(mss), highest: 0 }
    }

    fn sent(&mut self, at: u64, data: &Data) {
        let sealed = self.capture.source == Source::Datagrams && data.carried >= LEAST_DATA;
        let len = match data.payload {
            0 if sealed => data.carried - self.overhead,
            payload => payload,
        };
        if data.segment >= self.highest {
            self.highest = data.segment + 1;
            self.sizes.note(data.segment, len);
        }
        if len > 0 {
            let start = self.sizes.offset(data.segment);
            let packet = SimulatedPacket::Data { start, len, carried: data.carried };
            self.capture.packets.push((Nanos(at), packet));
        }
    }

    fn arrived(&mut self, at: u64, next: u32, reported: &Blocks) {
        let mut blocks = [(0, 0); 4];
        let given = reported.iter().take_while(|(start, end)| end > start);
        for (block, &(start, end)) in blocks.iter_mut().zip(given) {
            *block = (self.sizes.offset(start), self.sizes.offset(end));
        }
        let ack = self.sizes.offset(next);
        self.capture.whole = ack >= self.wanted.acked;
        self.capture.packets.push((Nanos(at), SimulatedPacket::Ack { ack, blocks }));
    }

    fn finish(mut self) -> Capture {
        let len = |(_, packet): &(Nanos, SimulatedPacket)| match packet {
            SimulatedPacket::Data { len, .. } => Some(*len),
            SimulatedPacket::Ack { .. } => None,
        };
        // Datagrams of QUIC grow while their sender searches the path's MTU.
        if self.overhead > 0 {
            let full = full_size(self.capture.packets.iter().filter_map(len));
            self.capture.mss = full.unwrap_or(self.capture.mss - self.overhead);
        }
        self.capture
    }
}

/// Simulates `network` until the wanted bytes of its first connection, whose chain has the label `scheme`, are acknowledged, or the run
/// or the connection ends. The outcome is that of the part that was simulated. `None` without a connection.
pub(crate) fn capture(network: &Network, scheme: &str, wanted: Wanted) -> Option<(Outcome, Capture)> {
    let config = network.flows.first()?;
    let builder = Builder::new(&FlowRecording::new(config, scheme), config.header, wanted);
    let watcher = Watcher { builder, header: config.header, over: false };
    let (outcome, watcher) = simulate_observed(network, Mode::Fused, watcher);
    Some((outcome, watcher.builder.finish()))
}

#[derive(Clone)]
struct Watcher {
    builder: Builder,
    header: u32,
    /// Whether nothing more belongs to the capture. The run ends a little later.
    over: bool,
}

impl Observer for Watcher {
    const ON: bool = true;

    #[inline]
    fn sent(&mut self, at: u64, packet: Seen, retransmission: bool) {
        if packet.flow != 0 || packet.kind != Kind::Data || packet.seq == SYN || self.over {
            return;
        }
        let carried = packet.size - self.header;
        let data =
            Data { segment: packet.seq, payload: packet.payload, carried, retransmission, ..Data::default() };
        self.builder.sent(at, &data);
    }

    #[inline]
    fn arrived(&mut self, at: u64, packet: Seen) {
        let is_ack = packet.kind == Kind::Ack && packet.flags & packet::PUSH_SYN == 0;
        if packet.flow != 0 || !is_ack || self.over {
            return;
        }
        self.over = self.builder.capture.whole;
        if !self.over {
            self.builder.arrived(at, packet.seq, &packet.blocks);
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
