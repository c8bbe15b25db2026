//! How alike a captured connection and its re-run are: by when each had delivered so much.

use firstflight_results::Series;

/// Parts of the transfer at whose ends the two are held against each other.
const PARTS: u32 = 8;

/// The mean relative difference of the times by which each had delivered the same parts of what both delivered, and
/// that of the shares of packets sent again, which tells senders apart that took as long.
pub(super) fn distance(seen: &Series, ran: &Series, resent: [u64; 2], packets: u64) -> f64 {
    let parts = (1..=PARTS).map(|part| f64::from(part) / f64::from(PARTS));
    let departures = parts.map(|share| departure(seen, ran, share).unwrap_or(f64::INFINITY));
    let [seen_again, ran_again] = resent.map(|count| count as f64);
    departures.sum::<f64>() / f64::from(PARTS) + (seen_again - ran_again).abs() / packets.max(1) as f64
}

/// By what factor, less one, the times differ by which a share of what both delivered had arrived; `None` where
/// nothing did.
pub(super) fn departure(seen: &Series, ran: &Series, share: f64) -> Option<f64> {
    let common = seen.delivered_bytes.last()?.min(*ran.delivered_bytes.last()?);
    let (seen, ran) = (reached(seen, share * common)?, reached(ran, share * common)?);
    (seen > 0.0 && ran > 0.0).then(|| (seen / ran).max(ran / seen) - 1.0)
}

/// When so many bytes had been delivered.
fn reached(series: &Series, bytes: f64) -> Option<f64> {
    let index = series.delivered_bytes.partition_point(|&delivered| delivered < bytes);
    series.time_s.get(index).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delivers 100 bytes at each of these times.
    fn delivers(times: &[f64]) -> Series {
        let delivered_bytes = (1..=times.len()).map(|n| 100.0 * n as f64).collect();
        Series { time_s: times.to_vec(), delivered_bytes, ..Series::default() }
    }

    #[test]
    fn of_a_capture_that_breaks_off_what_both_delivered_is_compared() {
        let seen = delivers(&[0.1, 0.2]);
        let ran = delivers(&[0.1, 0.25, 7.0]);
        // 200 bytes: 0.25 s against 0.2 s. Half of them: both 0.1 s.
        assert!((departure(&seen, &ran, 1.0).expect("both delivered") - 0.25).abs() < 1e-12);
        assert_eq!(departure(&seen, &ran, 0.5), Some(0.0));
        assert_eq!(departure(&delivers(&[]), &ran, 1.0), None);
    }

    #[test]
    fn a_detour_on_the_way_counts_although_both_end_together() {
        let seen = delivers(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let late = delivers(&[1.0, 2.0, 3.0, 6.0, 6.0, 6.0, 7.0, 8.0]);
        // Of eight parts the fourth comes at 6 s instead of 4 and the fifth at 6 instead of 5: (1/2 + 1/5) / 8.
        assert!((distance(&seen, &late, [0, 0], 8) - 0.0875).abs() < 1e-12);
        // Two of eight packets sent again more: a quarter.
        assert!((distance(&seen, &late, [0, 2], 8) - 0.3375).abs() < 1e-12);
    }
}
