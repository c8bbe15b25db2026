//! Advice: the recommended candidates, the cost of each to others, and the commands for it.

use firstflight_results::{Comparison, Recommended, SchemeResult};

use crate::figure::{Choice, Tradeoff};
use crate::format::{bytes, list, printable};
use crate::names::Names;

/// One recommended candidate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Advice {
    /// Candidate and the sizes for which it is recommended: `hystart-linux+cubic@iw30, for 30 KB and 3 MB`, or `for all sizes`.
    pub(crate) title: String,
    /// Harm to others at each of the sizes, one sentence each; empty if it was not measured.
    pub(crate) cost: Vec<String>,
    /// Commands or options, one text for each stack; empty if this stack does not have it.
    pub(crate) how: Vec<String>,
}

/// The recommended candidates, each once: the one for all sizes, and the others in the order of the sizes.
pub(crate) fn advice(comparison: &Comparison, names: &Names) -> Vec<Advice> {
    let for_all = comparison.for_all_sizes.as_ref().and_then(|it| it.scheme.as_ref());
    let mut schemes: Vec<&String> = vec![];
    let of_sizes = comparison.recommended.iter().filter_map(|it| it.scheme.as_ref());
    for scheme in for_all.into_iter().chain(of_sizes) {
        if !schemes.contains(&scheme) {
            schemes.push(scheme);
        }
    }
    let of_scheme = |scheme: &String| {
        let at: Vec<(&Recommended, &SchemeResult)> = comparison
            .recommended
            .iter()
            .filter(|it| for_all == Some(scheme) || it.scheme.as_ref() == Some(scheme))
            .filter_map(|it| Some((it, result(comparison, scheme, it.size_bytes)?)))
            .collect();
        let sizes: Vec<String> = at.iter().map(|(it, _)| bytes(it.size_bytes)).collect();
        let sizes = if for_all == Some(scheme) { "all sizes".into() } else { list(&sizes) };
        Advice {
            title: format!("{}, for {sizes}", names.get(scheme).short),
            cost: at.iter().filter_map(|(it, result)| cost(it, result)).collect(),
            how: at
                .first()
                .map_or(vec![], |(_, result)| result.how.iter().map(|way| printable(way)).collect()),
        }
    };
    schemes.into_iter().map(of_scheme).collect()
}

fn result<'a>(comparison: &'a Comparison, scheme: &str, size: u64) -> Option<&'a SchemeResult> {
    comparison.results.iter().find(|it| it.scheme == scheme && it.size_bytes == size)
}

/// The harm of a recommended candidate at one size, as a sentence.
fn cost(recommended: &Recommended, result: &SchemeResult) -> Option<String> {
    let [bulk, requests] = result.harm?.each().map(|(ratio, [low, high])| match low < high {
        true => format!("{ratio:.2} times ({low:.2} to {high:.2})"),
        false => format!("{ratio:.2} times"),
    });
    let limit = recommended.max_harm.map_or(String::new(), |limit| format!("; limit {limit:.2}"));
    Some(format!(
        "{}: beside it a bulk flow takes {bulk} and short requests {requests} as long as beside the present scheme (95\u{a0}% \
         intervals{limit}).",
        bytes(recommended.size_bytes)
    ))
}

/// A picture for each size at which harm was measured.
pub(crate) fn pictures(comparison: &Comparison, names: &Names) -> Vec<Tradeoff> {
    let of_size = |size: u64| {
        let recommended = comparison.recommended.iter().find(|it| it.size_bytes == size);
        let limit = recommended.and_then(|it| it.max_harm);
        let choice = |it: &&SchemeResult| {
            let ((harm, harm_ci95), completion) = (it.harm?.deciding(limit), it.completion_s?);
            let name = names.get(&it.scheme);
            Some(Choice {
                label: name.short.clone(),
                number: name.colour,
                completion_s: completion.median,
                harm,
                harm_ci95,
                recommended: recommended.is_some_and(|of| of.scheme.as_ref() == Some(&it.scheme)),
                deployable: !it.how.is_empty(),
            })
        };
        let choices: Vec<Choice> = comparison.ranked(size).iter().filter_map(choice).collect();
        Tradeoff { title: bytes(size), limit, choices }
    };
    let pictures = comparison.sizes().into_iter().map(of_size);
    pictures.filter(|picture| !picture.choices.is_empty()).collect()
}
