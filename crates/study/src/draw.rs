//! Draws from a scenario's distributions: one uniform number a value.

use firstflight_net::random::Stream;
use firstflight_scenario::{Dist, Quantity};

/// A value drawn from `dist`; a fixed one takes no number from the stream.
pub fn draw<T: Quantity>(dist: Dist<T>, stream: &mut Stream) -> T {
    match dist {
        Dist::Fixed(value) => value,
        law => law.quantile(stream.unit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_control::units::Nanos;

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
    fn a_pareto_of_shape_3_has_its_mean_and_its_tail() {
        // x_min = 1e6 * 2 / 3; P(X > 2e6) = (1/3)^3 = 0.037. Variance: mean^2 / (shape (shape - 2)) = 1/3 of 1e12.
        let (mean, above) = mean_and_share_above(Dist::Pareto { mean: 1_000_000, shape: 3.0 }, 2_000_000);
        assert!((mean - 1e6).abs() < 5.0 * 577_350.0 / 447.2, "{mean}");
        assert!((above - 1.0 / 27.0).abs() < 0.0022, "{above}");
    }

    #[test]
    fn a_uniform_stays_between_its_bounds() {
        let mut stream = Stream::named(2, "test");
        let dist = Dist::Uniform(Nanos(10), Nanos(20));
        assert!((0..1000).map(|_| draw(dist, &mut stream).0).all(|x| (10..=20).contains(&x)));
    }
}
