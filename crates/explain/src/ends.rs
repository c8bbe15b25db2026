//! End of slow start without a sign of loss or delay: the sign of a slow-start threshold.
//!
//! The statistics of a whole transfer hardly differ between a sender that stops growing at once, at a threshold, and one that grows more
//! slowly from some window on, as long as both have the same flight when the first packet is lost.

use firstflight_capture::SlowStartEnd;

/// Standard deviation that hosts give the window and the data before it, in the logarithm, and the packets that they change besides.
const WINDOW: f64 = 0.02;
const DATA: f64 = 0.05;
const PACKETS: f64 = 1.0;

/// Standard deviations between a sender whose slow start ended and one whose slow start did not.
const NONE: f64 = 6.0;

/// Degrees of freedom, as of all statistics.
const FREEDOM: f64 = 4.0;

/// Logarithm of the density of the captured end around that of a run, up to a constant.
pub(super) fn density(seen: &SlowStartEnd, ran: Option<&SlowStartEnd>) -> f64 {
    let square = ran.map_or(NONE * NONE, |ran| {
        let apart = |a: f64, b: f64, deviation: f64| libm::log(a / b) / deviation;
        let packets = seen.packets.max(1) as f64;
        let window = apart(ran.packets.max(1) as f64, packets, WINDOW + PACKETS / packets);
        let data = |end: &SlowStartEnd| end.delivered_bytes.max(1) as f64;
        let data = apart(data(ran), data(seen), DATA + PACKETS / packets);
        (window * window + data * data).min(NONE * NONE)
    });
    -0.5 * (FREEDOM + 2.0) * libm::log(1.0 + square / FREEDOM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_differs_by_more_than_hosts_cause_is_unlikely_and_none_is_the_least_likely() {
        let end = |packets, delivered_bytes| SlowStartEnd { packets, delivered_bytes };
        let seen = end(100, 1_000_000);
        assert!(density(&seen, Some(&seen)).abs() < 1e-12);
        // ln(103 / 100) = 0.02956 over 0.02 + 0.01: 0.9853 standard deviations; -3 ln(1 + 0.9709 / 4) = -0.6515.
        assert!((density(&seen, Some(&end(103, 1_000_000))) + 0.6515).abs() < 1e-3);
        // Six standard deviations: -3 ln(1 + 36 / 4) = -6.9078.
        assert!((density(&seen, None) + 6.9078).abs() < 1e-3);
        assert!((density(&seen, Some(&end(1000, 1_000_000))) + 6.9078).abs() < 1e-3);
    }
}
