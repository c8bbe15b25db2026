//! The kernel as a host of scenarios.

mod bench;
mod plan;

use std::fmt;
use std::io;

use firstflight_contract::{Nanos, Signals};
use firstflight_hosts::host::{Host, LinkReadings, Observe, Refusal, Run};
use firstflight_hosts::memory::Estimate;
use firstflight_hosts::network::{Built, build};
use firstflight_hosts::progress::Halt;
use firstflight_hosts::rows::run_result;
use firstflight_hosts::trace::capture::Capture;
use firstflight_hosts::trace::record::Recording;
use firstflight_results::Validity;
use firstflight_scenario::{Reads, Scenario};
use firstflight_sim::outcome::Outcome;

use crate::congestion_control::{CongestionControl, STOCK};
use crate::emulator::lateness::invalid;
use crate::need::Need;
use crate::turn::Turn;
use crate::watch::{Keep, OverTime};
use bench::Ran;
use plan::Plan;
pub(crate) use plan::{FIRST_WINDOW, GROUPS, SMALLEST};
pub use plan::{LONGEST, Range};

/// Attempts until a run is valid.
pub(crate) const ATTEMPTS: u32 = 3;

/// The kernel of this machine: its TCP across the emulated network.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a> {
    /// Congestion controls that it has.
    pub controls: &'a [CongestionControl],
}

impl Default for Kernel<'_> {
    /// An unchanged Linux.
    fn default() -> Self {
        Self { controls: STOCK }
    }
}

/// Reason why a run could not be made.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl From<Need> for Failure {
    fn from(need: Need) -> Self {
        Self(format!("this machine does not grant {need}"))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self(format!("the emulator failed: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Failure> for Refusal {
    fn from(Failure(why): Failure) -> Self {
        // No key of the scenario is the cause.
        Self { key: String::new(), why }
    }
}

impl Host for Kernel<'_> {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn offers(&self) -> Signals {
        // Connections of a run share no memory of the path.
        firstflight_kernel::SIGNALS.without(Signals::PLAN)
    }

    fn check(&self, scenario: &Scenario, observe: &Observe) -> Result<Estimate, Refusal> {
        self.prepare(scenario, scenario.seed, observe).map(|_| Estimate::default())
    }

    fn draws(&self, _scenario: &Scenario) -> bool {
        // The machine decides when packets leave.
        true
    }

    fn run(&self, scenario: &Scenario, seed: u64, observe: &Observe) -> Result<Run, Halt<Refusal>> {
        let (plan, built) = self.prepare(scenario, seed, observe)?;
        let packets = observe.packets || observe.capture.is_some();
        let keep = Keep { samples: observe.samples, packets };
        let (outcome, validity, over_time) = valid_run(&plan, &built, keep).map_err(Refusal::from)?;
        let mut result = run_result(scenario, seed, &built, &outcome);
        for (flow, &group) in result.flows.iter_mut().zip(&built.group) {
            flow.receiver_reads = Some(match scenario.flows[group].receiver_reads {
                Reads::Eager => "eager".into(),
                Reads::Every(bytes) => format!("{bytes} B"),
            });
        }
        result.host = Some(self.name().into());
        result.validity = Some(validity);
        let OverTime { samples, flows } = over_time;
        let capture = observe.capture.and_then(|wanted| {
            Some(Capture::of(flows.first()?, built.network.flows.first()?.header, wanted))
        });
        let recording = observe.packets.then(|| Recording { name: "run".into(), flows });
        Ok(Run { result, flow: None, samples, recording, capture, timings: None })
    }
}

impl<'a> Kernel<'a> {
    fn prepare(
        &self,
        scenario: &Scenario,
        seed: u64,
        observe: &Observe,
    ) -> Result<(Plan<'a>, Built), Refusal> {
        if observe.flow.is_some() {
            let why = "the kernel's flows are recorded as samples or packets, without the queue".into();
            return Err(Refusal { key: "flow".into(), why });
        }
        let plan = Plan::of(scenario, self.controls)?;
        let mut built = build(scenario, seed, observe.grid)?;
        plan::check_built(scenario, &built)?;
        built.observe(observe);
        built.network.until_finished |= observe.capture.is_some();
        built.network.end = built.network.end.min(LONGEST);
        Ok((plan, built))
    }
}

/// The first run that kept its times, of at most three.
fn valid_run(plan: &Plan<'_>, built: &Built, keep: Keep) -> Result<(Outcome, Validity, OverTime), Failure> {
    check_hystart(plan)?;
    let _turn = Turn::take()?;
    let mut reasons = vec![];
    for attempts in 1..=ATTEMPTS {
        let Ran { outcome, validity, dropped, over_time, .. } = bench::run(plan, built, keep)?;
        let why = match dropped {
            0 => invalid(&validity),
            _ => Some(format!("a device dropped {dropped} packets, because the emulator read too late")),
        };
        match why {
            None if built.network.until_finished && outcome.end >= LONGEST.0 => {
                let longest = LONGEST.0 / 1_000_000_000;
                return Err(Failure(format!(
                    "the flows did not finish within {longest} s, the longest run in real time"
                )));
            }
            None => return Ok((outcome, Validity { attempts, ..validity }, over_time)),
            Some(why) => reasons.push(why),
        }
    }
    Err(Failure(format!(
        "this machine was too busy for real time in {ATTEMPTS} attempts, so there is no result: {}",
        reasons.join("; ")
    )))
}

/// Refuses the kernel's cubic where HyStart is off: the setting belongs to the whole machine and is not changed.
fn check_hystart(plan: &Plan<'_>) -> Result<(), Failure> {
    let setting = "/sys/module/tcp_cubic/parameters/hystart";
    let is_off = || std::fs::read_to_string(setting).is_ok_and(|on| on.trim() == "0");
    match plan.groups.iter().any(|group| group.control.name == "cubic") && is_off() {
        true => Err(Failure(format!("HyStart of this machine's cubic is off; expected 1 in {setting}"))),
        false => Ok(()),
    }
}

/// Rate and delay that a run of one flow achieved.
pub(crate) struct Probe {
    /// Rate of the bottleneck in the last second, Mbit/s.
    pub(crate) mbit_s: f64,
    /// Shortest round trip that the sender measured.
    pub(crate) rtt_ms: f64,
    pub(crate) validity: Validity,
}

/// Runs a scenario of two seconds and one flow once.
pub(crate) fn probe(scenario: &Scenario) -> Result<Probe, Failure> {
    let refused = |refusal: Refusal| Failure(refusal.to_string());
    let readings = LinkReadings { times: vec![Nanos::from_secs(1)], links: ["bottleneck".into()].into() };
    let observe = Observe { links: readings, ..Observe::default() };
    let (plan, built) = Kernel::default().prepare(scenario, scenario.seed, &observe).map_err(refused)?;
    let _turn = Turn::take()?;
    let Ran { outcome, validity, min_rtt_us, .. } = bench::run(&plan, &built, Keep::default())?;
    let link = &outcome.links[0];
    // The counter of the end includes that of the reading before.
    let last = link.stats.bytes.saturating_sub(link.readings[0].stats.bytes);
    Ok(Probe { mbit_s: last as f64 * 8e-6, rtt_ms: f64::from(min_rtt_us[0]) / 1e3, validity })
}
