//! Writes the generated tables of `docs/sweeps.md`: `cargo run -p firstflight-study --example sweep_reference`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sweeps.md");
    let page = std::fs::read_to_string(&file)?;
    std::fs::write(file, firstflight_study::sweep::refresh(&page))
}
