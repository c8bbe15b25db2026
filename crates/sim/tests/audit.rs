//! Each kind of damage to a correct log makes the auditor report the matching rule.

use crate::common::{self, Case, MS, audited, network, stacks};
use firstflight_net::link::Passage;
use firstflight_net::queue::red::RedConfig;
use firstflight_sim::audit::{Event, Rule, audit};
use firstflight_sim::config::{Network, QueueConfig};
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::Kind;
use firstflight_sim::outcome::Outcome;
use firstflight_sim::sender::stack::Stack;

/// A lossy run of two flows and a UDP source, with its correct log.
fn sound() -> (Network, Outcome, Vec<Event>) {
    let case = Case { flows: 2, every: 2, buffer: 20, udp_mbit_s: 1, seconds: 5, ..Case::default() };
    let network = network(&case);
    let (outcome, recorder) = audited(&network, Mode::Fused);
    assert!(outcome.links[0].stats.drops > 0);
    (network, outcome, recorder.log)
}

/// Asserts that damaging the log or the outcome breaks `rule`.
fn breaks(rule: Rule, damage: impl FnOnce(&mut Vec<Event>, &mut Outcome)) {
    let (network, mut outcome, mut log) = sound();
    damage(&mut log, &mut outcome);
    let violations = audit(&network, &outcome, &log);
    assert!(violations.iter().any(|violation| violation.rule == rule), "{rule:?} holds: {violations:?}");
}

/// Index of the first event in the second half of the log that satisfies `is`.
fn place(log: &[Event], is: impl Fn(&Event) -> bool) -> usize {
    let from = log.len() / 2;
    from + log[from..].iter().position(is).expect("such an event")
}

fn is_data_on_the_bottleneck(event: &Event) -> bool {
    matches!(event, Event::Offered { link: 0, packet, passage: Passage::Arrives(_), .. } if packet.kind == Kind::Data)
}

fn is_drop(event: &Event) -> bool {
    matches!(event, Event::Offered { passage: Passage::Dropped, packet, .. } if packet.kind == Kind::Data)
}

fn is_sent(event: &Event, kind: Kind) -> bool {
    matches!(event, Event::Sent { packet, .. } if packet.kind == kind)
}

fn is_arrived(event: &Event, kind: Kind) -> bool {
    matches!(event, Event::Arrived { packet, .. } if packet.kind == kind)
}

#[test]
fn a_vanished_packet_breaks_conservation() {
    for kind in [Kind::Data, Kind::Ack] {
        breaks(Rule::Conservation, |log, _| {
            // The last arrival, because removing an earlier one would break the order instead.
            let last = log.iter().rposition(|event| is_arrived(event, kind)).expect("an arrival");
            log.remove(last);
        });
    }
}

#[test]
fn a_packet_that_was_never_sent_breaks_conservation() {
    breaks(Rule::Conservation, |log, _| {
        let first = log.iter().position(|event| is_sent(event, Kind::Data)).expect("data");
        log.remove(first);
    });
    breaks(Rule::Conservation, |log, _| {
        // A wire loss on a link without losses.
        let place = place(log, is_data_on_the_bottleneck);
        if let Event::Offered { passage, .. } = &mut log[place] {
            *passage = Passage::LostOnWire;
        }
    });
}

#[test]
fn swapped_packets_break_order() {
    breaks(Rule::Order, |log, _| {
        let first = place(log, is_data_on_the_bottleneck);
        let Event::Offered { packet: one, .. } = log[first] else { unreachable!() };
        let next = |event: &Event| {
            is_data_on_the_bottleneck(event)
                && matches!(event, Event::Offered { packet, .. } if packet.flow == one.flow && packet.seq != one.seq)
        };
        let second = first + log[first..].iter().position(next).expect("another packet");
        let Event::Offered { packet: other, .. } = log[second] else { unreachable!() };
        for (place, now) in [(first, other), (second, one)] {
            if let Event::Offered { packet, .. } = &mut log[place] {
                *packet = now;
            }
        }
    });
}

#[test]
fn a_link_faster_or_slower_than_its_rate_breaks_capacity() {
    for change in [-1000_i64, 1000] {
        breaks(Rule::Capacity, |log, _| {
            let place = place(log, is_data_on_the_bottleneck);
            if let Event::Offered { passage: Passage::Arrives(then), .. } = &mut log[place] {
                *then = then.wrapping_add_signed(change);
            }
        });
    }
}

#[test]
fn accepting_when_full_or_refusing_with_room_breaks_buffer() {
    breaks(Rule::Buffer, |log, _| {
        let drop = log.iter().position(is_drop).expect("a drop");
        let Event::Offered { at, passage, .. } = &mut log[drop] else { unreachable!() };
        // Twenty packets wait and one is in transmission: at 10 Mbit/s the next leaves 21 to 22 packet times
        // later.
        *passage = Passage::Arrives(*at + 22 * 800_000 + 25 * MS);
    });
    breaks(Rule::Buffer, |log, _| {
        let first = log.iter().position(is_data_on_the_bottleneck).expect("data");
        if let Event::Offered { passage, .. } = &mut log[first] {
            *passage = Passage::Dropped;
        }
    });
}

#[test]
fn the_limit_of_red_in_byte_mode_is_in_bytes() {
    // Packets of 1000 bytes on the wire, and averages below `min`. A limit of 20 packets of 3000 bytes is 60 of these, and one
    // of 20 packets of 500 bytes is 10.
    let of_mean = |mean| {
        let red = RedConfig { min: 1e6, max: 2e6, mean_bytes: Some(mean), limit: 20, ..common::RED };
        let network = network(&Case { queue: Some(QueueConfig::Red(red)), ..Case::default() });
        let (outcome, recorder) = audited(&network, Mode::Fused);
        (outcome.links[0].stats.max_queue, network, outcome, recorder.log)
    };
    assert_eq!(of_mean(3000).0, 60);
    let (longest, network, outcome, mut log) = of_mean(500);
    assert_eq!(longest, 10);
    let drop = log.iter().position(is_drop).expect("a drop");
    let Event::Offered { at, passage, .. } = &mut log[drop] else { unreachable!() };
    *passage = Passage::Arrives(*at + 12 * 800_000 + 50 * MS);
    assert!(audit(&network, &outcome, &log).iter().any(|violation| violation.rule == Rule::Buffer));
}

#[test]
fn an_early_arrival_breaks_causality() {
    breaks(Rule::Causality, |log, _| {
        let place = place(log, |event| is_arrived(event, Kind::Ack));
        if let Event::Arrived { at, .. } = &mut log[place] {
            *at -= 100;
        }
    });
}

#[test]
fn an_ack_that_differs_from_the_arrivals_breaks_acknowledgement() {
    for ahead in [1, -1] {
        breaks(Rule::Acknowledgement, |log, _| {
            let place = place(log, |event| is_sent(event, Kind::Ack));
            if let Event::Sent { packet, .. } = &mut log[place] {
                packet.seq = packet.seq.wrapping_add_signed(ahead);
            }
        });
    }
    breaks(Rule::Acknowledgement, |log, _| {
        let with_blocks = |event: &&mut Event| matches!(event, Event::Sent { packet, .. } if packet.kind == Kind::Ack && packet.blocks[0].1 > 0);
        let Some(Event::Sent { packet, .. }) = log.iter_mut().find(with_blocks) else { unreachable!() };
        packet.blocks[0].0 -= 1;
    });
}

#[test]
fn a_missing_ack_breaks_acknowledgement() {
    breaks(Rule::Acknowledgement, |log, _| {
        let first = place(log, |event| is_sent(event, Kind::Ack));
        let Event::Sent { at: since, packet: ack, .. } = log[first] else { unreachable!() };
        // No ACK for 300 ms, although the delayed ACK is due after 100 ms.
        log.retain(|event| {
            !matches!(event, Event::Sent { at, packet, .. }
                if packet.kind == Kind::Ack && packet.flow == ack.flow && (since..since + 300 * MS).contains(at))
        });
    });
}

#[test]
fn new_data_beyond_the_window_breaks_window() {
    breaks(Rule::Window, |log, _| {
        let place = place(log, |event| is_sent(event, Kind::Data));
        let Event::Sent { packet: data, .. } = log[place] else { unreachable!() };
        for event in log.iter_mut() {
            if let Event::Acted { flow, window, .. } = event
                && *flow == data.flow
            {
                // One segment less than the sender's actual window.
                *window -= 1.0;
            }
        }
    });
}

#[test]
fn a_retransmission_flagged_as_new_data_breaks_window() {
    breaks(Rule::Window, |log, _| {
        let retransmission = |event: &&mut Event| matches!(event, Event::Sent { retransmission: true, .. });
        let Some(Event::Sent { retransmission, .. }) = log.iter_mut().find(retransmission) else {
            unreachable!()
        };
        *retransmission = false;
    });
}

#[test]
fn a_first_window_at_linuxs_own_pace_breaks_a_slower_one() {
    let mut network = network(&Case { flows: 1, seconds: 1, ..Case::default() });
    let stack = Stack { paced: true, handshake: true, initial_window: 20, ..stacks::linux() };
    network.flows[0].stack = stack.into();
    for (kept, broken) in [(Some(24), false), (None, true)] {
        network.flows[0].stack.initial_pace = kept;
        let (outcome, recorder) = audited(&network, Mode::Fused);
        network.flows[0].stack.initial_pace = Some(24);
        let violations = audit(&network, &outcome, &recorder.log);
        assert_eq!(violations.iter().any(|violation| violation.rule == Rule::Pace), broken, "{violations:?}");
        assert!(broken || violations.is_empty(), "{violations:?}");
    }
}

#[test]
fn miscounted_results_break_results() {
    breaks(Rule::Results, |_, outcome| outcome.flows[1].delivered += 1);
    breaks(Rule::Results, |_, outcome| outcome.flows[0].retransmits -= 1);
    breaks(Rule::Results, |_, outcome| outcome.flows[0].lost_before_exit += 1);
    breaks(Rule::Results, |_, outcome| outcome.links[0].stats.drops += 1);
    breaks(Rule::Results, |_, outcome| outcome.links[1].stats.bytes -= 40);
}
