//! The standard normal distribution, with the same bits on every machine.

/// P(X > x).
pub fn above(x: f64) -> f64 {
    0.5 * libm::erfc(x * core::f64::consts::FRAC_1_SQRT_2)
}

/// The value below which a share `p` of all values lies, within 1e-12. A `p` of 0, which is drawn once in 2^53, counts as
/// 2^-54.
pub fn quantile(p: f64) -> f64 {
    let p = p.max(f64::EPSILON / 4.0);
    // By symmetry only the lower half is computed, where no digits are lost.
    if p > 0.5 {
        return -quantile(1.0 - p);
    }
    // Newton's steps inside the bounds of the root, and bisection where a step leaves them.
    let (mut low, mut high) = (-9.0, 0.0);
    let mut x = -1.0;
    for _ in 0..100 {
        let error = above(-x) - p;
        if error > 0.0 {
            high = x
        } else {
            low = x
        };
        let density = libm::exp(-0.5 * x * x) * 0.398_942_280_401_432_7;
        let newton = x - error / density;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - x).abs() < 1e-13 {
            return next;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // Abramowitz and Stegun, table 26.5 and 26.6.
        for (p, x) in [
            (0.5, 0.0),
            (0.75, 0.674_489_750_196_082),
            (0.9, 1.281_551_565_544_6),
            (0.975, 1.959_963_984_540_054),
            (0.001, -3.090_232_306_167_813),
            (1e-9, -5.997_807_015_007_686),
        ] {
            assert!((quantile(p) - x).abs() < 1e-9, "{p}: {}", quantile(p));
        }
        assert!((above(1.0) - 0.158_655_253_931_457).abs() < 1e-12);
        assert!(quantile(0.0) > -9.0 && quantile(0.0) < -8.0);
    }
}
