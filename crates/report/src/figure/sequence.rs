//! The figure of a captured connection: its data and its round trips over time.

use firstflight_results::TimeSequence;

use super::{Axis, Course, Figure, Mark, Panel, Pattern, Shape, Spacing, Stroke, Tone};

/// Time-sequence graph above, round trips below, over one axis of time. `name` is the connection.
pub(crate) fn sequence(name: &str, graph: &TimeSequence) -> Figure {
    let axis = |title: &str| Axis { title: title.into(), range: None, spacing: Spacing::Linear };
    let line = |name: &str, tone: Tone, points: &[(f64, f64)], stroke: Stroke| {
        let points: Vec<_> = points.iter().map(|&(at, bytes)| (at, Some(bytes))).collect();
        mark(name, tone, Shape::Line { points, course: Course::Steps, stroke })
    };
    let mut data = vec![];
    if !graph.allowed.is_empty() {
        data.push(line("receive window", Tone::Grey, &graph.allowed, Stroke::Dashed));
    }
    data.push(line("acknowledged", Tone::Green, &graph.acked, Stroke::Thin));
    data.push(line("sent", Tone::Blue, &graph.sent, Stroke::Solid));
    if !graph.resent.is_empty() {
        data.push(mark("retransmitted", Tone::Magenta, Shape::Crosses(graph.resent.clone())));
    }
    // A receive window far above the data would flatten it.
    let top = graph.sent.last().map_or(1.0, |&(_, bytes)| 1.04 * bytes.max(1.0));
    let end = [&graph.sent, &graph.acked].into_iter().filter_map(|points| points.last());
    let end = end.map(|&(at, _)| at).fold(1e-6, f64::max);
    let rtts: Vec<_> = graph.rtt.iter().map(|&(at, seconds)| (at, seconds * 1e3)).collect();
    Figure {
        title: name.into(),
        subtitle: "Time-sequence graph, and round trips of the packets acknowledged".into(),
        x: Axis { range: Some([0.0, end]), ..axis("time since the first data packet, s") },
        panels: vec![
            Panel { height: 280, y: Axis { range: Some([0.0, top]), ..axis("data, bytes") }, marks: data },
            Panel {
                height: 120,
                y: axis("round trip, ms"),
                marks: vec![line("round trip", Tone::Violet, &rtts, Stroke::Thin)],
            },
        ],
    }
}

fn mark(name: &str, tone: Tone, shape: Shape) -> Mark {
    Mark { name: Some(name.into()), tone, pattern: Pattern::default(), shape }
}
