//! Writes what is generated from the format: `docs/scenario.schema.json` and the tables of `docs/scenarios.md`.
//!
//! `cargo run -p firstflight-scenario --example reference`

use firstflight_scenario::schema::{schema, schema_text};
use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    fs::write(docs.join("scenario.schema.json"), schema_text(&schema()))?;
    let page = docs.join("scenarios.md");
    let text = fs::read_to_string(&page)?;
    fs::write(&page, firstflight_scenario::reference::refresh(&text))
}
