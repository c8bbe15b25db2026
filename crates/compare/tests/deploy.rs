//! `docs/deploy.md` is the page of the declarations.

use std::path::Path;

#[test]
fn the_page_of_what_can_be_had_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy.md");
    let page = std::fs::read_to_string(file).expect("docs/deploy.md");
    assert!(
        page == firstflight_compare::advice::deploy::page(),
        "docs/deploy.md is stale; `cargo run -p firstflight-compare --example deploy` writes it"
    );
}
