//! The auditor finds what it is there to find: each kind of damage to a sound log breaks the rule it should.

mod common;

use common::{Case, MS, audited, network};
use firstflight_net::link::Passage;
use firstflight_sim::audit::{Event, Rule, audit};
use firstflight_sim::config::Network;
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::Kind;
use firstflight_sim::outcome::Outcome;

/// A lossy run over two flows and a datagram source, its log sound as it stands.
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

/// The place of the first event in the second half of the log of which `is` holds.
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
fn a_packet_that_vanishes_breaks_conservation() {
    for kind in [Kind::Data, Kind::Ack] {
        breaks(Rule::Conservation, |log, _| {
            // The last of all: nothing comes after it that would be out of order instead.
            let last = log.iter().rposition(|event| is_arrived(event, kind)).expect("an arrival");
            log.remove(last);
        });
    }
}

#[test]
fn a_packet_from_nowhere_breaks_conservation() {
    breaks(Rule::Conservation, |log, _| {
        let first = log.iter().position(|event| is_sent(event, Kind::Data)).expect("data");
        log.remove(first);
    });
    breaks(Rule::Conservation, |log, _| {
        // Loss on the wire of a link that has none.
        let place = place(log, is_data_on_the_bottleneck);
        if let Event::Offered { passage, .. } = &mut log[place] {
            *passage = Passage::LostOnWire;
        }
    });
}

#[test]
fn packets_that_change_places_break_order() {
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
fn a_link_that_is_faster_or_slower_than_its_rate_breaks_capacity() {
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
fn a_full_queue_that_accepts_and_one_with_room_that_refuses_break_the_buffer() {
    breaks(Rule::Buffer, |log, _| {
        let drop = log.iter().position(is_drop).expect("a drop");
        let Event::Offered { at, passage, .. } = &mut log[drop] else { unreachable!() };
        // Twenty wait, one is in transmission: at 10 Mbit/s the next would be through 21 to 22 packets later.
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
fn an_arrival_before_its_time_breaks_causality() {
    breaks(Rule::Causality, |log, _| {
        let place = place(log, |event| is_arrived(event, Kind::Ack));
        if let Event::Arrived { at, .. } = &mut log[place] {
            *at -= 100;
        }
    });
}

#[test]
fn an_ack_of_what_has_not_arrived_breaks_acknowledgement() {
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
fn an_ack_that_never_comes_breaks_acknowledgement() {
    breaks(Rule::Acknowledgement, |log, _| {
        let first = place(log, |event| is_sent(event, Kind::Ack));
        let Event::Sent { at: since, packet: ack, .. } = log[first] else { unreachable!() };
        // Silent for 300 ms, where the delayed ACK is due after 100.
        log.retain(|event| {
            !matches!(event, Event::Sent { at, packet, .. }
                if packet.kind == Kind::Ack && packet.flow == ack.flow && (since..since + 300 * MS).contains(at))
        });
    });
}

#[test]
fn new_data_beyond_the_window_breaks_the_window() {
    breaks(Rule::Window, |log, _| {
        let place = place(log, |event| is_sent(event, Kind::Data));
        let Event::Sent { packet: data, .. } = log[place] else { unreachable!() };
        for event in log.iter_mut() {
            if let Event::Acted { flow, window, .. } = event
                && *flow == data.flow
            {
                // One segment less than the sender believed to have.
                *window -= 1.0;
            }
        }
    });
}

#[test]
fn a_repeat_that_passes_for_new_data_breaks_the_window() {
    breaks(Rule::Window, |log, _| {
        let repeat = |event: &&mut Event| matches!(event, Event::Sent { retransmission: true, .. });
        let Some(Event::Sent { retransmission, .. }) = log.iter_mut().find(repeat) else { unreachable!() };
        *retransmission = false;
    });
}

#[test]
fn results_that_count_what_did_not_happen_break_results() {
    breaks(Rule::Results, |_, outcome| outcome.flows[1].delivered += 1);
    breaks(Rule::Results, |_, outcome| outcome.flows[0].retransmits -= 1);
    breaks(Rule::Results, |_, outcome| outcome.links[0].stats.drops += 1);
    breaks(Rule::Results, |_, outcome| outcome.links[1].stats.bytes -= 40);
}
