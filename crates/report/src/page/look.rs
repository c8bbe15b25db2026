//! The look of a scheme on the page: colour, dash and form. Each of the three tells it apart from the others.

use maud::{Markup, html};

use crate::figure::{DASHES, FORMS, PATTERNS};

/// Look of the scheme with number `colour` of [`crate::names::Name`].
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// Colour of the palette: 0 is grey, for the baseline; 1 to 8 are hues that colour-blind readers can distinguish.
    pub(super) colour: usize,
    /// Lengths of the dashes and gaps of its line in turn, pixels; empty for a solid line.
    pub(super) dash: &'static [u32],
    /// Outline of its form about a centre, as SVG path data.
    pub(super) form: &'static str,
    /// Whether its form is hollow: it has the colour and the form of an earlier scheme.
    pub(super) hollow: bool,
}

impl Look {
    pub(super) fn of(colour: usize) -> Self {
        let palette = super::palette(colour);
        let round = colour.saturating_sub(1) / (PATTERNS - 1);
        // A ninth scheme has the colour and the form of the first, hollow, and another dash.
        let dash = if palette == 0 { 0 } else { (palette - 1 + 3 * round) % (PATTERNS - 1) + 1 };
        Self { colour: palette, dash: DASHES[dash], form: FORMS[palette], hollow: round > 0 }
    }

    /// Its form, for a name in a table or a mark in a legend.
    pub(super) fn swatch(self) -> Markup {
        html! {
            svg.swatch.{ "c" (self.colour) }.hollow[self.hollow] viewBox="-6 -6 12 12" aria-hidden="true" {
                path d={ "M0 0" (self.form) } {}
            }
        }
    }

    /// A piece of its line with its form, for a legend of lines.
    pub(super) fn key(self) -> Markup {
        let dash: Vec<String> = self.dash.iter().map(u32::to_string).collect();
        html! {
            svg.key.{ "c" (self.colour) }.hollow[self.hollow] viewBox="0 -6 40 12" aria-hidden="true" {
                line x1="0" x2="40" y1="0" y2="0" stroke-dasharray=[(!dash.is_empty()).then(|| dash.join(" "))] {}
                path d={ "M20 0" (self.form) } {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seventeen_schemes_differ_without_their_colours() {
        let looks: Vec<Look> = (0..17).map(Look::of).collect();
        for (i, one) in looks.iter().enumerate() {
            for (j, other) in looks[..i].iter().enumerate() {
                assert!((one.form, one.hollow) != (other.form, other.hollow), "forms of {i} and {j}");
                assert!((one.dash, one.hollow) != (other.dash, other.hollow), "lines of {i} and {j}");
            }
        }
        assert!(looks[0].dash.is_empty() && looks[0].colour == 0, "the baseline is a solid grey line");
        assert_ne!(looks[1].dash, looks[9].dash, "schemes of one colour have different dashes");
    }
}
