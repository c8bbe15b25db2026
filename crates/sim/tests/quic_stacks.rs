//! Rules in which stacks of QUIC differ, on the line of the module `quic`, by hand.

use crate::common::MS;
use crate::common::line::{Sent, at};
use crate::quic::{PLAIN, numbers, write};
use firstflight_contract::Nanos;
use firstflight_sim::sender::stack::{Datagrams, Discovery, Repairs, Threshold, Widening};

/// Times at which a segment leaves.
fn times_of(segment: u32, sent: &[Sent]) -> Vec<u64> {
    sent.iter().filter(|(_, it)| *it == segment).map(|(at, _)| *at).collect()
}

/// Packets that leave at a time, milliseconds.
fn count_at(time: u64, sent: &[Sent]) -> usize {
    sent.iter().filter(|(at, _)| *at == time).count()
}

#[test]
fn thresholds_count_the_packets_from_the_oldest_one_on() {
    let of = |threshold: Threshold| [1, 8, 9, 28].map(|sent| threshold.of(sent));
    assert_eq!(of(Threshold::Three), [3, 3, 3, 3]);
    assert_eq!(of(Threshold::HalfSent), [3, 4, 4, 14]);
    assert_eq!(of(Threshold::ThreeAndHalfSent), [3, 6, 7, 16]);
}

#[test]
fn a_threshold_of_half_the_packets_sent_runs_ahead_of_the_acks() {
    // Packet 2 is lost. Each ACK lets two packets leave, so that half of those sent from 2 on is always more than the newest one is ahead:
    // the time threshold of 112.5 ms passes.
    for (threshold, at_once) in
        [(Threshold::Three, 8), (Threshold::HalfSent, 18), (Threshold::ThreeAndHalfSent, 18)]
    {
        let (sender, sent) = write(29_850, Datagrams { threshold, ..PLAIN }).losing(&[(2, 0)]).run(1000);
        // Until the loss is known each ACK of the first flight lets two leave: those of 0, 1, 3 and 4, or all nine.
        assert_eq!((count_at(100, &sent), sender.stats().episodes), (at_once, 1), "{threshold:?}");
        // The halved window has room in the next round.
        assert_eq!(times_of(2, &sent), [0, 200], "{threshold:?}");
    }
}

#[test]
fn repairs_leave_before_new_data_or_behind_it_or_whatever_the_window() {
    // Packet 2 is lost, which the ACK of 5 shows. The ACKs of 0, 1, 3 and 4 let eight leave, so that 12 are in flight, and more than the halved
    // window until the next round.
    let sent = |repairs| write(29_850, Datagrams { repairs, ..PLAIN }).losing(&[(2, 0)]).sends(1000);
    let first = sent(Repairs::First);
    let of_next_round = first.iter().find(|(at, _)| *at > 100).expect("a second round");
    assert_eq!((count_at(100, &first), *of_next_round), (8, (200, 2)));
    assert_eq!(times_of(2, &sent(Repairs::AtOnce)), [0, 100]);
    assert_eq!(sent(Repairs::Last).last().map(|(_, segment)| *segment), Some(2));
}

#[test]
fn slow_start_adds_the_bytes_or_a_full_datagram_for_each_packet() {
    // 700 bytes without data and nine datagrams of 1200: their ACKs add 11500 bytes, or ten datagrams to the ten of the window.
    for (grows_by_packets, second_round) in [(false, 19), (true, 20)] {
        let datagrams = Datagrams { grows_by_packets, opening: &[700], ..PLAIN };
        let sent = write(99_500, datagrams).sends(150);
        assert_eq!((count_at(0, &sent), count_at(100, &sent)), (10, second_round));
    }
}

#[test]
fn a_datagram_ends_where_a_write_of_the_application_does() {
    // 1000 and 998 bytes, and 502 to the end of the first 2500. Then 998 and 998, and 504.
    let (sender, sent) = write(5000, Datagrams { write: Some(2500), ..PLAIN }).run(1000);
    assert_eq!(sent.len(), 6);
    assert_eq!(
        [1, 2, 3, 4, 5, 6].map(|it| sender.app().bytes_in(it, 0)),
        [1000, 1998, 2500, 3498, 4496, 5000]
    );
}

#[test]
fn a_window_of_datagrams_follows_their_size_when_the_probe_has_arrived() {
    // A probe of 1400 bytes and eight datagrams of 1200 leave. Their ACKs add 11000 bytes to 12000, or to ten datagrams of 1400.
    for (widens, second_round) in [(Widening::Never, 16), (Widening::Arrival, 17)] {
        let discovery = Discovery { sizes: &[1400], leads: true, widens, ..Discovery::NONE };
        let mut line = write(99_500, Datagrams { discovery, ..PLAIN });
        line.stack.largest_datagram = 1472;
        line.stack.handshake = true;
        let sent = line.sends(250);
        assert_eq!((count_at(100, &sent), count_at(200, &sent)), (9, second_round), "{widens:?}");
    }
}

#[test]
fn a_probe_waits_for_its_delay() {
    let discovery = Discovery { sizes: &[1400], delay: Nanos(30 * MS), ..Discovery::NONE };
    let mut line = write(9950, Datagrams { discovery, ..PLAIN });
    line.stack.largest_datagram = 1472;
    assert_eq!(line.sends(1000), at(&[(0, &numbers(0..10)), (30, &[10])]));
}

#[test]
fn an_ack_enlarges_the_window_before_the_losses_that_it_shows_or_not_at_all() {
    // Packet 0 is lost. Packet 1 is acknowledged at once, 2 and 3 together, which shows the loss: 13200 or 15600 bytes are halved.
    for (grows_first, datagrams) in [(false, 5.5), (true, 6.5)] {
        let mut line = write(99_500, Datagrams { grows_first, ..PLAIN }).losing(&[(0, 0)]);
        line.acks.every = 2;
        line.acks.timer = 25 * MS;
        let (sender, _) = line.run(150);
        assert_eq!(sender.info().ssthresh, Some(datagrams), "{grows_first}");
    }
}
