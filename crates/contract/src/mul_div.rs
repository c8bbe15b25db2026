//! Products of 64-bit integers that may exceed 64 bits, and their quotients: the only 128-bit arithmetic of the workspace.
//!
//! Every function computes its intermediate values exactly. A result above `u64::MAX` is [`u64::MAX`]. The functions panic
//! if a divisor is zero.
//!
//! A division of 128 bits is a call of a library function, so the quotient of a product that fits 64 bits is computed in 64
//! bits.

use core::cmp::Ordering;

/// `a * b / c`, rounded down.
#[inline]
pub const fn mul_div(a: u64, b: u64, c: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product / c,
        None => wide_div(wide(a, b), c),
    }
}

/// `a * b / c`, rounded to the nearest integer, halves upwards.
#[inline]
pub const fn mul_div_round(a: u64, b: u64, c: u64) -> u64 {
    mul_add_div(a, b, c / 2, c).0
}

/// `a * b / c`, rounded up.
#[inline]
pub const fn mul_div_ceil(a: u64, b: u64, c: u64) -> u64 {
    mul_add_div(a, b, c - 1, c).0
}

/// Quotient and remainder of `(a * b + carry) / c`. Growth by fractions of a byte passes the remainder of one call as the
/// `carry` of the next, so that nothing is lost to rounding.
#[inline]
pub const fn mul_add_div(a: u64, b: u64, carry: u64, c: u64) -> (u64, u64) {
    if let Some(product) = a.checked_mul(b)
        && let Some(sum) = product.checked_add(carry)
    {
        return (sum / c, sum % c);
    }
    let sum = wide(a, b) + carry as u128;
    (wide_div(sum, c), (sum % c as u128) as u64)
}

/// A sum of 64-bit integers that may exceed 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sum(u128);

impl Sum {
    /// Adds `n`.
    #[inline(always)]
    pub const fn add(&mut self, n: u64) {
        self.0 += n as u128;
    }

    /// Adds `a * b`.
    #[inline]
    pub const fn add_product(&mut self, a: u64, b: u64) {
        self.0 += wide(a, b);
    }

    /// Subtracts `n`. A sum that would be below zero is zero.
    #[inline]
    pub const fn subtract(&mut self, n: u64) {
        self.0 = self.0.saturating_sub(n as u128);
    }

    /// The upper and the lower 64 bits.
    pub const fn words(self) -> (u64, u64) {
        ((self.0 >> 64) as u64, self.0 as u64)
    }
}

impl From<u64> for Sum {
    fn from(n: u64) -> Self {
        Self(n.into())
    }
}

/// `a * b / 2^bits`, rounded down. `bits` is below 128.
#[inline]
pub const fn mul_shift(a: u64, b: u64, bits: u32) -> u64 {
    saturated(wide(a, b) >> bits)
}

/// Quotient and remainder of `(a * b + carry) / 2^bits`. `bits` is below 64.
#[inline]
pub const fn mul_add_shift(a: u64, b: u64, carry: u64, bits: u32) -> (u64, u64) {
    let sum = wide(a, b) + carry as u128;
    (saturated(sum >> bits), sum as u64 & ((1 << bits) - 1))
}

/// Order of `a * b` and `c * d`.
#[inline]
pub fn compare_products((a, b): (u64, u64), (c, d): (u64, u64)) -> Ordering {
    wide(a, b).cmp(&wide(c, d))
}

/// Mean of `(value, weight)` pairs, rounded down. The sum of the weights fits 64 bits.
#[inline]
pub fn weighted_mean<const N: usize>(terms: [(u64, u64); N]) -> u64 {
    let (sum, weights) = weighted_sum(terms);
    divide(sum, weights)
}

/// Mean of `(value, weight)` pairs, rounded to the nearest integer, halves upwards. The sum of the weights fits 64 bits.
#[inline]
pub fn weighted_mean_round<const N: usize>(terms: [(u64, u64); N]) -> u64 {
    let (sum, weights) = weighted_sum(terms);
    // The sum is at most `u64::MAX * weights`: adding half of the weights does not overflow.
    divide(sum + (weights / 2) as u128, weights)
}

/// `d^3 * c / 2^bits`, rounded down. `bits` is below 192.
#[inline]
pub const fn cube_shift(d: u32, c: u64, bits: u32) -> u64 {
    // 96 bits times 64 bits, as two products: the lower one contributes its upper half to the upper one.
    let cube = wide(d as u64 * d as u64, d as u64);
    let low = wide(cube as u64, c);
    let high = wide((cube >> 64) as u64, c) + (low >> 64);
    if bits >= 64 {
        return saturated(high >> (bits - 64));
    }
    if high >> bits != 0 {
        return u64::MAX;
    }
    (high << (64 - bits)) as u64 | (low as u64 >> bits)
}

/// Largest integer whose cube is not above `a * 2^bits / c`; at most 2^42 - 1. `bits` is below 128.
pub fn cube_root(a: u64, bits: u32, c: u64) -> u64 {
    const ROOT_BITS: u32 = 42;
    if a != 0 && a.ilog2() + bits >= u128::BITS {
        return (1 << ROOT_BITS) - 1;
    }
    let n = ((a as u128) << bits) / c as u128;
    // Bit by bit: the number of steps is a constant, which the kernel's verifier requires.
    (0..ROOT_BITS).rev().fold(0, |root: u64, bit| {
        let tried = root | 1 << bit;
        crate::forget(if wide(tried, tried) * tried as u128 <= n { tried } else { root })
    })
}

/// Square root of `a * b`, rounded down.
pub const fn sqrt_of_product(a: u64, b: u64) -> u64 {
    wide(a, b).isqrt() as u64
}

/// `factor` times the slope of the line of least squares through (0, 0), `second` and `third`, each (x, y), rounded down.
/// `None` if the line does not rise, or a coordinate or the product exceeds the range of the computation (62 and 128 bits).
pub fn least_squares_slope(factor: u64, second: (u64, u64), third: (u64, u64)) -> Option<u64> {
    const MAX: u64 = (1 << 62) - 1;
    let ((x2, y2), (x3, y3)) = (second, third);
    if x2.max(y2).max(x3).max(y3) > MAX {
        return None;
    }
    // (n sum(xy) - sum(x) sum(y)) / (n sum(x^2) - sum(x)^2) with n = 3 and the first point at (0, 0), multiplied out.
    let rise = (2 * (wide(x2, y2) + wide(x3, y3))).checked_sub(wide(x2, y3) + wide(x3, y2))?;
    let run = 2 * (wide(x2, x2) + wide(x3, x3) - wide(x2, x3));
    if rise == 0 || run == 0 {
        return None;
    }
    u64::try_from(rise.checked_mul(factor as u128)? / run).ok()
}

#[inline(always)]
const fn wide(a: u64, b: u64) -> u128 {
    a as u128 * b as u128
}

#[inline(always)]
const fn saturated(n: u128) -> u64 {
    if n > u64::MAX as u128 { u64::MAX } else { n as u64 }
}

#[inline(always)]
const fn divide(n: u128, c: u64) -> u64 {
    if n <= u64::MAX as u128 { n as u64 / c } else { wide_div(n, c) }
}

#[cold]
#[inline(never)]
const fn wide_div(n: u128, c: u64) -> u64 {
    saturated(n / c as u128)
}

#[inline(always)]
fn weighted_sum<const N: usize>(terms: [(u64, u64); N]) -> (u128, u64) {
    let mut sum = 0;
    let mut weights = 0;
    for (value, weight) in terms {
        sum += wide(value, weight);
        weights += weight;
    }
    (sum, weights)
}
