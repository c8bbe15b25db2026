//! The papers are built in: they are read again when one of their files changes. And the sources that results depend on
//! get a name, the hash of their contents, so that a run is known again by whatever build has the same ones.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The crates between a scenario and a number.
const CRATES: [&str; 7] = ["control", "net", "paths", "scenario", "sim", "study", "reproduce"];

fn main() {
    println!("cargo:rerun-if-changed=../../papers");
    let mut files = vec![];
    for name in CRATES {
        let folder = Path::new("..").join(name).join("src");
        println!("cargo:rerun-if-changed={}", folder.display());
        collect(&folder, &mut files);
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

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.flatten().map(|entry| entry.path()) {
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}
