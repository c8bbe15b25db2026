//! Further looks at candidates whose harm is near the limit.
//!
//! The interval of a ratio is that of a ratio of means over paired replications (W. G. Cochran, "Sampling Techniques", 3rd
//! ed. 1977, chapter 6). The age of the bulk flow decides most of the harm of a small transfer. Ages are therefore spread
//! evenly, and the error is that of a systematic sample, from the differences between neighbouring ages (K. M. Wolter, "An
//! Investigation of Some Estimators of Variance for Systematic Sampling", Journal of the American Statistical Association
//! 79(388), 1984). All candidates have a first number of replications. Those that are not known to be within the limit or above it, and
//! that could be recommended, then have twice as many, until that is known, or the work is spent. Before the last look three
//! standard errors decide, so that the looks together are wrong hardly more often than the last alone (J. L. Haybittle, British
//! Journal of Radiology 44, 1971).

use firstflight_results::{Harm, PairedDifference};
use firstflight_scenario::{Candidate, Error};

use super::ratio::{Ratio, Ratios};
use super::{AtSize, Bystanders};
use crate::compare::Bench;
use crate::progress::Progress;

/// Packets of all further looks.
const FURTHER_PACKETS: f64 = 4e7;

/// Standard errors between harm and limit that decide before the last look.
const SURE: f64 = 3.0;

/// A candidate that could be recommended at a size.
pub(crate) struct Contender {
    /// Its place among the candidates.
    pub(crate) place: usize,
    /// Its median completion time, seconds.
    pub(crate) median: f64,
}

/// One of the paths of a mix: its share, its bench, and its bystanders.
pub(crate) struct Part<'a> {
    /// Share of the path at each size, ascending.
    pub(crate) shares: Vec<f64>,
    pub(crate) bench: Bench<'a>,
    pub(crate) bystanders: &'a mut Bystanders,
}

/// Further looks at each size, until it is known of those contenders that could be recommended for all `parts` together whether
/// their harm is within `limit`. Each time the part that is least sure for its share has twice as many replications.
///
/// # Errors
/// If the host refuses a run, or the progress is stopped.
pub(crate) fn settle(
    parts: &mut [Part<'_>],
    candidates: &[Candidate],
    limit: f64,
    contenders: &[Vec<Contender>],
    progress: &dyn Progress,
) -> Result<(), Error> {
    let mut left = FURTHER_PACKETS;
    for (at, of_size) in contenders.iter().enumerate() {
        let mut own = left / (contenders.len() - at) as f64;
        loop {
            let of_parts: Vec<(f64, &AtSize)> =
                parts.iter().map(|part| (part.shares[at], &part.bystanders.sizes[at])).collect();
            let open = open(&|place| mixed(&of_parts, place), limit, of_size);
            let Some(part) = least_sure(&of_parts, &open).map(|index| &mut parts[index]) else { break };
            let Bystanders { present, sizes, .. } = &mut *part.bystanders;
            let bystanders = &mut sizes[at];
            let more = bystanders.replications();
            let runs = (open.len() as u64 + 1) * u64::from(more);
            let work = bystanders.packets * runs as f64;
            if work > own {
                break;
            }
            (own, left) = (own - work, left - work);
            progress.begin("harm near its limit", runs);
            bystanders.extend(&part.bench, present, candidates, &open, 2 * more, progress)?;
        }
    }
    Ok(())
}

/// Harm to both bystanders of the candidate at `place`, over all parts by their share; `None` if a bystander did not end.
fn mixed(parts: &[(f64, &AtSize)], place: usize) -> Option<[Ratio; 2]> {
    let counted = || parts.iter().filter(|(share, _)| *share > 0.0);
    let total: f64 = counted().map(|(share, _)| share).sum();
    let (mut values, mut squares) = ([0.0; 2], [0.0; 2]);
    for (share, of_size) in counted() {
        let share = share / total;
        for (index, ratio) in of_size.harm(place)?.both().into_iter().enumerate() {
            values[index] += share * ratio.value;
            squares[index] += (share * ratio.error) * (share * ratio.error);
        }
    }
    let ratio = |index: usize| Ratio { value: values[index], error: f64::sqrt(squares[index]) };
    (total > 0.0).then(|| [ratio(0), ratio(1)])
}

/// The part whose harm of the `open` candidates has the largest standard error for its share, of those that can have more
/// replications; `None` if nothing is open.
fn least_sure(parts: &[(f64, &AtSize)], open: &[usize]) -> Option<usize> {
    let error = |&(share, of_size): &(f64, &AtSize)| {
        let errors = open.iter().filter_map(|&place| of_size.harm(place)).flat_map(Ratios::both);
        share * errors.map(|ratio| ratio.error).fold(0.0, f64::max)
    };
    let can = |part: &(usize, &(f64, &AtSize))| 2 * part.1.1.replications() <= Bench::MOST;
    let errors = parts.iter().enumerate().filter(can).map(|(index, part)| (index, error(part)));
    let unsure = errors.filter(|(_, error)| *error > 0.0);
    unsure.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(index, _)| index)
}

/// Places of the contenders of which it is not known whether they are within the limit, and that are as fast as every one that
/// is known to be.
fn open(harm: &dyn Fn(usize) -> Option<[Ratio; 2]>, limit: f64, contenders: &[Contender]) -> Vec<usize> {
    // A candidate beside which a bystander did not end stays so.
    let known: Vec<(&Contender, Option<bool>)> =
        contenders.iter().filter_map(|it| Some((it, surely_within(harm(it.place)?, limit)))).collect();
    let within = known.iter().filter(|(_, within)| *within == Some(true)).map(|(it, _)| it.median);
    let latest = within.fold(f64::INFINITY, f64::min) * (1.0 + PairedDifference::WORTH_HAVING);
    let open = known.iter().filter(|(it, within)| within.is_none() && it.median <= latest);
    open.map(|(it, _)| it.place).collect()
}

/// Whether both are within the limit, as far as [`SURE`] standard errors show it.
fn surely_within(both: [Ratio; 2], limit: f64) -> Option<bool> {
    if both.iter().any(|ratio| ratio.value - SURE * ratio.error > limit) {
        return Some(false);
    }
    let within =
        |ratio: &Ratio| ratio.value <= limit && ratio.value + SURE * ratio.error <= Harm::most(limit);
    both.iter().all(within).then_some(true)
}

#[cfg(test)]
mod tests {
    use super::super::scene::Times;
    use super::*;

    fn times(bulk: f64, request_response: f64) -> Option<Times> {
        Some(Times { age: 0.0, bulk, request_response })
    }

    /// Sixteen times of a bulk flow, by turns two above `mean` by `spread` and two below: seven of fifteen successive
    /// differences are twice the spread, and the standard error is spread * sqrt(7 * 4 / (2 * 16 * 15)), 0.0242 for 0.1.
    fn sixteen(mean: f64, spread: f64) -> Vec<Option<Times>> {
        (0..16).map(|index| times(mean + if index % 4 < 2 { spread } else { -spread }, 1.0)).collect()
    }

    fn at_size(beside: Vec<Vec<Option<Times>>>) -> AtSize {
        AtSize { size: 30_000, packets: 1.0, present: sixteen(1.0, 0.0), beside }
    }

    #[test]
    fn contenders_that_could_be_recommended_and_are_near_the_limit_are_open() {
        // within: 1 + 3 * 0.0242 < 1.122; near: 1.06; above: 1.2 - 3 * 0.0242 > 1.1
        let all = at_size(vec![sixteen(1.0, 0.1), sixteen(1.06, 0.1), sixteen(1.2, 0.1), vec![None; 16]]);
        let harm = |place: usize| all.harm(place).map(Ratios::both);
        let contender = |&(place, median): &(usize, f64)| Contender { place, median };
        let of = |all: &[(usize, f64)]| {
            let contenders: Vec<Contender> = all.iter().map(contender).collect();
            open(&harm, 1.1, &contenders)
        };
        assert_eq!(of(&[(0, 2.0), (1, 1.0), (2, 0.5), (3, 0.1)]), [1]);
        // One within the limit is faster by more than two hundredths.
        assert_eq!(of(&[(0, 1.0), (1, 1.03)]), [0; 0]);
        assert_eq!(of(&[(0, 1.0), (1, 1.01)]), [1]);
    }

    #[test]
    fn the_harm_in_a_mix_is_the_mean_by_share_and_the_part_with_the_largest_error_for_its_share_is_least_sure()
     {
        let (first, second) = (at_size(vec![sixteen(1.2, 0.1)]), at_size(vec![sixteen(1.0, 0.2)]));
        let parts = [(0.6, &first), (0.2, &second)];
        // (0.6 * 1.2 + 0.2 * 1) / 0.8 = 1.15; sqrt((0.75 * 0.1)^2 + (0.25 * 0.2)^2) * 0.24152 = 0.021771.
        let [bulk, requests] = mixed(&parts, 0).expect("all ended");
        assert!((bulk.value - 1.15).abs() < 1e-12 && (bulk.error - 0.021_771).abs() < 1e-6, "{bulk:?}");
        assert!((requests.value - 1.0).abs() < 1e-12 && requests.error == 0.0, "{requests:?}");
        // 0.6 * 0.1 is more than 0.2 * 0.2.
        assert_eq!(least_sure(&parts, &[0]), Some(0));
        assert_eq!(least_sure(&parts, &[]), None);
    }
}
