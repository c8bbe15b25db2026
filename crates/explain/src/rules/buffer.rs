//! A full buffer drops every packet, any other none.

use super::{Judged, Losses, Queued};
use crate::range::Range;

impl Queued {
    /// Evidence for a buffer.
    pub(crate) fn buffer(&self, buffer: &Range, losses: &Losses) -> Judged {
        let tried = self.buffers(buffer).into_iter().map(|(length, weight)| {
            let fates = self.fates(|| |packet: &super::queued::Packet| self.full(packet.found - length));
            let logs = losses.weigh(&fates).into_iter().map(|log| log + weight).collect();
            (vec![length], logs)
        });
        Judged::of(tried.collect(), losses)
    }

    /// Lengths of the buffer over which to integrate, and the logarithm of the prior of each: log-uniform, and finer where the
    /// likelihood has its peak.
    fn buffers(&self, range: &Range) -> Vec<(f64, f64)> {
        const COARSE: usize = 96;
        let at = |place: usize| range.at(place as f64 / COARSE as f64);
        let mut lengths: Vec<f64> = (0..=COARSE).map(at).collect();
        // The longest queue that was accepted, and the shortest that dropped most of what was dropped.
        let mut full: Vec<f64> =
            self.packets().filter(|packet| packet.lost).map(|packet| packet.found).collect();
        full.sort_by(f64::total_cmp);
        let of_lost = [full.len() / 10, full.len() / 2].into_iter().filter_map(|place| full.get(place));
        for peak in of_lost.copied().chain([self.longest()]) {
            lengths.extend((-40..=40).map(|step| peak + 0.1 * f64::from(step)));
            lengths.extend((-10..=10).map(|step| peak + f64::from(step)));
        }
        lengths.retain(|length| (range.at(0.0)..=range.at(1.0)).contains(length));
        lengths.sort_by(f64::total_cmp);
        lengths.dedup_by(|a, b| *a - *b < 0.02);
        weighed(&lengths, range.span())
    }
}

/// Values of a log-uniform parameter at even distances, with the logarithm of the weight of each.
pub(super) fn trapezoid(range: &Range, count: usize) -> Vec<(f64, f64)> {
    let values: Vec<f64> = (0..count).map(|index| range.at(index as f64 / (count - 1) as f64)).collect();
    weighed(&values, range.span())
}

/// Sorted values with the logarithms of their weights under a log-uniform density over this span.
fn weighed(values: &[f64], span: f64) -> Vec<(f64, f64)> {
    let log = |index: usize| libm::log(values[index]);
    let last = values.len() - 1;
    // A value that is given.
    if span < 0.01 {
        return vec![(values[0], 0.0)];
    }
    let weight = |index: usize| {
        let width = log((index + 1).min(last)) - log(index.saturating_sub(1));
        libm::log((width / 2.0 / span).max(1e-12))
    };
    (0..values.len()).map(|index| (values[index], weight(index))).collect()
}

#[cfg(test)]
mod tests {
    use firstflight_capture::Offered;

    use super::*;

    #[test]
    fn an_overflow_is_a_full_buffer_and_a_loss_from_a_short_queue_is_random() {
        // Every tenth packet finds 20 packets, or 3, and is dropped; the others find up to 18.
        let judged = |lost_at: f64, given: Option<f64>| {
            let offered = |index: i32| {
                let (waited, passed) = match index % 10 {
                    9 => (lost_at, false),
                    rest => (2.0 * f64::from(rest) + 2.0, true),
                };
                Offered { at: 0.05 * f64::from(index), bytes: 1448.0, passed, waited: Some(waited * 1e-3) }
            };
            let seen: Vec<Offered> = (0..200).map(offered).collect();
            let queued = Queued::new(&[&seen], 1e-3);
            queued.buffer(&Range::new(2.0, 200.0), &Losses::new(queued.lost(), true, given))
        };
        let random = |judged: &Judged| -> f64 {
            judged.rules.iter().filter(|one| one.loss.is_some()).map(|one| one.weight).sum()
        };
        let full = judged(20.0, None);
        assert!(random(&full) < 0.5, "{}", random(&full));
        // The buffer holds 18 packets and not 20.
        let middle: f64 = full.rules.iter().map(|one| one.weight * one.values[0]).sum();
        assert!((18.0..20.0).contains(&middle), "{middle}");
        let short = judged(3.0, None);
        assert!(random(&short) > 0.999, "{}", random(&short));
        // Without random loss each of twenty losses costs a millionth.
        assert!(short.evidence > judged(3.0, Some(0.0)).evidence + 20.0);
    }
}
