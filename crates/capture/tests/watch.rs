//! A link that is watched: the connections are those of a capture, and the memory is bounded.

use std::fs::File;
use std::net::IpAddr;
use std::path::PathBuf;

use firstflight_capture::{Request, Room, Watch, for_each, read};
use firstflight_contract::Nanos;

/// LINKTYPE_RAW.
const RAW: u32 = 101;

fn shipped() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/p1-reno-1000KB.pcap")
}

fn watched(room: Room) -> Watch {
    let mut watch = Watch::new(room);
    let file = File::open(shipped()).expect("the capture");
    for_each(file, shipped(), |at, link, data, length| {
        watch.frame(at, link, data, length);
    })
    .expect("it is read");
    watch
}

/// A packet of an IPv4 connection without data: flags, and ports that make the connection.
fn packet(client: u16, flags: u8, payload: u16, seq: u32) -> Vec<u8> {
    let mut bytes = vec![0_u8; 40];
    bytes[0] = 0x45;
    bytes[2..4].copy_from_slice(&(40 + payload).to_be_bytes());
    bytes[4..6].copy_from_slice(&(seq as u16 ^ client).to_be_bytes());
    bytes[9] = 6;
    let [high, low] = client.to_be_bytes();
    bytes[12..16].copy_from_slice(&[192, 0, high, low]);
    bytes[16..20].copy_from_slice(&[10, 0, 0, 1]);
    bytes[20..24].copy_from_slice(&[0xc0, 0, 0, 80]);
    bytes[24..28].copy_from_slice(&seq.to_be_bytes());
    (bytes[32], bytes[33]) = (0x50, flags);
    bytes
}

#[test]
fn a_watched_connection_is_that_of_the_capture() {
    let mut watch = watched(Room::default());
    watch.finish();
    let [own] = &watch.take_ended()[..] else { panic!("one connection") };
    let capture = read(shipped()).expect("it is read");
    let mut expected = capture.connections[0].observed.clone();
    // Times of a watch count from the zero of the frames' times.
    expected.established = own.observed.established;
    assert_eq!(own.observed, expected);
    assert_eq!((own.sender, own.vantage), (capture.connections[0].sender, capture.connections[0].vantage));
    assert_eq!(own.windows(), capture.connections[0].windows());
    assert_eq!((watch.open(), watch.counts().connections, watch.counts().early), (0, 1, 0));
}

#[test]
fn a_connection_is_analysed_once_by_its_first_packets() {
    let mut watch = watched(Room { of_connection: 100, ..Room::default() });
    let [own] = &watch.take_ended()[..] else { panic!("one connection") };
    // A hundred packets of both ways: fewer than half of its 840 data packets.
    assert!(own.observed.packets < 100 && own.observed.delivered_bytes > 0);
    watch.finish();
    assert!(watch.take_ended().is_empty());
    assert_eq!(watch.counts().connections, 1);
}

#[test]
fn a_flood_of_connections_takes_no_more_than_the_room() {
    let room = Room { connections: 100, of_connection: 1000, packets: 500 };
    let mut watch = Watch::new(room);
    for client in 0..10_000_u16 {
        let at = Nanos(u64::from(client) * 1000);
        let request = watch.frame(at, RAW, &packet(client, 0x02, 0, 7), 40).expect("a SYN is a request");
        let [high, low] = client.to_be_bytes();
        assert_eq!(request.client, IpAddr::from([192, 0, high, low]));
        assert!(watch.open() <= 100);
    }
    assert_eq!((watch.counts().tcp, watch.counts().early), (10_000, 9_900));
    // One connection of many packets gives room, too, before it holds them all.
    for seq in 0..2000_u32 {
        let at = Nanos(20_000_000 + u64::from(seq) * 1000);
        watch.frame(at, RAW, &packet(20_000, 0x10, 100, 100 * seq), 140);
    }
    watch.finish();
    assert_eq!(watch.open(), 0);
    let counts = watch.counts();
    assert!(counts.early + counts.connections + counts.without_data >= 10_000, "{counts:?}");
}

#[test]
fn a_request_is_a_syn_or_data_of_the_client_after_an_idle_second() {
    let mut watch = Watch::new(Room::default());
    let mut at = |ms: u64, flags: u8, payload: u16, seq: u32| -> Option<Request> {
        watch.frame(Nanos::from_millis(ms), RAW, &packet(9, flags, payload, seq), u32::from(40 + payload))
    };
    assert!(at(0, 0x02, 0, 99).is_some());
    assert!(at(50, 0x10, 0, 100).is_none());
    assert!(at(60, 0x18, 50, 100).is_none());
    // Another request at once is of the same burst; after two seconds it is not.
    assert!(at(500, 0x18, 50, 150).is_none());
    assert!(at(2500, 0x18, 50, 200).is_some());
    assert!(at(5000, 0x10, 0, 250).is_none());
}

#[test]
fn what_a_watch_passes_over_is_counted_by_kind_and_named() {
    let mut watch = watched(Room::default());
    let before = watch.counts();
    assert_eq!((before.passed_over, before.cut_options), (0, 0));
    let mut ipsec = packet(1, 0x10, 100, 1);
    ipsec[9] = 50;
    let frames = [
        // A link type of no network, IPsec, headers cut within TCP's fixed part and within its options, and UDP.
        (147, packet(1, 0x10, 0, 1)),
        (RAW, ipsec),
        (RAW, packet(1, 0x10, 0, 1)[..30].to_vec()),
    ];
    for (number, (link, frame)) in frames.iter().enumerate() {
        watch.frame(Nanos::from_secs(100 + number as u64), *link, frame, 140);
    }
    let mut options = packet(1, 0x10, 12, 1);
    options[32] = 0x80;
    watch.frame(Nanos::from_secs(110), RAW, &options, 52);
    let mut udp = packet(1, 0, 100, 1);
    udp[9] = 17;
    watch.frame(Nanos::from_secs(111), RAW, &udp, 140);
    let counts = watch.counts();
    assert_eq!((counts.packets, counts.tcp), (before.packets + 5, before.tcp + 1));
    assert_eq!((counts.passed_over, counts.cut_options), (3, 1));
    let listed: Vec<_> = watch.passed_over("eth0").into_iter().map(|one| (one.file, one.packets)).collect();
    assert_eq!(listed, vec![("eth0".to_owned(), 1); 4]);
    let sentences = watch.passed_over_sentences();
    for part in
        ["link type 147", "IPsec ESP", "cut off at 30 bytes, within the headers", "within the TCP options"]
    {
        assert!(sentences.iter().any(|one| one.contains(part)), "{part}: {sentences:?}");
    }
}

#[test]
fn a_stray_syn_ends_no_watched_connection() {
    let mut watch = Watch::new(Room::default());
    let at = |ms: u64| Nanos::from_millis(ms);
    for (ms, flags, payload, seq) in
        [(0, 0x02, 0, 99), (50, 0x10, 1000, 100), (60, 0x02, 0, 900_000), (70, 0x10, 1000, 1100)]
    {
        watch.frame(at(ms), RAW, &packet(9, flags, payload, seq), u32::from(40 + payload));
    }
    assert_eq!(watch.open(), 1);
    watch.finish();
    assert_eq!((watch.counts().connections, watch.counts().odd_syns), (1, 1));
    assert_eq!(watch.take_ended()[0].observed.bytes, 2000);
}
