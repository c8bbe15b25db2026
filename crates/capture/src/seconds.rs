//! Seconds as floating-point numbers, for estimates and reports; the contract crate has integers only.

use firstflight_contract::Nanos;
use serde::{Serialize as _, Serializer};

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

pub(crate) fn one<S: Serializer>(at: &Nanos, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(at.as_secs_f64())
}

pub(crate) fn maybe<S: Serializer>(at: &Option<Nanos>, to: S) -> Result<S::Ok, S::Error> {
    at.map(Seconds::as_secs_f64).serialize(to)
}

pub(crate) fn maybe_span<S: Serializer>(span: &Option<(Nanos, Nanos)>, to: S) -> Result<S::Ok, S::Error> {
    span.map(|(low, high)| (low.as_secs_f64(), high.as_secs_f64())).serialize(to)
}
