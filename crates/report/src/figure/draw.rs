//! Drawing of a figure as an SVG document. Lengths are in pixels.

use std::fmt::Write as _;

use super::line::{Place, number, path};
use super::scale::Scale;
use super::style::{Pattern, Tone, sheet};
use super::{Axis, Course, Figure, Mark, Panel, Shape, Spacing, Stroke};
use crate::format::printable;

const WIDTH: i64 = 760;
/// Margins of the plot areas; the labels of the vertical axes are in the left one.
const LEFT: i64 = 64;
const RIGHT: i64 = 18;
/// Space above the first line of text, and distance of two baselines.
const TOP: i64 = 10;
const LINE: i64 = 19;
/// Space between two plot areas.
const GAP: i64 = 14;
/// Space below the last plot area, for the labels and the title of the horizontal axis.
const BOTTOM: i64 = 44;
/// Smallest distance of labels on the horizontal and on the vertical axis.
const APART: [f64; 2] = [70.0, 34.0];
/// Width beside the plot area in which dots at its ends are still drawn.
const OVERHANG: i64 = 6;
/// Width of a legend key with its gaps.
const KEY: i64 = 54;
/// Mean width of a character at 13 pixels.
const CHARACTER: i64 = 7;

/// Space above the highest mark, as a share of the axis.
const HEADROOM: f64 = 0.04;

pub(super) fn document(figure: &Figure) -> String {
    let (body, height) = body(figure);
    let mut used: Vec<Tone> =
        figure.panels.iter().flat_map(|panel| &panel.marks).map(|mark| mark.tone).collect();
    used.sort_unstable();
    let lines = figure.panels.iter().flat_map(|panel| &panel.marks);
    let dashed: Vec<Pattern> =
        lines.filter(|mark| matches!(mark.shape, Shape::Line { .. })).map(|mark| mark.pattern).collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
         <title>{}</title>\n<style>{}</style>\n<rect class=\"p\" width=\"{WIDTH}\" height=\"{height}\"/>\n{body}</svg>\n",
        escaped(&figure.title),
        sheet(&used, &dashed)
    )
}

/// The figure as an element of a page, which defines the colours. `label` describes it. A page may have one such figure.
pub(super) fn element(figure: &Figure, label: &str) -> String {
    let (body, height) = body(figure);
    format!(
        "<svg class=\"drawing whole\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
         aria-label=\"{}\">\n{body}</svg>",
        escaped(label)
    )
}

/// The elements of a figure, and its height.
fn body(figure: &Figure) -> (String, i64) {
    let legend = legend(figure);
    let rows = legend.iter().map(|entry| entry.row + 1).max().unwrap_or(0);
    let subtitled = i64::from(!figure.subtitle.is_empty());
    let first = TOP + 18 + subtitled * LINE + rows * LINE + 12;
    let plots: i64 = figure.panels.iter().map(|panel| i64::from(panel.height) + GAP).sum();
    let height = first + plots - GAP + BOTTOM;
    let mut svg = String::new();
    text(&mut svg, "t", (LEFT, TOP + 16), &figure.title);
    if subtitled == 1 {
        text(&mut svg, "d", (LEFT, TOP + 16 + LINE), &figure.subtitle);
    }
    for entry in &legend {
        let baseline = TOP + 18 + subtitled * LINE + (entry.row + 1) * LINE;
        key(&mut svg, entry.mark, (entry.x, baseline - 4));
        if entry.dotted {
            dot(&mut svg, entry.mark, (&(entry.x + 18).to_string(), &(baseline - 4).to_string()));
        }
        text(&mut svg, "", (entry.x + KEY - 10, baseline), entry.name);
    }

    let pixels = [LEFT as f64, (WIDTH - RIGHT) as f64];
    let x = scale(&figure.x, figure.panels.iter().flat_map(xs), 0.0, pixels);
    let mut top = first;
    for (index, panel) in figure.panels.iter().enumerate() {
        draw_panel(&mut svg, panel, index, &x, top);
        top += i64::from(panel.height) + GAP;
    }
    let bottom = top - GAP;
    for tick in x.ticks(APART[0]) {
        let at = x.tenths(tick.value);
        let _ = writeln!(svg, "<path class=\"r\" d=\"M{} {bottom}v5\"/>", number(at));
        let _ = writeln!(
            svg,
            "<text class=\"d m\" x=\"{}\" y=\"{}\">{}</text>",
            number(at),
            bottom + 19,
            tick.label
        );
    }
    text(&mut svg, "d m", ((LEFT + WIDTH - RIGHT) / 2, bottom + 37), &figure.x.title);
    (svg, height)
}

fn draw_panel(svg: &mut String, panel: &Panel, index: usize, x: &Scale, top: i64) {
    let (right, bottom) = (WIDTH - RIGHT, top + i64::from(panel.height));
    let y = scale(&panel.y, panel.marks.iter().flat_map(ys), HEADROOM, [bottom as f64, top as f64]);
    for tick in y.ticks(APART[1]) {
        let at = y.tenths(tick.value);
        let _ = writeln!(svg, "<path class=\"g\" d=\"M{LEFT} {}H{right}\"/>", number(at));
        let _ = writeln!(
            svg,
            "<text class=\"d e\" x=\"{}\" y=\"{}\">{}</text>",
            LEFT - 7,
            number(at + 45),
            tick.label
        );
    }
    let middle = (top + bottom) / 2;
    let _ = writeln!(
        svg,
        "<text class=\"d m\" transform=\"translate(16 {middle})rotate(-90)\">{}</text>",
        escaped(&panel.y.title)
    );
    let is_wide = |mark: &Mark| {
        matches!(mark.shape, Shape::Points(_) | Shape::Rings(_) | Shape::Crosses(_) | Shape::Bars(_))
    };
    let beyond = if panel.marks.iter().any(is_wide) { OVERHANG } else { 0 };
    let _ = writeln!(
        svg,
        "<clipPath id=\"k{index}\"><rect x=\"{}\" y=\"{top}\" width=\"{}\" height=\"{}\"/></clipPath>",
        LEFT - beyond,
        right - LEFT + 2 * beyond,
        panel.height
    );
    let _ = writeln!(svg, "<g clip-path=\"url(#k{index})\">");
    for mark in &panel.marks {
        draw_mark(svg, mark, x, &y, [top, bottom]);
    }
    svg.push_str("</g>\n");
    let _ = writeln!(svg, "<path class=\"r\" d=\"M{LEFT} {top}V{bottom}H{right}\"/>");
}

fn draw_mark(svg: &mut String, mark: &Mark, x: &Scale, y: &Scale, [top, bottom]: [i64; 2]) {
    let tone = mark.tone.class();
    match &mark.shape {
        Shape::Line { points, course, stroke } => {
            let drawn = points.iter().filter(|(at, _)| x.has(*at));
            let points: Vec<_> =
                drawn.map(|(at, value)| (*at, value.filter(|value| y.has(*value)))).collect();
            let data: String = runs(&points, *course, x, y).iter().map(|run| path(run)).collect();
            let (stroke, dash) = (class(*stroke), mark.pattern.class());
            let _ = writeln!(svg, "<path class=\"l {tone}{stroke}{dash}\" d=\"{data}\"/>");
        }
        Shape::Level { y: level, .. } if !y.has(*level) => {}
        Shape::Level { y: level, stroke } => {
            let at = number(y.tenths(*level));
            let right = WIDTH - RIGHT;
            let _ = writeln!(svg, "<path class=\"l {tone}{}\" d=\"M{LEFT} {at}H{right}\"/>", class(*stroke));
        }
        Shape::Points(points) => {
            for point in points.iter().filter(|point| x.has(point.x) && y.has(point.y)) {
                let (px, py) = (x.tenths(point.x), y.tenths(point.y));
                dot(svg, mark, (&number(px), &number(py)));
                if !point.label.is_empty() {
                    let beyond = px / 10 + 8 + width(&point.label) > WIDTH - RIGHT;
                    let (class, dx) = if beyond { ("h e", -80) } else { ("h", 80) };
                    // Below the dot, away from a rising line; above it at the bottom of the panel.
                    let dy = if py + 200 > bottom * 10 { -80 } else { 150 };
                    let _ = writeln!(
                        svg,
                        "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>",
                        number(px + dx),
                        number(py + dy),
                        escaped(&point.label)
                    );
                }
            }
        }
        Shape::Rings(places) => {
            for (px, py) in
                places.iter().filter(|p| x.has(p.0) && y.has(p.1)).map(|p| (x.tenths(p.0), y.tenths(p.1)))
            {
                let (cx, cy) = (number(px), number(py));
                let _ = writeln!(
                    svg,
                    "<circle class=\"l {tone}\" fill=\"none\" cx=\"{cx}\" cy=\"{cy}\" r=\"5.5\"/>"
                );
            }
        }
        Shape::Crosses(places) => {
            let cross = |p: &(f64, f64)| {
                let (px, py) = (number(x.tenths(p.0) - 40), number(y.tenths(p.1) - 40));
                format!("M{px} {py}l8 8m0 -8l-8 8")
            };
            let data: String = places.iter().filter(|p| x.has(p.0) && y.has(p.1)).map(cross).collect();
            let _ = writeln!(svg, "<path class=\"l {tone}\" d=\"{data}\"/>");
        }
        Shape::Bars(bars) => {
            let bar = |&(at, low, high): &(f64, f64, f64)| {
                let (px, from, to) = (x.tenths(at), y.tenths(low), y.tenths(high));
                format!("M{} {}V{}", number(px), number(from), number(to))
            };
            let drawn = bars.iter().filter(|bar| x.has(bar.0) && y.has(bar.1) && y.has(bar.2));
            let data: String = drawn.map(bar).collect();
            let _ = writeln!(svg, "<path class=\"l {tone}\" d=\"{data}\"/>");
        }
        Shape::Ticks(at) => {
            let drawn = at.iter().filter(|at| x.has(**at));
            let mut pixels: Vec<i64> = drawn.map(|&at| x.tenths(at).div_euclid(10)).collect();
            pixels.sort_unstable();
            pixels.dedup();
            let data: String = pixels.iter().map(|px| format!("M{px} {top}v8")).collect();
            let _ = writeln!(svg, "<path class=\"l {tone} n\" d=\"{data}\"/>");
        }
    }
}

/// Uninterrupted parts of a line.
fn runs(points: &[(f64, Option<f64>)], course: Course, x: &Scale, y: &Scale) -> Vec<Vec<Place>> {
    let mut runs: Vec<Vec<Place>> = vec![];
    let mut interrupted = true;
    for &(at, value) in points {
        let px = x.tenths(at);
        // A step holds its value until the next point, or until the interruption.
        if let (Course::Steps, false, Some(&(_, previous))) =
            (course, interrupted, runs.last().and_then(|run| run.last()))
        {
            runs.last_mut().expect("the condition found it").push((px, previous));
        }
        let Some(value) = value else {
            interrupted = true;
            continue;
        };
        if interrupted {
            runs.push(vec![]);
        }
        interrupted = false;
        runs.last_mut().expect("an interruption adds a part").push((px, y.tenths(value)));
    }
    runs
}

/// Entry of the legend.
struct Entry<'a> {
    mark: &'a Mark,
    /// Whether the mark is a line with dots of its own.
    dotted: bool,
    name: &'a str,
    x: i64,
    row: i64,
}

/// Named marks from left to right, in as many rows as they need.
fn legend(figure: &Figure) -> Vec<Entry<'_>> {
    let mut entries = vec![];
    let (mut x, mut row) = (LEFT, 0);
    let all = || figure.panels.iter().flat_map(|panel| &panel.marks);
    let dots_of = |line: &Mark| {
        let same = |mark: &Mark| (mark.tone, mark.pattern) == (line.tone, line.pattern);
        all().any(|mark| matches!(mark.shape, Shape::Points(_)) && mark.name.is_none() && same(mark))
    };
    for mark in all() {
        let Some(name) = &mark.name else { continue };
        let width = KEY + width(name) + 14;
        if x + width > WIDTH - RIGHT && x > LEFT {
            (x, row) = (LEFT, row + 1);
        }
        let dotted = matches!(mark.shape, Shape::Line { .. }) && dots_of(mark);
        entries.push(Entry { mark, dotted, name, x, row });
        x += width;
    }
    entries
}

fn key(svg: &mut String, mark: &Mark, (x, y): (i64, i64)) {
    let tone = mark.tone.class();
    let _ = match &mark.shape {
        Shape::Line { stroke, .. } => {
            let (stroke, dash) = (class(*stroke), mark.pattern.class());
            writeln!(svg, "<path class=\"l {tone}{stroke}{dash}\" d=\"M{x} {y}h36\"/>")
        }
        Shape::Level { stroke, .. } => {
            writeln!(svg, "<path class=\"l {tone}{}\" d=\"M{x} {y}h36\"/>", class(*stroke))
        }
        Shape::Points(_) => {
            dot(svg, mark, (&(x + 18).to_string(), &y.to_string()));
            return;
        }
        Shape::Rings(_) => {
            writeln!(svg, "<circle class=\"l {tone}\" fill=\"none\" cx=\"{}\" cy=\"{y}\" r=\"5.5\"/>", x + 18)
        }
        Shape::Crosses(_) => {
            writeln!(svg, "<path class=\"l {tone}\" d=\"M{} {}l8 8m0 -8l-8 8\"/>", x + 14, y - 4)
        }
        Shape::Bars(_) => {
            writeln!(svg, "<path class=\"l {tone}\" d=\"M{} {}v12\"/>", x + 18, y - 6)
        }
        Shape::Ticks(_) => {
            writeln!(svg, "<path class=\"l {tone} n\" d=\"M{} {}v8m4 -8v8m7 -8v8\"/>", x + 13, y - 4)
        }
    };
}

/// A dot of the mark's form.
fn dot(svg: &mut String, mark: &Mark, (x, y): (&str, &str)) {
    let (tone, form) = (mark.tone.class(), mark.pattern.form());
    let _ = match mark.pattern {
        Pattern(0) => writeln!(svg, "<circle class=\"o {tone}\" cx=\"{x}\" cy=\"{y}\" r=\"4\"/>"),
        Pattern(_) => writeln!(svg, "<path class=\"o {tone}\" d=\"M{x} {y}{form}\"/>"),
    };
}

fn class(stroke: Stroke) -> &'static str {
    match stroke {
        Stroke::Solid => "",
        Stroke::Thin => " n",
        Stroke::Dashed => " a",
    }
}

fn text(svg: &mut String, class: &str, (x, y): (i64, i64), content: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = writeln!(svg, "<text{class} x=\"{x}\" y=\"{y}\">{}</text>", escaped(content));
}

fn width(text: &str) -> i64 {
    text.chars().count() as i64 * CHARACTER
}

/// Scale of an axis; `values` give the range if the axis has none that can be drawn.
fn scale(axis: &Axis, values: impl Iterator<Item = f64>, room: f64, pixels: [f64; 2]) -> Scale {
    let has = |value: &f64| axis.spacing.has(*value);
    let values = values.filter(has);
    let found = match axis.spacing {
        Spacing::Linear => span(values, room),
        Spacing::Logarithmic => ratios(values),
    };
    let given = axis.range.filter(|range| range.iter().all(has));
    // Space around the largest numbers would be beyond them.
    let fallback = [0.1, 1.0];
    let range = given.or(Some(found).filter(|range| range.iter().all(has))).unwrap_or(fallback);
    Scale::new(range, pixels, axis.spacing)
}

/// Range of the values above zero, with some space on both sides.
fn ratios(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let [low, high] = values.fold([f64::INFINITY, 0.0_f64], |[low, high], v| [low.min(v), high.max(v)]);
    if low > high { [1.0, 10.0] } else { [low / 1.1, high * 1.1] }
}

/// Range of zero and every value, with space above: `room` times the range.
fn span(values: impl Iterator<Item = f64>, room: f64) -> [f64; 2] {
    let [low, high] = values.fold([0.0_f64, 0.0], |[low, high], v| [low.min(v), high.max(v)]);
    if low == high { [0.0, 1.0] } else { [low, high + room * (high - low)] }
}

fn xs(panel: &Panel) -> impl Iterator<Item = f64> + '_ {
    panel.marks.iter().flat_map(|mark| -> Box<dyn Iterator<Item = f64>> {
        match &mark.shape {
            Shape::Line { points, .. } => Box::new(points.iter().map(|(x, _)| *x)),
            Shape::Points(points) => Box::new(points.iter().map(|point| point.x)),
            Shape::Rings(places) | Shape::Crosses(places) => Box::new(places.iter().map(|place| place.0)),
            Shape::Bars(bars) => Box::new(bars.iter().map(|bar| bar.0)),
            Shape::Ticks(at) => Box::new(at.iter().copied()),
            Shape::Level { .. } => Box::new(std::iter::empty()),
        }
    })
}

fn ys(mark: &Mark) -> Box<dyn Iterator<Item = f64> + '_> {
    match &mark.shape {
        Shape::Line { points, .. } => Box::new(points.iter().filter_map(|(_, y)| *y)),
        Shape::Points(points) => Box::new(points.iter().map(|point| point.y)),
        Shape::Rings(places) | Shape::Crosses(places) => Box::new(places.iter().map(|place| place.1)),
        Shape::Bars(bars) => Box::new(bars.iter().flat_map(|bar| [bar.1, bar.2])),
        Shape::Level { y, .. } => Box::new(std::iter::once(*y)),
        Shape::Ticks(_) => Box::new(std::iter::empty()),
    }
}

/// `text` in XML.
pub(super) fn escaped(text: &str) -> String {
    printable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Point};
    use super::*;

    fn line(points: &[(f64, Option<f64>)], course: Course) -> Mark {
        let shape = Shape::Line { points: points.to_vec(), course, stroke: Stroke::Solid };
        Mark { name: Some("a & b".into()), tone: Tone::Blue, pattern: Pattern(0), shape }
    }

    fn figure(marks: Vec<Mark>) -> Figure {
        let x = Axis { title: "time, s".into(), range: Some([0.0, 678.0]), spacing: Spacing::Linear };
        let y = Axis { title: "window, packets".into(), range: Some([0.0, 100.0]), spacing: Spacing::Linear };
        Figure {
            title: "<x>".into(),
            subtitle: String::new(),
            x,
            panels: vec![Panel { height: 100, y, marks }],
        }
    }

    /// Path data of the first line in the plot area.
    fn drawn(svg: &str) -> &str {
        let (_, rest) = svg.split_once("<g clip-path").expect("a panel");
        let (_, rest) = rest.split_once(" d=\"").expect("a path");
        rest.split_once('"').expect("an end").0
    }

    #[test]
    fn a_line_is_drawn_at_the_positions_of_its_axes() {
        // The plot area is 678 pixels wide from 64 on: one pixel per second. Title, one legend row and their gaps end
        // at 59, and one packet is one pixel: 100 packets are at 59, 0 at 159.
        let svg = figure(vec![line(
            &[(0.0, Some(0.0)), (100.0, Some(50.0)), (200.0, Some(50.0))],
            Course::Straight,
        )])
        .svg();
        assert_eq!(drawn(&svg), "M64 159l100 -50h100");
        let stairs =
            figure(vec![line(&[(0.0, Some(0.0)), (100.0, Some(50.0)), (200.0, None)], Course::Steps)]).svg();
        assert_eq!(drawn(&stairs), "M64 159h100v-50h100");
    }

    #[test]
    fn a_line_is_interrupted_at_a_missing_value() {
        let gap = [(0.0, Some(0.0)), (10.0, None), (20.0, Some(0.0)), (30.0, Some(0.0))];
        assert_eq!(drawn(&figure(vec![line(&gap, Course::Straight)]).svg()), "M64 159M84 159h10");
        assert_eq!(drawn(&figure(vec![line(&gap, Course::Steps)]).svg()), "M64 159h10M84 159h10");
    }

    #[test]
    fn text_is_escaped_and_every_element_is_closed() {
        let points = vec![Point { x: 677.0, y: 99.0, label: "\"far\" <right>".into() }];
        let mark = |name: Option<&str>, tone: Tone, shape: Shape| Mark {
            name: name.map(str::to_owned),
            tone,
            pattern: Pattern(0),
            shape,
        };
        let dots = mark(None, Tone::Orange, Shape::Points(points));
        let ticks = mark(Some("losses"), Tone::Grey, Shape::Ticks(vec![1.0, 1.2, 9.0]));
        let svg = figure(vec![line(&[(0.0, Some(1.0))], Course::Steps), dots, ticks]).svg();
        assert!(svg.contains("<title>&lt;x&gt;</title>") && svg.contains("a &amp; b"));
        // The dot is at 741, 60. Its label, near the right end, is 8 pixels to the left and 15 below.
        assert!(
            svg.contains("<text class=\"h e\" x=\"733\" y=\"75\">&quot;far&quot; &lt;right&gt;</text>"),
            "{svg}"
        );
        assert!(svg.contains("M65 59v8M73 59v8"), "one tick per pixel: {svg}");
        let count = |what: &str| svg.matches(what).count();
        for element in ["svg", "g", "text", "title", "style", "clipPath"] {
            let opened = count(&format!("<{element}>")) + count(&format!("<{element} "));
            assert_eq!(opened, count(&format!("</{element}>")), "{element}");
        }
    }

    #[test]
    fn lines_of_two_patterns_differ_without_their_colours_and_the_legend_shows_dash_and_dots() {
        let points = [(0.0, Some(10.0)), (100.0, Some(50.0))];
        let first = line(&points, Course::Straight);
        let second = Mark { pattern: Pattern(2), ..line(&points, Course::Straight) };
        let dots = Point { x: 100.0, y: 50.0, label: String::new() };
        let dots = Mark { name: None, shape: Shape::Points(vec![dots]), ..second.clone() };
        let svg = figure(vec![first, second, dots]).svg();
        assert!(svg.contains(".k2{stroke-dasharray:2 3}"), "{svg}");
        let legend = svg.split("<g clip-path").next().expect("text before the panel");
        let keys: Vec<&str> = legend.lines().filter(|line| line.starts_with("<path class=\"l")).collect();
        assert_eq!(
            keys,
            [
                "<path class=\"l c1\" d=\"M64 43h36\"/>",
                // A name of 5 characters is 35 pixels wide, after a key of 54 and before a gap of 14.
                "<path class=\"l c1 k2\" d=\"M167 43h36\"/>"
            ]
        );
        assert_eq!(svg.matches("<path class=\"o c1\" d=\"M185 43m0-5").count(), 1, "{svg}");
        assert_eq!(svg.matches("<path class=\"o c1\" d=\"M164 ").count(), 1, "{svg}");
    }

    #[test]
    fn an_axis_without_a_range_includes_zero_and_every_value() {
        assert_eq!(span([3.0, 50.0].into_iter(), 0.04), [0.0, 52.0]);
        assert_eq!(span([-10.0].into_iter(), 0.0), [-10.0, 0.0]);
        assert_eq!(span(std::iter::empty(), 0.04), [0.0, 1.0]);
    }
}
