//! A statement compared with measured values, and its texts.

use serde::{Deserialize, Serialize};

/// A statement, compared with measured values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// Text of the statement.
    pub that: String,
    /// Reading of the paper that the statement belongs to, if the paper has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<String>,
    /// Whether the statement holds.
    pub holds: bool,
    /// Result at every point.
    pub points: Vec<PointOf>,
    /// Error that prevented the comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
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
    /// Value of each side in ns-2, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns2: Option<Vec<Option<f64>>>,
    /// Whether the statement holds at this point.
    pub holds: bool,
    /// Whether the interval includes both outcomes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
}

impl Checked {
    /// End of a sentence that begins with the statement: whether it holds, and its reading.
    pub fn finding(&self) -> String {
        let holds = if self.holds { "holds" } else { "does not hold" };
        let reading = self.reading.as_ref().map_or(String::new(), |reading| format!(" (reading: {reading})"));
        format!("{holds}{reading}.")
    }

    /// The measured values if there are few, else the number of points at which the statement holds.
    pub(crate) fn summary(&self) -> String {
        if let Some(problem) = &self.problem {
            return problem.clone();
        }
        const FEW: usize = 12;
        let compared = self.points.iter().any(|point| point.measured.len() > 1);
        if self.points.len() > if compared { 2 } else { FEW } {
            let held = self.points.iter().filter(|point| point.holds).count();
            return format!("holds at {held} of {} points", self.points.len());
        }
        self.points.iter().map(PointOf::here).collect::<Vec<_>>().join(", ")
    }

    /// One sentence: the points at which the statement does not hold.
    pub(crate) fn failed(&self) -> String {
        if let Some(problem) = &self.problem {
            return format!("\"{}\": {problem}.", self.that);
        }
        let clause = |undecided: bool, verb: &str, note: &str| {
            let those = || self.points.iter().filter(|point| !point.holds && point.undecided == undecided);
            let at: Vec<String> =
                those().map(|point| point.at.join(", ")).filter(|at| !at.is_empty()).collect();
            let at = if at.is_empty() { String::new() } else { format!(" at {}", at.join("; ")) };
            those().next().map(|_| format!("{verb}{at}{note}"))
        };
        // Only an order can be undecided: the difference may be smaller than the interval.
        let wrong = [
            clause(false, "does not hold", ""),
            clause(true, "is undecided", " (the interval includes both)"),
        ];
        let wrong: Vec<String> = wrong.into_iter().flatten().collect();
        format!("\"{}\" {}.", self.that, wrong.join(", and "))
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

    /// The measured values as text.
    pub fn here(&self) -> String {
        sides(&self.measured)
    }

    /// The interval as text.
    pub fn interval(&self) -> String {
        self.ci95.map_or(String::new(), |[low, high]| format!("{} to {}", short(low), short(high)))
    }

    /// Whether it holds: `yes`, `no`, or `undecided`.
    pub const fn fate(&self) -> &'static str {
        match (self.holds, self.undecided) {
            (true, _) => "yes",
            (false, true) => "undecided",
            (false, false) => "no",
        }
    }
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
