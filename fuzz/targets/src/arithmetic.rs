//! The products and quotients of the contract against integers of any size.

use firstflight_contract::{
    compare_products, cube_root, cube_shift, mul_add_div, mul_add_shift, mul_div, mul_div_round, mul_shift,
    sqrt_of_product, weighted_mean, weighted_mean_round,
};
use num_bigint::BigUint;

use crate::{Form, Target};

pub(crate) const TARGET: Target = Target {
    name: "arithmetic",
    about: "the contract's products, quotients and roots of 64-bit numbers against integers of any size",
    run,
    longest: 40,
    form: Form::Numbers,
};

fn big(n: u64) -> BigUint {
    n.into()
}

fn saturated(n: BigUint) -> u64 {
    n.try_into().unwrap_or(u64::MAX)
}

fn run(bytes: &[u8]) {
    let mut padded = [0; 40];
    let length = bytes.len().min(40);
    padded[..length].copy_from_slice(&bytes[..length]);
    let number = |i: usize| u64::from_le_bytes(padded[8 * i..8 * i + 8].try_into().expect("eight bytes"));
    let choice = number(0);
    let shifted = |i: usize| number(i) >> (choice >> (6 * i + 8) & 63);
    let [a, b, carry, d] = [1, 2, 3, 4].map(shifted);
    let c = d.max(1);
    let bits = (choice >> 40) as u32;
    match choice % 8 {
        0 => {
            let product = big(a) * b;
            assert_eq!(mul_div(a, b, c), saturated(&product / c), "{a} {b} {c}");
            assert_eq!(
                mul_div_round(a, b, c),
                saturated((product * 2_u8 + c) / (big(c) * 2_u8)),
                "{a} {b} {c}"
            );
        }
        1 => {
            let sum = big(a) * b + carry;
            assert_eq!(
                mul_add_div(a, b, carry, c),
                (saturated(&sum / c), saturated(sum % c)),
                "{a} {b} {carry} {c}"
            );
        }
        2 => {
            let bits = bits % 128;
            assert_eq!(mul_shift(a, b, bits), saturated((big(a) * b) >> bits), "{a} {b} {bits}");
        }
        3 => {
            let bits = bits % 64;
            let (sum, unit) = (big(a) * b + carry, BigUint::from(1_u8) << bits);
            let expected = (saturated(&sum >> bits), saturated(sum % unit));
            assert_eq!(mul_add_shift(a, b, carry, bits), expected, "{a} {b} {carry} {bits}");
        }
        4 => {
            let exact = (big(a) * b).cmp(&(big(carry) * d));
            assert_eq!(compare_products((a, b), (carry, d)), exact, "{a} {b} {carry} {d}");
        }
        5 => {
            // The weights' sum must fit.
            let (v, w) = (carry >> 1, c >> 1);
            let total = v.max(1) + w;
            let sum = big(a) * v.max(1) + big(b) * w;
            let terms = [(a, v.max(1)), (b, w)];
            assert_eq!(big(weighted_mean(terms)), &sum / total, "{terms:?}");
            assert_eq!(
                big(weighted_mean_round(terms)),
                (sum * 2_u8 + total) / (big(total) * 2_u8),
                "{terms:?}"
            );
        }
        6 => {
            let (d, bits) = (a as u32, bits % 160);
            assert_eq!(
                cube_shift(d, b, bits),
                saturated((big(d.into()).pow(3) * b) >> bits),
                "{d} {b} {bits}"
            );
            assert_eq!(big(sqrt_of_product(a, b)), (big(a) * b).sqrt(), "{a} {b}");
        }
        _ => {
            let (bits, bound) = (bits % 128, big((1 << 42) - 1));
            let scaled = big(a) << bits;
            let expected = if scaled.bits() > 128 { bound } else { (scaled / c).cbrt().min(bound) };
            assert_eq!(big(cube_root(a, bits, c)), expected, "{a} {bits} {c}");
        }
    }
}
