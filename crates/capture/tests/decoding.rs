//! Packets that are hard to read: options of every kind, encapsulations, fragments, headers that are cut off, and what is said
//! about those that cannot be read.

use crate::common::*;
use etherparse::PacketBuilder;
use firstflight_capture::{Capture, ExitReason, Next, Problem, Reader, infer};
use firstflight_contract::Nanos;

/// `packet` with other options. Their length is a multiple of four.
fn with_options(packet: &[u8], options: &[u8]) -> Vec<u8> {
    let header = 20 + usize::from(packet[32] >> 4) * 4;
    let mut bytes = [&packet[..40], options, &packet[header..]].concat();
    bytes[32] = bytes[32] & 0x0f | ((5 + options.len() / 4) as u8) << 4;
    let length = (bytes.len() as u16).to_be_bytes();
    bytes[2..4].copy_from_slice(&length);
    bytes
}

/// A handshake with these options in both SYNs, then 2000 bytes in two packets and their ACK.
fn opened_with(options: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let shake = handshake(10_000, 1000);
    let mut packets: Vec<_> = shake
        .iter()
        .map(|(us, tcp)| (*us, if tcp.syn { with_options(&tcp.v4(), options) } else { tcp.v4() }))
        .collect();
    packets.extend([(20_000, data(1, 1000).v4()), (20_010, data(1001, 1000).v4()), (30_000, ack(2001).v4())]);
    packets
}

#[test]
fn an_unknown_option_hides_none_behind_it() {
    // an MSS of 1000 and a scale of 7, behind options of 4, 8, 12, 16 or 20 bytes
    let known = [2, 4, 0x03, 0xe8, 1, 3, 3, 7];
    let unknown: [&[u8]; 11] = [
        &[19, 18, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1, 1],
        &[29, 8, 1, 2, 3, 4, 5, 6],
        &[34, 2, 1, 1],
        &[34, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1],
        &[30, 4, 0, 1],
        &[172, 11, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1],
        &[174, 5, 0, 0, 1, 1, 1, 1],
        &[253, 4, 0xf9, 0x89],
        &[254, 6, 1, 2, 3, 4, 1, 1],
        &[200, 4, 0, 0],
        // a time stamp and an MSS of lengths that do not exist
        &[8, 4, 0, 0, 2, 3, 5, 1],
    ];
    for unknown in unknown {
        let capture = read_bytes(&pcap(&opened_with(&[unknown, &known].concat()))).unwrap();
        let window = infer(&capture.connections).receive_window;
        // 1000 << 7
        assert_eq!(window.known().map(|window| window.value), Some(128_000.0), "{unknown:?}");
        assert_eq!(capture.connections[0].observed.mss, 1000, "{unknown:?}");
        assert_eq!(capture.warnings, [""; 0], "{unknown:?}");
    }
}

#[test]
fn an_option_of_a_malformed_length_ends_the_list() {
    let scale = [3, 3, 7, 1];
    for malformed in [&[34, 0, 1, 1][..], &[34, 1, 1, 1], &[34, 40, 1, 1], &[0, 1, 1, 1]] {
        let capture = read_bytes(&pcap(&opened_with(&[malformed, &scale].concat()))).unwrap();
        // without a scale the field counts as it is
        let window = infer(&capture.connections).receive_window;
        assert_eq!(window.known().map(|window| window.value), Some(1000.0), "{malformed:?}");
    }
}

/// Flags AE, CWR and ECE of an IPv4 packet, as the number of accurate ECN.
fn with_ace(mut packet: Vec<u8>, number: u8) -> Vec<u8> {
    packet[32] = packet[32] & 0xf0 | number >> 2;
    packet[33] = packet[33] & 0x3f | (number & 3) << 6;
    packet
}

/// 40 segments of 1000 bytes from the client or the server, each with its ACK 40 ms later, which has the count `ace(number)`
/// of accurate ECN. The SYN-ACK has `code`, the ACK of it `third`.
fn accurate(from_client: bool, (code, third): (u8, u8), ace: impl Fn(usize) -> u8) -> Vec<(u64, Vec<u8>)> {
    let swap = |tcp: Tcp| Tcp { from_sender: tcp.from_sender == from_client, ..tcp };
    let mut packets: Vec<_> = handshake(40_000, 1000)
        .into_iter()
        .zip([7, code, third])
        .map(|((us, tcp), number)| (us, with_ace(tcp.v4(), number)))
        .collect();
    for number in 0..40 {
        let at = 50_000 + 50_000 * number as u64;
        packets.push((at, with_ace(swap(data(1 + 1000 * number as u32, 1000)).v4(), 5)));
        packets.push((at + 40_000, with_ace(swap(ack(1001 + 1000 * number as u32)).v4(), ace(number) & 7)));
    }
    packets
}

fn exit_and_marks(packets: &[(u64, Vec<u8>)]) -> (Option<ExitReason>, Option<(u64, bool)>) {
    let observed = read_bytes(&pcap(packets)).unwrap().connections.remove(0).observed;
    let exit = observed.startup.exit.map(|exit| exit.reason).filter(|why| *why == ExitReason::Mark);
    (exit, observed.congestion_marks.map(|marks| (marks.packets, marks.exact)))
}

#[test]
fn the_count_of_accurate_ecn_is_no_mark_until_it_grows() {
    // RFC 9768, section 3.2.2: the count begins at 5; the SYN-ACK and the ACK after it have codes for the ECN field that arrived
    for from_client in [true, false] {
        for code in [2, 3, 4] {
            assert_eq!(exit_and_marks(&accurate(from_client, (code, 2), |_| 5)), (None, Some((0, true))));
        }
        // three marks in the first acknowledgement, and nine more one by one: 5 + 12 = 17, which is 1 modulo 8
        let count = |number: usize| 5 + 3 + number.min(9) as u8;
        let (exit, marks) = exit_and_marks(&accurate(from_client, (2, 4), count));
        assert_eq!((exit, marks), (Some(ExitReason::Mark), Some((12, true))));
    }
    // the mark of the SYN (code 6 of the SYN-ACK) or of the SYN-ACK (code 6 of the ACK) counts: the count begins at 6
    assert_eq!(exit_and_marks(&accurate(true, (6, 2), |_| 6)), (None, Some((0, true))));
    assert_eq!(exit_and_marks(&accurate(false, (2, 6), |_| 6)), (None, Some((0, true))));
    // a path that erases the number gives no count, and no mark either
    assert_eq!(exit_and_marks(&accurate(false, (2, 0), |_| 0)), (None, None));
}

#[test]
fn a_server_without_accurate_ecn_answers_classically() {
    // code 1: ECE alone is classic ECN (RFC 3168); its ECE is a mark, and how many packets had one is not reported
    let marked = accurate(false, (1, 0), |number| u8::from(number == 0));
    assert_eq!(exit_and_marks(&marked), (Some(ExitReason::Mark), None));
}

#[test]
fn a_count_of_accurate_ecn_that_may_have_wrapped_is_not_exact() {
    // without the handshake the first count is unknown; AE shows that it is one
    let packets = accurate(false, (2, 2), |number| if number == 0 { 5 } else { 7 });
    let later: Vec<_> = packets[3..].to_vec();
    assert_eq!(exit_and_marks(&later), (Some(ExitReason::Mark), Some((2, false))));
    // an acknowledgement of ten packets may report two marks or ten
    let is_kept = |index: usize| !(3 + 2..3 + 2 * 10).contains(&index) || (index - 3).is_multiple_of(2);
    let packets: Vec<_> = packets
        .into_iter()
        .enumerate()
        .filter(|(index, _)| is_kept(*index))
        .map(|(_, packet)| packet)
        .collect();
    assert_eq!(exit_and_marks(&packets), (Some(ExitReason::Mark), Some((2, false))));
    let capture = read_bytes(&pcap(&packets)).unwrap();
    assert!(
        capture.warnings.iter().any(|it| it.contains("it reports 2 marked packets, and maybe more")),
        "{:?}",
        capture.warnings
    );
}

/// Two data packets of 1000 bytes, 7 ms apart, and an ACK of both another 20 ms later.
fn exchange() -> Vec<(u64, Tcp)> {
    vec![(0, data(1, 1000)), (7_000, data(1001, 1000)), (27_000, ack(2001))]
}

fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &ether_type.to_be_bytes(), payload].concat()
}

/// A pcap file of Ethernet frames that keeps `snap` bytes of each.
fn cut_off(frames: &[(u64, Vec<u8>)], snap: usize) -> Vec<u8> {
    let mut file = pcap_of(1, &[]);
    for (us, frame) in frames {
        let kept = &frame[..frame.len().min(snap)];
        for word in [0, *us as u32, kept.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(kept);
    }
    file
}

#[test]
fn headers_that_are_cut_off_are_counted_with_the_length_that_they_need() {
    let vlan = |tcp: &Tcp| ethernet(0x8100, &[&[0, 5, 8, 0][..], &tcp.v4()].concat());
    let frames: Vec<_> = exchange().iter().map(|(us, tcp)| (*us, vlan(tcp))).collect();
    // 18 + 20 + 15 bytes: the window of TCP is cut off
    let error = read_bytes(&cut_off(&frames, 53)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "test.pcap: 3 packets cut off at 53 bytes, within their headers; capture with -s 128"
    );
    assert!(matches!(error.problem, Problem::CutOff { packets: 3, snap_length: 128, .. }));
    // one byte more, and all but the checksum and the options is there
    let capture = read_bytes(&cut_off(&frames, 54)).unwrap();
    assert_eq!((capture.connections[0].observed.bytes, capture.counts.tcp), (2000, 3));
    assert_eq!(
        capture.warnings,
        [
            "test.pcap: 3 packets are cut off at 54 bytes, within the TCP options, so that window scale, SACK and time stamps behind that are unknown; capture with -s 128"
        ]
    );
    assert_eq!(capture.passed_over.len(), 1);
    // some are cut off, others are not
    let mut mixed: Vec<_> = exchange().iter().map(|(us, tcp)| (*us, ethernet(0x0800, &tcp.v4()))).collect();
    mixed.push((30_000, vlan(&data(2001, 1000))));
    let capture = read_bytes(&cut_off(&mixed, 53)).unwrap();
    assert!(
        capture.warnings.contains(
            &"test.pcap: 1 packet is cut off at 53 bytes, within the headers, and is left out; capture with -s 128".into()
        ),
        "{:?}",
        capture.warnings
    );
}

#[test]
fn a_tunnel_that_is_cut_off_before_its_header_ends_is_counted_as_cut_off() {
    // Ethernet 14 bytes, IPv4 20, UDP 8, VXLAN 8, Ethernet 14, IPv4 20, and 16 of TCP
    let vxlan = |tcp: &Tcp| {
        let frame = [&[8, 0, 0, 0, 0, 0, 42, 0][..], &ethernet(0x0800, &tcp.v4())].concat();
        ethernet(0x0800, &udp_to(4789, &frame))
    };
    let frames: Vec<_> = exchange().iter().map(|(us, tcp)| (*us, vxlan(tcp))).collect();
    for snap in 14..100 {
        let error = read_bytes(&cut_off(&frames, snap)).unwrap_err();
        assert!(matches!(error.problem, Problem::CutOff { packets: 3, .. }), "{snap} bytes: {error}");
    }
    let capture = read_bytes(&cut_off(&frames, 100)).unwrap();
    assert_eq!((capture.connections[0].observed.bytes, capture.counts.tcp), (2000, 3));
    // no tunnel has the port of DNS
    let dns = [(30_000, ethernet(0x0800, &udp_to(53, &[1; 80])))];
    let tcp: Vec<_> = exchange().iter().map(|(us, tcp)| (*us, ethernet(0x0800, &tcp.v4()))).collect();
    let capture = read_bytes(&cut_off(&[&tcp[..], &dns].concat(), 54)).unwrap();
    assert_eq!((&capture.passed_over[..], &capture.warnings[..]), (&[][..], &[][..]));
}

#[test]
fn a_frame_behind_a_segment_routing_header_is_read() {
    // RFC 8986: IPv6, a routing header of type 4 with one segment, and next header 143
    let frames: Vec<_> = exchange()
        .iter()
        .map(|(us, tcp)| {
            let inner = ethernet(0x0800, &tcp.v4());
            let header = [&[143, 2, 4, 0, 0, 0, 0, 0][..], &[0x20; 16]].concat();
            let length = ((header.len() + inner.len()) as u16).to_be_bytes();
            let outer =
                [&[0x60, 0, 0, 0][..], &length, &[43, 64], &[1; 16], &[2; 16], &header, &inner].concat();
            (*us, ethernet(0x86dd, &outer))
        })
        .collect();
    let capture = read_bytes(&pcap_of(1, &frames)).unwrap();
    assert_eq!((capture.connections[0].observed.bytes, capture.counts.tcp), (2000, 3));
}

/// The 1000 data bytes of a packet in fragments of 400.
fn fragments(tcp: &Tcp, id: u16) -> Vec<Vec<u8>> {
    let packet = Tcp { id, ..tcp.clone() }.v4();
    let (header, payload) = packet.split_at(20);
    let parts: Vec<&[u8]> = payload.chunks(400).collect();
    let part = |(index, bytes): (usize, &&[u8])| {
        let mut part = [header, bytes].concat();
        let length = (part.len() as u16).to_be_bytes();
        part[2..4].copy_from_slice(&length);
        let more = if index + 1 < parts.len() { 1 << 13 } else { 0 };
        part[6..8].copy_from_slice(&(more | (index * 50) as u16).to_be_bytes());
        part
    };
    parts.iter().enumerate().map(part).collect()
}

#[test]
fn fragments_are_put_together_in_any_order() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut packets = vec![];
        for (index, (us, tcp)) in exchange().into_iter().enumerate() {
            match tcp.len {
                0 => packets.push((us, tcp.v4())),
                _ => packets.extend(order.map(|part| (us, fragments(&tcp, 7 + index as u16)[part].clone()))),
            }
        }
        let capture = read_bytes(&pcap(&packets)).unwrap();
        let observed = &capture.connections[0].observed;
        assert_eq!((observed.bytes, observed.packets, observed.retransmits), (2000, 2, 0), "{order:?}");
        assert_eq!(capture.warnings, [""; 0]);
        // and as copies of another interface
        let twice: Vec<_> = packets.iter().flat_map(|one| [one.clone(), one.clone()]).collect();
        let observed = &read_bytes(&pcap(&twice)).unwrap().connections[0].observed;
        assert_eq!((observed.bytes, observed.packets, observed.retransmits), (2000, 2, 0), "{order:?}");
    }
}

#[test]
fn fragments_of_an_incomplete_packet_are_counted() {
    let all: Vec<_> = fragments(&data(1, 1000), 7).into_iter().map(|part| (0, part)).collect();
    let rest = || [(10, data(1001, 1000).v4()), (20_000, ack(1001).v4()), (30_000, ack(2001).v4())];
    let warnings = |kept: &[(u64, Vec<u8>)]| {
        let capture = read_bytes(&pcap(&[kept, &rest()].concat())).unwrap();
        assert_eq!(capture.passed_over[0].packets, kept.len() as u64);
        capture.warnings
    };
    // 420 bytes each, the last one 240: 1020 bytes of TCP in 400, 400 and 220
    assert!(warnings(&all[..2]).contains(
        &"test.pcap: 2 packets of 840 bytes are IP fragments, of whose datagrams others are missing, and are left out".into()
    ));
    let first = warnings(&all[..1]);
    assert!(
        first[0].starts_with(
            "test.pcap: 1 packet of 420 bytes is first IP fragments, whose later ones were not captured"
        ),
        "{first:?}"
    );
}

#[test]
fn the_identification_of_a_fragment_is_used_again() {
    // two datagrams with one identification, an hour apart; of the first the last fragment is missing
    let hour = 3_600_000_000;
    let mut packets: Vec<_> =
        fragments(&data(1, 1000), 7)[..2].iter().map(|part| (0, part.clone())).collect();
    packets.extend(fragments(&data(5001, 1000), 7).into_iter().map(|part| (hour, part)));
    packets.push((hour + 10, ack(6001).v4()));
    let capture = read_bytes(&pcap(&packets)).unwrap();
    assert_eq!(capture.passed_over.iter().map(|one| one.packets).collect::<Vec<_>>(), [2]);
    assert_eq!(capture.counts.tcp, 2);
}

fn udp_to(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![];
    PacketBuilder::ipv4([203, 0, 113, 1], [203, 0, 113, 2], 64)
        .udp(50_000, port)
        .write(&mut bytes, payload)
        .unwrap();
    bytes
}

#[test]
fn udp_on_the_port_of_a_tunnel_is_a_tunnel_only_with_its_header_and_a_right_packet_in_it() {
    let inner = data(1, 1000).v4();
    let frame = ethernet(0x0800, &inner);
    let vxlan = |head: [u8; 8], frame: &[u8]| udp_to(4789, &[&head[..], frame].concat());
    let count = |packet: Vec<u8>| {
        let rest = exchange().into_iter().map(|(us, tcp)| (us, Tcp { seq: tcp.seq + 5000, ..tcp }.v4()));
        let packets: Vec<_> = std::iter::once((0, packet)).chain(rest).collect();
        read_bytes(&pcap(&packets)).unwrap().counts.tcp - 3
    };
    assert_eq!(count(vxlan([8, 0, 0, 0, 0, 0, 42, 0], &frame)), 1);
    // RFC 7348, section 5: reserved fields are ignored on receipt
    for head in [[8, 0, 1, 0, 0, 0, 42, 0], [8, 0, 0, 0, 0, 0, 42, 1], [0xf8, 0, 0, 0, 0, 0, 42, 0]] {
        assert_eq!(count(vxlan(head, &frame)), 1, "{head:?}");
    }
    // the protocol is named: Ethernet, IPv4
    assert_eq!(count(vxlan([0x0c, 0, 0, 3, 0, 0, 42, 0], &frame)), 1);
    assert_eq!(count(vxlan([0x0c, 0, 0, 1, 0, 0, 42, 0], &inner)), 1);
    // no network is named; another version of IP; a checksum, a length, an EtherType that are wrong
    assert_eq!(count(vxlan([0, 0, 0, 0, 0, 0, 42, 0], &frame)), 0);
    for (at, value) in [(14, 0x55), (24, 0x5a), (16, 0xff), (12, 0x99)] {
        let mut damaged = frame.clone();
        damaged[at] = value;
        assert_eq!(count(vxlan([8, 0, 0, 0, 0, 0, 42, 0], &damaged)), 0, "byte {at}");
    }
    // a user's packet of GTP, and one of control; a length beyond the packet
    let gtp = |kind: u8, length: u16| {
        udp_to(2152, &[&[0x30, kind][..], &length.to_be_bytes(), &[0, 0, 0, 1], &inner].concat())
    };
    assert_eq!(count(gtp(255, inner.len() as u16)), 1);
    assert_eq!(count(gtp(26, inner.len() as u16)), 0);
    assert_eq!(count(gtp(255, inner.len() as u16 + 1)), 0);
    // the same bytes to another port
    assert_eq!(count(udp_to(4788, &[&[8, 0, 0, 0, 0, 0, 42, 0][..], &frame].concat())), 0);
}

#[test]
fn both_directions_of_a_tunnel_with_one_known_port_are_read() {
    // L2TP: a server's port is 1701, a client's may be any. Flags without a length, tunnel 7, session 9, PPP, IPv4
    let l2tp = |tcp: &Tcp| [&[0, 2, 0, 7, 0, 9, 0xff, 3, 0, 0x21][..], &tcp.v4()].concat();
    let packets: Vec<_> = exchange()
        .iter()
        .map(|(us, tcp)| {
            let ports = if tcp.from_sender { (50_000, 1701) } else { (1701, 50_000) };
            let mut bytes = vec![];
            let ends = PacketBuilder::ipv4([203, 0, 113, 1], [203, 0, 113, 2], 64).udp(ports.0, ports.1);
            ends.write(&mut bytes, &l2tp(tcp)).unwrap();
            (*us, bytes)
        })
        .collect();
    let observed = &read_bytes(&pcap(&packets)).unwrap().connections[0].observed;
    assert_eq!((observed.bytes, observed.delivered_bytes), (2000, 2000));
}

#[test]
fn packets_captured_within_a_tunnel_and_outside_count_once() {
    // a host cuts a segment of 3000 bytes into three before the tunnel; IPv4 without identification
    let whole = |seq: u32, len: usize| (data(seq, len).v4(), seq, len);
    let mut packets = handshake(10_000, 1000).into_iter().map(|(us, tcp)| (us, tcp.v4())).collect::<Vec<_>>();
    let tunnelled =
        |tcp: Tcp| udp_to(4789, &[&[8, 0, 0, 0, 0, 0, 42, 0][..], &ethernet(0x0800, &tcp.v4())].concat());
    for round in 0..5_u32 {
        let (at, seq) = (20_000 + 20_000 * u64::from(round), 1 + 3000 * round);
        packets.push((at, whole(seq, 3000).0));
        packets.extend((0..3).map(|part| (at + 5, tunnelled(data(seq + 1000 * part, 1000)))));
        packets.push((at + 10_000, tunnelled(ack(seq + 3000))));
        packets.push((at + 10_003, ack(seq + 3000).v4()));
    }
    let capture = read_bytes(&pcap(&packets)).unwrap();
    let observed = &capture.connections[0].observed;
    assert_eq!((observed.bytes, observed.packets, observed.retransmits), (15_000, 15, 0));
    // 15 packets and 5 acknowledgements
    assert_eq!(capture.counts.duplicates, 20);
}

#[test]
fn what_may_hide_tcp_is_named_by_kind() {
    let ip = |protocol: u8| {
        let mut bytes = data(1, 100).v4();
        bytes[9] = protocol;
        bytes
    };
    let macsec = [&[0x2c, 0, 0, 0, 0, 1][..], &[0; 100]].concat();
    let wireguard = [&[4, 0, 0, 0][..], &[7; 92]].concat();
    let named = [
        (ethernet(0x0800, &ip(50)), "IPsec ESP"),
        (ethernet(0x0800, &udp_to(4500, &[7; 100])), "IPsec ESP"),
        (ethernet(0x0800, &udp_to(51_820, &wireguard)), "WireGuard"),
        (ethernet(0x88e5, &macsec), "MACsec"),
        (ethernet(0x0800, &ip(115)), "L2TPv3"),
        (ethernet(0x0800, &udp_to(1701, &[&[0, 3, 0, 0, 0, 0, 0, 9][..], &[7; 60]].concat())), "L2TPv3"),
        (ethernet(0x0800, &udp_to(1194, &[&[0x48, 0, 0, 1][..], &[7; 60]].concat())), "OpenVPN"),
        (ethernet(0x0800, &udp_to(5247, &[&[0, 0x10, 2, 0][..], &[7; 60]].concat())), "CAPWAP"),
        ([&[1, 0, 0x0c, 0, 0, 0][..], &[2; 6], &[0, 90, 0xaa, 0xaa, 3], &[0; 90]].concat(), "Cisco ISL"),
        (ethernet(0x0800, &ip(94)), "IP protocol 94"),
        (ethernet(0x1234, &[0; 100]), "EtherType 0x1234"),
        (ethernet(0x8864, &[0x11, 0, 0, 1, 0, 50, 0, 0x3d, 0]), "multilink PPP"),
        (
            ethernet(0x8847, &[&[0, 0, 0x21, 64][..], &[0xff; 60]].concat()),
            "MPLS with a payload of unknown kind",
        ),
        (ethernet(0x0800, &[0x44; 30]), "damaged headers"),
        (ethernet(0x8100, &[0, 1, 0x81, 0].repeat(20)), "more than 16 encapsulations"),
    ];
    let silent = [
        ethernet(0x0806, &[0; 28]),
        ethernet(0x88cc, &[0; 50]),
        ethernet(38, &[0x42, 0x42, 3, 0, 0]),
        ethernet(0x0800, &ip(1)),
        ethernet(0x0800, &ip(132)),
        ethernet(0x0800, &udp_to(53, &[1; 50])),
        ethernet(0x0800, &udp_to(4500, &[0, 0, 0, 0, 1, 2, 3, 4])),
        ethernet(0x8864, &[0x11, 0, 0, 1, 0, 4, 0xc0, 0x21, 9, 1]),
    ];
    let tcp: Vec<_> = exchange().iter().map(|(us, tcp)| (*us, ethernet(0x0800, &tcp.v4()))).collect();
    for (frame, what) in named {
        let bytes = frame.len() as u64;
        let capture = read_bytes(&pcap_of(1, &[&tcp[..], &[(30_000, frame)]].concat())).unwrap();
        let found: Vec<_> =
            capture.passed_over.iter().map(|one| (&*one.what, one.packets, one.bytes)).collect();
        assert_eq!(found, [(what, 1, bytes)]);
        assert!(
            capture.warnings[0].starts_with("test.pcap: 1 packet") && capture.warnings.len() == 1,
            "{:?}",
            capture.warnings
        );
    }
    for frame in silent {
        let capture = read_bytes(&pcap_of(1, &[&tcp[..], &[(30_000, frame.clone())]].concat())).unwrap();
        assert_eq!((&capture.passed_over[..], &capture.warnings[..]), (&[][..], &[][..]), "{frame:02x?}");
    }
}

fn read_all(files: &[(&str, Vec<u8>)]) -> Capture {
    let mut reader = Reader::default();
    for (name, file) in files {
        reader.add(&file[..], name, &mut || Next::Continue).unwrap();
    }
    reader.finish(files[0].0).unwrap()
}

#[test]
fn warnings_name_the_files_that_they_are_about() {
    let tcp: Vec<_> = exchange().iter().map(|(us, tcp)| (*us, ethernet(0x0800, &tcp.v4()))).collect();
    let odd = |count: usize| pcap_of(1, &vec![(50_000, ethernet(0x1234, &[0; 46])); count]);
    let sentence = |packets: u64, verb: &str, they: &str| {
        let packet = if packets == 1 { "packet" } else { "packets" };
        format!(
            "{packets} {packet} of {} bytes {verb} EtherType 0x1234, which is not read: {they} left out",
            60 * packets
        )
    };
    let files = [("a", pcap_of(1, &tcp)), ("b", odd(1)), ("c", odd(2))];
    assert_eq!(
        read_all(&files).warnings,
        [format!("b: {}", sentence(1, "has", "it is")), format!("c: {}", sentence(2, "have", "they are"))]
    );
    let many = [&files[..], &[("d", odd(3)), ("e", odd(4)), ("f", odd(5))]].concat();
    let capture = read_all(&many);
    assert_eq!(capture.warnings, [format!("b, c, d and 2 more files: {}", sentence(15, "have", "they are"))]);
    let listed: Vec<_> = capture.passed_over.iter().map(|one| (&*one.file, one.packets)).collect();
    assert_eq!(listed, [("b", 1), ("c", 2), ("d", 3), ("e", 4), ("f", 5)]);
}

#[test]
fn files_without_packets_are_named_in_one_line() {
    let names: Vec<String> = (0..497).map(|number| format!("empty{number}")).collect();
    let mut files = vec![("whole", pcap_of_tcp(&exchange()))];
    files.extend(names[..2].iter().map(|name| (&**name, pcap(&[]))));
    assert_eq!(read_all(&files).warnings, ["empty0 and empty1: the files contain no packet"]);
    files.extend(names[2..].iter().map(|name| (&**name, pcap(&[]))));
    assert_eq!(
        read_all(&files).warnings,
        ["empty0, empty1, empty2 and 494 more files: the files contain no packet"]
    );
}

#[test]
fn a_capture_of_tunnels_has_the_values_of_the_one_without() {
    // 200 packets of 1000 bytes over 8.32 Mbit/s and 40 ms; PPPoE in a VLAN, and GRE over IPv6
    let packets = path::Path { segments: 200, buffer: 1000, ..path::Path::default() }.run();
    let bare = infer(&read_bytes(&pcap_of_tcp(&packets)).unwrap().connections);
    let pppoe = |packet: &[u8]| {
        let length = (packet.len() as u16 + 2).to_be_bytes();
        ethernet(0x8100, &[&[0, 7, 0x88, 0x64, 0x11, 0, 0, 1][..], &length, &[0, 0x21], packet].concat())
    };
    let gre = |packet: &[u8]| {
        let mut outer = vec![];
        let inner = [&[0, 0, 8, 0][..], packet].concat();
        PacketBuilder::ipv6([1; 16], [2; 16], 64)
            .write(&mut outer, etherparse::IpNumber::GRE, &inner)
            .unwrap();
        ethernet(0x86dd, &outer)
    };
    for tunnel in [0, 1] {
        let wrap = |packet: &[u8]| if tunnel == 0 { pppoe(packet) } else { gre(packet) };
        let wrapped: Vec<_> = packets.iter().map(|(us, tcp)| (*us, wrap(&tcp.v4()))).collect();
        let capture = read_bytes(&pcap_of(1, &wrapped)).unwrap();
        assert_eq!(capture.warnings, [""; 0]);
        assert_eq!(format!("{:?}", infer(&capture.connections)), format!("{bare:?}"));
        assert_eq!(
            capture.connections[0].observed.rtt_span.map(|it| it.0 >= Nanos::from_millis(40)),
            Some(true)
        );
    }
}
