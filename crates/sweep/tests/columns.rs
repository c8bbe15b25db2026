//! Columns of table `sweep`, by hand.

use firstflight_results::{Table, Value};

use crate::grid::{column, numbers, part, plan};

/// A packet of 1500 bytes takes 1 ms at the bottleneck and 0.1 ms on each access link, and an ACK of 40 bytes 32 us in all.
const PATH: &str = "rate = \"12 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"100 packets\"\n";

/// The only part of a grid with these flows on that path.
fn table(flows: &str, path: &str) -> Table {
    let grid = format!("title = \"by hand\"\nflow = \"transfer\"\n\n[base.path]\n{path}\n{flows}");
    part(&plan(&grid), 0, 1)
}

/// Asserts a time to 10 ns: each of the four crossings of a link rounds up to a whole nanosecond.
fn assert_time(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-8, "{found} {expected}");
}

/// Two transfers of two packets on one connection, and three packets of another flow when the path is empty again.
const TWO: &str = r#"
[[base.flow]]
name = "transfer"
size = "2920 B"
rounds = { count = 2, idle = "200 ms" }

[[base.flow]]
name = "other"
start = "2 s"
size = "4380 B"
"#;

#[test]
fn rounds_waiting_and_others_are_those_of_a_calculation_by_hand() {
    let table = table(TWO, PATH);
    let only = |name: &str| {
        let [value] = numbers(&table, name)[..] else { panic!("one run") };
        value
    };
    // Propagation, both access links, the packets at the bottleneck, the ACK.
    assert_time(only("last_round_s"), 0.1 + 2.0 * 0.0001 + 2.0 * 0.001 + 0.000_032);
    assert_time(only("others_completion_s"), 0.1 + 2.0 * 0.0001 + 3.0 * 0.001 + 0.000_032);
    // A packet comes each 0.1 ms. The second one of a flight waits 0.9 ms, the third one 1.8 ms; the two SYNs do not wait.
    assert_time(only("wait_s"), (0.0009 + 0.0009 + 0.0009 + 0.0018) / 9.0);
    assert_eq!(only("max_queue_packets"), 2.0);
    assert_eq!((only("others_delivered_bytes"), only("others_finished")), (4380.0, 1.0));
    assert_eq!(only("others_lost_packets"), 0.0);
}

#[test]
fn a_packet_that_finds_the_buffer_full_is_a_loss_of_the_other_flow() {
    // One packet is at the bottleneck, one waits, and the third one is lost.
    let table = table(TWO, &PATH.replace("100 packets", "1 packet"));
    assert_eq!(numbers(&table, "others_lost_packets"), [1.0]);
    assert_eq!(
        (numbers(&table, "lost_packets"), numbers(&table, "max_queue_packets")),
        (vec![0.0], vec![1.0])
    );
}

#[test]
fn a_flow_alone_has_no_rounds_and_no_others() {
    let table = table("[[base.flow]]\nname = \"transfer\"\nsize = \"1460 B\"\n", PATH);
    for name in ["last_round_s", "others_completion_s"] {
        assert_eq!(column(&table, name), [Value::Null], "{name}");
    }
    for name in ["others_delivered_bytes", "others_lost_packets", "others_finished", "wait_s"] {
        assert_eq!(numbers(&table, name), [0.0], "{name}");
    }
}

/// Time of a transfer of one packet more than the initial window.
fn time(receiver: &str, window: u64) -> f64 {
    let flow = format!(
        "[[base.flow]]\nname = \"transfer\"\nsize = \"{} B\"\ninitial_window = \"{window} packets\"\nreceiver = \
         \"{receiver}\"\ndelayed_ack_timer = \"50 ms\"\n",
        (window + 1) * 1460
    );
    numbers(&table(&flow, PATH), "completion_s")[0]
}

#[test]
fn ack_every_ten_waits_for_the_tenth_packet_or_for_the_timer_from_the_first_one() {
    // The ACK of ten packets leaves with the tenth one, nine packets of 1 ms after the ACK of the first one.
    assert_time(time("ack-every-ten", 10) - time("ack-every-packet", 10), 0.009);
    // Nine packets are acknowledged when the timer of the first one fires.
    assert_time(time("ack-every-ten", 9) - time("ack-every-packet", 9), 0.05);
}
