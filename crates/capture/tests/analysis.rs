//! Analysis of connections, on exchanges small enough to compute by hand.

use crate::common::*;
use etherparse::TcpOptionElement::SelectiveAcknowledgement;
use firstflight_capture::{ExitReason, Reordering, Series, Vantage};
use firstflight_contract::Nanos;

fn ms(ms: u64) -> u64 {
    ms * 1_000
}

/// A handshake of `rtt` milliseconds with segments of 1000 bytes, then `packets` with times counted from its
/// end.
fn opened(rtt: u64, packets: Vec<(u64, Tcp)>) -> Vec<(u64, Tcp)> {
    let open = ms(rtt);
    // time stamps take 12 bytes of every segment
    let stamps = packets.iter().any(|(_, tcp)| !tcp.options.is_empty());
    let mss = if stamps { 1012 } else { 1000 };
    let rest = packets.into_iter().map(|(us, tcp)| (us + open, tcp));
    handshake(open, mss).into_iter().chain(rest).collect()
}

#[test]
fn completion_is_the_time_from_the_syn_ack_to_the_ack_of_the_last_byte() {
    let observed = only(&opened(
        50,
        vec![
            (ms(1), data(1, 1000)),
            (ms(51), ack(1001)),
            (ms(52), data(1001, 300)),
            (ms(103), ack(1301)),
            (ms(110), Tcp { len: 1, ..ack(1301) }),
        ],
    ))
    .observed;
    assert_eq!(observed.established, Nanos::from_millis(50));
    assert_eq!(observed.handshake_rtt, Some(Nanos::from_millis(50)));
    assert_eq!(observed.first_data, Nanos::from_millis(1));
    assert_eq!(observed.completion, Some(Nanos::from_millis(103)));
    assert_eq!(observed.answered, Some(Nanos::from_millis(110)));
    assert_eq!((observed.bytes, observed.packets, observed.retransmits), (1300, 2, 0));
}

#[test]
fn sequence_numbers_wrap() {
    // 1500 bytes from 2^32 - 600: the second segment begins at 400
    let start = 0u32.wrapping_sub(600);
    let observed = only(&[
        (0, data(start, 1000)),
        (ms(1), data(400, 500)),
        (ms(30), ack(400).sack(400, 900)),
        (ms(31), ack(900)),
    ])
    .observed;
    assert_eq!((observed.bytes, observed.delivered_bytes, observed.retransmits), (1500, 1500, 0));
    assert_eq!(observed.completion, Some(Nanos::from_millis(31)));
}

#[test]
fn offloaded_segments_are_counted_as_the_packets_that_the_hardware_sends() {
    // 4500 bytes in segments of 1000: four full ones and a half
    let observed = only(&opened(50, vec![(0, data(1, 4500)), (ms(50), ack(4501))])).observed;
    assert_eq!((observed.mss, observed.packets, observed.first_flight_packets), (1000, 5, 5));
    assert_eq!(observed.max_flight_bytes, 4500);
}

#[test]
fn without_a_handshake_the_largest_payload_that_fits_ethernet_is_a_full_segment() {
    let observed = only(&[(0, data(1, 14_480)), (1, data(14_481, 1448)), (ms(50), ack(15_929))]).observed;
    assert_eq!((observed.mss, observed.packets), (1448, 11));
    assert!(!observed.handshake);
}

/// Four segments of which the second is lost, followed by the packets `last`.
fn one_lost(last: Vec<(u64, Tcp)>) -> Vec<(u64, Tcp)> {
    let mut packets = vec![
        (0, data(1, 1000).stamps(100, 1)),
        (1, data(1001, 1000).stamps(100, 1)),
        (2, data(2001, 1000).stamps(100, 1)),
        (3, data(3001, 1000).stamps(100, 1)),
        (ms(50), ack(1001).stamps(500, 100)),
        (ms(51), ack(1001).stamps(501, 100).sack(2001, 3001)),
        (ms(52), ack(1001).stamps(502, 100).sack(2001, 4001)),
        (ms(53), data(1001, 1000).stamps(153, 502)),
    ];
    packets.extend(last);
    opened(50, packets)
}

#[test]
fn a_retransmission_that_was_needed_counts_as_a_loss() {
    let observed = only(&one_lost(vec![(ms(103), ack(4001).stamps(553, 153))])).observed;
    assert_eq!((observed.retransmits, observed.lost_packets, observed.spurious_retransmits), (1, 1, 0));
    assert_eq!((observed.packets, observed.bytes, observed.delivered_bytes), (5, 4000, 4000));
    // pieces sent once: 50 ms, up to 52 ms minus 3 us
    assert_eq!(observed.rtt_span, Some((Nanos::from_micros(50_000), Nanos::from_micros(51_997))));
    assert_eq!(observed.timeouts, 0);
    let exit = observed.startup.exit.unwrap();
    assert_eq!((exit.time, exit.reason, exit.cwnd_packets), (Nanos::from_millis(53), ExitReason::Loss, 4.0));
}

#[test]
fn an_ack_that_echoes_the_original_shows_a_spurious_retransmission() {
    // 50 ms after the retransmission, but the echo is 100 and not 153
    let observed = only(&one_lost(vec![(ms(103), ack(4001).stamps(553, 100))])).observed;
    assert_eq!((observed.retransmits, observed.lost_packets, observed.spurious_retransmits), (1, 0, 1));
    assert_eq!(observed.startup.exit, None);
}

#[test]
fn a_duplicate_sack_shows_a_spurious_retransmission() {
    let duplicate = ack(4001).stamps(553, 153).with(SelectiveAcknowledgement((1001, 2001), [None; 3]));
    let observed =
        only(&one_lost(vec![(ms(103), ack(4001).stamps(553, 153)), (ms(104), duplicate)])).observed;
    assert_eq!((observed.lost_packets, observed.spurious_retransmits), (0, 1));
}

#[test]
fn an_ack_right_after_a_retransmission_acknowledges_the_original() {
    // 10 ms after it, with a shortest round trip of 50 ms
    let observed = only(&one_lost(vec![(ms(63), ack(4001).stamps(513, 153))])).observed;
    assert_eq!((observed.lost_packets, observed.spurious_retransmits), (0, 1));
}

#[test]
fn a_retransmission_after_a_silence_counts_as_a_timeout() {
    let observed = only(&opened(
        50,
        vec![
            (0, data(1, 1000)),
            (ms(50), ack(1001)),
            (ms(50) + 1, data(1001, 1000)),
            (ms(350), data(1001, 1000)),
            (ms(400), ack(2001)),
        ],
    ))
    .observed;
    assert_eq!((observed.timeouts, observed.retransmits, observed.lost_packets), (1, 1, 1));
}

#[test]
fn a_keep_alive_does_not_count_as_a_retransmission() {
    let mut packets = vec![(0, data(1, 1000)), (ms(50), ack(1001))];
    packets.extend([(ms(900), data(1000, 1)), (ms(950), ack(1001))]);
    let observed = only(&opened(50, packets)).observed;
    assert_eq!((observed.bytes, observed.packets, observed.retransmits), (1000, 1, 0));
}

#[test]
fn the_handshake_shows_the_point_of_capture() {
    // SYN-ACK after `far`, the opener's ACK after `near`
    let at = |far: u64, near: u64| {
        let mut packets = handshake(ms(far), 1000);
        packets[2].0 = ms(far + near);
        packets.extend([(ms(200), data(1, 1000)), (ms(200 + far), ack(1001))]);
        let connection = only(&packets);
        (connection.vantage, connection.observed.handshake_rtt)
    };
    assert_eq!(at(50, 0), (Vantage::Sender, Some(Nanos::from_millis(50))));
    assert_eq!(at(0, 50), (Vantage::Receiver, Some(Nanos::from_millis(50))));
    assert_eq!(at(20, 30), (Vantage::Middle, Some(Nanos::from_millis(50))));
}

#[test]
fn a_passive_opener_is_established_by_the_ack_of_its_syn() {
    let turned: Vec<_> = handshake(ms(40), 1000)
        .into_iter()
        .map(|(us, tcp)| (us, Tcp { from_sender: !tcp.from_sender, ..tcp }))
        .collect();
    // the SYN-ACK leaves at once, the opener's ACK arrives a round trip later
    let times = [0, 100, ms(40) + 100];
    let mut packets: Vec<_> = times.into_iter().zip(turned).map(|(us, (_, tcp))| (us, tcp)).collect();
    packets.extend([(ms(41), data(1, 1000)), (ms(82), ack(1001))]);
    let connection = only(&packets);
    assert_eq!(connection.vantage, Vantage::Sender);
    assert_eq!(connection.observed.handshake_rtt, Some(Nanos::from_millis(40)));
    assert_eq!(connection.observed.completion, Some(Nanos::from_micros(ms(82) - ms(40) - 100)));
}

#[test]
fn a_retransmitted_syn_establishes_the_connection_without_an_rtt() {
    let mut packets = opened(50, vec![(0, data(1, 1000)), (ms(50), ack(1001))]);
    let again = packets[0].1.clone();
    packets.insert(1, (ms(20), again));
    let observed = only(&packets).observed;
    assert_eq!((observed.handshake, observed.handshake_rtt), (true, None));
    assert_eq!(
        (observed.established, observed.completion),
        (Nanos::from_millis(50), Some(Nanos::from_millis(50)))
    );
}

#[test]
fn echoed_time_stamps_show_the_point_of_capture_without_a_handshake() {
    let at = |far: u64, near: u64| {
        let (sent, acked) = (ms(100), ms(100 + far));
        let released = acked + ms(near);
        only(&[
            (0, data(1, 1000).stamps(1, 9)),
            (ms(far), ack(1001).stamps(20, 1)),
            (sent, data(1001, 1000).stamps(3, 20)),
            (acked, ack(2001).stamps(21, 3)),
            (released, data(2001, 1000).stamps(4, 21)),
        ])
        .vantage
    };
    assert_eq!(at(50, 0), Vantage::Sender);
    assert_eq!(at(0, 50), Vantage::Receiver);
    assert_eq!(at(20, 30), Vantage::Middle);
    assert_eq!(only(&[(0, data(1, 1000)), (ms(5), ack(1001))]).vantage, Vantage::Unknown);
}

#[test]
fn time_with_nothing_in_flight_counts_as_application_limited() {
    // all acknowledged at 50 ms, next data at 80 ms; a half segment at 130 ms, the rest at 140 ms
    let observed = only(&opened(
        50,
        vec![
            (0, data(1, 1000)),
            (ms(50), ack(1001)),
            (ms(80), data(1001, 1000)),
            (ms(120), data(2001, 1000)),
            (ms(130), ack(2001)),
            (ms(130), data(3001, 500)),
            (ms(140), data(3501, 1000)),
            (ms(200), ack(4501)),
        ],
    ))
    .observed;
    assert_eq!(observed.application_limited, Nanos::from_millis(40));
}

#[test]
fn a_full_receive_window_counts_as_window_limited() {
    // windows of 16 << 7 = 2048 bytes: room for two segments of 1000, not for a third
    let small = |number: u32| Tcp { window: 16, ..ack(number) };
    let observed = only(&opened(
        50,
        vec![
            (0, data(1, 1000)),
            (ms(50), small(1001)),
            (ms(50), data(1001, 1000)),
            (ms(51), data(2001, 1000)),
            (ms(100), small(2001)),
            (ms(100), data(3001, 1000)),
            (ms(150), small(4001)),
        ],
    ))
    .observed;
    assert_eq!(observed.window_limited, Nanos::from_millis(49));
}

/// Rounds of 50 ms: each sends this number of segments and receives one ACK per segment of the previous
/// round.
fn rounds(sizes: &[u32]) -> Vec<(u64, Tcp)> {
    let mut packets = Vec::new();
    let (mut seq, mut acked) = (1, 1);
    for (round, &size) in sizes.iter().enumerate() {
        let at = ms(50) * round as u64;
        let before = if round == 0 { 0 } else { sizes[round - 1] };
        for step in 0..size.max(before) {
            let now = at + u64::from(step) * 100;
            if step < before {
                acked += 1000;
                packets.push((now, ack(acked)));
            }
            // the segments of a round are spread over its acknowledgements
            let due =
                (size * (step + 1)).div_ceil(size.max(before)) - (size * step).div_ceil(size.max(before));
            for _ in 0..due {
                packets.push((now + 1, data(seq, 1000)));
                seq += 1000;
            }
        }
    }
    opened(50, packets)
}

#[test]
fn start_up_ends_in_the_first_round_that_sends_no_more_than_it_delivers() {
    let exit = only(&rounds(&[10, 20, 40, 40, 41, 42, 42])).observed.startup.exit.unwrap();
    assert_eq!(exit.reason, ExitReason::Slowed);
    // the flight reaches 40 segments in the round that begins at 100 ms, and stays there
    assert!((38.0..=41.0).contains(&exit.cwnd_packets), "{exit:?}");
    assert!((100..=150).contains(&(exit.time.0 / 1_000_000)), "{exit:?}");
}

#[test]
fn a_transfer_that_doubles_to_its_end_never_leaves_start_up() {
    assert_eq!(only(&rounds(&[10, 20, 40, 80])).observed.startup.exit, None);
}

#[test]
fn data_retransmitted_after_its_acknowledgement_starts_no_round() {
    let observed = only(&opened(
        50,
        vec![
            (0, data(1, 1000)),
            (ms(50), ack(1001)),
            (ms(51), data(1, 1000)),
            (ms(52), data(1001, 1000)),
            (ms(102), ack(2001)),
        ],
    ))
    .observed;
    assert_eq!((observed.bytes, observed.retransmits), (2000, 1));
}

#[test]
fn an_echoed_congestion_mark_ends_start_up() {
    let mut packets = rounds(&[10, 20, 40, 40]);
    let marked = packets.iter().position(|(us, tcp)| *us >= ms(160) && !tcp.from_sender).unwrap();
    packets[marked].1.ece = true;
    // RFC 3168, section 6.1.1: the SYN has both flags, its answer ECE alone.
    let mut agreed = packets.clone();
    (agreed[0].1.ece, agreed[0].1.cwr, agreed[1].1.ece) = (true, true, true);
    let exit = only(&agreed).observed.startup.exit.unwrap();
    assert_eq!((exit.reason, exit.time), (ExitReason::Mark, Nanos::from_micros(packets[marked].0 - ms(50))));
    // Without the handshake ECN may have been agreed on.
    assert_eq!(only(&agreed[3..]).observed.startup.exit.map(|exit| exit.reason), Some(ExitReason::Mark));
    // A flag is no mark if one of the two did not agree.
    for (syn, answer) in [((false, false), false), ((true, true), false), ((false, false), true)] {
        let mut refused = packets.clone();
        ((refused[0].1.ece, refused[0].1.cwr), refused[1].1.ece) = (syn, answer);
        let exit = only(&refused).observed.startup.exit;
        assert_ne!(exit.map(|exit| exit.reason), Some(ExitReason::Mark), "{syn:?} {answer}");
    }
}

#[test]
fn packets_that_the_capture_missed_cause_a_warning_and_no_loss() {
    let packets = opened(50, vec![(0, data(1, 1000)), (1, data(3001, 1000)), (ms(50), ack(4001))]);
    let capture = read_bytes(&pcap_of_tcp(&packets)).unwrap();
    assert_eq!(capture.warnings[0], "10.0.0.1:40000 > 10.0.0.2:80: the capture misses about 2 data packets");
    let observed = &capture.connections[0].observed;
    assert_eq!((observed.bytes, observed.lost_packets, observed.retransmits), (4000, 0, 0));
}

#[test]
fn a_data_packet_with_an_implausible_number_is_left_out() {
    let packets =
        opened(50, vec![(0, data(1, 1000)), (ms(50), ack(1001)), (ms(51), data(500_000_000, 1000))]);
    let capture = read_bytes(&pcap_of_tcp(&packets)).unwrap();
    assert!(
        capture.warnings[0].contains("one data packet with an implausible sequence number left out"),
        "{:?}",
        capture.warnings
    );
    assert_eq!(capture.connections[0].observed.bytes, 1000);
}

#[test]
fn curves_keep_their_peak_when_thinned() {
    // 5000 exchanges of one segment, with one of five in the middle
    let mut packets = Vec::new();
    let mut seq = 1;
    for step in 0..5000 {
        let at = step * 1_000;
        for extra in 0..if step == 2500 { 5 } else { 1 } {
            packets.push((at + extra, data(seq, 1000)));
            seq += 1000;
        }
        packets.push((at + 500, ack(seq)));
    }
    let series = only(&packets).observed.series;
    for curve in [&series.flight, &series.delivered, &series.rtt] {
        assert!(curve.len() <= Series::POINTS, "{}", curve.len());
        assert!(curve.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }
    assert_eq!(series.flight.iter().map(|point| point.1).fold(0.0, f64::max), 5000.0);
    assert_eq!(series.delivered.last().map(|point| point.1), Some(f64::from(seq - 1)));
}

/// Data that reaches the point of capture in another order than it was sent, with the sender's time stamps.
fn filled(stamp: u32, at_ms: u64) -> Vec<(u64, Tcp)> {
    opened(
        100,
        vec![
            (ms(200), data(1, 1000).stamps(10, 1)),
            (ms(201), data(2001, 1000).stamps(11, 1)),
            (ms(at_ms), data(1001, 1000).stamps(stamp, 1)),
            (ms(at_ms + 200), ack(3001).stamps(2, stamp)),
        ],
    )
}

#[test]
fn a_hole_filled_with_a_later_stamp_is_a_loss_before_the_point_of_capture() {
    let observed = only(&filled(120, 310)).observed;
    assert_eq!((observed.retransmits, observed.lost_packets, observed.packets), (1, 1, 4));
    assert_eq!(observed.series.retransmissions, [0.31]);
}

#[test]
fn a_hole_filled_with_an_earlier_stamp_is_reordering() {
    let observed = only(&filled(10, 310)).observed;
    assert_eq!((observed.retransmits, observed.lost_packets, observed.packets), (0, 0, 3));
    assert_eq!(observed.series.retransmissions, Vec::<f64>::new());
}

#[test]
fn the_series_contains_the_times_of_retransmissions() {
    // three retransmissions, two of them at the same time
    let packets = vec![
        (ms(100), data(1, 1000)),
        (ms(101), data(1001, 1000)),
        (ms(102), data(2001, 1000)),
        (ms(103), data(3001, 1000)),
        (ms(203), ack(1).sack(3001, 4001)),
        (ms(204), data(1, 1000)),
        (ms(204), data(1001, 1000)),
        (ms(230), data(2001, 1000)),
        (ms(330), ack(4001)),
    ];
    let observed = only(&opened(100, packets)).observed;
    assert_eq!(observed.retransmits, 3);
    assert_eq!(observed.series.retransmissions, [0.204, 0.23]);
}

#[test]
fn packets_after_a_clock_was_set_back_are_used_and_no_round_trip_contains_the_step() {
    let capture = read_bytes(&pcap_of_tcp(&opened(
        100,
        vec![
            (ms(1000), data(1, 1000)),
            (ms(1100), ack(1001)),
            (ms(1101), data(1001, 1000)),
            (ms(300), ack(2001)),
            (ms(301), data(2001, 1000)),
            (ms(401), ack(3001)),
        ],
    )))
    .unwrap();
    let observed = &capture.connections[0].observed;
    assert_eq!((observed.bytes, observed.delivered_bytes), (3000, 3000));
    assert_eq!(observed.rtt_span, Some((Nanos::from_millis(100), Nanos::from_millis(100))));
    // the handshake ends at 100 ms; 300 ms after it follows 1101 ms, so that the clock was set back by 801 ms at least
    assert_eq!(
        capture.warnings,
        [
            "the capture's clock was set once while connections ran (back by at least 801.0 ms at 1.201 s): later times are corrected, and no round trip or pause that contains a step is used"
        ]
    );
    assert_eq!(observed.completion, Some(Nanos::from_millis(1101 + 101)));
}

#[test]
fn packets_written_late_are_sorted() {
    let mut packets = opened(100, vec![(ms(200), data(1, 1000)), (ms(300), ack(1001))]);
    packets.swap(0, 1);
    packets.swap(2, 3);
    let connection = only(&packets);
    assert!(connection.observed.handshake);
    assert_eq!(
        (connection.observed.bytes, connection.observed.handshake_rtt),
        (1000, Some(Nanos::from_millis(100)))
    );
}

#[test]
fn an_hour_without_a_retransmission_is_no_round_trip() {
    let capture = read_bytes(&pcap_of_tcp(&opened(
        100,
        vec![
            (ms(200), data(1, 1000)),
            (ms(300), ack(1001)),
            (ms(301), data(1001, 1000)),
            (ms(3_600_000), ack(2001)),
        ],
    )))
    .unwrap();
    let observed = &capture.connections[0].observed;
    assert_eq!(observed.rtt_span.map(|(_, longest)| longest), Some(Nanos::from_millis(100)));
    assert!(capture.warnings[0].contains("a pause of 3599.699 s at 0.401 s"), "{:?}", capture.warnings);
}

#[test]
fn segments_that_are_all_offloaded_are_split_at_the_ethernet_mtu() {
    // no handshake; 40 bytes of headers leave 1460 of 1500: three and two full ones, and a rest
    let packets = [(0, data(1, 4380)), (10, data(4381, 2920)), (20, data(7301, 500)), (ms(100), ack(7801))];
    let observed = only(&packets).observed;
    assert_eq!((observed.mss, observed.packets), (1460, 6));
}

#[test]
fn the_three_limits_add_up_to_the_time_until_the_last_new_data() {
    // Windows of 2048 bytes. 50-51 ms: one segment in flight, room for another: congestion window. 51-100 ms: two in
    // flight, window full. The acknowledgement at 100 ms leaves nothing in flight and opens the window: application until
    // 130 ms. The one at 180 ms closes it: window full until it opens at 220 ms, when the last segment leaves.
    let small = |number: u32, window: u16| Tcp { window, ..ack(number) };
    let observed = only(&opened(
        50,
        vec![
            (0, data(1, 1000)),
            (ms(50), small(1001, 16)),
            (ms(50), data(1001, 1000)),
            (ms(51), data(2001, 1000)),
            (ms(100), small(3001, 16)),
            (ms(130), data(3001, 1000)),
            (ms(180), small(4001, 0)),
            (ms(220), small(4001, 16)),
            (ms(220), data(4001, 1000)),
            (ms(270), small(5001, 16)),
        ],
    ))
    .observed;
    assert_eq!(observed.window_limited, Nanos::from_millis(49 + 40));
    assert_eq!(observed.application_limited, Nanos::from_millis(30));
    // 0-51 ms and 130-180 ms: one segment in flight and room for another
    assert_eq!(observed.congestion_limited, Nanos::from_millis(51 + 50));
}

#[test]
fn a_receiver_that_closes_its_window_is_the_limit_though_nothing_is_in_flight() {
    let closed = |number: u32| Tcp { window: 0, ..ack(number) };
    let observed = only(&opened(
        50,
        vec![
            (0, data(1, 1000)),
            (ms(50), closed(1001)),
            (ms(90), ack(1001)),
            (ms(90), data(1001, 1000)),
            (ms(140), ack(2001)),
        ],
    ))
    .observed;
    assert_eq!(observed.window_limited, Nanos::from_millis(40));
    assert_eq!(observed.application_limited, Nanos::ZERO);
}

#[test]
fn a_round_trip_below_the_delay_of_a_host_is_captured_at_the_sender() {
    // SYN at 0, SYN-ACK at 30 us; the third packet leaves 25 us later, as the host needs to answer
    let at = |far: u64, near: u64| {
        let mut packets = handshake(far, 1000);
        packets[2].0 = far + near;
        let sent = far + near + 5;
        packets.extend([(sent, data(1, 1000)), (sent + far, ack(1001))]);
        only(&packets)
    };
    let short = at(30, 25);
    assert_eq!(short.vantage, Vantage::Sender);
    assert_eq!(short.observed.rtt_span, Some((Nanos::from_micros(30), Nanos::from_micros(30))));
    // 100 ms from the sender and 25 us from the receiver
    assert_eq!(at(25, 100_000).vantage, Vantage::Receiver);
    assert_eq!(at(30_000, 30_000).vantage, Vantage::Middle);
}

#[test]
fn the_first_round_trip_of_data_stands_against_that_of_the_handshake() {
    // SYN and SYN-ACK have 20 bytes of IP, 20 of TCP and 8 of options.
    let first = |packets: Vec<(u64, Tcp)>| only(&opened(50, packets)).first_round_trip();
    let one =
        first(vec![(0, data(1, 1000)), (0, data(1001, 1000)), (51_500, ack(1001)), (ms(53), ack(2001))]);
    let one = one.expect("the first packet is acknowledged by itself");
    assert!((one.longer_by - 1.5e-3).abs() < 1e-9, "{one:?}");
    assert_eq!((one.packets, one.syn_bytes), (1, 48.0));
    // One acknowledgement for two packets answers the second.
    let both = first(vec![(0, data(1, 1000)), (0, data(1001, 1000)), (ms(53), ack(2001))]);
    let both = both.expect("two packets are acknowledged");
    assert!((both.longer_by - 3e-3).abs() < 1e-9, "{both:?}");
    assert_eq!(both.packets, 2);
    // One for three packets may have waited for the third.
    let three = vec![(0, data(1, 1000)), (0, data(1001, 1000)), (0, data(2001, 1000)), (ms(53), ack(3001))];
    assert_eq!(first(three), None);
}

#[test]
fn an_acknowledgement_reports_so_many_segments() {
    let mut packets: Vec<_> = (0..8).map(|segment| (0, data(1 + 1000 * segment, 1000))).collect();
    // One segment, two, two, three.
    packets.extend([(ms(50), ack(1001)), (ms(51), ack(3001)), (ms(52), ack(5001)), (ms(53), ack(8001))]);
    assert_eq!(only(&opened(50, packets)).segments_per_ack(), Some((2, 0.25)));
}

#[test]
fn a_packet_that_is_overtaken_is_named_and_a_lost_one_is_not() {
    let warnings = |more: Option<(u64, Tcp)>| {
        let mut packets: Vec<_> = (0..3).map(|segment| (0, data(1 + 1000 * segment, 1000))).collect();
        packets.extend([(ms(50), ack(1001)), (ms(51), ack(1001).sack(2001, 3001))]);
        packets.extend(more.clone());
        packets.push((if more.is_some() { ms(102) } else { ms(52) }, ack(3001)));
        read_bytes(&pcap_of_tcp(&opened(50, packets))).unwrap().warnings
    };
    let overtaken =
        |warnings: &[String]| warnings.iter().any(|one| one.contains("1 of 3 data packets arrived"));
    let reordered = warnings(None);
    assert!(overtaken(&reordered), "{reordered:?}");
    let lost = warnings(Some((51_100, data(1001, 1000))));
    assert!(!lost.iter().any(|one| one.contains("arrived after packets")), "{lost:?}");
}

/// Twelve segments that leave 2 ms apart over a path of 50 ms, on which the fifth takes 5 ms longer: it arrives 3 ms after the
/// sixth and 1 ms after the seventh. Captured at the sender or at the receiver.
fn overtaken(at_receiver: bool) -> Vec<(u64, Tcp)> {
    const LATE: u64 = 4;
    let sent = |segment: u64| 100 + 2 * segment;
    let arrives = |segment: u64| sent(segment) + if segment == LATE { 30 } else { 25 };
    let mut order: Vec<u64> = (0..12).collect();
    order.sort_by_key(|&segment| arrives(segment));
    let offset = |segment: u64| 1 + 1000 * segment as u32;
    let (near, far) = if at_receiver { (25, 0) } else { (0, 25) };
    let mut packets = vec![];
    let mut here = vec![];
    for segment in order {
        here.push(segment);
        let edge = (0..12).find(|one| !here.contains(one)).unwrap_or(12);
        let highest = here.iter().max().unwrap() + 1;
        let stamp = sent(segment) as u32;
        // The time stamp of the segment that moved the left edge is echoed.
        let echo = if segment < edge { stamp } else { sent(edge - 1) as u32 };
        let mut answer = ack(offset(edge)).stamps(arrives(segment) as u32, echo);
        if highest > edge {
            answer = answer.sack(offset(edge + 1), offset(highest));
        }
        packets.push((ms(arrives(segment) + far) + 10, answer));
        let at = if at_receiver { arrives(segment) } else { sent(segment) };
        packets.push((ms(at), data(offset(segment), 1000).stamps(stamp, 1)));
    }
    packets.sort_by_key(|(at, _)| *at);
    let mut packets = opened(50, packets);
    if at_receiver {
        (packets[1].0, packets[2].0) = (packets[0].0 + 10, packets[0].0 + 10 + ms(2 * near));
    }
    packets
}

#[test]
fn an_overtaken_packet_counts_alike_at_the_sender_and_at_the_receiver() {
    let [sender, receiver] = [false, true].map(|at_receiver| only(&overtaken(at_receiver)));
    assert_eq!((sender.vantage, receiver.vantage), (Vantage::Sender, Vantage::Receiver));
    for connection in [sender, receiver] {
        let observed = connection.observed;
        assert_eq!((observed.retransmits, observed.lost_packets), (0, 0), "{:?}", connection.vantage);
        let seen = observed.reordering.expect("one packet was overtaken");
        let expected = Reordering { packets: 1, extent_packets: (2, 2), late_s: (0.003, 0.003) };
        assert_eq!(seen, expected, "{:?}", connection.vantage);
    }
}
