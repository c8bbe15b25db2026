//! The standing: outcomes of each start joined over the scenarios, with ranks only where intervals part.

use serde::{Deserialize, Serialize};

use crate::interval::Interval;
use crate::library::{League, Measure};
use crate::outcome::Outcome;

/// The league's results: all that its pages are made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Version of the league.
    pub league: String,
    /// Version of the program's results.
    pub version: String,
    /// Whether it is a quick league, with few points and sizes.
    pub quick: bool,
    /// Name of the start with which the others are compared.
    pub reference: String,
    /// The standing, best first.
    pub standings: Vec<Standing>,
    /// Outcomes of every start on every scenario.
    pub outcomes: Vec<Outcome>,
}

/// A start over all ranked scenarios.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Name of the start.
    pub start: String,
    /// One more than the number of starts that are surely faster: whose interval lies wholly below.
    pub rank: u64,
    /// Times over those of the reference: geometric mean, each scenario with the same weight.
    pub ratio: Interval,
    /// The same of transfers of up to 100 KB, of up to 1 MB, and above.
    pub classes: [Option<f64>; 3],
    /// Lost packets as a share of the lost and the delivered, mean of the scenarios.
    pub lost_share: f64,
    /// Median exit window over the bandwidth-delay product, median of the scenarios.
    pub exit_over_bdp: Option<f64>,
    /// Packets lost before an exit by a rule, mean of the scenarios that have one.
    pub lost_before_rule: Option<f64>,
    /// Time that a packet waits at the bottleneck over that of the reference, geometric mean.
    pub wait_ratio: Option<f64>,
    /// Data that older flows lose for each byte, mean of the scenarios.
    pub displaced: Option<Interval>,
    /// Time of requests beside the transfer over that without it.
    pub requests: Option<Interval>,
    /// Time of a newcomer over that beside the reference.
    pub newcomer: Option<Interval>,
    /// Time of the slower of two equal transfers over that of the faster.
    pub twins: Option<Interval>,
    /// Share of the population of a browser that needs more than the first flight.
    pub limited: Option<f64>,
    /// Scenario with the lowest ratio, and with the highest.
    pub best: String,
    /// See `best`.
    pub worst: String,
}

impl Results {
    /// The results with five significant digits, so that their file is smaller and differs less between versions.
    ///
    /// # Panics
    /// Never: results are numbers, texts and their tables.
    #[must_use]
    pub fn rounded(&self) -> Self {
        let mut value = serde_json::to_value(self).expect("finite numbers and texts");
        round(&mut value);
        serde_json::from_value(value).expect("the same shape")
    }
}

fn round(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Number(number) if number.is_f64() => {
            let digits = format!("{:.4e}", number.as_f64().unwrap_or(0.0));
            *value = digits.parse::<f64>().unwrap_or(0.0).into();
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(round),
        serde_json::Value::Object(values) => values.values_mut().for_each(round),
        _ => {}
    }
}

/// Sentence in place of a standing that has no start.
pub const NO_RANKS: &str = "No start has a rank here: none of these scenarios counts in the standing. The pages of the scenarios have their times.";

/// The standing of the starts that run on every scenario, the fastest first.
pub fn standings(league: &League, outcomes: &[Outcome]) -> Vec<Standing> {
    let whole = league.starts.iter().filter(|(_, start)| start.only.is_none());
    let mut all: Vec<Standing> = whole.filter_map(|(start, _)| standing(league, start, outcomes)).collect();
    all.sort_by(|a, b| a.ratio.mean.total_cmp(&b.ratio.mean).then_with(|| a.start.cmp(&b.start)));
    let highs: Vec<f64> = all.iter().map(|standing| standing.ratio.high).collect();
    for standing in &mut all {
        standing.rank = 1 + highs.iter().filter(|&&high| high < standing.ratio.low).count() as u64;
    }
    all
}

fn standing(league: &League, start: &str, outcomes: &[Outcome]) -> Option<Standing> {
    let own: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.start == start).collect();
    let measure = |outcome: &&&Outcome| league.scenarios[&outcome.scenario].measure;
    let ranked: Vec<&&Outcome> =
        own.iter().filter(|it| league.scenarios[&it.scenario].ranked && it.ratio.is_some()).collect();
    let ratios: Vec<Interval> = ranked.iter().filter_map(|it| it.ratio).map(Interval::ln).collect();
    let joined = |wanted: Measure| {
        let of: Vec<Interval> = own
            .iter()
            .filter(|it| measure(it) == wanted && league.scenarios[&it.scenario].ranked)
            .filter_map(|it| it.harm)
            .collect();
        match wanted {
            Measure::Displaced => Interval::stratified(&of),
            _ => {
                Interval::stratified(&of.into_iter().map(Interval::ln).collect::<Vec<_>>()).map(Interval::exp)
            }
        }
    };
    let class = |at: usize| geometric(ranked.iter().filter_map(|it| it.classes[at]));
    let reference = |scenario: &str| {
        outcomes
            .iter()
            .find(|it| it.start == league.reference && it.scenario == scenario)
            .and_then(|it| it.wait_s)
    };
    let wait =
        |it: &&&Outcome| Some(it.wait_s? / reference(&it.scenario)?).filter(|it| it.is_finite() && *it > 0.0);
    let by_ratio = |a: &&&&Outcome, b: &&&&Outcome| {
        let mean = |it: &Outcome| it.ratio.map_or(1.0, |ratio| ratio.mean);
        mean(a).total_cmp(&mean(b))
    };
    Some(Standing {
        start: start.into(),
        rank: 0,
        ratio: Interval::stratified(&ratios)?.exp(),
        classes: [class(0), class(1), class(2)],
        lost_share: mean(ranked.iter().map(|it| it.lost_share)).unwrap_or(0.0),
        exit_over_bdp: crate::outcome::middle(ranked.iter().filter_map(|it| it.exit_over_bdp)),
        lost_before_rule: mean(ranked.iter().filter_map(|it| it.lost_before_rule)),
        wait_ratio: geometric(ranked.iter().copied().filter_map(|it| wait(&it))),
        displaced: joined(Measure::Displaced),
        requests: joined(Measure::Requests),
        newcomer: joined(Measure::Newcomer),
        twins: joined(Measure::Twins),
        limited: own.iter().find(|it| league.scenarios[&it.scenario].population).map(|it| it.limited),
        best: ranked.iter().min_by(by_ratio).map_or_else(String::new, |it| it.scenario.clone()),
        worst: ranked.iter().max_by(by_ratio).map_or_else(String::new, |it| it.scenario.clone()),
    })
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn geometric(values: impl Iterator<Item = f64>) -> Option<f64> {
    mean(values.map(libm::log)).map(libm::exp)
}
