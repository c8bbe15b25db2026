//! Weights of the sizes of a comparison: the share of each in what a capture transferred.

use std::collections::BTreeMap;

use firstflight_capture::Capture;

/// Factor within which a transfer counts at a size: half a decade to either side, so that sizes a decade apart share no transfer.
pub(crate) fn near() -> f64 {
    10_f64.sqrt()
}

/// Weights of the sizes of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Weights {
    /// Share of each size; empty if all count alike.
    pub(crate) of: BTreeMap<u64, f64>,
    /// Share of the captured transfers that no size stands for; `None` without captured transfers.
    pub(crate) uncounted: Option<f64>,
}

impl Weights {
    /// Weights by the transfers of a capture: each counts at the nearest of `sizes`. All sizes count alike if none is near one.
    pub(crate) fn of_capture(capture: &Capture, sizes: &[u64]) -> Self {
        let classes = capture.groups.iter().flat_map(|group| group.transfers().classes());
        Self::of_transfers(classes.map(|class| (class.bytes as f64 / class.count as f64, class.count)), sizes)
    }

    /// Weights by transfers: their mean size, bytes, and their number.
    fn of_transfers(transfers: impl Iterator<Item = (f64, u64)>, sizes: &[u64]) -> Self {
        let mut of: BTreeMap<u64, f64> = sizes.iter().map(|&size| (size, 0.0)).collect();
        let (mut all, mut counted) = (0.0, 0.0);
        for (mean, count) in transfers {
            let distance = |size: u64| (size as f64 / mean).max(mean / size as f64);
            all += count as f64;
            let nearest = sizes.iter().copied().min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
            if let Some(size) = nearest.filter(|&size| distance(size) <= near()) {
                *of.entry(size).or_default() += count as f64;
                counted += count as f64;
            }
        }
        if counted == 0.0 {
            return Self { of: BTreeMap::new(), uncounted: (all > 0.0).then_some(1.0) };
        }
        of.values_mut().for_each(|weight| *weight /= counted);
        Self { of, uncounted: Some(1.0 - counted / all) }
    }

    /// Weight of one of `sizes`; those of all add up to one.
    pub(crate) fn share(&self, size: u64, sizes: &[u64]) -> f64 {
        self.of.get(&size).copied().unwrap_or(1.0 / sizes.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_counts_at_the_nearest_size_within_half_a_decade() {
        let sizes = [30_000, 300_000, 3_000_000];
        // Two of 20 KB, one of 100 KB (factor 3.3 of 30 KB, 3 of 300 KB), one of 1 MB (3.3 and 3), six of 1 KB (30 times).
        let transfers = [(20_000.0, 2), (100_000.0, 1), (1_000_000.0, 1), (1000.0, 6)];
        let weights = Weights::of_transfers(transfers.into_iter(), &sizes);
        assert_eq!(weights.of, BTreeMap::from([(30_000, 0.5), (300_000, 0.25), (3_000_000, 0.25)]));
        assert!((weights.uncounted.expect("transfers") - 0.6).abs() < 1e-12);
        // Without a transfer near a size all count alike.
        let small = Weights::of_transfers([(1000.0, 6)].into_iter(), &sizes);
        assert_eq!((small.of.len(), small.uncounted), (0, Some(1.0)));
        assert_eq!(small.share(30_000, &sizes), 1.0 / 3.0);
    }
}
