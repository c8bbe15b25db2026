//! The sender of QUIC on a line of 100 ms without serialisation time, by hand. Packets have the number of their segment until one
//! leaves again.

use crate::common::MS;
use crate::common::line::{Line, at, chain};
use crate::common::stacks;
use firstflight_sim::sender::app::AppConfig;
use firstflight_sim::sender::stack::{
    Datagrams, Discovery, Fill, LimitedRule, Pacing, Reduction, Repairs, Rules, Stack, Threshold,
};

/// Datagrams of 1200 bytes with 996 to 1000 of data, which keep their size: a frame at the beginning has no offset, and from 16384 on one
/// of four bytes. Up to 200 of them hold 995 bytes each in the mean, and one less does not.
pub(crate) const PLAIN: Datagrams = Datagrams {
    first: 1200,
    overhead: 200,
    opening: &[],
    handshake: 0,
    discovery: Discovery::NONE,
    fill: Fill::Whole,
    write: None,
    grows_by_packets: false,
    grows_first: false,
    threshold: Threshold::Three,
    repairs: Repairs::First,
    reduction: Reduction::AtOnce,
    least_window: 2,
};

/// A write over a stack with these datagrams, without pacing and without a handshake.
pub(crate) fn write(bytes: u64, datagrams: Datagrams) -> Line {
    let rules = Rules {
        datagrams: Some(datagrams),
        pacing: Pacing::Schemes,
        limited: LimitedRule::LastAttempt,
        ..stacks::QUINN
    };
    let stack = Stack { mss: datagrams.first, rules, ..stacks::quic() };
    let app = AppConfig { bytes: Some(bytes), ..AppConfig::default() };
    Line { stack, app, ..Line::default() }
}

pub(crate) fn numbers(range: std::ops::Range<u32>) -> Vec<u32> {
    range.collect()
}

#[test]
fn the_window_is_filled_to_its_edge_below_or_across_it() {
    // A window of 12000 bytes. Ten datagrams of 1200 fill it; behind one of 700 without data, nine leave 500 bytes free.
    for (fill, opening, sent) in [
        (Fill::Whole, &[][..], 10),
        (Fill::BelowTheEdge, &[], 9),
        (Fill::AcrossTheEdge, &[], 10),
        (Fill::Whole, &[700], 10),
        (Fill::BelowTheEdge, &[700], 10),
        (Fill::AcrossTheEdge, &[700], 11),
    ] {
        let first_flight = write(99_500, Datagrams { fill, opening, ..PLAIN }).sends(50).len();
        assert_eq!(first_flight, sent, "{fill:?} {opening:?}");
    }
}

#[test]
fn a_new_datagram_is_cut_to_what_is_left_of_the_window() {
    // Behind 700 bytes without data 11300 are left: nine datagrams of 1200, and one of 500. A least size of 501 keeps it back.
    for (least, sent, last) in [(500, 11, 500), (501, 10, 1200)] {
        let datagrams = Datagrams { fill: Fill::Cut(least), opening: &[700], ..PLAIN };
        let (sender, sends) = write(99_500, datagrams).run(50);
        assert_eq!(sends.len(), sent, "{least}");
        let last_data = sender.app().segmentation().as_stream().expect("a stream").bytes(sent as u32 - 1).1;
        // The offset of the last frame takes two bytes.
        assert_eq!(last_data, last - 202, "{least}");
    }
}

#[test]
fn acks_of_the_handshake_enlarge_the_window_before_the_first_data() {
    // 12000 and 2500 bytes: twelve whole datagrams.
    let sent = write(99_500, Datagrams { handshake: 2500, ..PLAIN }).sends(50).len();
    assert_eq!(sent, 12);
}

#[test]
fn a_proportional_reduction_lets_the_window_down_while_packets_arrive() {
    // Ten packets, of which the first is lost; Reno halves the window when packet 3 has arrived. At once: nothing leaves before less than the half is in
    // flight. Proportional: each ACK behind it allows about half of what it delivers.
    let run = |reduction| write(99_500, Datagrams { reduction, ..PLAIN }).losing(&[(0, 0)]).sends(150);
    let sent = |reduction| run(reduction).iter().filter(|(at, _)| *at == 100).count();
    let (at_once, proportional) = (sent(Reduction::AtOnce), sent(Reduction::Proportional(0)));
    assert!(proportional > at_once, "{at_once} {proportional}");
}

#[test]
fn quinn_sends_tickets_a_probe_and_eight_datagrams() {
    // 296 + 1326 + 8 * 1200 bytes are 11222, and one more would be 12422: less than 12000 must be in flight. The probe arrives, and
    // the next one leaves behind the data that its ACK releases.
    let mut line = write(29_850, PLAIN);
    line.stack = Stack { mss: 1200, rules: stacks::QUINN, handshake: true, ..line.stack };
    let sent = line.sends(150);
    assert_eq!(sent[1..], at(&[(100, &numbers(0..10))]));
}

#[test]
fn a_packet_is_lost_when_the_third_one_behind_it_arrives() {
    // ACKs come at 100 ms, in the order of the packets: that of packet 5 declares 2 lost.
    let (sender, sent) = write(9950, PLAIN).losing(&[(2, 0)]).run(1000);
    assert_eq!(sent, at(&[(0, &numbers(0..10)), (100, &[2])]));
    assert_eq!((sender.stats().retransmits, sender.stats().timeouts, sender.stats().episodes), (1, 0, 1));
}

#[test]
fn a_packet_is_lost_nine_eighths_of_a_round_trip_after_it_left() {
    // Only packet 9 is behind 8: the time threshold of 112.5 ms passes.
    let sent = write(9950, PLAIN).losing(&[(8, 0)]).sends(1000);
    assert_eq!(sent, at(&[(0, &numbers(0..10)), (112, &[8])]));
}

#[test]
fn a_lost_tail_is_sent_again_after_a_probe_timeout() {
    // Nine samples of 100 ms: the deviation falls from 50 to 50 * 0.75^8 = 5.0 ms. 100 + 4 * 5.0 + 25 ms after the last departure.
    let (sender, sent) = write(9950, PLAIN).losing(&[(9, 0)]).run(1000);
    assert_eq!(sent, at(&[(0, &numbers(0..10)), (145, &[9])]));
    // The ACK of the second packet 9 declares the first one lost only if it is three behind: it is not, and its time has passed.
    assert_eq!((sender.stats().timeouts, sender.stats().episodes), (0, 1));
}

#[test]
fn probe_timeouts_double_and_a_long_outage_is_persistent_congestion() {
    // All of the first flight is lost, and the first two probes: no sample, so that the timeout is 1 s + 25 ms, then twice that.
    let lost: Vec<_> = (0..10).map(|segment| (segment, 0)).chain([(0, 1), (1, 1)]).collect();
    let sent = write(9950, PLAIN).losing(&lost).sends(3300);
    let first = at(&[(0, &numbers(0..10)), (1025, &[0, 1])]);
    assert_eq!(sent[..12], first);
    // 1025 + 2050: two packets again.
    assert_eq!(sent[12].0, 3075);
}

#[test]
fn a_probe_of_the_path_mtu_enlarges_the_datagrams() {
    let discovery = Discovery { sizes: &[1400, 2000], leads: false, ..Discovery::NONE };
    let mut line = write(29_850, Datagrams { discovery, ..PLAIN });
    line.stack.largest_datagram = 1472;
    // Ten datagrams and a probe, packet 10, which the window does not hold back. Its ACK is the last of eleven, so that the ten ACKs
    // before it release 20 datagrams: all the data. No probe of 2000 bytes leaves, which the network does not carry.
    let (sender, sent) = line.run(1000);
    assert_eq!(sent, at(&[(0, &numbers(0..11)), (100, &numbers(11..31))]));
    assert_eq!(sender.app().bytes_in(31, 0), 29_850);
    // A longer write goes on with 1196 bytes of data in each. The 30 hold 1000 + 16 * 998 + 13 * 996 = 29916; the other 11584 take ten.
    let (sender, sent) =
        Line { app: AppConfig { bytes: Some(41_500), ..AppConfig::default() }, ..line }.run(1000);
    assert_eq!(sent.len(), 1 + 30 + 10);
    assert_eq!(sender.app().bytes_in(41, 0), 41_500);
}

#[test]
fn a_lost_probe_is_no_congestion_and_is_sent_again() {
    let discovery = Discovery { sizes: &[1400], leads: true, ..Discovery::NONE };
    let mut line = write(39_800, Datagrams { discovery, ..PLAIN }).losing(&[(0, 0)]);
    line.stack.largest_datagram = 1472;
    line.stack.handshake = true;
    let (sender, sent) = line.run(1000);
    assert_eq!(sender.stats().episodes, 0);
    // Beside the probe of 1400 bytes eight datagrams leave, then 18 and 14. A small packet takes the place of the probe.
    assert_eq!(sent.iter().filter(|(_, segment)| *segment == 0).count(), 2);
    assert_eq!(sender.finished_at() / MS, 400);
}

#[test]
fn lost_tickets_are_congestion() {
    // Beside 300 bytes of tickets nine datagrams fit. The first ACK releases the tenth, the third declares the tickets lost.
    let (sender, sent) = write(9950, Datagrams { opening: &[300], ..PLAIN }).losing(&[(0, 0)]).run(1000);
    assert_eq!((sender.stats().episodes, sent[10..].to_vec()), (1, at(&[(100, &[10, 0])])));
}

#[test]
fn a_send_buffer_limits_what_is_in_flight_whatever_the_window() {
    let mut line = write(99_500, PLAIN);
    line.stack.initial_window = 100;
    line.stack.send_buffer = Some(16_384);
    // 16 datagrams hold 15970 bytes at most, and 17 hold 16932 at least: seven rounds.
    let sent = line.sends(1000);
    let flights: Vec<usize> =
        (0..7).map(|round| sent.iter().filter(|(at, _)| *at == 100 * round).count()).collect();
    assert_eq!(flights, [16, 16, 16, 16, 16, 16, 4]);
}

#[test]
fn the_schemes_count_bytes_of_datagrams() {
    // Slow start: ten datagrams of 1200 bytes and a short one of 700 are acknowledged while the window ends the attempts to send.
    let mut line = write(30_500, PLAIN);
    line.chain = chain(&["slow-start", "reno"]);
    let (sender, _) = line.run(1000);
    // Of 31 datagrams the window ended all attempts to send until the last ones left: 12000 + 10 * 1200, then the second flight.
    let cwnd = sender.info().cwnd * 1200.0;
    assert!((24_000.0..=48_700.0).contains(&cwnd), "{cwnd}");
    assert_eq!(sender.stats().first_flight, 10);
}
