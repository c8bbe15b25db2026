//! Evaluation of expressions.

use firstflight_sweep::Array;

use super::{Expression, Function, Label, Operator};

/// A source of measured values.
pub trait Source {
    /// All values of a metric.
    ///
    /// # Errors
    /// If there is no such metric: the known names.
    fn metric(&self, experiment: &str, metric: &str) -> Result<&Array, String>;
}

/// Evaluates expressions over a source.
#[derive(Clone, Copy)]
pub struct Reading<'a, S> {
    source: &'a S,
}

impl<'a, S: Source> Reading<'a, S> {
    /// Evaluates over `source`.
    pub fn of(source: &'a S) -> Self {
        Self { source }
    }

    /// Values of the expression, along its open axes.
    ///
    /// # Errors
    /// If the expression names an unknown metric, axis or point, or combines arrays whose axes differ.
    pub fn evaluate(&self, expression: &Expression) -> Result<Array, String> {
        match expression {
            Expression::Number(value) => Ok(Array::number(*value)),
            Expression::Reference { experiment, metric, labels } => {
                let all = self.source.metric(experiment, metric)?;
                labels.iter().try_fold(all.clone(), |array, label| {
                    if let Some((axis, from, to)) = range(&array, label) {
                        return Ok(between(&array, axis, from, to));
                    }
                    let (axis, point) =
                        find(&array, label).map_err(|why| format!("{experiment}.{metric}: {why}"))?;
                    Ok(array.fix(axis, point))
                })
            }
            Expression::Negative(of) => Ok(self.evaluate(of)?.map(|x| -x)),
            Expression::Binary(operator, a, b) => {
                self.evaluate(a)?.with(&self.evaluate(b)?, |a, b| apply(*operator, a, b))
            }
            Expression::Call { function, argument, axis } => {
                call(*function, self.evaluate(argument)?, axis.as_deref())
            }
        }
    }
}

fn apply(operator: Operator, a: f64, b: f64) -> f64 {
    match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::Power => libm::pow(a, b),
    }
}

/// Index of the axis and of the point that a label names.
///
/// # Errors
/// If there is no such point, or several axes have it.
pub(crate) fn find(array: &Array, label: &Label) -> Result<(usize, usize), String> {
    let point = |axis: usize| array.axes[axis].points.iter().position(|name| *name == label.point);
    let Some(name) = &label.axis else {
        let found: Vec<_> = (0..array.axes.len()).filter_map(|axis| Some((axis, point(axis)?))).collect();
        return match found[..] {
            [one] => Ok(one),
            [] => {
                let all: Vec<&str> = array.axes.iter().flat_map(|a| &a.points).map(String::as_str).collect();
                Err(format!("no axis has a point \"{}\"; points are {}", label.point, all.join(", ")))
            }
            _ => Err(format!("several axes have a point \"{}\": write axis={}", label.point, label.point)),
        };
    };
    let axis = array.axis(name).ok_or_else(|| format!("no axis \"{name}\" is open"))?;
    if let Some(point) = point(axis) {
        return Ok((axis, point));
    }
    let x: f64 = label.point.parse().map_err(|_| format!("axis {name} has no point \"{}\"", label.point))?;
    let distance = |i: &usize| (array.axes[axis].x[*i] - x).abs();
    let nearest = (0..array.axes[axis].points.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)));
    Ok((axis, nearest.ok_or_else(|| format!("axis {name} has no points"))?))
}

/// Axis and bounds of a label `axis=from..to`; `None` of any other label, and if a point has this name.
fn range(array: &Array, label: &Label) -> Option<(usize, f64, f64)> {
    let axis = array.axis(label.axis.as_deref()?)?;
    if array.axes[axis].points.contains(&label.point) {
        return None;
    }
    let (from, to) = label.point.split_once("..")?;
    Some((axis, from.trim().parse().ok()?, to.trim().parse().ok()?))
}

/// The points of an axis from `from` to `to`, both included.
fn between(array: &Array, axis: usize, from: f64, to: f64) -> Array {
    let inside: Vec<bool> = array.axes[axis].x.iter().map(|x| (from..=to).contains(x)).collect();
    let mut axes = array.axes.clone();
    let mut keep = inside.iter().copied();
    axes[axis].points.retain(|_| keep.next() == Some(true));
    axes[axis].x.retain(|x| (from..=to).contains(x));
    let points = (0..array.points()).filter(|&index| inside[array.place(index)[axis]]);
    let values = points.flat_map(|index| array.at(index).to_vec()).collect();
    Array { axes, samples: array.samples, values }
}

fn call(function: Function, array: Array, axis: Option<&str>) -> Result<Array, String> {
    let elementwise: fn(f64) -> f64 = match function {
        Function::Log2 => libm::log2,
        Function::Ln => libm::log,
        Function::Sqrt => libm::sqrt,
        Function::Floor => f64::floor,
        Function::Ceil => f64::ceil,
        Function::Abs => f64::abs,
        Function::Highest => return highest(array, axis),
        Function::Rising | Function::Falling => return steps(function, &array.mean(), axis),
        _ => return fold(function, array, axis),
    };
    match axis {
        None => Ok(array.map(elementwise)),
        Some(axis) => Err(format!("the function takes no axis, and {axis} is given")),
    }
}

fn over(array: &Array, axis: Option<&str>) -> Result<Vec<usize>, String> {
    match axis {
        // The last axis first: removing it keeps the indices of the others.
        None => Ok((0..array.axes.len()).rev().collect()),
        Some(name) => Ok(vec![array.axis(name).ok_or_else(|| format!("no axis \"{name}\" is open"))?]),
    }
}

fn fold(function: Function, array: Array, axis: Option<&str>) -> Result<Array, String> {
    let sum = |along: &[f64]| along.iter().sum::<f64>();
    // A missing value makes the result missing.
    let extreme = |along: &[f64], pick: fn(f64, f64) -> f64| {
        along.iter().copied().reduce(|a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { pick(a, b) })
    };
    let f = |along: &[f64]| match function {
        Function::Sum => sum(along),
        Function::Min => extreme(along, f64::min).unwrap_or(f64::NAN),
        Function::Max => extreme(along, f64::max).unwrap_or(f64::NAN),
        Function::First => along.first().copied().unwrap_or(f64::NAN),
        Function::Last => along.last().copied().unwrap_or(f64::NAN),
        _ => sum(along) / along.len() as f64,
    };
    Ok(over(&array, axis)?.into_iter().fold(array, |array, axis| array.fold(axis, f)))
}

/// The largest value so far along an axis, at each of its points. After a missing value it is missing.
fn highest(mut array: Array, axis: Option<&str>) -> Result<Array, String> {
    let axes = over(&array, axis)?;
    let [axis] = axes[..] else {
        return Err("several axes are open; expected the axis along which values are compared".into());
    };
    let stride: usize = array.axes[axis + 1..].iter().map(|axis| axis.points.len()).product();
    for index in 0..array.points() {
        if array.place(index)[axis] == 0 {
            continue;
        }
        for sample in 0..array.samples {
            let at = index * array.samples + sample;
            let (now, before) = (array.values[at], array.values[at - stride * array.samples]);
            if before.is_nan() || now < before {
                array.values[at] = before;
            }
        }
    }
    Ok(array)
}

/// Share of the steps along an axis in which the value rises, or falls. A missing value makes it missing.
fn steps(function: Function, array: &Array, axis: Option<&str>) -> Result<Array, String> {
    let axes = over(array, axis)?;
    let [axis] = axes[..] else {
        return Err("several axes are open; expected the axis along which values rise or fall".into());
    };
    let share = |along: &[f64]| {
        if along.iter().any(|value| value.is_nan()) {
            return f64::NAN;
        }
        let towards = |pair: &[f64]| match function {
            Function::Rising => pair[1] > pair[0],
            _ => pair[1] < pair[0],
        };
        along.windows(2).filter(|pair| towards(pair)).count() as f64 / along.windows(2).len() as f64
    };
    Ok(array.fold(axis, share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_sweep::Axis;

    use crate::expression::parse;

    /// Two schemes at three rates, two replications.
    fn sample() -> Array {
        Array {
            axes: vec![
                Axis::of("scheme", ["Reno", "JS"]).dimension(),
                Axis::of("rate", ["10 M", "20 M", "40 M"]).dimension(),
            ],
            samples: 2,
            values: vec![1., 3., 2., 4., 3., 5., 10., 30., 20., 40., 30., 50.],
        }
    }

    struct One(Array);

    impl Source for One {
        fn metric(&self, experiment: &str, metric: &str) -> Result<&Array, String> {
            match (experiment, metric) {
                ("e", "m") => Ok(&self.0),
                _ => Err(format!("no {experiment}.{metric}")),
            }
        }
    }

    fn evaluate(text: &str) -> Result<Array, String> {
        let source = One(sample());
        Reading::of(&source).evaluate(&parse(text).expect(text).first)
    }

    fn values(text: &str) -> Vec<f64> {
        evaluate(text).expect(text).values
    }

    #[test]
    fn labels_fix_axes_by_name_by_number_and_by_nearness() {
        assert_eq!(values("e.m[JS, 20 M]"), [20., 40.]);
        assert_eq!(values("e.m[JS, rate=20 M]"), [20., 40.]);
        assert_eq!(values("e.m[JS, rate=36]"), [30., 50.]);
        assert!(evaluate("e.m[LISS]").expect_err("no such scheme").contains("Reno, JS"));
    }

    #[test]
    fn arithmetic_is_done_replication_by_replication() {
        assert_eq!(values("sum(e.m[JS]) / sum(e.m[Reno])"), [10., 10.]);
        assert_eq!(values("2 ^ 3 - -1"), [9.]);
        assert_eq!(values("max(e.m, rate)"), [3., 5., 30., 50.]);
        assert_eq!(values("mean(e.m)"), [11., 22.]);
        assert_eq!(values("last(e.m[Reno], rate) - first(e.m[Reno], rate)"), [2., 2.]);
    }

    #[test]
    fn an_axis_without_points_has_no_value() {
        let mut source = One(sample());
        source.0.axes[1] = Axis::of("time", []).dimension();
        source.0.values.clear();
        let of = |text: &str| Reading::of(&source).evaluate(&parse(text).expect(text).first);
        for function in ["first", "last", "max", "mean", "rising"] {
            let array = of(&format!("{function}(e.m[JS], time)")).expect("values");
            assert!(array.values.iter().all(|value| value.is_nan()), "{function}: {array:?}");
        }
        assert_eq!(of("e.m[time=1]").expect_err("no point"), "e.m: axis time has no points");
    }

    #[test]
    fn a_range_keeps_its_points_and_leaves_the_axis_open() {
        assert_eq!(values("e.m[JS, rate=15..40]"), [20., 40., 30., 50.]);
        assert_eq!(values("sum(e.m[rate=10..20], rate)"), [3., 7., 30., 70.]);
        let empty = evaluate("e.m[rate=41..50]").expect("a range without points");
        assert!(empty.values.is_empty() && empty.axes[1].points.is_empty());
    }

    #[test]
    fn the_highest_value_so_far_never_falls() {
        let mut source = One(sample());
        source.0.values[2..6].copy_from_slice(&[0., 4., 2., f64::NAN]);
        let of = |text: &str| Reading::of(&source).evaluate(&parse(text).expect(text).first);
        let values = of("highest(e.m[Reno], rate)").expect("values").values;
        assert_eq!(values[..5], [1., 3., 1., 4., 2.]);
        assert!(values[5].is_nan());
        assert_eq!(of("highest(e.m[JS])").expect("one axis").values, [10., 30., 20., 40., 30., 50.]);
        // Along the first axis: JS is above Reno everywhere, but for the missing value.
        let values = of("highest(e.m, scheme)").expect("values").values;
        assert!(values[6..11] == [10., 30., 20., 40., 30.] && values[11].is_nan());
        assert!(of("highest(e.m)").expect_err("which axis").contains("several axes"));
    }

    #[test]
    fn a_trend_is_the_share_of_steps() {
        assert_eq!(values("rising(e.m, rate)"), [1., 1.]);
        assert_eq!(values("falling(e.m[JS])"), [0.]);
        let mut source = One(sample());
        source.0.values[2..4].fill(f64::NAN);
        let trend = Reading::of(&source).evaluate(&parse("rising(e.m, rate)").expect("an expression").first);
        let values = trend.expect("values").values;
        assert!(values[0].is_nan() && values[1] == 1., "{values:?}");
        assert!(evaluate("rising(e.m)").expect_err("which axis").contains("several axes"));
    }
}
