//! Schemes that the sender of a capture may have run. Packets do not name them.

use firstflight_net::random::Stream;
use firstflight_scenario::SchemeSpec;

use super::MOST;
use super::weights::drawn;

/// Schemes with their probabilities before the capture is seen, the most common first. Linux's default, and the two other
/// controls that its distributions ship, are far more common than the rest (A. Mishra et al., "The Great Internet TCP
/// Congestion Control Census", SIGMETRICS 2019); the shares are round numbers.
const SENDERS: [(&str, f64); 6] = [
    ("hystart-linux+cubic", 0.35),
    ("bbr", 0.3),
    ("slow-start+reno", 0.2),
    ("slow-start+cubic", 0.05),
    ("hystart+++cubic", 0.05),
    ("hystart+++reno", 0.05),
];

/// The schemes with their probabilities, which add up to one.
pub(super) fn senders() -> Vec<(SchemeSpec, f64)> {
    let parsed = SENDERS.iter().map(|(label, share)| (SchemeSpec::parse(label), *share));
    parsed.map(|(scheme, share)| (scheme.expect("a scheme of the registry"), share)).collect()
}

/// Scheme of the sender of each target, as an index; those beyond the targets are zero.
pub(super) type Schemes = [usize; MOST];

/// Probability that all senders run the same scheme for a reason: they are one host with one setting. Otherwise each runs its
/// own, which may be the same by chance. Packets show the schemes so clearly that any share far from zero and one will do.
const ONE_SETTING: f64 = 0.5;

/// Probability that a moved candidate draws the scheme of a sender anew.
const OTHER_SCHEME: f64 = 0.1;

/// Senders of several connections.
#[derive(Clone, Copy)]
pub(super) struct Senders<'a> {
    /// Schemes with their probabilities.
    pub(super) schemes: &'a [(SchemeSpec, f64)],
    /// Number of connections.
    pub(super) count: usize,
}

impl Senders<'_> {
    /// Schemes, drawn with their probability.
    pub(super) fn drawn(&self, stream: &mut Stream) -> Schemes {
        let mut schemes = [0; MOST];
        if self.count > 1 && stream.unit() >= ONE_SETTING {
            schemes[..self.count].fill_with(|| self.one(stream));
        } else {
            schemes[..self.count].fill(self.one(stream));
        }
        schemes
    }

    /// Probability of these schemes before the captures are seen.
    fn prior(&self, schemes: &Schemes) -> f64 {
        let share = |scheme: &usize| self.schemes[*scheme].1;
        let each = schemes[..self.count].iter().map(share).product::<f64>();
        if self.count == 1 {
            return each;
        }
        let same = schemes[..self.count].iter().all(|scheme| *scheme == schemes[0]);
        let one = if same { share(&schemes[0]) } else { 0.0 };
        ONE_SETTING * one + (1.0 - ONE_SETTING) * each
    }

    /// The schemes of a moved candidate.
    pub(super) fn moved(&self, from: &Schemes, stream: &mut Stream) -> Schemes {
        let mut schemes = *from;
        for scheme in &mut schemes[..self.count] {
            if stream.unit() < OTHER_SCHEME {
                *scheme = self.one(stream);
            }
        }
        schemes
    }

    /// Probability with which [`Senders::moved`] comes to schemes, over their prior.
    pub(super) fn proposed(&self, from: &Schemes, to: &Schemes) -> f64 {
        let each = from[..self.count].iter().zip(to).map(|(from, to)| {
            let kept = if from == to { 1.0 - OTHER_SCHEME } else { 0.0 };
            kept + OTHER_SCHEME * self.schemes[*to].1
        });
        each.product::<f64>() / self.prior(to)
    }

    fn one(&self, stream: &mut Stream) -> usize {
        let weights: Vec<f64> = self.schemes.iter().map(|(_, weight)| *weight).collect();
        drawn(&weights, stream.unit() * weights.iter().sum::<f64>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prior_of_two_senders_adds_up_to_one_and_favours_one_setting() {
        let schemes = senders();
        let two = Senders { schemes: &schemes, count: 2 };
        let all = (0..6).flat_map(|a| (0..6).map(move |b| [a, b, 0]));
        assert!((all.map(|pair| two.prior(&pair)).sum::<f64>() - 1.0).abs() < 1e-12);
        // Cubic twice: 0.5 * 0.35 + 0.5 * 0.35^2 = 0.23625; cubic and reno: 0.5 * 0.35 * 0.2 = 0.035.
        assert!((two.prior(&[0, 0, 0]) - 0.236_25).abs() < 1e-12);
        assert!((two.prior(&[0, 2, 0]) - 0.035).abs() < 1e-12);
        assert!((Senders { count: 1, ..two }.prior(&[2, 0, 0]) - 0.2).abs() < 1e-12);
    }

    #[test]
    fn schemes_are_drawn_as_often_as_the_prior_says_and_moved_as_often_as_the_proposal_says() {
        let schemes = senders();
        let two = Senders { schemes: &schemes, count: 2 };
        let mut stream = Stream::named(1, "test");
        let share = |of: &mut dyn FnMut() -> Schemes, wanted: Schemes| {
            (0..20_000).filter(|_| of() == wanted).count() as f64 / 20_000.0
        };
        // Three standard deviations of a binomial: 3 * sqrt(0.035 * 0.965 / 20000) = 0.004; 0.009 for 0.236.
        assert!((share(&mut || two.drawn(&mut stream), [0, 2, 0]) - 0.035).abs() < 0.004);
        assert!((share(&mut || two.drawn(&mut stream), [0, 0, 0]) - 0.236_25).abs() < 0.009);
        // From cubic and cubic to cubic and reno: (0.9 + 0.1 * 0.35) * 0.1 * 0.2 = 0.0187, over a prior of 0.035.
        let (from, to) = ([0, 0, 0], [0, 2, 0]);
        assert!((two.proposed(&from, &to) - 0.0187 / 0.035).abs() < 1e-12);
        assert!((share(&mut || two.moved(&from, &mut stream), to) - 0.0187).abs() < 0.003);
    }
}
