//! Path inference on synthetic captures with an exactly known bottleneck.

use crate::common::path::{PACKET, Path};
use crate::common::*;
use firstflight_capture::{AckPolicy, Estimate, Inferred, PathEstimate, Vantage, infer};

fn inferred(packets: &[(u64, Tcp)]) -> PathEstimate {
    infer(&read_bytes(&pcap_of_tcp(packets)).unwrap().connections)
}

#[track_caller]
fn known(value: &Inferred<Estimate>) -> &Estimate {
    let estimate = value.known().unwrap_or_else(|| panic!("{value:?}"));
    assert!(estimate.low <= estimate.value && estimate.value <= estimate.high, "{estimate:?}");
    estimate
}

/// Asserts that the value is within `tolerance`, a share, of the truth and that the interval contains the
/// truth.
#[track_caller]
fn assert_near(value: &Inferred<Estimate>, truth: f64, tolerance: f64) {
    let estimate = known(value);
    assert!((estimate.value - truth).abs() <= tolerance * truth, "{estimate:?}, true: {truth}");
    assert!(estimate.low <= truth * 1.001 && truth * 0.999 <= estimate.high, "{estimate:?}, true: {truth}");
}

#[test]
fn slow_start_into_a_full_buffer_shows_every_value() {
    // 8.32 Mbit/s: 1 ms per packet; the path holds 40 packets, the buffer 50
    let path = inferred(&Path::default().run());
    assert_near(&path.rate, 8_320_000.0, 0.005);
    assert_near(&path.rtt, 0.040, 0.01);
    assert_near(&path.buffer, 50.0, 0.02);
    assert_eq!(known(&path.loss).value, 0.0);
    assert_eq!(known(&path.initial_window).value, 10.0);
    assert_eq!((known(&path.mss).value, known(&path.packet).value), (1000.0, PACKET as f64));
    assert_eq!(path.receiver, Inferred::Known(AckPolicy::AckEveryPacket));
    assert_eq!(path.unknown_fields(), Vec::<&str>::new());
}

#[test]
fn paths_from_half_a_megabit_to_a_gigabit_are_inferred() {
    for (rate_bit_s, rtt_us, buffer) in [
        (520_000, 600_000, 30),
        (2_080_000, 20_000, 12),
        (104_000_000, 30_000, 400),
        (1_040_000_000, 10_000, 600),
    ] {
        let truth = Path { rate_bit_s, rtt_us, buffer, segments: 6000, ..Path::default() };
        let path = inferred(&truth.run());
        assert_near(&path.rate, rate_bit_s as f64, 0.02);
        assert_near(&path.rtt, rtt_us as f64 * 1e-6, 0.01);
        assert_near(&path.buffer, buffer as f64, 0.1);
    }
}

#[test]
fn delayed_acks_do_not_hide_the_path() {
    let path = inferred(&Path { ack_every: 2, ..Path::default() }.run());
    assert_near(&path.rate, 8_320_000.0, 0.005);
    assert_near(&path.rtt, 0.040, 0.03);
    assert_near(&path.buffer, 50.0, 0.05);
    assert_eq!(path.receiver, Inferred::Known(AckPolicy::DelayedAck));
}

#[test]
fn acknowledgements_that_jitter_by_two_packet_times_average_out() {
    let path = inferred(&Path { jitter_us: 2_000, ..Path::default() }.run());
    assert_near(&path.rate, 8_320_000.0, 0.02);
    assert_near(&path.buffer, 50.0, 0.1);
}

#[test]
fn acknowledgements_compressed_on_the_way_back_do_not_hide_the_rate() {
    // five or six at once every 5 ms, as after aggregation or a queue on the return path (Mogul 1992)
    let path = inferred(&Path { ack_slots_us: 5_300, segments: 6000, ..Path::default() }.run());
    assert_near(&path.rate, 8_320_000.0, 0.02);
    // ACKs wait 2.65 ms on average: the shortest round trip does not, but a full buffer appears that much
    // longer
    assert_near(&path.rtt, 0.040, 0.02);
    assert_near(&path.buffer, 50.0, 0.1);
}

#[test]
fn losses_at_a_short_queue_are_random_and_leave_the_buffer_unknown() {
    let truth = Path { lose_one_in: 100, buffer: 200, segments: 4000, ..Path::default() };
    let path = inferred(&truth.run());
    assert_near(&path.rate, 8_320_000.0, 0.02);
    let loss = known(&path.loss);
    assert!(loss.low <= 0.01 && 0.01 <= loss.high && loss.low > 0.0, "{loss:?}");
    let unknown = path.buffer.unknown().unwrap();
    assert!(unknown.low.is_some_and(|low| (5.0..200.0).contains(&low)), "{unknown:?}");
}

#[test]
fn a_few_random_losses_do_not_hide_a_full_buffer() {
    let path = inferred(&Path { lose_one_in: 600, segments: 6000, ..Path::default() }.run());
    assert_near(&path.buffer, 50.0, 0.05);
    let loss = known(&path.loss);
    assert!(loss.low > 0.0 && loss.low <= 1.0 / 600.0 && 1.0 / 600.0 <= loss.high, "{loss:?}");
}

#[test]
fn a_transfer_that_never_fills_the_path_gives_only_bounds() {
    // three packets per round: the later two queue behind the first, and nothing is lost
    let truth = Path { initial_window: 3, largest_window: 3, segments: 90, ..Path::default() };
    let path = inferred(&truth.run());
    assert_near(&path.rtt, 0.040, 0.03);
    assert!(path.rate.known().is_none(), "{:?}", path.rate);
    // three packets of 1040 bytes in 43 ms are 0.58 Mbit/s, the most that one round shows
    let low = path.rate.unknown().and_then(|unknown| unknown.low).unwrap();
    assert!((0.4e6..0.8e6).contains(&low), "{low}");
    assert!(path.unknown_fields().contains(&"buffer_packets"));
}

#[test]
fn an_application_that_pauses_does_not_lower_the_rate() {
    // 20 segments, then 200 ms of silence, fifty times: 0.7 Mbit/s on average
    let truth = Path { writes: Some((20, 200_000)), segments: 1000, ..Path::default() };
    let path = inferred(&truth.run());
    assert_near(&path.rate, 8_320_000.0, 0.02);
    assert!(path.buffer.unknown().is_some_and(|unknown| unknown.low >= Some(5.0)), "{:?}", path.buffer);
}

#[test]
fn an_application_with_less_than_a_window_leaves_the_initial_window_unknown() {
    let path = inferred(&Path { segments: 4, ..Path::default() }.run());
    assert_eq!(path.initial_window.unknown().unwrap().low, Some(4.0));
    assert!(path.unknown_fields().contains(&"initial_window_packets"));
}

#[test]
fn with_a_standing_queue_and_no_handshake_only_an_upper_bound_of_the_round_trip_is_known() {
    // a window of 60 on a path of 41 keeps 19 waiting; the capture begins after 500 packets
    let truth = Path { largest_window: 60, initial_window: 60, segments: 2000, ..Path::default() };
    let path = inferred(&truth.run()[1000..]);
    let unknown = path.rtt.unknown().unwrap();
    assert!(unknown.high.is_some_and(|high| (0.040..0.065).contains(&high)), "{unknown:?}");
    // every packet queues equally long, so the shortest round trip includes the queue
    assert!(path.rate.known().is_none() || (known(&path.rate).value / 8_320_000.0 - 1.0).abs() < 0.02);
}

#[test]
fn the_propagation_delay_is_never_negative() {
    // 8 ms per packet at 1.04 Mbit/s and 10 us of propagation: the estimate depends on the jitter
    let truth = Path { rate_bit_s: 1_040_000, rtt_us: 10, jitter_us: 500, segments: 400, ..Path::default() };
    let rtt = inferred(&truth.run()).rtt;
    let rtt = known(&rtt);
    assert!(rtt.low >= 0.0 && rtt.value < 0.001, "{rtt:?}");
}

#[test]
fn connections_of_the_busiest_pair_of_hosts_are_pooled() {
    let first = Path { segments: 300, ..Path::default() }.run();
    let second: Vec<_> = Path { segments: 300, ..Path::default() }
        .run()
        .into_iter()
        .map(|(us, tcp)| {
            (
                us + 10_000_000,
                Tcp {
                    seq: tcp.seq + 9_000_000 * u32::from(tcp.from_sender),
                    ack: tcp.ack.map(|ack| ack + 9_000_000 * u32::from(!tcp.from_sender)),
                    ..tcp
                },
            )
        })
        .map(|(us, tcp)| (us, Tcp { options: tcp.options.iter().map(moved).collect(), ..tcp }))
        .collect();
    let mut packets: Vec<_> = [first, second].concat().iter().map(|(us, tcp)| (*us, tcp.v4())).collect();
    // the same exchange between two other hosts, shorter
    packets.extend(
        Path { segments: 20, ..Path::default() }.run().iter().map(|(us, tcp)| (us + 20_000_000, tcp.v6())),
    );
    let capture = read_bytes(&pcap(&packets)).unwrap();
    assert_eq!(capture.connections.len(), 3);
    let path = infer(&capture.connections);
    assert_eq!(
        path.notes,
        ["only the connections from 10.0.0.1 to 10.0.0.2 are used; 1 are between other hosts"]
    );
    assert_near(&path.rate, 8_320_000.0, 0.01);
    assert_near(&path.buffer, 50.0, 0.02);
}

/// SACK blocks of a connection whose data begins 9 000 000 bytes later.
fn moved(option: &etherparse::TcpOptionElement) -> etherparse::TcpOptionElement {
    use etherparse::TcpOptionElement::SelectiveAcknowledgement;
    match option {
        SelectiveAcknowledgement((from, to), more) => {
            SelectiveAcknowledgement((from + 9_000_000, to + 9_000_000), *more)
        }
        other => other.clone(),
    }
}

/// Packets of a capture taken this many microseconds further from the sender.
fn moved_away(packets: Vec<(u64, Tcp)>, us: i64) -> Vec<(u64, Tcp)> {
    let moved = |(at, tcp): (u64, Tcp)| {
        let by = if tcp.from_sender { us } else { -us };
        ((at + 1_000_000).checked_add_signed(by).unwrap(), tcp)
    };
    let mut packets: Vec<_> = packets.into_iter().map(moved).collect();
    packets.sort_by_key(|(us, _)| *us);
    packets
}

/// Time stamps add 12 bytes to a packet: 8.416 Mbit/s is 1 ms per packet.
fn stamped() -> Path {
    Path { stamps: true, rate_bit_s: 8_416_000, ..Path::default() }
}

#[test]
fn time_stamps_show_the_path_in_a_capture_at_the_receiver() {
    let path = inferred(&Path { at_receiver: true, ..stamped() }.run());
    assert_eq!(
        path.notes,
        [
            "1 of 1 connections were captured away from the sender: the sender's times come from its time stamps, with a resolution of 1 ms"
        ]
    );
    assert_near(&path.rate, 8_416_000.0, 0.005);
    assert_near(&path.rtt, 0.040, 0.01);
    assert_near(&path.buffer, 50.0, 0.04);
    assert_eq!(known(&path.loss).value, 0.0);
    assert_eq!(known(&path.initial_window).value, 10.0);
    assert_eq!(path.unknown_fields(), Vec::<&str>::new());
}

#[test]
fn a_capture_in_the_middle_shows_the_path_on_either_side_of_the_bottleneck() {
    let before = moved_away(stamped().run(), 8_000);
    let behind = moved_away(Path { at_receiver: true, ..stamped() }.run(), -8_000);
    for packets in [before, behind] {
        let capture = read_bytes(&pcap_of_tcp(&packets)).unwrap();
        assert_eq!(capture.connections[0].vantage, Vantage::Middle);
        let path = infer(&capture.connections);
        assert_near(&path.rate, 8_416_000.0, 0.005);
        assert_near(&path.rtt, 0.040, 0.01);
        assert_near(&path.buffer, 50.0, 0.04);
        assert_eq!(known(&path.initial_window).value, 10.0);
    }
}

#[test]
fn a_capture_at_the_receiver_without_time_stamps_leaves_values_unknown() {
    let path = inferred(&Path { at_receiver: true, ..Path::default() }.run());
    assert!(path.notes[0].contains("queueing ahead of the capture is invisible"), "{:?}", path.notes);
    assert_eq!(path.unknown_fields(), ["rate_bit_s", "buffer_packets", "loss", "initial_window_packets"]);
    // the SYN-ACK leaves at once, the opener's ACK arrives a round trip later
    assert_near(&path.rtt, 0.040, 0.01);
    // the delivery rate of the best round trip is a lower bound
    let low = path.rate.unknown().and_then(|unknown| unknown.low).unwrap();
    assert!((0.95 * 8_320_000.0..=8_400_000.0).contains(&low), "{low}");
}

#[test]
fn random_loss_is_inferred_at_the_receiver_too() {
    let truth = Path { at_receiver: true, lose_one_in: 100, buffer: 200, segments: 4000, ..stamped() };
    let path = inferred(&truth.run());
    assert_near(&path.rate, 8_416_000.0, 0.02);
    let loss = known(&path.loss);
    assert!(loss.low <= 0.01 && 0.01 <= loss.high && loss.low > 0.0, "{loss:?}");
    assert!(path.buffer.known().is_none(), "{:?}", path.buffer);
}

/// The same exchange on another port, later.
fn on_port(packets: Vec<(u64, Tcp)>, port: u16, later_us: u64) -> Vec<(u64, Vec<u8>)> {
    let on_port = |(us, tcp): (u64, Tcp)| {
        let mut bytes = tcp.v4();
        let at = if tcp.from_sender { 20 } else { 22 };
        bytes[at..at + 2].copy_from_slice(&port.to_be_bytes());
        (us + later_us, bytes)
    };
    packets.into_iter().map(on_port).collect()
}

#[test]
fn connections_that_agree_narrow_the_interval() {
    let path = || Path { jitter_us: 1_000, segments: 400, ..Path::default() };
    let width = |packets: &[(u64, Vec<u8>)]| {
        let path = infer(&read_bytes(&pcap(packets)).unwrap().connections);
        assert_near(&path.rate, 8_320_000.0, 0.02);
        assert_eq!(path.notes, Vec::<String>::new());
        let rate = known(&path.rate);
        rate.high - rate.low
    };
    let one = on_port(path().run(), 4000, 0);
    let four: Vec<_> =
        (0..4).flat_map(|n| on_port(path().run(), 4000 + n, u64::from(n) * 5_000_000)).collect();
    assert!(width(&four) <= width(&one));
}

#[test]
fn connections_that_contradict_each_other_widen_the_interval_with_a_note() {
    // the path lost half its rate and gained a detour between the two
    let first = on_port(Path::default().run(), 4000, 0);
    let then = Path { rate_bit_s: 4_160_000, rtt_us: 60_000, ..Path::default() };
    let second = on_port(then.run(), 4001, 60_000_000);
    let path = infer(&read_bytes(&pcap(&[first, second].concat())).unwrap().connections);
    let rate = known(&path.rate);
    assert!(rate.low <= 4_170_000.0 && rate.high >= 8_310_000.0, "{rate:?}");
    let rtt = known(&path.rtt);
    assert!(rtt.low <= 0.040 && rtt.high >= 0.0599, "{rtt:?}");
    assert!(rate.how.contains("they differ"), "{rate:?}");
    assert!(path.notes.iter().any(|note| note.contains("do not agree on the round-trip time")));
}

#[test]
fn a_coarse_clock_gives_wide_intervals_or_bounds() {
    let coarse = |packets: Vec<(u64, Tcp)>| -> Vec<(u64, Tcp)> {
        packets.into_iter().map(|(us, tcp)| (us / 20_000 * 20_000, tcp)).collect()
    };
    let path = inferred(&coarse(Path { segments: 200, ..Path::default() }.run()));
    match &path.rate {
        Inferred::Known(rate) => assert!(rate.low <= 8_320_000.0 && 8_320_000.0 <= rate.high, "{rate:?}"),
        Inferred::Unknown(unknown) => assert!(unknown.low <= Some(8_320_000.0), "{unknown:?}"),
    }
    let rtt = known(&path.rtt);
    assert!(rtt.low <= 0.040 && 0.040 <= rtt.high, "{rtt:?}");
}

#[test]
fn a_capture_without_acknowledgements_has_a_note() {
    let packets: Vec<_> = Path::default().run().into_iter().filter(|(_, tcp)| tcp.from_sender).collect();
    let path = inferred(&packets);
    assert!(path.notes[0].contains("only the direction of the data"), "{:?}", path.notes);
    assert!(
        path.unknown_fields().contains(&"rate_bit_s") && path.unknown_fields().contains(&"buffer_packets")
    );
    // the opener's ACK follows its SYN by a round trip and the transmission time of two SYNs of 48 bytes
    assert_near(&path.rtt, 0.040, 0.01);
}

#[test]
fn a_round_trip_of_sixty_microseconds_is_inferred_at_the_sender() {
    // 1.04 Gbit/s: 8 us per packet; the sender's host answers within 10 us, more than a tenth of the round trip
    let truth =
        Path { rate_bit_s: 1_040_000_000, rtt_us: 60, buffer: 200, segments: 2000, ..Path::default() };
    let packets = truth.run();
    let capture = read_bytes(&pcap_of_tcp(&packets)).unwrap();
    assert_eq!(capture.connections[0].vantage, Vantage::Sender);
    let path = infer(&capture.connections);
    let rtt = known(&path.rtt);
    // the capture's clock has steps of a microsecond
    assert!((rtt.value - 60e-6).abs() <= 2e-6, "{rtt:?}");
    assert!(rtt.low <= 60e-6 && 60e-6 <= rtt.high, "{rtt:?}");
    assert_near(&path.rate, 1_040_000_000.0, 0.05);
}
