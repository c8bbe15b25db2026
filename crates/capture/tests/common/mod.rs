//! Synthetic captures, built byte by byte.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]

pub mod path;

use std::io::Write as _;

use etherparse::{PacketBuilder, TcpOptionElement};
use firstflight_capture::{Capture, Connection, Error, read_from};

pub const SENDER: [u8; 4] = [10, 0, 0, 1];
pub const RECEIVER: [u8; 4] = [10, 0, 0, 2];
pub const PORTS: (u16, u16) = (40000, 80);

/// One TCP packet, from the sender of the data unless reversed.
#[derive(Clone, Debug)]
pub struct Tcp {
    pub from_sender: bool,
    pub seq: u32,
    pub ack: Option<u32>,
    pub syn: bool,
    pub fin: bool,
    pub ece: bool,
    pub cwr: bool,
    pub len: usize,
    pub window: u16,
    pub options: Vec<TcpOptionElement>,
    pub id: u16,
}

/// Data from the sender.
pub fn data(seq: u32, len: usize) -> Tcp {
    Tcp {
        from_sender: true,
        seq,
        ack: Some(1),
        syn: false,
        fin: false,
        ece: false,
        cwr: false,
        len,
        window: 1000,
        options: vec![],
        id: 0,
    }
}

/// An acknowledgement from the receiver.
pub fn ack(ack: u32) -> Tcp {
    Tcp { from_sender: false, ack: Some(ack), ..data(1, 0) }
}

impl Tcp {
    pub fn with(mut self, option: TcpOptionElement) -> Self {
        self.options.push(option);
        self
    }

    pub fn sack(self, from: u32, to: u32) -> Self {
        self.with(TcpOptionElement::SelectiveAcknowledgement((from, to), [None; 3]))
    }

    pub fn stamps(self, value: u32, echo: u32) -> Self {
        self.with(TcpOptionElement::Timestamp(value, echo))
    }

    /// The IPv4 packet.
    pub fn v4(&self) -> Vec<u8> {
        let (from, to) = if self.from_sender { (SENDER, RECEIVER) } else { (RECEIVER, SENDER) };
        let mut bytes = self.build(PacketBuilder::ipv4(from, to, 64));
        bytes[4..6].copy_from_slice(&self.id.to_be_bytes());
        bytes
    }

    pub fn v6(&self) -> Vec<u8> {
        let (mut from, mut to) = ([0; 16], [0; 16]);
        from[15] = if self.from_sender { 1 } else { 2 };
        to[15] = 3 - from[15];
        self.build(PacketBuilder::ipv6(from, to, 64))
    }

    fn build(&self, ip: etherparse::PacketBuilderStep<etherparse::IpHeaders>) -> Vec<u8> {
        let ports = if self.from_sender { PORTS } else { (PORTS.1, PORTS.0) };
        let mut tcp = ip.tcp(ports.0, ports.1, self.seq, self.window).options(&self.options).unwrap();
        if let Some(ack) = self.ack {
            tcp = tcp.ack(ack);
        }
        if self.syn {
            tcp = tcp.syn();
        }
        if self.fin {
            tcp = tcp.fin();
        }
        if self.ece {
            tcp = tcp.ece();
        }
        if self.cwr {
            tcp = tcp.cwr();
        }
        let mut bytes = Vec::new();
        tcp.write(&mut bytes, &vec![0; self.len]).unwrap();
        bytes
    }
}

/// `SYN`, `SYN-ACK` and `ACK` of a sender that opens the connection at 0 us, with a round trip of `rtt_us`,
/// data from number 1 on both sides and window scale 7.
pub fn handshake(rtt_us: u64, mss: u16) -> Vec<(u64, Tcp)> {
    let options = vec![TcpOptionElement::MaximumSegmentSize(mss), TcpOptionElement::WindowScale(7)];
    let syn = Tcp { syn: true, ack: None, options: options.clone(), ..data(0, 0) };
    let answer = Tcp { syn: true, seq: 0, options, ..ack(1) };
    vec![(0, syn), (rtt_us, answer), (rtt_us + 10, data(1, 0))]
}

/// A pcap file of raw IP packets with microsecond time stamps, little-endian.
pub fn pcap(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    pcap_of(101, packets)
}

pub fn pcap_of(link_type: u32, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 262_144, link_type] {
        file.extend(u32::to_le_bytes(word));
    }
    for (us, packet) in packets {
        let len = packet.len() as u32;
        for word in [(us / 1_000_000) as u32, (us % 1_000_000) as u32, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

pub fn pcap_of_tcp(packets: &[(u64, Tcp)]) -> Vec<u8> {
    let packets: Vec<_> = packets.iter().map(|(us, tcp)| (*us, tcp.v4())).collect();
    pcap(&packets)
}

pub fn read_bytes(bytes: &[u8]) -> Result<Capture, Error> {
    read_from(bytes, "test.pcap")
}

/// The only connection of a capture.
pub fn only(packets: &[(u64, Tcp)]) -> Connection {
    let mut capture = read_bytes(&pcap_of_tcp(packets)).unwrap();
    assert_eq!(capture.connections.len(), 1, "{:?}", capture.warnings);
    capture.connections.remove(0)
}

/// A pcapng block.
pub fn block(big_endian: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let word = |word: u32| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
    let padded = body.len().next_multiple_of(4);
    let total = word(padded as u32 + 12);
    let mut block = Vec::new();
    block.write_all(&word(kind)).unwrap();
    block.extend(total);
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(total);
    block
}
