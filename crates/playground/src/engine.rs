//! Orders and their answers.

use firstflight::journey::{Journey, Journeys};
use firstflight::results::CompareReport;
use firstflight::{Compare, Progress, Simulator};
use firstflight_report::{Sections, html};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::exhibit::{self, Changes};
use crate::offer::offer;
use crate::request::Asked;

/// Answers the orders of one page. It keeps the last comparison, which the further orders show.
#[derive(Debug, Default)]
pub struct Engine {
    last: Option<(Compare<'static>, CompareReport)>,
}

/// An order of the page.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum Order {
    /// Presets and schemes to choose from; the answer is JSON.
    Offer,
    /// A comparison; the answer is JSON: sections of the report, and data for its plots.
    Compare { ask: Box<Asked> },
    /// The line that `firstflight compare --json` prints for the last comparison.
    Json,
    /// The scenario of the last comparison.
    Scenario,
    /// The page of the last comparison, as `firstflight compare` writes it.
    Report,
    /// The figure of a scheme's page; the answer is JSON.
    Exhibit {
        scheme: String,
        #[serde(default)]
        path: Changes,
    },
    /// The ways of the first packets of a replication that the plots show, by its number; the answer is JSON.
    Packets { trace: usize },
}

/// Most packets of an animation: some ten round trips of slow start, 200 KB of JSON.
const MOST_PACKETS: u64 = 3_000;

impl Engine {
    /// Answers an order, which is JSON. `attached` is the file of a comparison, empty without one.
    ///
    /// # Errors
    /// The first thing that is wrong, as a sentence.
    pub fn answer(
        &mut self,
        order: &[u8],
        attached: &[u8],
        progress: &dyn Progress,
    ) -> Result<Vec<u8>, String> {
        let order: Order = serde_json::from_slice(order).map_err(|error| error.to_string())?;
        match order {
            Order::Offer => Ok(json(&offer())),
            Order::Compare { ask } => self.compare(&ask, attached, progress),
            Order::Json => {
                let mut line = json(&self.report()?.comparison);
                line.push(b'\n');
                Ok(line)
            }
            Order::Scenario => Ok(self.report()?.comparison.provenance.scenario.clone().into_bytes()),
            Order::Report => Ok(html(self.report()?).into_bytes()),
            Order::Exhibit { scheme, path } => {
                exhibit::figure(&scheme, &path).map(|shown| json(&shown)).map_err(|error| error.to_string())
            }
            Order::Packets { trace } => self.packets(trace),
        }
    }

    fn compare(&mut self, ask: &Asked, attached: &[u8], progress: &dyn Progress) -> Result<Vec<u8>, String> {
        self.last = None;
        let compare = ask.compare(attached)?;
        let report = compare.clone().progress(progress).execute().map_err(|error| error.to_string())?;
        let sections = Sections::of(&report);
        let answer = Compared {
            html: sections.html,
            data: RawValue::from_string(sections.data).expect("the report's data is JSON"),
            command: report.comparison.provenance.command.clone(),
            replications: report.comparison.provenance.replications,
            traces: report.traces.iter().map(|trace| (trace.scheme.clone(), trace.size_bytes)).collect(),
        };
        self.last = Some((compare, report));
        Ok(json(&answer))
    }

    fn last(&self) -> Result<&(Compare<'static>, CompareReport), String> {
        self.last.as_ref().ok_or_else(|| "there is no comparison yet".into())
    }

    fn report(&self) -> Result<&CompareReport, String> {
        self.last().map(|(_, report)| report)
    }

    fn packets(&self, trace: usize) -> Result<Vec<u8>, String> {
        let (compare, report) = self.last()?;
        let (scenario, seed) = compare.shown_run(report, trace).map_err(|error| error.to_string())?;
        let journeys =
            Simulator.journeys(&scenario, seed, MOST_PACKETS).map_err(|refusal| refusal.to_string())?;
        Ok(json(&Packets::of(&journeys)))
    }
}

/// Answer to a comparison.
#[derive(Serialize)]
struct Compared {
    html: String,
    data: Box<RawValue>,
    /// The command line that makes the same comparison.
    command: String,
    replications: u32,
    /// Scheme and size, bytes, of each replication that the plots show.
    traces: Vec<(String, u64)>,
}

/// Kind (0 data, 1 retransmission, 2 ACK), number, and times: sent, at the bottleneck, served, arrived, lost. A SYN has
/// no number.
#[derive(Serialize)]
struct Packet(u8, Option<u32>, u64, [Option<u64>; 4]);

/// Packets for the animation. Times are microseconds since the first packet.
#[derive(Serialize)]
struct Packets {
    packets: Vec<Packet>,
    /// Packets of others at the bottleneck: arrival and end of the transmission.
    others: Vec<[u64; 2]>,
    /// Congestion window, packets, from a time on.
    windows: Vec<(u64, f64)>,
    startup_end: Option<u64>,
    /// Rate of the bottleneck, bits per second.
    rate: u64,
    whole: bool,
}

impl Packets {
    fn of(journeys: &Journeys) -> Self {
        let begin = journeys.packets.first().map_or(0, |packet| packet.sent);
        let micros = |at: u64| at.saturating_sub(begin) / 1000;
        let packet = |it: &Journey| {
            let kind = if it.ack { 2 } else { u8::from(it.retransmission) };
            let times = [it.queued, it.served, it.arrived, it.lost].map(|at| at.map(micros));
            Packet(kind, it.number, micros(it.sent), times)
        };
        Self {
            packets: journeys.packets.iter().map(packet).collect(),
            others: journeys.others.iter().filter(|it| it[1] >= begin).map(|it| it.map(micros)).collect(),
            windows: journeys.windows.iter().map(|&(at, window)| (micros(at), window)).collect(),
            startup_end: journeys.startup_end.map(micros),
            rate: journeys.rate,
            whole: journeys.whole,
        }
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("text keys and finite numbers or null")
}
