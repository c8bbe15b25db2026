//! Servers of other programs as hosts of scenarios: each flow is a response that a client fetches across the links of the scenario, in real time.

mod account;
mod bench;
mod keys;

use std::path::Path;

use firstflight_contract::{Nanos, Signals};
use firstflight_hosts::host::{Host, Observe, Refusal, Run};
use firstflight_hosts::memory::Estimate;
use firstflight_hosts::network::{Built, build};
use firstflight_hosts::progress::Halt;
use firstflight_hosts::rows::run_result;
use firstflight_results::Validity;
use firstflight_scenario::Scenario;
use firstflight_sim::outcome::Outcome;

use crate::cable::Broken;
use crate::emulator::lateness::invalid;
use crate::host::{ATTEMPTS, LONGEST};
use crate::probe::{Missing, STACKS, Server};
use bench::{Planned, Ran};

/// Connections of one run; each has a thread.
const CONNECTIONS: usize = 64;
/// Datagrams in which windows are counted: the smallest full ones of QUIC (RFC 9000 section 14).
const DATAGRAM: u32 = 1200;

/// A stack of `lab probe` as a host.
#[derive(Clone, Debug)]
pub struct Served {
    name: &'static str,
    server: Server,
}

impl Served {
    /// The stack of QUIC with this name, whose programs are on the `PATH` or in the folder `bin` of `folder`.
    ///
    /// # Errors
    /// [`Missing`] if it is not installed.
    ///
    /// # Panics
    /// If there is no such stack.
    pub fn named(name: &str, folder: &Path) -> Result<Self, Missing> {
        let stack = STACKS.iter().find(|stack| stack.name == name).expect("a stack's name");
        let server = Server::named(name, folder).expect("a stack's name")?;
        Ok(Self { name: stack.name, server })
    }

    fn prepare(&self, scenario: &Scenario, seed: u64, observe: &Observe) -> Result<Built, Refusal> {
        let refuse = |key: &str, why: String| Err(Refusal { key: key.into(), why });
        if observe.flow.is_some() || observe.capture.is_some() || observe.packets {
            let name = self.name;
            return refuse("flow", format!("{name} encrypts its packets, so that flows are not recorded"));
        }
        keys::check(self.name, scenario)?;
        let mut built = build(scenario, seed, observe.grid)?;
        if built.network.flows.len() > CONNECTIONS {
            let count = built.network.flows.len();
            let why = format!("{count} connections; expected at most {CONNECTIONS} to one server");
            return refuse("flow", why);
        }
        if built.network.flows.is_empty() {
            return refuse("", "the scenario has no [[flow]] that a server could send".into());
        }
        built.observe(observe);
        built.network.end = built.network.end.min(LONGEST);
        Ok(built)
    }

    /// The first run that kept its times, of at most three.
    fn valid_run(&self, built: &Built, planned: &[Planned]) -> Result<(Ran, u32), Broken> {
        let mut reasons = vec![];
        for attempts in 1..=ATTEMPTS {
            let ran = bench::run(self, built, planned)?;
            match invalid(&ran.emulated.validity) {
                None => return Ok((ran, attempts)),
                Some(why) => reasons.push(why),
            }
        }
        Err(Broken::busy(ATTEMPTS, &reasons))
    }
}

impl Host for Served {
    fn name(&self) -> &'static str {
        self.name
    }

    fn offers(&self) -> Signals {
        // The scheme is the server's own.
        Signals::NONE
    }

    fn check(&self, scenario: &Scenario, observe: &Observe) -> Result<Estimate, Refusal> {
        self.prepare(scenario, scenario.seed, observe).map(|_| Estimate::default())
    }

    fn draws(&self, _scenario: &Scenario) -> bool {
        // The machine decides when packets leave.
        true
    }

    fn run(&self, scenario: &Scenario, seed: u64, observe: &Observe) -> Result<Run, Halt<Refusal>> {
        let mut built = self.prepare(scenario, seed, observe)?;
        let planned = built.size.iter().zip(&built.group).map(|(size, &group)| Planned {
            bytes: size.unwrap_or_default(),
            window: scenario.flows[group].receive_window,
        });
        let planned: Vec<_> = planned.collect();
        // No key of the scenario is the cause.
        let failed =
            |Broken(why): Broken| Refusal { key: String::new(), why: format!("{}: {why}", self.name) };
        let (ran, attempts) = self.valid_run(&built, &planned).map_err(failed)?;
        let end = ran.emulated.end;
        let grid = built.network.grid.max(Nanos(1));
        let flows = ran.flows.iter().map(|flow| account::outcome(flow, &ran.passed, end, grid));
        let outcome = Outcome { end, flows: flows.collect(), links: ran.emulated.links };
        for config in &mut built.network.flows {
            config.stack.mss = DATAGRAM;
        }
        let mut result = run_result(scenario, seed, &built, &outcome);
        for flow in &mut result.flows {
            flow.receiver_reads = Some("eager".into());
            // The scheme is the server's own.
            (flow.startup, flow.avoidance) = (self.name.into(), self.name.into());
        }
        result.host = Some(self.name.into());
        result.validity = Some(Validity { attempts, ..ran.emulated.validity });
        Ok(Run { result, flow: None, samples: vec![], recording: None, capture: None, timings: None })
    }
}
