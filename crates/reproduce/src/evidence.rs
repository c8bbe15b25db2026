//! Measured values and their provenance: the input of verdicts and pages.

use std::collections::BTreeMap;

use firstflight_sweep::Array;
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
    /// Version of the program, where it is not that of the whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Values by metric.
    pub metrics: BTreeMap<String, Array>,
}

impl Evidence {
    /// Replaces the experiments that `newer` measured otherwise, and notes its version with each, where it is another. Experiments
    /// that `are_known` does not name, by paper and name, are left out.
    pub fn update(&mut self, newer: Self, are_known: impl Fn(&str, &str) -> bool) {
        let whole = self.provenance.version == newer.provenance.version;
        let version = if whole { String::new() } else { newer.provenance.version };
        for (paper, measurements) in newer.papers {
            let known = self.papers.entry(paper).or_default();
            for (name, measured) in measurements.experiments {
                let same = known.experiments.get(&name).is_some_and(|old| old.is_as(&measured));
                if !same {
                    known.experiments.insert(name, Measured { version: version.clone(), ..measured });
                }
            }
        }
        for (paper, measurements) in &mut self.papers {
            measurements.experiments.retain(|name, _| are_known(paper, name));
        }
    }

    /// Versions of single experiments, and the names of their experiments: `liu/exp-bytes`.
    pub fn later(&self) -> BTreeMap<&str, Vec<String>> {
        let mut later: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (paper, measurements) in &self.papers {
            for (name, measured) in measurements.experiments.iter().filter(|(_, one)| !one.version.is_empty())
            {
                later.entry(&measured.version).or_default().push(format!("{paper}/{name}"));
            }
        }
        later
    }
}

impl Measured {
    /// Whether it has the same values as another one, whatever their versions.
    fn is_as(&self, other: &Self) -> bool {
        let Self { definition, replications, packet_hops, version: _, metrics } = self;
        (definition, replications, packet_hops, metrics)
            == (&other.definition, &other.replications, &other.packet_hops, &other.metrics)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(version: &str, experiments: &[(&str, u64)]) -> Evidence {
        let measured = |hops: u64| Measured { packet_hops: hops, ..Measured::default() };
        let experiments =
            experiments.iter().map(|(name, hops)| ((*name).to_owned(), measured(*hops))).collect();
        Evidence {
            provenance: Provenance { version: version.into(), command: String::new() },
            papers: BTreeMap::from([("x".to_owned(), Measurements { experiments })]),
        }
    }

    #[test]
    fn an_update_names_the_version_of_what_it_changed_and_leaves_out_what_is_no_experiment() {
        let mut all = evidence("1", &[("same", 1), ("other", 2), ("untouched", 3), ("gone", 4)]);
        all.update(evidence("2", &[("same", 1), ("other", 5), ("new", 6)]), |_, name| name != "gone");
        let hops = all.papers["x"].experiments.iter().map(|(name, one)| (name.as_str(), one.packet_hops));
        assert_eq!(hops.collect::<Vec<_>>(), [("new", 6), ("other", 5), ("same", 1), ("untouched", 3)]);
        assert_eq!(all.later(), BTreeMap::from([("2", vec!["x/new".to_owned(), "x/other".to_owned()])]));
        assert_eq!(all.provenance.version, "1");
        all.update(evidence("1", &[("same", 7)]), |_, _| true);
        assert_eq!(all.later(), BTreeMap::from([("2", vec!["x/new".to_owned(), "x/other".to_owned()])]));
    }
}
