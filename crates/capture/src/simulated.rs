//! A simulated connection in the form of a captured one, so that both have their statistics from the same code.

use std::net::{Ipv4Addr, SocketAddr};

use firstflight_contract::Nanos;

use crate::aggregates::{Aggregates, aggregates};
use crate::flows::Flow;
use crate::offered::{Offered, dropped, offered};
use crate::packet::{Flags, TcpPacket};
use crate::packet_trace::{MAX_PIECES, PacketTrace};
use crate::sending::{Sending, sending};
use crate::side::Side;
use crate::source::{Source, is_full};
use crate::summary::Summary;
use crate::tap::Tap;
use crate::threshold::{SlowStartEnd, end_without_delay, slow_start_end};

pub use crate::source::{LEAST_DATA, full_size};

/// A packet at a simulated sender. Offsets count bytes of data from zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimulatedPacket {
    /// Data was sent.
    Data {
        /// Offset of the first byte.
        start: u64,
        /// Data, bytes.
        len: u32,
        /// Payload of TCP or UDP, bytes: of QUIC with its headers and tags.
        carried: u32,
    },
    /// An acknowledgement arrived.
    Ack {
        /// Offset of the next expected byte.
        ack: u64,
        /// Selectively acknowledged ranges, at most four; empty ones are none.
        blocks: [(u64, u64); 4],
    },
}

/// A simulated connection.
#[derive(Clone, Debug)]
pub struct Simulated(PacketTrace);

impl Simulated {
    /// The connection in the form of captured ones of `source`, whose full packets have `mss` bytes of data beside `header` bytes of
    /// headers and tags. `packets` are in order of time. Data beyond 2 GiB is left out.
    pub fn new(
        source: Source,
        mss: u32,
        header: u32,
        packets: impl IntoIterator<Item = (Nanos, SimulatedPacket)>,
    ) -> Self {
        Self(trace(source, mss, header, packets))
    }

    /// Summary statistics; `None` if no data was delivered.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.0)
    }

    /// Aggregates in which packets left a bottleneck; `None` if the acknowledgements have no period.
    pub fn aggregates(&self) -> Option<Aggregates> {
        aggregates(&self.0)
    }

    /// End of slow start before the first retransmission, whatever ended it; `None` if it grew on.
    pub fn slow_start_end(&self) -> Option<SlowStartEnd> {
        slow_start_end(&self.0)
    }

    /// The same as of a captured connection: [`Connection::slow_start_end`](crate::Connection::slow_start_end).
    pub fn unexplained_end(&self) -> Option<SlowStartEnd> {
        end_without_delay(&self.0)
    }

    /// Packets over time, with their rounds.
    pub fn sending(&self) -> Sending {
        sending(&self.0)
    }

    /// Packets in the order in which they were sent, with their fates.
    pub fn offered(&self) -> Vec<Offered> {
        offered(&self.0)
    }

    /// Numbers of the transmissions that were lost: [`Connection::dropped`](crate::Connection::dropped).
    pub fn dropped(&self) -> Vec<u32> {
        dropped(&self.0)
    }
}

fn trace(
    source: Source,
    mss: u32,
    header: u32,
    packets: impl IntoIterator<Item = (Nanos, SimulatedPacket)>,
) -> PacketTrace {
    let end = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let (sender, receiver) = (end(1), end(2));
    let opening = |from, to, flags| TcpPacket::opening(from, to, flags, header, mss);
    let packets = packets.into_iter();
    let syn = opening(sender, receiver, Flags::SYN);
    let mut flow = Flow::new(&syn);
    flow.source = source;
    flow.packets.reserve(packets.size_hint().0 + 2);
    for (number, packet) in [(1, syn), (2, opening(receiver, sender, Flags::SYN | Flags::ACK))] {
        // Simulated packets are never captured twice.
        let _ = flow.add(Nanos::ZERO, &packet, number, Tap::default());
    }
    for (at, packet) in packets {
        match packet {
            SimulatedPacket::Data { start, len, carried } if start + u64::from(len) < 1 << 31 => {
                flow.add_simulated(at, Side::First, (start, len, header), (0, &[]));
                if source != Source::Segments {
                    flow.datagrams[Side::First as usize].push(carried);
                    // Data that fills no datagram is the last of a write.
                    if let Some(packet) = flow.packets.last_mut().filter(|_| !is_full(len, mss)) {
                        packet.flags.0 |= Flags::PUSH;
                    }
                }
            }
            SimulatedPacket::Ack { ack, mut blocks } if ack < 1 << 31 => {
                let mut given = 0;
                for index in 0..blocks.len() {
                    if blocks[index].1 > blocks[index].0 {
                        blocks[given] = blocks[index];
                        given += 1;
                    }
                }
                flow.add_simulated(at, Side::Second, (0, 0, header), (ack, &blocks[..given]));
            }
            SimulatedPacket::Data { .. } | SimulatedPacket::Ack { .. } => break,
        }
    }
    let side = flow.sender();
    let mut trace = PacketTrace::new(&flow, side, &mut MAX_PIECES.clone());
    trace.datagrams = std::mem::take(&mut flow.datagrams[side as usize]);
    trace
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summarise(
        mss: u32,
        header: u32,
        packets: impl IntoIterator<Item = (Nanos, SimulatedPacket)>,
    ) -> Option<Summary> {
        Simulated::new(Source::Segments, mss, header, packets).summary()
    }

    const NONE: [(u64, u64); 4] = [(0, 0); 4];

    fn at(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    fn data(ms: u64, segment: u64) -> (Nanos, SimulatedPacket) {
        (at(ms), SimulatedPacket::Data { start: 1000 * segment, len: 1000, carried: 1000 })
    }

    fn ack(ms: u64, segments: u64, sack: Option<(u64, u64)>) -> (Nanos, SimulatedPacket) {
        let mut blocks = NONE;
        if let Some((from, to)) = sack {
            blocks[0] = (1000 * from, 1000 * to);
        }
        (at(ms), SimulatedPacket::Ack { ack: 1000 * segments, blocks })
    }

    /// Checks statistics by their names.
    fn check(summary: &Summary, expected: &[(&str, f64)]) {
        for (name, value) in expected {
            let own = summary.get(name);
            assert!((own - value).abs() < 1e-9, "{name}: {own}, expected {value}");
        }
    }

    #[test]
    fn four_segments_that_arrive_ten_milliseconds_apart() {
        let mut packets: Vec<_> = (0..4).map(|segment| data(0, segment)).collect();
        packets.extend((0..4).map(|segment| ack(100 + 10 * segment, segment + 1, None)));
        let summary = summarise(1000, 40, packets).expect("data was delivered");
        check(
            &summary,
            &[
                // 125 bytes arrive with the first segment, 1500 with the second, 2500 with the third.
                ("time of 1/32 of the data", 0.1_f64.ln()),
                ("time of 2/8", 0.1_f64.ln()),
                ("time of 3/8", 0.11_f64.ln()),
                ("time of 5/8", 0.12_f64.ln()),
                ("time of all", 0.13_f64.ln()),
                ("retransmissions", 0.0),
                ("loss episodes", 0.0),
                ("timeouts", 0.0),
                ("data before the first retransmission", 0.0),
                // Round trips of 100, 110, 120 and 130 ms.
                ("shortest round trip", 0.1_f64.ln()),
                ("round trip, 10 %", 0.0),
                ("round trip, 50 %", 1.2_f64.ln()),
                ("longest round trip", 1.3_f64.ln()),
                ("rank of the flight at losses", 0.5),
                ("gap between acknowledgements, 50 %", 0.01_f64.ln()),
                ("gap at a moment, 25 %", 0.01_f64.ln()),
                ("share of the gaps below a tenth of their median", 0.0),
                // Three segments within 30 ms, since the first begins the time.
                ("fastest 16 packets", 1e5_f64.ln()),
                ("largest flight", 4_f64.ln()),
                ("flight at the first retransmission", 4_f64.ln()),
                // 100 ms until the first acknowledgement, a round trip.
                ("longest silence", 0.0),
                // Nothing was sent after the first flight.
                ("share of packets released by acknowledgements", 1.0),
            ],
        );
    }

    #[test]
    fn one_lost_segment_of_five() {
        let mut packets: Vec<_> = (0..5).map(|segment| data(0, segment)).collect();
        packets.push(ack(100, 1, None));
        packets.extend((0..3).map(|more| ack(101 + more, 1, Some((2, 3 + more)))));
        packets.extend([data(103, 1), ack(203, 5, None)]);
        let summary = summarise(1000, 40, packets).expect("data was delivered");
        check(
            &summary,
            &[
                ("time of 1/8", 0.1_f64.ln()),
                // The second segment is acknowledged with all others.
                ("time of 2/8", 0.203_f64.ln()),
                ("time of all", 0.203_f64.ln()),
                ("retransmissions", 1.0),
                ("loss episodes", 1.0),
                ("timeouts", 0.0),
                // All data was sent before.
                ("data before the first retransmission", 0.0),
                // Round trips of 100, 101, 102 and 103 ms; that of the packet before the lost one is the shortest.
                ("round trip, 50 %", 1.02_f64.ln()),
                ("round trip, 90 %", 1.03_f64.ln()),
                ("round trip at losses, 50 %", 0.0),
                // All packets were sent into equal flights.
                ("rank of the flight at losses", 0.5),
                // Round trips before each packet: none, 100, 100, 101 and 102 ms. The lost packet is second and third of
                // five: from 1 to 3 of 5, in the middle 0.4.
                ("rank of the round trip at losses", 0.4),
                ("losses in a row", 0.0),
                // One, after a round trip of 100 ms, where the middle of the shortest and the longest is 101.5.
                ("losses at a short queue", 1.0),
                // Gaps of 1, 1, 1 and 100 ms: of 103 ms, all but three lie in the last one.
                ("gap between acknowledgements, 50 %", 1e-3_f64.ln()),
                ("gap between acknowledgements, 90 %", 0.1_f64.ln()),
                ("gap at a moment, 25 %", 0.1_f64.ln()),
                // Two round trips of 100 ms, the first without data and the second with 4000 bytes, each with a segment more
                // and relative to their mean, 3000 bytes.
                ("rate of a round trip, 25 %", (1.0_f64 / 3.0).ln()),
                ("rate of a round trip, 90 %", (5.0_f64 / 3.0).ln()),
                ("fastest 16 packets", (4000.0_f64 / 0.103).ln()),
                ("largest flight", 5_f64.ln()),
            ],
        );
    }

    #[test]
    fn one_overtaken_segment_of_five() {
        let mut packets: Vec<_> = (0..5).map(|segment| data(0, segment)).collect();
        packets.extend([ack(100, 1, None), ack(102, 1, Some((2, 3))), ack(103, 1, Some((2, 4)))]);
        packets.extend([ack(106, 4, None), ack(107, 5, None)]);
        let summary = summarise(1000, 40, packets).expect("data was delivered");
        check(
            &summary,
            &[
                ("retransmissions", 0.0),
                ("overtaken packets", 1.0),
                // By the third and the fourth, of which the first came 4 ms before it.
                ("overtaken by, packets", 2_f64.ln()),
                ("overtaken by, time, 50 %", 0.004_f64.ln()),
                ("overtaken by, time, 90 %", 0.004_f64.ln()),
                ("retransmissions of packets on their way", 0.0),
            ],
        );
    }

    #[test]
    fn packets_released_at_once_and_later() {
        // The first acknowledgement releases a segment at once, the second one another segment 5 ms later.
        let packets = [
            data(0, 0),
            data(0, 1),
            ack(100, 1, None),
            data(100, 2),
            ack(110, 2, None),
            data(115, 3),
            ack(200, 3, None),
            ack(215, 4, None),
        ];
        let summary = summarise(1000, 40, packets).expect("data was delivered");
        check(
            &summary,
            &[("share of packets released by acknowledgements", 0.5), ("largest flight", 2_f64.ln())],
        );
    }

    /// A transfer of eight segments with a loss: two flights, and a retransmission.
    fn eight_segments() -> Vec<(Nanos, SimulatedPacket)> {
        let mut packets: Vec<_> = (0..4).map(|segment| data(0, segment)).collect();
        packets.push(ack(100, 2, None));
        packets.extend((4..8).map(|segment| data(100, segment)));
        packets.extend([ack(102, 2, Some((3, 4))), ack(200, 2, Some((3, 6))), ack(202, 2, Some((3, 8)))]);
        packets.extend([data(202, 2), ack(302, 8, None)]);
        packets
    }

    #[test]
    fn segments_that_a_host_joins_have_the_summary_of_single_ones() {
        // Offload hands each flight to the capture as one packet of 4000 bytes.
        let whole = summarise(1000, 40, eight_segments()).expect("data was delivered");
        let joined = eight_segments().into_iter().filter_map(|(at, packet)| match packet {
            SimulatedPacket::Data { start: 2000, .. } if at > Nanos::ZERO => Some((at, packet)),
            SimulatedPacket::Data { start, len, carried } => {
                let joined = SimulatedPacket::Data { start, len: 4 * len, carried: 4 * carried };
                (start % 4000 == 0).then_some((at, joined))
            }
            ack => Some((at, ack)),
        });
        let joined: Vec<_> = joined.collect();
        assert_eq!(joined.len(), eight_segments().len() - 6);
        assert_eq!(summarise(1000, 40, joined), Some(whole));
    }

    #[test]
    fn a_clock_that_drifts_moves_no_statistic_by_more_than_a_tenth_of_what_hosts_do() {
        // ntpd slews a clock by 500 ppm at most (RFC 5905, section 11.3): times and their logarithms by 0.0005.
        let drifting = eight_segments().into_iter().map(|(at, packet)| (Nanos(at.0 + at.0 / 2000), packet));
        let drifting = summarise(1000, 40, drifting).expect("data was delivered");
        let exact = summarise(1000, 40, eight_segments()).expect("data was delivered");
        for (index, statistic) in crate::summary::NAMES.iter().enumerate() {
            let apart = (drifting.0[index] - exact.0[index]).abs();
            assert!(apart <= 0.1 * statistic.floor, "{}: {apart}", statistic.name);
        }
        let moved = drifting.get("time of all") - exact.get("time of all");
        assert!((moved - 1.0005_f64.ln()).abs() < 1e-9, "{moved}");
    }

    #[test]
    fn datagrams_of_quic_have_the_sizes_that_they_carry_in_udp() {
        let data = |start, len, carried| (at(0), SimulatedPacket::Data { start, len, carried });
        let packets = [
            data(0, 1172, 1200),
            data(1172, 1424, 1452),
            (at(50), SimulatedPacket::Ack { ack: 2596, blocks: NONE }),
        ];
        let sizes = |source| -> Vec<u32> {
            let simulated = Simulated::new(source, 1424, 56, packets.clone());
            simulated.sending().packets.iter().map(|packet| packet.bytes).collect()
        };
        assert_eq!(sizes(Source::Datagrams), [1200, 1452]);
        assert_eq!(sizes(Source::Qlog), [1200, 1452]);
    }

    #[test]
    fn nothing_delivered_has_no_summary() {
        assert_eq!(summarise(1000, 40, [data(0, 0)]), None);
        assert_eq!(summarise(1000, 40, []), None);
    }
}
