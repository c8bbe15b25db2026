#!/usr/bin/env bash
# The Rust crate pcap-file 2.0.0 reads the times of every pcapng file as nanoseconds. A pcapng file without the option if_tsresol has
# microseconds (its specification, and tcpdump's, dumpcap's and editcap's default), so that a capture is 1000 times shorter than it was: a
# round trip of 100 ms is read as 100 us, and 2023 is January 1970. The same crate reads the older pcap format rightly.
# Cause: EnhancedPacketBlock::from_slice makes a Duration of nanoseconds from the 64 bits of the block; the interface is not consulted.
# Versions: pcap-file =2.0.0. Control: the same two packets as a pcap file.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cat > "$work/Cargo.toml" <<'TOML'
[package]
name = "times"
version = "0.0.0"
edition = "2021"

[dependencies]
pcap-file = "=2.0.0"

[profile.dev]
opt-level = 0
debug = false

[workspace]
TOML
cat > "$work/src/main.rs" <<'RUST'
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::time::Duration;

const START: u64 = 1_700_000_000_000_000; // microseconds
const FRAME: [u8; 60] = [2; 60];

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn pcap(times: &[u64]) -> Vec<u8> {
    let mut file = words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, 1]);
    for time in times {
        file.extend(words(&[(time / 1_000_000) as u32, (time % 1_000_000) as u32, 60, 60]));
        file.extend(FRAME);
    }
    file
}

fn pcapng(times: &[u64]) -> Vec<u8> {
    // Section header, and an interface (Ethernet) without options.
    let mut file = words(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28, 1, 20, 1, 262_144, 20]);
    for time in times {
        file.extend(words(&[6, 92, 0, (time >> 32) as u32, *time as u32, 60, 60]));
        file.extend(FRAME);
        file.extend(words(&[92]));
    }
    file
}

fn main() {
    let times = [START, START + 100_000];
    let (older, newer) = (pcap(&times), pcapng(&times));
    let mut older = PcapReader::new(&older[..]).unwrap();
    let mut newer = PcapNgReader::new(&newer[..]).unwrap();
    let mut read = Vec::new();
    while let Some(packet) = older.next_packet() {
        read.push(packet.unwrap().timestamp);
    }
    println!("pcap:   {read:?}, gap {:?}", read[1] - read[0]);
    assert_eq!(read, times.map(Duration::from_micros), "the control has changed");
    read.clear();
    while let Some(block) = newer.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            read.push(packet.timestamp);
        }
    }
    println!("pcapng: {read:?}, gap {:?}", read[1] - read[0]);
    assert_eq!(read, times.map(Duration::from_nanos), "the behaviour has changed");
}
RUST
nice -n 19 cargo build --quiet --manifest-path "$work/Cargo.toml" --target-dir "$work/target"
echo "pcap-file $(cargo tree --quiet --manifest-path "$work/Cargo.toml" --depth 1 --prefix none | awk '/^pcap-file/ { print $2 }')"
"$work/target/debug/times"
echo "as described: 100 ms are read as 100 us"
