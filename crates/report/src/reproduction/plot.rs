//! A figure of a paper, drawn from measured values, with the points that the paper prints and those of ns-2.

use firstflight_hosts::stats::mean_ci95;
use firstflight_reproduce::checked::first_seeds;
use firstflight_reproduce::figure::{Figure as Described, Panel as DescribedPanel};
use firstflight_reproduce::judge::Bench;
use firstflight_sweep::Array;

use crate::figure::{Axis, Course, Figure, Mark, Panel, Pattern, Point, Shape, Spacing, Stroke, Tone};

const HEIGHT: u32 = 260;
/// Largest number of lines that are drawn thick.
const FEW: usize = 5;
/// Largest number of points that are drawn as dots.
const DOTS: usize = 24;

const TONES: [Tone; 8] = [
    Tone::Blue,
    Tone::Orange,
    Tone::Green,
    Tone::Magenta,
    Tone::Ochre,
    Tone::Violet,
    Tone::Cyan,
    Tone::Brown,
];

/// Names of the experiments of a figure.
pub(super) fn experiments(figure: &Described) -> impl Iterator<Item = &str> {
    figure.panels.iter().flat_map(|panel| panel.show.chain.experiments())
}

/// Name of the points of ns-2 in a legend, with their seeds if ns-2 ran fewer than ran here.
pub(super) fn name_of_ns2(fewer: Option<usize>) -> String {
    fewer.map_or("ns-2 today".into(), |seeds| format!("ns-2 today, {}", first_seeds(seeds)))
}

/// A line: its name, its points with their intervals, and the points of ns-2.
struct Line {
    name: String,
    points: Vec<(f64, f64, Option<[f64; 2]>)>,
    ns2: Vec<(f64, f64)>,
    of_ns2: String,
}

pub(super) fn svg(figure: &Described, bench: &Bench<'_>) -> Result<String, String> {
    let panels: Vec<Vec<Line>> =
        figure.panels.iter().map(|panel| lines(figure, panel, bench)).collect::<Result<_, _>>()?;
    // A line has one colour in all panels, and one entry in the legend.
    let mut names: Vec<String> = vec![];
    for line in panels.iter().flatten().filter(|line| !line.name.is_empty()) {
        if !names.contains(&line.name) {
            names.push(line.name.clone());
        }
    }
    let spacing = |log: bool| if log { Spacing::Logarithmic } else { Spacing::Linear };
    let title = x_title(figure, bench)?;
    let mut legend = Legend::default();
    let mut drawn = vec![];
    for (index, (panel, lines)) in figure.panels.iter().zip(&panels).enumerate() {
        let marks = marks(figure, index, lines, &names, &mut legend);
        let y = Axis { title: panel.y.clone(), range: None, spacing: spacing(panel.log_y) };
        drawn.push(Panel { height: if panels.len() > 1 { HEIGHT * 3 / 4 } else { HEIGHT }, y, marks });
    }
    let range = ends(&panels, figure.log_x);
    Ok(Figure {
        title: figure.title.clone(),
        subtitle: format!("{}, from our runs", figure.place),
        x: Axis { title, range, spacing: spacing(figure.log_x) },
        panels: drawn,
    }
    .svg())
}

/// Range of the horizontal axis, with a margin. `None`, for an axis from zero, if the first position is close to zero or the
/// axis is logarithmic.
fn ends(panels: &[Vec<Line>], log: bool) -> Option<[f64; 2]> {
    let places = panels.iter().flatten().flat_map(|line| line.points.iter().map(|point| point.0));
    let [low, high] = places.fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], x| [l.min(x), h.max(x)]);
    let room = 0.03 * (high - low);
    (!log && low < high && low > 0.2 * high).then_some([low - room, high + room])
}

fn x_title(figure: &Described, bench: &Bench<'_>) -> Result<String, String> {
    let first = figure.panels.first().ok_or("a figure that is shown needs a panel")?;
    let array = bench.ours().evaluate(&first.show.chain.first)?;
    let axis = array.axis(&figure.x).ok_or_else(|| format!("no axis \"{}\" is open", figure.x))?;
    Ok(array.axes[axis].title.clone())
}

fn lines(figure: &Described, panel: &DescribedPanel, bench: &Bench<'_>) -> Result<Vec<Line>, String> {
    let expression = &panel.show.chain.first;
    let array = bench.ours().evaluate(expression)?;
    let x = array
        .axis(&figure.x)
        .ok_or_else(|| format!("no axis \"{}\" is open in {}", figure.x, panel.show.text))?;
    let ns2 = bench.ns2(expression).filter(|other| other.axes == array.axes);
    let of_ns2 = name_of_ns2(bench.paired(expression).map(|first| first.samples));
    let mut lines: Vec<Line> = vec![];
    for index in 0..array.points() {
        let place = array.place(index);
        let at = array.axes[x].x[place[x]];
        let name = name(&array, &place, x);
        let line = match lines.iter().position(|line| line.name == name) {
            Some(known) => &mut lines[known],
            None => {
                lines.push(Line { name, points: vec![], ns2: vec![], of_ns2: of_ns2.clone() });
                lines.last_mut().expect("just put there")
            }
        };
        let (mean, ci95) = mean_ci95(array.at(index));
        line.points.push((at, mean, ci95));
        if let Some(value) = ns2.as_ref().map(|other| other.at(index)[0]).filter(|value| value.is_finite()) {
            line.ns2.push((at, value));
        }
    }
    Ok(lines)
}

/// Names of a point on all other axes.
fn name(array: &Array, place: &[usize], x: usize) -> String {
    let others = array.axes.iter().zip(place).enumerate().filter(|(axis, _)| *axis != x);
    others.map(|(_, (axis, &point))| axis.points[point].as_str()).collect::<Vec<_>>().join(", ")
}

/// The entries of the legend so far.
#[derive(Default)]
struct Legend {
    names: Vec<String>,
}

impl Legend {
    fn once(&mut self, name: &str) -> Option<String> {
        if name.is_empty() || self.names.iter().any(|known| known == name) {
            return None;
        }
        self.names.push(name.into());
        Some(name.into())
    }
}

fn marks(
    figure: &Described,
    panel: usize,
    lines: &[Line],
    names: &[String],
    legend: &mut Legend,
) -> Vec<Mark> {
    let look = |name: &str| {
        let index = names.iter().position(|known| known == name).unwrap_or(0);
        (TONES[index % TONES.len()], Pattern(index))
    };
    let stroke = if lines.len() > FEW { Stroke::Thin } else { Stroke::Solid };
    let mut marks = vec![];
    for line in lines {
        let (tone, pattern) = look(&line.name);
        let mark = |name: Option<String>, shape: Shape| Mark { name, tone, pattern, shape };
        let points = line.points.iter().map(|&(x, y, _)| (x, y.is_finite().then_some(y))).collect();
        marks.push(mark(legend.once(&line.name), Shape::Line { points, course: Course::Straight, stroke }));
        if line.points.len() <= DOTS {
            let known = line.points.iter().filter(|point| point.1.is_finite());
            let dots = known.map(|&(x, y, _)| Point { x, y, label: String::new() }).collect();
            marks.push(mark(None, Shape::Points(dots)));
            let intervals = line.points.iter().filter_map(|&(x, _, ci)| ci.map(|[low, high]| (x, low, high)));
            let bars: Vec<_> = intervals.filter(|(_, low, high)| low.is_finite() && high > low).collect();
            if !bars.is_empty() {
                marks.push(mark(None, Shape::Bars(bars)));
            }
        }
    }
    for line in lines.iter().filter(|line| !line.ns2.is_empty()) {
        let shape = Shape::Crosses(line.ns2.clone());
        let (tone, pattern) = look(&line.name);
        marks.push(Mark { name: legend.once(&line.of_ns2), tone, pattern, shape });
    }
    for printed in figure.printed.iter().filter(|printed| printed.panel == panel) {
        let shape = Shape::Rings(printed.points.iter().map(|&[x, y]| (x, y)).collect());
        let (tone, pattern) = look(&printed.line);
        marks.push(Mark { name: legend.once("printed in the paper"), tone, pattern, shape });
    }
    marks
}
