//! Writes the generated tables of `docs/sweeps.md`, and `docs/grid.schema.json`: `cargo run -p firstflight-study --example sweep_reference`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::write(docs.join("grid.schema.json"), firstflight_study::sweep::schema_text())?;
    let file = docs.join("sweeps.md");
    let page = std::fs::read_to_string(&file)?;
    std::fs::write(file, firstflight_study::sweep::refresh(&page))
}
