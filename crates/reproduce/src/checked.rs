//! A statement held against what was measured, and how it is told.

use serde::{Deserialize, Serialize};

/// A statement, held against what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// The statement.
    pub that: String,
    /// Which of several readings of the paper it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<String>,
    /// Whether it holds, here.
    pub holds: bool,
    /// Every point at which it was looked at.
    pub points: Vec<PointOf>,
    /// Why it could not be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One point of a statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointOf {
    /// Names of the point along the axes left open.
    pub at: Vec<String>,
    /// What is expected; `None` in a comparison.
    pub expected: Option<f64>,
    /// The sides of it, from left to right: means over the replications.
    pub measured: Vec<Option<f64>>,
    /// The 95 % interval of the value, or of the difference (for `~` the ratio) of the sides that are worst.
    pub ci95: Option<[f64; 2]>,
    /// What ns-2 gives for the sides, where it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns2: Option<Vec<Option<f64>>>,
    /// Whether it holds here.
    pub holds: bool,
    /// Whether its interval leaves open that it does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
}

impl Checked {
    /// The statement, whether it holds, and in which reading.
    pub fn headline(&self) -> String {
        let holds = if self.holds { "holds" } else { "does not hold" };
        let reading = self.reading.as_ref().map_or(String::new(), |reading| format!(" (reading: {reading})"));
        format!("`{}` {holds}{reading}.", self.that)
    }

    /// What was measured, in a few words: values where there are few, else at how many points it holds.
    pub(crate) fn told(&self) -> String {
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

    /// Where it does not hold.
    pub(crate) fn failed(&self) -> String {
        if let Some(problem) = &self.problem {
            return format!("\"{}\": {problem}.", self.that);
        }
        let told = |undecided: bool, verb: &str, note: &str| {
            let those = || self.points.iter().filter(|point| !point.holds && point.undecided == undecided);
            let at: Vec<String> =
                those().map(|point| point.at.join(", ")).filter(|at| !at.is_empty()).collect();
            let at = if at.is_empty() { String::new() } else { format!(" at {}", at.join("; ")) };
            those().next().map(|_| format!("{verb}{at}{note}"))
        };
        // A value is near the one expected or is not; an order may also be finer than the interval.
        let wrong =
            [told(false, "does not hold", ""), told(true, "is undecided", " (the interval includes both)")];
        let wrong: Vec<String> = wrong.into_iter().flatten().collect();
        format!("\"{}\" {}.", self.that, wrong.join(", and "))
    }
}

impl PointOf {
    /// What the paper has; empty in a comparison.
    pub fn paper(&self) -> String {
        self.expected.map_or(String::new(), short)
    }

    /// What ns-2 gives; empty where it was not asked.
    pub fn ns2(&self) -> String {
        self.ns2.as_deref().map_or(String::new(), sides)
    }

    /// What was measured.
    pub fn here(&self) -> String {
        sides(&self.measured)
    }

    /// The interval.
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

/// The sides of a statement.
fn sides(values: &[Option<f64>]) -> String {
    values.iter().map(|value| value.map_or("-".into(), short)).collect::<Vec<_>>().join(" : ")
}

/// Four significant digits.
pub fn short(value: f64) -> String {
    // Below what nine decimals show.
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
    fn numbers_are_told_with_four_digits() {
        assert_eq!(
            [84_545.0, 0.232_04, 12.0, 0.0, 1.5e-7].map(short),
            ["84545", "0.232", "12", "0", "0.00000015"]
        );
    }
}
