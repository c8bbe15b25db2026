//! Small writes that wait for the window share segments, as the bytes in the send buffer of a stack without Nagle's algorithm do.

use crate::common::line::{Line, at};
use crate::common::{MS, stacks};
use firstflight_sim::sender::app::{AppConfig, Clock};
use firstflight_sim::sender::stack::Stack;

/// Writes of 400 bytes at 0, 10, 20, 30 and 40 ms into segments of 1000 bytes, with a window of two segments at first.
fn five_writes(stack: Stack) -> Line {
    let app = AppConfig {
        bytes: Some(400),
        pauses: vec![10 * MS; 4],
        clock: Clock::Written,
        ..AppConfig::default()
    };
    Line { app, stack: Stack { mss: 1000, initial_window: 2, ..stack }, ..Line::default() }
}

/// Time of each write until it was acknowledged, milliseconds.
fn took(line: &Line) -> Vec<u64> {
    line.run(1000).0.app().completions().iter().map(|time| time / MS).collect()
}

#[test]
fn writes_that_wait_for_the_window_are_cut_into_full_segments() {
    // Two writes find room and leave as they are. The others, 1200 bytes, wait: 1000 bytes and 200. In Linux the ACK at 100 makes the
    // window three segments, and both leave.
    let line = five_writes(stacks::linux());
    assert_eq!(line.sends(1000), at(&[(0, &[0]), (10, &[1]), (100, &[2, 3])]));
    let (sender, _) = line.run(1000);
    assert_eq!([1, 2, 3, 4].map(|segments| sender.app().bytes_in(segments, 1000)), [400, 800, 1800, 2000]);
    // The third and the fourth write, due at 20 and 30, end in the segment of 1000 bytes; the last in that of 200.
    assert_eq!(took(&line), [100, 100, 180, 170, 160]);
    // By RFC 5681 the ACKs add 400 bytes each: 2.4 segments at 100, 2.8 at 110. With 1000 bytes and 400 out, the last leaves at 110.
    let line = five_writes(stacks::rfc());
    assert_eq!(line.sends(1000), at(&[(0, &[0]), (10, &[1]), (100, &[2]), (110, &[3])]));
    assert_eq!(took(&line), [100, 100, 180, 170, 170]);
}

#[test]
fn each_write_has_packets_of_its_own_in_ns_2() {
    // `TcpAgent::sendmsg` adds whole packets for each message. The ACK at 100 makes the window three, that at 110 four.
    let line = five_writes(stacks::ns2());
    assert_eq!(line.sends(1000), at(&[(0, &[0]), (10, &[1]), (100, &[2, 3]), (110, &[4])]));
    assert_eq!(took(&line), [100, 100, 180, 170, 170]);
}

#[test]
fn a_joined_segment_that_is_lost_is_sent_again_as_it_was() {
    // The segment with the ends of the third and the fourth write is lost at 100; the short one behind it is not. Whatever is written
    // meanwhile, the copy has the same 1000 bytes: 2800 bytes in five segments at the end.
    let mut line = five_writes(stacks::linux()).losing(&[(2, 0)]);
    line.app.pauses.extend([80 * MS, 10 * MS]);
    let (sender, sends) = line.run(5000);
    assert_eq!(sends.iter().filter(|sent| sent.1 == 2).count(), 2, "{sends:?}");
    let bytes: Vec<u64> =
        (0..=sender.acked()).map(|segments| sender.app().bytes_in(segments, 1000)).collect();
    assert_eq!(bytes[..5], [0, 400, 800, 1800, 2000]);
    assert_eq!(bytes.last(), Some(&2800));
    assert_eq!(sender.app().completions().len(), 7);
}

#[test]
fn a_write_of_many_segments_joins_the_end_of_the_one_before() {
    // 2500 bytes at 0 and 2500 at 10 ms, with a window of two segments: 500 bytes wait and become a full segment.
    let app =
        AppConfig { bytes: Some(2500), pauses: vec![10 * MS], clock: Clock::Written, ..AppConfig::default() };
    let stack = Stack { mss: 1000, initial_window: 2, ..stacks::linux() };
    let (sender, sends) = Line { app, stack, ..Line::default() }.run(1000);
    assert_eq!(sends.len(), 5, "{sends:?}");
    assert_eq!(sender.app().bytes_in(5, 1000), 5000);
}
