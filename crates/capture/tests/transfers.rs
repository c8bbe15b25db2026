//! Transfers of a connection's sender, and its first flight, on exchanges small enough to follow by hand.

use crate::common::*;
use firstflight_capture::{Capture, Connection, Group, Transfer};
use firstflight_contract::Nanos;

const fn ms(ms: u64) -> u64 {
    ms * 1_000
}

/// A request of 100 bytes number `n`, from 0, that acknowledges the data before `reached`.
fn request(n: u32, reached: u32) -> Tcp {
    Tcp { seq: 1 + 100 * n, len: 100, ..ack(reached) }
}

/// `data` that acknowledges the requests before number `n`.
fn answer(n: u32, seq: u32, len: usize) -> Tcp {
    Tcp { ack: Some(1 + 100 * n), ..data(seq, len) }
}

/// A handshake of 50 ms, then packets with times from its end.
fn opened(packets: Vec<(u64, Tcp)>) -> Vec<(u64, Tcp)> {
    let rest = packets.into_iter().map(|(us, tcp)| (us + ms(50), tcp));
    handshake(ms(50), 1000).into_iter().chain(rest).collect()
}

/// Two answers on one connection, of 1500 and 3000 bytes.
fn two_answers() -> Vec<(u64, Tcp)> {
    opened(vec![
        (ms(1), request(0, 1)),
        (ms(2), answer(1, 1, 1000)),
        (ms(2), answer(1, 1001, 500)),
        (ms(52), ack(1501)),
        (ms(400), request(1, 1501)),
        (ms(410), answer(2, 1501, 3000)),
        (ms(460), ack(3501)),
        (ms(465), ack(4501)),
    ])
}

fn transfer(bytes: u64, begin_ms: u64, time_ms: Option<u64>) -> (u64, Nanos, Option<Nanos>) {
    (bytes, Nanos::from_millis(begin_ms), time_ms.map(Nanos::from_millis))
}

fn seen(connection: &Connection) -> Vec<(u64, Nanos, Option<Nanos>)> {
    connection.transfers().iter().map(|it: &Transfer| (it.bytes, it.begin, it.time)).collect()
}

#[test]
fn each_request_that_has_all_data_before_it_begins_a_transfer() {
    let connection = only(&two_answers());
    // From the first data packet to the acknowledgement of the last byte.
    assert_eq!(seen(&connection), [transfer(1500, 2, Some(50)), transfer(3000, 410, Some(55))]);
    assert!(connection.transfers().iter().all(|it| it.application_limited == Nanos::ZERO));
    // A request that was retransmitted begins no other transfer, and neither does one inside an answer.
    let mut again = two_answers();
    again.insert(8, (ms(50 + 401), request(1, 1501)));
    again.insert(10, (ms(50 + 412), request(2, 1501)));
    assert_eq!(seen(&only(&again)), seen(&connection));
}

#[test]
fn a_transfer_that_the_capture_does_not_show_to_the_end_has_no_time() {
    let mut packets = two_answers();
    packets.pop();
    assert_eq!(seen(&only(&packets)), [transfer(1500, 2, Some(50)), transfer(3000, 410, None)]);
}

#[test]
fn an_application_that_pauses_within_a_transfer_is_known_as_its_limit() {
    // Everything is acknowledged after 50 ms, and more comes after 200.
    let connection = only(&opened(vec![
        (0, data(1, 1000)),
        (ms(50), ack(1001)),
        (ms(200), data(1001, 1000)),
        (ms(250), ack(2001)),
    ]));
    let [only] = connection.transfers()[..] else { panic!("{:?}", connection.transfers()) };
    assert_eq!((only.time, only.application_limited), (Some(Nanos(250_000_000)), Nanos::from_millis(150)));
}

#[test]
fn the_transfers_of_the_connections_are_those_that_a_group_counts() {
    let count = |capture: &Capture| {
        let own = capture.connections.iter().flat_map(Connection::transfers);
        own.fold((0, 0), |(count, bytes), it| (count + 1, bytes + it.bytes))
    };
    let in_groups = |groups: &[Group]| {
        let all = groups.iter().map(Group::transfers);
        all.fold((0, 0), |(count, bytes), it| (count + it.count(), bytes + it.bytes()))
    };
    for name in ["p1-cubic-1000KB.pcap", "p2-reno-30KB.pcap", "more"] {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
        let files: Vec<_> = match folder.is_dir() {
            true => std::fs::read_dir(&folder).expect("a folder").flatten().map(|it| it.path()).collect(),
            false => vec![folder],
        };
        for file in files {
            let Ok(capture) = firstflight_capture::read(&file) else { continue };
            assert_eq!(count(&capture), in_groups(&capture.groups), "{}", file.display());
            let first = capture.clone().only(0).expect("a connection");
            assert_eq!(count(&first), in_groups(&first.groups), "{}", file.display());
            assert_eq!(first.connections[0].name(), capture.connections[0].name());
            assert!(capture.only(usize::MAX).is_none());
        }
    }
}

/// An answer of eight segments after requests: four at `spacing` us from each other, and four when the first acknowledgement comes.
fn windows(before: Vec<(u64, Tcp)>, spacing: u64) -> Vec<(u64, Tcp)> {
    let sent = if before.is_empty() { 1 } else { 501 };
    let mut packets = before;
    let segment = |at: u64, n: u64| (at, data(sent + 1000 * n as u32, 1000));
    packets.extend((0..4).map(|n| segment(ms(100) + spacing * n, n)));
    packets.push((ms(150), ack(sent + 2000)));
    packets.extend((4..8).map(|n| segment(ms(150) + n, n)));
    packets.push((ms(200), ack(sent + 8000)));
    opened(packets)
}

#[test]
fn the_initial_window_is_the_first_flight_that_the_congestion_window_ended() {
    assert_eq!(only(&windows(vec![], 1)).initial_window(), Some(4));
    // A short answer before it, as of a handshake of TLS, fills no window.
    let short = vec![
        (ms(1), request(0, 1)),
        (ms(2), answer(1, 1, 500)),
        (ms(52), ack(501)),
        (ms(99), request(1, 501)),
    ];
    let connection = only(&windows(short, 1));
    assert_eq!((connection.observed.first_flight_packets, connection.initial_window()), (1, Some(4)));
    // All data was in the first flight.
    assert_eq!(only(&two_answers()).initial_window(), None);
    // Without the handshake the first flight may be a later one.
    assert_eq!(only(&windows(vec![], 1)[3..]).initial_window(), None);
}

#[test]
fn a_first_flight_is_paced_if_it_takes_a_tenth_of_the_round_trip_without_a_long_gap() {
    let paced = |spacing: u64| only(&windows(vec![], spacing)).first_flight_paced();
    // Three gaps in a round trip of nearly 50 ms: a tenth is 5 ms, a fiftieth 1 ms.
    assert_eq!(paced(1), Some(false));
    assert_eq!(paced(300), Some(false));
    assert_eq!(paced(1_000), None);
    assert_eq!(paced(1_700), Some(true));
    assert_eq!(paced(12_000), Some(true));
    // One gap that is most of the time is a pause of the application.
    let mut pause = windows(vec![], 1);
    for (at, _) in &mut pause[5..7] {
        *at += ms(10);
    }
    assert_eq!(only(&pause).first_flight_paced(), None);
}

#[test]
fn the_time_sequence_graph_has_data_acknowledgements_window_and_retransmissions() {
    let connection = only(&opened(vec![
        (ms(10), data(1, 1000)),
        (ms(11), data(1001, 1000)),
        (ms(60), Tcp { window: 100, ..ack(1) }.sack(1001, 2001)),
        (ms(61), data(1, 1000)),
        (ms(111), Tcp { window: 200, ..ack(2001) }),
    ]));
    let graph = connection.time_sequence();
    assert_eq!(graph.sent, [(0.0, 1000.0), (0.001, 2000.0), (0.051, 2000.0)]);
    let data = |(at, bytes): &(f64, f64)| *at > 0.0 && *bytes > 0.0;
    assert_eq!(graph.acked.iter().filter(|it| data(it)).collect::<Vec<_>>(), [&(0.101, 2000.0)]);
    // Windows of 100 and 200, with a shift of 7.
    assert_eq!(graph.allowed[graph.allowed.len() - 2..], [(0.05, 12_800.0), (0.101, 2000.0 + 25_600.0)]);
    assert_eq!(graph.resent, [(0.051, 0.0)]);
    // The second segment: sent after 1 ms, reported after 50.
    assert_eq!(graph.rtt.len(), 1);
    assert!((graph.rtt[0].0 - 0.05).abs() < 1e-9 && (graph.rtt[0].1 - 0.049).abs() < 1e-9, "{:?}", graph.rtt);
}
