//! Measured values along named axes, with one value for each replication.

use serde::{Deserialize, Serialize};

/// The points of one axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dimension {
    /// Its name in expressions.
    pub name: String,
    /// What it measures, with its unit.
    pub title: String,
    /// The names of its points.
    pub points: Vec<String>,
    /// Where they stand on a plot; the index where they have no place of their own.
    pub x: Vec<f64>,
}

/// Values along named axes, each a row of samples: one for each replication, in the order of seeds, so that two values
/// of the same replication met the same randomness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Array {
    /// The axes, the last the fastest.
    pub axes: Vec<Dimension>,
    /// Replications.
    pub samples: usize,
    /// Every point's samples, one point after another. Not a number: there was nothing to measure.
    #[serde(with = "nothing")]
    pub values: Vec<f64>,
}

/// Why two arrays do not go together, or a point does not exist.
pub type Mismatch = String;

impl Array {
    /// One number.
    pub fn number(value: f64) -> Self {
        Self { axes: vec![], samples: 1, values: vec![value] }
    }

    /// How many points there are.
    pub fn points(&self) -> usize {
        self.axes.iter().map(|axis| axis.points.len()).product()
    }

    /// The samples of point `index`.
    pub fn at(&self, index: usize) -> &[f64] {
        &self.values[index * self.samples..(index + 1) * self.samples]
    }

    /// Index of the point on each axis, of point `index`.
    pub fn place(&self, mut index: usize) -> Vec<usize> {
        let mut place = vec![0; self.axes.len()];
        for (slot, axis) in place.iter_mut().zip(&self.axes).rev() {
            *slot = index % axis.points.len();
            index /= axis.points.len();
        }
        place
    }

    /// The names of point `index`.
    pub fn label(&self, index: usize) -> Vec<&str> {
        self.place(index).iter().zip(&self.axes).map(|(&i, axis)| axis.points[i].as_str()).collect()
    }

    fn index(&self, place: &[usize]) -> usize {
        self.axes.iter().zip(place).fold(0, |index, (axis, &i)| index * axis.points.len() + i)
    }

    /// The axis of this name.
    pub fn axis(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|axis| axis.name == name)
    }

    /// Each value changed.
    pub fn map(mut self, f: impl Fn(f64) -> f64) -> Self {
        self.values.iter_mut().for_each(|value| *value = f(*value));
        self
    }

    /// One axis fixed at a point, and gone.
    pub fn fix(&self, axis: usize, point: usize) -> Self {
        let mut axes = self.axes.clone();
        axes.remove(axis);
        let mut out = Self { axes, samples: self.samples, values: vec![] };
        for index in 0..out.points() {
            let mut place = out.place(index);
            place.insert(axis, point);
            out.values.extend_from_slice(self.at(self.index(&place)));
        }
        out
    }

    /// One axis folded away: `f` of the values along it, for each other point and each sample.
    pub fn fold(&self, axis: usize, f: impl Fn(&[f64]) -> f64) -> Self {
        let length = self.axes[axis].points.len();
        let slices: Vec<Self> = (0..length).map(|point| self.fix(axis, point)).collect();
        let mut out = slices[0].clone();
        for (i, value) in out.values.iter_mut().enumerate() {
            let along: Vec<f64> = slices.iter().map(|slice| slice.values[i]).collect();
            *value = f(&along);
        }
        out
    }

    /// The mean over the replications, as a single sample.
    pub fn mean(&self) -> Self {
        let values =
            (0..self.points()).map(|i| self.at(i).iter().sum::<f64>() / self.samples as f64).collect();
        Self { axes: self.axes.clone(), samples: 1, values }
    }

    /// `f` of the two, point by point and sample by sample. An axis that only one of them has repeats the other along
    /// it; a single sample goes with every replication; of unequal counts the first of both are paired.
    ///
    /// # Errors
    /// If an axis of both has other points in each.
    pub fn with(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Result<Self, Mismatch> {
        let mut axes = self.axes.clone();
        for axis in &other.axes {
            match self.axes.iter().find(|own| own.name == axis.name) {
                Some(own) if own.points == axis.points => {}
                Some(own) => {
                    return Err(format!(
                        "axis {} has the points {} on one side and {} on the other",
                        axis.name,
                        own.points.join(", "),
                        axis.points.join(", ")
                    ));
                }
                None => axes.push(axis.clone()),
            }
        }
        let samples = match (self.samples, other.samples) {
            (1, n) | (n, 1) => n,
            (a, b) => a.min(b),
        };
        let mut out = Self { axes, samples, values: vec![] };
        let places = |array: &Self| -> Vec<usize> {
            array.axes.iter().map(|axis| out.axis(&axis.name).expect("every axis of both is there")).collect()
        };
        let (own, others) = (places(self), places(other));
        let mut values = Vec::with_capacity(out.points() * samples);
        for index in 0..out.points() {
            let place = out.place(index);
            let pick = |map: &[usize]| -> Vec<usize> { map.iter().map(|&i| place[i]).collect() };
            let (a, b) = (self.at(self.index(&pick(&own))), other.at(other.index(&pick(&others))));
            let sample = |all: &[f64], i: usize| if all.len() == 1 { all[0] } else { all[i] };
            values.extend((0..samples).map(|i| f(sample(a, i), sample(b, i))));
        }
        out.values = values;
        Ok(out)
    }
}

/// Not a number is `null` in JSON.
mod nothing {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        let values: Vec<Option<f64>> = values.iter().map(|v| v.is_finite().then_some(*v)).collect();
        values.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn dimension(name: &str, points: &[&str]) -> Dimension {
        let x =
            (0..points.len()).map(|i| crate::number::leading_number(points[i]).unwrap_or(i as f64)).collect();
        Dimension {
            name: name.into(),
            title: name.into(),
            points: points.iter().map(|&p| p.into()).collect(),
            x,
        }
    }

    /// Two schemes at three rates, two replications.
    pub(crate) fn sample() -> Array {
        Array {
            axes: vec![dimension("scheme", &["Reno", "JS"]), dimension("rate", &["10 M", "20 M", "40 M"])],
            samples: 2,
            values: vec![1., 3., 2., 4., 3., 5., 10., 30., 20., 40., 30., 50.],
        }
    }

    #[test]
    fn fixing_an_axis_leaves_the_others() {
        let js = sample().fix(0, 1);
        assert_eq!((js.axes.len(), js.at(2)), (1, &[30., 50.][..]));
        let at_20 = sample().fix(1, 1);
        assert_eq!(at_20.values, [2., 4., 20., 40.]);
    }

    #[test]
    fn folding_an_axis_keeps_replications_apart() {
        let sums = sample().fold(1, |along| along.iter().sum());
        assert_eq!(sums.values, [6., 12., 60., 120.]);
        assert_eq!(sums.mean().values, [9., 90.]);
    }

    #[test]
    fn what_one_side_lacks_is_repeated() {
        let reno = sample().fix(0, 0);
        let ratio = sample().with(&reno, |a, b| a / b).expect("the same rates");
        assert_eq!(ratio.axes.len(), 2);
        assert_eq!(ratio.fix(0, 1).values, [10.; 6]);
        let scaled = Array::number(2.0).with(&reno, |a, b| a * b).expect("a number goes with everything");
        assert_eq!(scaled.values, [2., 6., 4., 8., 6., 10.]);
    }

    #[test]
    fn axes_with_other_points_do_not_go_together() {
        let mut other = sample();
        other.axes[1].points[2] = "80 M".into();
        let message = sample().with(&other, |a, _| a).expect_err("40 M and 80 M");
        assert!(message.contains("40 M") && message.contains("80 M"), "{message}");
    }

    #[test]
    fn nothing_measured_survives_json() {
        let array = Array { axes: vec![], samples: 2, values: vec![1.5, f64::NAN] };
        let text = serde_json::to_string(&array).expect("serialisable");
        assert!(text.contains("[1.5,null]"), "{text}");
        let back: Array = serde_json::from_str(&text).expect("its own");
        assert!(back.values[0] == 1.5 && back.values[1].is_nan());
    }
}
