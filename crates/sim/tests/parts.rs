//! A run in parts, and one in groups of stages, has the outcome of one run of the whole, byte for byte, on any number of threads.

use crate::common::{Case, MS, audited, line_of_routers, network};
use firstflight_contract::Nanos;
use firstflight_host::chain::Chain;
use firstflight_net::lanes::LanesConfig;
use firstflight_net::queue::Room;
use firstflight_net::queue::codel::CodelConfig;
use firstflight_net::queue::fq_codel::FqCodelConfig;
use firstflight_paths::Policy;
use firstflight_random::Stream;
use firstflight_schemes::registry::AnyPhase;
use firstflight_sim::config::{Network, QueueConfig};
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::NoObserver;
use firstflight_sim::outcome::{Outcome, count_parts, simulate_observed, simulate_on, simulate_timed};
use firstflight_sim::sender::stack::Recovery;
use firstflight_sim::timings::Division;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The networks as one, with numbers of links, flows and sources in turn, as of networks that were written side by side.
fn beside(networks: &[Network]) -> Network {
    let mut whole = Network { links: vec![], flows: vec![], udp: vec![], ..networks[0].clone() };
    let mut places: Vec<Vec<usize>> = networks.iter().map(|of| vec![0; of.links.len()]).collect();
    let most = |count: &dyn Fn(&Network) -> usize| 0..networks.iter().map(count).max().unwrap_or(0);
    for link in most(&|of| of.links.len()) {
        for (of, places) in networks.iter().zip(&mut places).filter(|(of, _)| link < of.links.len()) {
            places[link] = whole.links.len();
            whole.links.push(of.links[link].clone());
        }
    }
    // Names of links select their random streams.
    for (number, link) in whole.links.iter_mut().enumerate() {
        link.name = format!("{}-{number}", link.name);
    }
    for flow in most(&|of| of.flows.len()) {
        for (of, places) in networks.iter().zip(&places).filter(|(of, _)| flow < of.flows.len()) {
            let mut flow = of.flows[flow].clone();
            flow.forward.iter_mut().chain(&mut flow.reverse).for_each(|link| *link = places[*link]);
            whole.flows.push(flow);
        }
    }
    for source in most(&|of| of.udp.len()) {
        for (of, places) in networks.iter().zip(&places).filter(|(of, _)| source < of.udp.len()) {
            let mut source = of.udp[source].clone();
            source.path.iter_mut().for_each(|link| *link = places[*link]);
            whole.udp.push(source);
        }
    }
    whole
}

/// Asserts that the outcome is that of the undivided run, in both modes and under the auditor, for 1, 2, 4 and 8 threads.
fn same(whole: &Network) -> Outcome {
    let undivided = simulate_observed(whole, Mode::Fused, NoObserver).0;
    assert_eq!(undivided, audited(whole, Mode::PerHop).0, "per hop");
    for threads in [1, 2, 4, 8] {
        let outcome = simulate_on(whole, threads);
        assert_eq!(
            format!("{outcome:?}"),
            format!("{undivided:?}"),
            "{threads} threads, seed {}",
            whole.seed
        );
    }
    undivided
}

/// A queue of any kind.
fn any_queue(random: &mut Stream, limit: u32) -> Option<QueueConfig> {
    let codel = CodelConfig { target: 5 * MS, interval: 100 * MS, ecn: false };
    Some(match random.below(5) {
        0 => QueueConfig::Codel(codel, Room::Packets(limit)),
        // Four queues: flows collide by their numbers.
        1 => {
            QueueConfig::FqCodel(FqCodelConfig { codel, quantum: 1514, flows: 4, room: Room::Packets(limit) })
        }
        2 => QueueConfig::Priority(Room::Packets(limit)),
        _ => return None,
    })
}

/// A connected network: a dumbbell, or a line of routers.
fn any_network(random: &mut Stream, finite: bool) -> Network {
    let kinds = [
        Recovery::Tahoe,
        Recovery::Reno,
        Recovery::NewReno,
        Recovery::Sack,
        Recovery::Rack { sack: false },
        Recovery::Rack { sack: true },
    ];
    let buffer = 5 + random.below(60) as u32;
    let case = Case {
        recovery: kinds[random.below(kinds.len())],
        flows: 1 + random.below(6),
        mbit_s: 1 + random.below(30) as u64,
        rtt: 1 + random.below(300) as u64,
        buffer,
        seconds: 8,
        every: 1 + random.below(2) as u32,
        initial_window: 1 + random.below(10) as u32,
        bytes: finite.then(|| 1000 + random.below(800_000) as u64),
        pauses: [vec![], vec![200], vec![0, 1500]][random.below(3)].clone(),
        udp_mbit_s: if finite { 0 } else { random.below(3) as u64 },
        red: random.below(4) == 0,
        queue: any_queue(random, buffer),
        loss: [0.0, 0.0, 0.01][random.below(3)],
        handshake: random.below(2) == 0,
        walk: [0, 0, 100, 10_000][random.below(4)],
        ..Case::default()
    };
    if random.below(3) > 0 || case.queue.is_some() {
        return network(&case);
    }
    let delays: Vec<u64> = (0..1 + random.below(3)).map(|_| random.below(30_000) as u64).collect();
    let hops = delays.len();
    let spans: Vec<(usize, usize)> =
        (0..case.flows).map(|flow| if flow % 2 == 0 { (0, hops) } else { (hops, 0) }).collect();
    let mut net = line_of_routers(&case, &delays, &spans);
    if random.below(3) == 0 {
        net.links[0].lanes = Some(LanesConfig { share: 0.2, burst: 1.5, delay: Nanos(3 * MS) });
    }
    net
}

/// Holds so many networks of up to five parts; returns the number of those that are large.
fn hold(finite: bool, count: u64) -> u32 {
    let mut hops = 0;
    for seed in 0..count {
        let random = &mut Stream::seeded(seed);
        let networks: Vec<Network> = (0..2 + random.below(4)).map(|_| any_network(random, finite)).collect();
        let whole = Network { seed, ..beside(&networks) };
        assert!(count_parts(&whole) >= networks.len(), "seed {seed}");
        let outcome = same(&whole);
        // Fewer crossings than expected: many of these are worth threads.
        hops += u32::from(outcome.packet_hops() > 100_000);
    }
    hops
}

#[test]
fn random_networks_in_parts_have_the_outcome_of_the_whole() {
    // Some are large enough for threads.
    assert!(hold(false, 40) >= 5);
}

#[test]
fn random_networks_that_end_with_their_last_flow_have_the_outcome_of_the_whole() {
    hold(true, 40);
}

#[test]
fn a_part_that_goes_on_after_the_last_flow_is_made_again_up_to_its_end() {
    // Copies of the first part's packets are on their way when its last flow ends, which is the last of all.
    let case = |rtt, mbit_s, bytes, loss| {
        network(&Case {
            bytes: Some(bytes),
            loss,
            rtt,
            mbit_s,
            flows: 3,
            recovery: Recovery::NewReno,
            ..Case::default()
        })
    };
    for loss in [0.0, 0.02, 0.1] {
        let networks = [case(300, 2, 300_000, loss), case(20, 10, 50_000, 0.0), case(100, 10, 50_000, loss)];
        let whole = beside(&networks);
        assert_eq!(count_parts(&whole), 3);
        same(&whole);
    }
}

#[test]
fn a_part_that_does_not_finish_lasts_as_long_as_the_run() {
    let long = network(&Case { bytes: Some(1_000_000_000), ..Case::default() });
    let short = network(&Case { bytes: Some(10_000), ..Case::default() });
    let whole = beside(&[short, long]);
    assert_eq!((count_parts(&whole), same(&whole).end), (2, whole.end.0));
}

#[test]
fn the_threads_of_parts_are_timed() {
    let case = Case { flows: 6, mbit_s: 100, buffer: 200, seconds: 4, ..Case::default() };
    let whole = beside(&[network(&case), network(&Case { rtt: 30, ..case.clone() }), network(&case)]);
    // A clock that goes on by a nanosecond with each look: a thread looks before and after its work.
    let looks = AtomicU64::new(0);
    let clock = || Duration::from_nanos(looks.fetch_add(1, Ordering::SeqCst));
    for threads in [1, 2, 3] {
        let (outcome, timings) = simulate_timed(&whole, threads, &clock);
        assert_eq!(outcome, simulate_on(&whole, 1));
        assert_eq!((timings.division, timings.threads.len()), (Division::Parts(3), threads));
        assert!(timings.threads.iter().all(|spent| spent.working > Duration::ZERO), "{timings:?}");
        let waiting = timings.threads.iter().filter(|spent| spent.waiting > Duration::ZERO);
        assert_eq!(waiting.count(), if threads == 1 { 0 } else { threads }, "{timings:?}");
    }
}

#[test]
fn links_without_traffic_belong_to_a_part() {
    let mut whole = beside(&[network(&Case::default()), network(&Case { rtt: 30, ..Case::default() })]);
    let idle = whole.links[0].clone();
    whole.links.insert(0, idle);
    let paths = whole.flows.iter_mut().flat_map(|flow| flow.forward.iter_mut().chain(&mut flow.reverse));
    paths.for_each(|link| *link += 1);
    assert_eq!((count_parts(&whole), same(&whole).links[0].stats.packets), (2, 0));
    // A network without traffic is one part.
    whole.flows.clear();
    assert_eq!((count_parts(&whole), same(&whole).flows.len()), (1, 0));
}

#[test]
fn clusters_of_connections_that_share_state_are_parts() {
    for startup in ["js", "miss", "spand", "congestion-manager"] {
        let part = |cluster: u32, mbit_s: u64| {
            let mut part = network(&Case {
                schemes: vec![startup, "reno"],
                flows: 4,
                bytes: Some(200_000),
                pauses: vec![0, 500],
                handshake: true,
                mbit_s,
                ..Case::default()
            });
            for flow in &mut part.flows {
                flow.sharing.policy = Policy::new(startup, &[]).ok();
                flow.sharing.cluster = cluster;
            }
            part
        };
        let whole = beside(&[part(1, 10), part(2, 3), part(3, 30)]);
        assert_eq!(count_parts(&whole), 3);
        same(&whole);
        // One cluster over two bottlenecks, and connections that share nothing beside those that do.
        let whole = beside(&[part(1, 10), part(1, 3), part(3, 30)]);
        assert_eq!(count_parts(&whole), 2);
        same(&whole);
        let alone = network(&Case { bytes: Some(200_000), ..Case::default() });
        let whole = beside(&[part(1, 10), alone]);
        assert_eq!(count_parts(&whole), 1);
        same(&whole);
    }
}

#[test]
fn what_couples_the_parts_keeps_the_run_whole() {
    let two = || beside(&[network(&Case::default()), network(&Case { rtt: 40, ..Case::default() })]);
    assert_eq!(count_parts(&two()), 2);
    // The run ends with a flow of one part, while one of the other goes on.
    let mut whole = two();
    whole.until_finished = true;
    whole.flows[0].app.bytes = Some(100_000);
    assert_eq!(count_parts(&whole), 1);
    same(&whole);
    // As many bytes for both: the run drains.
    whole.flows[1].app.bytes = Some(100_000);
    assert_eq!(count_parts(&whole), 2);
    same(&whole);
    // A lifetime ends a flow whose packets are on their way.
    whole.flows[1].app.lifetime = Some(700 * MS);
    assert_eq!(count_parts(&whole), 1);
    same(&whole);
    // A later end than the clock of the whole.
    let mut whole = two();
    whole.end = Nanos(u64::MAX);
    whole.until_finished = true;
    whole.flows.iter_mut().for_each(|flow| flow.app.bytes = Some(100_000));
    assert_eq!(count_parts(&whole), 1);
    // A link of both.
    let mut whole = two();
    whole.flows[0].reverse[1] = whole.flows[1].reverse[1];
    assert_eq!(count_parts(&whole), 1);
    // A scheme from outside the registry may have state that all its connections share.
    let mut whole = two();
    let own = AnyPhase::custom(firstflight_schemes::startup::slow_start::SlowStart);
    let reno = AnyPhase::by_label("reno").expect("registered");
    whole.flows[0].chain = Chain::new(vec![own, reno]).expect("a chain").into();
    assert_eq!(count_parts(&whole), 1);
}
