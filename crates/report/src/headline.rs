//! The answer in sentences: the start-up scheme that finishes soonest, its gain, and its cost in dropped packets.

use firstflight_results::{CompareReport, SchemeResult};

use crate::format::{bytes, count, counted, list, percent_magnitude, time};
use crate::names::Names;

/// The answer for all sizes together and for each size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Headline {
    /// One sentence for all sizes.
    pub(crate) lead: String,
    /// Answers by size, ascending.
    pub(crate) by_size: Vec<SizeAnswer>,
}

/// The answer at one size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SizeAnswer {
    /// Size with its unit: `300 KB`.
    pub(crate) size: String,
    /// Label of the scheme with the smallest median completion time; `None` if no scheme finished.
    pub(crate) winner: Option<String>,
    /// Two or three sentences.
    pub(crate) text: String,
}

pub(crate) fn headline(report: &CompareReport, names: &Names) -> Headline {
    let comparison = &report.comparison;
    let sizes = comparison.sizes();
    let by_size: Vec<_> = sizes
        .iter()
        .map(|&size| size_answer(size, &comparison.ranked(size), comparison.baseline.as_deref(), names))
        .collect();
    Headline { lead: lead(&sizes, &by_size, report, names), by_size }
}

/// Answer at one size: the winner's median, its gain over the baseline, its dropped packets, and the schemes without
/// a significant difference from it.
fn size_answer(size: u64, ranked: &[&SchemeResult], baseline: Option<&str>, names: &Names) -> SizeAnswer {
    let size = bytes(size);
    let best = ranked.iter().find(|r| r.completion_s.is_some());
    let Some((best, completion)) = best.and_then(|r| r.completion_s.map(|c| (r, c))) else {
        let text = format!("No scheme finished {size} within the time limit.");
        return SizeAnswer { size, winner: None, text };
    };
    let short = &names.get(&best.scheme).short;
    let base = baseline.and_then(|b| ranked.iter().find(|r| r.scheme == b)).copied();
    let mut text = format!("{short} finishes {size} soonest: median {}", time(completion.median));
    match (best.against_baseline, base) {
        (Some(difference), Some(base)) => {
            let base_name = &names.get(&base.scheme).short;
            let [low, high] = difference.relative_ci95;
            if high < 0.0 {
                text += &format!(
                    ", {} sooner than {base_name} (95\u{a0}% interval {} to {}).",
                    percent_magnitude(difference.relative),
                    percent_magnitude(high),
                    percent_magnitude(low),
                );
            } else {
                text += &format!("; the difference from {base_name} is not significant.");
            }
            text += &format!(" {}", cost(best, base, base_name));
        }
        _ => text += &format!(". It drops {} per transfer.", packets(best)),
    }
    let ties: Vec<_> = ranked
        .iter()
        .filter(|r| r.ties_with_best && r.scheme != best.scheme && r.completion_s.is_some())
        .map(|r| names.get(&r.scheme).short.clone())
        .collect();
    if !ties.is_empty() {
        text += &format!(" No significant difference from: {}.", list(&ties));
    }
    SizeAnswer { size, winner: Some(best.scheme.clone()), text }
}

/// Packets that the winner drops, compared with the baseline.
fn cost(best: &SchemeResult, base: &SchemeResult, base_name: &str) -> String {
    let (own, theirs) = (best.drops.mean, base.drops.mean);
    if own == 0.0 && theirs == 0.0 {
        "Neither drops a packet.".to_owned()
    } else if own == theirs {
        format!("Both drop {} per transfer.", packets(best))
    } else {
        format!("It drops {} per transfer ({base_name}: {}).", packets(best), count(theirs))
    }
}

fn packets(result: &SchemeResult) -> String {
    counted(result.drops.mean, "packet", "packets")
}

/// One sentence for all sizes.
fn lead(sizes: &[u64], by_size: &[SizeAnswer], report: &CompareReport, names: &Names) -> String {
    let winners: Vec<&String> = by_size.iter().filter_map(|a| a.winner.as_ref()).collect();
    let Some(&first) = winners.first() else {
        return "No scheme finished any transfer within the time limit.".to_owned();
    };
    if let [only] = by_size {
        return format!("On this path {}", only.text);
    }
    let short = |label: &str| names.get(label).short.clone();
    if winners.len() == by_size.len() && winners.iter().all(|&w| w == first) {
        let of_winner: Vec<_> = report.comparison.results.iter().filter(|r| r.scheme == *first).collect();
        let drops = range(of_winner.iter().map(|r| r.drops.mean), count);
        let gains: Option<Vec<f64>> =
            of_winner.iter().map(|r| r.against_baseline.map(|d| -d.relative)).collect();
        let (from, to) = (bytes(sizes[0]), bytes(sizes[sizes.len() - 1]));
        let mut text =
            format!("On this path {} finishes soonest at every size from {from} to {to}", short(first));
        if let (Some(gains), Some(baseline)) = (gains, report.comparison.baseline.as_deref())
            && gains.iter().all(|&g| g > 0.0)
        {
            let gains = range(gains.into_iter(), percent_magnitude);
            text += &format!(": {gains} sooner than {}", short(baseline));
        }
        return text + &format!(", with {drops} packets dropped per transfer.");
    }
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for answer in by_size {
        let winner = answer.winner.as_deref().map_or_else(|| "none".to_owned(), short);
        match groups.iter_mut().find(|(name, _)| *name == winner) {
            Some((_, sizes)) => sizes.push(answer.size.clone()),
            None => groups.push((winner, vec![answer.size.clone()])),
        }
    }
    let parts: Vec<_> = groups.iter().map(|(name, sizes)| format!("{name} for {}", list(sizes))).collect();
    format!("On this path the best start-up scheme depends on the transfer size: {}.", parts.join("; "))
}

/// Smallest and largest value as `low to high`, or one number if both read the same.
fn range(values: impl Iterator<Item = f64> + Clone, write: impl Fn(f64) -> String) -> String {
    let low = write(values.clone().fold(f64::INFINITY, f64::min));
    let high = write(values.fold(f64::NEG_INFINITY, f64::max));
    if low == high { low } else { format!("{low} to {high}") }
}
