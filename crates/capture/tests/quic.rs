//! Connections of QUIC: qlogs of several drafts, and captures of their datagrams.

use crate::common::{RECEIVER, SENDER, pcap, read_bytes};
use etherparse::PacketBuilder;
use firstflight_capture::{Capture, Error, Source, infer};

/// Packets that a server sends, and that its client acknowledges.
const PACKETS: u64 = 400;
/// Bytes of a packet without IP and UDP headers.
const SIZE: u64 = 1200;
/// Round trip, microseconds.
const RTT: u64 = 40_000;

/// Time in microseconds, and the highest packet number: of packets that are sent (`true`), and of acknowledgements that arrive.
type Line = (u64, bool, u64);

/// A transfer in slow start from 10 packets on, across a link of 10 Mbit/s without loss: a packet of 1228 bytes takes 982 us. The client
/// acknowledges each second packet, and each acknowledgement releases four.
fn transfer() -> Vec<Line> {
    let mut lines: Vec<Line> = (0..10).map(|number| (0, true, number)).collect();
    let (mut sent, mut free, mut place) = (10, 0, 0);
    while place < lines.len() {
        let (at, is_sent, number) = lines[place];
        place += 1;
        if is_sent {
            free = free.max(at + RTT / 2) + 982;
            if number % 2 == 1 {
                let line = (free + RTT / 2, false, number);
                let after = lines.partition_point(|(at, ..)| *at <= line.0);
                lines.insert(after, line);
            }
            continue;
        }
        let new = (sent..PACKETS.min(sent + 4)).map(|number| (at, true, number));
        sent = PACKETS.min(sent + 4);
        let new: Vec<Line> = new.collect();
        lines.splice(place..place, new);
    }
    lines
}

/// Events of the transfer as the names, the data and the times in microseconds, with the handshake from 1 ms to 41.5 ms and the data from 50 ms
/// on.
fn events() -> Vec<(u64, &'static str, String)> {
    let handshake = |kind: &str, frames: &str| {
        format!(
            r#"{{"header":{{"packet_type":"{kind}","packet_number":0}},"raw":{{"length":1200}},"frames":[{frames}]}}"#
        )
    };
    let ack = r#"{"frame_type":"ack","acked_ranges":[[0,0]]}"#;
    let mut events = vec![
        (1000, "packet_received", handshake("initial", "")),
        (1100, "packet_sent", handshake("initial", "")),
        (1150, "packet_sent", handshake("handshake", "")),
        (41_500, "packet_received", handshake("handshake", ack)),
    ];
    events.extend(transfer().into_iter().map(|(at, sent, number)| {
        let (name, size, frame) = if sent {
            let offset = number * 1165;
            let frame = format!(r#"{{"frame_type":"stream","stream_id":0,"offset":{offset},"length":1165}}"#);
            ("packet_sent", SIZE, frame)
        } else {
            ("packet_received", 32, format!(r#"{{"frame_type":"ack","acked_ranges":[[0,{number}]]}}"#))
        };
        let header = format!(r#""header":{{"packet_type":"1RTT","packet_number":{number}}}"#);
        (at + 50_000, name, format!(r#"{{{header},"raw":{{"length":{size}}},"frames":[{frame}]}}"#))
    }));
    events
}

/// Header of a JSON text sequence.
const HEADER: &str =
    r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{"vantage_point":{"type":"server"}}}"#;

fn records<'a>(records: impl IntoIterator<Item = &'a str>) -> String {
    records.into_iter().map(|record| format!("\u{1e}{record}\n")).collect()
}

/// The transfer as a JSON text sequence, with this field in each event.
fn sequence(field: &str) -> String {
    let line = |(at, name, data): (u64, &str, String)| {
        format!(r#"{{"time":{},"name":"transport:{name}","data":{data}{field}}}"#, at as f64 / 1e3)
    };
    let lines: Vec<String> =
        std::iter::once(HEADER.to_owned()).chain(events().into_iter().map(line)).collect();
    records(lines.iter().map(String::as_str))
}

/// The transfer as draft-00 and draft-01 have it: events are arrays, numbers are strings, times are microseconds.
fn arrays() -> String {
    let lines: Vec<String> = events()
        .into_iter()
        .map(|(at, name, data)| {
            let data = data.replace(r#""raw":{"length":"#, r#""header":{"packet_size":"#);
            // In these drafts the header has the size.
            let data = data.replace(r#"},"header":{"packet_size""#, r#","packet_size""#);
            let data = data.replace(r#""acked_ranges":[[0,"#, r#""acked_ranges":[["0","#);
            format!(r#"["{at}","transport","{name}",{data}]"#)
        })
        .collect();
    format!(
        r#"{{"qlog_version":"draft-01","traces":[{{"vantage_point":{{"type":"server"}},"configuration":{{"time_units":"us"}},
        "common_fields":{{"reference_time":"1500"}},"event_fields":["relative_time","category","event","data"],"events":[{}]}}]}}"#,
        lines.join(",")
    )
}

fn read(text: &str) -> Result<Capture, Error> {
    read_bytes(text.as_bytes())
}

/// Checks the transfer: its data, and the path behind it.
fn check(capture: &Capture, source: Source) {
    let [connection] = &capture.connections[..] else { panic!("{:?}", capture.warnings) };
    let seen = &connection.observed;
    assert_eq!((connection.source, connection.source.transport()), (source, "quic"));
    assert_eq!((seen.packets, seen.retransmits, seen.lost_packets), (PACKETS, 0, 0));
    assert_eq!(seen.handshake_rtt.map(|rtt| rtt.0), Some(40_400_000));
    assert_eq!(seen.bytes, seen.delivered_bytes);
    assert_eq!(seen.first_flight_packets, 10);
    let path = infer(&capture.connections);
    let rate = path.rate.known().expect("a rate");
    // 1228 bytes in 982 us are 10.004 Mbit/s.
    assert!((rate.value / 10.004e6 - 1.0).abs() < 0.01, "{rate:?}");
    assert!(rate.low <= 10.004e6 && 10.004e6 <= rate.high, "{rate:?}");
    let rtt = path.rtt.known().expect("a round trip");
    assert!((rtt.value - 0.04).abs() < 0.001 && rtt.low <= 0.04 && 0.04 <= rtt.high, "{rtt:?}");
}

#[test]
fn sequences_and_arrays_of_a_transfer_have_the_same_connection() {
    let (new, old) = (read(&sequence("")).unwrap(), read(&arrays()).unwrap());
    check(&new, Source::Qlog);
    check(&old, Source::Qlog);
    assert_eq!(new.connections[0].observed, old.connections[0].observed);
    assert_eq!(new.warnings, Vec::<String>::new());
}

#[test]
fn a_file_with_lines_of_json_reads_as_a_sequence() {
    let lines = sequence("").replace('\u{1e}', "");
    check(&read(&lines).unwrap(), Source::Qlog);
}

#[test]
fn datagrams_of_the_same_transfer_have_the_same_path() {
    let udp = |from_server: bool, payload: &[u8]| {
        let (from, to, ports) =
            if from_server { (SENDER, RECEIVER, (443, 5000)) } else { (RECEIVER, SENDER, (5000, 443)) };
        let mut bytes = vec![];
        PacketBuilder::ipv4(from, to, 64).udp(ports.0, ports.1).write(&mut bytes, payload).unwrap();
        bytes
    };
    // Long headers: version 1, connection IDs of the receiver and of the sender, of 8 bytes each.
    let long =
        |to: u8, from: u8| [&[0xc0, 0, 0, 0, 1, 8][..], &[to; 8], &[8], &[from; 8], &[0; 1177]].concat();
    let mut count = 0_u32;
    let mut short = |to: u8, len: usize| {
        count += 1;
        [&[0x40][..], &[to; 8], &count.to_be_bytes(), &vec![0; len - 13]].concat()
    };
    // The server takes 20 ms for its keys, half of the round trip.
    let mut packets = vec![
        (1000, udp(false, &long(1, 2))),
        (21_000, udp(true, &long(2, 3))),
        (61_400, udp(false, &long(3, 2))),
        (69_000, udp(false, &short(3, 60))),
    ];
    packets.extend(transfer().into_iter().map(|(at, sent, _)| {
        let payload = if sent { short(2, SIZE as usize) } else { short(3, 32) };
        (at + 70_000, udp(sent, &payload))
    }));
    let capture = read_bytes(&pcap(&packets)).unwrap();
    check(&capture, Source::Datagrams);
    assert_eq!(
        capture.warnings,
        [
            "one connection of QUIC: the acknowledgements are encrypted and are modelled from sizes and times; which packets were lost or \
          retransmitted is not known, so that ranges are wider; a qlog of the sender or a key log shows it"
        ]
    );
    assert_eq!(capture.connections[0].transfers().len(), 1);
    // Without its handshake, no round trip is known.
    let error = read_bytes(&pcap(&packets[3..])).unwrap_err().to_string();
    assert!(error.contains("lacks its handshake"), "{error}");
}

/// A packet with this number, and its data at this offset.
fn sent(ms: u64, number: u64, offset: u64) -> String {
    format!(
        r#"{{"time":{ms},"name":"quic:packet_sent","data":{{"header":{{"packet_type":"1RTT","packet_number":{number}}},"raw":{{"length":1200}},"frames":[{{"frame_type":"stream","stream_id":4,"offset":{offset},"length":1000}}]}}}}"#
    )
}

fn acked(ms: u64, ranges: &str) -> String {
    format!(
        r#"{{"time":{ms},"name":"quic:packet_received","data":{{"header":{{"packet_type":"1RTT","packet_number":{ms}}},"raw":{{"length":32}},"frames":[{{"frame_type":"ack","acked_ranges":{ranges}}}]}}}}"#
    )
}

#[test]
fn data_that_is_sent_again_is_a_retransmission_and_its_packet_lost() {
    let lines = [
        HEADER.into(),
        sent(0, 0, 0),
        sent(0, 1, 1000),
        sent(0, 2, 2000),
        sent(0, 3, 3000),
        acked(100, "[[0],[2,3]]"),
        sent(101, 4, 1000),
        acked(200, "[[2,4],[0,0]]"),
    ];
    let capture = read(&records(lines.iter().map(String::as_str))).unwrap();
    let seen = &capture.connections[0].observed;
    assert_eq!((seen.packets, seen.retransmits, seen.lost_packets), (5, 1, 1));
    assert_eq!(seen.spurious_retransmits, 0);
    assert_eq!(seen.bytes, seen.delivered_bytes);
    // Round trips of 100 ms; the packet that was sent twice has none.
    assert_eq!(seen.rtt_span.map(|(least, most)| (least.0, most.0)), Some((100_000_000, 100_000_000)));
}

#[test]
fn connections_of_one_file_are_told_apart_by_their_group() {
    let (one, other) = (sequence(r#","group_id":"a""#), sequence(r#","group_id":"b""#));
    let both = one + other.split_once('\n').unwrap().1;
    let capture = read(&both).unwrap();
    assert_eq!(capture.connections.len(), 2);
    assert_eq!(capture.connections[0].observed.bytes, capture.connections[1].observed.bytes);
}

#[test]
fn a_log_that_breaks_off_is_used_up_to_there() {
    for whole in [sequence(""), arrays()] {
        let half = &whole[..whole.len() * 3 / 4];
        let capture = read(half).unwrap();
        assert!(capture.connections[0].observed.packets > PACKETS / 2);
        let [warning] = &capture.warnings[..] else { panic!("{:?}", capture.warnings) };
        assert!(warning.starts_with("test.pcap: the log is truncated after "), "{warning}");
    }
}

#[test]
fn a_clock_that_is_set_back_goes_on_from_the_time_before() {
    let lines = [
        HEADER.into(),
        sent(10_000, 0, 0),
        acked(10_050, "[[0,0]]"),
        sent(2000, 1, 1000),
        acked(2040, "[[0,1]]"),
    ];
    let capture = read(&records(lines.iter().map(String::as_str))).unwrap();
    let spans = capture.connections[0].observed.rtt_span.map(|(least, most)| (least.0, most.0));
    assert_eq!(spans, Some((40_000_000, 50_000_000)));
    assert!(
        capture.warnings[0].contains("1 times of the log are before earlier ones"),
        "{:?}",
        capture.warnings
    );
}

#[test]
fn what_is_no_usable_log_has_one_error() {
    let message = |text: &str| read(text).unwrap_err().to_string();
    let expected = "expected a qlog of one end, as JSON or as a JSON text sequence, or a pcap or pcapng file";
    assert_eq!(
        message(r#"{"title":"a report","path":{"rate_bit_s":1}}"#),
        format!(
            "test.pcap: not a capture and not a qlog: a JSON file without traces or a version of qlog; {expected}"
        )
    );
    assert!(
        message("{\"a\":").starts_with("test.pcap: not a capture and not a qlog: no JSON: EOF while parsing")
    );
    assert!(
        message("\u{1e}[1,")
            .starts_with("test.pcap: not a capture and not a qlog: the first record is no JSON")
    );
    let without = sequence("").replace(r#""raw":{"length":1200},"#, "");
    let error = message(&without);
    assert!(error.contains("400 packets of the log have no size or number and are left out"), "{error}");
    let network = sequence("").replace(r#""type":"server""#, r#""type":"network""#);
    assert!(message(&network).contains("1 traces of the log are of the network between the ends"));
}

#[test]
fn connections_that_share_a_group_are_told_apart_if_they_follow_each_other() {
    let one = sequence("");
    let second = one.split_once('\n').unwrap().1;
    // The second connection begins with an Initial packet 0 of the client.
    let capture = read(&format!("{one}{second}")).unwrap();
    let packets: Vec<u64> = capture.connections.iter().map(|one| one.observed.packets).collect();
    assert_eq!(packets, [PACKETS, PACKETS]);
    // At the same time they cannot be: each line stands twice.
    let lines = [HEADER.into(), sent(0, 0, 0), sent(0, 0, 0), sent(0, 1, 1000), acked(40, "[[0,1]]")];
    let error = read(&records(lines.iter().map(String::as_str))).unwrap_err().to_string();
    assert!(
        error.contains("packet numbers repeat: the log mixes connections whose group_id is \"\""),
        "{error}"
    );
}

#[test]
fn a_log_without_acknowledgements_is_named() {
    let lines = [HEADER.into(), sent(0, 0, 0), sent(0, 1, 1000)];
    let message = match read(&records(lines.iter().map(String::as_str))) {
        Ok(capture) => capture.warnings.join("\n"),
        Err(error) => error.to_string(),
    };
    assert!(
        message.contains("the log has no acknowledgements; expected packet_received with frames"),
        "{message}"
    );
}

/// The transfer within its connection, away from port 443: short headers alone, protected as RFC 9001 section 5.4 has it. The spin bit turns, or is zero.
fn within_the_connection(spins: bool) -> Vec<u8> {
    let (mut server, mut of_packet, mut count) = (false, vec![], 0_u32);
    let packets: Vec<(u64, Vec<u8>)> = transfer()
        .into_iter()
        .map(|(at, is_sent, number)| {
            count += 1;
            let spin = if is_sent {
                of_packet.push(server);
                server
            } else {
                // The client turns the bit of the newest packet, and the server returns it.
                server = !of_packet[number as usize];
                server
            };
            let (to, len) = if is_sent { (2, SIZE as usize) } else { (3, 32) };
            let protected = count.wrapping_mul(0x9e37_79b9) >> 27;
            let first = 0x40 | u8::from(spins && spin) << 5 | protected as u8;
            let payload = [&[first][..], &[to; 8], &count.to_be_bytes(), &vec![0; len - 13]].concat();
            let (from, to, ports) =
                if is_sent { (SENDER, RECEIVER, (4433, 50_000)) } else { (RECEIVER, SENDER, (50_000, 4433)) };
            let mut bytes = vec![];
            PacketBuilder::ipv4(from, to, 64).udp(ports.0, ports.1).write(&mut bytes, &payload).unwrap();
            (at + 50_000, bytes)
        })
        .collect();
    pcap(&packets)
}

#[test]
fn a_capture_within_a_connection_is_recognised_and_has_the_round_trip_of_its_spin_bit() {
    let capture = read_bytes(&within_the_connection(true)).unwrap();
    let [connection] = &capture.connections[..] else { panic!("{:?}", capture.warnings) };
    assert_eq!((connection.source, connection.observed.packets), (Source::Datagrams, PACKETS));
    let path = infer(&capture.connections);
    let rate = path.rate.known().unwrap();
    assert!(
        (rate.value / 10.004e6 - 1.0).abs() < 0.05 && rate.low <= 10.004e6 && 10.004e6 <= rate.high,
        "{rate:?}"
    );
    let error = read_bytes(&within_the_connection(false)).unwrap_err().to_string();
    assert!(error.contains("the spin bit does not turn"), "{error}");
}

#[test]
fn other_protocols_are_not_taken_for_quic() {
    // The first bytes of DNS are random; those of TURN's channels are constant and begin with the bits 01.
    for first in [|count: u32| (count.wrapping_mul(0x9e37_79b9) >> 24) as u8, |_: u32| 0x40] {
        let mut packets = vec![];
        for count in 0..200 {
            let (from, to, ports) = if count % 2 == 0 {
                (SENDER, RECEIVER, (4433, 50_000))
            } else {
                (RECEIVER, SENDER, (50_000, 4433))
            };
            let mut bytes = vec![];
            let payload = [&[first(count)][..], &[0; 100]].concat();
            PacketBuilder::ipv4(from, to, 64).udp(ports.0, ports.1).write(&mut bytes, &payload).unwrap();
            packets.push((u64::from(count) * 1000, bytes));
        }
        let error = read_bytes(&pcap(&packets)).unwrap_err().to_string();
        assert!(!error.contains("QUIC was") && !error.contains("connection of QUIC"), "{error}");
    }
}
