//! The look of a scheme as markup, for tables and legends.

use maud::{Markup, html};

use crate::figure::Look;

impl Look {
    /// Its form, for a name in a table or a mark in a legend.
    pub(crate) fn swatch(self) -> Markup {
        html! {
            svg.swatch.{ "c" (self.colour) }.hollow[self.hollow] viewBox="-6 -6 12 12" aria-hidden="true" {
                path d={ "M0 0" (self.form) } {}
            }
        }
    }

    /// A piece of its line with its form, for a legend of lines.
    pub(crate) fn key(self) -> Markup {
        let dash: Vec<String> = self.dash.iter().map(u32::to_string).collect();
        html! {
            svg.key.{ "c" (self.colour) }.hollow[self.hollow] viewBox="0 -6 40 12" aria-hidden="true" {
                line x1="0" x2="40" y1="0" y2="0" stroke-dasharray=[(!dash.is_empty()).then(|| dash.join(" "))] {}
                path d={ "M20 0" (self.form) } {}
            }
        }
    }
}
