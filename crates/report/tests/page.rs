//! The HTML page in a real browser.

use crate::fixture;
use crate::hostile;
use std::path::{Path, PathBuf};

use crate::chromium::Page;
use base64::{Engine as _, engine::general_purpose::STANDARD};
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

    assert!(page.errors().is_empty(), "{:#?}", page.errors());
}

/// Time at the cursor of every plot of a group, milliseconds; null where no cursor is shown.
fn cursors(page: &mut Page, group: &str) -> Vec<Value> {
    let times = page.evaluate(&format!(
        "uPlot.sync('{group}').plots.map((u) => (u.cursor.left < 0 ? null : Math.round(u.posToVal(u.cursor.left, 'x') * 1000)))"
    ));
    times.as_array().expect("one time for each plot").clone()
}

#[test]
fn the_arrow_keys_work_in_every_plot_over_time_and_move_the_cursor_of_all() {
    let Some(mut page) = opened("cursor", &fixture::from_capture()) else { return };
    for (group, readout, plots) in [
        ("traces", "readout", &["cwnd", "in-flight", "queue", "delivered"][..]),
        ("captured", "captured-readout", &["captured-delivered", "captured-in-flight"]),
    ] {
        let text = format!("document.getElementById('{readout}').textContent");
        let mut last = page.evaluate(&text);
        assert!(last.as_str().expect("text").starts_with("Values at the cursor: point at a plot"), "{last}");
        for (visited, plot) in plots.iter().enumerate() {
            tab_to(&mut page, &format!("plot-{plot}"));
            assert_eq!(page.evaluate(FOCUSED)["outline"], true, "{plot}");
            let before = cursors(&mut page, group);
            for _ in 0..visited + 2 {
                page.press("ArrowRight");
            }
            let after = cursors(&mut page, group);
            assert_ne!(before, after, "{plot}");
            let all_at_one_time = after.iter().all(|time| time.is_u64() && *time == after[0]);
            assert!(all_at_one_time && after.len() == plots.len(), "{plot}: {after:?}");
            let now = page.evaluate(&text);
            assert!(now.as_str().expect("text").starts_with("At ") && now != last, "{plot}: {now}");
            last = now;
            let spoken = page.evaluate("document.activeElement.getAttribute('aria-valuetext')");
            let spoken = spoken.as_str().expect("words");
            assert!(spoken.contains("s: ") && spoken.contains(", "), "{plot}: {spoken}");
            page.press("Home");
            assert_eq!(cursors(&mut page, group)[0], 0);
        }
    }
    let values = page.evaluate(
        "[...document.querySelectorAll('#readout tbody tr')].map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent))",
    );
    let rows = values.as_array().expect("a row for each scheme");
    assert_eq!(rows.len(), 6);
    // Before anything is acknowledged, a window is the first flight: 10 packets, 150 with jump-start.
    assert_eq!(rows[0][0], "10");
    assert_eq!(rows[5][0], "150");
    assert!(page.errors().is_empty(), "{:#?}", page.errors());
}

#[test]
fn the_mouse_moves_the_cursor_of_all_plots_which_stays_when_it_leaves_and_after_a_change_of_scheme() {
    let Some(mut page) = opened("mouse", &fixture::from_capture()) else { return };
    page.evaluate("document.getElementById('plot-queue').scrollIntoView({ block: 'center' })");
    let place = page.evaluate(
        "(() => { const r = document.querySelector('#plot-queue .u-over').getBoundingClientRect();
            return [r.left + r.width / 3, r.top + r.height / 2]; })()",
    );
    let go = |page: &mut Page, x: &Value, y: &Value| {
        let event = json!({ "type": "mouseMoved", "x": x, "y": y, "button": "none", "buttons": 0 });
        page.call("Input.dispatchMouseEvent", event);
    };
    go(&mut page, &place[0], &place[1]);
    let at = cursors(&mut page, "traces");
    assert!(at.iter().all(|time| time.as_u64() > Some(0) && *time == at[0]), "{at:?}");
    go(&mut page, &json!(1), &json!(1));
    assert_eq!(cursors(&mut page, "traces"), at);
    page.evaluate("document.querySelector('[data-legend=\"traces\"] input').click()");
    page.evaluate("new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))");
    assert_eq!(cursors(&mut page, "traces"), at);
    let cells = "[...document.querySelectorAll('#readout tbody tr')].map((row) => row.lastElementChild.textContent !== '')";
    assert_eq!(
        page.evaluate(cells),
        json!([false, true, true, true, true, true]),
        "the hidden scheme has no values"
    );
    assert!(page.errors().is_empty(), "{:#?}", page.errors());
}

#[test]
fn the_values_at_the_cursor_are_in_sight_while_a_plot_is_read() {
    let Some(mut page) = Page::blank("sight") else { return };
    for (width, height) in [(1280, 800), (1000, 800), (390, 844), (360, 740)] {
        page.resize(width, height);
        page.open(&written("sight", &fixture::from_capture()));
        for plot in ["cwnd", "in-flight", "queue", "delivered"] {
            let seen = page.evaluate(&format!(
                "(() => {{ const plot = document.getElementById('plot-{plot}');
                    plot.scrollIntoView({{ block: 'end' }});
                    const [box, values] = [plot, document.getElementById('readout')].map((e) => e.getBoundingClientRect());
                    return values.top >= 0 && values.bottom <= box.top + 1 && box.bottom <= innerHeight + 1; }})()"
            ));
            assert_eq!(seen, true, "{plot} at {width} x {height}");
        }
    }
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
    // The layout and the plots follow at the next frames; the page's patience ends the wait if they do not.
    page.evaluate(&format!(
        "new Promise((go) => {{
            const look = () => [...document.querySelectorAll('.plot')].every((p) => p.firstElementChild.offsetWidth <= 390)
                && {overhang} === 0 ? go(true) : requestAnimationFrame(look);
            look();
        }})",
    ));
    assert_eq!(page.evaluate(overhang), 0);
}

#[test]
fn no_table_scrolls_sideways_and_no_row_has_an_empty_half() {
    let Some(mut page) = Page::blank("tables") else { return };
    let files = [("tables", fixture::from_capture()), ("networks", fixture::from_server())];
    let files = files.map(|(name, report)| written(name, &report));
    for (file, width) in files.iter().flat_map(|file| [360, 390, 768, 1000, 1280].map(|width| (file, width)))
    {
        page.resize(width, 900);
        page.open(file);
        let wide = page.evaluate(
            "[...document.querySelectorAll('.scroll')].filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth)
                .map((e) => [e.getAttribute('aria-label'), e.scrollWidth - e.clientWidth])",
        );
        assert_eq!(wide, json!([]), "at {width} pixels");
        // Text and drawings end near the row's end.
        let empty = page.evaluate(
            "[...document.querySelectorAll('.scroll tbody tr')].filter((row) => row.checkVisibility()).map((row) => {
                const range = document.createRange();
                const ends = [...row.children].map((cell) => { range.selectNodeContents(cell); return range.getBoundingClientRect(); })
                    .filter((box) => box.right <= innerWidth && box.height > 0).map((box) => box.bottom);
                return [row.textContent.slice(0, 40), row.getBoundingClientRect().bottom - Math.max(...ends)];
            }).filter(([, rest]) => !(rest < 24))",
        );
        assert_eq!(empty, json!([]), "at {width} pixels");
    }
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

/// The same report with an order to change nothing, and without an answer.
fn without_change() -> [(&'static str, CompareReport); 2] {
    let of = |verdict: &str, sentence: &str| {
        let mut report = fixture::from_capture();
        let answer = report.comparison.answer.as_mut().expect("an answer");
        (answer.verdict, answer.sentence) = (verdict.into(), sentence.into());
        (answer.setting, answer.gain, answer.gain_ci95, answer.harm) = (None, None, None, None);
        answer.commands.clear();
        for it in &mut answer.sizes {
            (it.then_s, it.then_p95_s, it.gain, it.harm) = (None, None, None, None);
        }
        report
    };
    let keep = of("keep", "Leave it as it is: no setting ends transfers 2 % sooner.");
    let mut unknown =
        of("cannot-tell", "Cannot tell: capture transfers that fill the path, of 3 MB or more.");
    unknown.comparison.answer.as_mut().expect("an answer").sizes.clear();
    [("keep", keep), ("unknown", unknown)]
}

#[test]
fn the_first_screen_has_sentence_command_and_picture_and_the_folded_page_is_short() {
    let Some(mut page) = Page::blank("first") else { return };
    let mut reports = vec![("change", fixture::from_capture()), ("server", fixture::from_server())];
    reports.extend(without_change());
    for (name, report) in &reports {
        let file = written(&format!("first-{name}"), report);
        for (width, height) in [(1280, 800), (768, 1024), (390, 844)] {
            page.resize(width, height);
            page.open_folded(&file);
            let bottoms = page.evaluate(
                "['.lead', '.command pre', '.times'].map((one) => document.querySelector(`#answer ${one}`))
                    .map((one) => one && one.getBoundingClientRect().bottom)",
            );
            let bottoms: Vec<Option<f64>> = serde_json::from_value(bottoms).expect("numbers or null");
            let expected = match *name {
                "unknown" => [true, false, false],
                "keep" => [true, false, true],
                _ => [true; 3],
            };
            assert_eq!(bottoms.iter().map(Option::is_some).collect::<Vec<_>>(), expected, "{name}");
            let lowest = bottoms.iter().flatten().copied().fold(0.0, f64::max);
            assert!(lowest <= height as f64, "{name} at {width}: {lowest} pixels");
            let whole = page.evaluate("document.documentElement.scrollHeight").as_f64().expect("a number");
            assert!(whole <= 4000.0, "{name} at {width}: {whole} pixels");
        }
    }
}

/// Mean difference of the colours of two pictures on a grid of 64 by 40, as a share of the largest: fonts of another machine change it
/// little, another layout or colour much.
const DIFFERENCE: &str = "async (a, b) => {
    const grid = async (base64) => {
        const image = new Image();
        image.src = `data:image/png;base64,${base64}`;
        await image.decode();
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [64, 40];
        const context = canvas.getContext('2d');
        context.imageSmoothingQuality = 'high';
        context.drawImage(image, 0, 0, 64, 40);
        return context.getImageData(0, 0, 64, 40).data;
    };
    const [one, other] = [await grid(a), await grid(b)];
    return one.reduce((sum, value, at) => sum + Math.abs(value - other[at]), 0) / one.length / 255;
}";

/// Largest [`DIFFERENCE`] from the picture in the repository. A page with one row less differs by 0.014 to 0.032.
const SAME_PICTURE: f64 = 0.008;

/// The first screens, each with the file of its reference picture; base64 of PNG.
fn first_screens(page: &mut Page) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures");
    let mut shots = vec![];
    let mut shoot = |name: &str, report: &CompareReport, sizes: &[(u32, u32)]| {
        let file = written(&format!("looks-{name}"), report);
        for scheme in ["light", "dark"] {
            for &(width, height) in sizes {
                page.prefer(scheme);
                page.resize(width, height);
                page.open_folded(&file);
                let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 0.5 });
                let shot = page.call("Page.captureScreenshot", json!({ "clip": clip }));
                let png = shot["data"].as_str().expect("base64").to_owned();
                shots.push((folder.join(format!("{name}-{scheme}-{width}.png")), png));
            }
        }
    };
    shoot("change", &fixture::from_capture(), &[(1280, 800), (768, 1024), (390, 844)]);
    for (name, report) in without_change() {
        shoot(name, &report, &[(1280, 800)]);
    }
    shots
}

#[test]
fn the_first_screen_looks_as_its_reference_pictures() {
    let Some(mut page) = Page::blank("looks") else { return };
    let shots = first_screens(&mut page);
    // A page whose policy lets pictures in.
    let blank = Path::new(env!("CARGO_TARGET_TMPDIR")).join("looks-blank.html");
    std::fs::write(&blank, "<!DOCTYPE html><p>").expect("the test folder is writable");
    page.open_still(&blank);
    for (file, png) in shots {
        let kept = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let difference = page.evaluate(&format!("({DIFFERENCE})('{}', '{png}')", STANDARD.encode(kept)));
        let difference = difference.as_f64().expect("a number");
        assert!(difference <= SAME_PICTURE, "{}: {difference}", file.display());
    }
}

/// Replaces the reference pictures: `cargo test -p firstflight-report --test reporting -- --ignored reference_pictures`.
#[test]
#[ignore = "replaces the reference pictures"]
fn reference_pictures() {
    let Some(mut page) = Page::blank("reference") else { return };
    for (file, png) in first_screens(&mut page) {
        std::fs::write(&file, STANDARD.decode(&png).expect("base64")).expect("the folder is writable");
    }
}

/// Writes pictures for visual inspection; it checks nothing: `cargo test -p firstflight-report --test reporting -- --ignored page::`.
#[test]
#[ignore = "writes pictures for visual inspection"]
fn pictures() {
    let Some(mut page) = Page::blank("pictures") else { return };
    let reports = [
        ("capture", fixture::from_capture()),
        ("path", fixture::from_path()),
        ("server", fixture::from_server()),
    ];
    for (name, report) in reports {
        let file = written(name, &report);
        for scheme in ["light", "dark"] {
            for (width, height) in [(1280, 1000), (390, 844)] {
                page.prefer(scheme);
                page.resize(width, height);
                for folded in [true, false] {
                    if folded {
                        page.open_folded(&file)
                    } else {
                        page.open(&file)
                    }
                    let shot = page.call("Page.captureScreenshot", json!({ "captureBeyondViewport": true }));
                    let png = STANDARD.decode(shot["data"].as_str().expect("base64")).expect("base64");
                    let state = if folded { "first" } else { "whole" };
                    let picture = file.with_file_name(format!("{name}-{scheme}-{width}-{state}.png"));
                    std::fs::write(&picture, png).expect("the test folder is writable");
                    println!("{}", picture.display());
                }
            }
        }
    }
}
