//! Recommendation at each size: the fastest scheme whose gain over the baseline is worth having.

use std::collections::BTreeSet;

use firstflight_results::{PairedDifference, Recommended, SchemeResult};

/// Departure of the re-runs of captured connections above which there is no answer. Ranges are widened by the departure
/// at both ends: beyond this one they would span a factor of more than two, which is more than any start gains.
const NO_ANSWER: f64 = 0.5;

/// Reason why the results are no answer; `None` if they are one.
pub(super) fn no_answer(path_unknown: bool, unlike: Option<f64>, departure: Option<f64>) -> Option<String> {
    if path_unknown {
        return Some("the capture shows too little of its path to simulate a transfer over it".into());
    }
    if let Some(misfit) = unlike {
        return Some(format!(
            "none of the kinds of path that are simulated resembles the capture: it lies {misfit:.0} standard deviations \
             from the re-runs of its connections on the most similar paths"
        ));
    }
    let departure = departure.filter(|&departure| departure > NO_ANSWER)?;
    Some(format!(
        "re-runs of the captured connections on the inferred path are off by {:.0} %, so it is not the path \
         of the capture",
        departure * 100.0
    ))
}

/// Recommendations at each of `sizes`, ascending, from `results`, which are ordered by rank within a size.
pub(super) fn recommended(
    results: &[SchemeResult],
    sizes: &[u64],
    baseline: Option<&str>,
    no_answer: Option<&str>,
) -> Vec<Recommended> {
    let sizes: BTreeSet<u64> = sizes.iter().copied().collect();
    let of_size = |size_bytes: u64| {
        let ranked: Vec<&SchemeResult> = results.iter().filter(|it| it.size_bytes == size_bytes).collect();
        let Choice { scheme, gain, why } = match no_answer {
            Some(why) => Choice::none(why),
            None => choice(&ranked, baseline),
        };
        let scheme = scheme.map(|result| result.scheme.clone());
        Recommended { size_bytes, scheme, initial_window_packets: None, gain, why }
    };
    sizes.into_iter().map(of_size).collect()
}

/// The scheme to use at one size.
struct Choice<'a> {
    scheme: Option<&'a SchemeResult>,
    gain: Option<[f64; 3]>,
    why: String,
}

impl Choice<'_> {
    fn none(why: impl Into<String>) -> Self {
        Self { scheme: None, gain: None, why: why.into() }
    }
}

fn choice<'a>(ranked: &[&'a SchemeResult], baseline: Option<&str>) -> Choice<'a> {
    let finished: Vec<&SchemeResult> =
        ranked.iter().copied().filter(|it| it.completion_s.is_some()).collect();
    let Some(&fastest) = finished.first() else {
        return Choice::none("no scheme ended the transfer in the time allowed");
    };
    let base = baseline.and_then(|label| ranked.iter().find(|it| it.scheme == label));
    match base {
        Some(base) if base.completion_s.is_some() => beside(&finished, base),
        Some(base) => Choice {
            scheme: Some(fastest),
            ..Choice::none(format!("no transfer by {} ended in the time allowed", base.scheme))
        },
        None if finished.iter().all(|it| it.ties_with_best) => {
            Choice::none("no difference between the schemes is worth having")
        }
        None => Choice {
            scheme: Some(fastest),
            ..Choice::none("the fastest of the schemes; slow start was not among them, so no gain is stated")
        },
    }
}

/// The fastest scheme whose gain over `base` is worth having. A scheme that leaves more transfers unfinished than `base`
/// is no candidate: its median is that of the others.
fn beside<'a>(finished: &[&'a SchemeResult], base: &SchemeResult) -> Choice<'a> {
    let completes = |it: &&&SchemeResult| it.unfinished <= base.unfinished;
    let sooner =
        |it: &&&SchemeResult| it.against_baseline.as_ref().is_some_and(PairedDifference::worth_having);
    if let Some(&best) = finished.iter().filter(completes).find(sooner) {
        let gain = best.against_baseline.as_ref().map(PairedDifference::gain);
        let [low, median, high] = gain.unwrap_or_default().map(|share| share * 100.0);
        let why =
            format!("its median is {median:.0} % below that of {} ({low:.0} % to {high:.0} %)", base.scheme);
        return Choice { scheme: Some(best), gain, why };
    }
    let fastest = finished.iter().filter(completes).find_map(|it| Some(it.against_baseline.as_ref()?.gain()));
    Choice { gain: fastest, ..Choice::none(format!("no gain over {} is worth having", base.scheme)) }
}

#[cfg(test)]
mod tests {
    use firstflight_results::Mean;

    use super::*;
    use crate::stats::completion;

    /// Result with a median of `median` seconds, and its difference from the baseline with the interval's ends.
    fn result(scheme: &str, median: f64, against: Option<[f64; 3]>) -> SchemeResult {
        SchemeResult {
            scheme: scheme.into(),
            size_bytes: 30_000,
            completion_s: completion(&[median]),
            retransmits_mean: 0.0,
            startup_exit: None,
            rank: 1,
            same_as: None,
            ties_with_best: true,
            replications: 30,
            unfinished: 0,
            against_baseline: against.map(|[low, relative, high]| PairedDifference {
                seconds: relative,
                seconds_ci95: [low, high],
                relative,
                relative_ci95: [low, high],
            }),
            drops: Mean { mean: 0.0, ci95: None },
            others_drops_mean: 0.0,
            timeouts_mean: 0.0,
            widened_by: vec![],
            risks: vec![],
        }
    }

    fn of(results: &[SchemeResult], baseline: Option<&str>) -> Recommended {
        let [one] = <[Recommended; 1]>::try_from(recommended(results, &[30_000], baseline, None))
            .expect("one size, one recommendation");
        one
    }

    #[test]
    fn the_fastest_scheme_beyond_the_threshold_is_recommended_with_its_gain() {
        // The first is faster, but perhaps not on the next thirty paths.
        let results = [
            result("lucky", 0.7, Some([-0.5, -0.3, 0.1])),
            result("sure", 0.75, Some([-0.3, -0.25, -0.2])),
            result("base", 1.0, None),
        ];
        let chosen = of(&results, Some("base"));
        assert_eq!(
            (chosen.scheme.as_deref(), chosen.gain),
            (Some("sure"), Some([0.2, 0.25, 0.3])),
            "{}",
            chosen.why
        );
        assert_eq!(chosen.why, "its median is 25 % below that of base (20 % to 30 %)");
    }

    #[test]
    fn a_gain_below_the_threshold_is_not_worth_having_however_sure() {
        let results = [result("fast", 0.981, Some([-0.0192, -0.019, -0.0188])), result("base", 1.0, None)];
        let chosen = of(&results, Some("base"));
        assert_eq!((chosen.scheme, chosen.gain), (None, Some([0.0188, 0.019, 0.0192])));
    }

    #[test]
    fn nothing_is_recommended_where_all_are_equal_or_the_baseline_is_the_fastest() {
        let equal = [result("base", 1.0, None), result("same", 1.0, Some([0.0; 3]))];
        let chosen = of(&equal, Some("base"));
        assert_eq!((chosen.scheme, chosen.gain), (None, Some([0.0; 3])));
        let slower = [result("base", 1.0, None), result("slow", 1.5, Some([0.4, 0.5, 0.6]))];
        assert_eq!(of(&slower, Some("base")).scheme, None);
    }

    #[test]
    fn a_scheme_that_leaves_more_transfers_unfinished_is_not_recommended() {
        let mut results = [result("fast", 0.5, Some([-0.6, -0.5, -0.4])), result("base", 1.0, None)];
        results[0].unfinished = 3;
        assert_eq!(of(&results, Some("base")).scheme, None);
        results[1].unfinished = 3;
        assert_eq!(of(&results, Some("base")).scheme.as_deref(), Some("fast"));
    }

    #[test]
    fn without_a_baseline_the_fastest_is_named_if_any_differs() {
        let mut results = [result("fast", 0.5, None), result("slow", 1.0, None)];
        assert_eq!(of(&results, None).scheme, None, "both are marked as equally good");
        results[1].ties_with_best = false;
        let chosen = of(&results, None);
        assert_eq!((chosen.scheme.as_deref(), chosen.gain), (Some("fast"), None));
    }

    #[test]
    fn a_failed_check_gives_no_answer_at_any_size() {
        let results = [result("fast", 0.5, Some([-0.6, -0.5, -0.4])), result("base", 1.0, None)];
        let why = no_answer(false, None, Some(3.16)).expect("off by 316 %");
        assert!(why.contains("off by 316 %"), "{why}");
        for one in recommended(&results, &[30_000, 300_000], Some("base"), Some(&why)) {
            assert_eq!((one.scheme, one.gain, &one.why), (None, None, &why));
        }
        assert_eq!((no_answer(false, None, Some(0.3)), no_answer(false, None, None)), (None, None));
        assert!(no_answer(true, None, None).is_some());
    }
}
