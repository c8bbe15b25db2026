//! Recorded windows of neqo, and bins by hand.

use super::*;
use crate::scheme::{Scheme as _, Value};
use crate::startup::test_sender;
use firstflight_contract::Trigger;

const PACKET: u64 = 1200;
const RTT: Nanos = Nanos::from_millis(100);
/// 3.5 x 100 ms / 10.
const BIN: Nanos = Nanos::from_millis(35);

fn search(variant: Variant) -> Search {
    let mut phase = Search::default();
    phase.set("variant", Value::Choice(variant as usize));
    phase.enter(&Entry { mss: PACKET as u32, ..Entry::default() }, &mut Control::default());
    phase
}

/// A row of a recording.
struct Row {
    time: Nanos,
    acked: u64,
    sent: u64,
    rtt: Nanos,
    window: u64,
}

fn rows(text: &str) -> Vec<Row> {
    let lines = text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    let row = |line: &str| {
        let fields: Vec<u64> = line.split(',').map(|field| field.parse().expect("a number")).collect();
        let &[time, acked, sent, rtt, window] = fields.as_slice() else { panic!("five fields: {line}") };
        Row { time: Nanos::from_micros(time), acked, sent, rtt: Nanos::from_micros(rtt), window }
    };
    lines.map(row).collect()
}

/// The ACKs of a recording from which a window may grow, by neqo's rule: a packet that it delivers left no later than the last
/// packet at whose departure half of the window was in flight.
fn grows(rows: &[Row]) -> Vec<bool> {
    let (mut delivered, mut filled_up_to, mut sent, mut window) = (0, 0, 0, 10 * PACKET);
    let mut answers = vec![];
    for row in rows {
        // Packets that left after the ACK before.
        while sent < row.sent {
            if sent - delivered >= window / 2 {
                filled_up_to = sent + PACKET;
            }
            sent += PACKET;
        }
        answers.push(delivered < filled_up_to);
        delivered += row.acked;
        window = row.window;
    }
    answers
}

/// Replays a recording up to the exit; the window after each ACK, and the time of the exit if there is one.
fn replay(rows: &[Row], grows: &[bool]) -> (Vec<u64>, Option<Nanos>) {
    let mut phase = search(Variant::Draft09);
    let mut control = Control { cwnd: 10 * PACKET, ..Control::default() };
    let (mut delivered, mut windows) = (0, vec![]);
    for (row, &grows) in rows.iter().zip(grows) {
        delivered += row.acked;
        let ack = Ack {
            now: row.time,
            rtt: row.rtt,
            acked: row.acked,
            growth: if grows { row.acked } else { 0 },
            delivered,
            sent: row.sent,
            mss: PACKET as u32,
            ..Ack::default()
        };
        let step = phase.on_ack(&ack, &mut control);
        windows.push(control.cwnd);
        if step != Step::Stay {
            assert_eq!((step, control.ssthresh), (Step::Exit(Exit::Delivery), control.cwnd));
            return (windows, Some(row.time));
        }
    }
    (windows, None)
}

fn recorded(rows: &[Row]) -> Vec<u64> {
    rows.iter().map(|row| row.window).collect()
}

#[test]
fn neqos_windows_and_its_exit_on_a_path_with_a_deep_buffer() {
    let rows = rows(include_str!("../../../testdata/neqo-search.S2.csv"));
    assert_eq!(grows(&rows), vec![true; 302]);
    assert_eq!(replay(&rows, &grows(&rows)), (recorded(&rows), Some(Nanos::from_micros(851_200))));
}

#[test]
fn acks_of_limited_sending_are_not_asked() {
    let rows = rows(include_str!("../../../testdata/neqo-search.S8.csv"));
    assert_eq!(replay(&rows, &grows(&rows)), (recorded(&rows), None));
    // Of the same recording, a sender that asks at every ACK leaves. The 20th border is 50.48 ms + 20 x 17.668 ms = 403.84 ms; an
    // ACK that comes then is not past it, and the next one comes 0.48 ms later.
    let (_, exit) = replay(&rows, &vec![true; rows.len()]);
    assert_eq!(exit, Some(Nanos::from_micros(404_320)));
}

/// An ACK just after the border of bin `bin`, with these totals.
fn at(bin: u64, delivered: u64, sent: u64) -> Ack {
    Ack {
        now: Nanos(bin * BIN.0 + 1),
        rtt: RTT,
        acked: PACKET,
        growth: PACKET,
        delivered,
        sent,
        mss: PACKET as u32,
        ..Ack::default()
    }
}

/// Feeds one ACK a bin until the phase answers; the bin and the answer.
fn feed(phase: &mut Search, bins: core::ops::Range<u64>, ack: impl Fn(u64) -> Ack) -> Option<(u64, Step)> {
    let mut control = Control { cwnd: 100 * PACKET, ..Control::default() };
    // The first ACK comes a nanosecond early: its bin lasts until the border that all others pass.
    for bin in bins {
        let mut ack = ack(bin);
        if bin == 0 {
            ack.now = Nanos(0);
        }
        let step = phase.on_ack(&ack, &mut control);
        if step != Step::Stay {
            return Some((bin, step));
        }
    }
    None
}

#[test]
fn a_shortfall_of_26_percent_of_what_was_sent_ends_slow_start_of_the_draft_and_one_of_35_that_of_4_0() {
    // Sent: 1000 bytes a bin; delivered: so many. A round trip is 2.86 bins, and a window may end at bin 11 first: bin 13 is
    // judged. In 4.0 bin 12 is judged, too, but its window begins 0.86 bins before anything was sent: 9150 bytes are expected.
    for (variant, delivered, end) in [
        (Variant::Draft09, 741, None),
        (Variant::Draft09, 740, Some((13, Step::Exit(Exit::Delivery)))),
        (Variant::V40, 651, None),
        (Variant::V40, 650, Some((13, Step::Over(Exit::Delivery)))),
    ] {
        let mut phase = search(variant);
        assert_eq!(feed(&mut phase, 0..60, |bin| at(bin, delivered * bin, 1000 * bin)), end, "{delivered}");
    }
}

#[test]
fn the_threshold_may_be_set() {
    let mut phase = search(Variant::Draft09);
    phase.set("threshold", Value::Number(0.5));
    assert_eq!(feed(&mut phase, 0..60, |bin| at(bin, 501 * bin, 1000 * bin)), None);
    let end = feed(&mut phase, 60..61, |bin| at(bin, 0, 1000 * bin));
    assert_eq!(end, Some((60, Step::Exit(Exit::Delivery))));
}

#[test]
fn deliveries_that_grow_by_less_than_30_percent_a_round_trip_end_slow_start_of_3_1() {
    // 1 - g/2 >= 0.35 if g <= 1.3. A bin is 0.35 round trips.
    let grown = |g: f64| move |bin: u64| (1e9 * g.powf(0.35 * bin as f64)) as u64;
    for (growth, end) in [(1.32, None), (1.28, Some((13, Step::Exit(Exit::Delivery))))] {
        let delivered = grown(growth);
        // Without deliveries before the first ACK, as the count before the first bin is zero.
        let total = |bin| delivered(bin) - delivered(0);
        let mut phase = search(Variant::V31);
        assert_eq!(feed(&mut phase, 0..40, |bin| at(bin, total(bin), 2 * total(bin))), end, "{growth}");
    }
}

#[test]
fn the_window_before_a_round_trip_ends_a_fraction_of_a_bin_before_the_border() {
    // Ten thousand bytes left at once, in bin 11, after 1000 in each bin. Bin 13 is compared with the window that ends 2.86 bins
    // earlier, at 10.14: 0.14 of the burst and of bin 11 less what left in 0.14 of bin 1.
    let sent = |bin: u64| 1000 * bin + if bin >= 11 { 10_000 } else { 0 };
    let mut phase = search(Variant::Draft09);
    assert_eq!(feed(&mut phase, 0..13, |bin| at(bin, 1000 * bin, sent(bin))), None);
    // Fraction 85 of 100: 0.85 x 10 000 + 0.15 x 20 000 = 11 500 expected. 26 % less is 8510.
    for (delivered, falls_short) in [(8510, true), (8520, false)] {
        let mut phase = phase.clone();
        let mut control = Control::default();
        let step = phase.on_ack(&at(13, 3000 + delivered, sent(13)), &mut control);
        assert_eq!(step == Step::Exit(Exit::Delivery), falls_short, "{delivered}");
    }
}

#[test]
fn a_round_trip_of_fifteen_bins_cannot_be_looked_back_over_by_the_draft_and_one_of_39_not_by_4_0() {
    for (variant, bins) in [(Variant::Draft09, 15), (Variant::V31, 14), (Variant::V40, 39)] {
        for (inflated, falls_short) in [(bins - 1, true), (bins, false)] {
            let mut phase = search(variant);
            assert_eq!(feed(&mut phase, 0..1, |bin| at(bin, 0, 0)), None);
            let inflated = |bin| Ack { rtt: Nanos(inflated * BIN.0), ..at(bin, 500 * bin, 1000 * bin) };
            assert_eq!(feed(&mut phase, 1..80, inflated).is_some(), falls_short, "{variant:?}");
        }
    }
}

#[test]
fn more_than_ten_skipped_bins_begin_anew_in_the_draft_alone() {
    // All that is sent arrives up to bin 12, and half of it afterwards. Skipped bins have the counts of the last one.
    let delivered = |bin: u64| 1000 * bin.min(12) + 500 * bin.saturating_sub(12);
    let ack = |bin| at(bin, delivered(bin), 1000 * bin);
    for (skipped, first) in [
        // The windows that end before bin 23 hold 2350 bytes at most. That of bin 25 expects 10 000 bytes or more.
        (10, 25),
        // Bin 23 forgets, and bin 24 is the new first. Its border falls on the next ACK, which is not past it: every second ACK
        // fills two bins. The first window ends at the new bin 11 or later, with an ACK 14 bins later.
        (11, 38),
    ] {
        let mut phase = search(Variant::Draft09);
        assert_eq!(feed(&mut phase, 0..13, ack), None);
        let end = feed(&mut phase, 12 + skipped..60, ack);
        assert_eq!(end, Some((first, Step::Exit(Exit::Delivery))), "{skipped} skipped");
    }
    for skipped in [10, 11] {
        // 13 150 bytes are expected at bin 27, and 8500 were delivered: 35 % less. At bin 26 they are 34 % less.
        let mut phase = search(Variant::V40);
        assert_eq!(feed(&mut phase, 0..12, ack), None);
        let end = feed(&mut phase, 12 + skipped..60, ack);
        assert_eq!(end, Some((27, Step::Over(Exit::Delivery))), "{skipped} skipped");
    }
}

#[test]
fn linuxs_versions_leave_by_what_was_sent_before_their_bins_began_again() {
    // A megabyte was delivered before; all that is sent arrives. After an ACK of limited sending the bins begin again, and the
    // count before the first of them is zero: 0.85 of the megabyte belongs to the window that ends at bin 10.
    let ack = |bin: u64| at(bin, 1_000_000 + 1000 * bin, 1_000_000 + 1000 * bin);
    for (variant, end) in [(Variant::V40, Some(13)), (Variant::V31, Some(13)), (Variant::Draft09, None)] {
        let mut phase = search(variant);
        let limited = |bin| Ack { flags: Ack::APP_LIMITED, growth: 0, ..ack(bin) };
        assert_eq!(feed(&mut phase, 0..2, limited), None);
        assert_eq!(feed(&mut phase, 2..40, ack).map(|(bin, _)| bin), end, "{variant:?}");
    }
}

#[test]
fn the_drain_of_4_0_lets_one_segment_leave_for_three_that_arrive() {
    let mut phase = search(Variant::V40);
    // 650 x 12 bytes a bin: the three bins of an initial round trip delivered 23 400 bytes, 19.5 segments.
    let totals = |bin: u64| at(bin, 12 * 650 * bin, 12 * 1000 * bin);
    assert_eq!(feed(&mut phase, 0..40, totals), Some((13, Step::Over(Exit::Delivery))));
    let mut control = Control { cwnd: 30 * PACKET, ..Control::default() };
    // A window of 30 is in flight. Two ACKs let nothing leave, the third one segment.
    let mut ack = |pipe: u64| {
        let step = phase.on_ack(&Ack { pipe: pipe * PACKET, ..totals(13) }, &mut control);
        (control.cwnd / PACKET, step)
    };
    assert_eq!(ack(29), (29, Step::Stay));
    assert_eq!(ack(28), (28, Step::Stay));
    assert_eq!(ack(27), (28, Step::Stay));
    assert_eq!(ack(20), (20, Step::Stay));
    assert_eq!(ack(18), (19, Step::Exit(Exit::Delivery)));
    assert_eq!((control.cwnd, control.ssthresh), (23_400, 23_400));
}

#[test]
fn a_timeout_begins_with_no_bins() {
    let mut phase = search(Variant::Draft09);
    assert_eq!(feed(&mut phase, 0..13, |bin| at(bin, 500 * bin, 1000 * bin)), None);
    phase.enter(&Entry { why: Why::Timeout, ..Entry::default() }, &mut Control::default());
    // The first bin begins at 13, and 13 bins later a window is compared.
    let end = feed(&mut phase, 13..60, |bin| at(bin, 500 * bin, 1000 * bin));
    assert!(end.is_some_and(|(bin, _)| bin >= 26), "{end:?}");
}

#[test]
fn a_loss_ends_the_phase() {
    let mut s = test_sender::Sender::<Search>::new(20, &[]);
    let loss = Congestion { trigger: Trigger::Loss, base: 1, mss: 1000, ..Congestion::default() };
    assert_eq!(s.phase.on_congestion(&loss, &mut s.control), Step::Exit(Exit::Loss));
}
