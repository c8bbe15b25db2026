//! The core of the library builds for the browser: no thread, no clock, no file.

use std::path::Path;
use std::process::Command;

const TARGET: &str = "wasm32-unknown-unknown";

/// Whether the compiler in use has the target's standard library.
fn installed() -> bool {
    let output = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let folder = output.ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    Path::new(folder.trim()).is_dir()
}

#[test]
fn the_library_without_features_builds_for_wasm() {
    if !installed() {
        println!("skipped: the target {TARGET} is not installed (rustup target add {TARGET})");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["check", "--quiet", "--locked", "--package", "firstflight", "--no-default-features"])
        .args(["--target", TARGET, "--target-dir", "target/wasm"])
        .status()
        .expect("cargo starts");
    assert!(status.success(), "cargo check for {TARGET}: {status}");
}
