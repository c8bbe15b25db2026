//! Graphs of a single captured connection.

use firstflight_results::CompareReport;
use maud::{Markup, PreEscaped, html};

use crate::figure::sequence;

/// The section; nothing unless the capture has a single connection.
pub(super) fn section(report: &CompareReport) -> Markup {
    let (Some(graph), [connection]) = (&report.sequence, &report.comparison.connections[..]) else {
        return html! {};
    };
    let label = "Sent, acknowledged and retransmitted data, and round trips, over time. \"Captured connections\" has the totals.";
    html! {
        section #sequence aria-labelledby="sequence-title" {
            h2 #sequence-title { "Time-sequence graph and round trips" }
            p.note {
                "A steep line is a fast transfer. The distance from the green line to the blue one is the data in flight; where the blue "
                "line meets the dashed one, the receive window has no more room. Crosses on the data are retransmissions. Round trips that "
                "grow show a queue."
            }
            div.scroll role="region" tabindex="0" aria-label="Time-sequence graph" {
                (PreEscaped(sequence(&connection.name, graph).element(label)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use firstflight_results::TimeSequence;

    use super::*;

    #[test]
    fn a_figure_within_the_page_has_no_style_of_its_own_and_escapes_names() {
        let points = vec![(0.0, 1448.0), (0.1, 2896.0)];
        let graph = TimeSequence {
            sent: points.clone(),
            acked: vec![(0.05, 1448.0), (0.15, 2896.0)],
            allowed: vec![(0.05, 65_535.0)],
            resent: vec![(0.12, 0.0)],
            rtt: vec![(0.05, 0.05)],
        };
        let svg = sequence("10.0.0.1:80 > <b>", &graph).element("a \"label\"");
        for part in [
            "class=\"drawing whole\"",
            "&lt;b&gt;",
            "a &quot;label&quot;",
            ">sent<",
            ">retransmitted<",
            ">round trip, ms<",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert!(!svg.contains("<style") && !svg.contains(" style=") && !svg.contains("<b>"), "{svg}");
        // Without a known window scale, and without retransmissions, neither is in the legend.
        let plain = TimeSequence { sent: points.clone(), acked: points, ..TimeSequence::default() };
        let svg = sequence("x", &plain).element("");
        assert!(!svg.contains("receive window") && !svg.contains("retransmitted"), "{svg}");
    }
}
