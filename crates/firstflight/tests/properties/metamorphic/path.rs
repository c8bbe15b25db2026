//! Paths that are made of other parts and carry the same packets at the same times.

use super::{Held, assert_same, fresh_name, has_ties, hold};
use firstflight_contract::{Nanos, Rate};
use firstflight_net::lanes::LanesConfig;
use firstflight_net::queue::Room;
use firstflight_sim::config::{LinkConfig, Network, QueueConfig};
use firstflight_sim::outcome::simulate;

/// The fastest rate: a packet of up to 12,500 bytes takes one nanosecond, as every transmission at the least.
const FASTEST: Rate = Rate(100_000_000_000_000);

/// The network with the delay of link `number` in two parts, the second behind a link of [`FASTEST`].
fn split(network: &Network, number: usize) -> Network {
    let mut split = network.clone();
    let (name, added) = (fresh_name(&network.links), network.links.len());
    let link = &mut split.links[number];
    let near = Nanos(link.delay.0 / 3);
    let far = link.delay - near - Nanos(1);
    link.delay = near;
    split.links.push(LinkConfig::new(name, FASTEST, far, QueueConfig::Unlimited));
    let through = |path: &mut Vec<usize>| {
        *path =
            path.iter().flat_map(|&link| [Some(link), (link == number).then_some(added)]).flatten().collect();
    };
    for flow in &mut split.flows {
        through(&mut flow.forward);
        through(&mut flow.reverse);
    }
    split.udp.iter_mut().for_each(|source| through(&mut source.path));
    split
}

#[test]
fn a_delay_in_two_parts_is_one_delay() {
    hold(500, 80, |case| -> Held {
        let network = case.network;
        let largest = network.flows.iter().map(|flow| flow.stack.mss + flow.header);
        let largest = largest.chain(network.udp.iter().map(|source| source.size.into())).max();
        // At 64 Gbit/s a packet of 20 bytes takes 2.5 ns: no two reach the added link within a nanosecond.
        let fastest = network.links.iter().map(|link| link.rate.0).max();
        if largest > Some(12_500) || fastest > Some(64_000_000_000) {
            return Ok(Some("packets take more or less than a nanosecond on the added link"));
        }
        let split_at = |link: &LinkConfig| {
            link.delay.0 >= 2 && link.lanes.is_none() && link.trace.is_none() && link.shaper.is_none()
        };
        let places: Vec<usize> = (0..network.links.len()).filter(|&n| split_at(&network.links[n])).collect();
        if places.is_empty() {
            return Ok(Some("no link has a delay"));
        }
        if has_ties(network) {
            return Ok(Some("packets of two sources come at one instant"));
        }
        for number in [places[0], places[places.len() / 2]] {
            let mut outcome = simulate(&split(network, number));
            outcome.links.pop();
            assert_same(&outcome, case.base)?;
        }
        Ok(None)
    });
}

#[test]
fn loss_and_reordering_of_no_packet_and_readings_change_nothing() {
    hold(300, 120, |case| -> Held {
        let mut empty = case.network.clone();
        for link in &mut empty.links {
            if link.loss == 0.0 {
                link.loss_burst = 7.0;
            }
            if link.lanes.is_none() {
                link.lanes = Some(LanesConfig { share: 0.0, burst: 1.0, delay: Nanos::from_millis(3) });
            }
            let end = case.network.end.0;
            link.read_at = vec![Nanos(end / 7), Nanos(end / 2), Nanos(end - end / 9)];
        }
        let mut outcome = simulate(&empty);
        for (link, base) in outcome.links.iter_mut().zip(&case.base.links) {
            link.readings.clear();
            // An unlimited link counts what waits only where it is read.
            if base.stats.max_queue == 0 {
                let none = base.stats;
                (link.stats.max_queue, link.stats.waiting) = (none.max_queue, none.waiting);
                (link.stats.waiting_ns, link.mean_queue) = (none.waiting_ns, base.mean_queue);
                link.stats.busy_until = link.stats.busy_until.min(none.busy_until);
            }
        }
        if outcome.links.iter().zip(&case.base.links).any(|(link, base)| {
            base.stats.max_queue == 0
                && (link.stats.packets, link.stats.bytes) != (base.stats.packets, base.stats.bytes)
        }) {
            return Ok(Some("an unlimited link counts packets that wait at the end only where it is read"));
        }
        assert_same(&outcome, case.base)?;
        Ok(None)
    });
}

/// A queue with more room, where its room is all that changes.
fn larger(queue: QueueConfig) -> QueueConfig {
    let room = |room: Room| match room {
        Room::Packets(limit) => Room::Packets(limit.saturating_mul(2)),
        Room::Bytes(limit) => Room::Bytes(limit.saturating_mul(2)),
    };
    match queue {
        QueueConfig::Packets(limit) => QueueConfig::Packets(limit.saturating_mul(2)),
        QueueConfig::Bytes(limit) => QueueConfig::Bytes(limit.saturating_mul(2)),
        QueueConfig::Policer(bucket, limit) => QueueConfig::Policer(bucket, room(limit)),
        QueueConfig::Router(router, limit) => QueueConfig::Router(router, room(limit)),
        QueueConfig::Priority(limit) => QueueConfig::Priority(room(limit)),
        QueueConfig::AckFilter(limit) => QueueConfig::AckFilter(room(limit)),
        QueueConfig::Codel(codel, limit) => QueueConfig::Codel(codel, room(limit)),
        _ => queue,
    }
}

#[test]
fn a_larger_buffer_changes_nothing_where_nothing_is_dropped() {
    hold(300, 120, |case| -> Held {
        let mut network = case.network.clone();
        let mut enlarged = false;
        for (link, outcome) in network.links.iter_mut().zip(&case.base.links) {
            let queue = larger(link.queue);
            if outcome.stats.drops == 0 && queue != link.queue {
                (link.queue, enlarged) = (queue, true);
            }
        }
        if !enlarged {
            return Ok(Some("every buffer overflows"));
        }
        assert_same(&simulate(&network), case.base)?;
        Ok(None)
    });
}
