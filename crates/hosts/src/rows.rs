//! Rows of results from the outcome of a run, for every host that reports one.

use firstflight_contract::Nanos;
use firstflight_document::seconds::Seconds;
use firstflight_results::{EngineResult, FlowResult, LinkResult, RunResult, StartupExit};
use firstflight_scenario::Scenario;
use firstflight_sim::outcome::{FlowOutcome, LinkOutcome, Outcome};

use crate::network::Built;
use crate::stats::jain;

/// The result of one run of the scenario from which `built` was made, without its cost in time.
pub fn run_result(scenario: &Scenario, seed: u64, built: &Built, outcome: &Outcome) -> RunResult {
    let flows: Vec<FlowResult> =
        (0..outcome.flows.len()).map(|index| flow_result(scenario, built, outcome, index)).collect();
    // A flow whose time has not come by the end of the run has no share.
    let due = built.network.flows.iter().map(|flow| flow.app.start < outcome.end);
    let goodputs: Vec<f64> =
        due.zip(&flows).filter(|(due, _)| *due).map(|(_, flow)| flow.goodput_bit_s).collect();
    let links = built.named_links.iter();
    let links = links.map(|&index| link_result(&built.network.links[index].name, &outcome.links[index]));
    RunResult {
        title: scenario.title.clone(),
        seed,
        simulated_s: Nanos(outcome.end).as_secs_f64(),
        links: links.collect(),
        fairness_jain: jain(&goodputs),
        flows,
        engine: EngineResult { packet_hops: outcome.packet_hops(), cpu_s: None, wall_s: None },
        means: None,
        runs: vec![],
        host: None,
        validity: None,
    }
}

fn link_result(name: &str, link: &LinkOutcome) -> LinkResult {
    LinkResult {
        name: name.into(),
        utilization: link.utilization,
        drops: link.stats.drops + link.stats.wire_losses,
        marks: link.stats.marks,
        mean_queue_packets: link.mean_queue,
        max_queue_packets: link.stats.max_queue.into(),
        packets: link.stats.packets,
        waiting_packets: link.stats.waiting.into(),
        readings: link.readings.iter().map(|reading| link_result(name, reading)).collect(),
    }
}

fn flow_result(scenario: &Scenario, built: &Built, outcome: &Outcome, index: usize) -> FlowResult {
    let flow = &outcome.flows[index];
    let config = &built.network.flows[index];
    let group = &scenario.flows[built.group[index]];
    let packets = |bytes: u64| bytes as f64 / f64::from(config.stack.mss);
    let start = flow.start.unwrap_or(config.app.start);
    let completion = flow.completions.first().copied();
    // A flow with rounds, or one that did not finish, lasts to the end of the run; one that begins after it has no life.
    let whole_life = outcome.end.saturating_sub(start);
    let several = !config.app.pauses.is_empty();
    let life = if several { whole_life } else { completion.unwrap_or(whole_life) };
    let grid = built.network.grid;
    let at = |i: usize| Nanos(grid.0 * (i as u64 + 1)).as_secs_f64();
    FlowResult {
        name: config.name.clone(),
        startup: group.scheme.startup(),
        avoidance: group.scheme.avoidance().into(),
        start_s: Nanos(start).as_secs_f64(),
        size_bytes: built.size[index],
        completion_s: completion.map(|t| Nanos(t).as_secs_f64()),
        rounds_s: match several || group.rounds.is_some() {
            true => flow.completions.iter().map(|&t| Nanos(t).as_secs_f64()).collect(),
            false => vec![],
        },
        delivered_bytes: flow.delivered_bytes,
        delivered_packets: flow.delivered.into(),
        goodput_bit_s: if life == 0 { 0.0 } else { flow.delivered_bytes as f64 * 8e9 / life as f64 },
        retransmits: flow.retransmits,
        timeouts: flow.timeouts,
        lost_packets: flow.lost,
        startup_exit: startup_exit(flow, start, config.stack.mss, built.bdp[index], built.buffer[index]),
        first_flight_packets: flow.first_flight.into(),
        max_cwnd_packets: packets(flow.max_cwnd),
        final_cwnd_packets: packets(flow.final_cwnd),
        delivered_at: flow.delivered_at.iter().enumerate().map(|(i, &n)| (at(i), n.into())).collect(),
        receiver_reads: None,
    }
}

/// End of a flow's start-up as a result; `None` while start-up lasts.
pub(crate) fn startup_exit(
    flow: &FlowOutcome,
    start: u64,
    mss: u32,
    bdp_packets: f64,
    buffer_packets: f64,
) -> Option<StartupExit> {
    let exit = flow.startup_exit?;
    let cwnd_packets = exit.cwnd as f64 / f64::from(mss);
    Some(StartupExit {
        // Data with the SYN may end start-up before the handshake ends: its times count from there.
        time_s: Nanos(exit.at.0.saturating_sub(start)).as_secs_f64(),
        cwnd_packets,
        bdp_packets,
        overshoot_packets: (cwnd_packets - bdp_packets - buffer_packets).max(0.0) as u64,
        lost_before_exit_packets: flow.lost_before_exit,
        reason: exit.reason,
    })
}
