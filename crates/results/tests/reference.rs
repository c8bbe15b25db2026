//! `docs/results.md` is the page of the declarations.

use std::path::Path;

#[test]
fn the_page_of_results_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.md");
    let page = std::fs::read_to_string(file).expect("docs/results.md");
    assert!(
        page == firstflight_results::reference::page(),
        "docs/results.md is stale; `cargo run -p firstflight-results --example results_reference` writes it"
    );
}
