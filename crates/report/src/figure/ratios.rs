//! The picture of many lines at once: a ratio with its interval in each row, on one logarithmic axis.

use std::fmt::Write as _;

use super::Spacing;
use super::draw::escaped;
use super::line::number;
use super::scale::Scale;
use super::style::{Pattern, Tone, sheet};

/// Rows under headings.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratios {
    /// Title, in bold.
    pub title: String,
    /// Lines below the title.
    pub notes: Vec<String>,
    /// Classes of rows: name, colour and form, in the order of the legend.
    pub classes: Vec<(String, Tone, Pattern)>,
    /// Groups of rows: heading, rows.
    pub groups: Vec<(String, Vec<Row>)>,
    /// Quantity of the axis.
    pub axis: String,
    /// Ends of the axis; ratios beyond them are drawn at the ends.
    pub ends: [f64; 2],
    /// Width of the names, pixels.
    pub left: i64,
    /// Name of the crosses in the legend; `None` if no row has one.
    pub crosses: Option<String>,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name at the left.
    pub label: String,
    /// Text at the right.
    pub note: String,
    /// Index of its class.
    pub class: usize,
    /// Ratio; without one the row has no mark on the axis.
    pub here: Option<f64>,
    /// Text in the middle of a row that has no mark on the axis.
    pub values: String,
    /// Interval of the ratio.
    pub ci95: Option<[f64; 2]>,
    /// Ratio in another simulator.
    pub other: Option<f64>,
}

/// Width of the document, and the end of the axis, pixels.
const WIDTH: i64 = 760;
const RIGHT: i64 = 540;
/// Height of a row, a heading, a line of the notes and the axis.
const ROW: i64 = 15;
const HEADING: i64 = 24;
const NOTE: i64 = 17;
const AXIS: i64 = 40;

impl Ratios {
    /// The picture as an SVG document, 760 pixels wide.
    pub fn svg(&self) -> String {
        let top = 34 + NOTE * (self.notes.len() as i64 + 1) + 10;
        let rows: i64 = self.groups.iter().map(|(_, rows)| HEADING + ROW * rows.len() as i64).sum();
        let (bottom, height) = (top + rows, top + rows + AXIS);
        let x = Scale::new(self.ends, [self.left as f64, RIGHT as f64], Spacing::Logarithmic);
        let used: Vec<Tone> = self.classes.iter().map(|(_, tone, _)| *tone).chain([Tone::Grey]).collect();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
             <title>{title}</title>\n<style>{}.s{{font-size:11px}}.b{{font-weight:600}}.i{{stroke-width:1.6}}.x{{stroke-width:1.4}}</style>\n\
             <rect class=\"p\" width=\"{WIDTH}\" height=\"{height}\"/>\n<text class=\"t\" x=\"14\" y=\"26\">{title}</text>\n",
            sheet(&used, &[]),
            title = escaped(&self.title),
        );
        for (line, note) in (0..).zip(&self.notes) {
            let _ = writeln!(
                svg,
                "<text class=\"d s\" x=\"14\" y=\"{}\">{}</text>",
                46 + NOTE * line,
                escaped(note)
            );
        }
        let mut at = 18;
        let legend = 46 + NOTE * self.notes.len() as i64;
        for (name, tone, pattern) in &self.classes {
            let _ = writeln!(
                svg,
                "<path class=\"o {}\" d=\"M{at} {}{}\"/><text class=\"s\" x=\"{}\" y=\"{legend}\">{}</text>",
                tone.class(),
                legend - 4,
                pattern.form(),
                at + 9,
                escaped(name)
            );
            at += 26 + 6 * name.chars().count() as i64;
        }
        if let Some(crosses) = &self.crosses {
            let _ = writeln!(
                svg,
                "<path class=\"l x c0\" d=\"{}\"/><text class=\"s\" x=\"{}\" y=\"{legend}\">{}</text>",
                cross(at * 10, (legend - 4) * 10),
                at + 9,
                escaped(crosses)
            );
        }
        for tick in x.ticks(30.0) {
            let at = number(x.tenths(tick.value));
            let class = if tick.value == 1.0 { "r x" } else { "g" };
            let _ = writeln!(
                svg,
                "<path class=\"{class}\" d=\"M{at} {top}V{bottom}\"/><text class=\"d s m\" x=\"{at}\" y=\"{}\">{}</text>",
                bottom + 15,
                tick.label
            );
        }
        let _ = writeln!(
            svg,
            "<text class=\"d s m\" x=\"{}\" y=\"{}\">{} (logarithmic; ratios beyond the ends are drawn there)</text>",
            (self.left + RIGHT) / 2,
            bottom + 31,
            escaped(&self.axis)
        );
        let mut y = top;
        for (heading, rows) in &self.groups {
            y += HEADING;
            let _ = writeln!(svg, "<text class=\"b s\" x=\"14\" y=\"{}\">{}</text>", y - 8, escaped(heading));
            for row in rows {
                self.row(&mut svg, &x, row, y);
                y += ROW;
            }
        }
        svg + "</svg>\n"
    }

    fn row(&self, svg: &mut String, x: &Scale, row: &Row, top: i64) {
        let (_, tone, pattern) = &self.classes[row.class];
        let (middle, text) = (top * 10 + 10 * ROW / 2, top + ROW - 4);
        let place = |value: f64| x.tenths(value.clamp(self.ends[0], self.ends[1]));
        let _ = writeln!(
            svg,
            "<text class=\"s\" x=\"14\" y=\"{text}\">{}</text><path class=\"o {}\" d=\"M{} {}{}\"/><text class=\"d s\" x=\"{}\" y=\"{text}\">{}</text>",
            escaped(&row.label),
            tone.class(),
            RIGHT + 16,
            number(middle),
            pattern.form(),
            RIGHT + 25,
            escaped(&row.note)
        );
        if !row.here.is_some_and(|here| x.has(here)) && !row.values.is_empty() {
            let _ = writeln!(
                svg,
                "<text class=\"d s m\" x=\"{}\" y=\"{text}\">{}</text>",
                (self.left + RIGHT) / 2,
                escaped(&row.values)
            );
        }
        if let Some([low, high]) = row.ci95.filter(|[_, high]| x.has(*high)) {
            let low = if x.has(low) { low } else { self.ends[0] };
            let _ = writeln!(
                svg,
                "<path class=\"l i {}\" d=\"M{} {}H{}\"/>",
                tone.class(),
                number(place(low)),
                number(middle),
                number(place(high))
            );
        }
        if let Some(other) = row.other.filter(|other| x.has(*other)) {
            let _ = writeln!(svg, "<path class=\"l x c0\" d=\"{}\"/>", cross(place(other), middle));
        }
        if let Some(here) = row.here.filter(|here| x.has(*here)) {
            let _ = writeln!(
                svg,
                "<path class=\"o {}\" d=\"M{} {}{}\"/>",
                tone.class(),
                number(place(here)),
                number(middle),
                pattern.form()
            );
        }
    }
}

/// A cross about a place in tenths of a pixel.
fn cross(x: i64, y: i64) -> String {
    format!("M{} {}l8 8m0-8l-8 8", number(x - 40), number(y - 40))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(here: Option<f64>, ci95: Option<[f64; 2]>) -> Ratios {
        let (label, values) = ("A<".into(), "0 : 20".into());
        let row = Row { label, note: String::new(), class: 0, here, values, ci95, other: Some(1.0) };
        Ratios {
            title: "t".into(),
            notes: vec![],
            classes: vec![("one".into(), Tone::Blue, Pattern(0))],
            groups: vec![("g".into(), vec![row])],
            axis: "ratio".into(),
            ends: [0.1, 10.0],
            left: 92,
            crosses: Some("other".into()),
        }
    }

    #[test]
    fn ratios_beyond_the_ends_stay_in_the_picture() {
        for (here, ci95) in [(Some(1e9), Some([-1.0, 1e9])), (Some(0.0), None), (None, Some([1e-9, 1e-8]))] {
            let svg = row(here, ci95).svg();
            let document = roxmltree::Document::parse(&svg).expect("well-formed");
            assert!(document.root_element().has_tag_name(("http://www.w3.org/2000/svg", "svg")), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn a_row_has_its_verdict_s_mark_and_its_values_where_there_is_no_ratio() {
        // One mark in the legend, one beside the verdict, one on the axis.
        let marks = |svg: &str| svg.matches("<path class=\"o ").count();
        let with = row(Some(1.0), None).svg();
        assert!(marks(&with) == 3 && !with.contains("0 : 20"), "{with}");
        for none in [None, Some(0.0), Some(-1.0)] {
            let without = row(none, None).svg();
            assert!(marks(&without) == 2 && without.contains(">0 : 20</text>"), "{without}");
        }
    }

    #[test]
    fn the_middle_of_the_axis_is_one() {
        // (92 + 540) / 2 = 316, from 0.1 to 10 the middle of a logarithmic axis.
        assert!(row(Some(1.0), None).svg().contains("d=\"M316 "), "{}", row(Some(1.0), None).svg());
    }
}
