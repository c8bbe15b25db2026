//! The module and the page, built once for each test program, and orders as the page gives them.

#![allow(dead_code, reason = "each test file uses only some of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

pub(crate) fn root() -> PathBuf {
    // A browser refuses paths with `..`.
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Whether a program starts and answers `--version`.
pub(crate) fn has(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// The module, built as `make playground` builds it; `None`, with the reason printed, without the target.
pub(crate) fn module() -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build).clone()
}

fn build() -> Option<PathBuf> {
    let built =
        Command::new(root().join("tools/playground-module")).arg("--installed").output().expect("bash runs");
    let words = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "tools/playground-module: {}\n{words}", built.status);
    let path = std::str::from_utf8(&built.stdout).expect("a path").trim();
    if path.is_empty() {
        firstflight_skip::skip(words.trim().trim_start_matches("skipped: "));
        return None;
    }
    Some(root().join(path).canonicalize().expect("cargo wrote the module"))
}

/// The page in a folder of the test's own; `None` as [`module`].
pub(crate) fn page(test: &str) -> Option<PathBuf> {
    let module = std::fs::read(module()?).expect("the module is readable");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("playground-{test}"));
    std::fs::create_dir_all(&folder).expect("a folder for the page");
    let page = folder.join("playground.html");
    std::fs::write(&page, firstflight_playground::page(&module)).expect("the page is written");
    Some(page)
}

/// A comparison as the page asks for it: `from` has the field that says where the path comes from.
pub(crate) fn order(from: &Value, schemes: &[&str], runs: u32) -> Value {
    let mut ask = json!({
        "startups": schemes, "avoidance": "cubic", "windows": [30], "paced": false, "others": "",
        "sizes": "30KB,300KB,3MB", "profile": "linux", "runs": runs, "seed": 1, "preview": false,
    });
    let fields = ask.as_object_mut().expect("an object");
    fields.extend(from.as_object().expect("an object").clone());
    json!({ "do": "compare", "ask": ask })
}

/// Native bytes as the browser has them: the results name the machine.
pub(crate) fn as_in_browser(native: &[u8]) -> Vec<u8> {
    let machine = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    let text = std::str::from_utf8(native).expect("answers are text");
    text.replace(&machine, "wasm32").into_bytes()
}

/// Captures that ship with the project.
pub(crate) fn captures() -> Vec<PathBuf> {
    let folders = ["crates/capture/testdata", "crates/capture/testdata/more"].map(|it| root().join(it));
    let files = folders.iter().flat_map(|it| std::fs::read_dir(it).expect("a folder").flatten());
    let mut captures: Vec<PathBuf> =
        files.map(|it| it.path()).filter(|it| it.extension().is_some_and(|end| end == "pcap")).collect();
    captures.sort();
    captures
}
