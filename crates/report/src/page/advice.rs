//! Section of the advice.

use maud::{Markup, html};

use crate::advice::Advice;

/// The section; nothing without a recommendation.
pub(super) fn section(advice: &[Advice]) -> Markup {
    html! {
        @if !advice.is_empty() {
            section #advice aria-labelledby="advice-title" {
                h2 #advice-title { "What to do" }
                @for one in advice {
                    h3 { (one.title) }
                    @for sentence in &one.cost { p { (sentence) } }
                    @if one.how.is_empty() {
                        p { "This stack does not have it." }
                    } @else {
                        ul { @for way in &one.how { li { (way_of(way)) } } }
                    }
                }
            }
        }
    }
}

/// The stack, and its commands as code.
fn way_of(way: &str) -> Markup {
    let (stack, commands) = way.split_once(": ").unwrap_or(("", way));
    html! { (stack) ": " code { (commands) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_stands_with_its_commands_or_with_the_fact_that_there_are_none() {
        let one = |how: &[&str]| Advice {
            title: "a@iw30, for 30 KB".into(),
            cost: vec!["30 KB: none.".into()],
            how: how.iter().map(|&way| way.into()).collect(),
        };
        let page = section(&[one(&["Linux: ip route <x>"]), one(&[])]).into_string();
        assert!(page.contains("<li>Linux: <code>ip route &lt;x&gt;</code></li>"), "{page}");
        assert!(page.contains("<p>This stack does not have it.</p>"), "{page}");
        assert_eq!(section(&[]).into_string(), "");
    }
}
