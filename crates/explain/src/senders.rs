//! Senders that a capture may have had: schemes, with the slow-start threshold of their start. Packets name neither.

use firstflight_random::Stream;
use firstflight_scenario::{Candidate, SchemeSpec, Settings, Threshold};

use super::weights::drawn;

/// Connections that can be explained together.
pub(super) const MOST: usize = 18;

/// Schemes with their probabilities before the capture is seen, the most common first. Linux's default, and the two other
/// controls that its distributions ship, are far more common than the rest (A. Mishra et al., "The Great Internet TCP
/// Congestion Control Census", SIGMETRICS 2019); the shares are round numbers.
pub const SENDERS: [(&str, f64); 6] = [
    ("hystart-linux+cubic", 0.35),
    ("bbr", 0.3),
    ("slow-start+reno", 0.2),
    ("slow-start+cubic", 0.05),
    ("hystart+++cubic", 0.05),
    ("hystart+++reno", 0.05),
];

/// The same of stacks of QUIC: most have CUBIC by default, with slow start or HyStart++, and RFC 9002 describes Reno. No census counts them,
/// and the shares are round numbers.
const QUIC_SENDERS: [(&str, f64); 5] = [
    ("slow-start+cubic", 0.35),
    ("hystart+++cubic", 0.25),
    ("slow-start+reno", 0.2),
    ("bbr", 0.15),
    ("hystart+++reno", 0.05),
];

/// Probability that a sender of a window-based scheme begins with a finite threshold: that of a route, or of an earlier connection
/// (`tcp_metrics`, which Linux no longer keeps by itself since 5.5). A sender without one that explains a capture as well is the smaller
/// explanation, twenty times likelier.
const FINITE: f64 = 0.05;

/// Share of the candidates that have one of the thresholds. They are tried more often than they are likely, and weighted for it.
const TRIED: f64 = 0.25;

/// A sender.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// Scheme and threshold.
    pub(super) candidate: Candidate,
    /// Probability before the capture is seen.
    prior: f64,
    /// Probability with which it is drawn.
    drawn: f64,
}

/// Scheme of a sender whose stack was identified, with the probability of that stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Scheme.
    pub scheme: SchemeSpec,
    /// Probability.
    pub probability: f64,
}

/// Largest probability of an identified stack: others start as it does on paths that were not tried.
const MOST_SURE: f64 = 0.95;

/// The senders, of which some have one of these thresholds, packets. Both probabilities add up to one. `shown` is the scheme of a stack that was
/// identified.
pub(super) fn senders(thresholds: &[u64], quic: bool, shown: Option<&Shown>) -> Vec<Sender> {
    let schemes = if quic { &QUIC_SENDERS[..] } else { &SENDERS }.iter();
    let parsed = |&(label, share)| (SchemeSpec::parse(label).expect("a scheme of the registry"), share);
    let mut schemes: Vec<(SchemeSpec, f64)> = schemes.map(parsed).collect();
    if let Some(Shown { scheme, probability }) = shown {
        let sure = probability.min(MOST_SURE);
        schemes.iter_mut().for_each(|(_, share)| *share *= 1.0 - sure);
        match schemes.iter_mut().find(|(one, _)| one == scheme) {
            Some((_, share)) => *share += sure,
            None => schemes.push((scheme.clone(), sure)),
        }
        schemes.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    }
    // BBR has no threshold.
    let bounded = |scheme: &SchemeSpec| scheme.label() != "bbr";
    let of_bounded: f64 = schemes.iter().filter(|(scheme, _)| bounded(scheme)).map(|(_, share)| share).sum();
    let mut senders = vec![];
    for (scheme, share) in &schemes {
        let shares = |finite: f64| match (bounded(scheme), thresholds.len()) {
            (false, _) | (_, 0) => (*share, 0.0),
            (true, count) => {
                (share * (1.0 - finite / of_bounded), share * finite / of_bounded / count as f64)
            }
        };
        let (prior, drawn) = (shares(FINITE * of_bounded), shares(TRIED));
        senders.push(Sender { candidate: scheme.clone().into(), prior: prior.0, drawn: drawn.0 });
        for &packets in thresholds.iter().filter(|_| bounded(scheme)) {
            let settings = Settings { ssthresh: Some(Threshold::Packets(packets)), ..Settings::default() };
            let candidate = Candidate { scheme: scheme.clone(), settings };
            senders.push(Sender { candidate, prior: prior.1, drawn: drawn.1 });
        }
    }
    // The most common first, as without thresholds.
    senders.sort_by_key(|sender| sender.candidate.settings != Settings::default());
    senders
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
    /// Schemes with their thresholds and probabilities.
    pub(super) schemes: &'a [Sender],
    /// Number of connections.
    pub(super) count: usize,
}

impl Senders<'_> {
    /// Schemes, drawn as often as they are to be tried.
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
        let share = |scheme: &usize| self.schemes[*scheme].prior;
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
            kept + OTHER_SCHEME * self.schemes[*to].drawn
        });
        each.product::<f64>() / self.prior(to)
    }

    fn one(&self, stream: &mut Stream) -> usize {
        let weights: Vec<f64> = self.schemes.iter().map(|sender| sender.drawn).collect();
        drawn(&weights, stream.unit() * weights.iter().sum::<f64>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Schemes of the first targets; the others have none.
    fn of(first: &[usize]) -> Schemes {
        let mut schemes = Schemes::default();
        schemes[..first.len()].copy_from_slice(first);
        schemes
    }

    #[test]
    fn a_finite_threshold_is_unlikely_before_the_capture_is_seen_and_tried_more_often() {
        let senders = senders(&[64, 300], false, None);
        let of = |label: &str| {
            let found = senders.iter().find(|sender| sender.candidate.label() == label);
            found.map(|sender| (sender.prior, sender.drawn))
        };
        let near = |found: Option<(f64, f64)>, prior: f64, drawn: f64| {
            let (own_prior, own_drawn) = found.expect("a sender");
            assert!(
                (own_prior - prior).abs() < 1e-12 && (own_drawn - drawn).abs() < 1e-12,
                "{own_prior} {own_drawn}"
            );
        };
        // Five of the six schemes have a threshold, with 0.7 of the probability: 16 senders.
        assert_eq!(senders.len(), 16);
        assert!((senders.iter().map(|sender| sender.prior).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((senders.iter().map(|sender| sender.drawn).sum::<f64>() - 1.0).abs() < 1e-12);
        // 0.35 x 0.95, and 0.35 x 0.05 / 2 for each threshold. Tried: 0.35 x (1 - 0.25 / 0.7), and 0.35 x 0.25 / 0.7 / 2.
        near(of("hystart-linux+cubic"), 0.3325, 0.225);
        near(of("hystart-linux+cubic@ssthresh=300"), 0.00875, 0.0625);
        near(of("bbr"), 0.3, 0.3);
        assert_eq!(of("bbr@ssthresh=64"), None);
    }

    #[test]
    fn the_scheme_of_an_identified_stack_has_its_probability() {
        let of = |label: &str, probability: f64| {
            let scheme = SchemeSpec::parse(label).expect("a scheme");
            let all = senders(&[], true, Some(&Shown { scheme, probability }));
            let sum: f64 = all.iter().map(|one| one.prior).sum();
            assert!((sum - 1.0).abs() < 1e-12);
            (all[0].candidate.label(), all[0].prior, all.len())
        };
        // A scheme of no other sender, and one that has 0.35 of the rest: 0.6 + 0.4 x 0.35.
        assert_eq!(of("hystart-aioquic+reno", 0.8), ("hystart-aioquic+reno".into(), 0.8, 6));
        let (label, share, count) = of("slow-start+cubic", 0.6);
        assert!(label == "slow-start+cubic" && count == 5 && (share - 0.74).abs() < 1e-12, "{label} {share}");
        assert_eq!(of("hystart-aioquic+reno", 1.0).1, 0.95);
    }

    #[test]
    fn the_prior_of_two_senders_adds_up_to_one_and_favours_one_setting() {
        let schemes = senders(&[], false, None);
        let two = Senders { schemes: &schemes, count: 2 };
        let all = (0..6).flat_map(|a| (0..6).map(move |b| of(&[a, b])));
        assert!((all.map(|pair| two.prior(&pair)).sum::<f64>() - 1.0).abs() < 1e-12);
        // Cubic twice: 0.5 * 0.35 + 0.5 * 0.35^2 = 0.23625; cubic and reno: 0.5 * 0.35 * 0.2 = 0.035.
        assert!((two.prior(&of(&[0, 0])) - 0.236_25).abs() < 1e-12);
        assert!((two.prior(&of(&[0, 2])) - 0.035).abs() < 1e-12);
        assert!((Senders { count: 1, ..two }.prior(&of(&[2])) - 0.2).abs() < 1e-12);
    }

    #[test]
    fn schemes_are_drawn_as_often_as_the_prior_says_and_moved_as_often_as_the_proposal_says() {
        let schemes = senders(&[], false, None);
        let two = Senders { schemes: &schemes, count: 2 };
        let mut stream = Stream::named(1, "test");
        let share = |of: &mut dyn FnMut() -> Schemes, wanted: Schemes| {
            (0..20_000).filter(|_| of() == wanted).count() as f64 / 20_000.0
        };
        // Three standard deviations of a binomial: 3 * sqrt(0.035 * 0.965 / 20000) = 0.004; 0.009 for 0.236.
        assert!((share(&mut || two.drawn(&mut stream), of(&[0, 2])) - 0.035).abs() < 0.004);
        assert!((share(&mut || two.drawn(&mut stream), of(&[0, 0])) - 0.236_25).abs() < 0.009);
        // From cubic and cubic to cubic and reno: (0.9 + 0.1 * 0.35) * 0.1 * 0.2 = 0.0187, over a prior of 0.035.
        let (from, to) = (of(&[0, 0]), of(&[0, 2]));
        assert!((two.proposed(&from, &to) - 0.0187 / 0.035).abs() < 1e-12);
        assert!((share(&mut || two.moved(&from, &mut stream), to) - 0.0187).abs() < 0.003);
    }
}
