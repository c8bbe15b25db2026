//! The products and quotients of `mul_div` equal those of exact integers of any size.

use firstflight_contract::{
    Sum, compare_products, cube_root, cube_shift, least_squares_slope, mul_add_div, mul_add_shift, mul_div,
    mul_div_ceil, mul_div_round, mul_shift, sqrt_of_product, weighted_mean, weighted_mean_round,
};
use num_bigint::{BigInt, BigUint};
use proptest::prelude::*;

fn big(n: u64) -> BigUint {
    n.into()
}

fn saturated(n: BigUint) -> u64 {
    n.try_into().unwrap_or(u64::MAX)
}

/// Numbers of every length, and those next to a power of two.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        (any::<u64>(), 0..64_u32).prop_map(|(n, shift)| n >> shift),
        (0..64_u32, -1..=1_i64).prop_map(|(bit, offset)| (1_u64 << bit).saturating_add_signed(offset)),
        Just(u64::MAX),
    ]
}

fn divisor() -> impl Strategy<Value = u64> {
    number().prop_map(|n| n.max(1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn quotients_are_exact(a in number(), b in number(), carry in number(), c in divisor()) {
        let product = big(a) * b;
        prop_assert_eq!(mul_div(a, b, c), saturated(&product / c));
        prop_assert_eq!(mul_div_round(a, b, c), saturated((&product * 2_u8 + c) / (big(c) * 2_u8)));
        prop_assert_eq!(mul_div_ceil(a, b, c), saturated((&product + c - 1_u8) / c));
        let sum = product + carry;
        prop_assert_eq!(mul_add_div(a, b, carry, c), (saturated(&sum / c), saturated(sum % c)));
    }

    #[test]
    fn sums_are_exact(terms in prop::collection::vec((number(), number()), 1..50), last in number()) {
        let exact = |sum: Sum| {
            let (high, low) = sum.words();
            (big(high) << 64) + low
        };
        let mut sum = Sum::default();
        terms.iter().for_each(|&(a, b)| sum.add_product(a >> 3, b >> 3));
        let products: BigUint = terms.iter().map(|&(a, b)| big(a >> 3) * (b >> 3)).sum();
        prop_assert_eq!(exact(sum), products.clone());
        sum.add(last);
        prop_assert_eq!(exact(sum), products.clone() + last);
        sum.subtract(last);
        prop_assert_eq!(exact(sum), products);
        let mut small = Sum::from(last);
        small.subtract(u64::MAX);
        prop_assert_eq!(small, Sum::default());
    }

    #[test]
    fn shifts_are_exact(a in number(), b in number(), carry in number(), bits in 0..64_u32, far in 64..128_u32) {
        let product = big(a) * b;
        prop_assert_eq!(mul_shift(a, b, bits), saturated(&product >> bits));
        prop_assert_eq!(mul_shift(a, b, far), saturated(&product >> far));
        let (sum, unit) = (product + carry, BigUint::from(1_u8) << bits);
        prop_assert_eq!(mul_add_shift(a, b, carry, bits), (saturated(&sum >> bits), saturated(sum % unit)));
    }

    #[test]
    fn products_compare_as_exact_ones(a in number(), b in number(), c in number(), d in number()) {
        prop_assert_eq!(compare_products((a, b), (c, d)), (big(a) * b).cmp(&(big(c) * d)));
        prop_assert!(compare_products((a, b), (b, a)).is_eq());
    }

    #[test]
    fn means_are_exact_and_never_saturate(values: [u64; 3], weights in [1..1_u64 << 62, 0..1_u64 << 62, 0..1_u64 << 62]) {
        let terms = [0, 1, 2].map(|i| (values[i], weights[i]));
        let sum: BigUint = terms.iter().map(|&(value, weight)| big(value) * weight).sum();
        let total: u64 = weights.iter().sum();
        prop_assert_eq!(BigUint::from(weighted_mean(terms)), &sum / total);
        prop_assert_eq!(BigUint::from(weighted_mean_round(terms)), (sum * 2_u8 + total) / (big(total) * 2_u8));
    }

    #[test]
    fn scaled_cubes_are_exact(d: u32, shift in 0..32_u32, c in number(), bits in 0..160_u32) {
        let d = d >> shift;
        prop_assert_eq!(cube_shift(d, c, bits), saturated((big(d.into()).pow(3) * c) >> bits));
    }

    #[test]
    fn cube_roots_are_exact_up_to_their_bound(a in number(), bits in 0..128_u32, c in divisor()) {
        let exact = ((big(a) << bits) / c).cbrt();
        let bound = big((1 << 42) - 1);
        let saturates = (big(a) << bits).bits() > 128;
        let expected = if saturates { bound } else { exact.min(bound) };
        prop_assert_eq!(big(cube_root(a, bits, c)), expected);
    }

    #[test]
    fn square_roots_are_exact(a in number(), b in number()) {
        prop_assert_eq!(big(sqrt_of_product(a, b)), (big(a) * b).sqrt());
    }

    /// The textbook formula over the three points, in integers of any size.
    #[test]
    fn slopes_are_those_of_least_squares(
        factor in 0..1_u64 << 40,
        x in [0..1_u64 << 40, 0..1_u64 << 40],
        y in [0..1_u64 << 40, 0..1_u64 << 40],
    ) {
        let (x, y) = ([0, x[0], x[1]], [0, y[0], y[1]]);
        let sum = |terms: [BigInt; 3]| terms.into_iter().sum::<BigInt>();
        let at = |i: usize| (BigInt::from(x[i]), BigInt::from(y[i]));
        let rise = sum([0, 1, 2].map(|i| at(i).0 * at(i).1)) * 3
            - sum([0, 1, 2].map(|i| at(i).0)) * sum([0, 1, 2].map(|i| at(i).1));
        let run = sum([0, 1, 2].map(|i| at(i).0.pow(2))) * 3 - sum([0, 1, 2].map(|i| at(i).0)).pow(2);
        let expected = if rise > BigInt::ZERO && run > BigInt::ZERO {
            u64::try_from(rise * factor / run).ok()
        } else {
            None
        };
        prop_assert_eq!(least_squares_slope(factor, (x[1], y[1]), (x[2], y[2])), expected);
    }
}

#[test]
fn cubes_of_integers_have_that_root_and_their_neighbours_the_next() {
    for n in [1, 2, 1000, 1_000_000, 2_642_245_u64] {
        let cube = n.pow(3);
        assert_eq!([cube - 1, cube, cube + 1].map(|a| cube_root(a, 0, 1)), [n - 1, n, n]);
    }
    assert_eq!(cube_root(0, 0, 1), 0);
    // 2^126 has the root 2^42, beyond the bound; (2^41)^3 = 2^123.
    assert_eq!(cube_root(1, 126, 1), (1 << 42) - 1);
    assert_eq!(cube_root(1, 123, 1), 1 << 41);
}

#[test]
fn halves_round_upwards() {
    // 5/2, 7/2, 5/3, 4/3
    assert_eq!([(5, 2), (7, 2), (5, 3), (4, 3)].map(|(a, c)| mul_div_round(a, 1, c)), [3, 4, 2, 1]);
    assert_eq!(weighted_mean_round([(2, 1), (3, 1)]), 3);
}

#[test]
fn slopes_outside_the_range_are_none() {
    assert_eq!(least_squares_slope(1, (1, 1), (1 << 62, 2)), None);
    assert_eq!(least_squares_slope(u64::MAX, (1 << 60, 1 << 60), (1 << 61, 1 << 61)), None);
    // y = 3x: ten times the slope
    assert_eq!(least_squares_slope(10, (1, 3), (2, 6)), Some(30));
    // Three points at one time, and a line that falls.
    assert_eq!(least_squares_slope(10, (0, 3), (0, 6)), None);
    assert_eq!(least_squares_slope(10, (1, 0), (2, 0)), None);
}
