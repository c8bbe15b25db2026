//! Seconds as a floating-point number, for estimates and reports. The contract has integers only.

use firstflight_contract::Nanos;

/// Conversion to seconds.
#[expect(clippy::wrong_self_convention, reason = "as of `core::time::Duration`, for a type that is copied")]
pub trait Seconds {
    /// The time in seconds, rounded to the nearest `f64`.
    fn as_secs_f64(self) -> f64;
}

impl Seconds for Nanos {
    fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}
