//! Further looks at candidates that could be recommended.
//!
//! The interval is that of a ratio of means over paired replications (W. G. Cochran, "Sampling Techniques", 3rd ed. 1977,
//! chapter 6). The age of the bulk flow decides most of the harm of a small transfer. The ages of the replications are therefore
//! spread evenly. The error is that of a systematic sample, from the differences between neighbouring ages (K. M. Wolter,
//! "An Investigation of Some Estimators of Variance for Systematic Sampling", Journal of the American Statistical Association
//! 79(388), 1984).
//!
//! All candidates have a first number of replications. The looks then follow the order of the candidates' times:
//!
//! - A look doubles the replications of the fastest candidate that is not known to be above the limit.
//! - The looks at a candidate end when its side of the limit is known, or the work is spent. The next candidate follows.
//! - After a candidate within the limit, only candidates that may be as fast have further looks.
//!
//! Three standard errors decide before the last look, and two after it. All looks together are then wrong hardly more often than
//! the last look alone (J. L. Haybittle, British Journal of Radiology 44, 1971).
//!
//! A bystander may wait for a timeout in one replication of dozens, which decides on the harm. Fewer replications may have no such
//! timeout: their interval is narrow, and wrong. A candidate is therefore not within the limit before it has [`CONFIRMED`]
//! replications.

use firstflight_results::Harm;
use firstflight_scenario::Candidate;

use super::ratio::{Ratio, Ratios};
use super::{AtSize, Bystanders};
use crate::bench::Bench;
use crate::halt::Halt;
use firstflight_hosts::progress::Progress;

/// Packets of all further looks.
const FURTHER_PACKETS: f64 = 4e7;

/// Standard errors between harm and limit that decide before the last look, and after it: those of an interval of 95 %.
const SURE: f64 = 3.0;
const LAST: f64 = 2.0;

/// Replications without which harm is not known to be within the limit. An event that 64 replications do not show has a probability below
/// 3 / 64, with 95 % confidence (J. A. Hanley, A. Lippman-Hand, "If Nothing Goes Wrong, Is Everything All Right?", JAMA 249(13), 1983): if it
/// doubles the time of a bystander, it changes the harm by less than 0.05, half of the default limit's tenth.
const CONFIRMED: u32 = 64;

/// A choice that depends on harm: the candidates that could be recommended at one size, or at several sizes together.
pub(crate) struct Contest {
    /// Places of the sizes among all, ascending.
    pub(crate) sizes: Vec<usize>,
    /// In the order of their times.
    pub(crate) contenders: Vec<Contender>,
}

/// A candidate that could be recommended.
pub(crate) struct Contender {
    /// Its place among the candidates at each size of the contest, or that of the one that stands for it there.
    pub(crate) places: Vec<usize>,
    /// Places in the contest of the contenders than which it is known to take longer.
    pub(crate) later_than: Vec<usize>,
}

/// One of the paths of a mix: its share, its bench, and its bystanders.
pub(crate) struct Part<'a> {
    /// Share of the path at each size, ascending.
    pub(crate) shares: Vec<f64>,
    pub(crate) bench: Bench<'a>,
    pub(crate) bystanders: &'a mut Bystanders,
}

/// Further looks for each contest, until it is known of those contenders that could be recommended for all `parts` together whether
/// their harm is within `limit` at each size. Each time the part that is least sure for its share has twice as many replications.
///
/// # Errors
/// If the host refuses a run, or the progress is stopped.
pub(crate) fn settle(
    parts: &mut [Part<'_>],
    candidates: &[Candidate],
    limit: f64,
    contests: &[Contest],
    progress: &dyn Progress,
) -> Result<(), Halt> {
    let mut left = FURTHER_PACKETS;
    for (number, contest) in contests.iter().enumerate() {
        let mut own = left / (contests.len() - number) as f64;
        // Sizes and places of the candidates that have had their last look.
        let mut done: Vec<(usize, usize)> = vec![];
        loop {
            let of_parts = |at: usize| -> Vec<(f64, &AtSize)> {
                parts.iter().map(|part| (part.shares[at], &part.bystanders.sizes[at])).collect()
            };
            let Some((at, place)) = unsure(&of_parts, limit, contest, &done) else { break };
            let part = least_sure(&of_parts(at), place).map(|part| {
                let bystanders = &*parts[part].bystanders;
                let (scenes, runs) = bystanders.to_double(at, place);
                let packets = bystanders.sizes[at].packets * f64::from(runs);
                (part, scenes + runs, packets + bystanders.scene_packets * f64::from(scenes))
            });
            let Some((part, steps, work)) = part.filter(|(.., work)| *work <= own) else {
                done.push((at, place));
                continue;
            };
            (own, left) = (own - work, left - work);
            progress.begin("harm near its limit", steps.into());
            let Part { bench, bystanders, .. } = &mut parts[part];
            let until = 2 * bystanders.sizes[at].replications(place);
            bystanders.extend(bench, at, candidates, &[place], until, progress)?;
        }
    }
    Ok(())
}

/// Size and place of the first contender that needs a further look; `None` if no one does. One that is known to take longer than another one
/// within the limit does not.
fn unsure<'p>(
    parts: &dyn Fn(usize) -> Vec<(f64, &'p AtSize)>,
    limit: f64,
    contest: &Contest,
    done: &[(usize, usize)],
) -> Option<(usize, usize)> {
    let mut within: Vec<usize> = vec![];
    for (number, it) in contest.contenders.iter().enumerate() {
        if it.later_than.iter().any(|faster| within.contains(faster)) {
            continue;
        }
        let looks = contest.sizes.iter().zip(&it.places);
        let looks: Vec<Look> =
            looks.map(|(&at, &place)| look(&parts(at), place, limit, done.contains(&(at, place)))).collect();
        if looks.contains(&Look::Above) {
            continue;
        }
        match looks.iter().position(|look| *look == Look::Open) {
            Some(first) => return Some((contest.sizes[first], it.places[first])),
            None if looks.iter().all(|look| *look == Look::Within) => within.push(number),
            None => {}
        }
    }
    None
}

/// State of the harm of a candidate at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Look {
    Within,
    /// Above the limit, or a bystander did not end.
    Above,
    /// Another look is needed.
    Open,
    /// The last look did not decide.
    Undecided,
}

/// The state of a candidate; `last` if it has had its last look.
fn look(parts: &[(f64, &AtSize)], place: usize, limit: f64, last: bool) -> Look {
    // A candidate beside which a bystander did not end stays so.
    let Some(both) = mixed(parts, place) else { return Look::Above };
    match is_within(both, limit, if last { LAST } else { SURE }) {
        Some(true) if last || confirmed(parts, place) => Look::Within,
        Some(false) => Look::Above,
        _ if last => Look::Undecided,
        _ => Look::Open,
    }
}

/// Whether a candidate has enough replications in all parts together.
fn confirmed(parts: &[(f64, &AtSize)], place: usize) -> bool {
    let counted = parts.iter().filter(|(share, _)| *share > 0.0);
    counted.map(|(_, of_size)| of_size.replications(place)).sum::<u32>() >= CONFIRMED
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

/// The part whose harm of the candidate at `place` has the largest standard error for its share, of those that can have more
/// replications; `None` if there is none.
fn least_sure(parts: &[(f64, &AtSize)], place: usize) -> Option<usize> {
    let error = |&(share, of_size): &(f64, &AtSize)| {
        let both = of_size.harm(place).map(Ratios::both);
        share * both.into_iter().flatten().map(|ratio| ratio.error).fold(0.0, f64::max)
    };
    let can =
        |&&(share, of_size): &&(f64, &AtSize)| share > 0.0 && 2 * of_size.replications(place) <= Bench::MOST;
    let all = parts.iter().enumerate().filter(|(_, part)| can(part));
    all.max_by(|a, b| error(a.1).total_cmp(&error(b.1))).map(|(index, _)| index)
}

/// Whether both are within the limit, as far as this number of standard errors shows it.
fn is_within(both: [Ratio; 2], limit: f64, sure: f64) -> Option<bool> {
    if both.iter().any(|ratio| ratio.value - sure * ratio.error > limit) {
        return Some(false);
    }
    let within =
        |ratio: &Ratio| ratio.value <= limit && ratio.value + sure * ratio.error <= Harm::most(limit);
    both.iter().all(within).then_some(true)
}

#[cfg(test)]
mod tests {
    use super::super::scene::Times;
    use super::*;

    fn times(bulk: f64, request_response: f64) -> Option<Times> {
        Some(Times { age: 0.0, bulk, request_response })
    }

    /// `count` times of a bulk flow, by turns two above `mean` by `spread` and two below. Of 16, seven of fifteen successive
    /// differences are twice the spread, and the standard error is spread * sqrt(7 * 4 / (2 * 16 * 15)), 0.0242 for 0.1; of 64, 31 of 63 are,
    /// and it is 0.0124.
    fn by_turns(count: usize, mean: f64, spread: f64) -> Vec<Option<Times>> {
        (0..count).map(|index| times(mean + if index % 4 < 2 { spread } else { -spread }, 1.0)).collect()
    }

    fn at_size(beside: Vec<Vec<Option<Times>>>) -> AtSize {
        AtSize { size: 30_000, packets: 1.0, present: by_turns(64, 1.0, 0.0), beside }
    }

    #[test]
    fn the_fastest_contender_that_may_be_within_the_limit_has_the_next_look() {
        let all = at_size(vec![
            // Within: 1 + 3 * 0.0124 < 1.122.
            by_turns(64, 1.0, 0.1),
            // Open: 1.09 + 2 * 0.0124 < 1.122 < 1.09 + 3 * 0.0124.
            by_turns(64, 1.09, 0.1),
            // Above: 1.2 - 3 * 0.0124 > 1.1.
            by_turns(64, 1.2, 0.1),
            vec![None; 64],
            // Within, as far as sixteen can show it.
            by_turns(16, 1.0, 0.0),
        ]);
        // Places of the candidates, and those in the list of the ones that are faster.
        let contender = |&(place, later_than): &(usize, &[usize])| Contender {
            places: vec![place],
            later_than: later_than.into(),
        };
        let of = |all_of: &[(usize, &[usize])], done: &[usize]| {
            let contest = Contest { sizes: vec![0], contenders: all_of.iter().map(contender).collect() };
            let done: Vec<(usize, usize)> = done.iter().map(|&place| (0, place)).collect();
            unsure(&|_| vec![(1.0, &all)], 1.1, &contest, &done).map(|(_, place)| place)
        };
        assert_eq!(of(&[(3, &[]), (2, &[]), (1, &[]), (0, &[])], &[]), Some(1));
        assert_eq!(of(&[(0, &[]), (1, &[0])], &[]), None, "one within the limit is known to be faster");
        assert_eq!(of(&[(0, &[]), (1, &[])], &[]), Some(1), "it may be as fast");
        assert_eq!(of(&[(2, &[]), (1, &[0])], &[]), Some(1), "the faster one is above");
        assert_eq!(of(&[(4, &[]), (0, &[])], &[]), Some(4), "sixteen replications are few");
        // After its last look an interval of 95 % decides, and few replications do.
        assert_eq!(of(&[(1, &[]), (4, &[0])], &[1]), None);
        assert_eq!(of(&[(4, &[]), (1, &[0])], &[4]), None);
    }

    #[test]
    fn a_candidate_for_all_sizes_has_its_looks_at_each_until_one_is_above() {
        let (within, open, above) = (by_turns(64, 1.0, 0.1), by_turns(64, 1.09, 0.1), by_turns(64, 1.2, 0.1));
        let sizes =
            [at_size(vec![within.clone(), open.clone(), within.clone()]), at_size(vec![within, above, open])];
        let contender = |place: usize, later_than: &[usize]| Contender {
            places: vec![place; 2],
            later_than: later_than.into(),
        };
        let of = |contenders: Vec<Contender>, done: &[(usize, usize)]| {
            let contest = Contest { sizes: vec![0, 1], contenders };
            unsure(&|at| vec![(1.0, &sizes[at])], 1.1, &contest, done)
        };
        // The second candidate is open at the first size, which does not matter: it is above the limit at the second.
        assert_eq!(of(vec![contender(1, &[]), contender(2, &[]), contender(0, &[])], &[]), Some((1, 2)));
        // The third one is within the limit after its last look at the second size (1.09 + 2 * 0.0124 < 1.122), the first one is later.
        assert_eq!(of(vec![contender(2, &[]), contender(0, &[0])], &[(1, 2)]), None);
        // The second candidate is open at the first size only where another one stands for it at the second.
        let stands = Contender { places: vec![1, 0], later_than: vec![] };
        assert_eq!(of(vec![stands], &[]), Some((0, 1)));
    }

    #[test]
    fn the_harm_in_a_mix_is_the_mean_by_share_and_the_part_with_the_largest_error_for_its_share_is_least_sure()
     {
        let (first, second) = (at_size(vec![by_turns(16, 1.2, 0.1)]), at_size(vec![by_turns(16, 1.0, 0.2)]));
        let parts = [(0.6, &first), (0.2, &second)];
        // (0.6 * 1.2 + 0.2 * 1) / 0.8 = 1.15; sqrt((0.75 * 0.1)^2 + (0.25 * 0.2)^2) * 0.24152 = 0.021771.
        let [bulk, requests] = mixed(&parts, 0).expect("all ended");
        assert!((bulk.value - 1.15).abs() < 1e-12 && (bulk.error - 0.021_771).abs() < 1e-6, "{bulk:?}");
        assert!((requests.value - 1.0).abs() < 1e-12 && requests.error == 0.0, "{requests:?}");
        // 0.6 * 0.1 is more than 0.2 * 0.2.
        assert_eq!(least_sure(&parts, 0), Some(0));
        assert_eq!(least_sure(&[(0.0, &first), (0.2, &second)], 0), Some(1));
        // Sixteen replications of each are no 64.
        assert!(!confirmed(&parts, 0));
    }

    #[test]
    fn a_part_without_a_share_has_no_part_in_the_harm() {
        let counted = at_size(vec![by_turns(16, 1.5, 0.1)]);
        let uncounted = at_size(vec![vec![None; 16]]);
        assert_eq!(mixed(&[(1.0, &counted), (0.0, &uncounted)], 0), mixed(&[(1.0, &counted)], 0));
        assert_eq!(mixed(&[(0.5, &counted), (0.5, &uncounted)], 0), None);
    }
}
