//! IPv4 and TCP headers for the packets of a recorded connection.

use etherparse::TcpOptionElement as Opt;
use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader};
use firstflight_hosts::trace::record::{AckArrival, Data, FlowRecording};

/// Initial sequence numbers of the sender and of the receiver; arbitrary.
const ISS: u32 = 0x1000_0000;
const IRS: u32 = 0x2000_0000;

/// The receiver's port: the discard service (RFC 863), which reads data and discards it.
const PORT: u16 = 9;

/// IPv4 and TCP headers without options, in bytes.
const BARE: u32 = 40;

/// The timestamps option with its padding, in bytes (RFC 7323, appendix A).
const TIMESTAMPS: u32 = 12;

/// Receive window that the sender advertises, in bytes. It receives no data.
const SENDERS_WINDOW: u64 = 65_535;

/// Largest shift of a window (RFC 7323 section 2.3).
const LARGEST_SHIFT: u8 = 14;

/// A captured packet: its headers, and its length on the wire in bytes.
pub(super) struct Captured {
    pub(super) headers: Vec<u8>,
    pub(super) length: u32,
}

/// Length of a data packet on the wire, in bytes.
pub(super) fn data_length(flow: &FlowRecording, data: &Data) -> u32 {
    BARE + timestamps_length(flow) + data.payload
}

/// Length of an ACK on the wire, in bytes.
pub(super) fn ack_length(flow: &FlowRecording, ack: &AckArrival) -> u32 {
    let blocks = ack.blocks.iter().take_while(|(start, end)| start < end).count() as u32;
    BARE + timestamps_length(flow) + if blocks == 0 { 0 } else { 4 + 8 * blocks }
}

fn timestamps_length(flow: &FlowRecording) -> u32 {
    if flow.timestamps { TIMESTAMPS } else { 0 }
}

/// Builder of the packets of one connection.
pub(super) struct Packets<'a> {
    flow: &'a FlowRecording,
    sender: [u8; 4],
    receiver: [u8; 4],
    port: u16,
    shift: u8,
    /// Last IP identifications of the sender and of the receiver.
    ids: [u16; 2],
}

/// Host that sends a packet.
enum From {
    Sender,
    Receiver,
}

impl<'a> Packets<'a> {
    /// Builder for connection `number`; each connection has its own pair of addresses.
    pub(super) fn new(flow: &'a FlowRecording, number: usize) -> Self {
        let [_, a, b, c] = (number as u32 + 1).to_be_bytes();
        let fits = |shift: &u8| flow.window.div_ceil(1 << shift) <= u16::MAX.into();
        Self {
            flow,
            sender: [10, a, b, c],
            receiver: [10, 128 | a, b, c],
            port: 49_152 + (number % 16_384) as u16,
            shift: (0..LARGEST_SHIFT).find(fits).unwrap_or(LARGEST_SHIFT),
            ids: [0; 2],
        }
    }

    pub(super) fn syn(&mut self, at: u64) -> Captured {
        let mut tcp = TcpHeader::new(self.port, PORT, ISS, u16::MAX);
        tcp.syn = true;
        // RFC 3168 section 6.1.1.
        (tcp.ece, tcp.cwr) = (self.flow.ecn, self.flow.ecn);
        let options = self.handshake_options(at, None);
        self.packet(From::Sender, tcp, &options, 0, IpEcn::ZERO)
    }

    pub(super) fn syn_ack(&mut self, sent: u64, echo: u64, window: u64) -> Captured {
        let window = window.min(u16::MAX.into()) as u16;
        let mut tcp = TcpHeader::new(PORT, self.port, IRS, window);
        (tcp.syn, tcp.ack, tcp.acknowledgment_number) = (true, true, ISS + 1);
        tcp.ece = self.flow.ecn;
        let options = self.handshake_options(sent, Some(echo));
        self.packet(From::Receiver, tcp, &options, 0, IpEcn::ZERO)
    }

    /// The ACK that ends a handshake.
    pub(super) fn handshake_ack(&mut self, at: u64, echo: u64) -> Captured {
        let tcp = self.sender_header(0);
        let options = self.timestamps(at, Some(echo));
        self.packet(From::Sender, tcp, &options, 0, IpEcn::ZERO)
    }

    pub(super) fn data(&mut self, at: u64, data: &Data) -> Captured {
        let mut tcp = self.sender_header(self.flow.offset(data.segment));
        (tcp.psh, tcp.cwr) = (data.push, data.reduced);
        let options = self.timestamps(at, Some(data.echo).filter(|&echo| echo > 0));
        let ecn = if data.ecn_capable { IpEcn::TWO } else { IpEcn::ZERO };
        self.packet(From::Sender, tcp, &options, data.payload, ecn)
    }

    pub(super) fn ack(&mut self, ack: &AckArrival) -> Captured {
        let sequence = |segment: u32| ISS.wrapping_add(1).wrapping_add(self.flow.offset(segment) as u32);
        let mut tcp = TcpHeader::new(PORT, self.port, IRS + 1, self.window(ack.window));
        (tcp.ack, tcp.acknowledgment_number) = (true, sequence(ack.next));
        tcp.ece = ack.echoes_mark;
        let mut options = self.timestamps(ack.sent, Some(ack.echo));
        let block = |&(start, end): &(u32, u32)| (start < end).then(|| (sequence(start), sequence(end)));
        if let Some(first) = block(&ack.blocks[0]) {
            let rest = [block(&ack.blocks[1]), block(&ack.blocks[2]), None];
            options.extend([Opt::Noop, Opt::Noop, Opt::SelectiveAcknowledgement(first, rest)]);
        }
        self.packet(From::Receiver, tcp, &options, 0, IpEcn::ZERO)
    }

    /// Header of a packet from the sender, `offset` bytes into its data.
    fn sender_header(&self, offset: u64) -> TcpHeader {
        let sequence = ISS.wrapping_add(1).wrapping_add(offset as u32);
        let mut tcp = TcpHeader::new(self.port, PORT, sequence, self.window(SENDERS_WINDOW));
        (tcp.ack, tcp.acknowledgment_number) = (true, IRS + 1);
        tcp
    }

    /// Window field of an open connection, rounded up. Without a handshake no window scale is known, and none applies.
    fn window(&self, bytes: u64) -> u16 {
        let shift = if self.flow.handshake { self.shift } else { 0 };
        bytes.div_ceil(1 << shift).min(u16::MAX.into()) as u16
    }

    fn handshake_options(&self, at: u64, echo: Option<u64>) -> Vec<Opt> {
        // The MSS option includes the bytes that TCP options take of every segment (RFC 6691).
        let segment = self.flow.mss + timestamps_length(self.flow);
        let mut options = vec![Opt::MaximumSegmentSize(segment.min(u16::MAX.into()) as u16)];
        let mut timestamps = self.timestamps(at, echo);
        if self.flow.sack {
            // As in Linux, SACK-permitted replaces the padding before the timestamps.
            timestamps.retain(|option| *option != Opt::Noop);
            if timestamps.is_empty() {
                options.extend([Opt::Noop, Opt::Noop]);
            }
            options.push(Opt::SelectiveAcknowledgementPermitted);
        }
        options.extend(timestamps);
        options.extend([Opt::Noop, Opt::WindowScale(self.shift)]);
        options
    }

    fn timestamps(&self, at: u64, echo: Option<u64>) -> Vec<Opt> {
        if !self.flow.timestamps {
            return vec![];
        }
        // Linux's clock with a resolution of one millisecond. Zero means no timestamp, so times begin at one.
        let timestamp = |at: u64| (at / 1_000_000 + 1) as u32;
        vec![Opt::Noop, Opt::Noop, Opt::Timestamp(timestamp(at), echo.map_or(0, timestamp))]
    }

    fn packet(
        &mut self,
        from: From,
        mut tcp: TcpHeader,
        options: &[Opt],
        payload: u32,
        ecn: IpEcn,
    ) -> Captured {
        tcp.set_options(options).expect("at most 40 bytes of options");
        let ((source, destination), id) = match from {
            From::Sender => ((self.sender, self.receiver), &mut self.ids[0]),
            From::Receiver => ((self.receiver, self.sender), &mut self.ids[1]),
        };
        *id = id.wrapping_add(1);
        let length = tcp.header_len() as u32 + payload;
        let length = u16::try_from(length).expect("a packet of at most 65535 bytes");
        let mut ip = Ipv4Header::new(length, 64, IpNumber::TCP, source, destination)
            .expect("a packet of at most 65535 bytes");
        (ip.identification, ip.ecn) = (*id, ecn);
        ip.header_checksum = ip.calc_header_checksum();
        // The payload is not captured. It counts as zeros, which change the checksum only through their number.
        let zeros = vec![0; payload as usize];
        tcp.checksum = tcp.calc_checksum_ipv4(&ip, &zeros).expect("a packet of at most 65535 bytes");
        let mut headers = ip.to_bytes().to_vec();
        headers.extend(tcp.to_bytes());
        Captured { headers, length: ip.total_len.into() }
    }
}
