//! Lateness of the emulator, and the gate that decides whether a run counts.

use firstflight_quantile::type_1;
use firstflight_results::Validity;

/// Width of a class, nanoseconds.
const CLASS: u64 = 1_000;
/// Classes up to the limit of the largest lateness; later packets share the last.
const CLASSES: usize = 10_001;
/// Largest lateness that 99 % of the packets may have, nanoseconds.
const MOST_P99: u64 = 500_000;
/// Largest lateness that any packet may have, nanoseconds.
const MOST: u64 = 10_000_000;
/// Largest share of a core that the emulator's thread may use.
const MOST_SHARE: f64 = 0.7;

/// Counts of packets by their lateness.
#[derive(Clone, Debug)]
pub(crate) struct Lateness {
    classes: Vec<u64>,
    packets: u64,
    most: u64,
}

impl Lateness {
    pub(crate) fn new() -> Self {
        Self { classes: vec![0; CLASSES], packets: 0, most: 0 }
    }

    /// A packet was handed over this late, nanoseconds.
    pub(crate) fn note(&mut self, late: u64) {
        self.classes[(late.div_ceil(CLASS) as usize).min(CLASSES - 1)] += 1;
        self.packets += 1;
        self.most = self.most.max(late);
    }

    /// Quantile `part` of the lateness by type 1 of Hyndman and Fan, nanoseconds: the upper end of its class, at most the largest
    /// lateness.
    fn quantile(&self, part: f64) -> u64 {
        let classes = self.classes.iter().enumerate().map(|(class, &count)| (class, count as f64));
        let class = type_1(classes, part);
        (class.unwrap_or(0) as u64 * CLASS).min(self.most)
    }

    /// The lateness with the share of a core that the thread used.
    pub(crate) fn validity(&self, core_share: f64) -> Validity {
        let ms = |ns: u64| ns as f64 / 1e6;
        Validity {
            lateness_p50_ms: ms(self.quantile(0.5)),
            lateness_p99_ms: ms(self.quantile(0.99)),
            lateness_max_ms: ms(self.most),
            core_share: core_share.min(1.0),
            packets: self.packets,
            attempts: 1,
        }
    }
}

/// Reason why a run with this validity does not count; `None` if it does.
pub(crate) fn invalid(validity: &Validity) -> Option<String> {
    let Validity { lateness_p99_ms, lateness_max_ms, core_share, .. } = *validity;
    let ms = |ns: u64| ns as f64 / 1e6;
    if lateness_max_ms > ms(MOST) {
        let most = ms(MOST);
        return Some(format!("a packet was {lateness_max_ms:.1} ms late, and {most} ms are allowed"));
    }
    if lateness_p99_ms > ms(MOST_P99) {
        let most = ms(MOST_P99);
        return Some(format!(
            "1 % of the packets were more than {lateness_p99_ms:.2} ms late, and {most} ms are allowed"
        ));
    }
    if core_share > MOST_SHARE {
        let (used, most) = (core_share * 100.0, MOST_SHARE * 100.0);
        return Some(format!("the emulator used {used:.0} % of a core, and {most:.0} % are allowed"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_packets() {
        let mut lateness = Lateness::new();
        // 1 to 1000 microseconds, each less one nanosecond.
        (1..=1000).for_each(|us: u64| lateness.note(us * 1000 - 1));
        let validity = lateness.validity(0.25);
        assert_eq!((validity.lateness_p50_ms, validity.lateness_p99_ms), (0.5, 0.99));
        assert_eq!(
            (validity.lateness_max_ms, validity.core_share, validity.packets),
            (0.999_999, 0.25, 1000)
        );
    }

    #[test]
    fn a_run_counts_up_to_each_limit_and_not_beyond() {
        let valid = |lates: &[(u64, usize)], share: f64| {
            let mut lateness = Lateness::new();
            lates.iter().for_each(|&(late, times)| (0..times).for_each(|_| lateness.note(late)));
            invalid(&lateness.validity(share))
        };
        assert_eq!(valid(&[], 0.0), None);
        assert_eq!(valid(&[(500_000, 1000), (10_000_000, 1)], 0.7), None);
        assert_eq!(valid(&[(100, 99), (9_000_000, 1)], 0.1), None);
        let late = valid(&[(100, 1000), (10_000_001, 1)], 0.1).expect("too late");
        assert!(late.contains("10.0 ms late"), "{late}");
        let often = valid(&[(100, 980), (501_000, 20)], 0.1).expect("too often late");
        assert!(often.starts_with("1 % of the packets"), "{often}");
        let busy = valid(&[(100, 1000)], 0.71).expect("too busy");
        assert!(busy.contains("71 % of a core"), "{busy}");
    }
}
