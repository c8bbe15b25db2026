//! The papers are built in: they are read again when one of their files changes. And the sources that results depend on
//! get a name, the hash of their contents, so that a run is known again by whatever build has the same ones.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The crates between a scenario and a number.
const CRATES: [&str; 9] =
    ["accesslog", "contract", "host", "schemes", "net", "paths", "scenario", "sim", "study"];
/// And the files of this one.
const FILES: [&str; 7] = ["cell.rs", "log.rs", "metric", "metric.rs", "number.rs", "run.rs", "settings.rs"];

fn main() {
    println!("cargo:rerun-if-changed=../../papers");
    let mut files = vec![];
    let crates = CRATES.map(|name| Path::new("..").join(name).join("src"));
    for path in crates.into_iter().chain(FILES.map(|name| Path::new("src").join(name))) {
        println!("cargo:rerun-if-changed={}", path.display());
        collect(&path, &mut files);
    }
    files.sort();
    let mut hasher = Sha256::new();
    for file in files {
        hasher.update(file.to_string_lossy().as_bytes());
        hasher.update(std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())));
    }
    let hex: String = hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo:rustc-env=FIRSTFLIGHT_SOURCES={hex}");
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_file() {
        return files.push(path.to_owned());
    }
    let entries = std::fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    entries.flatten().for_each(|entry| collect(&entry.path(), files));
}
