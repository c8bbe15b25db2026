//! The largest value of the last so many rounds, in constant space: K. Nichols' windowed filter, as in Linux
//! (lib/win_minmax.c).
//!
//! Three samples are kept: the largest of the window, the largest since it, and the largest since that. Each comes from
//! a later part of the window than the one before it, so that a successor exists when the largest expires.

/// A value and the round it was measured in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sample {
    round: u32,
    value: u64,
}

/// The filter. Rounds count up by any steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowedMax {
    best: [Sample; 3],
}

impl WindowedMax {
    /// The largest value of the window; zero before the first.
    pub fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Processes a value measured in `round`; the window is the `window` rounds before it.
    pub fn update(&mut self, window: u32, round: u32, value: u64) {
        let new = Sample { round, value };
        let [first, second, third] = self.best;
        if value >= first.value || round - third.round > window {
            // The largest so far, or the only value in the window.
            self.best = [new; 3];
            return;
        }
        if value >= second.value {
            self.best = [first, new, new];
        } else if value >= third.value {
            self.best[2] = new;
        }
        self.age(window, new);
    }

    fn age(&mut self, window: u32, new: Sample) {
        let [first, second, third] = self.best;
        let age = new.round - first.round;
        if age > window {
            self.best =
                if new.round - second.round > window { [third, new, new] } else { [second, third, new] };
        } else if second.round == first.round && age > window / 4 {
            // A quarter of the window has passed without a second value: the latest value takes its place.
            self.best = [first, new, new];
        } else if third.round == second.round && age > window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(samples: &[(u32, u64)]) -> u64 {
        let mut max = WindowedMax::default();
        for &(round, value) in samples {
            max.update(10, round, value);
        }
        max.get()
    }

    #[test]
    fn a_larger_value_counts_at_once_and_stays_for_the_window() {
        assert_eq!(after(&[(0, 5), (1, 9), (2, 3)]), 9);
        let mut samples = vec![(0, 9)];
        samples.extend((1..=10).map(|round| (round, 5)));
        assert_eq!(after(&samples), 9);
        samples.push((11, 5));
        assert_eq!(after(&samples), 5);
    }

    #[test]
    fn after_a_silence_longer_than_the_window_only_the_new_value_counts() {
        assert_eq!(after(&[(0, 9), (1, 8), (12, 1)]), 1);
    }

    #[test]
    fn the_successor_is_the_largest_of_the_later_quarters() {
        // 9 in round 0; 7 in round 4 becomes the second (and third); 6 in round 7 the third, as it is later
        // than half the window. In round 11 the 9 expires: 7; in round 15 the 7 does: 6.
        let history = [(0, 9), (4, 7), (7, 6), (11, 1)];
        assert_eq!(after(&history), 7);
        let mut longer = history.to_vec();
        longer.push((15, 1));
        assert_eq!(after(&longer), 6);
    }

    #[test]
    fn it_never_exceeds_the_true_maximum_and_keeps_the_latest_within_the_window() {
        // Against a list of everything, on a fixed sequence with repeats and gaps.
        let (mut max, mut seen, mut round, mut x) = (WindowedMax::default(), vec![], 0_u32, 1_u64);
        for _ in 0..5000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            round += [0, 0, 1, 1, 1, 2, 5, 12][(x >> 33) as usize % 8];
            let value = x >> 54;
            max.update(10, round, value);
            seen.push((round, value));
            let truth = seen.iter().filter(|(r, _)| round - r <= 10).map(|(_, v)| *v).max();
            assert!(max.get() <= truth.expect("the one just added"), "round {round}");
            assert!(max.get() >= value, "round {round}");
        }
    }
}
