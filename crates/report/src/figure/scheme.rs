//! The figure of a scheme: its window and its queue over time.

use firstflight_hosts::host::FlowOverTime;

use super::{Axis, Course, Figure, Mark, Panel, Pattern, Point, Shape, Spacing, Stroke, Tone};

/// Scheme with which every other one is compared.
pub const BASELINE: &str = "slow-start+reno";

/// The window and the queue of a scheme's flow over time, beside those of [`BASELINE`] on the same path. `conditions` is the subtitle.
pub fn scheme(conditions: &str, flow: &FlowOverTime, baseline: Option<&FlowOverTime>) -> Figure {
    let highest = [Some(flow), baseline].into_iter().flatten().flat_map(|f| &f.series.cwnd_packets).copied();
    let capacity = flow.bdp_packets + if flow.buffer_packets.is_finite() { flow.buffer_packets } else { 0.0 };
    // The range follows the windows: a threshold far above them would flatten their lines.
    let top = 1.04 * highest.fold(capacity, f64::max);
    let lasted = [Some(flow), baseline].into_iter().flatten().map(|f| f.lasted_s).fold(0.0, f64::max);
    let windows = Axis { title: "window, packets".into(), range: Some([0.0, top]), spacing: Spacing::Linear };
    Figure {
        title: flow.scheme.clone(),
        subtitle: conditions.to_owned(),
        x: Axis {
            title: "time since the flow's start, s".into(),
            range: Some([0.0, lasted]),
            spacing: Spacing::Linear,
        },
        panels: vec![
            Panel { height: 250, y: windows, marks: windows_of(flow, baseline) },
            Panel {
                height: 90,
                y: Axis { title: "queue, packets".into(), range: None, spacing: Spacing::Linear },
                marks: queue_of(flow),
            },
        ],
    }
}

fn windows_of(flow: &FlowOverTime, baseline: Option<&FlowOverTime>) -> Vec<Mark> {
    let level = |name: &str, y: f64| mark(name, Tone::Grey, Shape::Level { y, stroke: Stroke::Dashed });
    let mut marks = vec![level("BDP, and with the buffer", flow.bdp_packets)];
    if flow.buffer_packets.is_finite() {
        marks.push(Mark { name: None, ..level("", flow.bdp_packets + flow.buffer_packets) });
    }
    if let Some(baseline) = baseline {
        let cwnd = known(&baseline.series.cwnd_packets);
        let line = mark(&format!("cwnd of {BASELINE}"), Tone::Orange, steps(baseline, cwnd, Stroke::Thin));
        marks.push(Mark { pattern: Pattern(1), ..line });
    }
    let ssthresh = &flow.series.ssthresh_packets;
    if ssthresh.iter().any(Option::is_some) {
        let line = mark("ssthresh", Tone::Green, steps(flow, ssthresh.clone(), Stroke::Thin));
        marks.push(Mark { pattern: Pattern(3), ..line });
    }
    marks.push(mark("cwnd", Tone::Blue, steps(flow, known(&flow.series.cwnd_packets), Stroke::Solid)));
    if let Some(exit) = flow.startup_exit {
        let point = Point { x: exit.time_s, y: exit.cwnd_packets, label: exit.reason.label().into() };
        marks.push(mark("start-up ends", Tone::Blue, Shape::Points(vec![point])));
    }
    marks
}

fn queue_of(flow: &FlowOverTime) -> Vec<Mark> {
    let queue = known(&flow.series.queue_packets);
    let mut marks = vec![Mark { name: None, ..mark("", Tone::Violet, steps(flow, queue, Stroke::Solid)) }];
    if !flow.losses_s.is_empty() {
        marks.push(mark("packets lost", Tone::Magenta, Shape::Ticks(flow.losses_s.clone())));
    }
    marks
}

fn mark(name: &str, tone: Tone, shape: Shape) -> Mark {
    Mark { name: Some(name.into()), tone, pattern: Pattern::default(), shape }
}

fn known(column: &[f64]) -> Vec<Option<f64>> {
    column.iter().copied().map(Some).collect()
}

fn steps(flow: &FlowOverTime, column: Vec<Option<f64>>, stroke: Stroke) -> Shape {
    let points = flow.series.time_s.iter().copied().zip(column).collect();
    Shape::Line { points, course: Course::Steps, stroke }
}
