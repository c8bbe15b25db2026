//! Numbers as texts have them.

/// Digits that are kept of what is measured: enough for any statement, few enough to be read.
const DIGITS: usize = 9;

/// The number a text begins with: 16 of `16 Mbit/s`.
pub(crate) fn leading_number(text: &str) -> Option<f64> {
    let end = text
        .char_indices()
        .find(|&(i, c)| !(c.is_ascii_digit() || c == '.' || (i == 0 && c == '-')))
        .map_or(text.len(), |(i, _)| i);
    text[..end].parse().ok()
}

/// The nearest number with nine significant digits: what is published is what is judged.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().expect("a number as this program writes it")
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
    fn nine_digits_are_kept() {
        assert_eq!(rounded(0.123_456_789_876), 0.123_456_79);
        assert_eq!([rounded(84_545.0), rounded(0.0)], [84_545.0, 0.0]);
        assert!(rounded(f64::NAN).is_nan());
    }
}
