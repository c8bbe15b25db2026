//! Writes the capture of a server's traffic to standard output: connections of many clients, each with a few requests and
//! their answers, of which `tcpdump` kept the headers; see "A day of a server" in `docs/captures.md`:
//! `target/release/server 1000000 > day.pcap`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

/// Microseconds between the beginnings of two connections.
const BETWEEN: u64 = 200;
/// Data bytes of a full segment.
const SEGMENT: u32 = 1448;
/// Flags of the TCP header.
const FIN: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 16;

/// A packet of a connection: time in microseconds, whether the client sent it, flags, numbers, data bytes.
struct Packet {
    at: u64,
    from_client: bool,
    flags: u8,
    seq: u32,
    ack: u32,
    len: u32,
}

fn main() -> io::Result<()> {
    let connections: u64 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1_000_000);
    let mut out = io::BufWriter::with_capacity(1 << 20, io::stdout().lock());
    for word in [0xa1b2_c3d4_u32, 4 << 16 | 2, 0, 0, 100, 101] {
        out.write_all(&word.to_le_bytes())?;
    }
    // the next packet of each open connection, by its time
    let mut next: BinaryHeap<Reverse<(u64, u64, usize)>> = BinaryHeap::new();
    let mut open: std::collections::BTreeMap<u64, Vec<Packet>> = Default::default();
    let mut begun = 0;
    loop {
        let at = next.peek().map(|Reverse((at, ..))| *at);
        if begun < connections && at.is_none_or(|at| begun * BETWEEN <= at) {
            let packets = connection(begun);
            next.push(Reverse((packets[0].at, begun, 0)));
            open.insert(begun, packets);
            begun += 1;
            continue;
        }
        let Some(Reverse((_, number, index))) = next.pop() else { break };
        let packets = &open[&number];
        write(&mut out, number, &packets[index])?;
        match packets.get(index + 1) {
            Some(packet) => next.push(Reverse((packet.at, number, index + 1))),
            None => drop(open.remove(&number)),
        }
    }
    out.flush()
}

/// The packets of a connection, in order.
fn connection(number: u64) -> Vec<Packet> {
    let random = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 33;
    let rtt = 10_000 + random % 90_000;
    let mut at = number * BETWEEN;
    let (mut client, mut server) = (0, 0);
    let mut packets = vec![];
    let mut add = |at, from_client, flags, seq, ack, len| {
        packets.push(Packet { at, from_client, flags, seq, ack, len });
    };
    add(at, true, SYN, client, 0, 0);
    add(at + 20, false, SYN | ACK, server, 1, 0);
    at += rtt;
    (client, server) = (client + 1, server + 1);
    add(at, true, ACK, client, server, 0);
    for request in 0..1 + random % 3 {
        add(at, true, ACK, client, server, 300);
        client += 300;
        // most answers are small; one in 50 connections fetches half a megabyte; the receive window has 45 segments
        let segments = if random.is_multiple_of(50) && request == 0 { 350 } else { 1 + (random >> 8) % 8 };
        let (mut sent, mut window) = (0, 10);
        while sent < segments {
            let flight = window.min(segments - sent);
            for segment in 0..flight {
                add(at + 50 + segment * 12, false, ACK, server + segment as u32 * SEGMENT, client, SEGMENT);
            }
            for pair in 0..flight.div_ceil(2) {
                let arrived = (2 * pair + 2).min(flight) as u32;
                add(at + rtt + pair * 240, true, ACK, client, server + arrived * SEGMENT, 0);
            }
            at += rtt + flight * 240;
            server += flight as u32 * SEGMENT;
            (sent, window) = (sent + flight, (2 * window).min(44));
        }
        at += 20_000;
    }
    add(at, true, FIN | ACK, client, server, 0);
    add(at + 20, false, FIN | ACK, server, client + 1, 0);
    add(at + rtt, true, ACK, client + 1, server + 1, 0);
    packets.sort_by_key(|packet| packet.at);
    packets
}

/// Writes the record of a packet, with its headers only: raw IPv4, TCP with time stamps.
fn write(out: &mut impl Write, number: u64, packet: &Packet) -> io::Result<()> {
    const HEADERS: u32 = 52;
    let len = HEADERS + packet.len;
    for word in [(packet.at / 1_000_000) as u32, (packet.at % 1_000_000) as u32, HEADERS, len] {
        out.write_all(&word.to_le_bytes())?;
    }
    // 30 000 networks of clients, each with 250 addresses
    let client = [
        20 + (number % 100) as u8,
        (number / 100 % 100) as u8,
        (number / 10_000 % 3) as u8,
        1 + (number % 250) as u8,
    ];
    let port = 20_000 + (number / 1_000 % 40_000) as u16;
    let (from, to, ports) = if packet.from_client {
        (client, [192, 0, 2, 1], (port, 443))
    } else {
        ([192, 0, 2, 1], client, (443, port))
    };
    let mut bytes = [0; HEADERS as usize];
    (bytes[0], bytes[8], bytes[9]) = (0x45, 64, 6);
    bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    bytes[12..16].copy_from_slice(&from);
    bytes[16..20].copy_from_slice(&to);
    bytes[20..22].copy_from_slice(&ports.0.to_be_bytes());
    bytes[22..24].copy_from_slice(&ports.1.to_be_bytes());
    bytes[24..28].copy_from_slice(&packet.seq.to_be_bytes());
    bytes[28..32].copy_from_slice(&packet.ack.to_be_bytes());
    (bytes[32], bytes[33]) = (0x80, packet.flags);
    bytes[34..36].copy_from_slice(&65_535_u16.to_be_bytes());
    bytes[40..44].copy_from_slice(&[1, 1, 8, 10]);
    bytes[44..48].copy_from_slice(&((packet.at / 1000) as u32).to_be_bytes());
    bytes[48..52].copy_from_slice(&((packet.at / 1000) as u32).to_be_bytes());
    out.write_all(&bytes)
}
