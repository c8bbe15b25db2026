//! The picture of a line of the target list: measured and expected values at the points of its statements.

use firstflight_reproduce::checked::{Checked, PointOf};
use firstflight_reproduce::judge::Judged;

use super::plot::name_of_ns2;
use crate::figure::{Axis, Course, Figure, Mark, Panel, Pattern, Point, Shape, Spacing, Stroke, Tone};

const HEIGHT: u32 = 200;
/// Most statements that are drawn; few lines have more.
const MOST: usize = 6;
/// Colours of the sides of a comparison, from left to right.
const TONES: [Tone; 6] = [Tone::Blue, Tone::Orange, Tone::Green, Tone::Magenta, Tone::Ochre, Tone::Violet];

/// The picture of a line; `None` if nothing was measured for it.
pub fn picture_of(row: &Judged) -> Option<String> {
    let drawn: Vec<&Checked> = row
        .statements
        .iter()
        .filter(|one| one.problem.is_none() && !one.points.is_empty())
        .take(MOST)
        .collect();
    let numbered = drawn.iter().all(|one| one.points.iter().all(|point| place(point).is_some()));
    let panels: Vec<Panel> = drawn.iter().enumerate().map(|(i, one)| panel(one, numbered, i == 0)).collect();
    if panels.is_empty() {
        return None;
    }
    let title = if numbered { "at" } else { "point, in the order of the table" };
    let x = Axis { title: title.into(), range: None, spacing: Spacing::Linear };
    let subtitle = format!("{}; the paper: {}", row.title(), row.expected);
    // Longer text would not fit above the figure.
    let subtitle = subtitle.chars().take(100).collect();
    Some(Figure { title: format!("{} ({})", row.id, row.place), subtitle, x, panels }.svg())
}

/// Position of a point: the number that its only name begins with.
fn place(point: &PointOf) -> Option<f64> {
    let name = point.at.last()?;
    let end = name.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(name.len());
    name[..end].parse().ok().filter(|_| point.at.len() == 1)
}

fn panel(one: &Checked, numbered: bool, first: bool) -> Panel {
    let at = |index: usize| match numbered {
        true => place(&one.points[index]).unwrap_or(0.0),
        false => index as f64 + 1.0,
    };
    let sides = one.points.iter().map(|point| point.measured.len()).max().unwrap_or(0);
    let known = |values: &dyn Fn(&PointOf) -> Option<f64>| -> Vec<(f64, f64)> {
        one.points.iter().enumerate().filter_map(|(i, point)| Some((at(i), values(point)?))).collect()
    };
    let mut marks = vec![];
    for (side, &tone) in (0..sides).zip(&TONES) {
        let values = known(&|point| *point.measured.get(side)?);
        let name = (first && side == 0).then(|| "here".to_owned());
        let pattern = Pattern(side);
        let dots = values.iter().map(|&(x, y)| Point { x, y, label: String::new() }).collect();
        let points = values.into_iter().map(|(x, y)| (x, Some(y))).collect();
        let line = Shape::Line { points, course: Course::Straight, stroke: Stroke::Thin };
        marks.push(Mark { name, tone, pattern, shape: line });
        marks.push(Mark { name: None, tone, pattern, shape: Shape::Points(dots) });
        let crosses = known(&|point| *point.ns2.as_ref()?.get(side)?);
        if !crosses.is_empty() {
            let name = (first && side == 0).then(|| name_of_ns2(one.seeds_of_ns2()));
            marks.push(Mark { name, tone, pattern, shape: Shape::Crosses(crosses) });
        }
    }
    let expected = known(&|point| point.expected);
    if !expected.is_empty() {
        let name = first.then(|| "the paper".to_owned());
        let pattern = Pattern::default();
        marks.push(Mark { name, tone: Tone::Grey, pattern, shape: Shape::Rings(expected) });
        let ends =
            one.points.iter().enumerate().filter_map(|(i, point)| point.ci95.map(|[l, h]| (at(i), l, h)));
        marks.push(Mark { name: None, tone: Tone::Blue, pattern, shape: Shape::Bars(ends.collect()) });
    }
    // The statement names the axis; longer text would not fit along the axis.
    let title = one.that.chars().take(34).collect();
    Panel { height: HEIGHT, y: Axis { title, range: None, spacing: Spacing::Linear }, marks }
}
