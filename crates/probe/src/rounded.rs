//! Decimals of the numbers of a row.

/// `value` to `digits` decimals.
pub(crate) fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}
