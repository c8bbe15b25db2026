//! The HTML page in a real browser.

mod chromium;
mod fixture;
mod hostile;

use std::path::{Path, PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use chromium::Page;
use firstflight_report::{html, printable};
use firstflight_results::CompareReport;
use serde_json::{Value, json};

fn written(name: &str, report: &CompareReport) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html"));
    std::fs::write(&file, html(report)).expect("the test folder is writable");
    file
}

fn opened(test: &str, report: &CompareReport) -> Option<Page> {
    let mut page = Page::blank(test)?;
    page.open(&written(test, report));
    Some(page)
}

/// For each plot: its id and its number of pixels that are not transparent.
const PAINTED: &str = "[...document.querySelectorAll('.plot')].map((place) => {
    const canvas = place.querySelector('canvas');
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    return [place.id, pixels.filter((value, i) => i % 4 === 3 && value > 0).length];
})";

#[test]
fn every_plot_is_painted_without_errors() {
    for (name, report, plots) in [("capture", fixture::from_capture(), 7), ("path", fixture::from_path(), 5)]
    {
        let Some(mut page) = opened(&format!("painted-{name}"), &report) else { return };
        assert_eq!(page.evaluate("document.documentElement.dataset.error ?? null"), Value::Null);
        let painted = page.evaluate(PAINTED);
        let painted = painted.as_array().expect("one entry for each plot");
        assert_eq!(painted.len(), plots);
        for plot in painted {
            assert!(plot[1].as_u64().expect("a count") > 2000, "almost empty plot: {plot}");
        }
        assert!(page.errors().is_empty(), "{:#?}", page.errors());
    }
}

#[test]
fn unfinished_transfers_and_unknown_series_are_drawn_without_errors() {
    let mut report = fixture::from_capture();
    for result in &mut report.comparison.results {
        (result.completion_s, result.against_baseline, result.startup_exit) = (None, None, None);
    }
    report.comparison.baseline = None;
    for trace in &mut report.traces {
        (trace.completion_s, trace.startup_exit) = (None, None);
        trace.series.queue_packets.clear();
    }
    report.captured[0].observed = firstflight_results::Series::default();
    let Some(mut page) = opened("unfinished", &report) else { return };
    assert_eq!(page.evaluate("document.documentElement.dataset.error ?? null"), Value::Null);
    assert!(page.errors().is_empty(), "{:#?}", page.errors());
}

#[test]
fn the_page_loads_nothing_and_its_policy_forbids_loading() {
    let Some(mut page) = opened("offline", &fixture::from_capture()) else { return };
    let requested: Vec<_> = page
        .events
        .iter()
        .filter(|e| e["method"] == "Network.requestWillBeSent")
        .map(|e| e["params"]["request"]["url"].as_str().expect("a URL").to_owned())
        .collect();
    assert_eq!(requested.len(), 1, "only the file itself: {requested:?}");
    let refused = page.evaluate(
        "new Promise((go) => {
            document.addEventListener('securitypolicyviolation', (e) => go(e.effectiveDirective));
            fetch('http://192.0.2.1/').catch(() => undefined);
        })",
    );
    assert_eq!(refused, "connect-src");
}

/// Contrast of two `rgb()` colours by WCAG 2.2, computed in the page.
const CONTRAST: &str = "const light = (colour) => {
        const [r, g, b] = colour.match(/[\\d.]+/g).map((v) => v / 255)
            .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => {
        const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
        return (x + 0.05) / (y + 0.05);
    };";

#[test]
fn light_and_dark_colours_have_enough_contrast() {
    let Some(mut page) = opened("colours", &fixture::from_capture()) else { return };
    let mut papers = Vec::new();
    for scheme in ["light", "dark"] {
        page.prefer(scheme);
        let looks = page.evaluate(&format!(
            "(() => {{ {CONTRAST}
                const paper = getComputedStyle(document.body).backgroundColor;
                const against = (name) => contrast(theme.colour(name), paper);
                return {{ paper, ink: against('ink'), dim: against('dim'),
                    schemes: [0, 1, 2, 3, 4, 5, 6, 7, 8].map((i) => against(`c${{i}}`)) }};
            }})()"
        ));
        papers.push(looks["paper"].clone());
        // Success criteria 1.4.6 (text 7:1), 1.4.3 (text 4.5:1) and 1.4.11 (graphics 3:1).
        assert!(looks["ink"].as_f64() > Some(7.0), "{scheme}: {looks}");
        assert!(looks["dim"].as_f64() > Some(4.5), "{scheme}: {looks}");
        for contrast in looks["schemes"].as_array().expect("nine") {
            assert!(contrast.as_f64() > Some(3.0), "{scheme}: {looks}");
        }
        let painted = page.evaluate(
            "new Promise((go) => requestAnimationFrame(() => {
                const canvas = document.querySelector('#plot-cwnd canvas');
                const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
                const wanted = theme.colour('c1').match(/[\\d.]+/g).map(Number);
                let found = 0;
                for (let i = 0; i < pixels.length; i += 4) {
                    if (wanted.every((v, c) => Math.abs(pixels[i + c] - v) < 3) && pixels[i + 3] > 250) found++;
                }
                go(found);
            }))",
        );
        assert!(
            painted.as_u64() > Some(20),
            "the {scheme} plot has {painted} pixels of its first scheme's colour"
        );
    }
    assert_ne!(papers[0], papers[1]);
    assert!(page.errors().is_empty(), "{:#?}", page.errors());
}

/// Element with the focus: its id or text, its tag, and whether it has an outline.
const FOCUSED: &str = "(() => {
    const e = document.activeElement;
    const style = getComputedStyle(e);
    return { name: e.id || e.getAttribute('aria-label') || e.textContent.trim().replaceAll('\\u00a0', ' ').slice(0, 40),
             outline: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0, tag: e.tagName };
})()";

/// Presses Tab until `name` has the focus.
fn tab_to(page: &mut Page, name: &str) {
    for _ in 0..200 {
        page.press("Tab");
        let focused = page.evaluate(FOCUSED);
        if focused["name"].as_str().is_some_and(|n| n.starts_with(name)) {
            return;
        }
    }
    panic!("Tab never reaches {name}");
}

#[test]
fn tab_reaches_every_control_and_the_focus_is_visible() {
    let Some(mut page) = opened("tab", &fixture::from_capture()) else { return };
    let usable = page.evaluate(
        "[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex=\"0\"]')]
            .filter((e) => e.checkVisibility()).length",
    );
    let usable = usable.as_u64().expect("a count");
    for step in 0..usable {
        page.press("Tab");
        let focused = page.evaluate(FOCUSED);
        assert_ne!(focused["tag"], "BODY", "after {step} of {usable} steps");
        assert_eq!(focused["outline"], true, "no outline on {focused}");
    }
    page.press("Tab");
    let after = page.evaluate(FOCUSED);
    assert!(
        after["tag"] == "BODY" || after["name"] == "Skip to the answer",
        "more than {usable} stops: {after}"
    );
}

#[test]
fn the_controls_work_from_the_keyboard() {
    let Some(mut page) = opened("keyboard", &fixture::from_capture()) else { return };
    tab_to(&mut page, "theme");
    page.press("Enter");
    assert_eq!(page.evaluate("document.documentElement.dataset.theme"), "light");
    page.press(" ");
    assert_eq!(page.evaluate("document.documentElement.dataset.theme"), "dark");

    tab_to(&mut page, "Time");
    page.press("Enter");
    assert_eq!(
        page.evaluate("document.getElementById('sizes-caption').textContent"),
        "Median completion time"
    );

    tab_to(&mut page, "30 KB");
    page.press(" ");
    let shown = "[...document.querySelectorAll('#over-time [data-size]')].filter((t) => !t.hidden).map((t) => t.dataset.size)";
    assert_eq!(page.evaluate(shown), json!(["30000"]));

    tab_to(&mut page, "plot-cwnd");
    page.press("ArrowRight");
    let early = page.evaluate("document.getElementById('readout').textContent");
    page.press("End");
    let late = page.evaluate("document.getElementById('readout').textContent");
    for readout in [&early, &late] {
        let text = readout.as_str().expect("text");
        assert!(text.starts_with("At ") && text.contains("hystart++ window "), "{text}");
    }
    assert_ne!(early, late);
    assert!(page.errors().is_empty(), "{:#?}", page.errors());
}

#[test]
fn dragging_zooms_all_plots_of_a_group_and_escape_resets_the_zoom() {
    let Some(mut page) = opened("zoom", &fixture::from_capture()) else { return };
    let spans = "uPlot.sync('traces').plots.map((u) => u.scales.x.max - u.scales.x.min)";
    let whole = page.evaluate(spans);
    page.evaluate("document.getElementById('plot-cwnd').scrollIntoView({ block: 'center' })");
    page.evaluate("document.getElementById('plot-cwnd').focus({ preventScroll: true })");
    let place = page.evaluate(
        "(() => { const r = document.querySelector('#plot-cwnd .u-over').getBoundingClientRect();
            return [r.left + r.width / 4, r.left + 3 * r.width / 4, r.top + r.height / 2]; })()",
    );
    for (kind, x, buttons) in
        [("mouseMoved", 0, 0), ("mousePressed", 0, 1), ("mouseMoved", 1, 1), ("mouseReleased", 1, 0)]
    {
        let event = json!({ "type": kind, "x": place[x], "y": place[2], "buttons": buttons, "clickCount": 1,
            "button": if kind == "mouseMoved" { "none" } else { "left" } });
        page.call("Input.dispatchMouseEvent", event);
    }
    let zoomed = page.evaluate(spans);
    for i in 0..4 {
        // The drag selects the middle half; a pixel is less than a hundredth of the width.
        let share = zoomed[i].as_f64().expect("a span") / whole[i].as_f64().expect("a span");
        assert!((share - 0.5).abs() < 0.01, "plot {i} shows {share} of the time axis");
    }
    page.press("Escape");
    assert_eq!(page.evaluate(spans), whole);
    assert!(page.errors().is_empty(), "{:#?}", page.errors());
}

#[test]
fn a_scheme_can_be_hidden_in_the_plots() {
    let Some(mut page) = opened("hide", &fixture::from_capture()) else { return };
    let boxes = "document.querySelectorAll('[data-legend=\"traces\"] input').length";
    assert_eq!(page.evaluate(boxes), 6);
    let before = page.evaluate(PAINTED);
    page.evaluate("document.querySelectorAll('[data-legend=\"traces\"] input').forEach((b, i) => { if (i !== 2) b.click(); })");
    let after = page.evaluate(&format!("new Promise((go) => requestAnimationFrame(() => go({PAINTED})))"));
    for i in 1..5 {
        assert_eq!(before[i][0], after[i][0]);
        assert!(after[i][1].as_u64() < before[i][1].as_u64(), "{} still has all its lines", after[i][0]);
    }
    assert!(page.errors().is_empty(), "{:#?}", page.errors());
}

#[test]
fn the_page_fits_the_width_of_a_phone() {
    let mut report = fixture::from_capture();
    report.comparison.title =
        "a-capture-with-a-name-that-no-line-of-a-phone-can-hold-in-one-piece.pcapng".into();
    let Some(mut page) = Page::blank("phone") else { return };
    page.resize(390, 844);
    page.open(&written("phone", &report));
    let wide = page.evaluate(
        "[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > 390.5
            && !e.closest('.scroll, pre')).map((e) => `${e.tagName}.${e.className}#${e.id}`)",
    );
    let overhang = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(page.evaluate(overhang), 0, "too wide: {wide}");
    page.resize(1280, 1000);
    page.resize(390, 844);
    let width = page.evaluate(
        "new Promise((go) => setTimeout(() => go(Math.max(
            ...[...document.querySelectorAll('.plot')].map((p) => p.firstElementChild.offsetWidth))), 200))",
    );
    assert!(width.as_u64() <= Some(390), "plots follow the window: {width}");
    assert_eq!(page.evaluate(overhang), 0);
}

#[test]
fn external_text_is_shown_and_never_executed() {
    let Some(mut page) = Page::blank("hostile") else { return };
    for text in hostile::TEXTS {
        page.open(&written("hostile", &hostile::hostile(text)));
        assert_eq!(page.evaluate("document.documentElement.dataset.error ?? null"), Value::Null);
        assert_eq!(page.evaluate("typeof window.pwned"), "undefined");
        assert_eq!(page.evaluate("document.querySelectorAll('img, iframe, object, script').length"), 3);
        assert_eq!(page.evaluate("document.querySelector('h1').textContent"), printable(text));
        assert!(page.errors().is_empty(), "{:#?}", page.errors());
    }
}

/// Writes pictures for visual inspection; it checks nothing: `cargo test -p firstflight-report --test page -- --ignored`.
#[test]
#[ignore = "writes pictures for visual inspection"]
fn pictures() {
    let Some(mut page) = Page::blank("pictures") else { return };
    for (name, report) in [("capture", fixture::from_capture()), ("path", fixture::from_path())] {
        let file = written(name, &report);
        for scheme in ["light", "dark"] {
            for (width, height) in [(1280, 1000), (390, 844)] {
                page.prefer(scheme);
                page.resize(width, height);
                page.open(&file);
                let shot = page.call("Page.captureScreenshot", json!({ "captureBeyondViewport": true }));
                let png = STANDARD.decode(shot["data"].as_str().expect("base64")).expect("base64");
                let picture = file.with_file_name(format!("{name}-{scheme}-{width}.png"));
                std::fs::write(&picture, png).expect("the test folder is writable");
                println!("{}", picture.display());
            }
        }
    }
}
