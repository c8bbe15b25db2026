//! One run as a packet capture (draft-ietf-opsawg-pcapng) at the senders: one interface for each sender, the headers of
//! every packet, timestamps in nanoseconds.

use std::io::{self, Write};

use firstflight_hosts::trace::record::{Event, Recording};

use super::packet::{Captured, Packets};

/// LINKTYPE_RAW: a packet begins with its IP header.
const RAW_IP: u16 = 101;

/// Snapshot length in bytes: an IPv4 header of 20 and a TCP header of at most 60.
const SNAP: u32 = 80;

/// Characters of a name that are written: the length of an option has 16 bits.
const LONGEST_NAME: usize = 1000;

/// Start of simulated time, in nanoseconds since 1970: 2000-01-01 00:00:00 UTC. Wireshark treats a SYN at time zero as
/// missing.
const EPOCH: u64 = 946_684_800_000_000_000;

/// Writes the packets of `recording` in order of time.
///
/// # Errors
/// Errors of `out`.
pub fn pcapng(recording: &Recording, out: &mut (dyn Write + Send)) -> io::Result<()> {
    out.write_all(&section())?;
    for flow in &recording.flows {
        out.write_all(&interface(&flow.name))?;
    }
    let mut packets: Vec<Packets<'_>> =
        recording.flows.iter().enumerate().map(|(number, flow)| Packets::new(flow, number)).collect();
    let mut order: Vec<(u64, usize, usize)> = vec![];
    for (flow, recorded) in recording.flows.iter().enumerate() {
        order.extend(recorded.events.iter().enumerate().map(|(event, &(at, _))| (at, flow, event)));
    }
    order.sort_unstable();
    for (at, flow, event) in order {
        let packets = &mut packets[flow];
        let mut put = |packet: Captured| out.write_all(&enhanced(flow as u32, at, &packet));
        match &recording.flows[flow].events[event].1 {
            Event::Syn => put(packets.syn(at))?,
            &Event::SynAck { sent, echo, window } => {
                put(packets.syn_ack(sent, echo, window))?;
                put(packets.handshake_ack(at, sent))?;
            }
            Event::Data(data) => put(packets.data(at, data))?,
            Event::Ack(ack) => put(packets.ack(ack))?,
            Event::Metrics(_) | Event::State { .. } | Event::StartupExit { .. } => {}
        }
    }
    Ok(())
}

/// A block: type, length, body, and the length repeated.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (12 + body.len() as u32).to_le_bytes();
    [&kind.to_le_bytes(), &length, body, &length].concat()
}

/// An option of a block: code, length and value, padded to four bytes.
fn option(code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = [&code.to_le_bytes(), &(value.len() as u16).to_le_bytes(), value].concat();
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

const END_OF_OPTIONS: [u8; 4] = [0; 4];

fn section() -> Vec<u8> {
    let mut body = vec![];
    body.extend(0x1a2b_3c4d_u32.to_le_bytes());
    body.extend([1, 0, 0, 0]);
    body.extend((-1_i64).to_le_bytes());
    // shb_userappl
    body.extend(option(4, b"firstflight"));
    body.extend(END_OF_OPTIONS);
    block(0x0a0d_0d0a, &body)
}

fn interface(name: &str) -> Vec<u8> {
    let mut body = vec![];
    body.extend(RAW_IP.to_le_bytes());
    body.extend([0, 0]);
    body.extend(SNAP.to_le_bytes());
    // if_name, and if_tsresol: nanoseconds
    let name: String = name.chars().take(LONGEST_NAME).collect();
    body.extend(option(2, name.as_bytes()));
    body.extend(option(9, &[9]));
    body.extend(END_OF_OPTIONS);
    block(1, &body)
}

fn enhanced(interface: u32, at: u64, packet: &Captured) -> Vec<u8> {
    let at = EPOCH + at;
    let mut body = vec![];
    for word in [interface, (at >> 32) as u32, at as u32, packet.headers.len() as u32, packet.length] {
        body.extend(word.to_le_bytes());
    }
    body.extend(&packet.headers);
    body.resize(body.len().next_multiple_of(4), 0);
    block(6, &body)
}
