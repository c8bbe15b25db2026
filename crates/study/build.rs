//! Names the sources that results depend on by the hash of their contents: builds with the same sources give the same
//! results, and use each other's stored runs.

include!("sources.rs");

/// The crates between a scenario and its results.
const CRATES: [&str; 8] = ["contract", "host", "schemes", "net", "paths", "scenario", "sim", "study"];

fn main() {
    let folders = CRATES.map(|name| Path::new("..").join(name).join("src"));
    println!("cargo:rustc-env=FIRSTFLIGHT_SOURCES={}", digest_of(&folders));
}
