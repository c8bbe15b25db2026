//! Colours, dashes, forms and fonts of figures, for a light and a dark background.

/// A colour of the report's palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tone {
    /// Colour 0, for baselines.
    Grey,
    /// Colour 1.
    Blue,
    /// Colour 2.
    Orange,
    /// Colour 3.
    Green,
    /// Colour 4.
    Magenta,
    /// Colour 5.
    Ochre,
    /// Colour 6.
    Violet,
    /// Colour 7.
    Cyan,
    /// Colour 8.
    Brown,
}

impl Tone {
    pub(super) const ALL: [Self; 9] = [
        Self::Grey,
        Self::Blue,
        Self::Orange,
        Self::Green,
        Self::Magenta,
        Self::Ochre,
        Self::Violet,
        Self::Cyan,
        Self::Brown,
    ];

    /// CSS class: `c1`.
    pub(super) fn class(self) -> String {
        format!("c{}", self as u8)
    }
}

/// Dash of a line and form of its dots, which distinguish lines without their colours. Number 0, the default, is a solid line
/// with round dots. Numbers repeat after [`PATTERNS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern(pub usize);

/// Number of dashes, and of forms.
pub(crate) const PATTERNS: usize = 9;

/// Lengths of the dashes and gaps of a line in turn, pixels. Each period is short enough to be seen in a legend.
pub(crate) const DASHES: [&[u32]; PATTERNS] = [
    &[],
    &[12, 4],
    &[2, 3],
    &[9, 3, 2, 3],
    &[5, 3],
    &[9, 3, 2, 3, 2, 3],
    &[14, 3, 5, 3],
    &[2, 6],
    &[6, 3, 6, 3, 2, 3],
];

/// Outlines of dots about a centre, as SVG path data that begins at the centre, pixels: circle, square, triangle, diamond,
/// triangle downwards, plus, cross, hourglass, bar.
pub(crate) const FORMS: [&str; PATTERNS] = [
    "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "m-3.5-3.5h7v7h-7z",
    "m0-5l4.8 8.5h-9.6z",
    "m0-5.5l4.5 5.5l-4.5 5.5l-4.5-5.5z",
    "m0 5l4.8-8.5h-9.6z",
    "m-1.5-5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z",
    "m-4.6-2.5l2.1-2.1l2.5 2.5l2.5-2.5l2.1 2.1l-2.5 2.5l2.5 2.5l-2.1 2.1l-2.5-2.5l-2.5 2.5l-2.1-2.1l2.5-2.5z",
    "m-4.5-4.5h9l-9 9h9z",
    "m-2-5h4v10h-4z",
];

impl Pattern {
    fn index(self) -> usize {
        self.0 % PATTERNS
    }

    /// CSS class with a space before it: ` k2`; empty for a solid line.
    pub(super) fn class(self) -> String {
        if self.index() == 0 { String::new() } else { format!(" k{}", self.index()) }
    }

    /// Outline of its dots.
    pub(super) fn form(self) -> &'static str {
        FORMS[self.index()]
    }
}

/// Background, text, secondary text, frame and grid, each for the light and the dark setting.
const PAPER: [&str; 2] = ["#ffffff", "#14171c"];
const INK: [&str; 2] = ["#1a1d23", "#e6e8ec"];
const DIM: [&str; 2] = ["#5a6270", "#9aa3b2"];
const RULE: [&str; 2] = ["#dcdfe5", "#343a45"];
const GRID: [&str; 2] = ["#e8eaee", "#272c35"];
/// Colours in the order of [`Tone::ALL`], for the light and the dark setting. Colour-blind readers can distinguish them.
const TONES: [[&str; 2]; 9] = [
    ["#6b7280", "#a3abb8"],
    ["#0068a8", "#62b6f0"],
    ["#c24a00", "#f58a4b"],
    ["#008060", "#3fc79d"],
    ["#a8457e", "#e59ac8"],
    ["#9a6c00", "#edbb45"],
    ["#5b4bc4", "#a89cff"],
    ["#2b8fb3", "#8fdcf2"],
    ["#7a3b1d", "#c99a7e"],
];

/// Style sheet for a figure that uses the tones `used` and the dashes `dashed`.
pub(super) fn sheet(used: &[Tone], dashed: &[Pattern]) -> String {
    let colours = |mode: usize| {
        let [paper, ink, dim, rule, grid] = [PAPER, INK, DIM, RULE, GRID].map(|colour| colour[mode]);
        let mut css = format!(
            ".p{{fill:{paper}}}.h{{stroke:{paper}}}text{{fill:{ink}}}.d{{fill:{dim}}}.r{{stroke:{rule}}}.g{{stroke:{grid}}}"
        );
        for tone in Tone::ALL.into_iter().filter(|tone| used.contains(tone)) {
            css += &format!(".{}{{color:{}}}", tone.class(), TONES[tone as usize][mode]);
        }
        css
    };
    let dashes: String = (1..PATTERNS)
        .filter(|&n| dashed.iter().any(|pattern| pattern.index() == n))
        .map(|n| {
            let lengths: Vec<String> = DASHES[n].iter().map(u32::to_string).collect();
            format!(".k{n}{{stroke-dasharray:{}}}", lengths.join(" "))
        })
        .collect();
    format!(
        "text{{font:13px system-ui,sans-serif}}.t{{font-size:16px;font-weight:600}}.e{{text-anchor:end}}.m{{text-anchor:middle}}\
         path{{fill:none}}.l,.r,.g{{stroke-width:1}}.l{{stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}}\
         .n{{stroke-width:1;opacity:.85}}.a{{stroke-width:1.2;stroke-dasharray:5 4}}.o{{fill:currentColor}}.h{{stroke-width:3;paint-order:stroke}}\
         {dashes}{}@media(prefers-color-scheme:dark){{{}}}",
        colours(0),
        colours(1)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_report_have_the_same_colours() {
        let report = include_str!("../../assets/report.css");
        let named = [("paper", PAPER), ("ink", INK), ("dim", DIM), ("rule", RULE), ("grid", GRID)];
        let tones = Tone::ALL.map(|tone| (tone.class(), TONES[tone as usize]));
        let all = named.map(|(name, colour)| (name.to_owned(), colour)).into_iter().chain(tones);
        for (name, [light, dark]) in all {
            let line = format!("--{name}: light-dark({light}, {dark});");
            assert!(report.contains(&line), "{line}");
        }
    }

    #[test]
    fn the_style_sheet_defines_only_the_used_tones() {
        let css = sheet(&[Tone::Orange], &[]);
        assert!(css.contains(".c2{color:#c24a00}") && css.contains(".c2{color:#f58a4b}"));
        assert!(!css.contains(".c1{") && !css.contains(".k"));
    }

    #[test]
    fn the_style_sheet_defines_only_the_used_dashes_and_numbers_repeat() {
        let css = sheet(&[], &[Pattern(0), Pattern(3)]);
        assert!(
            css.contains(".k3{stroke-dasharray:9 3 2 3}") && !css.contains(".k0{") && !css.contains(".k1{")
        );
        assert_eq!(css, sheet(&[], &[Pattern(PATTERNS + 3)]));
        assert_eq!((Pattern(0).class(), Pattern(3).class()), (String::new(), " k3".into()));
    }

    #[test]
    fn no_two_dashes_and_no_two_forms_are_equal() {
        for i in 0..PATTERNS {
            assert!((0..i).all(|j| DASHES[i] != DASHES[j] && FORMS[i] != FORMS[j]), "{i}");
            assert!(DASHES[i].len().is_multiple_of(2), "an odd number of lengths would swap dashes and gaps");
        }
    }
}
