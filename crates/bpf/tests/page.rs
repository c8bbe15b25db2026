//! The table of fields in docs/bpf.md.

use std::path::PathBuf;

/// Begins the table, which ends the page.
const MARK: &str = "<!-- fields -->\n";

fn page() -> (PathBuf, String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/bpf.md");
    let text = std::fs::read_to_string(&path).expect("docs/bpf.md can be read");
    (path, text)
}

#[test]
fn the_page_has_the_fields_of_the_view() {
    let (_, text) = page();
    let (_, table) = text.split_once(MARK).expect("the mark is in the page");
    assert_eq!(table, firstflight_bpf::view::table(), "stale: run make regenerate");
}

#[test]
#[ignore = "writes docs/bpf.md; make regenerate runs it"]
fn write_the_page() {
    let (path, text) = page();
    let (before, _) = text.split_once(MARK).expect("the mark is in the page");
    std::fs::write(path, format!("{before}{MARK}{}", firstflight_bpf::view::table()))
        .expect("docs/bpf.md is written");
}
