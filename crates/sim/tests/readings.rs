//! Link readings taken during a run equal the counters of a run that ends at the reading time.

use std::sync::Arc;

use crate::common::{Case, MS, audited, line_of_routers, network};
use firstflight_contract::Nanos;
use firstflight_net::queue::Room;
use firstflight_net::queue::codel::CodelConfig;
use firstflight_net::rate_trace::RateTrace;
use firstflight_sim::config::{Network, QueueConfig};
use firstflight_sim::engine::Mode;
use firstflight_sim::outcome::{LinkOutcome, Outcome};

/// Reads the links of `net` at these times, milliseconds, in both modes, and asserts that runs which end
/// there agree; returns the whole run.
fn reads_as_runs_that_end_there(net: &Network, times_ms: &[u64]) -> Outcome {
    let times: Vec<Nanos> = times_ms.iter().map(|ms| Nanos(ms * MS)).collect();
    let read = reading(net, &times);
    let (whole, _) = audited(&read, Mode::Fused);
    assert_eq!(whole, audited(&read, Mode::PerHop).0, "per hop");
    for (i, &time) in times.iter().enumerate() {
        let short = Network { end: time.min(net.end), ..net.clone() };
        // An unlimited link knows the transmissions not started at the end only if it has readings.
        let (short, _) = audited(&reading(&short, &[net.end]), Mode::Fused);
        for (link, (whole, short)) in whole.links.iter().zip(&short.links).enumerate() {
            let short = LinkOutcome { readings: vec![], ..short.clone() };
            assert_eq!(whole.readings[i], short, "link {link} by {time:?}");
        }
    }
    let (plain, _) = audited(net, Mode::Fused);
    assert_eq!(whole.flows, plain.flows, "readings must not change the run");
    assert!(whole.links[0].readings[0].stats.packets > 100 && plain.links[0].stats.drops > 0);
    for (read, plain) in whole.links.iter().zip(&plain.links).filter(|(_, link)| link.stats.max_queue > 0) {
        assert_eq!(
            LinkOutcome { readings: vec![], ..read.clone() },
            *plain,
            "readings must not change the run"
        );
    }
    whole
}

fn reading(net: &Network, times: &[Nanos]) -> Network {
    let mut net = net.clone();
    net.links.iter_mut().for_each(|link| link.read_at = times.to_vec());
    net
}

/// 3.33 s falls between transmissions; at 60 s the run has long ended.
const TIMES: [u64; 4] = [1000, 2000, 3333, 60_000];

#[test]
fn readings_agree_on_a_dumbbell_for_every_kind_of_queue() {
    let codel = QueueConfig::Codel(CodelConfig::STANDARD, Room::Packets(40));
    let queues = [None, Some(QueueConfig::Bytes(20_000)), Some(codel)];
    for queue in queues {
        for loss in [0.0, 0.002] {
            let case =
                Case { queue, loss, flows: 6, buffer: 20, udp_mbit_s: 2, seconds: 8, ..Case::default() };
            let whole = reads_as_runs_that_end_there(&network(&case), &TIMES);
            let drops: Vec<u64> = whole.links[0].readings.iter().map(|link| link.stats.drops).collect();
            assert!(drops.is_sorted() && drops[0] < drops[3], "{drops:?}");
        }
    }
    let marks = Case { red: true, ecn: true, flows: 6, buffer: 60, seconds: 8, ..Case::default() };
    let whole = reads_as_runs_that_end_there(&network(&marks), &TIMES);
    assert!(whole.links[0].readings[1].stats.marks > 0);
}

#[test]
fn readings_agree_on_a_line_whose_stages_run_ahead_of_each_other() {
    let case = Case { udp_mbit_s: 1, every: 2, buffer: 20, ..Case::default() };
    let spans = [(0, 4), (4, 0), (0, 1), (1, 2), (2, 3), (3, 4), (3, 1)];
    reads_as_runs_that_end_there(&line_of_routers(&case, &[10_000, 25_000, 5_000, 1_000], &spans), &TIMES);
}

#[test]
fn readings_agree_with_a_changing_rate_and_after_the_flows_end() {
    let rates = (0..100).map(|i| (i * 100 * MS, [20_000_000, 2_000_000, 0][i as usize % 3]));
    let case = Case { flows: 4, buffer: 20, seconds: 10, ..Case::default() };
    let mut net = network(&case);
    net.links[0].trace = Some(Arc::new(RateTrace::rates(rates.chain([(10_000 * MS, 10_000_000)]).collect())));
    reads_as_runs_that_end_there(&net, &TIMES);
    let finite = network(&Case { bytes: Some(1_000_000), flows: 5, buffer: 10, ..Case::default() });
    let whole = reads_as_runs_that_end_there(&finite, &TIMES);
    assert!(whole.end < 60_000 * MS);
}
