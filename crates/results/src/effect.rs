//! The object of `firstflight effect --json`.

use crate::object::object;
use crate::values::Ci95;

object! {
    /// Effect of a change: the connections of a server after it beside those before it.
    pub struct Effect = "effect" {
        /// Quantities that differ: their two intervals have no value in common.
        changed: Vec<Change> => nested,
        /// The other quantities.
        unchanged: Vec<Change> => nested,
        /// Times by size of the transfers, ascending.
        sizes: Vec<EffectAtSize> => nested,
        /// `sooner` or `later` if the whole interval of `gain` is; otherwise `no difference shown`, as for paths that differ.
        verdict: String,
        /// Share by which transfers end sooner after the change, as the geometric mean of their times, in which each size counts as often as
        /// it was transferred: 0.23 for 23 %, negative if later. Null without a size that both captures have often enough.
        gain: Option<f64> [""; Any],
        /// 95 % interval of `gain`.
        gain_ci95: Option<Ci95> [""; Any] => nested,
        /// Connections on each side that would show a difference of 2 % in four of five cases; null if a difference is shown, or without
        /// an interval.
        connections_needed: Option<u64>,
        /// Whether the paths differ: then no difference of the times is an effect of the change.
        paths_differ: bool,
        /// Reason why there is no forecast: a sentence without its full stop; null if there is one.
        no_forecast: Option<String>,
        /// The captures before and after the change.
        before: EffectSide => nested,
        /// The same after it.
        after: EffectSide => nested,
        /// Facts that limit the trust in the numbers, most important first.
        warnings: Vec<String> => nested,
        /// Seed of the resamples and of the forecast.
        seed: u64,
    }
}

object! {
    /// Quantity before and after a change.
    pub struct Change = "change" {
        /// Quantity: `first flight` (initial window, median of the connections that show it), `paced first flights` (their share),
        /// `round trip` (median of the shortest ones), `retransmitted` (share of the data packets).
        what: String,
        /// Unit: `packets`, `ms`, or empty for a share.
        unit: String,
        /// Value before.
        before: f64,
        /// 95 % interval of `before`.
        before_ci95: Ci95 => each("before_ci95_low", "before_ci95_high"),
        /// Value after.
        after: f64,
        /// 95 % interval of `after`.
        after_ci95: Ci95 => each("after_ci95_low", "after_ci95_high"),
    }
}

object! {
    /// Times of transfers of similar size before and after a change.
    pub struct EffectAtSize = "effect at one size" {
        /// Geometric mean of the sizes of the transfers, whose largest is less than ten times the smallest.
        size_bytes: u64 ["bytes"],
        /// Transfers before.
        transfers_before: u64,
        /// Transfers after.
        transfers_after: u64,
        /// Time of a transfer of this size before: a geometric mean.
        before_s: f64 ["s"],
        /// Time of a transfer of this size after.
        after_s: f64 ["s"],
        /// Share by which it ends sooner after the change; negative if later.
        gain: f64 [""; Any],
        /// 95 % interval of `gain`; null with fewer than eight connections on a side.
        gain_ci95: Option<Ci95> [""; Any] => nested,
        /// The gain that `compare` forecasts from the capture before, for the first flight seen after; null without a forecast.
        forecast: Option<f64> [""; Any],
    }
}

object! {
    /// One side of a change.
    pub struct EffectSide = "side" {
        /// Name of the capture.
        name: String,
        /// Connections that carried data.
        connections: u64,
        /// Transfers whose times count.
        transfers: u64,
        /// Transfers that do not count because they are small: less than seven packets, which every usual initial window holds.
        small: u64,
        /// Transfers that do not count because their sender had nothing to send for a twentieth of their time or more.
        application_limited: u64,
    }
}
