//! The picture of a choice: completion time against harm, one mark for each scheme, the limit of harm, the recommendation.

use std::fmt::Write as _;

use super::Spacing;
use super::draw::escaped;
use super::line::number;
use super::look::Look;
use super::scale::Scale;
use super::style::{Tone, sheet};
use crate::format::wrap;

/// A choice between schemes.
#[derive(Clone, Debug, PartialEq)]
pub struct Tradeoff {
    /// Title: the size of the transfers.
    pub title: String,
    /// Largest harm that is acceptable, in the unit of [`Choice::harm`]; `None` for no limit.
    pub limit: Option<f64>,
    /// The schemes.
    pub choices: Vec<Choice>,
}

/// One scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Name.
    pub label: String,
    /// Number of its look: 0 for the baseline, 1 and up for the others.
    pub number: usize,
    /// Median completion time, seconds.
    pub completion_s: f64,
    /// Completion time of a bystander, as a multiple of that beside the default; 1 is no harm.
    pub harm: f64,
    /// 95 % interval of the harm.
    pub harm_ci95: [f64; 2],
    /// Whether it is recommended.
    pub recommended: bool,
    /// Whether the stack has it.
    pub deployable: bool,
}

/// Width of the document, pixels.
const WIDTH: i64 = 760;
/// Smallest height of the plot area.
const HEIGHT: i64 = 280;
/// Space to the left of the plot area for the labels of its axis, and below it.
const LEFT: i64 = 62;
const BOTTOM: i64 = 44;
/// Space of the title and its subtitle.
const TITLE: i64 = 58;
/// Height of a name, and of a note below it.
const NAME: i64 = 17;
const NOTE: i64 = 14;
/// Space for the form beside a name, and for the line that leads to it.
const KEY: i64 = 44;
/// Mean width of a character of a name, bold or not, and of a note.
const CHARACTER: [i64; 2] = [7, 8];
const SMALL: i64 = 6;
/// Ratio of the largest to the smallest harm above which the axis is logarithmic.
const WIDE: f64 = 10.0;

impl Tradeoff {
    /// The picture as an SVG document, 760 pixels wide. Schemes whose time or harm cannot be drawn are left out.
    pub fn svg(&self) -> String {
        let used: Vec<Tone> = self.drawn().map(|choice| Tone::ALL[Look::of(choice.number).colour]).collect();
        let (body, height) = self.body(WIDTH, TITLE);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
             <title>{title}</title>\n<style>{}.u{{fill:#8080801f}}.v{{stroke:#80808080}}.s{{font-size:11px}}.b{{font-weight:600}}.i{{stroke-width:1.5}}</style>\n\
             <rect class=\"p\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
             <text class=\"t\" x=\"{LEFT}\" y=\"26\">{title}</text>\n\
             <text class=\"d\" x=\"{LEFT}\" y=\"45\">{SUBTITLE}</text>\n{body}</svg>\n",
            sheet(&used, &[]),
            title = escaped(&self.title),
        )
    }

    /// The picture as an element of a page `width` pixels wide, without title and colours, which the page defines.
    pub(crate) fn element(&self, width: u32, class: &str) -> String {
        let (body, height) = self.body(i64::from(width), 6);
        format!(
            "<svg class=\"drawing {class}\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">\n{body}</svg>",
            escaped(&format!("{}: {SUBTITLE}. The ranking lists the same numbers.", self.title))
        )
    }

    fn drawn(&self) -> impl Iterator<Item = &Choice> {
        self.choices.iter().filter(|choice| {
            let has = |value: f64| Spacing::Logarithmic.has(value);
            has(choice.completion_s) && has(choice.harm)
        })
    }

    /// Elements below `top`, and the height of the picture.
    fn body(&self, width: i64, top: i64) -> (String, i64) {
        let (per_second, unit) =
            if self.drawn().all(|choice| choice.completion_s < 1.0) { (1000.0, "ms") } else { (1.0, "s") };
        let widest = width * 9 / 20 - KEY;
        let mut names: Vec<Name<'_>> = self.drawn().map(|choice| Name::of(choice, widest)).collect();
        let right = width - KEY - names.iter().map(Name::width).max().unwrap_or(0).min(widest);
        let needed: i64 = names.iter().map(Name::height).sum();
        let bottom = top + HEIGHT.max(needed);

        let times = margins(self.drawn().map(|choice| choice.completion_s * per_second), Spacing::Linear);
        let x = Scale::new(times, [LEFT as f64, right as f64], Spacing::Linear);
        let limit = self.limit.filter(|&limit| Spacing::Logarithmic.has(limit));
        let ends_of = |choice: &Choice| {
            // An end that a logarithmic axis cannot have is left out.
            let [low, high] = choice.harm_ci95;
            [low, choice.harm, high].into_iter().filter(|&value| Spacing::Logarithmic.has(value))
        };
        let harms = || self.drawn().flat_map(ends_of).chain(limit).chain([1.0]);
        let [low, high] = ends(harms());
        let spacing = if high > WIDE * low { Spacing::Logarithmic } else { Spacing::Linear };
        let y = Scale::new(margins(harms(), spacing), [bottom as f64, top as f64], spacing);

        let mut svg = String::new();
        axes(&mut svg, &x, &y, [top, right, bottom], unit);
        if let Some(limit) = limit {
            let at = y.tenths(limit);
            let _ = writeln!(
                svg,
                "<path class=\"u\" d=\"M{LEFT} {top}H{right}V{}H{LEFT}z\"/>\n\
                 <path class=\"l a d\" d=\"M{LEFT} {}H{right}\"/>\n\
                 <text class=\"d h\" x=\"{}\" y=\"{}\">limit {limit:.2}</text>",
                number(at),
                number(at),
                LEFT + 6,
                number(at - 50),
            );
        }
        for name in &mut names {
            name.from = (x.tenths(name.choice.completion_s * per_second), y.tenths(name.choice.harm));
            let values = || ends_of(name.choice).map(|value| y.tenths(value));
            name.span = [values().min().unwrap_or(name.from.1), values().max().unwrap_or(name.from.1)];
        }
        names.sort_by_key(|name| (name.from.1, name.from.0));
        place(&mut names, [top, bottom]);
        for name in &names {
            name.lead(&mut svg, right);
        }
        for name in &names {
            name.whisker(&mut svg);
        }
        for name in &names {
            name.mark(&mut svg, right);
        }
        (svg, bottom + BOTTOM)
    }
}

const SUBTITLE: &str = "further left is sooner, further down is less harm to others";

/// A name beside the plot area, and the place of its mark.
struct Name<'a> {
    choice: &'a Choice,
    lines: Vec<String>,
    notes: Vec<String>,
    /// Place of the mark, tenths of a pixel.
    from: (i64, i64),
    /// Heights of the ends of its interval, tenths of a pixel.
    span: [i64; 2],
    /// Upper edge of the name, pixels.
    top: i64,
}

impl<'a> Name<'a> {
    /// A name of at most `widest` pixels.
    fn of(choice: &'a Choice, widest: i64) -> Self {
        let fits = |character: i64| (widest / character).max(1) as usize;
        let notes = [(choice.recommended, "recommended"), (!choice.deployable, "not in this stack")];
        let notes = notes.into_iter().filter(|(is, _)| *is).flat_map(|(_, note)| wrap(note, fits(SMALL)));
        let fits = fits(Self::character(choice));
        let lines = wrap(&choice.label, fits).into_iter().flat_map(|line| broken(&line, fits)).collect();
        Self { choice, lines, notes: notes.collect(), from: (0, 0), span: [0; 2], top: 0 }
    }

    fn character(choice: &Choice) -> i64 {
        CHARACTER[usize::from(choice.recommended)]
    }

    fn width(&self) -> i64 {
        let longest =
            |lines: &[String]| lines.iter().map(|line| line.chars().count()).max().unwrap_or(0) as i64;
        (longest(&self.lines) * Self::character(self.choice)).max(longest(&self.notes) * SMALL)
    }

    fn height(&self) -> i64 {
        NAME * self.lines.len() as i64 + NOTE * self.notes.len() as i64
    }

    /// Thin line from the mark to the name.
    fn lead(&self, svg: &mut String, right: i64) {
        let (x, y) = (number(self.from.0), number(self.from.1));
        let _ = writeln!(svg, "<path class=\"v\" d=\"M{x} {y}L{} {}\"/>", right + 16, self.top + NAME / 2);
    }

    /// The interval of the harm.
    fn whisker(&self, svg: &mut String) {
        let [top, bottom] = self.span;
        if top < bottom {
            let (x, colour) = (number(self.from.0), Look::of(self.choice.number).colour);
            let (top, bottom) = (number(top), number(bottom));
            let _ = writeln!(svg, "<path class=\"l i c{colour}\" d=\"M{x} {top}V{bottom}\"/>");
        }
    }

    fn mark(&self, svg: &mut String, right: i64) {
        let look = Look::of(self.choice.number);
        let class = if look.hollow { "l p" } else { "o" };
        let mut form = |x: String, y: String| {
            let _ = writeln!(svg, "<path class=\"{class} c{}\" d=\"M{x} {y}{}\"/>", look.colour, look.form);
        };
        form(number(self.from.0), number(self.from.1));
        form((right + 24).to_string(), (self.top + NAME / 2).to_string());
        if self.choice.recommended {
            let (x, y) = (number(self.from.0), number(self.from.1));
            let _ = writeln!(
                svg,
                "<circle class=\"l i c{}\" fill=\"none\" cx=\"{x}\" cy=\"{y}\" r=\"10\"/>",
                look.colour
            );
        }
        let x = right + KEY - 10;
        let weight = if self.choice.recommended { " class=\"b\"" } else { "" };
        let mut top = self.top;
        for line in &self.lines {
            let _ =
                writeln!(svg, "<text{weight} x=\"{x}\" y=\"{}\">{}</text>", top + NAME - 4, escaped(line));
            top += NAME;
        }
        for note in &self.notes {
            let _ = writeln!(svg, "<text class=\"d s\" x=\"{x}\" y=\"{}\">{note}</text>", top + NOTE - 5);
            top += NOTE;
        }
    }
}

/// Lines of a name without spaces, broken after `-` and `+` and before `@` where it is longer than `fits` characters.
fn broken(name: &str, fits: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let pieces = name.split_inclusive(['-', '+']).flat_map(|piece| match piece.find('@') {
        Some(at) => vec![&piece[..at], &piece[at..]],
        None => vec![piece],
    });
    for piece in pieces {
        let line = lines.last_mut().expect("a line");
        if line.is_empty() || line.chars().count() + piece.chars().count() <= fits {
            line.push_str(piece);
        } else {
            lines.push(piece.to_owned());
        }
    }
    lines
}

/// Places names as close to the heights of their marks as they can be without overlaps. `names` ascend by height, and all
/// of them fit.
fn place(names: &mut [Name<'_>], [top, bottom]: [i64; 2]) {
    let mut free = top;
    for name in &mut *names {
        name.top = (name.from.1 / 10 - NAME / 2).max(free);
        free = name.top + name.height();
    }
    let mut end = bottom;
    for name in names.iter_mut().rev() {
        name.top = name.top.min(end - name.height());
        end = name.top;
    }
}

fn axes(svg: &mut String, x: &Scale, y: &Scale, [top, right, bottom]: [i64; 3], unit: &str) {
    for tick in y.ticks(34.0) {
        let at = y.tenths(tick.value);
        let _ = writeln!(
            svg,
            "<path class=\"g\" d=\"M{LEFT} {}H{right}\"/>\n<text class=\"d e\" x=\"{}\" y=\"{}\">{}</text>",
            number(at),
            LEFT - 7,
            number(at + 45),
            tick.label
        );
    }
    for tick in x.ticks(if right - LEFT > 300 { 70.0 } else { 45.0 }) {
        let at = number(x.tenths(tick.value));
        let _ = writeln!(
            svg,
            "<path class=\"r\" d=\"M{at} {bottom}v5\"/>\n<text class=\"d m\" x=\"{at}\" y=\"{}\">{}</text>",
            bottom + 19,
            tick.label
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"d m\" x=\"{}\" y=\"{}\">median completion time, {unit}</text>\n\
         <text class=\"d m\" transform=\"translate(16 {})rotate(-90)\">harm to others, times the default</text>\n\
         <path class=\"r\" d=\"M{LEFT} {top}V{bottom}H{right}\"/>",
        (LEFT + right) / 2,
        bottom + 37,
        (top + bottom) / 2,
    );
}

/// Smallest and largest value.
fn ends(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)])
}

/// Range of the values with a margin of a twelfth of the axis on both sides; a tenth of the value if there is only one.
fn margins(values: impl Iterator<Item = f64>, spacing: Spacing) -> [f64; 2] {
    let [low, high] = ends(values);
    if low > high {
        return [0.0, 1.0];
    }
    match spacing {
        Spacing::Linear if high - low > 1e-9 * high => {
            [low - (high - low) / 12.0, high + (high - low) / 12.0]
        }
        Spacing::Linear => [low * 0.9, high * 1.1],
        Spacing::Logarithmic => {
            let room = libm::pow(high / low, 1.0 / 12.0);
            [low / room, high * room]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(label: &str, number: usize, completion_s: f64, harm: f64) -> Choice {
        let harm_ci95 = [harm; 2];
        Choice {
            label: label.into(),
            number,
            completion_s,
            harm,
            harm_ci95,
            recommended: false,
            deployable: true,
        }
    }

    fn four() -> Tradeoff {
        let recommended = Choice { recommended: true, ..choice("initial window 30", 1, 0.2, 1.05) };
        let unavailable = Choice { deployable: false, ..choice("jump-start <x>", 2, 0.1, 2.0) };
        Tradeoff {
            title: "300 KB".into(),
            limit: Some(1.1),
            choices: vec![
                choice("slow-start", 0, 0.3, 1.0),
                choice("hystart++", 9, 0.3, 1.0),
                recommended,
                unavailable,
            ],
        }
    }

    /// Places of the marks of a class, as the text after `M`.
    fn marks<'a>(svg: &'a str, class: &str) -> Vec<&'a str> {
        let start = format!("<path class=\"{class}\" d=\"M");
        svg.lines().filter_map(|line| line.strip_prefix(start.as_str())).collect()
    }

    #[test]
    fn marks_are_at_their_times_and_harms() {
        let svg = four().svg();
        // The longest name, of 17 bold characters, is 136 pixels wide, with the key 180. The plot area is from 62 to 580 and
        // from 58 to 338. The axes are from 100 - 200/12 to 300 + 200/12
        // ms and from 1 - 1/12 to 2 + 1/12: a mark at the least is 1/14 of the area inside, 37 and 20 pixels.
        assert!(marks(&svg, "o c2")[0].starts_with("99 78m"), "100 ms, 2.0: {svg}");
        assert!(marks(&svg, "o c0")[0].starts_with("543 318m"), "300 ms, 1.0: {svg}");
        assert!(marks(&svg, "l p c1")[0].starts_with("543 318m"), "hollow, at the same place: {svg}");
        // 1.05 is a twentieth of 240 pixels above 318, and the limit a tenth.
        assert!(
            svg.contains("<circle class=\"l i c1\" fill=\"none\" cx=\"321\" cy=\"306\" r=\"10\"/>"),
            "{svg}"
        );
        assert!(
            svg.contains("<path class=\"l a d\" d=\"M62 294H580\"/>") && svg.contains(">limit 1.10<"),
            "{svg}"
        );
    }

    #[test]
    fn each_scheme_has_its_name_and_its_notes_and_no_two_overlap() {
        let svg = four().svg();
        for text in [">slow-start<", ">hystart++<", ">initial window 30<", ">jump-start &lt;x&gt;<"] {
            assert_eq!(svg.matches(text).count(), 1, "{text}: {svg}");
        }
        assert_eq!(svg.matches(">recommended<").count(), 1);
        assert_eq!(svg.matches(">not in this stack<").count(), 1);
        let tops: Vec<i64> = svg
            .lines()
            .filter_map(|line| {
                line.strip_prefix("<text")?.split_once("x=\"614\" y=\"")?.1.split('"').next()?.parse().ok()
            })
            .collect();
        assert_eq!(tops.len(), 6, "four names and two notes: {svg}");
        assert!(tops.windows(2).all(|pair| pair[1] - pair[0] >= NOTE - 2), "{tops:?}");
    }

    #[test]
    fn many_schemes_make_the_picture_higher_and_all_names_stay_in_it() {
        let choices = (0..40).map(|n| choice(&format!("scheme {n}"), n, 1.0, 1.0)).collect();
        let crowd = Tradeoff { title: String::new(), limit: None, choices };
        let (body, height) = crowd.body(360, 6);
        assert_eq!(height, 6 + 40 * NAME + BOTTOM);
        let names = body.lines().filter(|line| line.contains(">scheme "));
        let at = names.map(|line| line.split("y=\"").nth(1).and_then(|y| y.split('"').next()).expect("y"));
        let at: Vec<i64> = at.map(|y| y.parse().expect("pixels")).collect();
        assert!(at.len() == 40 && at.iter().all(|y| (6..height - BOTTOM).contains(y)), "{at:?}");
    }

    #[test]
    fn a_name_too_long_for_a_narrow_picture_takes_more_lines() {
        let (body, _) = four().body(300, 6);
        // 9/20 of 300 pixels less 44 are 91: 11 bold characters, 13 others and 15 of a note.
        for text in [">initial<", ">window 30<", ">recommended<", ">slow-start<", ">not in this<", ">stack<"]
        {
            assert_eq!(body.matches(text).count(), 1, "{text}: {body}");
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out() {
        for (completion_s, harm) in [(f64::NAN, 1.0), (1.0, f64::INFINITY), (0.0, 1.0), (1.0, -1.0)] {
            let mut choices = four();
            choices.limit = Some(f64::NAN);
            choices.choices.push(choice("broken", 3, completion_s, harm));
            assert!(!choices.svg().contains("broken") && !choices.svg().contains("limit"));
        }
        let none = Tradeoff { title: "none".into(), limit: None, choices: vec![] };
        assert!(none.svg().contains(">none<"));
    }

    #[test]
    fn a_name_that_is_too_long_is_broken_at_its_marks() {
        assert_eq!(broken("hystart-linux@iw60+paced", 15), ["hystart-linux", "@iw60+paced"]);
        assert_eq!(broken("hystart-linux@iw60+paced", 24), ["hystart-linux@iw60+paced"]);
        // No mark is within eight characters.
        assert_eq!(broken("limited-slow-start", 8), ["limited-", "slow-", "start"]);
    }

    #[test]
    fn an_interval_of_the_harm_is_a_line_through_its_mark_within_the_axis() {
        let mut choices = four();
        choices.choices[2].harm_ci95 = [1.0, 1.25];
        // 240 pixels are 1: from 318 up to 258, where the mark is at 306.
        assert!(choices.svg().contains("<path class=\"l i c1\" d=\"M321 258V318\"/>"), "{}", choices.svg());
        assert!(!four().svg().contains("\"l i c1\" d="), "no line without a width");
        // 2.5 is beyond the highest mark: the axis from 1 to 2.5 has a margin of a fourteenth of its 280 pixels.
        choices.choices[3].harm_ci95 = [1.5, 2.5];
        assert!(choices.svg().contains("<path class=\"l i c2\" d=\"M99 78V238\"/>"), "{}", choices.svg());
    }

    #[test]
    fn a_wide_range_of_harm_has_a_logarithmic_axis() {
        let mut wide = four();
        wide.choices[3].harm = 100.0;
        let svg = wide.svg();
        assert!(
            svg.contains(">2</text>") && svg.contains(">5</text>") && svg.contains(">100</text>"),
            "{svg}"
        );
    }
}
