//! Arithmetic of 128 bits in words of 64, which is all that eBPF has. The build puts these functions in the place of LLVM's
//! instructions.

use firstflight_contract::forget;

/// The upper half of `a * b`.
#[inline(always)]
fn high(a: u64, b: u64) -> u64 {
    let (a0, b0) = (a as u32 as u64, b as u32 as u64);
    // LLVM knows this sum of products, and would make an instruction of 128 bits of it.
    let (a1, b1) = (forget(a) >> 32, forget(b) >> 32);
    let (low, left, right) = (a0 * b0, a1 * b0, a0 * b1);
    let middle = (low >> 32) + (left as u32 as u64) + (right as u32 as u64);
    a1 * b1 + (left >> 32) + (right >> 32) + (middle >> 32)
}

fn words(n: u128) -> (u64, u64) {
    ((n >> 64) as u64, n as u64)
}

fn join(high: u64, low: u64) -> u128 {
    (high as u128) << 64 | low as u128
}

/// `a * b`, modulo 2^128.
#[inline(always)]
pub fn multiply(a: u128, b: u128) -> u128 {
    let ((a1, a0), (b1, b0)) = (words(a), words(b));
    let upper = high(a0, b0).wrapping_add(a0.wrapping_mul(b1)).wrapping_add(a1.wrapping_mul(b0));
    join(upper, a0.wrapping_mul(b0))
}

/// Whether `a * b` exceeds 64 bits.
#[inline(always)]
pub fn overflows(a: u64, b: u64) -> bool {
    high(a, b) != 0
}

/// Whether `a * b` exceeds 128 bits.
#[inline(always)]
pub fn overflows_wide(a: u128, b: u128) -> bool {
    let ((a1, a0), (b1, b0)) = (words(a), words(b));
    let cross = a1.wrapping_mul(b0).wrapping_add(a0.wrapping_mul(b1));
    let over = (a1 != 0 && b1 != 0) | (high(a1, b0) != 0) | (high(a0, b1) != 0);
    over || cross.wrapping_add(high(a0, b0)) < cross
}

/// `a * 2^by`, modulo 2^128; `by` is below 128.
#[inline(always)]
pub fn shift_left(a: u128, by: u128) -> u128 {
    let (by, (upper, lower)) = (by as u64 & 127, words(a));
    if by & 64 != 0 {
        return join(lower << (by & 63), 0);
    }
    join(upper << by | lower >> 1 >> (63 - by), lower << by)
}

/// `a / 2^by`, rounded down; `by` is below 128.
#[inline(always)]
pub fn shift_right(a: u128, by: u128) -> u128 {
    let (by, (upper, lower)) = (by as u64 & 127, words(a));
    if by & 64 != 0 {
        return join(0, upper >> (by & 63));
    }
    join(upper >> by, lower >> by | upper << 1 << (63 - by))
}

/// One digit of a long division: `(upper * 2^32 + digit) / d` and the rest, for a divisor `d` whose first bit is set and
/// `upper < d` (D. Knuth, The Art of Computer Programming 2, 4.3.1, algorithm D).
#[inline(always)]
fn digit(upper: u64, digit: u64, d: u64) -> (u64, u64) {
    let (d1, d0) = (d >> 32, d as u32 as u64);
    let (mut q, mut rest) = (upper / d1, upper % d1);
    // The estimate is at most two too large.
    if q >> 32 != 0 || q.wrapping_mul(d0) > (rest << 32 | digit) {
        q -= 1;
        rest += d1;
        if rest >> 32 == 0 && (q >> 32 != 0 || q.wrapping_mul(d0) > (rest << 32 | digit)) {
            q -= 1;
        }
    }
    (q, (upper << 32 | digit).wrapping_sub(q.wrapping_mul(d)))
}

#[cfg(feature = "object")]
unsafe extern "C" {
    /// [`by_word`] as a subprogram.
    #[link_name = "ff_by_word"]
    safe fn quotient(upper: u64, lower: u64, d: u64) -> u64;
}
#[cfg(not(feature = "object"))]
use by_word as quotient;

/// `(upper, lower) / d`, for `upper < d`.
#[inline(always)]
fn by_word(upper: u64, lower: u64, d: u64) -> u64 {
    let shift = d.leading_zeros() & 63;
    let d = d << shift;
    let (upper, lower) = words(shift_left(join(upper, lower), shift as u128));
    let (first, rest) = digit(upper, lower >> 32, d);
    let (second, _) = digit(rest, lower as u32 as u64, d);
    (first << 32).wrapping_add(second)
}

/// `a / b`, rounded down. `b` is not zero.
#[inline(always)]
pub fn divide(a: u128, b: u128) -> u128 {
    let ((a1, a0), (b1, b0)) = (words(a), words(b));
    if b1 == 0 {
        if a1 == 0 {
            return (a0 / b0) as u128;
        }
        let first = a1 / b0;
        return join(first, quotient(a1 % b0, a0, b0));
    }
    // The quotient fits a word. By the first 64 bits of the divisor it is exact or one too large (H. S. Warren, Hacker's
    // Delight, 9-5).
    let shift = b1.leading_zeros() & 63;
    let (top, _) = words(shift_left(b, shift as u128));
    let (half1, half0) = words(shift_right(a, 1));
    let estimate = (quotient(half1, half0, top) >> (63 - shift)).saturating_sub(1);
    let rest = a.wrapping_sub(multiply(estimate as u128, b));
    if rest >= b { estimate as u128 + 1 } else { estimate as u128 }
}

/// The rest of `a / b`. `b` is not zero.
#[inline(always)]
pub fn remainder(a: u128, b: u128) -> u128 {
    a.wrapping_sub(multiply(divide(a, b), b))
}

/// The functions under the names that the build calls.
#[cfg(feature = "object")]
mod names {
    #[unsafe(no_mangle)]
    extern "C" fn ff_by_word_inline(upper: u64, lower: u64, d: u64) -> u64 {
        super::by_word(upper, lower, d)
    }
    #[unsafe(no_mangle)]
    fn ff_mul128(a: u128, b: u128) -> u128 {
        super::multiply(a, b)
    }
    #[unsafe(no_mangle)]
    fn ff_udiv128(a: u128, b: u128) -> u128 {
        super::divide(a, b)
    }
    #[unsafe(no_mangle)]
    fn ff_urem128(a: u128, b: u128) -> u128 {
        super::remainder(a, b)
    }
    #[unsafe(no_mangle)]
    fn ff_shl128(a: u128, by: u128) -> u128 {
        super::shift_left(a, by)
    }
    #[unsafe(no_mangle)]
    fn ff_lshr128(a: u128, by: u128) -> u128 {
        super::shift_right(a, by)
    }
    #[unsafe(no_mangle)]
    fn ff_over64(a: u64, b: u64) -> bool {
        super::overflows(a, b)
    }
    #[unsafe(no_mangle)]
    fn ff_over128(a: u128, b: u128) -> bool {
        super::overflows_wide(a, b)
    }

    /// # Safety
    /// `to` may be written for `bytes`, a multiple of eight.
    #[unsafe(no_mangle)]
    unsafe fn ff_memset(to: *mut u64, with: u8, bytes: u64) {
        let word = u64::from(with) * 0x0101_0101_0101_0101;
        for i in 0..bytes as usize / 8 {
            // SAFETY: by contract. Volatile, so that LLVM does not call memset.
            unsafe { to.add(i).write_volatile(word) }
        }
    }

    /// # Safety
    /// `from` may be read and `to` written for `bytes`, a multiple of eight.
    #[unsafe(no_mangle)]
    unsafe fn ff_memcpy(to: *mut u64, from: *const u64, bytes: u64) {
        for i in 0..bytes as usize / 8 {
            // SAFETY: by contract. Volatile, so that LLVM does not call memcpy.
            unsafe { to.add(i).write_volatile(from.add(i).read_volatile()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers of every length.
    fn number() -> impl Strategy<Value = u128> {
        (any::<u128>(), 0..128_u32).prop_map(|(n, by)| n >> by)
    }

    proptest! {
        #[test]
        fn the_results_are_those_of_the_machine(a in number(), b in number(), by in 0..128_u32) {
            prop_assert_eq!(multiply(a, b), a.wrapping_mul(b));
            prop_assert_eq!(overflows_wide(a, b), a.checked_mul(b).is_none());
            prop_assert_eq!(overflows(a as u64, b as u64), (a as u64).checked_mul(b as u64).is_none());
            prop_assert_eq!(shift_left(a, by.into()), a << by);
            prop_assert_eq!(shift_right(a, by.into()), a >> by);
            if b != 0 {
                prop_assert_eq!((divide(a, b), remainder(a, b)), (a / b, a % b));
            }
        }

        #[test]
        fn quotients_beside_a_whole_number_are_exact(q in number(), b in number(), less in 0..3_u128) {
            if b != 0 && let Some(a) = q.checked_mul(b) {
                let a = a.saturating_sub(less);
                prop_assert_eq!(divide(a, b), a / b);
            }
        }
    }
}
