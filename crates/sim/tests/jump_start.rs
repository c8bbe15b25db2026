//! Jump Start's first flight on a path that another flow half fills, the case of section 3.4 of the thesis.

use crate::common::{Case, MS, network, run};
use firstflight_host::chain::Chain;
use firstflight_net::queue::Room;
use firstflight_schemes::registry::AnyPhase;
use firstflight_schemes::scheme::Value;
use firstflight_sim::config::QueueConfig;
use firstflight_sim::outcome::FlowOutcome;
use firstflight_sim::sender::stack::ReceiveWindow;

const MSS: u64 = 960;

/// A flow with a window of 50 packets on a path that holds 113 and queues 30; after five seconds a second
/// flow starts with Jump Start and 150 packets.
fn beside(parameter: &str, value: Value) -> [FlowOutcome; 2] {
    let case = Case { flows: 2, handshake: true, buffer: 30, seconds: 10, ..Case::default() };
    let mut net = network(&case);
    net.links[0].queue = QueueConfig::Priority(Room::Packets(30));
    net.flows[0].stack.receive_window = ReceiveWindow::fixed(50);
    let [mut jump_start, reno] =
        ["jump-start", "reno"].map(|label| AnyPhase::by_label(label).expect("registered"));
    jump_start.set(parameter, value).expect("a parameter");
    net.flows[1].chain = Chain::new(vec![jump_start, reno]).expect("a chain").into();
    net.flows[1].app.start = 5000 * MS;
    net.flows[1].app.bytes = Some(150 * MSS);
    let outcome = run(&net);
    <[FlowOutcome; 2]>::try_from(outcome.flows).expect("two flows")
}

#[test]
fn a_droppable_first_flight_causes_no_loss_to_other_flows() {
    // 150 packets in 90 ms and the other flow's 50 are 87 more than the bottleneck serves meanwhile; 30 wait,
    // so more than fifty packets are lost in all. Retransmissions run at half the window: 75 and 50 fit.
    let [other, jumping] = beside("droppable", Value::Flag(false));
    assert!(other.lost > 0 && other.lost + jumping.lost > 50, "{} and {}", other.lost, jumping.lost);
    let [other, jumping] = beside("droppable", Value::Flag(true));
    assert!(other.lost == 0 && jumping.lost > 50, "{} and {}", other.lost, jumping.lost);
    assert_eq!(jumping.completions.len(), 1);
}

#[test]
fn a_capped_first_flight_loses_nothing() {
    // The other flow's 50 packets occupy the bottleneck for 40 ms; of 40 packets in 90 ms, 18 arrive then and
    // wait.
    let [other, jumping] = beside("cap", Value::Packets(40));
    assert_eq!((other.lost, jumping.lost, jumping.first_flight), (0, 0, 40));
}

#[test]
fn the_first_flight_is_within_the_window_that_the_receiver_offers_at_the_start() {
    // A receiver whose window opens from 20 segments, as that of Linux does from 64 KB: the scheme knows no more when the
    // connection begins. Measured on Linux 6.18 by `firstflight lab run`: the flight ends at the window of the handshake.
    let case = Case { handshake: true, buffer: 100, seconds: 10, ..Case::default() };
    let mut net = network(&case);
    net.flows[0].stack.receive_window = ReceiveWindow::opening_to(20, 1000);
    net.flows[0].app.bytes = Some(500 * MSS);
    let phases = ["jump-start", "reno"].map(|label| AnyPhase::by_label(label).expect("registered"));
    net.flows[0].chain = Chain::new(phases.to_vec()).expect("a chain").into();
    let flow = run(&net).flows.remove(0);
    let exit = flow.startup_exit.expect("the first flight ends");
    // The first ACK adds a segment, as in slow start.
    assert_eq!((flow.first_flight, exit.cwnd), (20, 21 * MSS));
}
