//! Every number of a result is finite. JSON shows one that is not as null, so the check looks at the values before.

use ciborium::Value;
use serde::Serialize;

/// Panics if a number in `result` is not finite.
pub(crate) fn assert_finite(result: &impl Serialize) {
    let value = Value::serialized(result).expect("results are plain data");
    if let Some(place) = not_finite(&value) {
        panic!("{place} is not a finite number");
    }
}

/// The path to the first number that is not finite.
fn not_finite(value: &Value) -> Option<String> {
    match value {
        Value::Float(number) if !number.is_finite() => Some(format!(" = {number}")),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(i, item)| Some(format!("[{i}]{}", not_finite(item)?)))
        }
        Value::Map(entries) => entries.iter().find_map(|(key, item)| {
            let name = key.as_text().unwrap_or("?");
            Some(format!(".{name}{}", not_finite(item)?))
        }),
        _ => None,
    }
}
