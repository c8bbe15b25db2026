//! Similarity of a captured connection and its re-run, from the times at which parts of the data were
//! delivered.

use firstflight_results::Series;

/// Number of parts of the transfer at whose ends the times are compared.
const PARTS: u32 = 8;

/// Mean relative difference of the times by which both had delivered the same parts of their common data,
/// plus the difference of their retransmission rates, which distinguishes senders that took equally long.
pub(super) fn distance(seen: &Series, ran: &Series, retransmits: [u64; 2], packets: u64) -> f64 {
    let parts = (1..=PARTS).map(|part| f64::from(part) / f64::from(PARTS));
    let departures = parts.map(|share| departure(seen, ran, share).unwrap_or(f64::INFINITY));
    let [seen_retransmits, ran_retransmits] = retransmits.map(|count| count as f64);
    departures.sum::<f64>() / f64::from(PARTS)
        + (seen_retransmits - ran_retransmits).abs() / packets.max(1) as f64
}

/// Ratio minus one of the times at which `share` of the common data had arrived; `None` if there is no common
/// data.
fn departure(seen: &Series, ran: &Series, share: f64) -> Option<f64> {
    let common = seen.delivered_bytes.last()?.min(*ran.delivered_bytes.last()?);
    let (seen, ran) = (reached(seen, share * common)?, reached(ran, share * common)?);
    (seen > 0.0 && ran > 0.0).then(|| (seen / ran).max(ran / seen) - 1.0)
}

/// Time at which `bytes` had been delivered.
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
    fn a_truncated_capture_is_compared_over_the_common_data() {
        let seen = delivers(&[0.1, 0.2]);
        let ran = delivers(&[0.1, 0.25, 7.0]);
        // 200 bytes: 0.25 s against 0.2 s. Half of them: both 0.1 s.
        assert!((departure(&seen, &ran, 1.0).expect("both delivered") - 0.25).abs() < 1e-12);
        assert_eq!(departure(&seen, &ran, 0.5), Some(0.0));
        assert_eq!(departure(&delivers(&[]), &ran, 1.0), None);
    }

    #[test]
    fn a_difference_in_between_counts_even_if_both_end_together() {
        let seen = delivers(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let late = delivers(&[1.0, 2.0, 3.0, 6.0, 6.0, 6.0, 7.0, 8.0]);
        // Of eight parts the fourth arrives at 6 s instead of 4 and the fifth at 6 instead of 5: (1/2 + 1/5)
        // / 8.
        assert!((distance(&seen, &late, [0, 0], 8) - 0.0875).abs() < 1e-12);
        // Two more of eight packets retransmitted: a quarter.
        assert!((distance(&seen, &late, [0, 2], 8) - 0.3375).abs() < 1e-12);
    }
}
