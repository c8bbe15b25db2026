//! Writes the generated tables of `docs/sweeps.md`, and `docs/grid.schema.json`: `cargo run -p firstflight-sweep --example sweep_reference`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::write(docs.join("grid.schema.json"), firstflight_sweep::schema_text())?;
    let file = docs.join("sweeps.md");
    let page = std::fs::read_to_string(&file)?;
    std::fs::write(file, firstflight_sweep::refresh(&page))
}
