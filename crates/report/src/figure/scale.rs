//! Conversion of numbers to pixels, and the round numbers that label an axis.

use super::Spacing;

/// Largest number that is drawn, and smallest on a logarithmic axis. Nothing that a run measures is beyond them, and the
/// length of an axis, its labels and its pixels stay computable.
const LARGEST: f64 = 1e100;
const SMALLEST: f64 = 1e-100;
/// Positions beyond the picture end here, in tenths of a pixel.
const FAR: f64 = 1e9;

impl Spacing {
    /// Whether `value` has a position on an axis.
    pub(super) fn has(self, value: f64) -> bool {
        match self {
            Self::Linear => value.abs() <= LARGEST,
            Self::Logarithmic => (SMALLEST..=LARGEST).contains(&value),
        }
    }
}

/// Conversion of numbers on an axis to pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Ends of the axis, or their logarithms to base 10.
    from: f64,
    until: f64,
    spacing: Spacing,
    /// Pixels at `from` and at `until`.
    pixels: [f64; 2],
}

/// A label of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: String,
}

impl Scale {
    /// Scale over `range`, whose ends must differ and have positions.
    pub(super) fn new([from, until]: [f64; 2], pixels: [f64; 2], spacing: Spacing) -> Self {
        assert!(from < until && spacing.has(from) && spacing.has(until), "an axis from {from} to {until}");
        let of = |value: f64| match spacing {
            Spacing::Linear => value,
            Spacing::Logarithmic => libm::log10(value),
        };
        Self { from: of(from), until: of(until), spacing, pixels }
    }

    /// Whether `value` has a position on the axis.
    pub(super) fn has(&self, value: f64) -> bool {
        self.spacing.has(value)
    }

    /// Position of `value` in tenths of a pixel, rounded, at most [`FAR`] away. `value` must have a position.
    pub(super) fn tenths(&self, value: f64) -> i64 {
        let [a, b] = self.pixels;
        let value = if self.spacing == Spacing::Linear { value } else { libm::log10(value) };
        let tenths = (a + (value - self.from) / (self.until - self.from) * (b - a)) * 10.0;
        tenths.clamp(-FAR, FAR).round() as i64
    }

    /// Round numbers within the range, at least `apart` pixels from each other. Linear: multiples of 1, 2 or 5 times a
    /// power of ten. Logarithmic: 1, 2 and 5 times powers of ten, or powers of ten alone.
    pub(super) fn ticks(&self, apart: f64) -> Vec<Tick> {
        let length = (self.pixels[1] - self.pixels[0]).abs();
        if self.spacing == Spacing::Logarithmic {
            let decade = length / (self.until - self.from);
            // The smallest steps are from 1 to 2 and from 5 to 10.
            let digits: &[i64] = if decade * libm::log10(2.0) >= apart { &[1, 2, 5] } else { &[1] };
            let every = (apart / decade).ceil().max(1.0) as i32;
            let exponents = (self.from.floor() as i32)..=(self.until.ceil() as i32);
            let steps = exponents.filter(|exponent| exponent % every == 0);
            let all = steps
                .flat_map(|exponent| digits.iter().map(move |&digit| Step { digit, exponent }.tick(1, 0.0)));
            let hair = 1e-9;
            let within =
                |tick: &Tick| (self.from - hair..=self.until + hair).contains(&libm::log10(tick.value));
            return all.filter(within).collect();
        }
        let least = (self.until - self.from) * apart / length;
        let step = Step::at_least(least);
        let first = (self.from / step.value()).ceil() as i64;
        let largest = self.from.abs().max(self.until.abs());
        (first..)
            .map(|multiple| step.tick(multiple, largest))
            .take_while(|tick| tick.value <= self.until)
            .collect()
    }
}

/// 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    digit: i64,
    /// Power of ten. 10^|exponent| is exact, and a negative power divides by it.
    exponent: i32,
}

impl Step {
    /// Smallest step that is at least `least`, which must be above zero.
    fn at_least(least: f64) -> Self {
        let mut exponent = -9;
        loop {
            for digit in [1, 2, 5] {
                let step = Self { digit, exponent };
                if step.value() >= least {
                    return step;
                }
            }
            exponent += 1;
        }
    }

    fn value(self) -> f64 {
        self.times(1)
    }

    /// A multiple of the step, rounded once.
    fn times(self, multiple: i64) -> f64 {
        let ten: f64 = (0..self.exponent.unsigned_abs()).map(|_| 10.0).product();
        let digits = (multiple * self.digit) as f64;
        if self.exponent < 0 { digits / ten } else { digits * ten }
    }

    /// Tick at a multiple of the step, on an axis whose values are at most `largest` away from zero.
    fn tick(self, multiple: i64, largest: f64) -> Tick {
        let value = self.times(multiple);
        // Six digits, and thousands of thousands such as 1500k, would lie over the title of the axis.
        let (shown, unit, power) = match self.exponent {
            _ if value == 0.0 => (value, "", 0),
            exponent if exponent >= 6 || (exponent == 5 && largest >= 1e6) => (value / 1e6, "M", 6),
            4.. => (value / 1e3, "k", 3),
            _ => (value, "", 0),
        };
        let label = format!("{shown:.*}{unit}", (self.exponent - power).min(0).unsigned_abs() as usize);
        Tick { value, label: label.replace('-', "\u{2212}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(range: [f64; 2], pixels: [f64; 2], apart: f64) -> Vec<String> {
        Scale::new(range, pixels, Spacing::Linear).ticks(apart).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_numbers_with_the_requested_minimum_distance() {
        // 700 pixels for 40 s: 80 pixels are 4.57 s, and the next round step is 5 s.
        let expected = ["0", "5", "10", "15", "20", "25", "30", "35", "40"];
        assert_eq!(labels([0.0, 40.0], [0.0, 700.0], 80.0), expected);
        // 250 pixels upwards for 0.9: 40 pixels are 0.144.
        assert_eq!(labels([0.0, 0.9], [250.0, 0.0], 40.0), ["0.0", "0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(labels([-3.0, 1.0], [0.0, 100.0], 50.0), ["\u{2212}2", "0"]);
        assert_eq!(labels([0.0, 6000.0], [0.0, 100.0], 30.0), ["0", "2000", "4000", "6000"]);
        assert_eq!(labels([0.0, 2e5], [0.0, 100.0], 30.0), ["0", "100k", "200k"]);
        assert_eq!(labels([-2e6, 2e6], [0.0, 100.0], 30.0), ["\u{2212}2M", "0", "2M"]);
        assert_eq!(labels([0.0, 1.2e6], [0.0, 100.0], 30.0), ["0", "0.5M", "1.0M"]);
    }

    #[test]
    fn a_logarithmic_axis_is_labelled_at_1_2_and_5_or_at_powers_of_ten() {
        let of = |pixels: f64| -> Vec<String> {
            let scale = Scale::new([1.0, 1000.0], [0.0, pixels], Spacing::Logarithmic);
            scale.ticks(70.0).into_iter().map(|tick| tick.label).collect()
        };
        // 240 pixels per decade: 72 pixels from 1 to 2.
        assert_eq!(of(720.0), ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1000"]);
        assert_eq!(of(300.0), ["1", "10", "100", "1000"]);
        let scale = Scale::new([1.0, 1000.0], [0.0, 300.0], Spacing::Logarithmic);
        assert_eq!((scale.tenths(10.0), scale.tenths(100.0), scale.has(0.0)), (1000, 2000, false));
    }

    #[test]
    fn the_longest_axis_has_few_labels_and_the_shortest_at_most_one_per_distance() {
        for range in [
            [-LARGEST, LARGEST],
            [0.0, LARGEST],
            [LARGEST / 1.1, LARGEST],
            [0.0, 5e-324],
            [1e15, 1e15 + 16.0],
        ] {
            for spacing in [Spacing::Linear, Spacing::Logarithmic] {
                if range.into_iter().all(|end| spacing.has(end)) {
                    let scale = Scale::new(range, [0.0, 700.0], spacing);
                    assert!(scale.ticks(70.0).len() <= 11, "{range:?} {spacing:?}");
                    assert_eq!((scale.tenths(range[0]), scale.tenths(range[1])), (0, 7000));
                }
            }
        }
        let short = Scale::new([0.0, 1e-9], [0.0, 700.0], Spacing::Linear);
        assert_eq!((short.tenths(LARGEST), short.tenths(-LARGEST)), (1_000_000_000, -1_000_000_000));
        assert!(![f64::NAN, f64::INFINITY, f64::MAX, f64::MIN].into_iter().any(|value| short.has(value)));
    }

    #[test]
    fn positions_are_rounded_to_a_tenth_of_a_pixel() {
        let up = Scale::new([0.0, 200.0], [250.0, 50.0], Spacing::Linear);
        assert_eq!([0.0, 200.0, 50.0, 0.25].map(|v| up.tenths(v)), [2500, 500, 2000, 2498]);
    }
}
