//! Recommendation at each size: the fastest scheme whose gain over the baseline is worth having.

use firstflight_results::{PairedDifference, Recommended, SchemeResult};

/// Recommendations of `results`, which are ordered by size and rank.
pub(super) fn recommended(
    results: &[SchemeResult],
    baseline: Option<&str>,
    no_answer: Option<&str>,
) -> Vec<Recommended> {
    let of_size = results.chunk_by(|a, b| a.size_bytes == b.size_bytes);
    of_size
        .map(|ranked| {
            let size_bytes = ranked[0].size_bytes;
            let Choice { scheme, gain, why } = match no_answer {
                Some(why) => Choice { scheme: None, gain: None, why: why.into() },
                None => choice(ranked, baseline),
            };
            let scheme = scheme.map(|result| result.scheme.clone());
            Recommended { size_bytes, scheme, initial_window_packets: None, gain, why }
        })
        .collect()
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

fn choice<'a>(ranked: &'a [SchemeResult], baseline: Option<&str>) -> Choice<'a> {
    let finished: Vec<&SchemeResult> = ranked.iter().filter(|it| it.completion_s.is_some()).collect();
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
