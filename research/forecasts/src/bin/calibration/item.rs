//! One draw: a path of the prior, a transfer that is captured there, the answer to the capture, and further transfers.

use std::collections::BTreeMap;
use std::path::Path;

use firstflight_capture::{Capture, read_from};
use firstflight_compare::{Explanation, Identity, Input, Known, Request, compare_explained};
use firstflight_contract::{Nanos, Rate};
use firstflight_document::quantity::Amount;
use firstflight_explain::{PriorPath, SENDERS};
use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::progress::Silent;
use firstflight_hosts::simulator::Simulator;
use firstflight_random::{Dist, Stream};
use firstflight_report::pcapng;
use firstflight_results::InputFile;
use firstflight_scenario::build::{Flow, Path as Line};
use firstflight_scenario::{Candidate, Limit, Profile, Scenario};
use research_forecasts::processor_seconds;
use serde::{Deserialize, Serialize};

/// Sizes of captured transfers, bytes.
pub(crate) const CAPTURED: [u64; 4] = [100_000, 300_000, 1_000_000, 3_000_000];

/// Controls and sizes of further transfers.
const CONTROLS: [&str; 3] = ["slow-start+reno", "hystart-linux+cubic", "bbr"];
const SIZES: [u64; 2] = [100_000, 1_000_000];

/// Longest transfer, seconds: the limit of a run.
const LONGEST: Nanos = Nanos::from_secs(600);

/// Packets on the wire, bytes: full ones and acknowledgements.
const PACKET: u32 = 1500;
const ACK: u32 = 52;

/// Values of a path that are ranked.
pub(crate) const VALUES: [(&str, firstflight_explain::Value); 4] = [
    ("rate", firstflight_explain::Value::Rate),
    ("round trip", firstflight_explain::Value::Rtt),
    ("buffer", firstflight_explain::Value::Buffer),
    ("loss", firstflight_explain::Value::Loss),
];

/// A draw with its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) number: u64,
    /// Kind of the path.
    pub(crate) kind: String,
    /// Probability of the draw under the prior over that with which it was made.
    pub(crate) weight: f64,
    pub(crate) values: Vec<f64>,
    /// Probability of random loss; 0 without any.
    pub(crate) loss: f64,
    pub(crate) control: String,
    pub(crate) bytes: u64,
    /// Packets of the capture that were retransmitted.
    pub(crate) retransmits: u64,
    /// Reason why there is no answer.
    pub(crate) no_answer: Option<String>,
    /// Weights of the kinds.
    pub(crate) kinds: BTreeMap<String, f64>,
    /// Ranks of the true values, 0 to 1.
    pub(crate) ranks: BTreeMap<String, f64>,
    pub(crate) transfers: Vec<Further>,
    /// Processor seconds of the answer.
    pub(crate) seconds: f64,
}

/// A further transfer, and its forecast.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Further {
    pub(crate) control: String,
    pub(crate) bytes: u64,
    /// Its time, seconds; `None` if it did not end within the longest.
    pub(crate) took: Option<f64>,
    /// Range of 90 %, and its median, seconds.
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
    /// Share of the replications that were faster.
    pub(crate) rank: f64,
}

/// How the kinds of path are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Draws<'a> {
    /// Half by the prior and half evenly: rare kinds are measured, too.
    Mixed,
    /// Paths of one kind only.
    Kind(&'a str),
}

impl Item {
    /// Draw of this number. Its capture is kept in a file, if there is one.
    pub(crate) fn of(number: u64, draws: Draws<'_>, keep: Option<&Path>) -> Result<Self, String> {
        let mut stream = Stream::named(number, "calibration");
        let seed = stream.bits();
        let (path, weight) = drawn(seed, &mut stream, draws)?;
        let bytes = CAPTURED[(stream.unit() * CAPTURED.len() as f64) as usize % CAPTURED.len()];
        let control = sender(stream.unit());
        let file = captured(&path, control, bytes, seed)?;
        if let Some(name) = keep {
            std::fs::write(name, &file).map_err(|error| format!("{}: {error}", name.display()))?;
        }
        let capture = read_from(file.as_slice(), Path::new("draw.pcapng")).map_err(|error| error.to_string());
        let seen = capture.as_ref().ok().and_then(|capture| capture.connections.first());
        let retransmits = seen.map_or(0, |one| one.observed.retransmits);
        let kind = path.labels()[0].to_owned();
        let loss = path.loss().map_or(0.0, |loss| loss.probability);
        let mut item = Self {
            number,
            kind,
            weight,
            values: path.values().to_vec(),
            loss,
            control: control.into(),
            bytes,
            retransmits,
            no_answer: None,
            kinds: BTreeMap::new(),
            ranks: BTreeMap::new(),
            transfers: vec![],
            seconds: 0.0,
        };
        match capture {
            Ok(capture) => item.answer(&path, capture, seed)?,
            Err(why) => item.no_answer = Some(why),
        }
        Ok(item)
    }

    /// The heaviest kind of the answer, with its weight.
    pub(crate) fn heaviest(&self) -> (&str, f64) {
        let most = self.kinds.iter().max_by(|a, b| a.1.total_cmp(b.1));
        most.map_or(("", 0.0), |(kind, weight)| (kind, *weight))
    }

    fn answer(&mut self, path: &PriorPath, capture: Capture, seed: u64) -> Result<(), String> {
        let begin = processor_seconds();
        let input = Input::Capture {
            file: InputFile { name: "draw.pcapng".into(), bytes: 0, sha256: String::new() },
            capture: Box::new(capture),
            known: Known::default(),
            identity: Identity::default(),
        };
        let request = Request { harm: false, sizes: SIZES.to_vec(), ..Request::of(input) };
        let request = request.schemes(CONTROLS).map_err(|error| error.to_string())?;
        let (report, explanation) = match compare_explained(&Simulator, &request, &Silent) {
            Ok(answer) => answer,
            Err(error) => {
                self.no_answer = Some(error.to_string());
                return Ok(());
            }
        };
        self.seconds = processor_seconds() - begin;
        self.no_answer = report.comparison.no_answer.clone();
        for one in &report.comparison.path.kinds {
            *self.kinds.entry(family(&one.kind).into()).or_default() += one.weight;
        }
        self.rank(path, explanation.as_ref());
        for (place, (control, size)) in
            CONTROLS.iter().flat_map(|it| SIZES.map(|size| (*it, size))).enumerate()
        {
            let rows = &report.comparison.results;
            let Some(row) = rows.iter().find(|row| row.scheme == control && row.size_bytes == size) else {
                continue;
            };
            let Some(completion) = row.completion_s else { continue };
            let [low, .., high] = completion.quantiles;
            let mut stream = Stream::named(seed.wrapping_add(place as u64 + 1), "further");
            let took = transfer(path, control, size, stream.bits())?;
            let samples = report.samples.iter().find(|set| set.scheme == control && set.size_bytes == size);
            let samples = samples.map_or(&[][..], |set| &set.samples);
            let time = |value: Option<f64>| value.unwrap_or(f64::INFINITY);
            let faster = samples.iter().filter(|one| time(one.completion_s) < time(took)).count();
            let equal = samples.iter().filter(|one| time(one.completion_s) == time(took)).count();
            // Ties are broken by chance, so that ranks are uniform.
            let rank = (faster as f64 + stream.unit() * (equal + 1) as f64) / (samples.len() + 1) as f64;
            let (control, bytes, median) = (control.into(), size, completion.median);
            self.transfers.push(Further { control, bytes, took, low, median, high, rank });
        }
        Ok(())
    }

    /// Ranks of the true values among the paths that explain the capture.
    fn rank(&mut self, path: &PriorPath, explanation: Option<&Explanation>) {
        let Some(explanation) = explanation else { return };
        for (name, value) in VALUES {
            let own = path.value(value).map(|own| if name == "buffer" { own.round() } else { own });
            let rank = own.and_then(|own| explanation.rank(value, own));
            self.ranks.extend(rank.map(|rank| (name.to_owned(), rank)));
        }
    }
}

/// Label of the kinds that share a weight.
pub(crate) fn family(label: &str) -> &str {
    if label == "fq-codel" { "codel" } else { label }
}

fn drawn(seed: u64, stream: &mut Stream, draws: Draws<'_>) -> Result<(PriorPath, f64), String> {
    match draws {
        Draws::Mixed => {
            let evenly = stream.unit() < 0.5;
            let path = if evenly {
                PriorPath::evenly(seed, PACKET, ACK)
            } else {
                PriorPath::draw(seed, PACKET, ACK)
            };
            let weight = 1.0 / (0.5 + 0.5 * path.evenly_over_prior());
            Ok((path, weight))
        }
        Draws::Kind(label) => {
            let mut all =
                (0..10_000).map(|further| PriorPath::evenly(seed.wrapping_add(further), PACKET, ACK));
            let found = all.find(|path| path.labels().contains(&label));
            Ok((found.ok_or(format!("no kind of path is called {label}"))?, 1.0))
        }
    }
}

/// Scheme at this share of all senders.
fn sender(share: f64) -> &'static str {
    let mut sum = 0.0;
    let found = SENDERS.iter().find(|(_, own)| {
        sum += own;
        sum > share
    });
    found.unwrap_or(&SENDERS[0]).0
}

/// Scenario whose first flow is the transfer, before a path is given to it.
fn base(control: &str, bytes: u64) -> Result<Scenario, String> {
    let line =
        Line::new(Rate(10_000_000), Nanos::from_millis(40), Limit::Packets(100)).access_rate("100 Gbit/s");
    let flow = Flow::new().name("transfer").profile(Profile::Linux).size(Amount::Bytes(bytes));
    let mut scenario =
        Scenario::builder().path(line).flow(flow).build().map_err(|error| error.to_string())?;
    let payload = scenario.packet.payload(Profile::Linux);
    Candidate::parse(control).map_err(|error| error.to_string())?.apply(&mut scenario.flows[0], payload, 1);
    scenario.flows[0].handshake = true;
    scenario.flows[0].size = Some(Dist::Fixed(bytes));
    Ok(scenario)
}

/// The scenario of a transfer on a path, ended after the longest time.
fn on(path: &PriorPath, control: &str, bytes: u64, seed: u64) -> Result<Scenario, String> {
    let mut scenario = path.scenario(&base(control, bytes)?, seed);
    scenario.duration = Some(LONGEST);
    Ok(scenario)
}

/// The transfer as tcpdump captures it at its sender, a file of pcapng.
///
/// # Errors
/// If the path cannot be simulated.
fn captured(path: &PriorPath, control: &str, bytes: u64, seed: u64) -> Result<Vec<u8>, String> {
    let scenario = on(path, control, bytes, seed)?;
    let observe = Observe { packets: true, until_finished: true, memory: u64::MAX, ..Observe::default() };
    let run = Simulator.run(&scenario, seed, &observe).map_err(|refusal| format!("{refusal:?}"))?;
    let mut recording = run.recording.ok_or("the run has no recording")?;
    recording.flows.truncate(1);
    let mut file = vec![];
    pcapng(&recording, &mut file).map_err(|error| error.to_string())?;
    Ok(file)
}

/// Time of one transfer, seconds; `None` if it did not end.
fn transfer(path: &PriorPath, control: &str, bytes: u64, seed: u64) -> Result<Option<f64>, String> {
    let scenario = on(path, control, bytes, seed)?;
    let observe = Observe { until_finished: true, memory: u64::MAX, ..Observe::default() };
    let run = Simulator.run(&scenario, seed, &observe).map_err(|refusal| format!("{refusal:?}"))?;
    Ok(run.result.flows[0].completion_s)
}
