//! The table by network, for a capture of several paths.

use maud::{Markup, html};

use crate::format::{bytes, count, percent_magnitude, printable};

/// One network of clients.
pub(super) struct Network {
    /// Network: an address with its prefix, or a name.
    pub(super) network: String,
    /// Captured connections.
    pub(super) connections: u64,
    /// Bytes that were transferred to it.
    pub(super) bytes: u64,
    /// Its path in words.
    pub(super) path: String,
    /// Recommendation at each size, ascending.
    pub(super) recommended: Vec<Advice>,
}

/// Recommendation at one size.
pub(super) struct Advice {
    /// Transfer size, bytes.
    pub(super) size_bytes: u64,
    /// Name of the scheme; `None` if nothing is recommended.
    pub(super) scheme: Option<String>,
    /// Share of the baseline's time by which the median ends sooner, with the ends of its interval around it; negative if
    /// later. `None` if unknown.
    pub(super) gain: Option<[f64; 3]>,
}

/// The section; nothing without networks.
pub(super) fn section(networks: &[Network]) -> Markup {
    html! {
        @if !networks.is_empty() {
            section #networks aria-labelledby="networks-title" {
                h2 #networks-title { "By network" }
                p.note {
                    "Connections of one client network whose captures resemble one bottleneck have one path. A gain is the "
                    "difference of the medians from the baseline, with its 95\u{a0}% interval."
                }
                div.scroll role="region" tabindex="0" aria-label="By network" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "Network" }
                                th.num scope="col" { "Connections" }
                                th.num scope="col" { "Bytes" }
                                th scope="col" { "Path" }
                                th scope="col" { "Recommended" }
                                th scope="col" { "Gain" }
                            }
                        }
                        tbody { @for network in networks { (row(network)) } }
                    }
                }
            }
        }
    }
}

fn row(network: &Network) -> Markup {
    let advice = merged(&network.recommended);
    html! {
        tr {
            th scope="row" { (printable(&network.network)) }
            td.num { (count(network.connections as f64)) }
            td.num { (bytes(network.bytes)) }
            td.text { (printable(&network.path)) }
            td { @for (sizes, one) in &advice { (line(sizes, &recommended(one))) } }
            td { @for (sizes, one) in &advice { (line(sizes, &gain(one))) } }
        }
    }
}

/// The recommendations, without sizes if all sizes have one scheme and one gain.
fn merged(advice: &[Advice]) -> Vec<(Option<String>, &Advice)> {
    let words = |one: &Advice| (recommended(one), gain(one));
    match advice {
        [] => vec![],
        [first, others @ ..] if others.iter().all(|one| words(one) == words(first)) => vec![(None, first)],
        all => all.iter().map(|one| (Some(bytes(one.size_bytes)), one)).collect(),
    }
}

fn line(sizes: &Option<String>, text: &str) -> Markup {
    html! { div { @if let Some(size) = sizes { span.dim { (size) ": " } } (text) } }
}

fn recommended(advice: &Advice) -> String {
    advice.scheme.as_deref().map_or_else(|| "no change".to_owned(), printable)
}

fn gain(advice: &Advice) -> String {
    let (Some([low, gain, high]), true) = (advice.gain, advice.scheme.is_some()) else {
        return "–".to_owned();
    };
    let direction = if gain < 0.0 { "later" } else { "sooner" };
    let bound = |share: f64| {
        if share < 0.0 { format!("−{}", percent_magnitude(share)) } else { percent_magnitude(share) }
    };
    let [low, high] = if gain < 0.0 { [-high, -low] } else { [low, high] };
    format!("{} {direction} ({} to {})", percent_magnitude(gain), bound(low), bound(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(recommended: Vec<Advice>) -> Network {
        Network {
            network: "198.51.100.0/24".into(),
            connections: 12_480,
            bytes: 3_000_000,
            path: "20 Mbit/s, <60> ms".into(),
            recommended,
        }
    }

    fn advice(size_bytes: u64, scheme: Option<&str>, gain: [f64; 3]) -> Advice {
        Advice { size_bytes, scheme: scheme.map(str::to_owned), gain: Some(gain) }
    }

    #[test]
    fn a_network_has_its_path_and_what_is_recommended_at_each_size() {
        let rows = [network(vec![
            advice(30_000, Some("window 30"), [0.12, 0.18, 0.25]),
            advice(1_000_000, None, [-0.01, 0.0, 0.01]),
            advice(3_000_000, Some("window 10"), [-0.2, -0.1, 0.05]),
        ])];
        let page = section(&rows).into_string().replace('\u{a0}', " ");
        for text in [
            "198.51.100.0/24",
            ">12480<",
            ">3 MB<",
            "20 Mbit/s, &lt;60&gt; ms",
            "<span class=\"dim\">30 KB: </span>window 30",
            "<span class=\"dim\">30 KB: </span>18 % sooner (12 % to 25 %)",
            "<span class=\"dim\">1 MB: </span>no change",
            "<span class=\"dim\">1 MB: </span>–",
            "<span class=\"dim\">3 MB: </span>10 % later (−5.0 % to 20 %)",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }

    #[test]
    fn one_recommendation_for_all_sizes_is_written_once() {
        let all = [10_000, 20_000].map(|size| advice(size, Some("window 30"), [0.1, 0.2, 0.3]));
        let page = section(&[network(all.into())]).into_string();
        assert_eq!(page.matches("window 30").count(), 1, "{page}");
        assert!(!page.contains("KB"), "{page}");
    }

    #[test]
    fn without_networks_there_is_no_section() {
        assert_eq!(section(&[]).into_string(), "");
    }
}
