//! Reader tests for every container, link type and kind of damage.

use crate::common::*;
use etherparse::{PacketBuilder, TcpOptionElement};
use firstflight_capture::{Capture, Error, Problem, infer, read, read_from};
use firstflight_contract::Nanos;

/// Two data packets of 1000 bytes, 7 ms apart, and an ACK of both another 20 ms later.
fn exchange() -> Vec<(u64, Tcp)> {
    vec![(0, data(1, 1000)), (7_000, data(1001, 1000)), (27_000, ack(2001))]
}

/// Asserts the result of [`exchange`], in whatever form it was written.
fn assert_is_the_exchange(capture: &Capture) {
    assert_eq!(capture.connections.len(), 1);
    let observed = &capture.connections[0].observed;
    assert_eq!((observed.bytes, observed.delivered_bytes, observed.packets), (2000, 2000, 2));
    assert_eq!(observed.completion, Some(Nanos::from_millis(27)));
    // the first packet waited 27 ms for its ACK, the second 20 ms
    assert_eq!(observed.rtt_span, Some((Nanos::from_millis(20), Nanos::from_millis(27))));
    assert_eq!(capture.warnings, Vec::<String>::new());
}

fn assert_reads(bytes: &[u8]) {
    assert_is_the_exchange(&read_bytes(bytes).unwrap());
}

#[test]
fn pcap_of_either_byte_order_and_precision_reads_the_same() {
    for big_endian in [false, true] {
        for (magic, per_us) in [(0xa1b2_c3d4_u32, 1), (0xa1b2_3c4d, 1000)] {
            let word = |word: u32| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
            let half = |half: u16| if big_endian { half.to_be_bytes() } else { half.to_le_bytes() };
            let mut file = Vec::new();
            file.extend(word(magic));
            file.extend(half(2));
            file.extend(half(4));
            for value in [0, 0, 65535, 101] {
                file.extend(word(value));
            }
            for (us, tcp) in exchange() {
                let packet = tcp.v4();
                for value in [1_700_000_000, us as u32 * per_us, packet.len() as u32, packet.len() as u32] {
                    file.extend(word(value));
                }
                file.extend(packet);
            }
            assert_reads(&file);
        }
    }
}

/// A pcapng section with one interface per time resolution; packet `i` is on interface `i mod n`.
fn section(big_endian: bool, resolutions: &[Option<u8>], kind: u32) -> Vec<u8> {
    let interfaces: Vec<_> = resolutions.iter().map(|resolution| (*resolution, 0)).collect();
    section_of(big_endian, &interfaces, kind, 0)
}

/// The same with the offset of each interface (`if_tsoffset`), seconds; the first packet is at `start_s`.
fn section_of(big_endian: bool, interfaces: &[(Option<u8>, i64)], kind: u32, start_s: i64) -> Vec<u8> {
    let word = |word: u32| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
    let half = |half: u16| if big_endian { half.to_be_bytes() } else { half.to_le_bytes() };
    let mut body = word(0x1a2b_3c4d).to_vec();
    body.extend(half(1));
    body.extend(half(0));
    body.extend([0xff; 8]);
    let mut file = block(big_endian, 0x0a0d_0d0a, &body);
    for (resolution, offset_s) in interfaces {
        let mut body = half(101).to_vec();
        body.extend(half(0));
        body.extend(word(65535));
        if let Some(resolution) = resolution {
            body.extend(half(9));
            body.extend(half(1));
            body.extend([*resolution, 0, 0, 0]);
        }
        if *offset_s != 0 {
            body.extend(half(14));
            body.extend(half(8));
            body.extend(if big_endian { offset_s.to_be_bytes() } else { offset_s.to_le_bytes() });
        }
        body.extend([0; 4]);
        file.extend(block(big_endian, 1, &body));
    }
    for (index, (us, tcp)) in exchange().into_iter().enumerate() {
        let interface = index % interfaces.len();
        let us = us + ((start_s - interfaces[interface].1) * 1_000_000) as u64;
        let ticks = match interfaces[interface].0 {
            None => us,
            Some(9) => us * 1000,
            // 2^-20 s, rounded up so that the microsecond is recovered
            Some(0x94) => (us << 20).div_ceil(1_000_000),
            Some(other) => unreachable!("{other}"),
        };
        let packet = tcp.v4();
        let len = word(packet.len() as u32);
        let mut body = Vec::new();
        match kind {
            6 => body.extend(word(interface as u32)),
            2 => {
                body.extend(half(interface as u16));
                body.extend(half(0));
            }
            other => unreachable!("{other}"),
        }
        for value in [word((ticks >> 32) as u32), word(ticks as u32), len, len] {
            body.extend(value);
        }
        body.extend(packet);
        file.extend(block(big_endian, kind, &body));
    }
    file
}

#[test]
fn pcapng_of_either_byte_order_reads_enhanced_and_obsolete_packets() {
    for big_endian in [false, true] {
        for kind in [6, 2] {
            assert_reads(&section(big_endian, &[None], kind));
        }
    }
}

#[test]
fn interfaces_of_different_time_resolution_share_one_clock() {
    assert_reads(&section(false, &[None, Some(9)], 6));
}

#[test]
fn interfaces_with_time_offsets_share_one_clock() {
    // of the epoch, an hour ahead, an hour behind, and to a nanosecond
    let interfaces = [(None, 0), (None, 1_600_000_000), (Some(9), -3600)];
    for big_endian in [false, true] {
        for kind in [6, 2] {
            assert_reads(&section_of(big_endian, &interfaces, kind, 1_700_000_000));
        }
    }
}

#[test]
fn packets_of_an_interface_without_a_description_are_counted() {
    let mut file = section(false, &[None], 6);
    let packet = data(2001, 1000).v4();
    for (kind, interface) in [(6, 3_u32), (2, 3)] {
        let mut body = interface.to_le_bytes().to_vec();
        for word in [0, 30_000, packet.len() as u32, packet.len() as u32] {
            body.extend(word.to_le_bytes());
        }
        body.extend(&packet);
        file.extend(block(false, kind, &body));
    }
    let capture = read_bytes(&file).unwrap();
    assert_eq!(
        (capture.counts.packets, capture.counts.tcp, capture.connections[0].observed.bytes),
        (5, 3, 2000)
    );
    assert_eq!(
        capture.warnings,
        ["test.pcap: 2 packets belong to an interface that the file does not describe, and are left out"]
    );
    // a file without any description
    let header = file[..28].to_vec();
    let last = file[file.len() - (packet.len() + 32).next_multiple_of(4)..].to_vec();
    let error = read_bytes(&[header, last].concat()).unwrap_err();
    assert!(
        error.to_string().contains("1 packet belongs to an interface that the file does not describe"),
        "{error}"
    );
}

#[test]
fn a_binary_time_resolution_counts_in_powers_of_two() {
    let capture = read_bytes(&section(false, &[Some(0x94)], 6)).unwrap();
    let (low, high) = capture.connections[0].observed.rtt_span.unwrap();
    // a tick is 2^-20 s = 954 ns
    assert!(low.0.abs_diff(20_000_000) < 954 && high.0.abs_diff(27_000_000) < 954, "{low:?} {high:?}");
}

#[test]
fn a_new_section_may_have_the_other_byte_order() {
    let mut file = section(false, &[None], 6);
    let one = file.len();
    file.extend(section(true, &[Some(9)], 6));
    let capture = read_bytes(&file).unwrap();
    // the second section repeats the first; without identification each packet counts twice
    assert_eq!(capture.counts.packets, 6);
    assert_eq!(read_bytes(&file[..one]).unwrap().counts.packets, 3);
}

#[test]
fn simple_packet_blocks_without_a_time_cause_a_warning() {
    let mut file = section(false, &[None], 6);
    let packet = data(2001, 1000).v4();
    let mut body = (packet.len() as u32).to_le_bytes().to_vec();
    body.extend(packet);
    file.extend(block(false, 3, &body));
    let capture = read_bytes(&file).unwrap();
    assert_eq!(capture.counts.timeless, 1);
    assert_eq!(capture.connections[0].observed.bytes, 2000);
    assert!(capture.warnings[0].contains("1 packets have no time stamp"), "{:?}", capture.warnings);
}

#[test]
fn every_link_type_gives_the_same_packets() {
    let ethernet = |packet: &[u8]| [&[2; 12][..], &[8, 0], packet].concat();
    let vlan = |packet: &[u8]| [&[2; 12][..], &[0x81, 0, 0, 5, 8, 0], packet].concat();
    let double = |packet: &[u8]| [&[2; 12][..], &[0x88, 0xa8, 0, 9, 0x81, 0, 0, 5, 8, 0], packet].concat();
    let null = |packet: &[u8]| [&[2, 0, 0, 0][..], packet].concat();
    let cooked = |packet: &[u8]| [&[0; 14][..], &[8, 0], packet].concat();
    let cooked2 = |packet: &[u8]| [&[8, 0][..], &[0; 18], packet].concat();
    let cooked_vlan = |packet: &[u8]| [&[0; 14][..], &[0x81, 0, 0, 5, 8, 0], packet].concat();
    let raw = |packet: &[u8]| packet.to_vec();
    type Wrap = fn(&[u8]) -> Vec<u8>;
    let all: [(u32, Wrap); 13] = [
        (1, ethernet),
        (1, vlan),
        (1, double),
        (0, null),
        (108, null),
        (113, cooked),
        (113, cooked_vlan),
        (276, cooked2),
        (101, raw),
        (12, raw),
        (14, raw),
        (228, raw),
        (0x1000_0000 | 1, ethernet),
    ];
    for (link_type, wrap) in all {
        let packets: Vec<_> = exchange().iter().map(|(us, tcp)| (*us, wrap(&tcp.v4()))).collect();
        assert_reads(&pcap_of(link_type, &packets));
    }
    let packets: Vec<_> = exchange().iter().map(|(us, tcp)| (*us, tcp.v6())).collect();
    assert_reads(&pcap_of(229, &packets));
}

#[test]
fn the_ip_header_gives_the_payload_of_padded_and_truncated_packets() {
    let mut packets: Vec<_> =
        exchange().iter().map(|(us, tcp)| (*us, [&[2; 12][..], &[8, 0], &tcp.v4()].concat())).collect();
    packets[2].1.resize(60, 0);
    let mut file = pcap_of(1, &[]);
    for (us, packet) in &packets {
        // 54 bytes contain the headers, and no data
        let kept = &packet[..packet.len().min(54)];
        for word in [0, *us as u32, kept.len() as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(kept);
    }
    assert_reads(&file);
}

#[test]
fn options_cut_off_by_the_snaplen_do_not_hide_the_packet() {
    let mut file = pcap(&[]);
    for (us, tcp) in exchange() {
        let packet = tcp.stamps(1, 2).v4();
        // 20 bytes of IP, 20 of TCP, 4 of the 12 bytes of options
        for word in [0, us as u32, 44, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&packet[..44]);
    }
    let mut capture = read_bytes(&file).unwrap();
    assert_eq!(
        capture.warnings,
        [
            "test.pcap: 3 packets are cut off at 44 bytes, within the TCP options, so that window scale, SACK and time stamps behind that are unknown; capture with -s 128"
        ]
    );
    capture.warnings.clear();
    assert_is_the_exchange(&capture);
}

#[test]
fn ipv6_extension_headers_do_not_count_as_data() {
    let packets: Vec<_> = exchange()
        .iter()
        .map(|(us, tcp)| {
            let mut packet = tcp.v6();
            // an empty hop-by-hop header of 8 bytes: next header TCP, PadN of 4
            packet.splice(40..40, [6, 0, 1, 4, 0, 0, 0, 0]);
            packet[6] = 0;
            let length = u16::from_be_bytes([packet[4], packet[5]]) + 8;
            packet[4..6].copy_from_slice(&length.to_be_bytes());
            (*us, packet)
        })
        .collect();
    assert_reads(&pcap(&packets));
}

#[test]
fn a_length_field_left_at_zero_by_segmentation_offload_is_taken_from_the_frame() {
    for v6 in [false, true] {
        let packets: Vec<_> = exchange()
            .iter()
            .map(|(us, tcp)| {
                let mut packet = if v6 { tcp.v6() } else { tcp.v4() };
                let field = if v6 { 4..6 } else { 2..4 };
                packet[field].fill(0);
                (*us, packet)
            })
            .collect();
        assert_reads(&pcap(&packets));
    }
}

#[test]
fn a_truncated_file_is_used_up_to_its_end_with_a_warning() {
    let whole = pcap_of_tcp(&[exchange(), vec![(30_000, data(2001, 500))]].concat());
    let capture = read_bytes(&whole[..whole.len() - 100]).unwrap();
    assert_eq!(capture.connections[0].observed.bytes, 2000);
    assert_eq!(capture.warnings, ["test.pcap: the file is truncated after 3 packets; these are used"]);
}

#[test]
fn a_packet_captured_on_two_interfaces_counts_once() {
    let mut packets = Vec::new();
    for (index, (us, tcp)) in exchange().into_iter().enumerate() {
        let tcp = Tcp { id: 7 + index as u16, ..tcp };
        packets.extend([(us, tcp.clone()), (us + 3, tcp)]);
    }
    let capture = read_bytes(&pcap_of_tcp(&packets)).unwrap();
    assert_eq!(capture.counts.duplicates, 3);
    assert_eq!(
        (capture.connections[0].observed.packets, capture.connections[0].observed.retransmits),
        (2, 0)
    );
}

#[test]
fn reused_ports_make_another_connection() {
    let mut packets = handshake(1_000, 1000);
    packets.extend([(2_000, data(1, 500)), (3_000, ack(501))]);
    let again: Vec<_> = packets
        .iter()
        .map(|(us, tcp)| {
            let shift = |seq: u32| seq.wrapping_add(77_000);
            let tcp = tcp.clone();
            let ack = tcp.ack.map(|ack| if tcp.from_sender { ack } else { shift(ack) });
            let seq = if tcp.from_sender { shift(tcp.seq) } else { tcp.seq };
            (us + 1_000_000, Tcp { seq, ack, ..tcp })
        })
        .collect();
    let capture = read_bytes(&pcap_of_tcp(&[packets, again].concat())).unwrap();
    let bytes: Vec<_> = capture.connections.iter().map(|connection| connection.observed.bytes).collect();
    assert_eq!(bytes, [500, 500]);
}

fn error(bytes: &[u8]) -> String {
    read_bytes(bytes).unwrap_err().to_string()
}

#[test]
fn errors_name_the_file_and_the_reason() {
    assert_eq!(
        error(b"GIF89a"),
        "test.pcap: not a capture; expected a pcap or pcapng file, as written by tcpdump -w, dumpcap or Wireshark"
    );
    assert!(matches!(read_bytes(b""), Err(Error { problem: Problem::NotACapture, .. })));
    assert_eq!(error(&pcap(&[])), "test.pcap: the capture contains no packet");
    assert_eq!(
        error(&pcap(&[])[..20]),
        "test.pcap: the capture contains no packet: it is truncated inside the first one"
    );
    let packets: Vec<_> = exchange().iter().map(|(us, tcp)| (*us, tcp.v4())).collect();
    assert_eq!(
        error(&pcap_of(127, &packets)),
        "test.pcap: link type 127 is not supported; expected Ethernet (1), null or loopback (0, 108), PPP (9, 50, 51), raw IP (12, 14, 101, 228, 229), Cisco HDLC (104), Linux cooked (113, 276) or MPLS (219)"
    );
    let mut udp = Vec::new();
    PacketBuilder::ipv4(SENDER, RECEIVER, 64).udp(53, 53).write(&mut udp, &[0; 10]).unwrap();
    assert_eq!(error(&pcap(&[(0, udp)])), "test.pcap: no TCP packet among 1 packets, of which 1 are UDP");
    assert_eq!(error(&pcap_of_tcp(&handshake(10, 1460))), "test.pcap: no TCP connection carried data");
    assert!(matches!(read("no/such/file.pcap"), Err(Error { problem: Problem::Unreadable(_), .. })));
    assert!(matches!(read("."), Err(Error { problem: Problem::Unreadable(_), .. })), "a folder");
}

#[test]
fn a_stream_of_single_bytes_gives_the_same_capture() {
    struct Drip<'a>(&'a [u8]);
    impl std::io::Read for Drip<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let count = self.0.len().min(to.len()).min(1);
            to[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }
    for file in [pcap_of_tcp(&exchange()), section(true, &[Some(9)], 6)] {
        assert_is_the_exchange(&read_from(Drip(&file), "test.pcap").unwrap());
    }
}

#[test]
fn a_large_block_is_read_and_one_of_a_gigabyte_is_damage() {
    let mut names = section(false, &[None], 6);
    let end = names.len();
    // a comment block of 300 KB between the packets
    names.splice(28..28, block(false, 0x0bad, &vec![1; 300_000]));
    assert!(names.len() > end + 300_000);
    assert_reads(&names);
    let mut huge = section(false, &[None], 6);
    huge.extend(0x0bad_u32.to_le_bytes());
    huge.extend((1_u32 << 30).to_le_bytes());
    huge.extend(vec![0; 17 << 20]);
    assert_eq!(
        read_bytes(&huge).unwrap().warnings,
        ["test.pcap: the file is damaged after 3 packets; these are used"]
    );
}

#[test]
fn options_of_the_syn_reach_the_connection() {
    let mut packets = handshake(1_000, 1200);
    packets.extend([(2_000, data(1, 1188).stamps(1, 1)), (3_000, ack(1189).with(TcpOptionElement::Noop))]);
    // 1200 announced less 12 bytes of time stamps in every segment
    assert_eq!(only(&packets).observed.mss, 1188);
}

#[test]
fn a_block_shorter_than_its_own_frame_is_damage() {
    // Section header of 28 bytes: type, length, byte order, version 1.0, unknown section length, length.
    let mut section = vec![0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0];
    section.extend([0xff; 8]);
    section.extend([28, 0, 0, 0]);
    let types = (0..=10).chain([0x0bad, 0x4000_0bad, 0x8000_0001_u32]);
    for block_type in types {
        for length in 0..12_u32 {
            let mut file = section.clone();
            file.extend(block_type.to_le_bytes());
            file.extend(length.to_le_bytes());
            file.extend([0; 64]);
            let error = read_from(&file[..], "test.pcapng").expect_err("no packet");
            assert!(
                matches!(error.problem, Problem::Empty { truncated: true }),
                "{block_type} {length}: {error}"
            );
        }
    }
}

#[test]
fn duplicate_data_without_identification_counts_once() {
    // as in IPv6, and in IPv4 packets that are never fragmented: equal stamps within a millisecond
    let twice = |(us, tcp): (u64, Tcp)| {
        let tcp = tcp.stamps(7, 9);
        [(us, tcp.v6()), (us + 20, tcp.v6())]
    };
    let packets: Vec<_> = exchange().into_iter().flat_map(twice).collect();
    let capture = read_bytes(&pcap(&packets)).unwrap();
    let data = exchange().iter().filter(|(_, tcp)| tcp.len > 0).count() as u64;
    assert_eq!(capture.counts.duplicates, data);
    assert_eq!(capture.connections[0].observed.retransmits, 0);
}

#[test]
fn a_syn_with_truncated_options_leaves_the_receive_window_unknown() {
    // 40 bytes of headers are captured: the window scale is missing, and unscaled the window would limit the
    // sender
    let rest = exchange().into_iter().map(|(us, tcp)| (us + 20_000, tcp));
    let packets: Vec<_> = handshake(10_000, 1000).into_iter().chain(rest).collect();
    let mut file = pcap_of(101, &[]);
    for (us, tcp) in &packets {
        let bytes = tcp.v4();
        let kept = &bytes[..40];
        let words = [(us / 1_000_000) as u32, (us % 1_000_000) as u32, kept.len() as u32, bytes.len() as u32];
        words.iter().for_each(|word| file.extend(word.to_le_bytes()));
        file.extend(kept);
    }
    let capture = read_bytes(&file).unwrap();
    assert!(infer(&capture.connections).receive_window.known().is_none());
    let whole = infer(&read_bytes(&pcap_of_tcp(&packets)).unwrap().connections);
    assert_eq!(whole.receive_window.known().map(|window| window.value), Some(128_000.0));
}

/// Limit of the reader, as `docs/captures.md` states it.
const CONNECTIONS: u32 = 65_536;

/// `packet` with the source address of connection number `index`.
fn of_connection(packet: &Tcp, index: u32) -> Vec<u8> {
    let mut bytes = packet.v4();
    bytes[12..16].copy_from_slice(&(0x0b00_0000 + index).to_be_bytes());
    bytes
}

/// SYNs of this many connections, ten per microsecond.
fn flood(connections: u32, from_us: u64) -> Vec<(u64, Vec<u8>)> {
    let syn = Tcp { syn: true, ack: None, ..data(0, 0) };
    (0..connections).map(|index| (from_us + u64::from(index) / 10, of_connection(&syn, index))).collect()
}

/// A handshake at `from_us` and a segment of 1000 bytes that is acknowledged, both a second before `until_us`.
fn transfer(from_us: u64, until_us: u64) -> [Vec<(u64, Vec<u8>)>; 2] {
    let opened = handshake(1_000, 1000).into_iter().map(|(us, tcp)| (from_us + us, tcp.v4()));
    let sent = [(until_us - 1_000, data(1, 1000).v4()), (until_us, ack(1001).v4())];
    [opened.collect(), sent.to_vec()]
}

#[test]
fn a_flood_of_syns_pushes_out_no_transfer() {
    // a transfer behind 100 000 SYNs, and one that waits for 60 000 SYNs after its handshake
    let [opened, sent] = transfer(20_000, 30_000);
    for packets in
        [[flood(100_000, 0), opened.clone(), sent.clone()], [opened, flood(60_000, 22_000), sent.clone()]]
    {
        let flooded = packets.iter().any(|part| part.len() > CONNECTIONS as usize);
        let capture = read_bytes(&pcap(&packets.concat())).unwrap();
        assert_eq!(capture.connections.len(), 1);
        let observed = &capture.connections[0].observed;
        assert_eq!((observed.bytes, observed.handshake), (1000, true));
        // 100 001 connections are 34 465 more than the limit
        let named = "at most 65536 connections are followed at once; 34465 that had carried no data made room for later ones";
        assert_eq!(capture.warnings, if flooded { vec![named] } else { vec![] });
    }
}

#[test]
fn connections_with_data_make_room_for_later_ones_and_still_count() {
    let packets: Vec<_> =
        (0..CONNECTIONS + 3).map(|index| (u64::from(index), of_connection(&data(1, 1), index))).collect();
    let capture = read_bytes(&pcap(&packets)).unwrap();
    assert_eq!(capture.connections.len(), CONNECTIONS as usize + 3);
    assert_eq!(capture.groups.iter().map(|group| group.connections).sum::<u64>(), u64::from(CONNECTIONS) + 3);
    assert_eq!(
        capture.warnings,
        [
            "at most 65536 connections are followed at once; 3 made room for later ones before they ended, and count again if they went on"
        ]
    );
}

#[test]
fn a_refusal_contains_the_warnings_before_it() {
    let file = pcap(&flood(CONNECTIONS + 1, 0));
    assert_eq!(
        error(&file),
        "test.pcap: no TCP connection carried data (at most 65536 connections are followed at once; 1 that had carried no data made room for later ones)"
    );
    let whole = pcap_of_tcp(&[handshake(10, 1460), vec![(20, data(1, 10))]].concat());
    assert_eq!(
        error(&whole[..whole.len() - 10]),
        "test.pcap: no TCP connection carried data (test.pcap: the file is truncated after 3 packets; these are used)"
    );
    // a gigabyte is missing before the only data
    let implausible = [handshake(10, 1460), vec![(20, data(1_000_000_000, 10))]].concat();
    assert_eq!(
        error(&pcap_of_tcp(&implausible)),
        "test.pcap: no TCP connection has a data packet with a plausible sequence number"
    );
}

#[test]
fn data_beyond_the_limit_of_pieces_is_left_out_by_name() {
    // the announced segments of 28 bytes cut 60 000 bytes into 2143 pieces; 2^22 are reached in the 1958th packet
    let mut file = pcap_of_tcp(&handshake(10, 28));
    for index in 0..2_000 {
        let packet = data(1 + index * 60_000, 60_000).v4();
        for word in [1 + index / 1000, 1000 * (index % 1000), 40, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&packet[..40]);
    }
    let capture = read_bytes(&file).unwrap();
    assert_eq!(capture.connections[0].observed.bytes, 1957 * 60_000);
    assert_eq!(
        capture.warnings[..2],
        [
            "10.0.0.1:40000 > 10.0.0.2:80: the capture has more than 4194304 pieces of data from 2.956 s on; later packets are ignored",
            "1957 of 1957 data packets are longer than a segment, as the capturing host splits or joins segments (TSO, GRO): each counts as its segments, whose own times are unknown"
        ]
    );
}
