//! Seconds as floating-point numbers, for estimates and reports; the contract crate has integers only.

use firstflight_contract::Nanos;

/// Conversion to seconds.
pub trait Seconds {
    /// Time in seconds, rounded to the nearest `f64`.
    #[expect(clippy::wrong_self_convention, reason = "times are small and copied, as in `Duration`")]
    fn as_secs_f64(self) -> f64;
}

impl Seconds for Nanos {
    fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}
