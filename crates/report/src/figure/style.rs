//! Colours and fonts of figures, for a light and a dark background.

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
    const ALL: [Self; 9] = [
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

/// Style sheet for a figure that uses the tones `used`.
pub(super) fn sheet(used: &[Tone]) -> String {
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
    format!(
        "text{{font:13px system-ui,sans-serif}}.t{{font-size:16px;font-weight:600}}.e{{text-anchor:end}}.m{{text-anchor:middle}}\
         path{{fill:none}}.l,.r,.g{{stroke-width:1}}.l{{stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}}\
         .n{{stroke-width:1;opacity:.85}}.a{{stroke-width:1.2;stroke-dasharray:5 4}}.o{{fill:currentColor}}.h{{stroke-width:3;paint-order:stroke}}\
         {}@media(prefers-color-scheme:dark){{{}}}",
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
        let css = sheet(&[Tone::Orange]);
        assert!(css.contains(".c2{color:#c24a00}") && css.contains(".c2{color:#f58a4b}"));
        assert!(!css.contains(".c1{"));
    }
}
