//! A host: a system that runs a scenario and reports rows of results.
//!
//! Comparisons, sweeps and reproductions ask a host and never name one, so that the same question can be put to the
//! simulator, to the Linux kernel or to a QUIC stack.

use std::collections::BTreeSet;

use firstflight_contract::{Nanos, Signals};
use firstflight_scenario::Scenario;
use firstflight_sim::timings::Timings;

use crate::memory::{self, Estimate};
use crate::progress::Halt;
use crate::trace::capture::{Capture, Wanted};
use crate::trace::record::Recording;
use firstflight_results::{FlowResult, RunResult, SampleRow, Series, StartupExit};

pub use crate::refusal::Refusal;

/// A system that runs scenarios.
pub trait Host: Sync {
    /// Name in results: `simulator`.
    fn name(&self) -> &'static str;

    /// Signals that a scheme may need on this host.
    fn offers(&self) -> Signals;

    /// Whether the host can run the scenario, and the memory that a run so observed takes. Nothing is run.
    ///
    /// # Errors
    /// [`Refusal`] for the first key that asks for more than the host has.
    fn check(&self, scenario: &Scenario, observe: &Observe) -> Result<Estimate, Refusal>;

    /// Whether runs of the scenario under two seeds can differ, because of what it draws or because the host itself is not
    /// deterministic.
    fn draws(&self, scenario: &Scenario) -> bool;

    /// Runs the scenario once; `seed` derives every random stream. The same scenario, seed and observation give the same
    /// result on a deterministic host.
    ///
    /// # Errors As [`Host::check`]. Also if the run takes more memory than the observation allows, or the observation names
    /// a flow that the scenario does not have. [`Halt::Stopped`] if the user ended the run.
    fn run(&self, scenario: &Scenario, seed: u64, observe: &Observe) -> Result<Run, Halt<Refusal>>;

    /// Runs the scenario until its first flow begins, for several runs that are equal until then; `memory` is the limit of each,
    /// bytes. `None` if the host has no such runs: each is then made from its beginning.
    ///
    /// # Errors
    /// As [`Host::run`].
    fn begin(
        &self,
        scenario: &Scenario,
        seed: u64,
        memory: u64,
    ) -> Result<Option<Box<dyn Begun>>, Halt<Refusal>> {
        let _ = (scenario, seed, memory);
        Ok(None)
    }
}

/// A run up to the moment at which its scenario's first flow begins.
pub trait Begun: Send + Sync {
    /// The flows that end in a run of `scenario`, with the times that [`Host::run`] answers for the same seed. The scenario may
    /// differ from that of this run in flows that begin now or later, and in the amounts that the others write. `None` if it
    /// differs in anything else.
    ///
    /// # Errors
    /// As [`Host::run`].
    fn go_on(&self, scenario: &Scenario) -> Result<Option<Vec<Ended>>, Halt<Refusal>>;
}

/// A flow whose transfers have ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// Name in results.
    pub name: String,
    /// Start, seconds.
    pub start_s: f64,
    /// Duration of each transfer, seconds.
    pub transfers_s: Vec<f64>,
}

impl Ended {
    /// A flow of a result, with the transfers that have ended; `None` if none has.
    pub fn of(flow: &FlowResult) -> Option<Self> {
        let completion = flow.completion_s?;
        let transfers_s = if flow.rounds_s.is_empty() { vec![completion] } else { flow.rounds_s.clone() };
        Some(Self { name: flow.name.clone(), start_s: flow.start_s, transfers_s })
    }
}

/// Observations of a run beyond its totals.
#[derive(Clone, Debug)]
pub struct Observe {
    /// Interval at which [`FlowResult::delivered_at`](firstflight_results::FlowResult::delivered_at) is recorded, since each
    /// flow's start; above zero.
    pub grid: Nanos,
    /// Links that are read before the run ends.
    pub links: LinkReadings,
    /// The flow that is observed over time; `None` for none.
    pub flow: Option<FlowChoice>,
    /// Whether the registers of every flow are sampled over time.
    pub samples: bool,
    /// Whether the run of a scenario with a duration also ends once every flow of finite size has ended: for those who ask
    /// for nothing else. Without a duration every run ends so.
    pub until_finished: bool,
    /// Whether every packet and register of every flow is recorded, some 150 bytes a packet.
    pub packets: bool,
    /// Capture of the first flow at its sender; `None` captures nothing. The run
    /// may end with the capture, and its result is then that of a part: for those who ask for nothing else.
    pub capture: Option<Wanted>,
    /// Limit of the memory of the run, bytes. It decides whether the run is made, and changes no result.
    pub memory: u64,
    /// Most threads of the run; one for runs beside others. It changes no result.
    pub threads: usize,
    /// Whether the threads of the run are timed. A host without threads of its own, and a run that is observed, have no such times.
    pub timings: bool,
}

impl Default for Observe {
    /// Totals, and deliveries at each second, within [`memory::DEFAULT`], by one thread.
    fn default() -> Self {
        Self {
            grid: Nanos::from_secs(1),
            links: LinkReadings::default(),
            flow: None,
            samples: false,
            until_finished: false,
            packets: false,
            capture: None,
            memory: memory::DEFAULT,
            threads: 1,
            timings: false,
        }
    }
}

/// Choice of one flow of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowChoice {
    /// The first flow.
    First,
    /// The flow of this name: `bulk.0`.
    Named(String),
}

/// Links that are read before the run ends.
#[derive(Clone, Debug, Default)]
pub struct LinkReadings {
    /// Times of the readings, ascending: see [`LinkResult::readings`](firstflight_results::LinkResult::readings).
    pub times: Vec<Nanos>,
    /// Names of the links; `*` is every link that results list. A name that the network does not have is ignored.
    pub links: BTreeSet<String>,
}

impl LinkReadings {
    /// Whether the link `name` is read.
    pub fn includes(&self, name: &str) -> bool {
        self.links.contains("*") || self.links.contains(name)
    }
}

/// Results of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Rows: the run, its flows, its links.
    pub result: RunResult,
    /// The observed flow over time; present if [`Observe::flow`] is set.
    pub flow: Option<FlowOverTime>,
    /// Every flow over time; empty unless [`Observe::samples`] is set.
    pub samples: Vec<SampleRow>,
    /// Every packet and register; present if [`Observe::packets`] is set.
    pub recording: Option<Recording>,
    /// The first flow at its sender; present if [`Observe::capture`] is set and there is a flow.
    pub capture: Option<Capture>,
    /// Times of the threads; present if [`Observe::timings`] is set and the host has them.
    pub timings: Option<Timings>,
}

/// One flow of a run, over time.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOverTime {
    /// Chain of scheme labels.
    pub scheme: String,
    /// Bandwidth-delay product of the flow's path, packets.
    pub bdp_packets: f64,
    /// Limit of the smallest queue on the flow's path, packets; infinite if no queue has a limit.
    pub buffer_packets: f64,
    /// Time from the flow's start to the end of the run, seconds.
    pub lasted_s: f64,
    /// End of start-up; `None` if start-up lasted to the end of the run.
    pub startup_exit: Option<StartupExit>,
    /// Times at which packets of the flow were dropped, ascending, seconds since the flow's start.
    pub losses_s: Vec<f64>,
    /// Times of the flow's retransmissions, ascending, seconds since the flow's start.
    pub retransmits_s: Vec<f64>,
    /// Registers of the flow, and the queue of the first link.
    pub series: Series,
}
