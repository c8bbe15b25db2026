//! Readings of a paper: joint choices of what it leaves open, each applied to all of its lines at once.

use std::collections::BTreeMap;

use firstflight_study::host::Host;
use firstflight_study::progress::Progress;
use firstflight_study::sweep::wrong;
use serde::{Deserialize, Serialize};
use toml::Value;

use crate::PaperError;
use crate::evidence::{Evidence, Provenance};
use crate::judge::{Judged, Verdict, judge};
use crate::library::{Library, Paper};
use crate::run::{Selection, Store, run};

/// `readings.toml`: the choices that a paper leaves open. Readings are all combinations of their points.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readings {
    /// Remarks: what the choices are, and what is not among them.
    pub about: String,
    /// Ids of the lines that are scored.
    pub lines: Vec<String>,
    /// The choices.
    #[serde(rename = "choice")]
    pub choices: Vec<Choice>,
}

/// A value that the paper leaves open.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Name of the value.
    pub name: String,
    /// The values that it may have.
    #[serde(rename = "point")]
    pub points: Vec<Taken>,
}

/// One value.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// Name of the value.
    pub name: String,
    /// Whether the column "as printed" has this value: one point of each choice.
    #[serde(default)]
    pub printed: bool,
    /// Number of values that were chosen so that a number comes out; they count against the reading.
    #[serde(default)]
    pub fitted: usize,
    /// Changes of experiments.
    #[serde(default, rename = "change")]
    pub changes: Vec<Change>,
}

/// A change of the experiments over some scenarios.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Files of `scenarios/`.
    pub scenarios: Vec<String>,
    /// Point of an axis that the change belongs to; without one, it belongs to every cell, where no axis sets the key.
    #[serde(default)]
    pub at: Option<String>,
    /// Keys and values.
    pub set: BTreeMap<String, Value>,
}

/// One reading, and its score on every line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    /// The value of each choice.
    pub taken: Vec<String>,
    /// Whether it is the reading as printed.
    pub printed: bool,
    /// Number of fitted values.
    pub fitted: usize,
    /// Scores, in the order of the lines.
    pub lines: Vec<Score>,
}

/// The score of a line under a reading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Id of the line.
    pub id: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Statements that hold.
    pub held: usize,
    /// Statements in all.
    pub of: usize,
}

/// The table of a paper: readings times lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Version and command that measured them.
    pub provenance: Provenance,
    /// Folder of the paper.
    pub paper: String,
    /// Names of the choices.
    pub choices: Vec<String>,
    /// Packets times links of all runs.
    pub packet_hops: u64,
    /// The readings.
    pub readings: Vec<Scored>,
}

impl Readings {
    /// Checks that the lines, the scenarios and the points exist, and that each choice has one value as printed.
    pub(crate) fn check(&self, paper: &Paper) -> Result<(), PaperError> {
        let place = |what: &str| format!("{}/readings.toml: {what}", paper.folder);
        for id in &self.lines {
            if paper.claims.iter().all(|claim| claim.id != *id) {
                return Err(wrong(place(id), "no claim of the paper has this id"));
            }
        }
        for choice in &self.choices {
            let printed = choice.points.iter().filter(|point| point.printed).count();
            if printed != 1 {
                return Err(
                    wrong(place(&choice.name), format!("{printed} points are printed")).expecting("1")
                );
            }
            for change in choice.points.iter().flat_map(|point| &point.changes) {
                if let Some(file) = change.scenarios.iter().find(|file| !paper.scenarios.contains_key(*file))
                {
                    return Err(wrong(place(&choice.name), format!("no scenario {file}")));
                }
                let of = |one: &&crate::Experiment| change.scenarios.contains(&one.scenario);
                let mut axes = paper.experiments.values().filter(of).flat_map(|one| &one.axes);
                if let Some(at) = &change.at
                    && !axes.any(|axis| axis.points.iter().any(|point| point.name == *at))
                {
                    return Err(wrong(place(&choice.name), format!("no axis has a point \"{at}\"")));
                }
            }
        }
        Ok(())
    }

    /// All combinations, the last choice the fastest: the index of the point of each choice.
    pub fn all(&self) -> Vec<Vec<usize>> {
        let first = vec![vec![]];
        self.choices.iter().fold(first, |known, choice| {
            known
                .iter()
                .flat_map(|one| {
                    (0..choice.points.len()).map(move |point| [one.as_slice(), &[point]].concat())
                })
                .collect()
        })
    }

    fn taken<'a>(&'a self, reading: &'a [usize]) -> impl Iterator<Item = &'a Taken> {
        self.choices.iter().zip(reading).map(|(choice, &point)| &choice.points[point])
    }

    /// The paper under a reading: its experiments with the changes, and its claims without their causes, which are of other
    /// readings.
    fn apply(&self, paper: &Paper, reading: &[usize]) -> Paper {
        let mut paper = paper.clone();
        paper.ns2.clear();
        for claim in &mut paper.claims {
            claim.because.clear();
            claim.turns.clear();
            claim.refuted = None;
            claim.refutation.clear();
        }
        for experiment in paper.experiments.values_mut() {
            let scenario = experiment.scenario.clone();
            let changes = self.taken(reading).flat_map(|taken| &taken.changes);
            for change in changes.filter(|change| change.scenarios.contains(&scenario)) {
                match &change.at {
                    Some(at) => {
                        let points = experiment.axes.iter_mut().flat_map(|axis| &mut axis.points);
                        for point in points.filter(|point| point.name == *at) {
                            point.set.extend(change.set.clone());
                        }
                    }
                    // Axes that come later overwrite what the first one sets.
                    None => {
                        for point in experiment.axes.first_mut().into_iter().flat_map(|axis| &mut axis.points)
                        {
                            for (key, value) in &change.set {
                                point.set.entry(key.clone()).or_insert_with(|| value.clone());
                            }
                        }
                    }
                }
            }
        }
        paper
    }
}

/// Runs and judges every reading of a paper. Runs in the store are not made again.
///
/// # Errors
/// If the paper has no readings, or a run fails.
pub fn score(
    host: &dyn Host,
    library: &Library,
    paper: &Paper,
    store: &Store,
    provenance: Provenance,
    memory: Option<u64>,
    progress: &dyn Progress,
) -> Result<Scores, PaperError> {
    let readings = paper.readings.as_ref().ok_or_else(|| {
        wrong(paper.folder.clone(), "the paper has no readings.toml").expecting("a paper that has one")
    })?;
    let mut scores = Scores {
        provenance,
        paper: paper.folder.clone(),
        choices: readings.choices.iter().map(|choice| choice.name.clone()).collect(),
        packet_hops: 0,
        readings: vec![],
    };
    for reading in readings.all() {
        let changed = readings.apply(paper, &reading);
        let wanted = changed.claims.iter().filter(|claim| readings.lines.contains(&claim.id));
        let names: Vec<&str> = wanted.flat_map(|claim| claim.experiments()).collect();
        let one = Library { papers: vec![changed.clone()], ..library.clone() };
        let selection = Selection { experiments: Some(&names), memory, ..Selection::default() };
        let evidence: Evidence = run(host, &one, &selection, store, Provenance::default(), progress)?;
        let hops = evidence.papers.values().flat_map(|of| of.experiments.values()).map(|one| one.packet_hops);
        scores.packet_hops += hops.sum::<u64>();
        let judged = judge(&one, &evidence, "Not run.");
        let of =
            |row: &Judged| Score { id: row.id.clone(), verdict: row.verdict, held: row.held, of: row.of };
        let taken: Vec<&Taken> = readings.taken(&reading).collect();
        scores.readings.push(Scored {
            taken: taken.iter().map(|one| one.name.clone()).collect(),
            printed: taken.iter().all(|one| one.printed),
            fitted: taken.iter().map(|one| one.fitted).sum(),
            lines: judged.iter().filter(|row| readings.lines.contains(&row.id)).map(of).collect(),
        });
    }
    Ok(scores)
}

impl Scored {
    /// Statements that hold, and all.
    pub fn held(&self) -> (usize, usize) {
        self.lines.iter().fold((0, 0), |(held, of), line| (held + line.held, of + line.of))
    }

    /// Lines that match.
    pub fn matching(&self) -> usize {
        self.lines.iter().filter(|line| line.verdict == Verdict::Matches).count()
    }
}

impl Scores {
    /// The best single reading: most statements that hold less the fitted values, then most lines that match, then the one
    /// that comes first.
    pub fn best(&self) -> Option<&Scored> {
        let rank = |one: &Scored| (one.held().0 as i64 - one.fitted as i64, one.matching());
        self.readings.iter().rev().max_by_key(|one| rank(one))
    }
}
