//! Writes `docs/deploy.md`: `cargo run -p firstflight-compare --example deploy`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy.md");
    std::fs::write(file, firstflight_compare::advice::deploy::page())
}
