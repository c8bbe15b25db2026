//! The axes of a sweep and their points.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Value;

use super::{Dimension, Error, wrong};

/// An axis of a sweep: a list of points. Axes are crossed; keys that vary together are set by the points of one axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "Written")]
pub struct Axis {
    /// Name of the axis.
    pub name: String,
    /// The varied quantity with its unit, for plots.
    pub title: String,
    /// Points, in order; at least one.
    pub points: Vec<Point>,
}

/// A point of an axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Name of the point.
    pub name: String,
    /// Position on a plot; if absent, the number that `name` begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<f64>,
    /// Keys of the scenario and their values: `path.rate`, `flow.<name>.startup`.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Keys and groups that are removed from the scenario.
    #[serde(default)]
    pub remove: Vec<String>,
}

/// An axis as written in a file: points, or a key with its values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    title: Option<String>,
    key: Option<String>,
    #[serde(default)]
    values: Vec<Value>,
    #[serde(default)]
    points: Vec<Point>,
}

impl TryFrom<Written> for Axis {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { name, title, key, values, points } = written;
        let points = match (key, values.is_empty(), points.is_empty()) {
            (Some(key), false, true) => values.into_iter().map(|value| Point::of(&key, value)).collect(),
            (None, true, false) => points,
            _ => return Err(format!("axis {name} needs either `key` with `values`, or `points`")),
        };
        let points = points.into_iter().map(Point::placed).collect();
        Ok(Self { title: title.unwrap_or_else(|| name.clone()), name, points })
    }
}

impl Axis {
    /// An axis along the values of one key; the key is its name.
    ///
    /// A value is text as a scenario file has it: `10 Mbit/s`. Text that is a TOML number, boolean, array, table or quoted
    /// string is read as that.
    pub fn of<'a>(key: &str, values: impl IntoIterator<Item = &'a str>) -> Self {
        let point = |text: &str| Point { name: text.into(), ..Point::of(key, value(text)) }.placed();
        let points = values.into_iter().map(point).collect();
        Self { name: key.into(), title: key.into(), points }
    }

    /// An axis along which several keys vary together: its point `i` sets every key to the key's value `i`, as [`Axis::of`].
    /// Points are named by their values, joined by `, `.
    ///
    /// # Errors
    /// If two keys have different numbers of values, or there is no key.
    pub fn zipped(name: &str, keys: &[(&str, &[&str])]) -> Result<Self, Error> {
        let Some(((first, values), rest)) = keys.split_first() else {
            return Err(wrong(format!("axis {name}"), "no key").expecting("at least one"));
        };
        if let Some((key, other)) = rest.iter().find(|(_, other)| other.len() != values.len()) {
            let problem = format!("{} values for {key}", other.len());
            return Err(
                wrong(format!("axis {name}"), problem).expecting(format!("{}, as for {first}", values.len()))
            );
        }
        let point = |i: usize| {
            let set = keys.iter().map(|(key, values)| ((*key).to_owned(), value(values[i]))).collect();
            let names: Vec<&str> = keys.iter().map(|(_, values)| values[i]).collect();
            Point { name: names.join(", "), x: None, set, remove: vec![] }.placed()
        };
        Ok(Self { name: name.into(), title: name.into(), points: (0..values.len()).map(point).collect() })
    }

    /// The axis without its settings, for arrays of results.
    pub fn dimension(&self) -> Dimension {
        let place = |(i, point): (usize, &Point)| point.x.unwrap_or(i as f64);
        Dimension {
            name: self.name.clone(),
            title: self.title.clone(),
            points: self.points.iter().map(|point| point.name.clone()).collect(),
            x: self.points.iter().enumerate().map(place).collect(),
        }
    }
}

impl Point {
    /// The point that sets one key.
    fn of(key: &str, value: Value) -> Self {
        let name = match &value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self { name, x: None, set: BTreeMap::from([(key.to_owned(), value)]), remove: vec![] }
    }

    /// With a position on a plot, if the name begins with a number.
    fn placed(self) -> Self {
        Self { x: self.x.or_else(|| leading_number(&self.name)), ..self }
    }
}

/// A value from text.
fn value(text: &str) -> Value {
    match text.parse() {
        Ok(Value::Float(number)) if !number.is_finite() => text.into(),
        Ok(Value::Datetime(_)) | Err(_) => text.into(),
        Ok(value) => value,
    }
}

/// The number that `text` begins with: 16 of `16 Mbit/s`.
pub fn leading_number(text: &str) -> Option<f64> {
    let end = text
        .char_indices()
        .find(|&(i, c)| !(c.is_ascii_digit() || c == '.' || (i == 0 && c == '-')))
        .map_or(text.len(), |(i, _)| i);
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_begins_with_its_number() {
        let of = leading_number;
        assert_eq!(
            [of("16 Mbit/s"), of("0.5 BDP"), of("5"), of("NewReno"), of("-2")],
            [Some(16.0), Some(0.5), Some(5.0), None, Some(-2.0)]
        );
    }

    #[test]
    fn text_that_is_a_toml_value_is_read_as_one() {
        for (text, expected) in [
            ("10 Mbit/s", Value::from("10 Mbit/s")),
            ("0.01", Value::from(0.01)),
            ("3", Value::from(3)),
            ("true", Value::from(true)),
            ("\"3\"", Value::from("3")),
            ("[\"a\", \"b\"]", Value::from(vec!["a", "b"])),
            ("inf", Value::from("inf")),
            ("2000-01-01", Value::from("2000-01-01")),
            ("slow-start", Value::from("slow-start")),
            ("1\nw = 2", Value::from("1\nw = 2")),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn zipped_keys_vary_together() {
        let keys: [(&str, &[&str]); 2] =
            [("path.rate", &["10 Mbit/s", "20 Mbit/s"]), ("path.rtt", &["80 ms", "40 ms"])];
        let axis = Axis::zipped("path", &keys).expect("two values each");
        let names: Vec<&str> = axis.points.iter().map(|point| point.name.as_str()).collect();
        assert_eq!(names, ["10 Mbit/s, 80 ms", "20 Mbit/s, 40 ms"]);
        assert_eq!(axis.points[1].set["path.rtt"], Value::from("40 ms"));
        assert_eq!(axis.dimension().x, [10.0, 20.0]);
        let uneven: [(&str, &[&str]); 2] =
            [("path.rate", &["10 Mbit/s", "20 Mbit/s"]), ("path.rtt", &["80 ms"])];
        let error = Axis::zipped("path", &uneven).expect_err("one value is missing");
        assert_eq!(error.to_string(), "axis path: 1 values for path.rtt; expected 2, as for path.rate");
    }
}
