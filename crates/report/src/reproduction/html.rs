//! The pages as one self-contained HTML file.

use std::collections::BTreeMap;
use std::fmt::Write;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::{FIRST, LINES};
use crate::pictures::{STYLE, embedded, styles};
use crate::policy::policy;

/// The HTML file of the pages of [`super::pages`]. Nothing in it runs, and it loads nothing.
pub fn html(files: &BTreeMap<String, String>) -> String {
    let mut body = String::new();
    let mut pages: Vec<(&String, &String)> = files.iter().filter(|(name, _)| name.ends_with(".md")).collect();
    // The summary of a paper comes before its lines.
    pages.sort_by_key(|(name, _)| {
        (
            *name != FIRST,
            name.strip_suffix(LINES).or(name.strip_suffix(".md")).unwrap_or(name),
            name.ends_with(LINES),
        )
    });
    for (name, text) in pages {
        let inner = if name.ends_with(LINES) { folded(text, files) } else { section(text, files) };
        let _ = write!(body, "<section id=\"{name}\">\n{inner}</section>\n");
    }
    let policy = policy(&[], &styles(&body).chain([STYLE]).collect::<Vec<_>>());
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Papers, run again</title>\n<style>{STYLE}</style>\n{body}</html>\n"
    )
}

/// A page whose lines are folded: each part below a heading of the third level opens at its heading.
fn folded(text: &str, files: &BTreeMap<String, String>) -> String {
    const LINE: &str = "\n### ";
    // Headings of the second level end a line, too.
    let (lines, rest) = text.split_once("\n## ").map_or((text, None), |(lines, rest)| (lines, Some(rest)));
    let mut parts = lines.split(LINE);
    let mut out = section(parts.next().unwrap_or_default(), files);
    for part in parts {
        let (id, inner) = part.split_once('\n').unwrap_or((part, ""));
        let verdict = inner.split("**").nth(1).unwrap_or_default();
        let _ = writeln!(
            out,
            "<details id=\"{}\"><summary>{}: {}</summary>\n{}</details>",
            escaped(&id.to_lowercase()),
            escaped(id),
            escaped(verdict),
            section(inner, files)
        );
    }
    if let Some(rest) = rest {
        out += &section(&format!("## {rest}"), files);
    }
    out
}

/// One page as HTML: pictures are embedded, links to pages lead to sections of the file.
fn section(text: &str, files: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut in_picture = false;
    let mut heading: Option<String> = None;
    let mut events = vec![];
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Start(Tag::Image { dest_url, .. }) => {
                let svg = files.get(dest_url.as_ref()).cloned().unwrap_or_default();
                let own = dest_url.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
                events.push(Event::Html(CowStr::from(embedded(&svg, &own))));
                in_picture = true;
            }
            Event::End(TagEnd::Image) => in_picture = false,
            _ if in_picture => {}
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = match dest_url.split_once(".md#") {
                    Some((_, line)) => CowStr::from(format!("#{line}")),
                    None if dest_url.ends_with(".md") => CowStr::from(format!("#{dest_url}")),
                    None if leads_to_a_page(&dest_url) => dest_url,
                    None => CowStr::from("#"),
                };
                events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
            }
            // The author of a paper's text writes Markdown; elements in it are shown, not applied.
            Event::Html(text) | Event::InlineHtml(text) => events.push(Event::Text(text)),
            Event::Start(Tag::Heading { .. }) => {
                heading = Some(String::new());
                events.push(event);
            }
            Event::End(TagEnd::Heading(_)) => {
                // Anchor for links to a line.
                let text = heading.take().unwrap_or_default();
                let id = text.to_lowercase().replace(' ', "-");
                events.push(Event::InlineHtml(CowStr::from(format!("<a id=\"{}\"></a>", escaped(&id)))));
                events.push(event);
            }
            Event::Text(ref words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(words);
                }
                events.push(event);
            }
            other => events.push(other),
        }
    }
    html::push_html(&mut out, events.into_iter());
    // The policy forbids styles in attributes.
    ["th", "td"].into_iter().fold(out, |out, cell| {
        out.replace(&format!("<{cell} style=\"text-align: right\">"), &format!("<{cell} class=\"n\">"))
    })
}

/// Whether a link leads to a page: it is of the web, or has no scheme.
fn leads_to_a_page(link: &str) -> bool {
    match link.split_once(':') {
        Some((scheme, _)) => {
            ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web))
                || scheme.contains(['/', '#'])
        }
        None => true,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
