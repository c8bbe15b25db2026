//! One repeat of a transfer as the forecast of its other repeats: errors and regrets that the path itself causes.

use std::collections::BTreeMap;

use firstflight_quantile::type_1;

use crate::truth::Transfer;

/// Values with weights. Each transfer, or each choice among controls, has the weight of one, however often it was repeated.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shares(Vec<(f64, f64)>);

impl Shares {
    /// Relative errors of one repeat as the forecast of the others: difference from their median. None for a transfer with one repeat.
    pub(crate) fn errors<'a>(transfers: impl IntoIterator<Item = &'a Transfer>) -> Self {
        let mut all = Self::default();
        for transfer in transfers {
            let each = apart_from_others(&transfer.repeats_ms);
            let weight = 1.0 / each.len().max(1) as f64;
            all.0.extend(each.into_iter().map(|error| (error, weight)));
        }
        all
    }

    /// Regrets of a choice among controls by one repeat of each. All combinations of repeats count alike. The control whose repeat is
    /// the fastest is chosen. The truth of a control is the median of its other repeats. The regret is the truth of the chosen control
    /// beyond that of the fastest, as a share of the fastest. None for fewer than two controls, or a control with one repeat.
    pub(crate) fn regrets(controls: &[&Transfer]) -> Self {
        if controls.len() < 2 || controls.iter().any(|control| control.repeats_ms.len() < 2) {
            return Self::default();
        }
        // Combinations that differ in none of these values count as one, with the sum of the weights.
        let mut states = vec![(Choice { time: f64::MAX, truth: f64::MAX, fastest: f64::MAX }, 1.0)];
        for control in controls {
            let repeats = &control.repeats_ms;
            let others = medians_of_others(repeats);
            let mut next: BTreeMap<[u64; 3], (Choice, f64)> = BTreeMap::new();
            for (choice, weight) in &states {
                for (&time, &truth) in repeats.iter().zip(&others) {
                    let choice = choice.with(time, truth);
                    let key = [choice.time, choice.truth, choice.fastest].map(f64::to_bits);
                    next.entry(key).or_insert((choice, 0.0)).1 += weight / repeats.len() as f64;
                }
            }
            states = next.into_values().collect();
        }
        Self(
            states
                .into_iter()
                .map(|(choice, weight)| (choice.truth / choice.fastest - 1.0, weight))
                .collect(),
        )
    }

    /// Adds the values of others.
    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Smallest value up to which this share of the weight lies; `None` of nothing.
    pub(crate) fn at(&self, p: f64) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        type_1(sorted.into_iter(), p)
    }

    /// Mean; `None` of nothing.
    pub(crate) fn mean(&self) -> Option<f64> {
        self.share_of(|value| value)
    }

    /// Share of the weight above a limit; `None` of nothing.
    pub(crate) fn above(&self, limit: f64) -> Option<f64> {
        self.share_of(|value| f64::from(u8::from(value > limit)))
    }

    fn share_of(&self, of: impl Fn(f64) -> f64) -> Option<f64> {
        let all: f64 = self.0.iter().map(|(_, weight)| weight).sum();
        (all > 0.0).then(|| self.0.iter().map(|(value, weight)| of(*value) * weight).sum::<f64>() / all)
    }
}

/// A choice among the controls so far.
#[derive(Clone, Copy)]
struct Choice {
    /// Time of the chosen control's repeat.
    time: f64,
    /// Truth of the chosen control.
    truth: f64,
    /// Least truth of all controls.
    fastest: f64,
}

impl Choice {
    /// The choice when a control is added. Of two equal times the earlier control is chosen.
    fn with(self, time: f64, truth: f64) -> Self {
        let fastest = self.fastest.min(truth);
        if time < self.time { Self { time, truth, fastest } } else { Self { fastest, ..self } }
    }
}

/// Relative difference of each of several ascending times from the median of the others.
fn apart_from_others(ascending: &[f64]) -> Vec<f64> {
    let apart = |(own, others): (&f64, f64)| (own / others - 1.0).abs();
    ascending.iter().zip(medians_of_others(ascending)).map(apart).collect()
}

/// Median of the others for each of several ascending times. Empty for a single one.
fn medians_of_others(ascending: &[f64]) -> Vec<f64> {
    let Some(others) = ascending.len().checked_sub(1).filter(|others| *others > 0) else { return vec![] };
    (0..ascending.len())
        .map(|own| {
            let other = |place: usize| ascending[place + usize::from(place >= own)];
            (other((others - 1) / 2) + other(others / 2)) / 2.0
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(control: &str, repeats_ms: &[f64]) -> Transfer {
        let (control, repeats_ms) = (control.into(), repeats_ms.to_vec());
        Transfer { control, bytes: 1000, first_ms: repeats_ms[0], repeats_ms, captures: vec![] }
    }

    #[track_caller]
    fn near(value: Option<f64>, expected: f64) {
        assert!(value.is_some_and(|value| (value - expected).abs() < 1e-12), "{value:?} is not {expected}");
    }

    #[test]
    fn a_repeat_is_compared_with_the_median_of_the_others() {
        // Others of 100: 120 and 200, median 160. Of 120: 150. Of 200: 110.
        assert_eq!(medians_of_others(&[100.0, 120.0, 200.0]), [160.0, 150.0, 110.0]);
        // Others of 1: 2, 3, 9. Of 2: 1, 3, 9. Of 3: 1, 2, 9. Of 9: 1, 2, 3.
        assert_eq!(medians_of_others(&[1.0, 2.0, 3.0, 9.0]), [3.0, 3.0, 2.0, 2.0]);
        assert!(medians_of_others(&[5.0]).is_empty() && medians_of_others(&[]).is_empty());
        // 60/160, 30/150 and 90/110.
        let three = transfer("reno", &[100.0, 120.0, 200.0]);
        let errors = Shares::errors([&three]);
        near(errors.at(0.5), 0.375);
        near(errors.at(0.9), 9.0 / 11.0);
        near(errors.at(0.3), 0.2);
        near(errors.above(0.25), 2.0 / 3.0);
        assert_eq!(Shares::errors([&transfer("reno", &[7.0])]).at(0.5), None);
    }

    #[test]
    fn transfers_have_the_same_weight_however_often_they_were_repeated() {
        // Both repeats of the first are 1 apart from the other or 0.5; the eight of the second agree.
        let [few, many] = [transfer("reno", &[1.0, 2.0]), transfer("cubic", &[4.0; 8])];
        let errors = Shares::errors([&few, &many]);
        // A quarter of the weight each is 0.5 and 1; half is 0: the mean is 0.375.
        near(errors.mean(), 0.375);
        assert_eq!([0.5, 0.75, 0.9].map(|p| errors.at(p)), [0.0, 0.5, 1.0].map(Some));
        near(errors.above(0.25), 0.5);
        let mut both = Shares::errors([&few]);
        both.extend(Shares::errors([&many]));
        assert_eq!(both, errors);
    }

    #[test]
    fn a_choice_by_one_repeat_of_each_control_is_judged_by_the_others() {
        let [a, b] = [transfer("reno", &[10.0, 20.0, 30.0]), transfer("cubic", &[16.0, 24.0])];
        // Truths of a by 10, 20, 30: 25, 20, 15. Of b by 16, 24: 24, 16.
        // (10, 16): a, 25 against 24. (10, 24): a, 25 against 16. (20, 16): b, 24 against 20. (20, 24): a, 20 against 16.
        // (30, 16): b, 24 against 15. (30, 24): b, 16 against 15.
        let each = [1.0 / 24.0, 9.0 / 16.0, 0.2, 0.25, 0.6, 1.0 / 15.0];
        let regrets = Shares::regrets(&[&a, &b]);
        near(regrets.mean(), each.iter().sum::<f64>() / 6.0);
        // Ascending: 0.0417, 0.0667, 0.2, 0.25, 0.5625, 0.6.
        near(regrets.at(0.5), 0.2);
        near(regrets.at(0.8), 9.0 / 16.0);
        near(regrets.at(0.95), 0.6);
        // The order of the controls decides only between equal times.
        near(Shares::regrets(&[&b, &a]).mean(), each.iter().sum::<f64>() / 6.0);
        assert_eq!(Shares::regrets(&[&a]), Shares::default());
        assert_eq!(Shares::regrets(&[&a, &transfer("bbr", &[1.0])]), Shares::default());
    }

    #[test]
    fn of_equal_times_the_first_control_is_chosen_and_equal_combinations_count_together() {
        // One repeat of b is as fast as those of a: a is chosen. The truth of a is 5, that of b by 5 is 1, by 1 is 5.
        let [a, b] = [transfer("reno", &[5.0, 5.0]), transfer("cubic", &[1.0, 5.0])];
        // By 1: b, 5 against 5: none. By 5: a, 5 against 1: 4.
        let regrets = Shares::regrets(&[&a, &b]);
        assert_eq!(regrets.0, [(0.0, 0.5), (4.0, 0.5)]);
        near(regrets.mean(), 2.0);
    }

    #[test]
    fn controls_that_always_keep_their_order_cost_nothing() {
        let times = |from: f64| (0..30).map(|repeat| from + f64::from(repeat)).collect::<Vec<_>>();
        let all = [
            transfer("reno", &times(300.0)),
            transfer("cubic", &times(100.0)),
            transfer("bbr", &times(200.0)),
        ];
        let regrets = Shares::regrets(&all.each_ref());
        near(regrets.mean(), 0.0);
        near(regrets.at(1.0), 0.0);
        near(Some(regrets.0.iter().map(|(_, weight)| weight).sum()), 1.0);
    }
}
