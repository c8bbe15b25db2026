//! Metrics: numbers measured in a run.

mod flows;
mod links;
mod scenario;
mod time;

use firstflight_accesslog::{Analysis, WindowShare};
use firstflight_contract::{Exit, Nanos};
use firstflight_document::nearest;
use firstflight_document::quantity::parse_time;
use firstflight_document::seconds::Seconds;
use firstflight_results::RunResult;
use firstflight_scenario::Scenario;
use serde::{Deserialize, Serialize};

use crate::observe::Registers;

/// A `[metric.<name>]` of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Title with the unit, for plots.
    pub title: String,
    /// Groups or flows; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Names>,
    /// Quantity that is taken of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take: Option<Take>,
    /// Function that combines the values of all flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Over>,
    /// Time since each flow's start that counts; several times are an axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Names>,
    /// Part of the run that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<[String; 2]>,
    /// First round that counts, of a connection with several, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_round: Option<usize>,
    /// Flows that count.
    #[serde(default, rename = "where", skip_serializing_if = "Filter::is_none")]
    pub filter: Filter,
    /// Interval of values over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<String>,
    /// End of values over time, in place of the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Flow whose registers are taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Link; `*` for all links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Parameter of a scheme of the first of `flows`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
}

/// One name or several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Names {
    /// One name.
    One(String),
    /// Several names.
    Several(Vec<String>),
}

impl Names {
    /// Whether a flow has one of the names, or is in a group that has.
    fn include(&self, flow: &str) -> bool {
        let is = |name: &String| {
            flow.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.all().iter().any(is)
    }

    fn all(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }

    fn first(&self) -> &str {
        self.all().first().map_or("", String::as_str)
    }
}

/// Selection of flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// Flows larger than this number of packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_above: Option<String>,
    /// Flows smaller than this number of packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_below: Option<String>,
    /// `true` for flows without a drop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossless: Option<bool>,
    /// `true` for flows with a drop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossy: Option<bool>,
    /// `true` for flows that finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<bool>,
    /// Flows whose start-up ended for this reason: a word of `exit_reason` in results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
}

impl Filter {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "docs/papers.md has the table of them")]
pub enum Take {
    DeliveredPackets,
    DeliveredBytes,
    GoodputBitS,
    CompletionS,
    RoundS,
    Retransmits,
    Timeouts,
    LostPackets,
    FirstFlightPackets,
    MaxCwndPackets,
    FinalCwndPackets,
    ExitCwndPackets,
    ExitTimeS,
    ExitOvershootPackets,
    ExitCwndPerBdp,
    SizeBytes,
    LossShare,
    CapacityShare,
    RateBitS,
    CwndPackets,
    SsthreshPackets,
    QueuePackets,
    InFlightPackets,
    Losses,
    Delivered,
    Utilization,
    Drops,
    DropShare,
    Marks,
    MeanQueuePackets,
    MaxQueuePackets,
    RateBitSOfPath,
    RttSOfPath,
    BdpPackets,
    BufferPackets,
    DurationS,
    PacketBytes,
    PayloadBytes,
    InitialWindowPackets,
    InitialSsthreshPackets,
    ReceiveWindowPackets,
    FlowsOfGroup,
    Seen,
    HeldMean,
    HeldMax,
    Wrong,
    Missed,
}

/// Function that combines values of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "docs/papers.md has the table of them")]
pub enum Over {
    Sum,
    Mean,
    Median,
    Min,
    Max,
    P5,
    P25,
    P75,
    P95,
    Stdev,
    Jain,
    Count,
    Share,
    Quantiles,
    First,
}

/// Input of a metric.
pub(crate) enum Kind {
    /// The scenario; nothing is run.
    Scenario,
    /// Results of flows.
    Flows,
    /// Deliveries of flows over time.
    Rates,
    /// Registers of one flow over time.
    Registers,
    /// Results of links.
    Links,
    /// An access log.
    Log,
}

/// The inputs of metrics from one run.
pub(crate) struct Ran<'a> {
    pub(crate) scenario: &'a Scenario,
    /// `None` if every metric is read from the scenario.
    pub(crate) result: Option<&'a RunResult>,
    /// Times at which links were read.
    pub(crate) read_at: &'a [Nanos],
    pub(crate) registers: &'a Registers,
}

/// Value of a metric in one run, or values along the metric's own axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    /// Name and positions of the axis.
    pub(crate) axis: Option<(&'static str, Vec<f64>)>,
    pub(crate) values: Vec<f64>,
}

impl Measured {
    fn one(value: f64) -> Self {
        Self { axis: None, values: vec![value] }
    }
}

impl Metric {
    /// Input of the metric.
    ///
    /// # Errors
    /// If a key is missing or invalid, or excludes another one.
    pub(crate) fn kind(&self) -> Result<Kind, String> {
        if self.parameter.is_some() {
            return if self.take.is_none() {
                Ok(Kind::Scenario)
            } else {
                Err("both `parameter` and `take`; expected one of them".into())
            };
        }
        let Some(take) = self.take else { return Err("`take` is missing".into()) };
        use Take as T;
        let kind = match take {
            T::RateBitSOfPath
            | T::RttSOfPath
            | T::BdpPackets
            | T::BufferPackets
            | T::DurationS
            | T::PacketBytes
            | T::PayloadBytes
            | T::InitialWindowPackets
            | T::InitialSsthreshPackets
            | T::ReceiveWindowPackets
            | T::FlowsOfGroup => Kind::Scenario,
            T::Utilization
            | T::Drops
            | T::DropShare
            | T::Marks
            | T::MeanQueuePackets
            | T::MaxQueuePackets => Kind::Links,
            T::QueuePackets if self.link.is_some() => Kind::Links,
            T::Seen | T::HeldMean | T::HeldMax | T::Wrong | T::Missed => Kind::Log,
            T::RateBitS => Kind::Rates,
            T::CwndPackets
            | T::SsthreshPackets
            | T::QueuePackets
            | T::InFlightPackets
            | T::Losses
            | T::Delivered => Kind::Registers,
            _ => Kind::Flows,
        };
        if let Some(word) = &self.filter.exit {
            let words = || Exit::ALL.iter().map(|exit| exit.label());
            if words().all(|known| known != word) {
                let known = words().collect::<Vec<_>>().join(", ");
                let near = nearest(word, words())
                    .map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
                return Err(format!(
                    "where.exit = \"{word}\": no such reason; expected one of: {known}{near}"
                ));
            }
        }
        let needs = |there: bool, key: &str| if there { Ok(()) } else { Err(format!("`{key}` is missing")) };
        match kind {
            Kind::Links => {
                needs(self.link.is_some(), "link")?;
                needs(take != T::QueuePackets || self.every.is_some(), "every")?;
            }
            Kind::Flows => needs(self.over.is_some(), "over")?,
            Kind::Rates => needs(self.every.is_some(), "every")?,
            Kind::Registers => {
                needs(self.every.is_some(), "every")?;
                needs(self.flow.is_some(), "flow")?;
            }
            Kind::Scenario | Kind::Log => {}
        }
        let times = [&self.every, &self.until].into_iter().flatten().chain(self.between.iter().flatten());
        let within = self.within.iter().flat_map(Names::all);
        times.chain(within).try_for_each(|text| seconds(text).map(|_| ()))?;
        if self.every.as_deref().map(seconds).transpose()?.is_some_and(|every| every < 1e-3) {
            return Err("`every` is too short; expected at least 1 ms".into());
        }
        Ok(kind)
    }

    /// Number of intervals of `every` in a run whose end is known.
    pub(crate) fn intervals(&self, scenario: &Scenario) -> f64 {
        let time = |text: &String| parse_time(text).ok();
        let every = self.every.as_ref().and_then(time);
        let end = self.until.as_ref().and_then(time).or(scenario.duration);
        every.zip(end).map_or(0.0, |(every, end)| end.0 as f64 / every.0 as f64)
    }

    /// Link that the host must read during the run, and the times.
    pub(crate) fn readings(&self, scenario: &Scenario) -> Option<(&str, Vec<Nanos>)> {
        let link = self.link.as_deref()?;
        let time = |text: &String| parse_time(text).ok();
        let times = match self.take {
            Some(Take::QueuePackets) => {
                let every = self.every.as_ref().and_then(time)?;
                let end = self.until.as_ref().and_then(time).or(scenario.duration)?;
                (1..=end.0 / every.0).map(|i| Nanos(every.0 * i)).collect()
            }
            _ => self.between.iter().flatten().filter_map(time).filter(|time| *time > Nanos::ZERO).collect(),
        };
        Some((link, times))
    }

    /// Measures the metric in one run.
    ///
    /// # Errors
    /// If the run has no such flow, link or time.
    pub(crate) fn measure(&self, ran: &Ran<'_>) -> Result<Measured, String> {
        match self.kind()? {
            Kind::Scenario => scenario::measure(self, ran.scenario),
            Kind::Flows => flows::measure(self, ran.scenario, run_of(ran)?),
            Kind::Rates => time::rates(self, ran.scenario, run_of(ran)?),
            Kind::Registers => time::registers(self, run_of(ran)?, ran.registers),
            Kind::Links => links::measure(self, ran),
            Kind::Log => Err("a metric of logs; expected one of scenarios".into()),
        }
    }
}

impl Metric {
    /// Measures the metric in the analysis of a log, along the windows.
    ///
    /// # Errors
    /// If the metric is not one of logs.
    pub(crate) fn of_log(&self, analysis: &Analysis) -> Result<Measured, String> {
        let value = |window: &WindowShare| match self.take {
            Some(Take::Seen) => Ok(window.seen),
            Some(Take::HeldMean) => Ok(window.held_mean),
            Some(Take::HeldMax) => Ok(f64::from(window.held_max)),
            Some(Take::Wrong) => Ok(window.wrong.unwrap_or(f64::NAN)),
            Some(Take::Missed) => Ok(window.missed.unwrap_or(f64::NAN)),
            _ => Err("not a metric of logs".to_owned()),
        };
        let values = analysis.windows.iter().map(value).collect::<Result<_, _>>()?;
        let windows = analysis.windows.iter().map(|window| window.window_s).collect();
        Ok(Measured { axis: Some(("window", windows)), values })
    }
}

fn run_of<'a>(ran: &Ran<'a>) -> Result<&'a RunResult, String> {
    ran.result.ok_or_else(|| "nothing was run".into())
}

/// Seconds of a time of the scenario format.
fn seconds(text: &str) -> Result<f64, String> {
    parse_time(text).map(Seconds::as_secs_f64).map_err(|error| format!("\"{text}\": {error}"))
}
