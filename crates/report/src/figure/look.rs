//! The look of a scheme in every picture: colour, dash and form. Each of the three distinguishes it from the others.

use super::style::{DASHES, FORMS, PATTERNS};

/// Look of a scheme.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Colour of the palette: 0 is grey, for the baseline; 1 to 8 are hues that colour-blind readers can distinguish.
    pub(crate) colour: usize,
    /// Lengths of the dashes and gaps of its line in turn, pixels; empty for a solid line.
    pub(crate) dash: &'static [u32],
    /// Outline of its form about a centre, as SVG path data.
    pub(crate) form: &'static str,
    /// Whether its form is hollow: it has the colour and the form of an earlier scheme.
    pub(crate) hollow: bool,
}

impl Look {
    /// Look of the scheme with this number: 0 for the baseline, 1 and up for the others. A ninth scheme has the colour and
    /// the form of the first, hollow, and another dash; a 17th has those of the ninth and again another dash.
    pub(crate) fn of(number: usize) -> Self {
        let colours = PATTERNS - 1;
        let (colour, dash) = match number.checked_sub(1) {
            None => (0, 0),
            Some(other) => (other % colours + 1, (other % colours + 3 * (other / colours)) % colours + 1),
        };
        Self { colour, dash: DASHES[dash], form: FORMS[colour], hollow: number > colours }
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

    #[test]
    fn lines_with_their_forms_differ_for_more_schemes_than_there_are() {
        let looks: Vec<_> = (0..60).map(Look::of).map(|look| (look.form, look.hollow, look.dash)).collect();
        assert!(looks.iter().enumerate().all(|(i, one)| !looks[..i].contains(one)));
    }
}
