//! Pages of the reproduction, made of a results.json in which every text tries to inject markup.

use crate::hostile;
use std::collections::BTreeMap;
use std::path::Path;

use crate::chromium::Page;
use firstflight_report::reproduction::{html, pages, picture_of};
use firstflight_reproduce::evidence::{Evidence, Measured};
use firstflight_reproduce::judge::judge;
use firstflight_reproduce::library::Library;
use pulldown_cmark::{Event, Options, Parser, Tag};

fn library() -> Library {
    Library::built_in().unwrap_or_else(|error| panic!("{error}"))
}

/// The published results with `text` in every place that takes a text. `named` also puts it into the names that claims and
/// figures ask for, so that errors repeat it.
fn evidence(text: &str, named: bool) -> Evidence {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproduction/results.json");
    let published = std::fs::read_to_string(file).expect("published results");
    let mut evidence: Evidence =
        serde_json::from_str(&published).expect("results as this program writes them");
    evidence.provenance.command = text.into();
    evidence.provenance.version = text.into();
    for paper in evidence.papers.values_mut() {
        for experiment in paper.experiments.values_mut() {
            experiment.definition = text.into();
            for array in experiment.metrics.values_mut() {
                for axis in &mut array.axes {
                    axis.title = text.into();
                    if named {
                        axis.name.push_str(text);
                        axis.points.iter_mut().for_each(|point| point.push_str(text));
                    }
                }
            }
            let other = experiment.metrics.values().next().cloned();
            experiment.metrics.extend(other.map(|array| (text.to_owned(), array)));
        }
        paper.experiments.insert(text.into(), Measured::default());
    }
    evidence.papers.insert(text.into(), evidence.papers["liu"].clone());
    evidence
}

/// The pages; if a figure cannot be drawn of these results, the error.
fn made(library: &Library, evidence: &Evidence) -> Result<BTreeMap<String, String>, String> {
    let judged = judge(library, evidence, "Not run.");
    for row in &judged {
        picture_of(row).iter().for_each(|svg| assert_inert_xml(svg));
    }
    pages(library, evidence, &judged)
}

fn assert_inert_xml(svg: &str) {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let name = node.tag_name().name();
        let drawing =
            ["svg", "title", "style", "rect", "path", "text", "g", "defs", "clipPath", "line", "circle"];
        assert!(drawing.contains(&name), "<{name}>");
        assert!(node.attributes().all(|one| !one.name().starts_with("on") && one.name() != "href"), "{name}");
        let text = node.text().unwrap_or_default();
        assert!(!text.contains(['\u{202e}', '\u{2066}', '\u{9b}', '\u{85}', '\u{1b}']), "{text:?}");
    }
}

fn assert_inert_markdown(name: &str, text: &str) {
    assert!(!text.contains(['\u{202e}', '\u{2066}', '\u{9b}', '\u{85}', '\u{1b}', '\u{0}']), "{name}");
    for event in Parser::new_ext(text, Options::all()) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => panic!("{name}: {html}"),
            Event::Start(Tag::Link { dest_url, .. }) => {
                let page = dest_url.split('#').next().unwrap_or_default();
                let known = page.is_empty() || (page.ends_with(".md") && !page.contains(':'));
                assert!(known, "{name}: link to {dest_url}");
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                assert!(dest_url.starts_with("images/") && dest_url.ends_with(".svg"), "{name}: {dest_url}");
            }
            Event::Start(Tag::Heading { .. }) => {}
            Event::Text(words) => assert_ne!(&*words, "heading", "{name}: a heading of the results"),
            _ => {}
        }
    }
}

#[test]
fn no_text_of_results_becomes_markup() {
    for text in hostile::TEXTS {
        for (name, content) in
            made(&library(), &evidence(text, false)).unwrap_or_else(|error| panic!("{error}"))
        {
            match name.ends_with(".svg") {
                true => assert_inert_xml(&content),
                false => assert_inert_markdown(&name, &content),
            }
        }
        // Figures, tables and values of ns-2 refuse names that they do not know. Without them, the errors of claims are on the pages.
        let evidence = evidence(text, true);
        assert!(made(&library(), &evidence).is_err(), "{text:?}");
        let mut plain = library();
        for paper in &mut plain.papers {
            paper.figures.clear();
            paper.tables.clear();
            paper.ns2.clear();
        }
        for (name, page) in made(&plain, &evidence).unwrap_or_else(|error| panic!("{error}")) {
            match name.ends_with(".svg") {
                true => assert_inert_xml(&page),
                false => assert_inert_markdown(&name, &page),
            }
        }
    }
}

#[test]
fn the_page_has_no_script_no_event_handler_and_a_policy_that_forbids_both() {
    for text in hostile::TEXTS {
        let page = html(&made(&library(), &evidence(text, false)).unwrap_or_else(|error| panic!("{error}")));
        for element in ["<script", "<img", "<iframe", "<object", "<embed", "<link", "<base", "<form"] {
            assert!(!page.to_lowercase().contains(element), "{text:?}: {element}");
        }
        let policy =
            page.split_once("http-equiv=\"Content-Security-Policy\" content=\"").expect("a policy").1;
        let policy = policy.split_once('"').expect("closed").0;
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        assert!(!policy.contains("script-src") && !policy.contains("unsafe"), "{policy}");
    }
}

#[test]
fn a_browser_runs_nothing_and_applies_every_style() {
    let Some(mut page) = Page::blank("reproduction") else { return };
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reproduction.html");
    for text in hostile::TEXTS {
        let written =
            html(&made(&library(), &evidence(text, false)).unwrap_or_else(|error| panic!("{error}")));
        std::fs::write(&file, written).expect("the test folder is writable");
        page.open_still(&file);
        assert_eq!(page.evaluate("typeof window.pwned"), "undefined", "{text:?}");
        assert_eq!(page.evaluate("document.querySelectorAll('script, img, iframe, object').length"), 0);
        let shown = page.evaluate("document.querySelectorAll('code').length");
        assert!(shown.as_u64() > Some(100), "{shown}");
        // Numbers are set to the right, and figures have their own fonts.
        assert_eq!(page.evaluate("getComputedStyle(document.querySelector('td.n')).textAlign"), "right");
        assert_eq!(page.evaluate("getComputedStyle(document.querySelector('svg .t')).fontWeight"), "600");
        assert!(page.errors().is_empty(), "{text:?}: {:#?}", page.errors());
    }
    let refused = page.evaluate(
        "new Promise((go) => {
            document.addEventListener('securitypolicyviolation', (e) => go(e.effectiveDirective));
            const script = document.createElement('script');
            script.textContent = 'window.pwned = 1';
            document.body.append(script);
        })",
    );
    assert_eq!(refused, "script-src-elem");
    assert_eq!(page.evaluate("typeof window.pwned"), "undefined");
}
