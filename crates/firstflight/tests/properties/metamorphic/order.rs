//! Parts of a scenario by other names and in another order, parts that do nothing, and parts that have nothing in common.

use super::{Held, Tally, assert_same, draw, fresh_name, has_ties, hashes_flows, hold, run, shares_state};
use firstflight_anyscenario::written;
use firstflight_contract::Nanos;
use firstflight_hosts::network::build;
use firstflight_sim::config::{FlowConfig, LinkConfig, Network, Sharing, UdpConfig};
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::NoObserver;
use firstflight_sim::outcome::{FlowOutcome, Outcome, simulate, simulate_observed, simulate_on};
use proptest::prelude::*;

#[test]
fn names_change_nothing_but_the_draws_of_what_bears_them() {
    hold(300, 60, |case| -> Held {
        let mut renamed = case.network.clone();
        renamed.flows.iter_mut().enumerate().for_each(|(n, flow)| flow.name = format!("other{n}"));
        renamed.udp.iter_mut().enumerate().for_each(|(n, source)| source.name = format!("another{n}"));
        assert_same(&simulate(&renamed), case.base)?;

        // In a file, random starts, sizes, ends and delays come from streams with the name of their group.
        let mut scenario = case.scenario.clone();
        scenario.flows.iter_mut().enumerate().for_each(|(n, group)| group.name = format!("other{n}"));
        scenario.udp.iter_mut().enumerate().for_each(|(n, source)| source.name = format!("another{n}"));
        let grid = case.network.grid;
        let Ok(built) = build(&scenario, scenario.seed, grid) else {
            return Ok(Some("a name is a reference"));
        };
        let drawn = |network: &Network| {
            let flow = |flow: &FlowConfig| (flow.app.clone(), flow.stack.clone(), flow.forward.clone());
            let flows: Vec<_> = network.flows.iter().map(flow).collect();
            let udp: Vec<_> = network.udp.iter().map(|udp| (udp.path.clone(), udp.on.clone())).collect();
            let delays: Vec<_> = network.links.iter().map(|link| link.delay).collect();
            (flows, udp, delays)
        };
        if drawn(&built.network) != drawn(case.network) {
            return Ok(Some("what bears a name draws"));
        }
        assert_same(&simulate(&built.network), case.base)?;
        Ok(None)
    });
}

/// The network with starts that differ, by odd times, from each other.
fn spread(network: &Network) -> Network {
    let mut spread = network.clone();
    for (flow, odd) in spread.flows.iter_mut().zip((0..).map(|n: u64| 1009 * n)) {
        flow.app.start += odd;
    }
    spread
}

#[test]
fn flows_in_another_order_have_the_same_results() {
    hold(500, 80, |case| -> Held {
        let network = case.network;
        if network.flows.len() + network.udp.len() < 2 {
            return Ok(Some("one source has one order"));
        }
        if shares_state(network) {
            return Ok(Some("connections that share state act in the order of their numbers"));
        }
        if hashes_flows(network) {
            return Ok(Some("fq-codel hashes the number of a flow"));
        }
        if network.flows.len() > 500 {
            return Ok(Some("many flows"));
        }
        let spread = spread(network);
        if has_ties(&spread) {
            return Ok(Some("packets of two sources come at one instant"));
        }
        let base = simulate(&spread);
        let mut turned = spread;
        turned.flows.reverse();
        turned.udp.reverse();
        let mut outcome = simulate(&turned);
        outcome.flows.reverse();
        assert_same(&outcome, &base)?;
        Ok(None)
    });
}

#[test]
fn links_in_another_order_have_the_same_results() {
    hold(300, 60, |case| -> Held {
        if has_ties(case.network) {
            return Ok(Some("packets of two sources come at one instant"));
        }
        let last = case.network.links.len() - 1;
        let turn = |path: &mut Vec<usize>| path.iter_mut().for_each(|link| *link = last - *link);
        let mut turned = case.network.clone();
        turned.links.reverse();
        for flow in &mut turned.flows {
            turn(&mut flow.forward);
            turn(&mut flow.reverse);
        }
        turned.udp.iter_mut().for_each(|source| turn(&mut source.path));
        let mut outcome = simulate(&turned);
        outcome.links.reverse();
        assert_same(&outcome, case.base)?;
        Ok(None)
    });
}

#[test]
fn a_flow_that_never_begins_changes_nothing() {
    hold(300, 100, |case| -> Held {
        let network = case.network;
        let Some(model) = network.flows.first() else { return Ok(Some("no flow")) };
        let mut idle = model.clone();
        idle.name = "idle".into();
        idle.sharing = Sharing { cluster: u32::MAX, ..model.sharing };
        idle.app.start = network.end.0;
        // One that ends would be waited for.
        (idle.app.bytes, idle.app.lifetime, idle.app.sizes) = (None, None, vec![]);
        // Sources of datagrams have the numbers after the flows, so that their hashes change with the number of flows.
        if hashes_flows(network) && !network.udp.is_empty() {
            return Ok(Some("hashed datagrams"));
        }
        let mut last = network.clone();
        last.flows.push(idle.clone());
        let mut outcome = simulate(&last);
        let unborn = outcome.flows.pop().expect("the idle flow");
        prop_assert_eq!((unborn.start, unborn.sent, unborn.delivered), (None, 0, 0));
        assert_same(&outcome, case.base)?;
        if hashes_flows(network) {
            return Ok(None);
        }
        let mut first = network.clone();
        first.flows.insert(0, idle);
        let mut outcome = simulate(&first);
        outcome.flows.remove(0);
        assert_same(&outcome, case.base)?;
        Ok(None)
    });
}

#[test]
fn a_link_that_nobody_uses_and_a_source_that_is_never_on_change_nothing() {
    hold(300, 120, |case| -> Held {
        let network = case.network;
        let mut more = network.clone();
        let unused: Vec<LinkConfig> = network.links.iter().take(3).cloned().collect();
        for link in unused {
            let name = fresh_name(&more.links);
            more.links.push(LinkConfig { name, ..link });
        }
        let path = vec![network.links.len()];
        for on in [vec![], vec![(network.end, network.end.saturating_add(Nanos::from_secs(1)))]] {
            let rate = network.links[0].rate;
            let name = format!("silent{}", more.udp.len());
            more.udp.push(UdpConfig { name, path: path.clone(), size: 1000, rate, on });
        }
        let mut outcome = simulate(&more);
        let unused = outcome.links.split_off(network.links.len());
        prop_assert!(unused.iter().all(|link| link.stats.packets + link.stats.drops == 0));
        assert_same(&outcome, case.base)?;
        Ok(None)
    });
}

/// Both networks side by side, until `end`, under the seed of the first.
fn both(first: &Network, second: &Network, end: Nanos) -> Network {
    let mut both = Network { end, until_finished: false, ..first.clone() };
    let (links, clusters) = (first.links.len(), 1_000_000);
    let moved = |path: &[usize]| path.iter().map(|link| link + links).collect::<Vec<_>>();
    both.links.extend(second.links.iter().cloned());
    both.flows.extend(second.flows.iter().map(|flow| FlowConfig {
        forward: moved(&flow.forward),
        reverse: moved(&flow.reverse),
        sharing: Sharing { cluster: flow.sharing.cluster + clusters, ..flow.sharing },
        ..flow.clone()
    }));
    both.udp.extend(second.udp.iter().map(|udp| UdpConfig { path: moved(&udp.path), ..udp.clone() }));
    both
}

#[test]
fn networks_that_share_no_link_have_the_results_that_each_has_alone() {
    let tally = Tally::default();
    draw(300, &(written(), written()), |texts| {
        let [first, second] = [&texts.0, &texts.1]
            .map(|written| run(&written.read().expect("the generator writes valid scenarios").scenario));
        let (Ok((first, _)), Ok((second, _))) = (first, second) else {
            tally.count(Some("one is refused, or large"));
            return Ok(());
        };
        let end = first.end.min(second.end);
        let beside = both(&first, &second, end);
        let together = simulate_observed(&beside, Mode::Fused, NoObserver).0;
        for threads in [1, 2, 4] {
            assert_same(&simulate_on(&beside, threads), &together)?;
        }
        // Sources of datagrams have the numbers after the flows.
        if hashes_flows(&second) || hashes_flows(&first) && !first.udp.is_empty() {
            tally.count(Some("fq-codel hashes the number of a flow"));
            return Ok(());
        }
        let alone = |network: &Network| -> Outcome {
            simulate(&Network {
                end,
                until_finished: false,
                seed: first.seed,
                grid: first.grid,
                ..network.clone()
            })
        };
        let [first, second] = [alone(&first), alone(&second)];
        let flows: Vec<FlowOutcome> = [first.flows, second.flows].concat();
        let links = [first.links, second.links].concat();
        assert_same(&together, &Outcome { end: together.end, flows, links })?;
        tally.count(None);
        Ok(())
    });
    tally.assert_enough(60);
}
