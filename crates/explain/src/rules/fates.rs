//! Fates of packets under a rule with random loss beside it.

use firstflight_net::two_state::is_bursty;

use crate::loss::{BURST, LOSS, LOSSY, RandomLoss};
use crate::range::Range;

/// Probability that a packet is lost for a reason that is neither the rule's nor random loss.
const OTHER_CAUSE: f64 = 1e-6;

/// Probability that a packet passes although the rule drops it.
const SPARED: f64 = 0.02;

/// Probability of a drop below which a packet is as good as not judged by the rule.
const NONE: f64 = 1e-7;

/// Random losses that a path may have, with the logarithms of their probabilities before the capture is seen.
#[derive(Clone, Debug)]
pub(crate) struct Losses(Vec<(Option<RandomLoss>, f64)>);

impl Losses {
    /// No loss, and losses at even distances in the logarithm: many, or few where each costs much. `seen` is the share of packets that were lost.
    pub(crate) fn new(seen: f64, fine: bool, given: Option<f64>) -> Self {
        if let Some(probability) = given {
            let loss = (probability > 0.0).then_some(RandomLoss { probability, burst: 1.0 });
            return Self(vec![(loss, 0.0)]);
        }
        let (steps, bursts) = if fine { (32, 5) } else { (8, 2) };
        // A share that was seen is possible.
        let range = Range::new(LOSS.0, LOSS.1.max((4.0 * seen).min(0.5)));
        let middle = |index: usize, of: usize| (index as f64 + 0.5) / of as f64;
        let mut losses = vec![(None, libm::log(1.0 - LOSSY))];
        let each = libm::log(LOSSY / (steps * bursts) as f64);
        for step in 0..steps {
            let probability = range.at(middle(step, steps));
            let of_burst = |index| Range::new(BURST.0, BURST.1).at(middle(index, bursts));
            losses.extend(
                (0..bursts).map(|index| (Some(RandomLoss { probability, burst: of_burst(index) }), each)),
            );
        }
        Self(losses)
    }

    pub(super) fn each(&self) -> impl Iterator<Item = Option<RandomLoss>> + '_ {
        self.0.iter().map(|one| one.0)
    }

    /// Logarithms of probability before the capture times that of the fates, for each loss.
    pub(super) fn weigh(&self, fates: &Fates) -> Vec<f64> {
        self.0.iter().map(|(loss, prior)| prior + fates.log(*loss)).collect()
    }
}

/// Fates of the packets of connections under a rule.
///
/// Packets that the rule does not drop are counted by their fate and by whether the packet before was lost at random, so that many random losses
/// are judged at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Fates {
    /// Packets that only random loss drops, by whether the one before was lost at random and whether they were.
    plain: [[f64; 2]; 2],
    /// Packets that the rule may drop: its probability, whether the one before was lost at random, and whether they were lost.
    judged: Vec<(f64, bool, bool)>,
    before: bool,
}

impl Fates {
    /// Begins with the next connection.
    pub(super) fn begin(&mut self) {
        self.before = false;
    }

    /// Adds a packet that the rule drops with a probability.
    pub(super) fn add(&mut self, drop: f64, lost: bool) {
        let drop = (1.0 - SPARED) * drop;
        if drop < NONE {
            self.plain[usize::from(self.before)][usize::from(lost)] += 1.0;
            self.before = lost;
            return;
        }
        self.judged.push((drop, self.before, lost));
        // A packet that the rule dropped was not lost at random.
        self.before = lost && drop < 0.5;
    }

    /// Logarithm of the probability of all fates.
    fn log(&self, loss: Option<RandomLoss>) -> f64 {
        let [begins, goes_on] = match loss {
            None => [OTHER_CAUSE; 2],
            Some(RandomLoss { probability, burst }) => {
                let loss = probability.min(0.99);
                let bursty = is_bursty(loss, burst);
                if bursty { [loss / (burst * (1.0 - loss)), 1.0 - 1.0 / burst] } else { [loss, loss] }
            }
        }
        .map(|p| p.clamp(OTHER_CAUSE, 1.0 - OTHER_CAUSE));
        let mut sum = 0.0;
        for (counts, p) in self.plain.iter().zip([begins, goes_on]) {
            sum += counts[0] * fate(p, false) + counts[1] * fate(p, true);
        }
        for (drop, before, lost) in &self.judged {
            let p = if *before { goes_on } else { begins };
            sum += fate(drop + (1.0 - drop) * p, *lost);
        }
        sum
    }
}

/// Logarithm of the probability of a fate.
fn fate(drop: f64, lost: bool) -> f64 {
    if lost {
        libm::log(drop)
    } else if drop < 1e-4 {
        // To the second order.
        -drop - 0.5 * drop * drop
    } else {
        libm::log(1.0 - drop)
    }
}

/// The logistic function.
pub(super) fn logistic(x: f64) -> f64 {
    if x > 30.0 {
        1.0
    } else if x < -30.0 {
        0.0
    } else {
        1.0 / (1.0 + libm::exp(-x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::{log_sum, normalised};

    #[test]
    fn independent_losses_have_their_binomial_probability_and_bursts_that_of_their_chain() {
        // 3 of 100 packets, two of them in a row.
        let mut fates = Fates::default();
        for index in 0..100 {
            fates.add(0.0, [30, 31, 70].contains(&index));
        }
        let of = |probability, burst| fates.log(Some(RandomLoss { probability, burst }));
        let expected = 3.0 * libm::log(0.03) + 97.0 * libm::log(0.97);
        assert!((of(0.03, 1.0) - expected).abs() < 1e-9);
        // Runs of 2: a loss begins with 0.03 / (2 x 0.97) = 0.015464, and goes on with 0.5. Of the 97 packets that do not follow a lost one,
        // two begin a run; of the three that do, one goes on.
        let begins = 0.03 / 1.94;
        let expected = 2.0 * libm::log(begins) + 95.0 * libm::log(1.0 - begins) + 3.0 * libm::log(0.5);
        assert!((of(0.03, 2.0) - expected).abs() < 1e-9, "{} {expected}", of(0.03, 2.0));
    }

    #[test]
    fn a_rule_that_drops_explains_a_loss_without_any_random_one() {
        let mut fates = Fates::default();
        (0..100).for_each(|_| fates.add(0.0, false));
        fates.add(1.0, true);
        // 0.98 of such packets are dropped, and 100 pass with one exception in a million each.
        let expected = libm::log(0.98 + 0.02e-6) + 100.0 * libm::log(1.0 - 1e-6);
        assert!((fates.log(None) - expected).abs() < 1e-9);
        // One that no rule drops costs a millionth.
        fates.add(0.0, true);
        assert!((fates.log(None) - expected - libm::log(1e-6)).abs() < 1e-9);
    }

    #[test]
    fn the_evidence_for_random_loss_is_the_beta_function_over_the_span() {
        // Two of 100 packets are lost. The mean of p^2 (1 - p)^98 over a log-uniform p from 1e-4 to 0.5 is
        // B(2, 99) / ln(0.5 / 1e-4) = 1 / (99 * 100) / 8.517.
        const STEPS: u32 = 400;
        let probability = |step: u32| 1e-4 * libm::pow(5000.0, (f64::from(step) + 0.5) / f64::from(STEPS));
        let loss = |step| {
            (Some(RandomLoss { probability: probability(step), burst: 1.0 }), -libm::log(STEPS.into()))
        };
        let losses = Losses((0..STEPS).map(loss).collect());
        let mut fates = Fates::default();
        (0..100).for_each(|index| fates.add(0.0, [30, 70].contains(&index)));
        let logs = losses.weigh(&fates);
        let evidence = log_sum(logs.iter().copied());
        assert!((evidence + libm::log(9900.0 * 8.517)).abs() < 0.01, "{evidence}");
        // The density p (1 - p)^98 has the mean 2 / 101.
        let mean: f64 =
            (0..STEPS).zip(normalised(&logs)).map(|(step, weight)| probability(step) * weight).sum();
        assert!((mean / (2.0 / 101.0) - 1.0).abs() < 0.01, "{mean}");
    }
}
