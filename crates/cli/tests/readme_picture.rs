//! README's picture shows the present results of `make run`.
//!
//! Pixels differ between versions of Chromium and fonts, so the picture is not compared. The file beside it records the
//! printed results from which it was made, and its digest.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::Scratch;
use sha2::{Digest, Sha256};

/// The capture of `make run`.
const CAPTURE: &str = "crates/capture/testdata/p1-reno-1000KB.pcap";

/// Width and height of the picture, pixels.
const SIZE: [u32; 2] = [1000, 1250];

/// Style sheet that hides all sections except the answer and the plots over time, of whose values the legend remains.
const HIDDEN: &str = "<style>.skip,.top,#ranking,#by-size,#captured,#path,#caveats,#provenance,footer,\
    #over-time .scroll,#over-time .note,#readout tr:has(input:not(:checked)),#readout thead,#readout caption,#readout td{display:none!important}\
    #readout tbody{display:flex;flex-wrap:wrap;gap:0 1.2rem}section{margin-bottom:1.2rem}h1{margin-top:1rem}</style>";
/// Start of the page's policy, which forbids added style sheets and is replaced by [`HIDDEN`].
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\"";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn picture() -> PathBuf {
    repository().join("docs/images/report.png")
}

fn record() -> PathBuf {
    repository().join("docs/images/report.txt")
}

/// Runs the command of `make run`. Returns the printed path, answer and tables, without the legend and the file names.
fn results(scratch: &Scratch) -> String {
    let capture = repository().join(CAPTURE);
    let run = scratch.run(&["compare", capture.to_str().expect("a path in UTF-8"), "--out", "out"]);
    assert_eq!((run.code, &*run.err), (0, ""), "{}", run.out);
    let paragraphs: Vec<&str> = run.out.split("\n\n").collect();
    let [results @ .., _legend, _files] = &paragraphs[..] else { panic!("{}", run.out) };
    results.join("\n\n") + "\n"
}

/// Content of the record for a picture with these bytes.
fn recorded(picture: &[u8], results: &str) -> String {
    let digest: String = Sha256::digest(picture).iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "report.png shows these results of `firstflight compare {CAPTURE}`.\n\
         `make regenerate` writes both files. SHA-256 of report.png: {digest}\n\n{results}"
    )
}

#[test]
fn the_picture_in_the_readme_shows_the_present_results() {
    let picture = std::fs::read(picture()).expect("docs/images/report.png");
    let record = std::fs::read_to_string(record()).expect("docs/images/report.txt");
    let present = recorded(&picture, &results(&Scratch::new()));
    assert!(
        record == present,
        "docs/images/report.png is stale: run `make regenerate`.\n\nrecorded:\n{record}\npresent:\n{present}"
    );
}

#[test]
#[ignore = "writes docs/images/report.png and report.txt; needs Chromium"]
fn write_the_picture() {
    let scratch = Scratch::new();
    let results = results(&scratch);
    let page = scratch.path().join("out/report.html");
    let html = std::fs::read_to_string(&page).expect("the page");
    let (head, rest) = html.split_once(POLICY).expect("the page has a policy");
    let (_, rest) = rest.split_once('>').expect("the element ends");
    let html = format!("{head}{HIDDEN}{rest}").replacen("lang=\"en\"", "lang=\"en\" data-theme=\"light\"", 1);
    std::fs::write(&page, html).expect("the test folder is writable");
    let [width, height] = SIZE;
    let status = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--hide-scrollbars"])
        .args(["--no-first-run", "--disable-background-networking", "--disable-component-update"])
        .args(["--disable-sync", "--disable-dev-shm-usage", "--virtual-time-budget=5000"])
        .arg(format!("--user-data-dir={}", scratch.path().join("profile").display()))
        .arg(format!("--window-size={width},{height}"))
        .arg(format!("--screenshot={}", picture().display()))
        .arg(format!("file://{}", page.display()))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "chromium takes the picture");
    let bytes = std::fs::read(picture()).expect("the picture");
    std::fs::write(record(), recorded(&bytes, &results)).expect("docs/images/report.txt can be written");
}
