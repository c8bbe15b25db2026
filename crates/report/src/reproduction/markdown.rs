//! External text in Markdown. It is shown as text: it cannot become an element, a link, a picture or a new line.

use crate::format::printable;

/// Text within a paragraph.
pub(super) fn text(text: &str) -> String {
    let escapes = [("<", "&lt;"), ("~", "\\~"), ("](", "]\\("), ("]:", "]\\:")];
    escapes.into_iter().fold(one_line(text), |text, (markup, escape)| text.replace(markup, escape))
}

/// Text within a cell of a table.
pub(super) fn cell(words: &str) -> String {
    text(words).replace('|', "\\|")
}

/// A code span.
pub(super) fn code(text: &str) -> String {
    let text = one_line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // Spaces separate backticks of the text from the fence; CommonMark removes one on each side.
    let space = if longest > 0 || (text.starts_with(' ') && text.ends_with(' ')) { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A code span within a cell of a table.
pub(super) fn code_cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

fn one_line(text: &str) -> String {
    printable(&text.replace(['\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Parser, html::push_html};

    use super::*;

    fn rendered(markdown: &str) -> String {
        let mut out = String::new();
        push_html(&mut out, Parser::new(markdown));
        out
    }

    #[test]
    fn a_code_span_shows_every_text_unchanged() {
        for (text, html) in [
            ("firstflight reproduce all", "firstflight reproduce all"),
            ("a ` b `` c", "a ` b `` c"),
            ("`", "`"),
            ("` <b> `", "` &lt;b&gt; `"),
            (" a ", " a "),
            ("a\nb", "a b"),
        ] {
            assert_eq!(rendered(&code(text)), format!("<p><code>{html}</code></p>\n"), "{text:?}");
        }
    }

    #[test]
    fn text_has_no_links_and_no_elements() {
        for (words, html) in [
            ("a < b [c] (d)", "a &lt; b [c] (d)"),
            ("[a](b) ![c](d)", "[a](b) ![c](d)"),
            ("[a]: b", "[a]: b"),
            ("x <img src=y>\n\n# z", "x &lt;img src=y&gt;  # z"),
        ] {
            assert_eq!(rendered(&text(words)), format!("<p>{html}</p>\n"), "{words:?}");
        }
    }
}
