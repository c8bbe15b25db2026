//! Draws from a scenario's distributions, with one uniform random number per value.

use firstflight_random::Stream;
use firstflight_random::{Dist, Quantity};

/// Draws a value from `dist`. A fixed value uses no random number.
pub fn draw<T: Quantity>(dist: Dist<T>, stream: &mut Stream) -> T {
    match dist {
        Dist::Fixed(value) => value,
        law => law.quantile(stream.unit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_contract::Nanos;

    fn mean_and_share_above(dist: Dist<u64>, bound: u64) -> (f64, f64) {
        let mut stream = Stream::named(1, "test");
        let drawn: Vec<u64> = (0..200_000).map(|_| draw(dist, &mut stream)).collect();
        let mean = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
        let above = drawn.iter().filter(|&&x| x > bound).count() as f64 / drawn.len() as f64;
        (mean, above)
    }

    #[test]
    fn an_exponential_exceeds_its_mean_with_probability_1_over_e() {
        let (mean, above) = mean_and_share_above(Dist::Exponential(1_000_000), 1_000_000);
        // Standard errors: 1e6 / sqrt(2e5) = 2240 and sqrt(0.37 * 0.63 / 2e5) = 0.0011; five of each.
        assert!((mean - 1e6).abs() < 11_200.0, "{mean}");
        assert!((above - 0.367_879).abs() < 0.0055, "{above}");
    }

    #[test]
    fn a_pareto_of_shape_3_has_the_right_mean_and_tail() {
        // x_min = 1e6 * 2 / 3; P(X > 2e6) = (1/3)^3 = 0.037. Variance: mean^2 / (shape (shape - 2)) = 1/3 of 1e12.
        let (mean, above) = mean_and_share_above(Dist::Pareto { mean: 1_000_000, shape: 3.0 }, 2_000_000);
        assert!((mean - 1e6).abs() < 5.0 * 577_350.0 / 447.2, "{mean}");
        assert!((above - 1.0 / 27.0).abs() < 0.0022, "{above}");
    }

    #[test]
    fn a_pareto_of_the_second_kind_has_the_right_mean_and_begins_at_zero() {
        // s = 1e6 (3 - 1) = 2e6; P(X > 2e6) = 2^-3. Variance: s^2 shape / ((shape - 1)^2 (shape - 2)) = 3e12.
        let (mean, above) = mean_and_share_above(Dist::ParetoII { mean: 1_000_000, shape: 3.0 }, 2_000_000);
        assert!((mean - 1e6).abs() < 5.0 * 1_732_051.0 / 447.2, "{mean}");
        assert!((above - 0.125).abs() < 5.0 * 0.331 / 447.2, "{above}");
        // P(X > 20 000) = 1.01^-3 = 0.9706: a Pareto with this mean has no values below 667 000.
        let (_, above) = mean_and_share_above(Dist::ParetoII { mean: 1_000_000, shape: 3.0 }, 20_000);
        assert!((above - 0.970_590).abs() < 5.0 * 0.169 / 447.2, "{above}");
    }

    #[test]
    fn files_of_the_surge_kind_have_a_lognormal_body_and_a_pareto_tail() {
        // P. Barford, M. Crovella, SIGMETRICS 1998, table 1: mu 9.357, sigma 1.318; tail from 133 KB, shape 1.1. The median is
        // exp(9.357) = 11 580 bytes.
        let surge = Dist::Lognormal { median: 11_580, sigma: 1.318, tail: Some((133_000, 1.1)) };
        let (_, half) = mean_and_share_above(surge, 11_580);
        assert!((half - 0.5).abs() < 5.0 * 0.5 / 447.2, "{half}");
        // One standard deviation of the logarithm up: exp(9.357 + 1.318) = 43 260; P = 0.158655.
        let (_, above) = mean_and_share_above(surge, 43_260);
        assert!((above - 0.158_655).abs() < 5.0 * 0.365 / 447.2, "{above}");
        // At the start of the tail the lognormal has (ln 133000 - ln 11580) / 1.318 = 1.85222 deviations:
        // 0.031998. At ten times that size the tail has 10^-1.1 of it, 0.0025417; the lognormal would have
        // 0.00016.
        let (_, at_tail) = mean_and_share_above(surge, 133_000);
        assert!((at_tail - 0.031_998).abs() < 5.0 * 0.176 / 447.2, "{at_tail}");
        let (_, far) = mean_and_share_above(surge, 1_330_000);
        assert!((far - 0.002_541_7).abs() < 5.0 * 0.0504 / 447.2, "{far}");
    }

    #[test]
    fn a_uniform_stays_between_its_bounds() {
        let mut stream = Stream::named(2, "test");
        let dist = Dist::Uniform(Nanos(10), Nanos(20));
        assert!((0..1000).map(|_| draw(dist, &mut stream).0).all(|x| (10..=20).contains(&x)));
    }
}
