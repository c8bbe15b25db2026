//! The contract and the parts of a host build where there is no operating system and no allocator.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const TARGET: &str = "wasm32-unknown-unknown";

#[test]
fn contract_and_host_build_without_std_and_without_alloc() {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = Command::new(rustc).args(["--print", "sysroot"]).output().expect("rustc prints its folder");
    let sysroot = PathBuf::from(String::from_utf8(sysroot.stdout).expect("a path in UTF-8").trim());
    if !sysroot.join("lib/rustlib").join(TARGET).is_dir() {
        firstflight_skip::skip(format_args!("target {TARGET} is not installed"));
        return;
    }
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for features in [["--no-default-features"].as_slice(), &[]] {
        let output = Command::new(env!("CARGO"))
            .args(["check", "--locked", "--offline", "--target", TARGET, "--manifest-path", manifest])
            .args(["--target-dir", env!("CARGO_TARGET_TMPDIR")])
            .args(features)
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{features:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    }
}
