//! The decoder against frames with known answers, and against tshark.

mod frames;
mod random;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use firstflight_contract::Nanos;

use self::random::{Case, Frame, Random, case};
use super::{Content, Decoder};
use crate::container::{Next, for_each_frame};
use crate::packet::TcpPacket;
use crate::read_from;

/// Seeds that have failed once.
const KEPT: [u64; 0] = [];

fn seeds(count: u64) -> impl Iterator<Item = u64> {
    KEPT.into_iter().chain(1..=count)
}

/// The file of a case: pcap where one link type allows it, else pcapng; of either byte order and any time resolution.
fn file(case: &Case, seed: u64) -> Vec<u8> {
    let mut random = Random(seed ^ 0xf11e);
    let mut links: Vec<u32> = case.frames.iter().map(|frame| frame.link_type).collect();
    links.sort_unstable();
    links.dedup();
    let (big_endian, fine) = (random.below(2) == 1, random.below(2) == 1);
    match links[..] {
        [link_type] if random.below(2) == 1 => pcap(&case.frames, link_type, big_endian, fine),
        _ => pcapng(&case.frames, &links, big_endian, &mut random),
    }
}

fn words(big_endian: bool, words: &[u32]) -> Vec<u8> {
    let bytes = |word: &u32| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
    words.iter().flat_map(bytes).collect()
}

fn halves(big_endian: bool, halves: [u16; 2]) -> [u8; 4] {
    let [a, b] = halves.map(|half| if big_endian { half.to_be_bytes() } else { half.to_le_bytes() });
    [a[0], a[1], b[0], b[1]]
}

fn pcap(frames: &[Frame], link_type: u32, big_endian: bool, fine: bool) -> Vec<u8> {
    let (magic, per_us) = if fine { (0xa1b2_3c4d, 1000) } else { (0xa1b2_c3d4, 1) };
    let mut file = words(big_endian, &[magic]);
    file.extend(halves(big_endian, [2, 4]));
    file.extend(words(big_endian, &[0, 0, 262_144, link_type]));
    for frame in frames {
        let (seconds, us) = ((frame.at_us / 1_000_000) as u32, (frame.at_us % 1_000_000) as u32);
        file.extend(words(big_endian, &[seconds, us * per_us, frame.kept as u32, frame.bytes.len() as u32]));
        file.extend(&frame.bytes[..frame.kept]);
    }
    file
}

fn block(big_endian: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let mut block = words(big_endian, &[kind, padded as u32 + 12]);
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(words(big_endian, &[padded as u32 + 12]));
    block
}

/// An interface for each link type, each with a resolution of its own, 10^-6, 10^-9 or 2^-30 s, and with an offset of its time, 0 to -3 h.
fn pcapng(frames: &[Frame], links: &[u32], big_endian: bool, random: &mut Random) -> Vec<u8> {
    let body = [&words(big_endian, &[0x1a2b_3c4d])[..], &halves(big_endian, [1, 0]), &[0xff; 8]].concat();
    let mut file = block(big_endian, 0x0a0d_0d0a, &body);
    let resolutions: Vec<u8> = links.iter().map(|_| [6, 9, 0x80 | 30][random.below(3) as usize]).collect();
    let offsets: Vec<u64> = links.iter().map(|_| 3600 * random.below(4)).collect();
    for ((link_type, resolution), offset) in links.iter().zip(&resolutions).zip(&offsets) {
        let mut body = halves(big_endian, [*link_type as u16, 0]).to_vec();
        body.extend(words(big_endian, &[0]));
        body.extend(halves(big_endian, [9, 1]));
        body.extend([*resolution, 0, 0, 0]);
        if *offset > 0 {
            let offset = -(*offset as i64);
            body.extend(halves(big_endian, [14, 8]));
            body.extend(if big_endian { offset.to_be_bytes() } else { offset.to_le_bytes() });
        }
        body.extend([0; 4]);
        file.extend(block(big_endian, 1, &body));
    }
    for frame in frames {
        let interface = links.iter().position(|link| *link == frame.link_type).expect("an interface");
        let us = frame.at_us + offsets[interface] * 1_000_000;
        let ticks = match resolutions[interface] {
            6 => us,
            9 => us * 1000,
            _ => ((u128::from(us) << 30) / 1_000_000) as u64,
        };
        let (kept, len) = (frame.kept as u32, frame.bytes.len() as u32);
        let (high, low) = ((ticks >> 32) as u32, ticks as u32);
        let mut body = words(big_endian, &[interface as u32, high, low, kept, len]);
        body.extend(&frame.bytes[..frame.kept]);
        file.extend(block(big_endian, 6, &body));
    }
    file
}

/// The packet without the hash of its encapsulations.
fn plain(packet: TcpPacket) -> TcpPacket {
    TcpPacket { layers: 0, ..packet }
}

#[test]
fn random_captures_decode_to_the_packets_that_were_written() {
    for seed in seeds(300) {
        let case = case(seed);
        let (mut decoder, mut number) = (Decoder::default(), 0);
        let ending = for_each_frame(&file(&case, seed)[..], |frame| {
            let expected = &case.frames[number];
            let at = frame.at.expect("a time").0;
            // a tick of 2^-30 s is 0.93 ns
            assert!(at.abs_diff(expected.at_us * 1000) <= 1, "seed {seed}, frame {}: {at}", number + 1);
            let found = match decoder.decode(
                frame.at,
                frame.link_type.expect("an interface"),
                frame.data,
                frame.wire_len,
            ) {
                Content::Tcp(packet) => Some(plain(packet)),
                _ => None,
            };
            let begin = &expected.bytes[..expected.kept.min(160)];
            assert_eq!(found, expected.tcp, "seed {seed}, frame {}: {begin:02x?}", number + 1);
            number += 1;
            Next::Continue
        });
        assert!(ending.is_ok() && number == case.frames.len(), "seed {seed}: {ending:?}");
    }
}

#[test]
fn random_captures_have_the_connections_bytes_and_retransmissions_that_were_written() {
    let mut compared = 0;
    for seed in seeds(300) {
        let case = case(seed);
        if !case.whole {
            continue;
        }
        compared += 1;
        let capture = read_from(&file(&case, seed)[..], "random.pcap")
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let packets = case.frames.iter().filter(|frame| frame.tcp.is_some()).count() as u64;
        let counts = capture.counts;
        assert_eq!(
            (counts.packets, counts.tcp, counts.duplicates),
            (case.frames.len() as u64, packets, 0),
            "seed {seed}"
        );
        assert_eq!(capture.passed_over, [], "seed {seed}");
        let mut found: Vec<_> = capture
            .connections
            .iter()
            .map(|one| (one.sender, one.receiver, one.observed.bytes, one.observed.handshake))
            .collect();
        let mut expected: Vec<_> =
            case.connections.iter().map(|one| (one.sender, one.receiver, one.bytes, true)).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "seed {seed}");
        for truth in &case.connections {
            let one = capture
                .connections
                .iter()
                .find(|one| one.sender == truth.sender && one.receiver == truth.receiver);
            let retransmits = one.map_or(0, |one| one.observed.retransmits);
            assert_eq!(retransmits > 0, truth.repeated > 0, "seed {seed}: {retransmits}");
        }
    }
    assert!(compared > 150, "{compared}");
}

#[test]
fn damaged_frames_give_no_packet_that_is_longer_than_any_frame_may_be() {
    let (mut decoder, mut read, mut not) = (Decoder::default(), 0, 0);
    for seed in seeds(300) {
        let mut random = Random(seed ^ 0xbad);
        for frame in case(seed).frames {
            for _ in 0..4 {
                let mut bytes = frame.bytes[..frame.kept].to_vec();
                for _ in 0..1 + random.below(3) {
                    // most headers lie in the first 120 bytes
                    let at = random.below(120.min(bytes.len() as u64)) as usize;
                    bytes[at] = [0, 0xff, bytes[at] ^ 1 << random.below(8), random.below(256) as u8]
                        [random.below(4) as usize];
                }
                bytes.truncate(1 + random.below(2 * bytes.len() as u64) as usize);
                let at = Some(Nanos(frame.at_us * 1000));
                match decoder.decode(at, frame.link_type, &bytes, random.below(70_000) as u32) {
                    Content::Tcp(packet) => {
                        assert!(
                            packet.payload <= packet.ip_len && packet.ip_len <= 1 << 20,
                            "seed {seed}: {packet:?}"
                        );
                        read += 1;
                    }
                    _ => not += 1,
                }
            }
        }
    }
    assert!(read > 10_000 && not > 10_000, "{read} {not}");
}

/// Fields of a TCP packet as tshark names them, in the order of `fields_of`.
const FIELDS: [&str; 11] = [
    "frame.number",
    "tcp.srcport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.flags",
    "tcp.window_size_value",
    "tcp.len",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.timestamp.tsval",
    "tcp.options.sack_le",
];

fn fields_of(number: usize, packet: &TcpPacket) -> String {
    let mut line = format!(
        "{number}\t{}\t{}\t{}\t0x{:04x}\t{}\t{}",
        packet.from.port(),
        packet.seq,
        packet.ack,
        packet.flags.0,
        packet.window,
        packet.payload
    );
    let optional =
        [packet.mss.map(u32::from), packet.window_scale.map(u32::from), packet.timestamps.map(|it| it.0)];
    for value in optional {
        let _ = write!(line, "\t{}", value.map_or_else(String::new, |value| value.to_string()));
    }
    let blocks: Vec<String> = packet.sack.get().iter().map(|block| block.0.to_string()).collect();
    let _ = write!(line, "\t{}", blocks.join(","));
    line
}

fn tshark(file: &[u8]) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r", "-", "-Y", "tcp", "-T", "fields", "-E", "occurrence=a"]);
    // tunnels may leave the checksum of UDP at zero (RFC 6935)
    let preferences = [
        "tcp.desegment_tcp_streams:FALSE",
        "tcp.analyze_sequence_numbers:FALSE",
        "udp.ignore_ipv6_zero_checksum:TRUE",
    ];
    for preference in preferences {
        command.args(["-o", preference]);
    }
    // ports that it knows for other protocols, or for none
    for port in ["udp.port==6635,mpls", "udp.port==8472,vxlan"] {
        command.args(["-d", port]);
    }
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("tshark runs");
    let mut input = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(file));
        let output = child.wait_with_output().expect("tshark ends");
        String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
    })
}

/// Whether a frame has a TCP packet with all options that tshark 4.0 reads, too.
fn is_common(frame: &Frame) -> bool {
    frame.tcp.as_ref().is_some_and(|packet| packet.whole)
        && frame.kinds.iter().all(|kind| kind.is_read_by_tshark())
}

#[test]
fn tshark_reads_the_same_packets_in_random_captures() {
    if Command::new("tshark").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let mut compared = 0;
    for seed in seeds(60).filter(|seed| seed % 5 == 0) {
        let case = case(seed);
        let mut decoder = Decoder::default();
        let mut ours = vec![];
        for (index, frame) in case.frames.iter().enumerate() {
            let data = &frame.bytes[..frame.kept];
            let found = decoder.decode(
                Some(Nanos(frame.at_us * 1000)),
                frame.link_type,
                data,
                frame.bytes.len() as u32,
            );
            if let Content::Tcp(packet) = found
                && is_common(frame)
            {
                ours.push(fields_of(index + 1, &packet));
            }
        }
        let theirs = tshark(&file(&case, seed));
        let number = |line: &str| {
            line.split('\t').next().and_then(|field| field.parse::<usize>().ok()).expect("a number")
        };
        let theirs: Vec<&String> =
            theirs.iter().filter(|line| is_common(&case.frames[number(line) - 1])).collect();
        let only = |line: &str| format!("seed {seed}: {line} {:?}", case.frames[number(line) - 1].kinds);
        let known = theirs.iter().map(|line| line.as_str()).collect::<BTreeSet<_>>();
        assert_eq!(ours.iter().find(|line| !known.contains(line.as_str())).map(|line| only(line)), None);
        let known = ours.iter().map(String::as_str).collect::<BTreeSet<_>>();
        assert_eq!(theirs.iter().find(|line| !known.contains(line.as_str())).map(|line| only(line)), None);
        compared += ours.len();
    }
    assert!(compared > 200, "{compared}");
}
