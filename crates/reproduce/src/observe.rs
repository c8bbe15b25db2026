//! One run and its metrics: the only place that asks a host.

use std::collections::{BTreeMap, BTreeSet};

use firstflight_contract::Nanos;
use firstflight_hosts::host::{FlowChoice, FlowOverTime, Host, LinkReadings, Observe};
use firstflight_hosts::memory::{Estimate, READING};
use firstflight_scenario::Scenario;
use firstflight_sweep::{within, wrong};
use serde::{Deserialize, Serialize};

use crate::PaperError;
use crate::cell::Subject;
use crate::log::SyntheticLog;
use crate::metric::{Kind, Measured, Metric, Ran};
use crate::number::rounded;
use crate::run::refused;

/// Flows over time, by name.
pub(crate) type Registers = BTreeMap<String, FlowOverTime>;

/// One run, and the metrics wanted of it.
pub(crate) struct Job<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) seed: u64,
    pub(crate) grid: Nanos,
    /// Limit of the memory of the run, bytes.
    pub(crate) memory: u64,
    /// By the metric's definition.
    pub(crate) metrics: BTreeMap<String, &'a Metric>,
    /// File of the experiment, for errors.
    pub(crate) file: String,
}

/// Metrics of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Packets times links.
    pub(crate) packet_hops: u64,
    /// By the metric's definition.
    pub(crate) metrics: BTreeMap<String, Values>,
}

/// Values of one metric in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Values {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    axis: Option<(String, Vec<f64>)>,
    values: Vec<Option<f64>>,
}

impl Values {
    /// Rounded; a value that is not finite becomes `None`.
    fn of(measured: Measured) -> Self {
        let values = measured.values.into_iter().map(|v| Some(rounded(v)).filter(|v| v.is_finite()));
        Self { axis: measured.axis.map(|(name, x)| (name.to_owned(), x)), values: values.collect() }
    }

    /// Name and positions of the metric's own axis.
    pub(crate) fn axis(&self) -> Option<(&str, &[f64])> {
        self.axis.as_ref().map(|(name, x)| (name.as_str(), x.as_slice()))
    }

    /// Value `index` along that axis; not a number where there is none.
    pub(crate) fn at(&self, index: usize) -> f64 {
        self.values.get(index).copied().flatten().unwrap_or(f64::NAN)
    }
}

impl Job<'_> {
    /// Whether `done` has every metric of the job.
    pub(crate) fn is_answered_by(&self, done: &Done) -> bool {
        self.metrics.keys().all(|key| done.metrics.contains_key(key))
    }

    /// Makes the run and measures its metrics.
    ///
    /// # Errors
    /// If the host cannot run the scenario, or a metric does not fit the run.
    pub(crate) fn measure(&self, host: &dyn Host) -> Result<Done, PaperError> {
        let done = match self.subject {
            Subject::Scenario(scenario) => self.of_scenario(host, scenario),
            Subject::Log(log) => self.of_log(log),
        };
        done.map_err(|error| within(&self.file, error))
    }

    fn of_log(&self, log: &SyntheticLog) -> Result<Done, PaperError> {
        let analysis = log.study(self.seed).map_err(|why| wrong("", why))?;
        Ok(Done { packet_hops: 0, metrics: self.values(|metric| metric.of_log(&analysis))? })
    }

    fn of_scenario(&self, host: &dyn Host, scenario: &Scenario) -> Result<Done, PaperError> {
        let kinds: Vec<Kind> =
            self.metrics.values().map(|metric| metric.kind().expect("checked before")).collect();
        let links = self.readings(scenario)?;
        let result = match kinds.iter().all(|kind| matches!(kind, Kind::Scenario)) {
            true => None,
            false => {
                let observe = Observe { grid: self.grid, links: links.clone(), ..self.observe() };
                Some(
                    host.run(scenario, self.seed, &observe)
                        .map_err(|halt| PaperError::from(halt.map(refused)))?
                        .result,
                )
            }
        };
        let mut registers = Registers::new();
        for (metric, kind) in self.metrics.values().zip(&kinds) {
            if let (Kind::Registers, Some(name)) = (kind, &metric.flow)
                && !registers.contains_key(name)
            {
                let observe = Observe { flow: Some(FlowChoice::Named(name.clone())), ..self.observe() };
                let run = host
                    .run(scenario, self.seed, &observe)
                    .map_err(|halt| PaperError::from(halt.map(refused)))?;
                registers.insert(name.clone(), run.flow.expect("a flow was asked for"));
            }
        }
        let ran = Ran { scenario, result: result.as_ref(), read_at: &links.times, registers: &registers };
        Ok(Done {
            packet_hops: result.as_ref().map_or(0, |result| result.engine.packet_hops),
            metrics: self.values(|metric| metric.measure(&ran))?,
        })
    }

    fn observe(&self) -> Observe {
        Observe { memory: self.memory, ..Observe::default() }
    }

    /// The links that are read before the run ends, and the times.
    ///
    /// # Errors
    /// If the times of a metric take more memory than the limit.
    fn readings(&self, scenario: &Scenario) -> Result<LinkReadings, PaperError> {
        for metric in self.metrics.values() {
            let mut estimate = Estimate::default();
            estimate.add("every", 0.0, metric.intervals(scenario) * READING as f64);
            estimate.admit(1, self.memory).map_err(|refusal| within(&metric.title, refused(refusal)))?;
        }
        let (mut links, mut times) = (BTreeSet::new(), BTreeSet::new());
        for (link, at) in self.metrics.values().filter_map(|metric| metric.readings(scenario)) {
            links.insert(link.to_owned());
            times.extend(at);
        }
        Ok(LinkReadings { times: times.into_iter().collect(), links })
    }

    fn values(
        &self,
        measure: impl Fn(&Metric) -> Result<Measured, String>,
    ) -> Result<BTreeMap<String, Values>, PaperError> {
        let value = |(key, metric): (&String, &&Metric)| match measure(metric) {
            Ok(measured) => Ok((key.clone(), Values::of(measured))),
            Err(why) => Err(wrong(&metric.title, why)),
        };
        self.metrics.iter().map(value).collect()
    }
}
