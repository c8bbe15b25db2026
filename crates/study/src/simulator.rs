//! The simulator as a host.

use firstflight_contract::{Nanos, Signals};
use firstflight_results::{EngineResult, FlowResult, LinkResult, RunResult, SampleRow, StartupExit};
use firstflight_scenario::Scenario;
use firstflight_scenario::seconds::Seconds;
use firstflight_sim::config::FlowConfig;
use firstflight_sim::outcome::{FlowOutcome, LinkOutcome, Outcome, simulate};

use crate::host::{FlowChoice, FlowOverTime, Host, LinkReadings, Observe, Refusal, Run};
use crate::memory::Estimate;
use crate::network::{Built, DELIVERY, OFFERED, build_within, estimate};
use crate::stats::jain;
use crate::trace::{Traced, record, simulate_sampled, simulate_traced};

/// The packet-level simulator: virtual time, every scheme of the registry, the same bytes for the same seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulator;

impl Host for Simulator {
    fn name(&self) -> &'static str {
        "simulator"
    }

    fn offers(&self) -> Signals {
        OFFERED
    }

    fn check(&self, scenario: &Scenario, observe: &Observe) -> Result<Estimate, Refusal> {
        let built = build_within(observe.memory, scenario, scenario.seed, observe.grid)?;
        Ok(estimate(scenario, &built, observe))
    }

    fn run(&self, scenario: &Scenario, seed: u64, observe: &Observe) -> Result<Run, Refusal> {
        let mut built = build_within(observe.memory, scenario, seed, observe.grid)?;
        limit_memory(scenario, &mut built, observe)?;
        read_links(&mut built, &observe.links);
        // A flow over time and the packets need an event for each hop, in order of time; totals alone do not.
        let index = observe.flow.as_ref().map(|choice| chosen(&built, choice)).transpose()?;
        let (recorded, recording) = match observe.packets {
            true => {
                let (outcome, recording) = record(&built.network, "run", &built.scheme);
                (Some(outcome), Some(recording))
            }
            false => (None, None),
        };
        let (outcome, flow) = match index {
            Some(index) => {
                let (outcome, traced) = simulate_traced(&built.network, index as u32);
                let flow = over_time(&built, &outcome, index, traced);
                (outcome, Some(flow))
            }
            None => (recorded.unwrap_or_else(|| simulate(&built.network)), None),
        };
        check_deliveries(&built, &outcome)?;
        let samples = if observe.samples { samples(&built) } else { vec![] };
        Ok(Run { result: result(scenario, seed, &built, &outcome), flow, samples, recording })
    }
}

/// Refuses a run that takes more memory than it may, and limits the deliveries of one whose end is unknown.
fn limit_memory(scenario: &Scenario, built: &mut Built, observe: &Observe) -> Result<(), Refusal> {
    let estimate = estimate(scenario, built, observe);
    estimate.admit(1, observe.memory)?;
    if scenario.duration.is_none() {
        let spare = (observe.memory as f64 - estimate.bytes(1)) as u64;
        built.network.grid_points = spare / DELIVERY / built.network.flows.len().max(1) as u64;
    }
    Ok(())
}

/// Refuses the result of a run whose deliveries had no room.
fn check_deliveries(built: &Built, outcome: &Outcome) -> Result<(), Refusal> {
    let most = built.network.grid_points;
    if outcome.flows.iter().all(|flow| flow.delivered_at.len() as u64 <= most) {
        return Ok(());
    }
    let why = format!(
        "a run of {} s has more deliveries than the memory has room for; expected a longer interval (or a higher --memory)",
        Nanos(outcome.end).as_secs_f64()
    );
    Err(Refusal { key: "grid".into(), why })
}

fn read_links(built: &mut Built, readings: &LinkReadings) {
    for &index in &built.named_links {
        let link = &mut built.network.links[index];
        if readings.includes(&link.name) {
            link.read_at.clone_from(&readings.times);
        }
    }
}

fn chosen(built: &Built, choice: &FlowChoice) -> Result<usize, Refusal> {
    let flows = &built.network.flows;
    let matches = |flow: &FlowConfig| match choice {
        FlowChoice::First => true,
        FlowChoice::Named(name) => flow.name == *name,
    };
    flows.iter().position(matches).ok_or_else(|| {
        let why = match choice {
            FlowChoice::Named(name) => format!("there is no flow {name} to observe over time"),
            FlowChoice::First => "there is no flow to observe over time".into(),
        };
        Refusal { key: "flow".into(), why }
    })
}

/// Every flow over time, as run number 0.
fn samples(built: &Built) -> Vec<SampleRow> {
    let series = simulate_sampled(&built.network);
    let flows = built.network.flows.iter().zip(&series);
    flows.flat_map(|(flow, series)| series.rows(0, &flow.name)).collect()
}

fn over_time(built: &Built, outcome: &Outcome, index: usize, traced: Traced) -> FlowOverTime {
    let (config, flow) = (&built.network.flows[index], &outcome.flows[index]);
    let start = flow.start.unwrap_or(config.app.start);
    let (bdp_packets, buffer_packets) = (built.bdp[index], built.buffer[index]);
    FlowOverTime {
        scheme: built.scheme[index].clone(),
        bdp_packets,
        buffer_packets,
        lasted_s: Nanos(outcome.end.saturating_sub(start)).as_secs_f64(),
        startup_exit: startup_exit(flow, start, config.stack.mss, bdp_packets, buffer_packets),
        losses_s: traced.losses_s,
        retransmits_s: traced.retransmits_s,
        series: traced.series,
    }
}

/// The result of one run, without its cost in time.
fn result(scenario: &Scenario, seed: u64, built: &Built, outcome: &Outcome) -> RunResult {
    let flows: Vec<FlowResult> =
        (0..outcome.flows.len()).map(|index| flow_result(scenario, built, outcome, index)).collect();
    let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput_bit_s).collect();
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
    // A flow with rounds, or one that did not finish, lasts to the end of the run.
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
    }
}

/// End of a flow's start-up as a result; `None` while start-up lasts.
fn startup_exit(
    flow: &FlowOutcome,
    start: u64,
    mss: u32,
    bdp_packets: f64,
    buffer_packets: f64,
) -> Option<StartupExit> {
    let exit = flow.startup_exit?;
    let cwnd_packets = exit.cwnd as f64 / f64::from(mss);
    Some(StartupExit {
        time_s: exit.at.saturating_sub(Nanos(start)).as_secs_f64(),
        cwnd_packets,
        bdp_packets,
        overshoot_packets: (cwnd_packets - bdp_packets - buffer_packets).max(0.0) as u64,
        lost_before_exit_packets: flow.lost_before_exit,
        reason: exit.reason,
    })
}
