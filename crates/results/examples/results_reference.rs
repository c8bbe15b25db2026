//! Writes `docs/results.md`: `cargo run -p firstflight-results --example results_reference`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.md");
    std::fs::write(file, firstflight_results::reference::page())
}
