//! Packets that were captured more than once are left out, and no retransmission is.

use crate::common::path::Path;
use crate::common::*;
use firstflight_capture::{Capture, Connection, Copies, Next, Reader};
use firstflight_contract::Nanos;

/// A packet of a file: time, microseconds, and bytes from the IP header on.
type Frame = (u64, Vec<u8>);

/// Bytes of the packets without IP identification, over IPv6 or IPv4.
fn frames(packets: &[(u64, Tcp)], v6: bool) -> Vec<Frame> {
    packets.iter().map(|(us, tcp)| (*us, if v6 { tcp.v6() } else { tcp.v4() })).collect()
}

/// The frames once more, this much later and with this number of hops less, in the order of their times.
fn doubled(frames: &[Frame], later_us: u64, hops: u8, which: impl Fn(usize) -> bool) -> Vec<Frame> {
    let again = frames.iter().enumerate().filter(|(index, _)| which(*index)).map(|(_, (us, bytes))| {
        let mut bytes = bytes.clone();
        let place = if bytes[0] >> 4 == 4 { 8 } else { 7 };
        bytes[place] -= hops;
        (us + later_us, bytes)
    });
    let mut all: Vec<Frame> = frames.iter().cloned().chain(again).collect();
    all.sort_by_key(|(us, _)| *us);
    all
}

/// Capture of several files.
fn read_files(files: &[Vec<Frame>]) -> Capture {
    let mut reader = Reader::default();
    for (number, frames) in files.iter().enumerate() {
        let name = format!("{number}.pcap");
        reader.add(&pcap(frames)[..], name, &mut || Next::Continue).unwrap();
    }
    reader.finish("test.pcap").unwrap()
}

fn read_frames(frames: &[Frame]) -> Capture {
    read_files(&[frames.to_vec()])
}

fn the_only(capture: &Capture) -> &Connection {
    assert_eq!(capture.connections.len(), 1, "{:?}", capture.warnings);
    &capture.connections[0]
}

/// A transfer of 1 MB over 8 Mbit/s and 40 ms with a lost packet in a hundred.
fn lossy() -> Vec<(u64, Tcp)> {
    Path { lose_one_in: 100, segments: 1000, ..Path::default() }.run()
}

/// Data packets that begin below the highest byte sent before: the retransmissions, by the sender's own packets.
fn retransmissions(packets: &[(u64, Tcp)]) -> u64 {
    let mut high = 0;
    let data = packets.iter().filter(|(_, tcp)| tcp.from_sender && tcp.len > 0);
    let again = data.filter(|(_, tcp)| {
        let again = tcp.seq < high;
        high = high.max(tcp.seq + tcp.len as u32);
        again
    });
    again.count() as u64
}

#[test]
fn a_packet_that_comes_twice_without_identification_and_time_stamps_counts_once() {
    let packets = lossy();
    let expected = retransmissions(&packets);
    assert!(expected > 5, "{expected}");
    for v6 in [false, true] {
        let once = frames(&packets, v6);
        let single = read_frames(&once);
        assert_eq!(the_only(&single).observed.retransmits, expected);
        for later_us in [2, 40, 300, 5_000, 30_000] {
            let capture = read_frames(&doubled(&once, later_us, 0, |_| true));
            let (own, other) = (&the_only(&single).observed, &the_only(&capture).observed);
            assert_eq!(other.retransmits, expected, "{later_us} us");
            assert_eq!((other.lost_packets, other.packets), (own.lost_packets, own.packets), "{later_us} us");
            assert_eq!(
                (other.handshake_rtt, other.rtt_span),
                (own.handshake_rtt, own.rtt_span),
                "{later_us} us"
            );
            // A few copies of pure acknowledgements cannot be distinguished from repeated ones.
            let (all, found) = (packets.len() as u64, capture.counts.copies);
            assert!(
                found.same_interface <= all && 20 * found.same_interface >= 19 * all,
                "{found:?} of {all}"
            );
            assert_eq!(found.all(), capture.counts.duplicates);
        }
    }
}

#[test]
fn packets_on_both_sides_of_a_router_count_once_however_many_lie_between() {
    let packets = lossy();
    let expected = retransmissions(&packets);
    for v6 in [false, true] {
        // A queue in the router: far more than eight packets.
        for later_us in [300, 60_000] {
            let capture = read_frames(&doubled(&frames(&packets, v6), later_us, 1, |_| true));
            assert_eq!(the_only(&capture).observed.retransmits, expected, "{later_us} us");
            let copies = capture.counts.copies;
            assert_eq!(copies, Copies { other_side_of_router: packets.len() as u64, ..Copies::default() });
            let sentence = format!(
                "0.pcap: {0} packets were captured twice and are left out: {0} on another side of a router",
                packets.len()
            );
            assert_eq!(capture.warnings[0], sentence);
        }
    }
}

#[test]
fn a_packet_that_a_router_drops_is_retransmitted_once() {
    // The second place lacks every twentieth packet.
    let packets = Path { segments: 1000, ..Path::default() }.run();
    let once = frames(&packets, true);
    let capture = read_frames(&doubled(&once, 700, 1, |index| index % 20 != 7));
    let observed = &the_only(&capture).observed;
    assert_eq!((observed.retransmits, observed.bytes), (retransmissions(&packets), 1_000_000));
}

#[test]
fn a_mirror_that_loses_copies_makes_no_retransmissions() {
    let packets = lossy();
    for share in [2, 3, 10] {
        let frames = doubled(&frames(&packets, true), 3, 0, |index| index % share == 1);
        let capture = read_frames(&frames);
        let observed = &the_only(&capture).observed;
        assert_eq!(observed.retransmits, retransmissions(&packets), "one in {share}");
    }
}

/// A transfer in a data centre: 1 Gbit/s, a round trip of 100 us, a lost packet in fifty. Retransmissions follow within 1 ms.
fn data_centre() -> Vec<(u64, Tcp)> {
    let path =
        Path { rate_bit_s: 1_000_000_000, rtt_us: 100, lose_one_in: 50, segments: 1000, ..Path::default() };
    path.run()
}

#[test]
fn fast_retransmissions_within_a_millisecond_are_no_copies() {
    let packets = data_centre();
    let expected = retransmissions(&packets);
    assert!(expected > 10, "{expected}");
    for v6 in [false, true] {
        let capture = read_frames(&frames(&packets, v6));
        assert_eq!((the_only(&capture).observed.retransmits, capture.counts.duplicates), (expected, 0));
        let capture = read_frames(&doubled(&frames(&packets, v6), 2, 0, |_| true));
        assert_eq!(the_only(&capture).observed.retransmits, expected);
    }
}

#[test]
fn a_tail_loss_probe_is_no_copy() {
    // The last of four segments is lost; the probe follows two round trips of 200 us after it, with delayed ACKs before.
    let mut packets = handshake(200, 1000);
    let mut at = 1_000;
    for write in 0..4_u32 {
        packets.extend([(at, data(1 + 1000 * write, 1000)), (at + 200, ack(1001 + 1000 * write))]);
        at += 40_000;
    }
    packets.extend([(at, data(4001, 1000)), (at + 410, data(4001, 1000)), (at + 615, ack(5001))]);
    for v6 in [false, true] {
        let capture = read_frames(&frames(&packets, v6));
        assert_eq!((the_only(&capture).observed.retransmits, capture.counts.duplicates), (1, 0));
    }
}

#[test]
fn a_fast_retransmission_is_no_copy_though_all_other_acknowledgements_were_delayed() {
    // Single segments are acknowledged after 40 ms, the dup ACKs of a hole after 200 us.
    let mut packets = handshake(200, 1000);
    let mut at = 1_000;
    for write in 0..4_u32 {
        packets.extend([(at, data(1 + 1000 * write, 1000)), (at + 40_000, ack(1001 + 1000 * write))]);
        at += 100_000;
    }
    packets.extend((4..8).map(|segment| (at, data(1 + 1000 * segment, 1000))));
    packets.extend((0..3).map(|step| (at + 200 + 12 * step, ack(4001))));
    packets.extend([(at + 230, data(4001, 1000)), (at + 430, ack(8001))]);
    for v6 in [false, true] {
        let capture = read_frames(&frames(&packets, v6));
        assert_eq!((the_only(&capture).observed.retransmits, capture.counts.duplicates), (1, 0));
    }
}

#[test]
fn a_sender_with_one_identification_for_all_packets_retransmits() {
    let packets: Vec<_> = lossy().into_iter().map(|(us, tcp)| (us, Tcp { id: 7, ..tcp })).collect();
    let expected = retransmissions(&packets);
    let capture = read_frames(&frames(&packets, false));
    assert_eq!((the_only(&capture).observed.retransmits, capture.counts.duplicates), (expected, 0));
}

#[test]
fn a_retransmission_by_another_path_is_no_copy() {
    // Two paths to the point of capture, on one of which a packet has a hop less, by turns.
    let packets = Path { lose_one_in: 30, segments: 1000, ..Path::default() }.run();
    let mut frames = frames(&packets, true);
    frames.iter_mut().step_by(2).for_each(|(_, bytes)| bytes[7] -= 1);
    let capture = read_frames(&frames);
    assert_eq!(
        (the_only(&capture).observed.retransmits, capture.counts.duplicates),
        (retransmissions(&packets), 0)
    );
}

#[test]
fn a_handshake_that_was_captured_twice_has_its_round_trip() {
    let mut packets = handshake(50_000, 1000);
    packets.extend([(51_000, data(1, 1000)), (101_000, ack(1001))]);
    for (v6, later_us, hops) in [(true, 2, 0), (false, 2, 0), (true, 400, 1)] {
        let capture = read_frames(&doubled(&frames(&packets, v6), later_us, hops, |_| true));
        let observed = &the_only(&capture).observed;
        let rtt = observed.handshake_rtt.expect("the handshake is there once");
        assert!(rtt.0.abs_diff(50_000_000) <= 800_000, "{rtt:?}");
        assert_eq!(observed.retransmits, 0);
    }
}

/// The same transfer at the sender and at the receiver, whose clock is `fast_us` ahead.
fn both_ends(fast_us: u64) -> [Vec<Frame>; 2] {
    let path = |at_receiver| Path { buffer: 20, segments: 1000, at_receiver, ..Path::default() };
    let receiver = path(true).run().into_iter().map(|(us, tcp)| (us + fast_us, tcp)).collect::<Vec<_>>();
    [frames(&path(false).run(), true), frames(&receiver, true)]
}

#[test]
fn of_captures_at_both_ends_that_of_the_sender_counts() {
    for fast_us in [0, 20_000, 7_200_000_000] {
        let [sender, receiver] = both_ends(fast_us);
        let expected = read_frames(&sender);
        for files in [[sender.clone(), receiver.clone()], [receiver.clone(), sender.clone()]] {
            let capture = read_files(&files);
            assert_eq!(the_only(&capture).observed, the_only(&expected).observed, "{fast_us} us");
            assert_eq!(capture.counts.copies.other_end, receiver.len() as u64);
            assert!(
                capture.warnings[0].contains("in a file from another point of their path"),
                "{:?}",
                capture.warnings
            );
        }
    }
}

#[test]
fn segments_that_the_sender_joins_are_those_that_the_receiver_sees_one_by_one() {
    let [mut sender, receiver] =
        [false, true].map(|at_receiver| Path { segments: 600, at_receiver, ..Path::default() }.run());
    // Joins neighbours that leave at once, as TSO does.
    let mut joined: Vec<(u64, Tcp)> = vec![];
    for (us, tcp) in sender.drain(..) {
        match joined.last_mut() {
            Some((at, last)) if *at == us && tcp.len > 0 && last.seq + last.len as u32 == tcp.seq => {
                last.len += tcp.len
            }
            _ => joined.push((us, tcp)),
        }
    }
    let alone = read_frames(&frames(&joined, true));
    let capture = read_files(&[frames(&receiver, true), frames(&joined, true)]);
    assert_eq!(the_only(&capture).observed, the_only(&alone).observed);
}

#[test]
fn a_capture_that_is_read_twice_counts_once() {
    let once = frames(&lossy(), true);
    let expected = read_frames(&once);
    let capture = read_files(&[once.clone(), once.clone(), once.clone()]);
    assert_eq!(the_only(&capture).observed, the_only(&expected).observed);
    assert_eq!(capture.counts.copies.other_file, 2 * once.len() as u64);
}

#[test]
fn captures_that_overlap_count_what_they_share_once() {
    let once = frames(&lossy(), true);
    let expected = read_frames(&once);
    // Shared are a third, a tenth and three packets.
    for shared in [once.len() / 3, once.len() / 10, 3] {
        let half = once.len() / 2;
        let files = [once[..half + shared].to_vec(), once[half..].to_vec()];
        let capture = read_files(&files);
        assert_eq!(the_only(&capture).observed, the_only(&expected).observed, "{shared}");
        assert_eq!(capture.counts.copies.other_file, shared as u64);
    }
}

/// The second file starts before the first ends, and has retransmissions of what the first saw.
#[test]
fn a_retransmission_after_the_end_of_another_file_is_no_copy() {
    let once = frames(&Path { buffer: 20, segments: 1000, ..Path::default() }.run(), true);
    let expected = read_frames(&once);
    for starts in (0..once.len()).step_by(once.len() / 20) {
        for ends in (starts..once.len()).step_by(once.len() / 20).skip(1) {
            let capture = read_files(&[once[..ends].to_vec(), once[starts..].to_vec()]);
            assert_eq!(capture.counts.copies.other_file, (ends - starts) as u64, "{starts} to {ends}");
            assert_eq!(the_only(&capture).observed, the_only(&expected).observed, "{starts} to {ends}");
        }
    }
}

#[test]
fn the_files_of_a_ring_share_nothing() {
    let packets = lossy();
    let once = frames(&packets, false);
    let expected = read_frames(&once);
    // Every end of a file, so that some lie between a packet and its retransmission.
    for part in [17, 100, 333] {
        let files: Vec<_> = once.chunks(part).map(<[Frame]>::to_vec).collect();
        let capture = read_files(&files);
        assert_eq!(the_only(&capture).observed, the_only(&expected).observed, "{part}");
        assert_eq!(capture.counts.duplicates, 0);
    }
}

#[test]
fn answers_that_pass_a_router_count_when_they_passed_it_last() {
    // At the sender's side of a router an acknowledgement passes 3 ms after the client's side, and the data 3 ms before it.
    let mut packets = handshake(50_000, 1000);
    packets.extend([(51_000, data(1, 1000)), (101_000, ack(1001))]);
    let near = frames(&packets, true);
    let far: Vec<Frame> = packets
        .iter()
        .map(|(us, tcp)| {
            let mut bytes = tcp.v6();
            // the client's packets lose their hop on the way to the sender's side
            if tcp.from_sender {
                bytes[7] -= 1
            } else {
                bytes[7] += 1
            }
            (if tcp.from_sender { us + 3_000 } else { us - 3_000 }, bytes)
        })
        .collect();
    let mut all = [near, far].concat();
    all.sort_by_key(|(us, _)| *us);
    let capture = read_frames(&all);
    let observed = &the_only(&capture).observed;
    assert_eq!(observed.handshake_rtt, Some(Nanos::from_millis(50)));
    assert_eq!(observed.rtt_span, Some((Nanos::from_millis(50), Nanos::from_millis(50))));
}

/// The frames and copies of them, each after the delay of its number, but in their order, as a mirror delivers them.
fn mirrored(frames: &[Frame], delay_us: impl Fn(u64) -> u64) -> Vec<Frame> {
    let mut latest = 0;
    let again = frames.iter().enumerate().map(|(index, (us, bytes))| {
        latest = (latest + 1).max(us + delay_us(index as u64));
        (latest, bytes.clone())
    });
    let mut all: Vec<Frame> = frames.iter().cloned().chain(again).collect();
    all.sort_by_key(|(us, _)| *us);
    all
}

#[test]
fn copies_that_a_mirror_delivers_late_or_unevenly_are_no_retransmissions() {
    let packets = lossy();
    let expected = retransmissions(&packets);
    let uneven = |index: u64| index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let delays: [&dyn Fn(u64) -> u64; 4] =
        [&|_| 70_000, &|_| 300_000, &|index| 4_000 + uneven(index) % 8_000, &|index| uneven(index) % 60_000];
    for v6 in [false, true] {
        for (number, delay) in delays.iter().enumerate() {
            let capture = read_frames(&mirrored(&frames(&packets, v6), delay));
            assert_eq!(the_only(&capture).observed.retransmits, expected, "{number}");
            assert_eq!(capture.counts.copies.same_interface, packets.len() as u64, "{number}");
        }
    }
}

#[test]
fn a_packet_with_an_older_time_stamp_than_its_sender_sent_before_is_a_copy() {
    // Only the data is mirrored, 150 ms later. Time stamps have ticks of a millisecond.
    let packets = Path { stamps: true, lose_one_in: 100, segments: 1000, ..Path::default() }.run();
    let expected = retransmissions(&packets);
    let once = frames(&packets, true);
    let data: Vec<bool> = packets.iter().map(|(_, tcp)| tcp.from_sender && tcp.len > 0).collect();
    let capture = read_frames(&doubled(&once, 150_000, 0, |index| data[index]));
    assert_eq!(the_only(&capture).observed.retransmits, expected);
    assert_eq!(capture.counts.duplicates, data.iter().filter(|it| **it).count() as u64);
}

#[test]
fn of_three_copies_two_are_left_out() {
    let packets = lossy();
    let once = frames(&packets, true);
    let three: Vec<Frame> =
        once.iter().flat_map(|(us, bytes)| [0, 7, 14].map(|later| (us + later, bytes.clone()))).collect();
    let capture = read_frames(&three);
    assert_eq!(the_only(&capture).observed.retransmits, retransmissions(&packets));
    assert_eq!(capture.counts.duplicates, 2 * packets.len() as u64);
}

#[test]
fn acknowledgements_are_left_out_where_the_data_around_them_comes_twice() {
    let packets = lossy();
    let half = packets.len() / 2;
    let capture = read_frames(&doubled(&frames(&packets, true), 30, 0, |index| index >= half));
    assert_eq!(the_only(&capture).observed.retransmits, retransmissions(&packets));
    let copies = (packets.len() - half) as u64;
    // the first ones stand among packets that come once
    assert!(
        (copies - 8..=copies).contains(&capture.counts.duplicates),
        "{} of {copies}",
        capture.counts.duplicates
    );
}

#[test]
fn retransmissions_at_another_interface_are_no_copies() {
    let packets = lossy();
    let expected = retransmissions(&packets);
    let half = packets.len() / 2;
    let mut high = 0;
    let again: Vec<bool> = packets
        .iter()
        .map(|(_, tcp)| {
            let again = tcp.from_sender && tcp.len > 0 && tcp.seq < high;
            high = if tcp.from_sender { high.max(tcp.seq + tcp.len as u32) } else { high };
            again
        })
        .collect();
    // All retransmissions at one interface, all other packets at another; and one interface after the other.
    let places: [&dyn Fn(usize) -> bool; 2] = [&|index| again[index], &|index| index >= half];
    for other in places {
        let mut frames = frames(&packets, true);
        frames
            .iter_mut()
            .enumerate()
            .filter(|(index, _)| other(*index))
            .for_each(|(_, frame)| frame.1[7] -= 1);
        let capture = read_frames(&frames);
        assert_eq!((the_only(&capture).observed.retransmits, capture.counts.duplicates), (expected, 0));
    }
}
