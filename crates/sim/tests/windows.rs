//! A connected network whose stages run on several threads has the outcome of a run on one, byte for byte.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::common::{Case, MS, RED, line_of_routers, network};
use firstflight_contract::Nanos;
use firstflight_net::lanes::LanesConfig;
use firstflight_net::queue::Room;
use firstflight_net::queue::codel::CodelConfig;
use firstflight_net::queue::fq_codel::FqCodelConfig;
use firstflight_random::Stream;
use firstflight_sim::config::{Network, QueueConfig};
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::NoObserver;
use firstflight_sim::outcome::{simulate_in_windows, simulate_observed, simulate_on, simulate_timed};
use firstflight_sim::sender::stack::Recovery;
use firstflight_sim::timings::Division;

/// Asserts that the outcome is that of one thread, in both modes, for 2 and 4 threads. Returns the most threads that were used.
fn same(network: &Network) -> usize {
    let one = simulate_observed(network, Mode::Fused, NoObserver).0;
    assert_eq!(one, simulate_observed(network, Mode::PerHop, NoObserver).0, "per hop");
    let mut most = 1;
    for threads in [2, 4] {
        if let Some(outcome) = simulate_in_windows(network, threads) {
            assert_eq!(
                format!("{outcome:?}"),
                format!("{one:?}"),
                "{threads} threads, seed {}",
                network.seed
            );
            most = threads;
        }
    }
    assert_eq!(simulate_on(network, 2), one);
    most
}

/// A fast dumbbell or line of routers with queues of any kind.
fn any_network(seed: u64) -> Network {
    let random = &mut Stream::seeded(seed);
    let kinds = [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack { sack: true }];
    let codel = CodelConfig { target: 5 * MS, interval: 100 * MS, ecn: false };
    let buffer = 30 + random.below(600) as u32;
    let finite = random.below(3) == 0;
    let case = Case {
        recovery: kinds[random.below(kinds.len())],
        ns2: random.below(3) == 0,
        flows: 4 + random.below(30),
        mbit_s: 100 + random.below(200) as u64,
        rtt: 20 + random.below(100) as u64,
        buffer,
        seconds: if finite { 30 } else { 1 },
        every: 1 + random.below(2) as u32,
        initial_window: 1 + random.below(10) as u32,
        ssthresh: [None, Some(200)][random.below(2)],
        bytes: finite.then(|| 1_000_000 + random.below(4_000_000) as u64),
        pauses: [vec![], vec![200]][random.below(2)].clone(),
        udp_mbit_s: if finite { 0 } else { random.below(30) as u64 },
        red: random.below(4) == 0,
        queue: match random.below(8) {
            0 => Some(QueueConfig::Codel(codel, Room::Packets(buffer))),
            1 => Some(QueueConfig::FqCodel(FqCodelConfig {
                codel,
                quantum: 1514,
                flows: 16,
                room: Room::Packets(buffer),
            })),
            2 => Some(QueueConfig::Priority(Room::Packets(buffer))),
            3 => Some(QueueConfig::Red(RED)),
            _ => None,
        },
        loss: [0.0, 0.0, 0.002][random.below(3)],
        handshake: random.below(2) == 0,
        seed,
        ..Case::default()
    };
    let case = if case.ns2 && case.recovery.is_rack() { Case { ns2: false, ..case } } else { case };
    let mut net = if random.below(2) == 0 {
        network(&case)
    } else {
        let delays: Vec<u64> = (0..2 + random.below(4)).map(|_| 1 + random.below(30_000) as u64).collect();
        let hops = delays.len();
        let spans = (0..case.flows).map(|_| {
            let from = random.below(hops + 1);
            (from, (from + 1 + random.below(hops)) % (hops + 1))
        });
        let spans: Vec<_> = spans.collect();
        let mut net = line_of_routers(&Case { queue: None, ..case.clone() }, &delays, &spans);
        net.links.iter_mut().for_each(|link| link.queue = case.queue.unwrap_or(link.queue));
        net
    };
    if random.below(4) == 0 {
        net.links[0].lanes = Some(LanesConfig { share: 0.05, burst: 1.0, delay: Nanos(3 * MS) });
    }
    net
}

#[test]
fn random_connected_networks_have_the_outcome_of_one_thread() {
    let (mut two, mut more) = (0, 0);
    for seed in 0..16 {
        let network = any_network(seed);
        match same(&network) {
            1 => {}
            2 => two += 1,
            _ => more += 1,
        }
    }
    assert!(two + more >= 10, "{two} on two threads, {more} on more");
}

#[test]
fn many_flows_wait_in_calendars_of_other_threads() {
    for (every, bytes) in [(1, None), (2, Some(300_000))] {
        let case =
            Case { flows: 300, mbit_s: 400, buffer: 2000, seconds: 3, every, bytes, ..Case::default() };
        let mut network = network(&case);
        network.flows.iter_mut().for_each(|flow| flow.app.start /= 30);
        // A dumbbell has two stages.
        assert!(same(&network) >= 2);
        assert_eq!(simulate_in_windows(&network, 1), None);
    }
}

#[test]
fn the_threads_of_a_run_are_timed() {
    // A clock that goes on by a nanosecond with each look.
    let looks = AtomicU64::new(0);
    let clock = || Duration::from_nanos(looks.fetch_add(1, Ordering::SeqCst));
    let case = Case { mbit_s: 400, buffer: 600, seconds: 2, initial_window: 10, ..Case::default() };

    let dumbbell = network(&Case { flows: 4, mbit_s: 2, ..case.clone() });
    let (outcome, timings) = simulate_timed(&dumbbell, 2, &clock);
    assert_eq!(outcome, simulate_on(&dumbbell, 2));
    assert_eq!((timings.division, timings.threads.len()), (Division::Whole, 1));
    assert_eq!(timings.threads[0].waiting, Duration::ZERO);

    // Each half of a line of routers has its own flows, but for one in seven.
    let spans = [(0, 2), (1, 3), (3, 0), (4, 6), (5, 7), (7, 4), (2, 5)];
    let spans = spans.iter().cycle().take(70).copied().collect::<Vec<_>>();
    let line = line_of_routers(&case, &[10_000; 7], &spans);
    let (outcome, timings) = simulate_timed(&line, 2, &clock);
    assert_eq!(outcome, simulate_on(&line, 1));
    let Division::Groups(met) = timings.division else { panic!("{timings:?}") };
    // A thread looks twice at each meeting, so that it waits at least a nanosecond.
    assert!(met > 10 && timings.threads.len() == 2, "{timings:?}");
    assert!(timings.threads.iter().all(|spent| spent.waiting >= Duration::from_nanos(met)), "{timings:?}");
    assert!(timings.threads.iter().all(|spent| spent.working > Duration::ZERO), "{timings:?}");
}

#[test]
fn a_run_on_several_threads_ends_when_it_is_told_to() {
    let mut network =
        network(&Case { flows: 30, mbit_s: 400, buffer: 2000, seconds: 1000, ..Case::default() });
    network.stop = Some(Arc::new(AtomicBool::new(true)));
    assert_eq!(simulate_in_windows(&network, 2), None);
}
