//! Measured values along named axes, one value per point and replication.

use serde::{Deserialize, Serialize, Serializer};

/// An axis of an [`Array`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dimension {
    /// Name of the axis.
    pub name: String,
    /// The varied quantity, with its unit.
    pub title: String,
    /// Names of the points.
    pub points: Vec<String>,
    /// Positions of the points on a plot; the index of a point that has no number.
    pub x: Vec<f64>,
}

/// Values along named axes. Every point has a row of samples, one per replication in order of seeds: values of the same
/// replication have the same random streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Array {
    /// The axes; the last varies fastest.
    pub axes: Vec<Dimension>,
    /// Number of replications.
    pub samples: usize,
    /// The samples of all points, point by point: `samples` times the product of the axes' lengths. Not a number where
    /// there was nothing to measure; `null` in JSON.
    #[serde(serialize_with = "nulls")]
    pub values: Vec<f64>,
}

/// The problem with two arrays that cannot be combined, or with a point that does not exist.
pub type Mismatch = String;

/// Largest number that is read. Nothing that a run measures is larger.
const LARGEST: f64 = 1e100;

/// An array as written, unchecked.
#[derive(Deserialize)]
struct Written {
    axes: Vec<Dimension>,
    samples: usize,
    values: Vec<Option<f64>>,
}

impl TryFrom<Written> for Array {
    type Error = String;

    fn try_from(Written { axes, samples, values }: Written) -> Result<Self, String> {
        for (i, axis) in axes.iter().enumerate() {
            if axes[..i].iter().any(|other| other.name == axis.name) {
                return Err(format!("axis {}: given twice; expected each axis once", axis.name));
            }
            if axis.x.len() != axis.points.len() {
                let (name, x, points) = (&axis.name, axis.x.len(), axis.points.len());
                return Err(format!("axis {name}: {x} positions; expected one for each of {points} points"));
            }
        }
        if samples == 0 {
            return Err("samples = 0: no replication; expected at least 1".into());
        }
        let expected = axes.iter().try_fold(samples, |all, axis| all.checked_mul(axis.points.len()));
        if expected != Some(values.len()) {
            let lengths = axes.iter().map(|axis| format!("{} {} x ", axis.points.len(), axis.name));
            let (count, lengths) = (values.len(), lengths.collect::<String>());
            return Err(format!("{count} values; expected {lengths}{samples} samples"));
        }
        let positions = axes.iter().flat_map(|axis| &axis.x);
        if let Some(value) = positions.chain(values.iter().flatten()).find(|value| value.abs() > LARGEST) {
            return Err(format!("{value:e}: too large; expected numbers from -{LARGEST:e} to {LARGEST:e}"));
        }
        let values = values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect();
        Ok(Self { axes, samples, values })
    }
}

/// Serialises a value that is not a number as `null`.
fn nulls<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| value.is_finite().then_some(*value)))
}

impl Array {
    /// A single number, without axes.
    pub fn number(value: f64) -> Self {
        Self { axes: vec![], samples: 1, values: vec![value] }
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.axes.iter().map(|axis| axis.points.len()).product()
    }

    /// Samples of point `index`, in row-major order.
    pub fn at(&self, index: usize) -> &[f64] {
        &self.values[index * self.samples..(index + 1) * self.samples]
    }

    /// Index on each axis of point `index`.
    pub fn place(&self, mut index: usize) -> Vec<usize> {
        let mut place = vec![0; self.axes.len()];
        for (slot, axis) in place.iter_mut().zip(&self.axes).rev() {
            *slot = index % axis.points.len();
            index /= axis.points.len();
        }
        place
    }

    /// Name on each axis of point `index`.
    pub fn label(&self, index: usize) -> Vec<&str> {
        self.place(index).iter().zip(&self.axes).map(|(&i, axis)| axis.points[i].as_str()).collect()
    }

    fn index(&self, place: &[usize]) -> usize {
        self.axes.iter().zip(place).fold(0, |index, (axis, &i)| index * axis.points.len() + i)
    }

    /// Index of the axis `name`.
    pub fn axis(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|axis| axis.name == name)
    }

    /// Applies `f` to each value.
    pub fn map(mut self, f: impl Fn(f64) -> f64) -> Self {
        self.values.iter_mut().for_each(|value| *value = f(*value));
        self
    }

    /// Fixes one axis at a point and removes the axis.
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

    /// Removes one axis: `f` maps the values along the axis to one, for each remaining point and each sample.
    pub fn fold(&self, axis: usize, f: impl Fn(&[f64]) -> f64) -> Self {
        let length = self.axes[axis].points.len();
        let slices: Vec<Self> = (0..length).map(|point| self.fix(axis, point)).collect();
        let mut axes = self.axes.clone();
        axes.remove(axis);
        let mut out = Self { axes, samples: self.samples, values: vec![] };
        let along = |i: usize| slices.iter().map(|slice| slice.values[i]).collect::<Vec<f64>>();
        out.values = (0..out.points() * out.samples).map(|i| f(&along(i))).collect();
        out
    }

    /// Mean over the replications, as a single sample.
    pub fn mean(&self) -> Self {
        let values =
            (0..self.points()).map(|i| self.at(i).iter().sum::<f64>() / self.samples as f64).collect();
        Self { axes: self.axes.clone(), samples: 1, values }
    }

    /// Combines two arrays with `f`, point by point and sample by sample. An array is repeated along an axis that only the
    /// other one has. A single sample is combined with every replication; if the numbers of replications differ, the
    /// surplus of the larger is ignored.
    ///
    /// # Errors
    /// If an axis has different points in the two arrays.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn dimension(name: &str, points: &[&str]) -> Dimension {
        let x = (0..points.len()).map(|i| crate::leading_number(points[i]).unwrap_or(i as f64)).collect();
        Dimension {
            name: name.into(),
            title: name.into(),
            points: points.iter().map(|&p| p.into()).collect(),
            x,
        }
    }

    /// Two schemes at three rates, two replications.
    fn sample() -> Array {
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
    fn an_axis_of_one_side_repeats_the_other() {
        let reno = sample().fix(0, 0);
        let ratio = sample().with(&reno, |a, b| a / b).expect("the same rates");
        assert_eq!(ratio.axes.len(), 2);
        assert_eq!(ratio.fix(0, 1).values, [10.; 6]);
        let scaled =
            Array::number(2.0).with(&reno, |a, b| a * b).expect("a number has no axis that could differ");
        assert_eq!(scaled.values, [2., 6., 4., 8., 6., 10.]);
    }

    #[test]
    fn axes_with_different_points_are_not_combined() {
        let mut other = sample();
        other.axes[1].points[2] = "80 M".into();
        let message = sample().with(&other, |a, _| a).expect_err("40 M and 80 M");
        assert!(message.contains("40 M") && message.contains("80 M"), "{message}");
    }

    #[test]
    fn a_missing_value_survives_json() {
        let array = Array { axes: vec![], samples: 2, values: vec![1.5, f64::NAN] };
        let text = serde_json::to_string(&array).expect("serialisable");
        assert!(text.contains("[1.5,null]"), "{text}");
        let back: Array = serde_json::from_str(&text).expect("its own");
        assert!(back.values[0] == 1.5 && back.values[1].is_nan());
    }

    #[test]
    fn folding_an_axis_without_points_folds_nothing() {
        let empty = Array { axes: vec![dimension("time", &[])], samples: 2, values: vec![] };
        assert_eq!(empty.fold(0, |along| along.len() as f64).values, [0.0, 0.0]);
    }

    #[test]
    fn an_array_of_the_wrong_length_is_refused() {
        let text = serde_json::to_string(&sample()).expect("serialisable");
        let message = |text: String| serde_json::from_str::<Array>(&text).expect_err("refused").to_string();
        let short = message(text.replace(",50.0]", "]"));
        assert!(short.contains("11 values; expected 2 scheme x 3 rate x 2 samples"), "{short}");
        let unplaced = message(text.replace("[10.0,20.0,40.0]", "[10.0,20.0]"));
        assert!(unplaced.contains("axis rate: 2 positions; expected one for each of 3 points"), "{unplaced}");
    }

    #[test]
    fn an_axis_given_twice_and_numbers_beyond_all_measurements_are_refused() {
        let text = serde_json::to_string(&sample()).expect("serialisable");
        let message = |from: &str, to: &str| {
            assert!(text.contains(from), "{text}");
            serde_json::from_str::<Array>(&text.replace(from, to)).expect_err("refused").to_string()
        };
        let twice = message("\"name\":\"rate\"", "\"name\":\"scheme\"");
        assert!(twice.contains("axis scheme: given twice; expected each axis once"), "{twice}");
        let expected = "too large; expected numbers from -1e100 to 1e100";
        for (from, to) in [("[10.0,20.0,40.0]", "[10.0,1e101,40.0]"), ("[1.0,3.0,", "[1.0,-1.5e300,")] {
            assert!(message(from, to).contains(expected), "{to}");
        }
    }
}
