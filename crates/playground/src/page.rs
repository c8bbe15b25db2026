//! The page: one HTML file with the module, the scripts and the styles in it. It loads nothing.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use firstflight::DEFAULT_WINDOWS;
use firstflight_report::{DRAWING_JS, UPLOT_JS, licences, policy, style};
use flate2::{Compression, GzBuilder};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const ROOM_JS: &str = include_str!("../assets/room.js");
const WORKER_JS: [&str; 2] = [include_str!("../assets/engine.js"), include_str!("../assets/worker.js")];
const PAGE_JS: [&str; 4] = [
    ROOM_JS,
    include_str!("../assets/form.js"),
    include_str!("../assets/packets.js"),
    include_str!("../assets/page.js"),
];
const FIGURE_JS: &str = include_str!("../assets/figure.js");
const PAGE_CSS: &str = include_str!("../assets/playground.css");

/// The page as one HTML document. `module` is the WebAssembly module of this crate. The same module gives the same bytes.
pub fn page(module: &[u8]) -> String {
    let worker = worker();
    let script = format!("\"use strict\";\n{}{}", DRAWING_JS.concat(), PAGE_JS.concat());
    let style = format!("{}\n{PAGE_CSS}", style());
    // The module is compiled, and its worker is made of a text of the page.
    let policy =
        policy(&[UPLOT_JS, &script], &[&style]).replacen("script-src", "script-src 'wasm-unsafe-eval'", 1)
            + "; worker-src blob:";
    let page = html! {
        (DOCTYPE)
        html lang="en" data-ready="false" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { "firstflight playground: how should a connection start?" }
                style { (PreEscaped(&style)) }
            }
            body.playground {
                a.skip href="#output" { "Skip to the answer" }
                header.top {
                    div.wide {
                        p.product { "firstflight " span { "playground" } }
                        button #theme type="button" hidden { "Colours: automatic" }
                    }
                }
                main {
                    (form())
                    div #output {
                        noscript { p.problem { "The playground simulates in your browser, which needs JavaScript and WebAssembly." } }
                        div.run {
                            progress #progress hidden aria-label="Simulations" {}
                            button #stop type="button" hidden { "Stop" }
                            p #status role="status" {}
                        }
                        p #problem .problem role="alert" hidden {}
                        p #cost .cost {}
                        p #old .problem role="status" hidden { "The answer below belongs to the input before." }
                        div #result {}
                        (packets())
                        (take_along())
                    }
                }
                footer {
                    p {
                        "Everything runs in your browser: the page loads nothing and sends nothing, and a file that you open "
                        "stays on your machine. The results are the same, byte for byte, as those of the command above."
                    }
                    (licences())
                }
                script #worker type="text/plain" { (PreEscaped(&worker)) }
                script #module type="text/plain" { (STANDARD.encode(packed(module))) }
                script { (PreEscaped(UPLOT_JS)) }
                script { (PreEscaped(&script)) }
            }
        }
    };
    page.into_string()
}

/// The scripts of the figures of the schemes' pages.
#[derive(Clone, Debug)]
pub struct Live {
    /// The script that every page loads.
    pub figure: String,
    /// The script with the module, `figure-module.js` beside it. A page loads it when a reader moves a slider.
    pub module: String,
}

/// The scripts of the figures of the schemes' pages. `module` is the WebAssembly module of this crate.
pub fn live(module: &[u8]) -> Live {
    let text = |text: &str| serde_json::to_string(text).expect("a text");
    Live {
        figure: format!("\"use strict\";\n(() => {{\n{ROOM_JS}{FIGURE_JS}}})();\n"),
        module: format!(
            "globalThis.firstflightModule = {{ worker: {}, module: {} }};\n",
            text(&worker()),
            text(&STANDARD.encode(packed(module)))
        ),
    }
}

fn worker() -> String {
    format!("\"use strict\";\n{}", WORKER_JS.concat())
}

/// The module, compressed; without a time, so that the bytes are the same on every day.
fn packed(module: &[u8]) -> Vec<u8> {
    let mut writer = GzBuilder::new().write(vec![], Compression::best());
    writer.write_all(module).and_then(|()| writer.finish()).expect("memory can be written")
}

/// A value of the path: its text, and a slider for it.
fn value(name: &str, text: &str, hint: &str) -> Markup {
    html! {
        div.field {
            label for=(name) { (text) }
            input #(name) type="text" name=(name) required autocomplete="off" spellcheck="false" title=(hint);
            input id={ (name) "-slider" } type="range" min="0" max="1" step="0.005" aria-label={ (text) ", slider" };
        }
    }
}

/// A field with a label.
fn field(name: &str, text: &str, input: &Markup) -> Markup {
    html! { div.field { label for=(name) { (text) } (input) } }
}

fn form() -> Markup {
    html! {
        form #form .side-form inert aria-label="Comparison" {
            fieldset {
                legend { "Path" }
                div.field {
                    label for="preset" { "Preset" }
                    select #preset name="preset" { option value="" { "my own path" } }
                }
                (value("rate", "Bottleneck rate", "such as 40 Mbit/s"))
                (value("rtt", "Round trip without queue", "such as 100 ms"))
                (value("buffer", "Buffer", "such as 1 BDP, 250 KB or 500 packets"))
                (value("loss", "Random loss", "such as 0.1% or 0.001"))
                div.drop {
                    label for="file" { "Or a capture (pcap, pcapng) or a scenario (TOML)" }
                    input #file type="file" accept=".pcap,.pcapng,.cap,.gz,.zst,.toml";
                    p.file-note { "Drop it anywhere on the page. It stays on this machine." }
                }
            }
            fieldset {
                legend { "Start-up schemes" }
                div #startups .boxes {}
                details {
                    summary { "All other schemes" }
                    div #more-startups .boxes {}
                }
                (field("avoidance", "then", &html! { select #avoidance name="avoidance" {} }))
            }
            fieldset {
                legend { "Initial windows of the stack's own scheme, packets" }
                div.boxes.narrow {
                    @for window in DEFAULT_WINDOWS {
                        label { input type="checkbox" name="window" value=(window) checked[window == 30]; (window) }
                    }
                    label { input #paced type="checkbox" name="paced"; "paced" }
                }
            }
            fieldset {
                legend { "Transfers" }
                (field("sizes", "Sizes", &html! {
                    input #sizes type="text" name="sizes" value="30KB,300KB,3MB" autocomplete="off" spellcheck="false";
                }))
                details {
                    summary { "Stack, replications, chains of your own" }
                    (field("profile", "Stack", &html! { select #profile name="profile" {} }))
                    (field("runs", "Replications", &html! {
                        input #runs type="number" name="runs" value="30" min="1" max="1000";
                    }))
                    (field("seed", "Seed", &html! { input #seed type="number" name="seed" value="1" min="0"; }))
                    label for="others" { "Chains, separated by commas, such as hystart-linux+cubic@iw30+paced" }
                    input #others type="text" name="others" autocomplete="off" spellcheck="false";
                }
            }
            button type="submit" { "Compare" }
        }
    }
}

/// Seconds of the reader for a round trip.
const SPEEDS: [&str; 5] = ["8", "4", "2", "1", "0.5"];

fn packets() -> Markup {
    html! {
        section #packets aria-labelledby="packets-title" hidden {
            h2 #packets-title { "The first round trips, packet by packet" }
            p.note {
                "The sender may have as many packets on the way as its window allows. In slow start each ACK enlarges the window "
                "by what it acknowledges, so that the window doubles in each round trip, until the bottleneck cannot serve "
                "more: then the queue grows, and a full queue drops packets. Bars are data, hollow bars retransmissions, dots "
                "ACKs, crosses packets that are lost."
            }
            div.controls {
                label.select { "Transfer " select #packets-trace {} }
                button #packets-play type="button" { "Play" }
                label.select {
                    "A round trip takes "
                    select #packets-speed {
                        @for speed in SPEEDS { option value=(speed) selected[speed == "2"] { (speed) " s" } }
                        option value="real" { "its own time" }
                    }
                }
                input #packets-time type="range" min="0" max="1" step="0.0005" value="0" aria-label="Time in the transfer";
            }
            canvas #packets-canvas role="img" aria-labelledby="packets-title" aria-describedby="packets-words" {}
            p #packets-words .note {}
        }
    }
}

fn take_along() -> Markup {
    html! {
        section #take aria-labelledby="take-title" {
            h2 #take-title { "Take it along" }
            div.command { pre tabindex="0" { code #command-line {} } }
            div.take {
                button #copy-command type="button" { "Copy the command" }
                button #copy-link type="button" { "Copy a link" }
                button #copy-json type="button" { "Copy JSON" }
                button #copy-toml type="button" { "Copy TOML" }
                button #save-json type="button" { "Save comparison.json" }
                button #save-toml type="button" { "Save scenario.toml" }
                button #save-report type="button" { "Save report.html" }
            }
            p.note {
                "The link holds every choice, but no file. The command makes the same comparison, with the same numbers, and "
                "writes the same report."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_loads_nothing_and_holds_the_module() {
        let page = page(b"\0asm and more");
        assert!(
            page.contains("content=\"default-src 'none'; script-src 'wasm-unsafe-eval' 'sha256-"),
            "{}",
            &page[..400]
        );
        assert!(page.contains("; worker-src blob:\""));
        for outside in ["src=\"http", "href=\"http", "@import", "url(http"] {
            assert!(!page.contains(outside), "{outside}");
        }
        let module =
            page.split_once("id=\"module\" type=\"text/plain\">").and_then(|(_, rest)| rest.split_once('<'));
        let packed = STANDARD.decode(module.expect("an element").0).expect("base64");
        let mut plain = vec![];
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed[..]), &mut plain).expect("gzip");
        assert_eq!(plain, b"\0asm and more");
    }

    #[test]
    fn no_script_ends_its_element() {
        for script in WORKER_JS.iter().chain(&PAGE_JS) {
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
    }
}
