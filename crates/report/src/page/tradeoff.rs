//! Completion time against harm, one picture for each size.

use maud::{Markup, PreEscaped, html};

use crate::figure::Tradeoff;

/// Widths of a picture, pixels: for a wide and for a narrow screen, on which the wide one's text would be too small.
const WIDTHS: [(u32, &str); 2] = [(590, "wide-only"), (345, "narrow-only")];

/// The section; nothing without pictures.
pub(super) fn section(pictures: &[Tradeoff]) -> Markup {
    html! {
        @if !pictures.is_empty() {
            section #tradeoff aria-labelledby="tradeoff-title" {
                h2 #tradeoff-title { "Completion time against harm" }
                p.note {
                    "Harm is the time that a bystander takes at the same bottleneck, divided by its time beside the present "
                    "default; of a bulk transfer and a request-response flow, the one that decides on the limit. The line through a mark is "
                    "the 95\u{a0}% interval. Above the dashed line the harm is more than the limit; where a line crosses it, it "
                    "may be. The recommended scheme has a ring."
                }
                div.panels {
                    @for picture in pictures {
                        figure {
                            figcaption { (picture.title) }
                            @for (width, class) in WIDTHS { (PreEscaped(picture.element(width, class))) }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Choice;

    #[test]
    fn each_picture_is_drawn_for_wide_and_for_narrow_screens_and_without_pictures_there_is_no_section() {
        let choice = Choice {
            label: "<b>".into(),
            number: 1,
            completion_s: 0.2,
            harm: 1.0,
            harm_ci95: [0.9, 1.1],
            recommended: true,
            deployable: true,
        };
        let picture = Tradeoff { title: "30 KB".into(), limit: Some(1.1), choices: vec![choice] };
        let page = section(&[picture.clone(), picture]).into_string();
        assert_eq!(page.matches("<svg class=\"drawing wide-only\"").count(), 2);
        assert_eq!(page.matches("<svg class=\"drawing narrow-only\"").count(), 2);
        assert!(page.contains(">&lt;b&gt;</text>") && !page.contains("<style") && !page.contains(" style="));
        assert_eq!(section(&[]).into_string(), "");
    }
}
