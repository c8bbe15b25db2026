//! Writes the generated tables of `docs/gateway-configuration.md`.
//!
//! `cargo run -p firstflight-gateway --example configuration_reference`

use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gateway-configuration.md");
    let text = fs::read_to_string(&page)?;
    fs::write(&page, firstflight_gateway::configuration::refresh(&text))
}
