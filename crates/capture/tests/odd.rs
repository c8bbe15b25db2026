//! One odd number, one missing acknowledgement or one small packet does not change what the rest of a connection shows.

use crate::common::path::Path;
use crate::common::*;
use etherparse::TcpOptionElement::{MaximumSegmentSize, WindowScale};
use firstflight_capture::{Connection, Observed};
use firstflight_contract::Nanos;

fn read_packets(packets: &[(u64, Tcp)]) -> (Connection, Vec<String>) {
    let mut capture = read_bytes(&pcap_of_tcp(packets)).unwrap();
    assert_eq!(capture.connections.len(), 1, "{:?}", capture.warnings);
    (capture.connections.remove(0), capture.warnings)
}

/// A transfer of 1 MB, and its packets.
fn transfer() -> Vec<(u64, Tcp)> {
    Path { segments: 1000, buffer: 500, ..Path::default() }.run()
}

/// The transfer with a packet in its middle: what is observed with it and without it, and the warnings.
fn with(odd: Tcp) -> (Observed, Observed, Vec<String>) {
    let mut packets = transfer();
    let expected = only(&packets).observed;
    let middle = packets.len() / 2;
    packets.insert(middle, (packets[middle].0, odd));
    let (connection, warnings) = read_packets(&packets);
    (connection.observed, expected, warnings)
}

#[test]
fn a_data_packet_with_an_impossible_number_is_left_out() {
    // Far behind, far before, a window ahead, and beyond half of the numbers.
    for seq in [2_000_000_000, 3_000_000_000, 50_000_000, 4_000_000_000, 0x8000_0000] {
        let (observed, expected, warnings) = with(data(seq, 100));
        assert_eq!(observed, expected, "{seq}");
        let sentence =
            "10.0.0.1:40000 > 10.0.0.2:80: one data packet with an implausible sequence number left out";
        assert_eq!(warnings[0], sentence, "{seq}");
    }
}

#[test]
fn an_acknowledgement_of_data_that_was_never_sent_is_left_out() {
    for number in [900_000, 1_000_001, 40_000_000, 1_500_000_000] {
        let (observed, expected, warnings) = with(ack(number));
        assert_eq!(observed, expected, "{number}");
        let sentence =
            "10.0.0.1:40000 > 10.0.0.2:80: one acknowledgement of data that was never sent left out";
        assert_eq!(warnings[0], sentence, "{number}");
    }
}

#[test]
fn a_missing_acknowledgement_before_a_pause_ends_no_connection() {
    // Ten writes of 100 segments, 5 s apart; the acknowledgement of the last segment of the second write is missing.
    let path = Path { segments: 1000, buffer: 500, writes: Some((100, 5_000_000)), ..Path::default() };
    let mut packets = path.run();
    let expected = only(&packets).observed;
    let last = packets.iter().position(|(_, tcp)| !tcp.from_sender && tcp.ack == Some(200_001)).unwrap();
    packets.remove(last);
    let (connection, warnings) = read_packets(&packets);
    let observed = connection.observed;
    assert_eq!((observed.bytes, observed.delivered_bytes), (1_000_000, 1_000_000));
    assert_eq!(observed.rtt_span, expected.rtt_span);
    assert_eq!(observed.completion, expected.completion);
    assert!(warnings[0].contains("a pause of 5.0"), "{warnings:?}");
    // The pause with the missing acknowledgement counts for no limit, the others for the application.
    let total =
        |seen: &Observed| seen.application_limited.0 + seen.congestion_limited.0 + seen.window_limited.0;
    let less = (total(&expected) - total(&observed)) as f64 / 1e9;
    assert!((4.9..5.2).contains(&less), "{less}");
    assert!(observed.congestion_limited <= expected.congestion_limited);
}

#[test]
fn data_behind_a_gap_of_the_capture_goes_on() {
    // 200 MB are missing from the middle on, in both directions.
    let jump = 200_000_000;
    let mut packets = transfer();
    let half = packets.iter().position(|(_, tcp)| tcp.from_sender && tcp.seq == 500_001).unwrap();
    for (_, tcp) in &mut packets[half..] {
        if tcp.from_sender {
            tcp.seq += jump;
        } else if let Some(number) = tcp.ack.filter(|number| *number > 500_001) {
            tcp.ack = Some(number + jump);
        }
    }
    let (connection, warnings) = read_packets(&packets);
    assert_eq!((connection.observed.bytes, connection.observed.retransmits), (1_000_000, 0));
    assert!(warnings[0].contains("misses 200000000 bytes of data in a row"), "{warnings:?}");
}

/// A SYN-ACK with this number.
fn syn_ack(seq: u32) -> Tcp {
    let options = vec![MaximumSegmentSize(1000), WindowScale(7)];
    Tcp { syn: true, seq, options, ..ack(1) }
}

#[test]
fn a_second_syn_ack_that_nobody_acknowledges_is_left_out() {
    let packets = transfer();
    let expected = only(&packets).observed;
    // The receiver of the data answers the SYN: before the right answer, right after it, and in the middle.
    for seq in [5_000, 2_000_000_000, 3_000_000_000] {
        for place in [1, 2, 3, packets.len() / 2] {
            let mut packets = packets.clone();
            packets.insert(place, (packets[place].0, syn_ack(seq)));
            let (connection, warnings) = read_packets(&packets);
            assert_eq!(connection.observed, expected, "{seq} at {place}");
            let sentence =
                "one SYN-ACK has another sequence number than that of its connection and is left out";
            assert!(warnings.contains(&sentence.to_owned()), "{warnings:?}");
        }
    }
}

#[test]
fn a_second_syn_ack_of_the_sender_of_the_data_is_left_out() {
    // The side that sends the data answers the SYN, and then again with another number.
    let turned = |(us, tcp): (u64, Tcp)| (us, Tcp { from_sender: !tcp.from_sender, ..tcp });
    let mut packets: Vec<_> = handshake(40_000, 1000).into_iter().map(turned).collect();
    packets.extend([
        (50_000, data(1, 1000)),
        (90_000, ack(1001)),
        (91_000, data(1001, 1000)),
        (131_000, ack(2001)),
    ]);
    let expected = only(&packets).observed;
    for seq in [77_000, 3_000_000_000] {
        let again = Tcp { from_sender: true, ..syn_ack(seq) };
        for place in [1, 2, 4, 6] {
            let mut packets = packets.clone();
            packets.insert(place, (packets[place].0, again.clone()));
            assert_eq!(read_packets(&packets).0.observed, expected, "{seq} at {place}");
        }
    }
}

/// A SYN of the sender of the data with this number.
fn syn(seq: u32) -> Tcp {
    let options = vec![MaximumSegmentSize(1000), WindowScale(7)];
    Tcp { syn: true, ack: None, options, ..data(seq, 0) }
}

#[test]
fn a_syn_in_the_middle_that_nobody_answers_opens_no_connection() {
    let packets = transfer();
    let expected = only(&packets).observed;
    // RFC 5961, section 4.2: the answer to such a SYN, if any, is an acknowledgement of the connection's own numbers.
    let challenge = packets.iter().rfind(|(_, tcp)| !tcp.from_sender).map(|(_, tcp)| tcp.clone()).unwrap();
    for seq in [1, 500_000, 999_999, 2_000_000_000, 3_000_000_000] {
        for place in [3, packets.len() / 2, packets.len()] {
            let mut packets = packets.clone();
            let at = packets[place - 1].0;
            packets.insert(place, (at, syn(seq)));
            if place == packets.len() - 1 {
                packets.push((at + 40_000, challenge.clone()));
            }
            let (connection, warnings) = read_packets(&packets);
            let observed = connection.observed;
            assert_eq!((observed.bytes, observed.retransmits), (1_000_000, 0), "{seq} at {place}");
            assert_eq!((observed.completion, observed.rtt_span), (expected.completion, expected.rtt_span));
            let sentence = "one SYN has another sequence number than that of its connection and is left out";
            assert!(warnings.contains(&sentence.to_owned()), "{warnings:?}");
        }
    }
}

#[test]
fn a_syn_that_is_answered_and_refused_opens_no_connection() {
    // An old duplicate reaches a server without the connection: its answer meets a reset, or nothing (RFC 9293, section 3.5).
    let packets = transfer();
    let expected = only(&packets).observed;
    let mut odd = packets.clone();
    let middle = odd.len() / 2;
    let at = odd[middle].0;
    odd.insert(middle, (at, syn(77_000_000)));
    odd.insert(middle + 1, (at + 10, Tcp { ack: Some(77_000_001), ..syn_ack(55_000_000) }));
    let (connection, warnings) = read_packets(&odd);
    assert_eq!(connection.observed, expected);
    assert!(warnings.iter().any(|one| one.starts_with("one SYN has")), "{warnings:?}");
    assert!(warnings.iter().any(|one| one.starts_with("one SYN-ACK has")), "{warnings:?}");
}

#[test]
fn a_syn_that_is_answered_and_used_opens_the_next_connection() {
    // The first connection is not closed: its host began anew.
    let first: Vec<_> = transfer().into_iter().take(500).collect();
    let begin = first.last().unwrap().0 + 2_000_000;
    let own = only(&first).observed;
    let expected = only(&transfer()).observed;
    for (isn, answer) in [(1_500_000_000, 900_000_000), (4_000_000_000, 7), (400_000, 0)] {
        for handshake in [3, 1] {
            let second = transfer().into_iter().enumerate().map(|(number, (us, mut tcp))| {
                let (own, peer) = if tcp.from_sender { (isn, answer) } else { (answer, isn) };
                tcp.seq = tcp.seq.wrapping_add(own);
                tcp.ack = tcp.ack.map(|ack| ack.wrapping_add(peer));
                (number, (us + begin, tcp))
            });
            // All of the handshake, or the SYN alone, was captured.
            let second = second.filter(|(number, _)| *number < handshake || *number >= 3);
            let mut packets = first.clone();
            packets.extend(second.map(|(_, packet)| packet));
            let capture = read_bytes(&pcap_of_tcp(&packets)).unwrap();
            // Without the answer, numbers near those of the first connection are its own.
            if handshake == 1 && isn == 400_000 {
                continue;
            }
            let [one, two] = &capture.connections[..] else { panic!("{isn}: {:?}", capture.warnings) };
            assert_eq!((one.observed.bytes, two.observed.bytes), (own.bytes, 1_000_000), "{isn} {handshake}");
            assert_eq!(two.observed.rtt_span, expected.rtt_span);
            assert_eq!(two.observed.handshake, handshake == 3);
        }
    }
}

#[test]
fn a_syn_ack_acknowledges_data_of_the_syn() {
    // RFC 7413: 500 bytes in the SYN, and the rest after the answer, one round trip of 40 ms each.
    let mut packets = handshake(40_000, 1000);
    packets[0].1.len = 500;
    (packets[1].1.ack, packets[2].1.seq) = (Some(501), 501);
    packets.extend([
        (40_020, data(501, 1000)),
        (40_021, data(1501, 1000)),
        (80_020, ack(1501)),
        (80_021, ack(2501)),
    ]);
    let observed = only(&packets).observed;
    assert_eq!((observed.bytes, observed.delivered_bytes, observed.retransmits), (2500, 2500, 0));
    assert_eq!(observed.rtt_span, Some((Nanos::from_millis(40), Nanos::from_millis(40))));
    // A server that does not take the data acknowledges the SYN alone, and the client sends the data again.
    (packets[1].1.ack, packets[2].1.seq) = (Some(1), 1);
    packets.insert(3, (40_015, data(1, 500)));
    let observed = only(&packets).observed;
    assert_eq!((observed.bytes, observed.delivered_bytes), (2500, 2500));
}

#[test]
fn jumbo_packets_show_their_segment_without_a_handshake() {
    // 9000 bytes less 40 of headers.
    for joined in [1, 3] {
        let (mut packets, len) = (vec![], 8960 * joined);
        for number in 0..40_u32 {
            let at = u64::from(number) * 41_000;
            packets.extend([
                (at, data(1 + number * len, len as usize)),
                (at + 40_000, ack(1 + (number + 1) * len)),
            ]);
        }
        let (connection, warnings) = read_packets(&packets);
        assert_eq!((connection.observed.mss, connection.observed.packets), (8960, 40 * u64::from(joined)));
        assert!(!warnings.iter().any(|one| one.contains("assumed")), "{warnings:?}");
    }
}

#[test]
fn one_small_packet_is_no_segment_size() {
    // Answers as one packet each, of a connection whose handshake is missing; 40 bytes of headers leave 1460 of 1500.
    let (mut packets, mut seq, mut at) = (vec![], 1, 0);
    for len in [30_469, 34_876, 35, 21_761, 40_956, 35, 46_383] {
        packets.push((at, data(seq, len)));
        seq += len as u32;
        packets.push((at + 40_000, ack(seq)));
        at += 90_000;
    }
    let (connection, warnings) = read_packets(&packets);
    // 21 + 24 + 1 + 15 + 29 + 1 + 32 packets of at most 1460 bytes
    assert_eq!((connection.observed.mss, connection.observed.packets), (1460, 123));
    assert!(
        warnings[0]
            .contains("no packet shows the size of a full segment; 1460 bytes are assumed, as on Ethernet"),
        "{warnings:?}"
    );
}

#[test]
fn acknowledgements_show_the_segments_of_packets_that_were_joined() {
    // Each second segment of 1460 bytes is acknowledged.
    let (mut packets, mut seq, mut at) = (vec![], 1, 0);
    for len in [30_469_u32, 34_876, 35, 21_761] {
        packets.push((at, data(seq, len as usize)));
        packets.extend((1..=len / 2920).map(|pair| (at + 40_000 + u64::from(pair), ack(seq + 2920 * pair))));
        seq += len;
        packets.push((at + 41_000, ack(seq)));
        at += 90_000;
    }
    let (connection, warnings) = read_packets(&packets);
    assert_eq!(connection.observed.mss, 1460);
    assert!(!warnings.iter().any(|one| one.contains("assumed")), "{warnings:?}");
}

/// A bulk transfer whose packets hold these numbers of segments of a path with a smaller MTU than the handshake announces.
fn joined(segment: u32, counts: &[u32]) -> Connection {
    let mut packets = handshake(40_000, 1460);
    let (mut seq, mut at) = (1, 41_000);
    for (number, count) in counts.iter().cycle().take(40).enumerate() {
        packets.push((at, data(seq, (segment * count) as usize)));
        seq += segment * count;
        if number % 4 == 3 {
            at += 40_000;
            packets.push((at, ack(seq)));
        } else {
            at += 100;
        }
    }
    packets.push((at + 40_000, ack(seq)));
    only(&packets)
}

#[test]
fn a_path_mtu_below_the_announced_segment_shows_in_packets_of_several_segments() {
    for segment in [1348, 1220, 1400] {
        let observed = joined(segment, &[6, 4, 4, 5]).observed;
        assert_eq!(observed.mss, segment);
        assert_eq!(observed.application_limited, Nanos::ZERO, "{segment}");
    }
    // The announced segment fits as well.
    assert_eq!(joined(1460, &[6, 4, 4, 5]).observed.mss, 1460);
}

#[test]
fn equal_writes_of_an_application_show_no_path_mtu() {
    // 5392 bytes are four segments of 1348, and three of 1460 and a rest.
    assert_eq!(joined(5392, &[1]).observed.mss, 1460);
}

/// A transfer whose receiver closes its window after two segments, and probes with the next byte of the data.
fn probed(taken: bool) -> Vec<(u64, Tcp)> {
    let closed = |number: u32| Tcp { window: 0, ..ack(number) };
    let mut packets = handshake(40_000, 1000);
    packets.extend([(41_000, data(1, 1000)), (41_001, data(1001, 1000)), (81_000, closed(2001))]);
    packets.extend([(381_000, data(2001, 1)), (421_000, closed(2001))]);
    packets.extend([(981_000, data(2001, 1)), (1_021_000, closed(if taken { 2002 } else { 2001 }))]);
    let next = if taken { 2002 } else { 2001 };
    packets.extend([(1_100_000, ack(next)), (1_100_010, data(next, 1000)), (1_140_010, ack(next + 1000))]);
    packets
}

#[test]
fn a_probe_of_a_closed_window_is_no_data() {
    let observed = only(&probed(false)).observed;
    assert_eq!((observed.bytes, observed.packets, observed.retransmits), (3000, 3, 0));
    assert_eq!((observed.lost_packets, observed.timeouts), (0, 0));
    // From the acknowledgement that closes the window to the one that opens it.
    assert_eq!(observed.window_limited, Nanos::from_micros(1_100_000 - 81_000));
}

#[test]
fn a_probe_that_the_receiver_took_is_a_byte_of_the_data() {
    let observed = only(&probed(true)).observed;
    assert_eq!((observed.bytes, observed.retransmits, observed.lost_packets), (3001, 0, 0));
    assert_eq!(observed.delivered_bytes, 3001);
}

#[test]
fn the_first_transfer_ends_at_the_first_pause_with_everything_acknowledged() {
    let transfer = |writes| Path { segments: 300, buffer: 500, writes, ..Path::default() }.run();
    let alone = only(&transfer(None)).observed;
    let path = Path { segments: 900, buffer: 500, writes: Some((300, 3_000_000)), ..Path::default() };
    let (connection, warnings) = read_packets(&path.run());
    let first = &connection.first_transfer().observed;
    assert_eq!((first.bytes, connection.observed.bytes), (300_000, 900_000));
    // It is the transfer that the same sender makes without the others.
    assert_eq!((&alone, alone.completion), (first, first.completion));
    assert!(warnings[0].contains("its first transfer, 300000 of 900000 bytes"), "{warnings:?}");
    // A shorter pause ends none, and neither does one after the first tenth of the data.
    for (count, pause) in [(300, 900_000), (90, 3_000_000)] {
        let path = Path { segments: 900, buffer: 500, writes: Some((count, pause)), ..Path::default() };
        let connection = only(&path.run());
        assert_eq!(connection.first_transfer().observed, connection.observed);
    }
}
