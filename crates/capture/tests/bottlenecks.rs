//! Division of a network's connections by the bottleneck that they crossed.

use crate::common::path::Path;
use crate::common::*;
use firstflight_capture::{Connection, Inferred, bottlenecks, infer, infer_together};

/// The connections of several paths, each from another host of 10.0.0.0/24: the path, the last byte of the host's address, and
/// the time in microseconds at which it begins.
fn captured(paths: &[(Path, u8, u64)]) -> Vec<Connection> {
    let of_path = |(path, host, begin): &(Path, u8, u64)| {
        let packets = path.run().into_iter().map(|(us, tcp)| {
            let mut bytes = tcp.v4();
            let address = if tcp.from_sender { 15 } else { 19 };
            bytes[address] = *host;
            (us + begin, bytes)
        });
        packets.collect::<Vec<_>>()
    };
    let mut packets: Vec<(u64, Vec<u8>)> = paths.iter().flat_map(of_path).collect();
    packets.sort_by_key(|(us, _)| *us);
    let capture = read_bytes(&pcap(&packets)).unwrap();
    assert_eq!(capture.groups.len(), 1);
    capture.connections
}

/// The last bytes of the senders of each bottleneck.
fn hosts(connections: &[Connection]) -> Vec<Vec<u8>> {
    let all: Vec<&Connection> = connections.iter().collect();
    let host = |connection: &&Connection| match connection.sender.ip() {
        std::net::IpAddr::V4(address) => address.octets()[3],
        std::net::IpAddr::V6(_) => panic!("IPv4"),
    };
    bottlenecks(&all).iter().map(|one| one.iter().map(host).collect()).collect()
}

fn path(rate_bit_s: u64, rtt_us: u64, segments: u32) -> Path {
    Path { rate_bit_s, rtt_us, segments, ..Path::default() }
}

#[test]
fn hosts_with_the_same_rate_and_round_trip_have_one_bottleneck_and_others_their_own() {
    let begin = [0, 20_000_000, 40_000_000, 60_000_000];
    let connections = captured(&[
        (path(8_320_000, 40_000, 1500), 7, begin[0]),
        (path(8_320_000, 40_000, 1000), 8, begin[1]),
        // twice the rate
        (path(16_640_000, 40_000, 2000), 9, begin[2]),
        // twice the round trip
        (path(8_320_000, 80_000, 1200), 10, begin[3]),
    ]);
    // 7 and 8 have 2500 segments together
    assert_eq!(hosts(&connections), [vec![7, 8], vec![9], vec![10]]);
}

#[test]
fn hosts_that_ran_at_the_same_time_may_have_shared_the_rate() {
    let both = [(path(8_320_000, 40_000, 1500), 7, 0), (path(16_640_000, 40_000, 2000), 9, 500_000)];
    assert_eq!(hosts(&captured(&both)), [vec![7, 9]]);
}

#[test]
fn all_connections_count_for_the_path_between_whichever_hosts() {
    let connections =
        captured(&[(path(8_320_000, 40_000, 1500), 7, 0), (path(8_320_000, 40_000, 1400), 8, 20_000_000)]);
    let all: Vec<&Connection> = connections.iter().collect();
    let together = infer_together(&all);
    let Inferred::Known(rate) = &together.rate else { panic!("{:?}", together.rate) };
    assert!((rate.value / 8_320_000.0 - 1.0).abs() < 0.005, "{rate:?}");
    assert!(together.notes.is_empty(), "{:?}", together.notes);
    // one pair of hosts leaves the other out, and says so
    let one_pair = infer(&connections);
    assert!(
        one_pair.notes.iter().any(|note| note.contains("1 are between other hosts")),
        "{:?}",
        one_pair.notes
    );
}
