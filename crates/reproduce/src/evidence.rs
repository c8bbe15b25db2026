//! What was measured, and where it comes from: everything a verdict or a page is made of.

use std::collections::BTreeMap;

use firstflight_study::sweep::Array;
use serde::{Deserialize, Serialize};

use crate::expression::Source;

/// The results of some or all experiments of all papers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// How they were obtained.
    pub provenance: Provenance,
    /// By the folder of the paper.
    pub papers: BTreeMap<String, Measurements>,
}

/// How results were obtained.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The version that ran.
    pub version: String,
    /// What was run.
    pub command: String,
}

/// The results of one paper's experiments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    /// By experiment.
    pub experiments: BTreeMap<String, Measured>,
}

/// The results of one experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Hash of all that defines it: the scenarios of its cells, its metrics, its replications.
    pub definition: String,
    /// Runs of every cell.
    pub replications: u32,
    /// Packets times links of all its runs.
    pub packet_hops: u64,
    /// By metric.
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
