// Used by the build scripts of the crates that name their sources.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Hash of files and of all files in folders, as 16 hexadecimal digits. Cargo builds again when one of them changes.
fn digest_of(paths: &[PathBuf]) -> String {
    let mut files = vec![];
    for path in paths {
        println!("cargo:rerun-if-changed={}", path.display());
        collect(path, &mut files);
    }
    files.sort();
    let mut hasher = Sha256::new();
    for file in files {
        hasher.update(file.to_string_lossy().as_bytes());
        hasher.update(std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())));
    }
    hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_file() {
        return files.push(path.to_owned());
    }
    let entries = std::fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    entries.flatten().for_each(|entry| collect(&entry.path(), files));
}
