//! The simulator as a host.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use firstflight_contract::{Nanos, Signals};
use firstflight_document::seconds::Seconds;
use firstflight_results::SampleRow;
use firstflight_scenario::{Draws, Scenario, limits};
use firstflight_sim::begun;
use firstflight_sim::config::{FlowConfig, Network};
use firstflight_sim::engine::Mode;
use firstflight_sim::outcome::{Outcome, simulate_observed, simulate_on, simulate_timed};

use crate::cost;
use crate::host::{Begun, Ended, FlowChoice, FlowOverTime, Host, Observe, Refusal, Run};
use crate::memory::Estimate;
use crate::network::{Built, DELIVERY, OFFERED, RECORDED, build_within, estimate};
use crate::progress::Halt;
use crate::rows::{run_result, startup_exit};
use crate::trace::capture::capture;
use crate::trace::journey::Journeys;
use crate::trace::{PacketRecorder, SeriesRecorder, Traced, journeys};

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

    fn draws(&self, scenario: &Scenario) -> bool {
        scenario.draws()
    }

    fn run(&self, scenario: &Scenario, seed: u64, observe: &Observe) -> Result<Run, Halt<Refusal>> {
        run(scenario, seed, observe, None)
    }

    fn begin(
        &self,
        scenario: &Scenario,
        seed: u64,
        memory: u64,
    ) -> Result<Option<Box<dyn Begun>>, Halt<Refusal>> {
        begin(scenario, seed, memory, None)
    }
}

impl Simulator {
    /// The ways of the first `most` packets of the scenario's first connection.
    ///
    /// # Errors
    /// As [`Host::run`], and without a connection.
    pub fn journeys(&self, scenario: &Scenario, seed: u64, most: u64) -> Result<Journeys, Refusal> {
        let observe = Observe::default();
        let built = build_within(observe.memory, scenario, seed, observe.grid)?;
        estimate(scenario, &built, &observe).admit(1, observe.memory)?;
        let none = || Refusal { key: "flow".into(), why: "there is no connection to follow".into() };
        journeys(&built.network, most).ok_or_else(none)
    }
}

/// The simulator, whose runs end soon after `stop` becomes true.
#[derive(Clone, Debug, Default)]
pub struct Stoppable {
    /// Whether the runs are to end.
    pub stop: Arc<AtomicBool>,
}

impl Host for Stoppable {
    fn name(&self) -> &'static str {
        Simulator.name()
    }

    fn offers(&self) -> Signals {
        Simulator.offers()
    }

    fn check(&self, scenario: &Scenario, observe: &Observe) -> Result<Estimate, Refusal> {
        Simulator.check(scenario, observe)
    }

    fn draws(&self, scenario: &Scenario) -> bool {
        Simulator.draws(scenario)
    }

    fn run(&self, scenario: &Scenario, seed: u64, observe: &Observe) -> Result<Run, Halt<Refusal>> {
        run(scenario, seed, observe, Some(&self.stop))
    }

    fn begin(
        &self,
        scenario: &Scenario,
        seed: u64,
        memory: u64,
    ) -> Result<Option<Box<dyn Begun>>, Halt<Refusal>> {
        begin(scenario, seed, memory, Some(&self.stop))
    }
}

/// Ends a run that was stopped.
fn check_stop(stop: Option<&Arc<AtomicBool>>) -> Result<(), Halt<Refusal>> {
    match stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
        true => Err(Halt::Stopped),
        false => Ok(()),
    }
}

/// The network of a run, and what its memory has room for.
fn prepare(
    scenario: &Scenario,
    seed: u64,
    observe: &Observe,
    stop: Option<&Arc<AtomicBool>>,
) -> Result<(Built, Room), Halt<Refusal>> {
    check_stop(stop)?;
    let mut built = build_within(observe.memory, scenario, seed, observe.grid)?;
    built.network.stop = stop.cloned();
    let room = limit_memory(scenario, &mut built, observe)?;
    built.observe(observe);
    Ok((built, room))
}

/// A run up to the moment at which its scenario's first flow begins.
struct Beginning {
    begun: begun::Begun,
    seed: u64,
    observe: Observe,
    stop: Option<Arc<AtomicBool>>,
}

fn begin(
    scenario: &Scenario,
    seed: u64,
    memory: u64,
    stop: Option<&Arc<AtomicBool>>,
) -> Result<Option<Box<dyn Begun>>, Halt<Refusal>> {
    let observe = Observe { grid: limits::TIME, memory, ..Observe::default() };
    let (built, _) = prepare(scenario, seed, &observe, stop)?;
    let begun = begun::Begun::of(&built.network, 0);
    check_stop(stop)?;
    let beginning = |begun| Beginning { begun, seed, observe, stop: stop.cloned() };
    Ok(begun.map(|begun| Box::new(beginning(begun)) as Box<dyn Begun>))
}

impl Begun for Beginning {
    fn go_on(&self, scenario: &Scenario) -> Result<Option<Vec<Ended>>, Halt<Refusal>> {
        let (built, _) = prepare(scenario, self.seed, &self.observe, self.stop.as_ref())?;
        let Some(flows) = self.begun.go_on(&built.network) else { return Ok(None) };
        check_stop(self.stop.as_ref())?;
        let ended = built.network.flows.iter().zip(flows).filter_map(|(config, times)| {
            let times = times?;
            let start = times.start.unwrap_or(config.app.start);
            let seconds = |time: u64| Nanos(time).as_secs_f64();
            let transfers_s = times.completions.into_iter().map(seconds).collect();
            Some(Ended { name: config.name.clone(), start_s: seconds(start), transfers_s })
        });
        Ok(Some(ended.collect()))
    }
}

fn run(
    scenario: &Scenario,
    seed: u64,
    observe: &Observe,
    stop: Option<&Arc<AtomicBool>>,
) -> Result<Run, Halt<Refusal>> {
    let (built, Room { packets: most, threads }) = prepare(scenario, seed, observe, stop)?;
    let index = observe.flow.as_ref().map(|choice| chosen(&built, choice)).transpose()?;
    let network = &built.network;
    // One simulation serves all who observe. They need an event for each hop, in order of time; totals alone do not.
    let packets = observe.packets.then(|| PacketRecorder::of(network, &built.scheme, most));
    let flow = index.map(|index| SeriesRecorder::of_flow(network, index as u32));
    let samples = observe.samples.then(|| SeriesRecorder::of_all(network));
    let observed = packets.is_some() || flow.is_some() || samples.is_some();
    let observed = observed.then(|| simulate_observed(network, Mode::PerHop, ((packets, flow), samples)));
    // A capture needs one sender alone, whose events are in order of time in either mode.
    let scheme = built.scheme.first().map_or("", |label| &**label);
    let captured = observe.capture.and_then(|wanted| capture(network, scheme, wanted));
    let (part, capture) = captured.map_or((None, None), |(outcome, capture)| (Some(outcome), Some(capture)));
    let mut timings = None;
    let mut whole = || match observe.timings.then(cost::clock).flatten() {
        Some(clock) => {
            let (outcome, times) = simulate_timed(network, threads, &clock);
            timings = Some(times);
            outcome
        }
        None => simulate_on(network, threads),
    };
    let (outcome, ((packets, flow), samples)) = match observed {
        Some(observed) => observed,
        None => (part.unwrap_or_else(&mut whole), ((None, None), None)),
    };
    let recording =
        packets.map(|packets| packets.finish("run").ok_or_else(|| too_many_packets(most))).transpose()?;
    check_stop(stop)?;
    check_deliveries(&built, &outcome)?;
    let traced = flow.and_then(|flow| flow.finish(&outcome).pop());
    let flow = index.zip(traced).map(|(index, traced)| over_time(&built, &outcome, index, traced));
    let samples = samples.map_or_else(Vec::new, |samples| rows(network, samples.finish(&outcome)));
    let result = run_result(scenario, seed, &built, &outcome);
    Ok(Run { result, flow, samples, recording, capture, timings })
}

/// Limits of a run by its memory.
struct Room {
    /// Packets that may be recorded.
    packets: u64,
    /// Threads of the run. Each may take as much as the run on one.
    threads: usize,
}

/// Refuses a run that takes more memory than it may, and limits the deliveries of one whose end is unknown.
fn limit_memory(scenario: &Scenario, built: &mut Built, observe: &Observe) -> Result<Room, Refusal> {
    let parts = estimate(scenario, built, observe);
    parts.admit(1, observe.memory)?;
    let threads = observe.threads.min(parts.threads(1, observe.memory));
    if scenario.duration.is_some() {
        return Ok(Room { packets: u64::MAX, threads });
    }
    let spare = |of: &Observe| observe.memory as f64 - estimate(scenario, built, of).bytes(1);
    // Deliveries have half of what is left beside the packets that are recorded; packets have the rest.
    let (beside, without) = (spare(observe), spare(&Observe { packets: false, ..observe.clone() }));
    let deliveries = if observe.packets { beside / 2.0 } else { beside };
    built.network.grid_points = deliveries as u64 / DELIVERY / built.network.flows.len().max(1) as u64;
    Ok(Room { packets: (without - deliveries) as u64 / RECORDED, threads })
}

/// The refusal of a recording that has no room for more than `most` packets.
fn too_many_packets(most: u64) -> Refusal {
    let why = format!(
        "the connections send more than {most} packets, for which the memory has room; expected a shorter run (or a higher \
         --memory)"
    );
    Refusal { key: "trace".into(), why }
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
fn rows(network: &Network, traced: Vec<Traced>) -> Vec<SampleRow> {
    let flows = network.flows.iter().zip(&traced);
    flows.flat_map(|(flow, traced)| traced.series.rows(0, &flow.name)).collect()
}

fn over_time(built: &Built, outcome: &Outcome, index: usize, traced: Traced) -> FlowOverTime {
    let (config, flow) = (&built.network.flows[index], &outcome.flows[index]);
    let start = flow.start.unwrap_or(config.app.start);
    let (bdp_packets, buffer_packets) = (built.bdp[index], built.buffer[index]);
    FlowOverTime {
        scheme: built.scheme[index].to_string(),
        bdp_packets,
        buffer_packets,
        lasted_s: Nanos(outcome.end.saturating_sub(start)).as_secs_f64(),
        startup_exit: startup_exit(flow, start, config.stack.mss, bdp_packets, buffer_packets),
        losses_s: traced.losses_s,
        retransmits_s: traced.retransmits_s,
        series: traced.series,
    }
}
