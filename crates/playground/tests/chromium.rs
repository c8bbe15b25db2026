//! The page in headless Chromium, opened from the disk.

use std::path::Path;

use crate::browser::Page;
use crate::common::{as_in_browser, captures, module, order, page, root};
use firstflight_playground::{Engine, Silent, live};
use serde_json::{Value, json};

/// The page, open and with its first answer; `None`, with the reason printed, without the target or a browser.
fn opened(test: &str, fragment: &str) -> Option<Page> {
    let file = page(test)?;
    let mut page = Page::blank(test)?;
    // The browser's own name for the file, with the fragment behind it.
    page.open(Path::new(&format!("{}{fragment}", file.display())));
    healthy(&mut page);
    Some(page)
}

fn healthy(page: &mut Page) {
    let error = page.evaluate("document.documentElement.dataset.error ?? null");
    assert_eq!(error, Value::Null);
    assert!(page.errors().is_empty(), "{:#?}", page.errors());
}

/// Does `act`, and waits for the whole answer to it, not the first one while a slider moves.
fn changed(page: &mut Page, act: &str) {
    page.evaluate(&format!("(() => {{ document.documentElement.dataset.ready = 'false'; {act} }})()"));
    settled(page);
}

fn settled(page: &mut Page) {
    let state =
        "new Promise((go) => setTimeout(() => go(document.documentElement.dataset.ready === 'true'), 50))";
    for _ in 0..2400 {
        if page.evaluate(state) == true {
            return;
        }
    }
    panic!("no answer: {:#?}", page.events);
}

fn text(page: &mut Page, id: &str) -> String {
    let text = page.evaluate(&format!("document.getElementById('{id}').textContent"));
    text.as_str().expect("a text").to_owned()
}

/// Gives the file chooser a file, as a reader would.
fn choose(page: &mut Page, file: &Path) {
    let found = page.call("Runtime.evaluate", json!({ "expression": "document.getElementById('file')" }));
    let object = found["result"]["objectId"].as_str().expect("the chooser").to_owned();
    page.call("DOM.setFileInputFiles", json!({ "files": [file], "objectId": object }));
}

#[test]
fn the_page_answers_a_capture_and_a_preset_as_the_library_does() {
    let Some(mut page) =
        opened("answers", "#preset=dsl&startup=slow-start,jump-start&window=30&sizes=30KB,300KB,3MB")
    else {
        return;
    };
    let mut engine = Engine::default();
    let mut native = |order: &Value, file: &[u8]| {
        engine.answer(order.to_string().as_bytes(), file, &Silent).expect("an answer");
        let line = engine.answer(br#"{"do":"json"}"#, &[], &Silent).expect("the line");
        String::from_utf8(as_in_browser(&line)).expect("text")
    };
    // The page hands out the line of `compare --json`; its buttons do the same.
    let line = "room.ask({ do: 'json' }).then(({ answer }) => new TextDecoder().decode(answer))";
    let schemes = ["slow-start", "jump-start"];
    let expected = native(&order(&json!({ "preset": "dsl" }), &schemes, 30), &[]);
    assert!(page.evaluate(line) == expected, "the preset's answer differs");

    let capture = captures().into_iter().find(|it| it.ends_with("p2-reno-30KB.pcap")).expect("shipped");
    page.evaluate("document.documentElement.dataset.ready = 'false'");
    choose(&mut page, &capture);
    settled(&mut page);
    let bytes = std::fs::read(&capture).expect("readable");
    let expected = native(&order(&json!({ "file": "p2-reno-30KB.pcap" }), &schemes, 30), &bytes);
    assert!(page.evaluate(line) == expected, "the capture's answer differs");
    assert!(text(&mut page, "command-line").starts_with("firstflight compare p2-reno-30KB.pcap --scheme"));
    healthy(&mut page);
}

#[test]
fn sliders_links_and_errors_work_from_the_keyboard() {
    let Some(mut page) = opened(
        "form",
        "#rate=40+Mbit%2Fs&rtt=100+ms&buffer=1+BDP&loss=0.1%25&startup=slow-start,bbr&window=&runs=4",
    ) else {
        return;
    };
    assert_eq!(
        text(&mut page, "command-line"),
        "firstflight compare --rate '40 Mbit/s' --rtt '100 ms' --buffer '1 BDP' --loss 0.1% \
         --scheme slow-start+cubic,bbr --size 30KB,300KB,3MB --runs 4"
    );
    // The right arrow moves the slider by a step, and its text follows.
    page.evaluate(
        "document.documentElement.dataset.ready = 'false'; document.getElementById('rtt-slider').focus()",
    );
    page.press("ArrowRight");
    settled(&mut page);
    let rtt = page.evaluate("document.getElementById('rtt').value");
    assert_ne!(rtt, "100 ms");
    let focus = page.evaluate("document.activeElement.id");
    assert_eq!(focus, "rtt-slider", "a new answer leaves the focus where it is");
    let hash = page.evaluate("decodeURIComponent(location.hash.replaceAll('+', ' '))");
    assert!(
        hash.as_str().is_some_and(|it| it.contains(&format!("rtt={}", rtt.as_str().expect("text")))),
        "{hash}"
    );
    assert!(text(&mut page, "command-line").contains(rtt.as_str().expect("text")));

    // A wrong value is refused by its key; the answer of before stays.
    let before = text(&mut page, "ranking");
    page.evaluate(
        "(() => { const rate = document.getElementById('rate'); rate.value = '40 mbps'; \
         rate.dispatchEvent(new Event('change', { bubbles: true })); })()",
    );
    let shown = "new Promise((go) => setTimeout(() => go(document.getElementById('problem').hidden ? '' \
         : document.getElementById('problem').textContent), 1500))";
    let problem = page.evaluate(shown);
    assert!(problem.as_str().is_some_and(|it| it.contains("path.rate")), "{problem}");
    assert_eq!(text(&mut page, "ranking"), before);
    let marked = "[!document.getElementById('old').hidden, document.getElementById('result').hasAttribute('data-old')]";
    assert_eq!(page.evaluate(marked), json!([true, true]), "the answer belongs to the input before");
    changed(
        &mut page,
        "const rate = document.getElementById('rate'); rate.value = '40 Mbit/s'; \
         rate.dispatchEvent(new Event('change', { bubbles: true }));",
    );
    assert_eq!(page.evaluate(marked), json!([false, false]));
    healthy(&mut page);
}

#[test]
fn packets_move_and_a_long_comparison_can_be_stopped() {
    let Some(mut page) = opened("packets", "#preset=cable&startup=slow-start,jump-start&window=") else {
        return;
    };
    let words = text(&mut page, "packets-words");
    assert!(words.starts_with("Round trip 3"), "{words}");
    // The state is read in the frame in which the words change: on a busy machine the play may be over before the next call.
    let played = page.evaluate(
        "(() => { const [words, play] = ['words', 'play'].map((it) => document.getElementById(`packets-${it}`)); \
         document.getElementById('packets-speed').value = '0.5'; play.click(); const begin = words.textContent; \
         return new Promise((go) => { const look = () => words.textContent === begin ? requestAnimationFrame(look) \
         : go([words.textContent, play.textContent]); look(); }); })()",
    );
    assert_ne!(played[0], words);
    assert_eq!(played[1], "Pause");
    page.evaluate("document.getElementById('packets-play').click()");
    let painted = "(() => { const c = document.getElementById('packets-canvas'); \
         const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height); \
         return data.filter((value, i) => i % 4 === 3 && value > 0).length; })()";
    assert!(page.evaluate(painted).as_u64().is_some_and(|it| it > 2000), "the picture is drawn");

    // A thousand replications on a path with loss take many seconds.
    let ranking = text(&mut page, "ranking");
    page.evaluate(
        "(() => { for (const [name, value] of [['loss', '1%'], ['runs', '1000']]) { \
         const field = document.getElementById(name); field.value = value; \
         field.dispatchEvent(new Event('change', { bubbles: true })); } })()",
    );
    let busy = "new Promise((go) => { const look = () => document.getElementById('progress').value > 0 \
         ? go(true) : setTimeout(look, 20); look(); })";
    assert_eq!(page.evaluate(busy), true);
    page.evaluate("document.getElementById('stop').click()");
    page.evaluate("new Promise((go) => setTimeout(go, 200))");
    assert!(text(&mut page, "status").starts_with("Stopped."));
    assert_eq!(text(&mut page, "ranking"), ranking);
    // The engine works on.
    changed(
        &mut page,
        "const runs = document.getElementById('runs'); runs.value = '2'; \
         runs.dispatchEvent(new Event('change', { bubbles: true }));",
    );
    assert_ne!(text(&mut page, "ranking"), ranking);
    healthy(&mut page);
}

#[test]
fn the_page_fits_a_phone_and_asks_for_nothing_outside() {
    let Some(mut page) = opened("phone", "#preset=lte") else { return };
    for width in [390, 1280] {
        page.resize(width, 844);
        page.evaluate("new Promise((go) => setTimeout(go, 200))");
        let wide =
            page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert_eq!(wide, 0, "nothing is wider than {width} pixels");
    }
    page.prefer("dark");
    page.evaluate("new Promise((go) => setTimeout(go, 200))");
    healthy(&mut page);
    let outside: Vec<&str> = page
        .events
        .iter()
        .filter(|event| event["method"] == "Network.requestWillBeSent")
        .filter_map(|event| event["params"]["request"]["url"].as_str())
        .filter(|url| !["file:", "blob:", "about:", "data:"].iter().any(|scheme| url.starts_with(scheme)))
        .collect();
    assert!(outside.is_empty(), "{outside:?}");
}

#[test]
fn the_time_from_a_slider_to_the_painted_answer_is_printed() {
    let Some(mut page) = opened("latency", "#preset=cable") else { return };
    for loss in ["0", "0.5%"] {
        changed(
            &mut page,
            &format!(
                "const loss = document.getElementById('loss'); loss.value = '{loss}'; \
                 loss.dispatchEvent(new Event('change', {{ bubbles: true }}));"
            ),
        );
        let times = page.evaluate(
            "(async () => { const [slider, cost] = [document.getElementById('rate-slider'), document.getElementById('cost')]; \
             const times = { painted: [], took: [] }; \
             for (let i = 0; i < 30; i++) { const count = cost.dataset.count; slider.value = 0.3 + 0.015 * i; \
             slider.dispatchEvent(new Event('input', { bubbles: true })); \
             while (cost.dataset.count === count) await new Promise((go) => setTimeout(go, 2)); \
             times.painted.push(Number(cost.dataset.painted)); times.took.push(Number(cost.dataset.took)); } return times; })()",
        );
        let sorted = |name: &str| -> Vec<f64> {
            let mut all: Vec<f64> =
                times[name].as_array().expect("times").iter().filter_map(Value::as_f64).collect();
            all.sort_by(f64::total_cmp);
            all
        };
        let (painted, took) = (sorted("painted"), sorted("took"));
        assert_eq!(painted.len(), 30);
        println!(
            "loss {loss}: from the slider to the painted answer, median {:.0} ms, 95th percentile {:.0} ms, of which the \
             engine {:.0} ms",
            painted[15], painted[28], took[15]
        );
        changed(&mut page, "document.getElementById('rate-slider').dispatchEvent(new Event('change'))");
        let whole = page.evaluate("Number(document.getElementById('cost').dataset.took)");
        println!("loss {loss}: the whole answer takes the engine {:.0} ms", whole.as_f64().unwrap_or(0.0));
    }
    healthy(&mut page);
}

/// A picture as mdBook 0.5.4 writes it: twice, the second to be shown over the page when the first is clicked. The markup is that of mdBook's
/// own expected page `tests/testsuite/markdown/basic_markdown/expected/images.html`.
fn doubled(source: &str) -> String {
    let picture = format!("<img src=\"{source}\" alt=\"a scheme\">");
    format!(
        "<p><label class=\"checkbox-label\"><input class=\"checkbox-img\" type=\"checkbox\">{picture}\
         <span class=\"img-wrapper\">{picture}</span></label></p>"
    )
}

#[test]
fn the_figure_of_a_schemes_page_runs_on_other_paths_and_is_its_picture_on_the_page_s_own() {
    let Some(module) = module() else { return };
    let live = live(&std::fs::read(module).expect("the module is readable"));
    // The site as mdBook makes it: the pages of schemes two folders below the scripts, and a page of all pages beside them.
    let site = Path::new(env!("CARGO_TARGET_TMPDIR")).join("live-figure");
    let folder = site.join("docs/algorithms");
    std::fs::create_dir_all(folder.join("images")).expect("a folder");
    let drawn = |name: &str| {
        let file = root().join(format!("docs/algorithms/images/{name}.svg"));
        std::fs::read_to_string(file).expect("the picture of a scheme")
    };
    let (picture, other) = (drawn("hystart++"), drawn("slow-start"));
    let html = |up: &str, content: &str| {
        format!(
            "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>hystart++</title></head><body><main>\
             {content}</main><script src=\"{up}figure.js\"></script></body></html>"
        )
    };
    let all = ["hystart++", "slow-start"].map(|name| doubled(&format!("docs/algorithms/images/{name}.svg")));
    for (name, text) in [
        ("figure.js", live.figure.as_str()),
        ("figure-module.js", &live.module),
        ("docs/algorithms/images/hystart++.svg", &picture),
        ("docs/algorithms/images/slow-start.svg", &other),
        ("docs/algorithms/hystart++.html", &html("../../", &doubled("images/hystart++.svg"))),
        (
            "docs/algorithms/single.html",
            &html("../../", "<p><img src=\"images/hystart++.svg\" alt=\"hystart++\"></p>"),
        ),
        ("docs/algorithms/all.html", &html("../../", &all.concat().replace("docs/algorithms/", ""))),
        ("print.html", &html("", &all.concat())),
    ] {
        std::fs::write(site.join(name), text).expect("written");
    }
    let Some(mut page) = Page::blank("figure") else { return };
    // Pages with several pictures keep them as they are; a picture that is there once has sliders, too.
    for (name, figures) in
        [("print.html", 0), ("docs/algorithms/all.html", 0), ("docs/algorithms/single.html", 1)]
    {
        page.open_still(&site.join(name));
        let count = page.evaluate("document.querySelectorAll('.live-figure').length");
        assert_eq!(count, figures, "{name}");
    }
    page.open_still(&folder.join("hystart++.html"));
    // The figure is there once, without the label that enlarges a picture at a click.
    let count = "['main img', 'main label.checkbox-label', '.live-figure'].map((it) => document.querySelectorAll(it).length)";
    assert_eq!(page.evaluate(count), json!([1, 0, 1]));
    let source = "document.querySelector('main img').src";
    assert!(page.evaluate(source).as_str().is_some_and(|it| it.ends_with("/images/hystart++.svg")));
    assert_eq!(page.evaluate("'firstflightModule' in window"), false, "the module waits for a reader");

    let mut runs = 0;
    let mut after = |page: &mut Page| {
        runs += 1;
        let wait = format!(
            "new Promise((go) => {{ const look = () => document.querySelector('.live-figure').dataset.runs === '{runs}' \
             ? go(true) : setTimeout(look, 20); look(); }})"
        );
        assert_eq!(page.evaluate(&wait), true);
        let drawn = page.evaluate(&format!("fetch({source}).then((it) => it.text())"));
        let texts =
            page.evaluate("[...document.querySelectorAll('.live-figure output')].map((it) => it.value)");
        let status = page.evaluate("document.querySelector('.live-status').textContent");
        println!("{status}: {texts}");
        (drawn.as_str().expect("an SVG").to_owned(), texts)
    };
    // One step of an eighth of a power of two: 20 Mbit/s times 1.0905.
    page.evaluate("document.querySelector('.live-figure [name=rate]').focus()");
    page.press("ArrowRight");
    let (changed, texts) = after(&mut page);
    assert_eq!(texts, json!(["21.8 Mbit/s", "100 ms", "182 packets", "0.00 %"]));
    assert!(changed != picture && changed.contains("21.8 Mbit/s, 100 ms, buffer 182 packets"), "{changed}");
    page.evaluate("document.querySelector('.live-figure button').click()");
    let (own, texts) = after(&mut page);
    assert_eq!(texts, json!(["20 Mbit/s", "100 ms", "167 packets", "0.00 %"]));
    assert!(own == picture, "the module and the native program draw different pictures");
    assert!(page.errors().is_empty(), "{:#?}", page.errors());
}
