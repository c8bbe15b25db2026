//! Round trip of the first data packet against that of the handshake, the only sign in a capture without loss of which
//! direction is slow.
//!
//! A slow forward path delays a full packet and not a SYN; a slow return path delays both answers alike. Simulated
//! connections begin after the handshake, so that the difference is calculated.

use firstflight_capture::FirstRoundTrip;

use super::anchors::Anchors;
use super::kinds::{Opening, PathKind};

/// Standard deviation that two hosts give the difference, seconds: they answer a SYN and data by different code. On an
/// idle host the first answers were 0.1 ms earlier than calculated, give or take 0.1 ms (`docs/captures.md`); busier hosts
/// are later.
const HOSTS: f64 = 300e-6;

/// Degrees of freedom of the difference, as of all statistics: a host that was busy for once does not decide.
const FREEDOM: f64 = 4.0;

/// Logarithm of the density of the difference, up to a constant, on a path of this kind and these values.
pub(super) fn density(seen: &FirstRoundTrip, kind: PathKind, values: &[f64], anchors: &Anchors) -> f64 {
    let (mean, deviation) = expected(seen, kind, values, anchors);
    let deviation = libm::sqrt(HOSTS * HOSTS + deviation * deviation);
    let apart = (seen.longer_by - mean) / deviation;
    -0.5 * (FREEDOM + 1.0) * libm::log(1.0 + apart * apart / FREEDOM) - libm::log(deviation / HOSTS)
}

fn expected(seen: &FirstRoundTrip, kind: PathKind, values: &[f64], anchors: &Anchors) -> (f64, f64) {
    kind.model().first_round_trip(values, &Opening { seen, anchors })
}

#[cfg(test)]
mod tests {
    use firstflight_capture::summary::{STATISTICS, Summary};

    use super::*;

    #[test]
    fn a_packet_takes_longer_than_a_syn_on_the_slow_direction_only() {
        let anchors = Anchors::of_summary(&Summary([0.0; STATISTICS]), 1e6, None);
        let seen = |longer_by| FirstRoundTrip { longer_by, packets: 1, syn_bytes: 60.0 };
        // Forward 1440 bytes at 10 Mbit/s: 1.152 ms; back 52 - 60 bytes at the same rate: -0.0064 ms.
        let slow = [10e6, 0.05, 100.0];
        let (mean, deviation) = expected(&seen(0.0), PathKind::DropTail, &slow, &anchors);
        assert!((mean - 1.1456e-3).abs() < 1e-9 && deviation == 0.0, "{mean} {deviation}");
        // Forward 0.1152 ms at 100 Mbit/s; back -8 bytes at 0.32 Mbit/s: -0.2 ms.
        let slow_return = [100e6, 0.05, 0.32e6, 100.0];
        let (mean, _) = expected(&seen(0.0), PathKind::LimitedReturn, &slow_return, &anchors);
        assert!((mean + 0.0848e-3).abs() < 1e-9, "{mean}");
        // One standard deviation, 0.3 ms, from the mean: -2.5 ln(1 + 1 / 4) = -0.5579.
        let away = density(&seen(1.4456e-3), PathKind::DropTail, &slow, &anchors);
        assert!((away + 0.5579).abs() < 1e-4, "{away}");
        // Aggregates every 6 ms add 6 / 2.449 = 2.449 ms: ln(2.468 / 0.3) = 2.107 less at the mean.
        let waits = density(&seen(0.0), PathKind::Aggregating, &[10e6, 0.05, 6e-3, 100.0], &anchors);
        assert!((waits + 2.107).abs() < 1e-3, "{waits}");
    }
}
