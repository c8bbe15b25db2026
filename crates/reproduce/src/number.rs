//! Rounding of measured values.

/// Significant digits of a measured value: enough for any statement, few enough to read.
const DIGITS: usize = 9;

/// `value` with nine significant digits. Published and judged values are both rounded, so they agree.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().expect("a number as this program writes it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_digits_are_kept() {
        assert_eq!(rounded(0.123_456_789_876), 0.123_456_79);
        assert_eq!([rounded(84_545.0), rounded(0.0)], [84_545.0, 0.0]);
        assert!(rounded(f64::NAN).is_nan());
    }
}
