//! The cubic curve: `W_cubic(t) = C (t - K)^3 + W_max` (RFC 9438 figure 1, RFC 8312 section 4.1).
//!
//! All arithmetic is in integers. Time on the curve counts in ticks of 1024 ns.

use firstflight_contract::{Nanos, cube_root, cube_shift, mul_shift};

/// A tick of 2^10 ns, so that a shift replaces a division.
const TICK_BITS: u32 = 10;
/// Longest distance from the plateau in ticks, 1100 s: its cube times any scale fits 127 bits.
const MAX_TICKS: u64 = (1 << 30) - 1;
/// The curve's scale is in 2^-77 bytes per cubic tick.
const SCALE_BITS: u32 = 77;
/// (1.024e-6 s)^3 in 2^-85: one cubic tick in cubic seconds.
const CUBIC_TICK: u64 = 41_538_375;
const CUBIC_TICK_BITS: u32 = 85;
/// Largest distance in bytes between W_max and the window that a K is computed for.
const MAX_RISE: u64 = 1 << 50;

/// `C` (in 2^-32) for segments of `mss` bytes, in 2^-77 bytes per cubic tick.
pub(crate) fn scale(c: u64, mss: u64) -> u64 {
    mul_shift(c * mss, CUBIC_TICK, 32 + CUBIC_TICK_BITS - SCALE_BITS).max(1)
}

/// RFC 9438 figure 2: `K`, the ticks in which the curve rises by `rise` bytes to its plateau.
pub(crate) fn k(rise: u64, scale: u64) -> u64 {
    cube_root(rise.min(MAX_RISE), SCALE_BITS, scale).min(MAX_TICKS)
}

/// RFC 9438 figure 1: `W_cubic(t)`, bytes; `k` in ticks.
#[inline]
pub(crate) fn w_cubic(t: Nanos, k: u64, w_max: u64, scale: u64) -> u64 {
    let t = t.0 >> TICK_BITS;
    let distance = t.abs_diff(k).min(MAX_TICKS);
    let change = cube_shift(distance as u32, scale, SCALE_BITS);
    if t >= k { w_max.saturating_add(change) } else { w_max.saturating_sub(change) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cubic_tick_is_its_own_definition() {
        // (1024e-9)^3 x 2^85 = 1.073741824e-18 x 3.868562622766813e25 = 41538375.02
        let exact = 1.024e-6f64.powi(3) * 2f64.powi(CUBIC_TICK_BITS as i32);
        assert!((exact - CUBIC_TICK as f64).abs() < 1.0, "{exact}");
    }
}
