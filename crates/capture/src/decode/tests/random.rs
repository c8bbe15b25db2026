//! Random captures with known answers: connections with options of every kind, in encapsulations within each other, in fragments,
//! in every link type, container, byte order and time resolution, whole or cut off.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::frames::{self, Kind, LINKS, Wrapped};
use crate::packet::{Blocks, Flags, TcpPacket};

/// SplitMix64 (Steele, Lea and Flood 2014).
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A frame of a capture.
pub(super) struct Frame {
    pub(super) at_us: u64,
    pub(super) link_type: u32,
    pub(super) bytes: Vec<u8>,
    /// Captured bytes.
    pub(super) kept: usize,
    /// The packet that is complete with this frame, as far as it was captured.
    pub(super) tcp: Option<TcpPacket>,
    /// Encapsulations, the innermost first.
    pub(super) kinds: Vec<Kind>,
}

/// Known values of a connection.
pub(super) struct Truth {
    /// Side that sent more data.
    pub(super) sender: SocketAddr,
    pub(super) receiver: SocketAddr,
    /// Data of the sender, each byte once.
    pub(super) bytes: u64,
    /// Bytes that the connection retransmitted.
    pub(super) repeated: u64,
}

/// A random capture.
pub(super) struct Case {
    pub(super) frames: Vec<Frame>,
    pub(super) connections: Vec<Truth>,
    /// Whether all headers were captured with all options.
    pub(super) whole: bool,
}

/// Options of TCP without those that are read: kind and content.
const UNKNOWN: [(u8, &[u8]); 10] = [
    (19, &[7; 16]),
    (29, &[1, 2, 3, 4, 5, 6, 7, 8]),
    (34, &[]),
    (34, &[9; 8]),
    (30, &[0, 1]),
    (172, &[0, 0, 1, 0, 0, 1, 0, 0, 1]),
    (174, &[0, 0, 1]),
    (253, &[0xf9, 0x89]),
    (254, &[0xe2, 0xd4, 0xc3, 0xd9]),
    (77, &[1]),
];

/// One end of a connection.
struct End {
    address: SocketAddr,
    next: u32,
    stamps: bool,
    scale: Option<u8>,
    mss: u16,
}

struct Connection {
    ends: [End; 2],
    kinds: Vec<Kind>,
    v6: bool,
    link_type: u32,
    fragments: bool,
}

/// A TCP packet of the capture, before it is written.
struct Segment {
    from: usize,
    seq: u32,
    flags: u16,
    len: usize,
    sack: Vec<(u32, u32)>,
}

pub(super) struct Generator {
    random: Random,
    frames: Vec<Frame>,
    at_us: u64,
    id: u16,
    snap: usize,
}

pub(super) fn case(seed: u64) -> Case {
    let mut random = Random(seed);
    // below 54 bytes no TCP header fits behind Ethernet
    let snap = if random.one_in(3) { 40 + random.below(160) as usize } else { usize::MAX };
    let mut generator = Generator { random, frames: vec![], at_us: 1_700_000_000_000_000, id: 0, snap };
    let count = 1 + generator.random.below(3);
    let connections = (0..count).map(|number| generator.connection(number as u16)).collect();
    let whole = generator.frames.iter().all(|frame| frame.tcp.as_ref().is_none_or(|tcp| tcp.whole))
        && snap == usize::MAX;
    Case { frames: generator.frames, connections, whole }
}

impl Generator {
    fn connection(&mut self, number: u16) -> Truth {
        let mut connection = self.begin(number);
        let data = 2 + self.random.below(20);
        self.handshake(&mut connection);
        let (mut bytes, mut repeated, mut requested) = (0, 0, 0);
        for _ in 0..data {
            self.at_us += 20_000 + self.random.below(1000);
            if self.random.one_in(4) {
                self.noise(connection.link_type);
            }
            let mss = usize::from(connection.ends[0].mss);
            let (first, len) = (connection.ends[1].next, 1 + self.random.below(mss as u64) as usize);
            let big = self.random.one_in(6) && !connection.fragments && connection.kinds.is_empty();
            let len = if big { 3 * mss } else { len };
            connection.ends[1].next = first.wrapping_add(len as u32);
            bytes += len as u64;
            let segment = || Segment { from: 1, seq: first, flags: Flags::ACK, len, sack: vec![] };
            self.send(&connection, segment());
            if self.random.one_in(8) {
                self.at_us += 300_000;
                repeated += len as u64;
                self.send(&connection, segment());
            }
            self.at_us += 20_000;
            let (next, count) = (connection.ends[1].next, self.random.below(4));
            let block =
                |n: u64| (next.wrapping_add(n as u32 * 5000), next.wrapping_add(n as u32 * 5000 + 1000));
            let sack = (1..=count).map(block).collect();
            let asked = self.random.one_in(5);
            let len = if asked { 1 + self.random.below(300) as usize } else { 0 };
            let seq = connection.ends[0].next;
            connection.ends[0].next = seq.wrapping_add(len as u32);
            requested += len as u64;
            self.send(&connection, Segment { from: 0, seq, flags: Flags::ACK, len, sack });
        }
        let [client, server] = &connection.ends;
        match bytes + repeated > requested {
            true => Truth { sender: server.address, receiver: client.address, bytes, repeated },
            false => {
                Truth { sender: client.address, receiver: server.address, bytes: requested, repeated: 0 }
            }
        }
    }

    fn begin(&mut self, number: u16) -> Connection {
        let random = &mut self.random;
        let v6 = random.one_in(3);
        let host = |last: u16| -> IpAddr {
            match v6 {
                false => Ipv4Addr::new(192, 0, 2, last as u8).into(),
                true => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last).into(),
            }
        };
        let stamps = random.one_in(2);
        let sizes = [536, 1000, 1448, 1460, 8960];
        let mut end = |last: u16, port: u16| End {
            address: (host(last), port).into(),
            next: random.next() as u32,
            stamps,
            scale: if random.one_in(3) { None } else { Some(random.below(15) as u8) },
            mss: random.of(&sizes),
        };
        let ends = [end(10 + number, 40_000 + number), end(200, 8000)];
        let depth = random.below(5);
        let kinds = (0..depth).map(|_| random.of(&Kind::ALL)).collect();
        let fragments = self.snap == usize::MAX && random.one_in(4);
        Connection { ends, kinds, v6: random.one_in(4), link_type: random.of(&LINKS), fragments }
    }

    fn handshake(&mut self, connection: &mut Connection) {
        let step = |from: usize, flags: u16, connection: &mut Connection| {
            let seq = connection.ends[from].next;
            let syn = u32::from(flags & Flags::SYN != 0);
            connection.ends[from].next = seq.wrapping_add(syn);
            Segment { from, seq, flags, len: 0, sack: vec![] }
        };
        for (from, flags) in [(0, Flags::SYN), (1, Flags::SYN | Flags::ACK), (0, Flags::ACK)] {
            self.at_us += 20_000;
            let segment = step(from, flags, connection);
            self.send(connection, segment);
        }
    }

    /// Writes a packet: into one frame, or several with its fragments.
    fn send(&mut self, connection: &Connection, segment: Segment) {
        let (tcp, mut packet) = self.segment(connection, &segment);
        let (from, to) = (tcp.from.ip(), tcp.to.ip());
        self.id = self.id % 60_000 + 1;
        let id = self.id;
        packet.ip_id = from.is_ipv4().then_some(id);
        let payload = Wrapped { number: 0, bytes: tcp.bytes, tcp: Some(0) };
        let each = 8 * (1 + self.random.below(100) as usize);
        if connection.fragments && payload.bytes.len() > each && payload.bytes.len() / each < 40 {
            let mut parts = frames::parts(&payload, each);
            if self.random.one_in(2) {
                parts.reverse();
            }
            let (last, tcp_len) = (parts.len() - 1, payload.bytes.len());
            for (index, (at, more, part)) in parts.into_iter().enumerate() {
                let place = Some((u32::from(id) | 0x7000_0000, at, more));
                let len = part.bytes.len();
                let part = frames::ip((from, to), 6, id, part, true, place);
                packet.ip_len = (part.bytes.len() - len + tcp_len) as u32;
                self.write(connection, part, (index == last).then(|| packet.clone()));
                self.at_us += 1;
            }
            return;
        }
        // segmentation offload may leave the length field at zero
        let stated = packet.payload < 100 || !connection.kinds.is_empty() || !self.random.one_in(8);
        let packet_of_ip = frames::ip((from, to), 6, id, payload, stated, None);
        packet.ip_len = packet_of_ip.bytes.len() as u32;
        self.write(connection, packet_of_ip, Some(packet));
    }

    fn write(&mut self, connection: &Connection, inner: Wrapped, tcp: Option<TcpPacket>) {
        let mut whole = inner;
        let mut kinds = vec![];
        for kind in &connection.kinds {
            self.id = self.id % 60_000 + 1;
            if let Some(wrapped) =
                kind.wrap(whole.clone(), connection.v6, self.id).filter(|it| it.bytes.len() < 60_000)
            {
                whole = wrapped;
                kinds.push(*kind);
            }
        }
        let of_link =
            frames::frame(connection.link_type, whole.clone()).map(|frame| (connection.link_type, frame));
        let (link_type, frame) = of_link.unwrap_or_else(|| (1, frames::ethernet(whole, 60)));
        let kept = frame.bytes.len().min(self.snap);
        let captured = |tcp: TcpPacket| match frame.tcp {
            // a datagram whose last fragment this is
            _ if connection.fragments => Some(tcp),
            Some(at) => cut(tcp, &frame.bytes[at..], kept.saturating_sub(at)),
            None => Some(tcp),
        };
        let tcp = tcp.and_then(captured);
        self.frames.push(Frame { at_us: self.at_us, link_type, bytes: frame.bytes, kept, tcp, kinds });
    }

    /// A frame that is no TCP.
    fn noise(&mut self, link_type: u32) {
        let ends = (Ipv4Addr::new(192, 0, 2, 77).into(), Ipv4Addr::new(192, 0, 2, 78).into());
        let of = |bytes: Vec<u8>| Wrapped { number: 0, bytes, tcp: None };
        let random = &mut self.random;
        let mut some = |count: usize| (0..count).map(|_| random.next() as u8).collect::<Vec<u8>>();
        // to the port of a tunnel, with the header of none: the first bit of VXLAN is reserved, version 3 of the others
        let to_tunnel = |port: u16, mut some: Vec<u8>| {
            some[0] |= 0xc0;
            let head = [50_000, port, (some.len() + 8) as u16, 0_u16];
            [&head.iter().flat_map(|half| half.to_be_bytes()).collect::<Vec<_>>()[..], &some].concat()
        };
        let packet = match self.id % 6 {
            0 => Wrapped { number: 0x0806, bytes: some(28), tcp: None },
            1 => frames::ip(ends, 1, 7, of(some(64)), true, None),
            2 => frames::ip(ends, 17, 7, of(to_tunnel(4789, some(120))), true, None),
            3 => frames::ip(ends, 17, 7, of(to_tunnel(2152, some(120))), true, None),
            4 => frames::ip(ends, 17, 7, of(to_tunnel(6081, some(120))), true, None),
            _ => frames::ip(ends, 89, 7, of(some(44)), true, None),
        };
        let found = frames::frame(link_type, packet.clone()).map(|frame| (link_type, frame));
        let (link_type, frame) = found.unwrap_or_else(|| (1, frames::ethernet(packet, 60)));
        let kept = frame.bytes.len().min(self.snap);
        let frame =
            Frame { at_us: self.at_us, link_type, bytes: frame.bytes, kept, tcp: None, kinds: vec![] };
        self.frames.push(frame);
    }
}

/// The bytes of a TCP packet and its ends.
struct Bytes {
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

impl Generator {
    /// A TCP packet and the answer that its decoding should give.
    fn segment(&mut self, connection: &Connection, segment: &Segment) -> (Bytes, TcpPacket) {
        let (own, other) = (&connection.ends[segment.from], &connection.ends[1 - segment.from]);
        let syn = segment.flags & Flags::SYN != 0;
        let stamps = own.stamps.then(|| (self.random.next() as u32, self.random.next() as u32));
        let mut known: Vec<Vec<u8>> = vec![];
        if let Some((value, echo)) = stamps {
            known.push([&[8, 10][..], &value.to_be_bytes(), &echo.to_be_bytes()].concat());
        }
        if syn {
            known.push([&[2, 4][..], &own.mss.to_be_bytes()].concat());
            known.push(vec![4, 2]);
            known.extend(own.scale.map(|scale| vec![3, 3, scale]));
        }
        let blocks: Vec<_> =
            segment.sack.iter().take(if stamps.is_some() { 3 } else { 4 }).copied().collect();
        if !blocks.is_empty() {
            let mut option = vec![5, (2 + 8 * blocks.len()) as u8];
            option
                .extend(blocks.iter().flat_map(|(from, to)| [from.to_be_bytes(), to.to_be_bytes()].concat()));
            known.push(option);
        }
        let options = self.options(known);
        let ack = if segment.flags & Flags::ACK == 0 { 0 } else { other.next };
        let window = self.random.next() as u16;
        let mut bytes = [own.address.port().to_be_bytes(), other.address.port().to_be_bytes()].concat();
        bytes.extend(segment.seq.to_be_bytes());
        bytes.extend(ack.to_be_bytes());
        let flags = segment.flags | if !syn && self.random.one_in(4) { Flags::AE | Flags::ECE } else { 0 };
        bytes.extend(((5 + options.len() as u16 / 4) << 12 | flags).to_be_bytes());
        bytes.extend(window.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(&options);
        bytes.resize(bytes.len() + segment.len, 0x5a);
        let packet = TcpPacket {
            from: own.address,
            to: other.address,
            seq: segment.seq,
            ack,
            window,
            flags: Flags(flags),
            payload: segment.len as u32,
            // as its IP packet has it
            ip_len: 0,
            ip_id: None,
            hops: 64,
            timestamps: stamps,
            mss: syn.then_some(own.mss),
            window_scale: own.scale.filter(|_| syn),
            sack: Blocks::new(blocks),
            whole: true,
            layers: 0,
        };
        (Bytes { from: own.address, to: other.address, bytes }, packet)
    }

    /// The options in a random order, with unknown ones and padding between them as there is room, and random bytes behind
    /// their end.
    fn options(&mut self, mut known: Vec<Vec<u8>>) -> Vec<u8> {
        const MOST: usize = 40;
        let random = &mut self.random;
        for _ in 0..random.below(4) {
            let (kind, content) = random.of(&UNKNOWN);
            let room = MOST - known.iter().map(Vec::len).sum::<usize>();
            if content.len() + 2 <= room {
                known.push([&[kind, content.len() as u8 + 2][..], content].concat());
            }
        }
        let mut left = MOST - known.iter().map(Vec::len).sum::<usize>();
        let mut options = vec![];
        while !known.is_empty() {
            let padding = (random.below(3) as usize).min(left);
            left -= padding;
            options.extend(vec![1; padding]);
            let index = random.below(known.len() as u64) as usize;
            options.extend(known.swap_remove(index));
        }
        let rest = options.len().next_multiple_of(4) - options.len();
        if rest > 0 {
            options.push(0);
            options.extend((1..rest).map(|_| random.next() as u8));
        }
        options
    }
}

/// The packet with these bytes of which `kept` were captured; `None` if the fixed header is cut off.
fn cut(whole: TcpPacket, bytes: &[u8], kept: usize) -> Option<TcpPacket> {
    let header = usize::from(bytes[12] >> 4) * 4;
    if kept >= header {
        return Some(whole);
    }
    if kept < 16 {
        return None;
    }
    let mut packet = TcpPacket {
        whole: false,
        timestamps: None,
        mss: None,
        window_scale: None,
        sack: Blocks::default(),
        ..whole.clone()
    };
    let mut at = 20;
    while at < kept && bytes[at] != 0 {
        let len =
            if bytes[at] == 1 { 1 } else { bytes.get(at + 1).map_or(usize::MAX, |len| usize::from(*len)) };
        if at.saturating_add(len) > kept {
            break;
        }
        match bytes[at] {
            2 => packet.mss = whole.mss,
            3 => packet.window_scale = whole.window_scale,
            5 => packet.sack = whole.sack,
            8 => packet.timestamps = whole.timestamps,
            _ => {}
        }
        at += len;
    }
    Some(packet)
}
