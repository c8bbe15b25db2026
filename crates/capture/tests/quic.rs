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
    sequence_at(field, |_, at| at)
}

/// The same, where an event has the time that follows from its number and its true time, milliseconds.
fn sequence_at(field: &str, time: impl Fn(usize, f64) -> f64) -> String {
    let line = |(place, (at, name, data)): (usize, (u64, &str, String))| {
        let at = time(place, at as f64 / 1e3);
        format!(r#"{{"time":{at},"name":"transport:{name}","data":{data}{field}}}"#)
    };
    let lines: Vec<String> =
        std::iter::once(HEADER.to_owned()).chain(events().into_iter().enumerate().map(line)).collect();
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
        capture.warnings[0].contains(
            "the log's clock was set once while connections ran (back by at least 8050.0 ms at 0.050 s)"
        ),
        "{:?}",
        capture.warnings
    );
}

#[test]
fn times_below_zero_are_times() {
    let capture = read(&sequence_at("", |_, at| at - 1000.0)).unwrap();
    check(&capture, Source::Qlog);
    assert_eq!(capture.warnings, Vec::<String>::new());
    assert_eq!(capture.connections[0].observed, read(&sequence("")).unwrap().connections[0].observed);
}

#[test]
fn a_clock_that_is_set_hides_neither_the_path_nor_the_transfer() {
    // The transfer has 604 events, from 1 ms on. Event 300 is in the midst of it.
    let at = |place: usize| events()[place].0 as f64 / 1e3;
    let step = |by: f64| move |place: usize, time: f64| if place < 300 { time } else { time + by };
    let set = |times: &str, steps: &str| {
        format!(
            "test.pcap: 0.0.0.0:443 - 0.0.0.0:1024: the log's clock was set {times} while connections ran ({steps}): later times are corrected, and \
             no round trip or pause that contains a step is used"
        )
    };
    let since = (at(299) - at(0)) / 1e3;
    for by in [-30_000.0, -900.0, -50.0, 50_000.0] {
        let capture = read(&sequence_at("", step(by))).unwrap();
        let way = if by < 0.0 { "back by at least" } else { "forward by" };
        let size = (by + at(300) - at(299)).abs();
        assert_eq!(capture.warnings, [set("once", &format!("{way} {size:.1} ms at {since:.3} s"))]);
        check(&capture, Source::Qlog);
    }
    // A wrong time for ten events, and for one.
    let wrong = |place: usize, time: f64| if (300..310).contains(&place) { time + 30_000.0 } else { time };
    let capture = read(&sequence_at("", wrong)).unwrap();
    check(&capture, Source::Qlog);
    let [warning] = &capture.warnings[..] else { panic!("{:?}", capture.warnings) };
    assert!(warning.contains("was set 2 times while connections ran (forward by 30000."), "{warning}");
    let beyond = |place: usize, time: f64| if place == 300 { 1e300 } else { time };
    let capture = read(&sequence_at("", beyond)).unwrap();
    check(&capture, Source::Qlog);
    assert_eq!(
        capture.warnings,
        [format!(
            "test.pcap: 0.0.0.0:443 - 0.0.0.0:1024: 1 times of the log, the first at {since:.3} s, are beyond any clock and are not used; the packets \
             there have no round trip"
        )]
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
    assert!(message(&network).contains("1 trace of the log is of the network between the ends"));
    let of = |protocols: &str| {
        let common = format!(r#","common_fields":{{"protocol_types":[{protocols}]}},"vantage_point""#);
        sequence("").replacen(r#""vantage_point""#, &common[1..], 1)
    };
    assert!(message(&of(r#""TCP""#)).contains(
        "1 trace of the log is of TCP by protocol_types and is left out; expected a qlog of QUIC, or a capture"
    ));
    check(&read(&of(r#""HTTP3","QUIC""#)).unwrap(), Source::Qlog);
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
/// The second bit is one, or random as RFC 9287 lets it be.
fn within_the_connection(spins: bool, greased: bool) -> Vec<u8> {
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
            let protected = count.wrapping_mul(0x9e37_79b9);
            let second = !greased || protected & 0x0040_0000 != 0;
            let first = u8::from(second) << 6 | u8::from(spins && spin) << 5 | (protected >> 27) as u8;
            (at + 50_000, short(is_sent, if is_sent { SIZE } else { 32 }, first, count))
        })
        .collect();
    pcap(&packets)
}

/// A datagram of `len` bytes with a short header between the ports 4433 and 50000.
fn short(from_server: bool, len: u64, first: u8, count: u32) -> Vec<u8> {
    let to = if from_server { 2 } else { 3 };
    udp(from_server, &[&[first][..], &[to; 8], &count.to_be_bytes(), &vec![0; len as usize - 13]].concat())
}

fn udp(from_server: bool, payload: &[u8]) -> Vec<u8> {
    let (from, to, ports) =
        if from_server { (SENDER, RECEIVER, (4433, 50_000)) } else { (RECEIVER, SENDER, (50_000, 4433)) };
    let mut bytes = vec![];
    PacketBuilder::ipv4(from, to, 64).udp(ports.0, ports.1).write(&mut bytes, payload).unwrap();
    bytes
}

#[test]
fn a_capture_within_a_connection_is_recognised_and_has_the_round_trip_of_its_spin_bit() {
    for greased in [false, true] {
        let capture = read_bytes(&within_the_connection(true, greased)).unwrap();
        let [connection] = &capture.connections[..] else { panic!("{:?}", capture.warnings) };
        assert_eq!((connection.source, connection.observed.packets), (Source::Datagrams, PACKETS));
        let path = infer(&capture.connections);
        let rate = path.rate.known().unwrap();
        assert!(
            (rate.value / 10.004e6 - 1.0).abs() < 0.05 && rate.low <= 10.004e6 && 10.004e6 <= rate.high,
            "{rate:?}"
        );
        let error = read_bytes(&within_the_connection(false, greased)).unwrap_err().to_string();
        assert!(error.contains("the spin bit does not turn"), "{error}");
    }
}

#[test]
fn a_capture_within_a_connection_has_the_round_trip_of_the_data_behind_a_pause() {
    let mut count = 0;
    let mut datagram = |at: u64, from_server: bool, len: u64| {
        count += 1_u32;
        (at, short(from_server, len, 0x40 | (count.wrapping_mul(0x9e37_79b9) >> 27) as u8, count))
    };
    let mut packets = vec![];
    for begin in [0, 4_000_000] {
        // A request of two datagrams, the second of which comes behind the first data.
        packets.push(datagram(begin, false, 1200));
        for (place, (at, sent, _)) in transfer().into_iter().enumerate() {
            packets.push(datagram(begin + 300 + at, sent, if sent { SIZE } else { 32 }));
            if place == 0 {
                packets.push(datagram(begin + 400, false, 85));
            }
        }
    }
    // The handshake and the first packets were not captured.
    let capture = read_bytes(&pcap(&packets[60..])).unwrap();
    let [connection] = &capture.connections[..] else { panic!("{:?}", capture.warnings) };
    assert!(!connection.observed.handshake);
    // The client acknowledges the second packet: two packets of 982 us each and the round trip.
    assert_eq!(connection.shortest_rtt().map(|rtt| rtt.0), Some(40_000_000 + 2 * 982_000));
}

#[test]
fn other_protocols_are_not_taken_for_quic() {
    let random =
        |count: u32| count.wrapping_mul(0x9e37_79b9) ^ count.wrapping_mul(0x85eb_ca6b).rotate_left(13);
    // The first five bytes of a packet by its number: 0 is the first one of the server.
    let random_id = |count: u32| random(count / 2).to_be_bytes();
    type Head<'a> = &'a dyn Fn(u32) -> [u8; 5];
    let all: [(&str, Head<'_>); 8] = [
        ("DNS", &|count| [random_id(count)[0], random_id(count)[1], 1, 0, 0]),
        ("DNS whose identifiers are below 0x8000", &|count| {
            [random_id(count)[0] & 0x7f, random_id(count)[1], 1, 0, 0]
        }),
        ("DNS whose identifiers are 0x4000 to 0x7fff by turns", &|count| {
            [0x40 | (count / 2) as u8 & 0x3f, 7, 1, 0, 0]
        }),
        ("channels of TURN", &|_| [0x40, 0, 0, 100, 0]),
        ("RTP", &|count| [0x80, 96, (count >> 8) as u8, count as u8, 0]),
        ("WireGuard", &|count| [if count < 2 { 1 } else { 4 }, 0, 0, 0, 9]),
        ("NTP", &|count| [if count.is_multiple_of(2) { 0x24 } else { 0x23 }, 2, 6, 0xec, 0]),
        ("numbers, the lowest byte first", &|count| [(count / 2) as u8 & 0x7f, 0, 0, 0, 0]),
    ];
    for (name, head) in all {
        let packet = |count: u32| {
            let payload = [&head(count)[..], &[0; 96]].concat();
            (u64::from(count) * 1000, udp(count.is_multiple_of(2), &payload))
        };
        let packets: Vec<(u64, Vec<u8>)> = (0..400).map(packet).collect();
        let error = read_bytes(&pcap(&packets)).unwrap_err().to_string();
        assert!(!error.contains("QUIC was") && !error.contains("connection of QUIC"), "{name}: {error}");
    }
}
