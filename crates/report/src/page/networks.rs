//! The table by network, for a capture of several paths.

use firstflight_results::{Comparison, NetworkResult};
use maud::{Markup, html};

use crate::format::{bytes, count, percent_magnitude, printable};
use crate::names::Names;
use crate::networks::{Effect, bytes_in_short, effects, rate_and_rtt};
use crate::path::kinds;

/// The section; nothing without networks.
pub(super) fn section(comparison: &Comparison, names: &Names) -> Markup {
    let present = comparison.reference();
    html! {
        @if !comparison.groups.is_empty() {
            section #networks aria-labelledby="networks-title" {
                h2 #networks-title { "By network" }
                p.note {
                    "Connections of one client network whose captures resemble one bottleneck have one path. The mix draws "
                    "transfers from the networks by their share of the captured transfers of about that size. A difference is "
                    "that of the medians"
                    @if let Some(present) = present { " from " (names.short(present)) }
                    ", with its 95\u{a0}% interval."
                }
                div.scroll role="region" tabindex="0" aria-label="By network" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "Network" }
                                th.num scope="col" { "Connections" }
                                th.num scope="col" { "Data" }
                                th scope="col" { "Path" }
                                th.num scope="col" { "Share of the mix" }
                                th scope="col" { "What is recommended for the mix" }
                                th scope="col" { "Recommended for it alone" }
                            }
                        }
                        tbody { @for network in &comparison.groups { (row(network, comparison, names)) } }
                    }
                }
            }
        }
    }
}

fn row(network: &NetworkResult, comparison: &Comparison, names: &Names) -> Markup {
    let shares = network.mix.iter().map(|it| (it.size_bytes, percent_magnitude(it.share)));
    html! {
        tr {
            th scope="row" { (printable(&network.network)) }
            td.num { (count(network.connections as f64)) }
            td.num { (bytes_in_short(network.bytes)) }
            td.text { (path(network)) }
            @if let Some(why) = &network.no_answer {
                td.text colspan="3" { "No answer, and no part of the mix: " (printable(why)) }
            } @else {
                td.num { (lines(merged(shares.collect()))) }
                td.text { (lines(merged(mixed(network, comparison)))) }
                td.text { (lines(merged(alone(network, names)))) }
            }
        }
    }
}

/// Kind, rate and round-trip time of a network.
fn path(network: &NetworkResult) -> String {
    let known: Vec<String> = rate_and_rtt(network).into_iter().flatten().collect();
    let known = if known.is_empty() { "unknown".to_owned() } else { known.join(", ") };
    format!("{}{known}", kinds(&network.path))
}

/// The effect of what is recommended for the mix, by size.
fn mixed(network: &NetworkResult, comparison: &Comparison) -> Vec<(u64, String)> {
    let text = |effect: Effect| match effect {
        Effect::NoChange => "nothing".to_owned(),
        Effect::Unknown => "–".to_owned(),
        Effect::Difference(by) => difference(by.gain(), by.worth_avoiding()),
    };
    effects(comparison, network).into_iter().map(|(size, effect)| (size, text(effect))).collect()
}

/// Recommendation for the network alone, by size.
fn alone(network: &NetworkResult, names: &Names) -> Vec<(u64, String)> {
    let text = |scheme: &Option<String>, gain: Option<[f64; 3]>| match (scheme, gain) {
        (None, _) => "no change".to_owned(),
        (Some(scheme), None) => names.short(scheme),
        (Some(scheme), Some(gain)) => format!("{}, {}", names.short(scheme), difference(gain, false)),
    };
    network.recommended.iter().map(|one| (one.size_bytes, text(&one.scheme, one.gain))).collect()
}

/// A text for each size, or one for all if they are the same.
fn merged(texts: Vec<(u64, String)>) -> Vec<(Option<String>, String)> {
    match &texts[..] {
        [] => vec![],
        [(_, first), others @ ..] if others.iter().all(|(_, text)| text == first) => {
            vec![(None, first.clone())]
        }
        _ => texts.into_iter().map(|(size, text)| (Some(bytes(size)), text)).collect(),
    }
}

fn lines(texts: Vec<(Option<String>, String)>) -> Markup {
    html! {
        @for (size, text) in texts {
            div { @if let Some(size) = size { span.dim { (size) ": " } } (text) }
        }
    }
}

/// A gain with its interval: `18 % sooner (12 % to 25 %)`.
fn difference([low, gain, high]: [f64; 3], loses: bool) -> String {
    let direction = if gain < 0.0 { "later" } else { "sooner" };
    let bound = |share: f64| {
        if share < 0.0 { format!("−{}", percent_magnitude(share)) } else { percent_magnitude(share) }
    };
    let [low, high] = if gain < 0.0 { [-high, -low] } else { [low, high] };
    let (low, high) = (bound(low), bound(high));
    let interval = if low == high { String::new() } else { format!(" ({low} to {high})") };
    let mark = if loses { ": loses" } else { "" };
    format!("{} {direction}{interval}{mark}", percent_magnitude(gain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_sooner_or_later_with_its_interval_in_that_direction() {
        let text = |gain, loses| difference(gain, loses).replace('\u{a0}', " ");
        assert_eq!(text([0.12, 0.18, 0.25], false), "18 % sooner (12 % to 25 %)");
        assert_eq!(text([-0.2, -0.1, 0.05], false), "10 % later (−5.0 % to 20 %)");
        assert_eq!(text([0.46, 0.46, 0.46], false), "46 % sooner");
        assert_eq!(text([-0.2, -0.15, -0.1], true), "15 % later (10 % to 20 %): loses");
    }

    #[test]
    fn what_is_the_same_at_all_sizes_is_written_once() {
        let texts = |all: [&str; 2]| merged(vec![(10_000, all[0].into()), (20_000, all[1].into())]);
        assert_eq!(texts(["a", "a"]), [(None, "a".to_owned())]);
        let two = texts(["a", "b"]);
        assert_eq!(two[1], (Some("20\u{a0}KB".to_owned()), "b".to_owned()));
        assert_eq!(two.len(), 2);
    }
}
