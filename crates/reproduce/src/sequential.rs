//! Further replications for statements that are undecided.

use std::collections::{BTreeMap, BTreeSet};

use crate::checked::Outcome;
use crate::evidence::Evidence;
use crate::judge::{Judged, MOST_SEEDS};
use crate::library::Library;

/// Replications by paper (its folder) and experiment.
pub type Replications = BTreeMap<(String, String), u32>;

/// Replications of an experiment with `seeds` of them, if a statement is undecided: twice as many, at most [`MOST_SEEDS`].
pub fn more(seeds: u32) -> u32 {
    (2 * seeds).min(MOST_SEEDS)
}

/// Replications that undecided statements need next, beyond `known`, and their cost in packet hops: each experiment behind
/// such a statement gets [`more`], the cheapest first, as long as the sum stays within `budget`.
/// Lines that are undecided as a whole come before lines of which a part is.
pub fn next(
    library: &Library,
    evidence: &Evidence,
    judged: &[Judged],
    known: &Replications,
    budget: u64,
) -> (Replications, u64) {
    let (mut wanted, mut spent) = (known.clone(), 0);
    for whole in [true, false] {
        let mut candidates: BTreeSet<(u64, String, String, u32)> = BTreeSet::new();
        for row in judged {
            let Some((paper, claim)) = library.claim(&row.id) else { continue };
            let Some(ours) = evidence.papers.get(&paper.folder) else { continue };
            let fails = row.judged().any(|one| one.outcome == Outcome::Fails);
            if fails == whole {
                continue;
            }
            let undecided = row.judged().filter(|one| one.outcome == Outcome::Undecided);
            let statements =
                undecided.filter_map(|one| claim.statements.iter().find(|own| own.text == one.that));
            for name in statements.flat_map(|statement| statement.that.experiments()) {
                let (Some(measured), Some(experiment)) =
                    (ours.experiments.get(name), paper.experiments.get(name))
                else {
                    continue;
                };
                let seeds = measured.replications;
                if experiment.replications < 2 || !(2..MOST_SEEDS).contains(&seeds) {
                    continue;
                }
                let more = more(seeds);
                let cost = measured.packet_hops / u64::from(seeds) * u64::from(more - seeds);
                candidates.insert((cost, paper.folder.clone(), name.to_owned(), more));
            }
        }
        for (cost, folder, name, more) in candidates {
            let key = (folder, name);
            if wanted.get(&key).is_some_and(|count| *count >= more) || spent + cost > budget {
                continue;
            }
            spent += cost;
            wanted.insert(key, more);
        }
    }
    (wanted, spent)
}
