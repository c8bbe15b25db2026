//! Min-max decimation: fewer samples that draw the same picture.
//!
//! Time is divided into equal slots. In each slot, every column keeps the samples with its smallest and its largest
//! value. With one slot per pixel the drawn line does not change. Spikes remain, such as a queue that fills for a
//! millisecond; averaging would hide them. All columns use the same set of kept samples.

use firstflight_results::Series;

/// Indices of the samples to keep, ascending. Kept are the first and the last sample, and the extremes of every column in
/// each of `slots` equal slots of time. The neighbours of each of `instants` (seconds) are kept, too, so that an event is
/// drawn with the values before and after it.
pub(crate) fn kept(series: &Series, slots: usize, instants: &[f64]) -> Vec<usize> {
    let time = &series.time_s;
    let (Some(&begin), Some(&end)) = (time.first(), time.last()) else { return Vec::new() };
    let mut kept = vec![0, time.len() - 1];
    let columns = columns(series);
    let mut from = 0;
    for slot in 1..=slots {
        let until = begin + (end - begin) * slot as f64 / slots as f64;
        let to = if slot == slots { time.len() } else { from + time[from..].partition_point(|&t| t < until) };
        for column in &columns {
            kept.extend(extremes(&column[from..to]).into_iter().flatten().map(|i| from + i));
        }
        from = to;
    }
    for &instant in instants {
        let after = time.partition_point(|&t| t <= instant);
        kept.extend([after.saturating_sub(1), after.min(time.len() - 1)]);
    }
    kept.sort_unstable();
    kept.dedup();
    kept
}

/// Columns with values; a column that is not known is empty and left out.
fn columns(series: &Series) -> Vec<&[f64]> {
    [&series.cwnd_packets, &series.in_flight_packets, &series.queue_packets, &series.delivered_bytes]
        .into_iter()
        .filter(|c| !c.is_empty())
        .map(Vec::as_slice)
        .collect()
}

/// Indices of the first smallest and the first largest value.
fn extremes(values: &[f64]) -> Option<[usize; 2]> {
    let mut found = [0, 0];
    for (i, v) in values.iter().enumerate() {
        if *v < values[found[0]] {
            found[0] = i;
        }
        if *v > values[found[1]] {
            found[1] = i;
        }
    }
    (!values.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A series with unequal steps, a repeated time now and then, and two columns.
    fn any_series() -> impl Strategy<Value = Series> {
        prop::collection::vec((0.0..0.1_f64, 0.0..1000.0_f64, 0..50_u32), 1..400).prop_map(|rows| {
            let mut series = Series::default();
            let mut now = 0.0;
            for (step, cwnd, queue) in rows {
                now += if step < 0.01 { 0.0 } else { step };
                series.time_s.push(now);
                series.cwnd_packets.push(cwnd);
                series.queue_packets.push(f64::from(queue));
            }
            series
        })
    }

    proptest! {
        #[test]
        fn kept_samples_ascend_and_span_the_series(series in any_series(), slots in 1..60_usize) {
            let kept = kept(&series, slots, &[]);
            prop_assert!(kept.windows(2).all(|w| w[0] < w[1]));
            prop_assert_eq!(kept[0], 0);
            prop_assert_eq!(kept[kept.len() - 1], series.time_s.len() - 1);
            prop_assert!(kept.len() <= 2 + slots * 2 * 2, "two columns, two extremes each: {}", kept.len());
        }

        #[test]
        fn every_slot_keeps_the_extremes_of_every_column(series in any_series(), slots in 1..60_usize) {
            let kept = kept(&series, slots, &[]);
            let end = series.time_s[series.time_s.len() - 1];
            let slot_of = |i: usize| {
                let begin = series.time_s[0];
                let ends = |slot: usize| begin + (end - begin) * slot as f64 / slots as f64;
                (1..slots).find(|&slot| series.time_s[i] < ends(slot)).unwrap_or(slots)
            };
            for column in [&series.cwnd_packets, &series.queue_packets] {
                for i in 0..column.len() {
                    let peers = || kept.iter().filter(|&&k| slot_of(k) == slot_of(i));
                    prop_assert!(peers().any(|&k| column[k] <= column[i]), "nothing as small as sample {i}");
                    prop_assert!(peers().any(|&k| column[k] >= column[i]), "nothing as large as sample {i}");
                }
            }
        }

        #[test]
        fn samples_before_and_after_an_instant_are_kept(
            series in any_series(),
            slots in 1..10_usize,
            instants in prop::collection::vec(-1.0..50.0_f64, 0..20),
        ) {
            let kept = kept(&series, slots, &instants);
            for instant in instants {
                let before = series.time_s.iter().rposition(|&t| t <= instant);
                let after = series.time_s.iter().position(|&t| t > instant);
                prop_assert!(before.is_none_or(|i| kept.contains(&i)));
                prop_assert!(after.is_none_or(|i| kept.contains(&i)));
            }
        }
    }

    #[test]
    fn an_empty_series_has_no_kept_samples() {
        assert!(kept(&Series::default(), 10, &[1.0]).is_empty());
    }

    #[test]
    fn a_spike_of_one_sample_is_kept() {
        let mut series = Series { time_s: (0..10_000).map(f64::from).collect(), ..Series::default() };
        series.queue_packets = vec![0.0; 10_000];
        series.queue_packets[4321] = 9.0;
        assert!(kept(&series, 5, &[]).contains(&4321));
    }
}
