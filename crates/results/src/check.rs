//! Whether results keep their declaration: types, ranges, and null only where a value may be null.

use serde_json::Value as Json;

use crate::column::{NUMBERS, Range, Record, Value};
use crate::reference::OBJECTS_OF_JSON;
use crate::table::Table;

/// Every departure of a JSON object from the declaration of `R`: the place and the value.
///
/// A field that is absent is no departure: some fields are left out if they are empty.
pub fn violations<R: Record>(object: &Json) -> Vec<String> {
    let mut found = vec![];
    check_object(R::NAME, object, R::NAME, &mut found);
    found
}

fn check_object(place: &str, value: &Json, name: &str, found: &mut Vec<String>) {
    let declared = OBJECTS_OF_JSON.iter().find(|object| object.name == name);
    let (Some(declared), Json::Object(entries)) = (declared, value) else {
        return found.push(format!("{place}: {value} is no {name}"));
    };
    let fields = (declared.fields)();
    for (key, value) in entries {
        let place = format!("{place}.{key}");
        match fields.iter().find(|field| field.name == key) {
            Some(field) if value.is_null() && field.nullable => {}
            Some(field) => check(&place, value, &field.kind, field.range, found),
            None => found.push(format!("{place}: no such field")),
        }
    }
    for (smaller, largest) in ordered(fields.iter().map(|field| field.name)) {
        let number = |key: &str| entries.get(key).and_then(Json::as_f64);
        if let (Some(low), Some(high)) = (number(smaller), number(largest))
            && !is_at_most(low, high)
        {
            found.push(format!("{place}.{smaller}: {low} is above {largest}, {high}"));
        }
    }
}

/// Every two of these names of which the second is the largest value that the first can have: `mean_x` or `final_x`, and
/// `max_x`.
fn ordered<'a>(names: impl Iterator<Item = &'a str> + Clone) -> impl Iterator<Item = (&'a str, &'a str)> {
    names.clone().filter_map(move |smaller| {
        let of = smaller.strip_prefix("mean_").or_else(|| smaller.strip_prefix("final_"))?;
        let largest = names.clone().find(|name| name.strip_prefix("max_") == Some(of))?;
        Some((smaller, largest))
    })
}

/// Whether a value is at most another, up to the rounding of a division.
fn is_at_most(low: f64, high: f64) -> bool {
    low <= high * (1.0 + 1e-12)
}

/// Checks a value of the type `kind`, as [`Json::word`](crate::column::Json::word) names it.
fn check(place: &str, value: &Json, kind: &str, range: Range, found: &mut Vec<String>) {
    let right = match (kind, value) {
        ("boolean", Json::Bool(_)) | ("string", Json::String(_)) => true,
        ("integer", Json::Number(number)) => number.is_u64(),
        ("number", Json::Number(number)) => number.as_f64().is_some_and(|number| range.holds(number)),
        (_, Json::Array(values)) => return check_array(place, values, kind, range, found),
        _ => match kind.strip_prefix('[').and_then(|kind| kind.strip_suffix(']')) {
            Some(name) => return check_object(place, value, name, found),
            None => false,
        },
    };
    if !right {
        found.push(format!("{place}: {value} is no {kind} of range {}", range.word()));
    }
}

fn check_array(place: &str, values: &[Json], kind: &str, range: Range, found: &mut Vec<String>) {
    let fixed = |number: usize| {
        let kind = kind.strip_prefix("array of ")?.strip_prefix(NUMBERS[number])?;
        Some(vec![kind.strip_prefix(' ')?.strip_suffix('s')?; number])
    };
    let kinds: Vec<&str> = match (0..NUMBERS.len()).find_map(fixed) {
        Some(kinds) => kinds,
        None => match (kind.strip_prefix("array of "), kind.strip_prefix("pair of ")) {
            (Some(kind), _) => vec![kind; values.len()],
            (None, Some(kinds)) => kinds.split(" and ").collect(),
            (None, None) => vec![],
        },
    };
    if kinds.len() != values.len() {
        return found.push(format!("{place}: {} values are no {kind}", values.len()));
    }
    for (index, (value, kind)) in values.iter().zip(kinds).enumerate() {
        check(&format!("{place}[{index}]"), value, kind, range, found);
    }
}

impl Table {
    /// Every departure of the values from the declaration of their columns: the column, the row and the value.
    pub fn violations(&self) -> Vec<String> {
        let mut found = vec![];
        for (column, values) in self.columns.iter().zip(&self.values) {
            for (row, value) in values.iter().enumerate() {
                let holds = match value {
                    Value::Null => column.nullable,
                    Value::Real(number) => column.range.holds(*number),
                    Value::Reals(numbers) => numbers.iter().all(|&number| column.range.holds(number)),
                    Value::Bool(_) | Value::Unsigned(_) | Value::Text(_) | Value::Unsigneds(_) => true,
                };
                if !holds {
                    let (table, name, range) = (self.name, &column.name, column.range.word());
                    found.push(format!("{table}.{name}[{row}]: {value:?} is not in the range {range}"));
                }
            }
        }
        self.check_order(&mut found);
        found
    }

    fn check_order(&self, found: &mut Vec<String>) {
        let names: Vec<&str> = self.columns.iter().map(|column| &*column.name).collect();
        let values = |name: &str| names.iter().position(|other| *other == name).map(|at| &self.values[at]);
        let number = |value: &Value| match value {
            Value::Real(number) => Some(*number),
            Value::Unsigned(number) => Some(*number as f64),
            _ => None,
        };
        for (smaller, largest) in ordered(names.iter().copied()) {
            let rows = values(smaller).into_iter().flatten().zip(values(largest).into_iter().flatten());
            for (row, (low, high)) in rows.enumerate() {
                if let (Some(low), Some(high)) = (number(low), number(high))
                    && !is_at_most(low, high)
                {
                    found.push(format!("{}.{smaller}[{row}]: {low} is above {largest}, {high}", self.name));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{LinkResult, RunResult};

    fn run(link: &Json) -> Json {
        json!({ "title": "t", "seed": 1, "simulated_s": 20.0, "flows": [], "links": [link], "fairness_jain": 1.0,
            "engine": { "packet_hops": 0, "cpu_s": null, "wall_s": 0.5 } })
    }

    fn link(key: &str, value: Json) -> Json {
        let mut link = json!({ "name": "l", "utilization": 0.5, "drops": 0, "marks": 0, "mean_queue_packets": 0.0,
            "max_queue_packets": 0 });
        link[key] = value;
        link
    }

    #[test]
    fn each_departure_of_an_object_is_found_at_its_place() {
        assert_eq!(violations::<RunResult>(&run(&link("utilization", json!(1.0)))), [""; 0]);
        for (key, value) in [
            ("utilization", json!(1.000_001)),
            ("utilization", json!(null)),
            ("mean_queue_packets", json!(-1e-9)),
            ("drops", json!(0.5)),
            ("drops", json!(-1)),
            ("name", json!(1)),
            ("marks", json!([1])),
            ("jitter", json!(1)),
        ] {
            let found = violations::<RunResult>(&run(&link(key, value.clone())));
            assert!(
                found.len() == 1 && found[0].starts_with(&format!("run.links[0].{key}: ")),
                "{value}: {found:?}"
            );
        }
    }

    #[test]
    fn pairs_and_lists_are_checked_item_by_item() {
        let mut found = vec![];
        check(
            "at",
            &json!([[1.0, 2], [0.5, 3]]),
            "array of pair of number and integer",
            Range::Positive,
            &mut found,
        );
        check("ci", &json!([-1.0, 2.0]), "array of two numbers", Range::Any, &mut found);
        assert_eq!(found, [""; 0]);
        check(
            "at",
            &json!([[1.0, 2], [0.5]]),
            "array of pair of number and integer",
            Range::Positive,
            &mut found,
        );
        check("ci", &json!([-1.0, 2.0]), "array of two numbers", Range::Positive, &mut found);
        assert!(
            found.len() == 2 && found[0].starts_with("at[1]") && found[1].starts_with("ci[0]"),
            "{found:?}"
        );
    }

    #[test]
    fn a_number_that_is_none_is_found_in_a_table() {
        let row = |utilization| LinkResult {
            name: "l".into(),
            utilization,
            drops: 0,
            marks: 0,
            mean_queue_packets: 0.0,
            max_queue_packets: 0,
            packets: 0,
            waiting_packets: 0,
            readings: vec![],
        };
        let found = Table::of("link", [row(0.5), row(f64::NAN), row(2.0)]).violations();
        assert!(found.len() == 2 && found[0].contains("utilization[1]"), "{found:?}");
    }

    #[test]
    fn a_mean_or_a_last_value_above_the_largest_is_found_in_objects_and_tables() {
        let row = |mean, max| LinkResult {
            name: "l".into(),
            utilization: 0.5,
            drops: 0,
            marks: 0,
            mean_queue_packets: mean,
            max_queue_packets: max,
            packets: 0,
            waiting_packets: 0,
            readings: vec![],
        };
        let found = Table::of("link", [row(9.0, 9), row(9.5, 9), row(0.0, 0)]).violations();
        assert_eq!(found, ["link.mean_queue_packets[1]: 9.5 is above max_queue_packets, 9"]);
        let found = violations::<RunResult>(&run(&link("mean_queue_packets", json!(0.25))));
        assert_eq!(found, ["run.links[0].mean_queue_packets: 0.25 is above max_queue_packets, 0"]);
        let names = ["final_cwnd_packets", "mean_x", "max_cwnd_packets"];
        assert_eq!(ordered(names.into_iter()).collect::<Vec<_>>(), [(names[0], names[2])]);
    }
}
