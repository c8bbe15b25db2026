//! Numbers and names for readers: few digits, one unit in a column, no control characters.
//!
//! A no-break space separates a number from its unit, so that no line breaks between them.

use firstflight_results::PairedDifference;

/// Unit and decimals of a column of times. All rows share them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TimeScale {
    per_second: f64,
    decimals: usize,
    /// `ms` or `s`.
    pub(crate) unit: &'static str,
}

impl TimeScale {
    /// Scale that shows the largest of `seconds` with four significant digits.
    pub(crate) fn of(seconds: impl IntoIterator<Item = f64>) -> Self {
        let largest = seconds.into_iter().fold(0.0, f64::max);
        let (per_second, unit) = if largest < 1.0 { (1000.0, "ms") } else { (1.0, "s") };
        let whole_digits = (largest * per_second).max(1.0).log10() as usize + 1;
        Self { per_second, unit, decimals: 4_usize.saturating_sub(whole_digits).min(3) }
    }

    /// Time without its unit.
    pub(crate) fn value(self, seconds: f64) -> String {
        minus(format!("{:.*}", self.decimals, seconds * self.per_second))
    }

    /// Interval without its unit.
    pub(crate) fn interval(self, [low, high]: [f64; 2]) -> String {
        format!("{}–{}", self.value(low), self.value(high))
    }

    /// Time with its unit.
    pub(crate) fn with_unit(self, seconds: f64) -> String {
        format!("{}\u{a0}{}", self.value(seconds), self.unit)
    }
}

/// Time with its unit, to three significant digits.
pub fn time(seconds: f64) -> String {
    let (value, unit) = if seconds < 1.0 { (seconds * 1000.0, "ms") } else { (seconds, "s") };
    let decimals = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    minus(format!("{value:.decimals$}\u{a0}{unit}"))
}

/// Signed share in per cent: `−23 %`; one decimal below ten per cent.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    let rounded = if value.abs() < 9.95 { format!("{value:+.1}") } else { format!("{value:+.0}") };
    let unsigned_zero =
        if rounded.trim_start_matches(['+', '-']) == "0.0" { "0.0".to_owned() } else { rounded };
    minus(unsigned_zero) + "\u{a0}%"
}

/// Share in per cent without its sign, for sentences whose words state the direction.
pub fn percent_magnitude(share: f64) -> String {
    percent(share).trim_start_matches(['+', '−']).to_owned()
}

/// The least difference that is worth having, in per cent.
pub(crate) fn worth_having() -> String {
    format!("{}\u{a0}%", significant(PairedDifference::WORTH_HAVING * 100.0))
}

/// Count or mean count: three significant digits, whole numbers without decimals.
pub fn count(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 || (v.fract() == 0.0) => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    minus(format!("{value:.decimals$}"))
}

/// Transfer size in the notation of scenarios: KB is 1000 bytes, KiB 1024.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 6] = [
        (1_000_000_000, "GB"),
        (1 << 30, "GiB"),
        (1_000_000, "MB"),
        (1 << 20, "MiB"),
        (1000, "KB"),
        (1 << 10, "KiB"),
    ];
    match UNITS.iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}\u{a0}{name}", bytes / unit),
        None => match UNITS.iter().find(|(unit, name)| bytes >= *unit && !name.contains('i')) {
            Some((unit, name)) => format!("{:.1}\u{a0}{name}", bytes as f64 / *unit as f64),
            None => format!("{bytes}\u{a0}B"),
        },
    }
}

/// Rate in the notation of scenarios.
pub(crate) fn rate(bit_s: f64) -> String {
    let (unit, name) = match bit_s {
        r if r >= 1e9 => (1e9, "Gbit/s"),
        r if r >= 1e6 => (1e6, "Mbit/s"),
        _ => (1e3, "kbit/s"),
    };
    format!("{}\u{a0}{name}", significant(bit_s / unit))
}

/// Up to four significant digits, without trailing zeros.
pub(crate) fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (3 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    minus(text.to_owned())
}

/// Count followed by `singular` if it is exactly one, otherwise by `plural`.
pub(crate) fn counted(value: f64, singular: &str, plural: &str) -> String {
    format!("{}\u{a0}{}", count(value), if value == 1.0 { singular } else { plural })
}

/// `text` with a capital first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Words joined for a sentence: `a, b and c`.
pub(crate) fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// External text of several lines, each as [`printable`] has it.
pub fn lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// External text on one line: control characters (C0 and C1), line and paragraph separators, and bidirectional formatting
/// characters are escaped as `\u{1b}`, so that a file name can neither control a terminal nor reorder or break a line.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.extend(c.escape_unicode());
            }
            // No characters, and not in XML.
            '\u{fffe}' | '\u{ffff}' => out.extend(c.escape_unicode()),
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// `text` broken at spaces into lines of at most `width` characters; a longer word gets its own line.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn minus(text: String) -> String {
    text.replace('-', "−")
}

/// Sentence with the probability that a transfer ends sooner, after another one; empty if each does, or without a setting.
pub(crate) fn probably(sooner: Option<f64>) -> String {
    match sooner {
        Some(sooner) if sooner < 1.0 => {
            format!(" A transfer ends sooner with a probability of {}.", probability(sooner))
        }
        _ => String::new(),
    }
}

/// A probability with two decimals, which is rounded neither to one nor to none.
fn probability(share: f64) -> String {
    format!("{:.2}", share.clamp(0.01, 0.99))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_times_has_one_unit_and_its_largest_value_has_four_digits() {
        let scale = TimeScale::of([0.0123, 0.3124]);
        assert_eq!(
            (scale.value(0.3124), scale.value(0.0123), scale.unit),
            ("312.4".into(), "12.3".into(), "ms")
        );
        let scale = TimeScale::of([0.3124, 12.3456]);
        assert_eq!(
            (scale.value(0.3124), scale.interval([0.5, 12.3456])),
            ("0.31".into(), "0.50–12.35".into())
        );
        assert_eq!(
            (time(1.0), time(0.0864), time(0.4312)),
            ("1.00\u{a0}s".into(), "86.4\u{a0}ms".into(), "431\u{a0}ms".into())
        );
    }

    #[test]
    fn shares_are_signed_and_never_minus_zero() {
        assert_eq!(percent(-0.234), "−23\u{a0}%");
        assert_eq!(percent(0.056), "+5.6\u{a0}%");
        assert_eq!(percent(-0.0001), "0.0\u{a0}%");
        assert_eq!(percent_magnitude(-0.056), "5.6\u{a0}%");
    }

    #[test]
    fn sizes_and_rates_use_the_notation_of_scenarios() {
        assert_eq!(bytes(300_000), "300\u{a0}KB");
        assert_eq!(bytes(3_000_000), "3\u{a0}MB");
        assert_eq!(bytes(65_536), "64\u{a0}KiB");
        assert_eq!(bytes(123_456), "123.5\u{a0}KB");
        assert_eq!(bytes(7), "7\u{a0}B");
        assert_eq!(rate(1.5e9), "1.5\u{a0}Gbit/s");
        assert_eq!(rate(40e6), "40\u{a0}Mbit/s");
    }

    #[test]
    fn counts_have_three_digits() {
        assert_eq!(count(0.333), "0.33");
        assert_eq!(count(12.34), "12.3");
        assert_eq!(count(1234.5), "1234");
        assert_eq!(count(7.0), "7");
        assert_eq!(counted(1.0, "packet", "packets"), "1\u{a0}packet");
        assert_eq!(significant(0.001), "0.001");
        assert_eq!(significant(1234.5), "1234");
    }

    #[test]
    fn text_that_could_control_a_terminal_is_escaped() {
        assert_eq!(printable("a\u{1b}[2J\u{202e}b\n"), "a\\u{1b}[2J\\u{202e}b\\u{a}");
        assert_eq!(printable("\u{7f}\u{85}\u{9b}\u{61c}\u{2028}"), "\\u{7f}\\u{85}\\u{9b}\\u{61c}\\u{2028}");
        assert_eq!(printable("Café ❤️ हिन्दी 中文 a\u{a0}b"), "Café ❤️ हिन्दी 中文 a\u{a0}b");
    }
}
