//! QUIC as a host of scenarios: quinn's own client and server across the emulator's links.
//!
//! quinn's protocol code has no clock and no sockets, so that a run takes virtual time: it needs no privileges, is never
//! late, and the same seed gives the same result.

mod flow;
mod plan;

use firstflight_contract::Signals;
use firstflight_hosts::host::{Host, Observe, Refusal, Run};
use firstflight_hosts::memory::Estimate;
use firstflight_hosts::network::{Built, build};
use firstflight_hosts::progress::Halt;
use firstflight_hosts::rows::run_result;
use firstflight_hosts::trace::record::Recording;
use firstflight_quic::OFFERED;
use firstflight_quic::transfer::Credentials;
use firstflight_results::Validity;
use firstflight_scenario::Scenario;
use firstflight_sim::outcome::Outcome;

use crate::emulator::network::{Entry, Fate, Network};
use flow::{Flow, Side};
use plan::SMALLEST;
pub(crate) use plan::{datagram, profile};

/// Bytes of a datagram's IPv4 and UDP headers.
const HEADERS: u32 = 28;
/// Events after which a run is given up.
const MOST_EVENTS: u64 = 1 << 30;

/// quinn, in virtual time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quic;

impl Host for Quic {
    fn name(&self) -> &'static str {
        "quic"
    }

    fn offers(&self) -> Signals {
        // Connections of a run share no memory of the path.
        OFFERED.without(Signals::PLAN)
    }

    fn check(&self, scenario: &Scenario, observe: &Observe) -> Result<Estimate, Refusal> {
        prepare(scenario, scenario.seed, observe).map(|_| Estimate::default())
    }

    fn draws(&self, _scenario: &Scenario) -> bool {
        // quinn skips packet numbers at random.
        true
    }

    fn run(&self, scenario: &Scenario, seed: u64, observe: &Observe) -> Result<Run, Halt<Refusal>> {
        let (mut built, mut flows) = prepare(scenario, seed, observe)?;
        let mut network = Network::new(&built.network);
        let (end, packets) = exchange(&built, &mut flows, &mut network)?;
        let grid = built.network.grid;
        let outcomes: Vec<_> = flows.iter().map(|flow| flow.outcome(end, grid)).collect();
        let outcome = Outcome { end, flows: outcomes, links: network.outcomes(end) };
        for config in &mut built.network.flows {
            // Windows are counted in datagrams.
            config.stack.mss = SMALLEST.into();
        }
        let mut result = run_result(scenario, seed, &built, &outcome);
        for flow in &mut result.flows {
            flow.receiver_reads = Some("eager".into());
        }
        result.host = Some(self.name().into());
        // Virtual time: nothing is ever late.
        let (lateness_p50_ms, lateness_p99_ms, lateness_max_ms, core_share) = (0.0, 0.0, 0.0, 0.0);
        result.validity = Some(Validity {
            lateness_p50_ms,
            lateness_p99_ms,
            lateness_max_ms,
            core_share,
            packets,
            attempts: 1,
        });
        let samples = match observe.samples {
            true => flows
                .iter()
                .zip(&built.network.flows)
                .flat_map(|(flow, config)| flow.samples(&config.name))
                .collect(),
            false => vec![],
        };
        let recorded = || {
            let flows = flows.iter().zip(&built.network.flows).zip(&built.scheme);
            let flows = flows.map(|((flow, config), scheme)| flow.recording(config, scheme)).collect();
            Recording { name: "run".into(), flows }
        };
        let recording = observe.packets.then(recorded);
        Ok(Run { result, flow: None, samples, recording, capture: None, timings: None })
    }
}

fn prepare(scenario: &Scenario, seed: u64, observe: &Observe) -> Result<(Built, Vec<Flow>), Refusal> {
    if observe.flow.is_some() {
        let why = "QUIC flows are recorded as samples, without the queue".into();
        return Err(Refusal { key: "flow".into(), why });
    }
    if observe.capture.is_some() {
        let why = "quinn numbers its packets, and a capture counts the bytes of the data".into();
        return Err(Refusal { key: "flow".into(), why });
    }
    let groups = plan::groups(scenario)?;
    let mut built = build(scenario, seed, observe.grid)?;
    built.observe(observe);
    let credentials = Credentials::new().map_err(|error| failed(error.to_string()))?;
    let flows = built.network.flows.iter().zip(&built.group).enumerate().map(|(number, (config, &group))| {
        let seed = seed.wrapping_add(number as u64);
        Flow::new(&groups[group], config, built.size[number], seed, &credentials)
    });
    let flows = flows.collect();
    Ok((built, flows))
}

/// No key of the scenario is the cause.
fn failed(why: String) -> Refusal {
    Refusal { key: String::new(), why }
}

/// Lets all flows run; returns the end of the run and the number of datagrams that arrived.
fn exchange(built: &Built, flows: &mut [Flow], network: &mut Network<u32>) -> Result<(u64, u64), Refusal> {
    let mut post = Post::default();
    let config = &built.network;
    let mut arrived = 0;
    let mut now = 0;
    for _ in 0..MOST_EVENTS {
        if config.until_finished && flows.iter().all(Flow::is_over) {
            return Ok((now, arrived));
        }
        let due = flows.iter_mut().filter_map(Flow::due).min();
        let Some(next) = network.next().into_iter().chain(due).min() else {
            return match config.until_finished {
                true => Err(failed("the connections wait for nothing".into())),
                false => Ok((config.end.0, arrived)),
            };
        };
        if next > config.end.0 {
            return Ok((config.end.0, arrived));
        }
        now = now.max(next);
        while let Some((at, load, fate)) = network.advance(now) {
            let letter = post.take(load);
            let flow = &mut flows[letter.flow];
            match fate {
                Fate::Lost => flow.lost(letter.side, letter.left_at),
                Fate::Arrived { marked } => {
                    arrived += 1;
                    flow.receive(at, letter, marked)?;
                }
            }
        }
        for (number, flow) in flows.iter_mut().enumerate() {
            if flow.due().is_some_and(|due| due <= now) {
                flow.on_time(now);
            }
            while let Some((side, datagram, is_data)) = flow.transmit(now) {
                let path = 2 * number as u32 + u32::from(side == Side::Client);
                let size = datagram.contents.len() as u32 + HEADERS;
                let ecn_capable = datagram.ecn.is_some();
                let data_of = is_data.then_some(number as u32);
                let load = post.put(Letter { flow: number, side, left_at: now, datagram });
                network.enter(now, Entry { path, size, ecn_capable, data_of, ack: None, load });
            }
        }
    }
    Err(failed(format!("the run did not end within {MOST_EVENTS} events")))
}

/// A datagram on its way.
struct Letter {
    flow: usize,
    /// The side that sent it.
    side: Side,
    left_at: u64,
    datagram: firstflight_quic::transfer::Datagram,
}

/// Datagrams on their way, by number.
#[derive(Default)]
struct Post {
    letters: Vec<Option<Letter>>,
    free: Vec<u32>,
}

impl Post {
    fn put(&mut self, letter: Letter) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.letters[number as usize] = Some(letter);
                number
            }
            None => {
                let number = self.letters.len() as u32;
                self.letters.push(Some(letter));
                number
            }
        }
    }

    fn take(&mut self, number: u32) -> Letter {
        self.free.push(number);
        self.letters[number as usize].take().expect("each datagram has one fate")
    }
}
