//! Measured values and their provenance: the input of verdicts and pages.

use std::collections::BTreeMap;

use firstflight_study::sweep::Array;
use serde::{Deserialize, Serialize};

use crate::expression::Source;

/// The results of some or all experiments of all papers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Version and command that measured them.
    pub provenance: Provenance,
    /// Measurements by the folder of the paper.
    pub papers: BTreeMap<String, Measurements>,
}

/// Version and command that measured results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of the program.
    pub version: String,
    /// Command line.
    pub command: String,
}

/// The results of one paper's experiments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    /// Results by experiment.
    pub experiments: BTreeMap<String, Measured>,
}

/// The results of one experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Hash of the definition: scenarios of the cells, axes, metrics, replications.
    pub definition: String,
    /// Runs per cell.
    pub replications: u32,
    /// Packets times links, over all runs.
    pub packet_hops: u64,
    /// Values by metric.
    pub metrics: BTreeMap<String, Array>,
}

impl Source for Measurements {
    fn metric(&self, experiment: &str, metric: &str) -> Result<&Array, String> {
        let names = |all: Vec<&String>| all.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let measured = self.experiments.get(experiment).ok_or_else(|| {
            format!(
                "there is no experiment \"{experiment}\"; there are {}",
                names(self.experiments.keys().collect())
            )
        })?;
        measured.metrics.get(metric).ok_or_else(|| {
            let known = names(measured.metrics.keys().collect());
            format!("experiment {experiment} has no metric \"{metric}\"; it has {known}")
        })
    }
}
