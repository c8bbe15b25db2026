//! Colours and type, for a light and a dark background.

/// A colour by its place in the palette, which is that of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tone {
    /// For what others are compared with.
    Grey,
    /// The first of the hues.
    Blue,
    /// The second.
    Orange,
    /// The third.
    Green,
    /// The fourth.
    Magenta,
    /// The fifth.
    Ochre,
    /// The sixth.
    Violet,
    /// The seventh.
    Cyan,
    /// The eighth.
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

    /// The style class: `c1`.
    pub(super) fn class(self) -> String {
        format!("c{}", self as u8)
    }
}

/// Paper, text, secondary text, frame and grid: on a light background, on a dark one.
const PAPER: [&str; 2] = ["#ffffff", "#14171c"];
const INK: [&str; 2] = ["#1a1d23", "#e6e8ec"];
const DIM: [&str; 2] = ["#5a6270", "#9aa3b2"];
const RULE: [&str; 2] = ["#dcdfe5", "#343a45"];
const GRID: [&str; 2] = ["#e8eaee", "#272c35"];
/// In the order of [`Tone::ALL`]; colour-blind readers tell them apart.
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

/// The style sheet for a figure that uses these tones.
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
    fn the_colours_are_those_of_the_report() {
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
    fn only_the_tones_that_are_used_are_defined() {
        let css = sheet(&[Tone::Orange]);
        assert!(css.contains(".c2{color:#c24a00}") && css.contains(".c2{color:#f58a4b}"));
        assert!(!css.contains(".c1{"));
    }
}
