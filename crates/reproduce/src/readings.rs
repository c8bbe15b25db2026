//! Readings of a paper: joint choices of what it leaves open, each applied to all of its lines at once.

use std::collections::BTreeMap;

use firstflight_hosts::host::Host;
use firstflight_hosts::progress::Progress;
use firstflight_sweep::{Axis, wrong};
use serde::{Deserialize, Serialize};
use toml::Value;

use crate::PaperError;
use crate::claim::Statement;
use crate::evidence::{Evidence, Provenance};
use crate::expression::Label;
use crate::judge::{Judged, Verdict, judge};
use crate::library::{Library, Paper};
use crate::run::{Selection, Store, run};

/// `readings.toml` or `readings-<part>.toml`: the choices that a paper leaves open. Readings are all combinations of their points.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readings {
    /// Remarks: what the choices are, and what is not among them.
    pub about: String,
    /// Ids of the lines that are scored.
    pub lines: Vec<String>,
    /// Replications of every experiment that has more than one, in place of the number in its file.
    #[serde(default)]
    pub replications: Option<u32>,
    /// Names of points of axes that are not run, because they take most of the time. Statements that need such a point, or an
    /// experiment without others, are not scored.
    #[serde(default)]
    pub without: Vec<String>,
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
    /// Part of the paper: "" of `readings.toml`, `exp` of `readings-exp.toml`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// Names of the choices.
    pub choices: Vec<String>,
    /// Packets times links of all runs.
    pub packet_hops: u64,
    /// The readings.
    pub readings: Vec<Scored>,
}

impl Readings {
    /// Checks that the lines, the scenarios and the points exist, and that each choice has one value as printed.
    pub(crate) fn check(&self, paper: &Paper, part: &str) -> Result<(), PaperError> {
        let place = |what: &str| format!("{}/{}: {what}", paper.folder, file(part));
        for id in &self.lines {
            if paper.claims.iter().all(|claim| claim.id != *id) {
                return Err(wrong(place(id), "no claim of the paper has this id"));
            }
        }
        if self.replications.is_some_and(|replications| replications < 2) {
            return Err(wrong(place("replications"), "too few for an interval").expecting("at least 2"));
        }
        let every = || paper.experiments.values().flat_map(|one| &one.axes).flat_map(|axis| &axis.points);
        if let Some(point) = self.without.iter().find(|name| every().all(|point| point.name != **name)) {
            return Err(wrong(place("without"), format!("no axis has a point \"{point}\"")));
        }
        for claim in paper.claims.iter().filter(|claim| self.lines.contains(&claim.id)) {
            if !claim.statements.iter().any(|one| claim.is_judged(one) && self.is_run(paper, one)) {
                return Err(wrong(place(&claim.id), "no statement is scored without these points"));
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

    /// Whether a statement needs no point that is left out.
    fn is_run(&self, paper: &Paper, statement: &Statement) -> bool {
        statement.that.references().iter().all(|(name, labels)| {
            let Some(experiment) = paper.experiments.get(*name) else { return true };
            let left = experiment.axes.iter().all(|axis| !self.leaves_none(axis));
            left && !labels.iter().any(|label| self.leaves_out(&experiment.axes, label))
        })
    }

    /// Whether an axis has no point but those that are left out.
    fn leaves_none(&self, axis: &Axis) -> bool {
        axis.points.iter().all(|point| self.without.contains(&point.name))
    }

    /// Whether a label names a point that is left out, by its name or as the nearest to a number.
    fn leaves_out(&self, axes: &[Axis], label: &Label) -> bool {
        let out = |name: &String| self.without.contains(name);
        if axes.iter().flat_map(|axis| &axis.points).any(|point| point.name == label.point) {
            return out(&label.point);
        }
        let named = axes.iter().find(|axis| label.axis.as_ref() == Some(&axis.name));
        let (Some(axis), Ok(x)) = (named, label.point.parse::<f64>()) else { return false };
        let all = axis.dimension();
        let near = all.points.iter().zip(&all.x).min_by(|a, b| (a.1 - x).abs().total_cmp(&(b.1 - x).abs()));
        near.is_some_and(|(name, _)| out(name))
    }

    /// The paper under a reading: its experiments with the changes, and its claims without their causes, which are of other
    /// readings.
    fn apply(&self, paper: &Paper, reading: &[usize]) -> Paper {
        let mut paper = paper.clone();
        paper.ns2.clear();
        let whole = paper.clone();
        for claim in &mut paper.claims {
            // Experiments of statements that are not judged need not run.
            let judged: Vec<bool> = claim.statements.iter().map(|one| claim.is_judged(one)).collect();
            let mut judged = judged.into_iter();
            claim.statements.retain(|one| judged.next() == Some(true) && self.is_run(&whole, one));
            claim.because.clear();
            claim.turns.clear();
            claim.refuted = None;
            claim.refutation.clear();
        }
        paper.experiments.retain(|_, one| !one.axes.iter().any(|axis| self.leaves_none(axis)));
        for experiment in paper.experiments.values_mut() {
            if let Some(replications) = self.replications.filter(|_| experiment.replications > 1) {
                experiment.replications = replications;
            }
            for axis in &mut experiment.axes {
                axis.points.retain(|point| !self.without.contains(&point.name));
            }
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

/// Name of the file of a table.
fn file(part: &str) -> String {
    match part {
        "" => "readings.toml".into(),
        part => format!("readings-{part}.toml"),
    }
}

/// Runs and judges every reading of one table of a paper. Runs in the store are not made again.
///
/// # Errors
/// If the paper has no such table, or a run fails.
#[expect(clippy::too_many_arguments, reason = "one call, from the command")]
pub fn score(
    host: &dyn Host,
    library: &Library,
    paper: &Paper,
    part: &str,
    store: &Store,
    provenance: Provenance,
    memory: Option<u64>,
    progress: &dyn Progress,
) -> Result<Scores, PaperError> {
    let readings = paper.readings.get(part).ok_or_else(|| {
        let problem = format!("the paper has no {}", file(part));
        wrong(paper.folder.clone(), problem).expecting("a paper that has one")
    })?;
    let mut scores = Scores {
        provenance,
        paper: paper.folder.clone(),
        part: part.to_owned(),
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
    /// The scores with the marks that `readings` has now: the reading as printed, and the numbers of fitted values. `None` if the
    /// choices, their points or the lines are other ones.
    pub fn marked(mut self, readings: &Readings) -> Option<Self> {
        let all = readings.all();
        let choices = readings.choices.iter().map(|choice| &choice.name);
        if !choices.eq(&self.choices) || all.len() != self.readings.len() {
            return None;
        }
        for (scored, reading) in self.readings.iter_mut().zip(&all) {
            let taken: Vec<&Taken> = readings.taken(reading).collect();
            let lines = scored.lines.iter().all(|line| readings.lines.contains(&line.id));
            if !taken.iter().map(|one| &one.name).eq(&scored.taken)
                || !lines
                || scored.lines.len() != readings.lines.len()
            {
                return None;
            }
            scored.printed = taken.iter().all(|one| one.printed);
            scored.fitted = taken.iter().map(|one| one.fitted).sum();
        }
        Some(self)
    }

    /// The best single reading: most statements that hold less the fitted values, then most lines that match, then the one
    /// that comes first.
    pub fn best(&self) -> Option<&Scored> {
        let rank = |one: &Scored| (one.held().0 as i64 - one.fitted as i64, one.matching());
        self.readings.iter().rev().max_by_key(|one| rank(one))
    }
}
