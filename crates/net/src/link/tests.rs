//! Tests of links.

use super::*;
use crate::lanes::LanesConfig;
use crate::queue::drop_tail::{DropTailBytes, DropTailPackets};
use crate::rate_trace::RateTrace;
use crate::token_bucket::BucketConfig;

const MS: u64 = 1_000_000;

/// Link of 8 Mbit/s and 10 ms of propagation delay: a packet of 1000 bytes takes 1 ms.
fn link(queue: Queue) -> Link {
    Link::new(Rate(8_000_000), Nanos::from_millis(10), queue)
}

#[test]
fn packets_leave_one_after_the_other_and_then_propagate() {
    let mut link = link(Queue::Unlimited);
    assert_eq!(link.offer(0, 1000, false), Passage::Arrives(11 * MS));
    assert_eq!(link.offer(0, 1000, false), Passage::Arrives(12 * MS));
    assert_eq!(link.offer(5 * MS, 500, false), Passage::Arrives(15 * MS + MS / 2));
}

#[test]
fn the_longest_queue_need_not_be_the_longest_wait() {
    // At 0 a packet begins, and two wait: one of 9000 bytes 1 ms, and one of 100 bytes 10 ms, behind it. At 20 ms a packet
    // begins, and five of 100 bytes wait, none for longer than 1.4 ms.
    for queue in [Queue::Packets(DropTailPackets { limit: 9 }), Queue::Bytes(DropTailBytes { limit: 20_000 })]
    {
        let mut link = link(queue);
        for size in [1000, 9000, 100] {
            link.offer(0, size, false);
        }
        assert_eq!(link.stats_until(MS / 2).max_queue, 2);
        for size in [1000, 100, 100, 100, 100, 100] {
            link.offer(20 * MS, size, false);
        }
        let stats = link.stats_until(30 * MS);
        assert_eq!(stats.max_queue, 5);
        // 1 + 10 ms, and 1 + 1.1 + 1.2 + 1.3 + 1.4 ms.
        assert_eq!(stats.waiting_ns, (17 * MS).into());
    }
}

#[test]
fn packets_whose_transmission_has_begun_are_not_in_the_longest_queue() {
    // Packet n comes at 0.9 n ms and begins at n ms. With packet 10 the one before it begins, which still counts as waiting;
    // with packet 20 the two before it.
    let mut link = link(Queue::Packets(DropTailPackets { limit: 99 }));
    let longest: Vec<u32> = (0..30)
        .map(|n| {
            link.offer(n * 9 * MS / 10, 1000, false);
            link.stats_until(n * 9 * MS / 10).max_queue
        })
        .collect();
    assert_eq!([0, 1, 9, 10, 19, 20].map(|n: usize| longest[n]), [0, 1, 1, 2, 2, 3]);
}

#[test]
fn a_buffer_of_two_holds_two_packets_besides_the_one_in_transmission() {
    let mut link = link(Queue::Packets(DropTailPackets { limit: 2 }));
    let at_once: Vec<_> = (0..4).map(|_| link.offer(0, 1000, false)).collect();
    use Passage::{Arrives, Dropped};
    assert_eq!(at_once, [Arrives(11 * MS), Arrives(12 * MS), Arrives(13 * MS), Dropped]);
    // At 1 ms the first waiting packet enters service; after that one place is free.
    assert_eq!(link.offer(MS, 1000, false), Dropped);
    assert_eq!(link.offer(MS + 1, 1000, false), Arrives(14 * MS));
    assert_eq!(link.offer(MS + 1, 1000, false), Dropped);
    // Waits: 1 ms + 2 ms, and 2 ms for the packet that came just after 1 ms.
    let stats = link.stats_until(100 * MS);
    assert_eq!(
        (stats.packets, stats.drops, stats.waiting_ns, stats.max_queue),
        (4, 3, (5 * MS - 1).into(), 2)
    );
}

#[test]
fn a_buffer_in_bytes_counts_the_bytes_waiting() {
    let mut link = link(Queue::Bytes(DropTailBytes { limit: 1500 }));
    let at_once: Vec<_> = [1000, 1000, 400, 200, 100].map(|size| link.offer(0, size, false)).to_vec();
    // Waiting: 1000, then 1400 bytes; 1400 + 200 > 1500 is dropped, 1400 + 100 fits.
    let dropped: Vec<bool> = at_once.iter().map(|p| *p == Passage::Dropped).collect();
    assert_eq!(dropped, [false, false, false, true, false]);
}

#[test]
fn transmissions_not_started_by_the_end_of_the_run_are_not_counted() {
    let mut link = link(Queue::Packets(DropTailPackets { limit: 10 }));
    for _ in 0..4 {
        link.offer(0, 1000, false);
    }
    // By 1.5 ms two transmissions have begun. The second packet has waited 1 ms, the other two 1.5 ms
    // each.
    let stats = link.stats_until(3 * MS / 2);
    assert_eq!((stats.packets, stats.bytes, stats.waiting_ns), (2, 2000, (4 * MS).into()));
    // The second transmission ends at 2 ms.
    assert_eq!(stats.busy_until, 2 * MS);
    assert_eq!(stats.waiting, 2);
}

#[test]
fn a_shaped_burst_crosses_at_the_rate_of_the_line_and_the_rest_at_that_of_the_shaper() {
    // 4 Mbit/s: a packet of 1000 bytes every 2 ms, after a burst of 2500 bytes. The line takes 1 ms for each.
    let config = BucketConfig { rate: Rate(4_000_000), burst: 2500 };
    let queue = Queue::Packets(DropTailPackets { limit: 3 });
    let mut link = link(queue).with_shaper(Shaper::new(config));
    let at_once: Vec<_> = (0..6).map(|_| link.offer(0, 1000, false)).collect();
    use Passage::{Arrives, Dropped};
    // Tokens before and after the packets that leave at 0, 1, 2 and 3 ms: 2500 and 1500, 2000 and 1000, 1500 and 500,
    // 1000 and 0. Three of them wait, so that the other two find no room.
    assert_eq!(
        at_once,
        [Arrives(11 * MS), Arrives(12 * MS), Arrives(13 * MS), Arrives(14 * MS), Dropped, Dropped]
    );
    // At 3 ms the bucket is empty: the next packet leaves at 5 ms. One of 2501 bytes never could.
    assert_eq!(link.offer(4 * MS, 1000, false), Arrives(16 * MS));
    assert_eq!(link.offer(4 * MS, 2501, false), Dropped);
    // After a long pause there is a burst again.
    assert_eq!(link.offer(100 * MS, 1000, false), Arrives(111 * MS));
    let stats = link.stats_until(200 * MS);
    // Waits of 1, 2 and 3 ms, and 1 ms for tokens alone.
    assert_eq!((stats.packets, stats.drops, stats.waiting_ns), (6, 3, (7 * MS).into()));
}

#[test]
fn packets_that_wait_for_tokens_alone_fill_the_buffer() {
    // The line is much faster than the shaper: it is free while packets wait.
    let config = BucketConfig { rate: Rate(8_000), burst: 1000 };
    let queue = Queue::Bytes(DropTailBytes { limit: 1500 });
    let mut link = link(queue).with_shaper(Shaper::new(config));
    let s = 1000 * MS;
    use Passage::{Arrives, Dropped};
    assert_eq!(link.offer(0, 1000, false), Arrives(11 * MS));
    assert_eq!(link.offer(s / 2, 1000, false), Arrives(s + 11 * MS));
    assert_eq!(link.offer(s / 2, 501, false), Dropped);
    assert_eq!(link.offer(s / 2, 500, false), Arrives(s + s / 2 + 10 * MS + MS / 2));
    assert_eq!((link.waiting(s), link.waiting(s + 1), link.waiting(2 * s)), (2, 1, 0));
}

#[test]
fn packets_lost_on_the_wire_still_occupy_the_link() {
    let mut link = link(Queue::Unlimited).with_loss(0.1, 1.0, Stream::named(1, "loss"));
    for i in 0..10_000 {
        link.offer(i * MS, 1000, false);
    }
    let stats = link.stats_until(u64::MAX);
    assert_eq!(stats.packets, 10_000);
    // Five standard deviations: 5 * sqrt(1e4 * 0.09) = 150.
    assert!(stats.wire_losses.abs_diff(1000) < 150, "{}", stats.wire_losses);
}

#[test]
fn a_long_backlog_keeps_its_order_while_the_ring_grows() {
    let mut link = link(Queue::Packets(DropTailPackets { limit: 1000 }));
    for i in 0..1000 {
        assert_eq!(link.offer(0, 1000, false), Passage::Arrives((11 + i) * MS));
    }
    // Packet 0 is in service and 999 wait. At 500 ms the packets whose service began earlier are gone.
    assert_eq!(link.waiting(0), 999);
    assert_eq!(link.waiting(500 * MS), 500);
}

/// The parts of a link, by number, each so that its effect shows.
fn add(link: Link, part: usize) -> Link {
    match part {
        0 => link.with_loss(0.25, 1.0, Stream::named(1, "loss")),
        // 4 Mbit/s instead of 8: a packet of 1000 bytes takes 2 ms.
        1 => link.with_trace(TracePlayer::new(
            RateTrace::rates(vec![(0, 4_000_000), (1000 * MS, 4_000_000)]).into(),
        )),
        // A token for each byte, 2 Mbit/s after the first packet: a packet each 4 ms.
        2 => link.with_shaper(Shaper::new(BucketConfig { rate: Rate(2_000_000), burst: 1000 })),
        3 => {
            let config = LanesConfig { share: 0.25, burst: 1.0, delay: Nanos::from_millis(100) };
            link.with_lanes(Lanes::new(config, Stream::named(1, "lanes")))
        }
        _ => link.with_readings(vec![30 * MS]),
    }
}

/// Every order of the numbers below `n`.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let Some(last) = n.checked_sub(1) else { return vec![vec![]] };
    let inserted =
        |order: Vec<usize>| (0..=order.len()).map(move |at| [&order[..at], &[last], &order[at..]].concat());
    orders(last).into_iter().flat_map(inserted).collect()
}

#[test]
fn parts_of_a_link_may_be_added_in_any_order() {
    let streams = [Stream::named(1, "loss"), Stream::named(1, "lanes")];
    let [mut lost, mut slow] = streams.map(|stream| TwoState::new(0.25, 1.0, stream));
    // The packets wait for tokens: packet i leaves at 4 i ms, takes 2 ms on the line, 10 ms of propagation, and 100 ms if it is slow.
    let expected: Vec<_> = (0..20)
        .map(|i| {
            let slow = u64::from(slow.takes_next());
            if lost.takes_next() {
                Passage::LostOnWire
            } else {
                Passage::Arrives((4 * i + 12 + 100 * slow) * MS)
            }
        })
        .collect();
    assert!(expected.contains(&Passage::LostOnWire));
    let orders = orders(5);
    assert_eq!(orders.len(), 120);
    for order in orders {
        let plain = link(Queue::Packets(DropTailPackets { limit: 19 }));
        let mut link = order.iter().fold(plain, |link, &part| add(link, part));
        let passages: Vec<_> = (0..20).map(|_| link.offer(0, 1000, false)).collect();
        assert_eq!(passages, expected, "{order:?}");
        // Packets 0 to 7 have begun by 30 ms; 12 wait.
        let read: Vec<_> =
            link.readings(u64::MAX).iter().map(|stats| (stats.packets, stats.waiting)).collect();
        assert_eq!(read, [(8, 12)], "{order:?}");
        assert_eq!(link.offer(0, 1000, false), Passage::Dropped, "{order:?}");
    }
}

#[test]
fn loss_that_is_added_to_a_trace_leaves_its_rate() {
    let trace = RateTrace::rates(vec![(0, 4_000_000), (1000 * MS, 4_000_000)]);
    let link = link(Queue::Unlimited).with_trace(TracePlayer::new(trace.into()));
    let mut link = link.with_loss(1e-9, 1.0, Stream::named(1, "loss"));
    assert_eq!(link.offer(0, 1000, false), Passage::Arrives(12 * MS));
}
