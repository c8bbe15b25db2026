//! A statement compared with measured values, and its texts.

use serde::{Deserialize, Serialize};

/// Whether a statement holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The interval is on the statement's side, by more than a tenth of the effect.
    Holds,
    /// The interval includes both outcomes, or comes closer than a tenth of the effect to the border.
    Undecided,
    /// The interval is on the other side, by more than a tenth of the effect; or a value is missing.
    Fails,
}

impl Outcome {
    /// The outcome as printed in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Holds => "yes",
            Self::Undecided => "undecided",
            Self::Fails => "no",
        }
    }
}

/// A statement, compared with measured values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// Stable name: the id of the line and the number of the statement, `YN-06.2`.
    pub id: String,
    /// Text of the statement.
    pub that: String,
    /// Word of the table that the statement uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
    /// Reading of the paper that the statement belongs to, if the paper has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<String>,
    /// Whether the statement is judged: the paper as printed allows its reading.
    pub judged: bool,
    /// Reason why the statement is measured but not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_judged: Option<String>,
    /// Whether the statement holds.
    pub outcome: Outcome,
    /// Replications at which an undecided statement would be decided if means and deviations stayed as they are; 61 if not even
    /// the 60 that are run at most decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<u32>,
    /// Share of single runs in which the statement holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single: Option<Share>,
    /// Result at every point.
    pub points: Vec<PointOf>,
    /// Error that prevented the comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Number of single runs that show something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Runs that show it.
    pub show: usize,
    /// All runs.
    pub of: usize,
}

/// One point of a statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointOf {
    /// Names of the point on the open axes.
    pub at: Vec<String>,
    /// Expected value; `None` in a comparison.
    pub expected: Option<f64>,
    /// Mean over the replications of each side, from left to right.
    pub measured: Vec<Option<f64>>,
    /// 95 % interval of the value; in a comparison, of the difference (for `~`, the ratio) of the pair of sides that decides.
    pub ci95: Option<[f64; 2]>,
    /// 95 % prediction interval of one run, of the same quantity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_run: Option<[f64; 2]>,
    /// Value of each side in ns-2, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns2: Option<Vec<Option<f64>>>,
    /// The sides over the seeds that ns-2 ran, if it ran fewer than ran here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<Paired>,
    /// Ratio to the paper: measured over expected; of an order, the side that the paper has as the larger over the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// Whether the statement holds at this point.
    pub outcome: Outcome,
    /// Replications at which it would be decided, as [`Checked::needs`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<u32>,
}

/// Words for the seeds that ns-2 ran.
pub fn first_seeds(seeds: usize) -> String {
    match seeds {
        1 => "seed 1".into(),
        _ => format!("seeds 1 to {seeds}"),
    }
}

/// Values here over the seeds that ns-2 ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// The seeds: 1 to this.
    pub seeds: usize,
    /// Mean over these seeds of each side, from left to right.
    pub measured: Vec<Option<f64>>,
}

/// A ratio, its 95 % interval, and its value in ns-2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Ratio of the means.
    pub here: f64,
    /// Interval of the mean ratio over the replications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// In ns-2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns2: Option<f64>,
}

impl Checked {
    /// Whether the statement holds.
    pub fn holds(&self) -> bool {
        self.outcome == Outcome::Holds
    }

    /// End of a sentence that begins with the statement: whether it holds, its reading, and the share of single runs.
    pub fn finding(&self) -> String {
        let holds = match self.outcome {
            Outcome::Holds => "holds",
            Outcome::Undecided => "is undecided",
            Outcome::Fails => "does not hold",
        };
        let reading = self.reading.as_ref().map_or(String::new(), |reading| format!(" (reading: {reading})"));
        let single = self
            .single
            .map_or(String::new(), |share| format!("; in {} of {} single runs", share.show, share.of));
        let apart = match (&self.not_judged, self.judged) {
            (Some(reason), _) => format!(" Not judged: {reason}"),
            (None, false) => " Not judged: the paper as printed does not state this reading.".into(),
            _ => String::new(),
        };
        format!("{holds}{reading}{single}.{apart}")
    }

    /// Seeds that ns-2 ran; `None` if it has no value, or ran as many as ran here.
    pub fn seeds_of_ns2(&self) -> Option<usize> {
        self.points.iter().find_map(|point| Some(point.paired.as_ref()?.seeds))
    }

    /// Head of the column of [`PointOf::paired`]; `None` if no point has such values.
    pub fn paired(&self) -> Option<String> {
        Some(format!("here, {}", first_seeds(self.seeds_of_ns2()?)))
    }

    /// Least, median and largest ratio to the paper over the points; `None` for few points.
    pub fn spread(&self) -> Option<[f64; 3]> {
        const MANY: usize = 12;
        let mut ratios: Vec<f64> = self.points.iter().filter_map(|point| Some(point.ratio?.here)).collect();
        ratios.sort_by(f64::total_cmp);
        let (Some(&least), Some(&most), true) = (ratios.first(), ratios.last(), ratios.len() > MANY) else {
            return None;
        };
        Some([least, ratios[ratios.len() / 2], most])
    }

    /// The measured values if there are few, else the number of points at which the statement holds.
    pub(crate) fn summary(&self) -> String {
        if let Some(problem) = &self.problem {
            return problem.clone();
        }
        const FEW: usize = 12;
        let compared = self.points.iter().any(|point| point.measured.len() > 1);
        if self.points.len() > if compared { 2 } else { FEW } {
            let held = self.points.iter().filter(|point| point.outcome == Outcome::Holds).count();
            return format!("holds at {held} of {} points", self.points.len());
        }
        self.points.iter().map(PointOf::here).collect::<Vec<_>>().join(", ")
    }

    /// The point that decides: the first that fails, else the first that is undecided, else the one nearest to the border.
    pub fn deciding(&self) -> Option<&PointOf> {
        let of = |outcome: Outcome| self.points.iter().find(|point| point.outcome == outcome);
        let distance = |point: &&PointOf| point.ratio.map_or(f64::INFINITY, |ratio| (ratio.here - 1.0).abs());
        let expected = self.points.iter().any(|point| point.expected.is_some());
        // A number is nearest to its border where it is furthest from the expected one, an order where the sides are alike.
        let nearest = |a: &&PointOf, b: &&PointOf| match expected {
            true => distance(b).total_cmp(&distance(a)),
            false => distance(a).total_cmp(&distance(b)),
        };
        of(Outcome::Fails).or_else(|| of(Outcome::Undecided)).or_else(|| self.points.iter().min_by(nearest))
    }
}

impl PointOf {
    /// The paper's value as text; empty in a comparison.
    pub fn paper(&self) -> String {
        self.expected.map_or(String::new(), short)
    }

    /// The values of ns-2 as text; empty if unknown.
    pub fn ns2(&self) -> String {
        self.ns2.as_deref().map_or(String::new(), sides)
    }

    /// The measured values over the seeds that ns-2 ran as text; empty if ns-2 ran all, or none.
    pub fn paired(&self) -> String {
        self.paired.as_ref().map_or(String::new(), |paired| sides(&paired.measured))
    }

    /// The measured values as text.
    pub fn here(&self) -> String {
        sides(&self.measured)
    }

    /// The interval as text.
    pub fn interval(&self) -> String {
        self.ci95.map_or(String::new(), range)
    }

    /// The prediction interval of one run as text.
    pub fn one_run(&self) -> String {
        self.one_run.map_or(String::new(), range)
    }
}

fn range([low, high]: [f64; 2]) -> String {
    format!("{} to {}", short(low), short(high))
}

/// The values of the sides of a statement, joined by colons.
fn sides(values: &[Option<f64>]) -> String {
    values.iter().map(|value| value.map_or("-".into(), short)).collect::<Vec<_>>().join(" : ")
}

/// `value` with four significant digits.
pub fn short(value: f64) -> String {
    // Nine decimals would show zeros.
    if value.abs() < 5e-10 {
        return "0".into();
    }
    let digits = (3 - libm::floor(libm::log10(value.abs())) as i64).clamp(0, 9) as usize;
    let text = format!("{value:.digits$}");
    if digits == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_significant_digits() {
        assert_eq!(
            [84_545.0, 0.232_04, 12.0, 0.0, 1.5e-7].map(short),
            ["84545", "0.232", "12", "0", "0.00000015"]
        );
    }
}
