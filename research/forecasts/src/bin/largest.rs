//! Reads the capture that takes most memory within the limits of the reader, made while it is read; see "Limits" in
//! `docs/captures.md`: `/usr/bin/time -f "%M KB" target/release/largest`.

use std::io::{self, Read};
use std::process::ExitCode;

use etherparse::{PacketBuilder, TcpOptionElement};
use firstflight_capture::{infer, read_from};

/// Payload of a full segment, and of a packet: four segments, so that the limits of packets and of pieces are reached
/// together.
const SEGMENT: u16 = 28;
const PAYLOAD: u32 = 4 * SEGMENT as u32;

/// One packet less than the limit, at which the reader would leave out half of them.
const PACKETS: u32 = (1 << 21) - 1;

/// A pcap file of raw IP packets: a handshake, then data packets, each with its acknowledgement, which has three SACK
/// blocks.
struct Largest {
    number: u32,
    bytes: io::Cursor<Vec<u8>>,
}

impl Largest {
    fn new() -> Self {
        let header = [0xa1b2_c3d4_u32, 4 << 16 | 2, 0, 0, 65_535, 101];
        Self { number: 0, bytes: io::Cursor::new(header.into_iter().flat_map(u32::to_le_bytes).collect()) }
    }

    /// The record of the next packet, with its headers only.
    fn next_record(&mut self) -> Vec<u8> {
        let number = self.number;
        self.number += 1;
        let round = number / 2;
        // the handshake and the first round have the numbers 0 to 3
        let begin = 1 + round.saturating_sub(1).wrapping_mul(PAYLOAD);
        let end = begin.wrapping_add(PAYLOAD);
        let (from, to, ports) = match number % 2 {
            0 => ([10, 0, 0, 1], [10, 0, 0, 2], (4_000, 80)),
            _ => ([10, 0, 0, 2], [10, 0, 0, 1], (80, 4_000)),
        };
        let tcp = |seq: u32, options: &[TcpOptionElement]| {
            let ip = PacketBuilder::ipv4(from, to, 64);
            ip.tcp(ports.0, ports.1, seq, 1_000).options(options).expect("at most 40 bytes of options")
        };
        let stamps = TcpOptionElement::Timestamp(round / 100, round / 100);
        let block = |before: u32| (end.wrapping_sub(before + 28), end.wrapping_sub(before));
        let sack =
            TcpOptionElement::SelectiveAcknowledgement(block(0), [Some(block(56)), Some(block(112)), None]);
        let mss = [TcpOptionElement::MaximumSegmentSize(SEGMENT + 12)];
        let (packet, payload) = match number {
            0 => (tcp(0, &mss).syn(), 0),
            1 => (tcp(0, &mss).syn().ack(1), 0),
            _ if number.is_multiple_of(2) => (tcp(begin, &[stamps]).ack(1), PAYLOAD as usize),
            _ => (tcp(1, &[stamps, sack]).ack(begin.saturating_sub(4 * PAYLOAD).max(1)), 0),
        };
        let mut bytes = Vec::new();
        packet.write(&mut bytes, &vec![0; payload]).expect("memory can be written");
        let (kept, len) = (bytes.len() - payload, bytes.len());
        let words = [number / 1_000_000, number % 1_000_000, kept as u32, len as u32];
        words.into_iter().flat_map(u32::to_le_bytes).chain(bytes.into_iter().take(kept)).collect()
    }
}

impl Read for Largest {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self.bytes.read(to)? {
            0 if self.number == PACKETS => Ok(0),
            0 => {
                self.bytes = io::Cursor::new(self.next_record());
                self.bytes.read(to)
            }
            count => Ok(count),
        }
    }
}

fn main() -> ExitCode {
    match read_from(Largest::new(), "largest") {
        Ok(capture) => {
            let packets = capture.connections[0].observed.packets;
            let rate = infer(&capture.connections).rate;
            println!("{:?}\n{packets} pieces, rate {rate:?}\n{:?}", capture.counts, capture.warnings);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
