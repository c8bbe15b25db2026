//! Round trip of the first data packet against that of the handshake, the only sign in a capture without loss of which
//! direction is slow.
//!
//! A slow forward path delays a full packet and not a SYN; a slow return path delays both answers alike. Simulated
//! connections begin after the handshake, so that the difference is calculated.

use firstflight_capture::FirstRoundTrip;

use super::anchors::Anchors;
use super::kind::Kind;

/// Standard deviation that two hosts give the difference, seconds: they answer a SYN and data by different code. On an
/// idle host the first answers were 0.1 ms earlier than calculated, give or take 0.1 ms (`docs/captures.md`); busier hosts
/// are later.
const HOSTS: f64 = 300e-6;

/// Degrees of freedom of the difference, as of all statistics: a host that was busy for once does not decide.
const FREEDOM: f64 = 4.0;

/// Logarithm of the density of the difference, up to a constant, on a path of this kind and these values.
pub(super) fn density(seen: &FirstRoundTrip, kind: Kind, values: &[f64], anchors: &Anchors) -> f64 {
    let (mean, deviation) = expected(seen, kind, values, anchors);
    let deviation = libm::sqrt(HOSTS * HOSTS + deviation * deviation);
    let apart = (seen.longer_by - mean) / deviation;
    -0.5 * (FREEDOM + 1.0) * libm::log(1.0 + apart * apart / FREEDOM) - libm::log(deviation / HOSTS)
}

/// Mean and standard deviation of the difference without its hosts, seconds.
fn expected(seen: &FirstRoundTrip, kind: Kind, values: &[f64], anchors: &Anchors) -> (f64, f64) {
    let syn = 8.0 * seen.syn_bytes;
    let packets = f64::from(seen.packets) * anchors.packet;
    let forward = (packets - syn) / values[0];
    let same = (anchors.ack - syn) / values[0];
    // Two times that are uniform in a span differ by a standard deviation of the span over the root of six.
    let uniform = |span: f64| span / libm::sqrt(6.0);
    match kind {
        Kind::LimitedReturn => (forward + (anchors.ack - syn) / values[3], 0.0),
        // Each waits for the next aggregate.
        Kind::Aggregating => (0.0, uniform(values[3])),
        // Each waits for the next block; their gaps are exponential.
        Kind::VaryingRate => (0.0, core::f64::consts::SQRT_2 * values[6] * anchors.packet / values[0]),
        // Each waits behind the packets of others.
        Kind::OtherTraffic => (forward + same, uniform(values[2] * anchors.packet / values[0])),
        _ => (forward + same, 0.0),
    }
}
