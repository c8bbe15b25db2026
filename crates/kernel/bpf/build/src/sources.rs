//! The sources of the object, and whether they changed since it was built.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Folders and files whose code the object has, or that make it.
const SOURCES: [&str; 7] = [
    "crates/contract/include",
    "crates/contract/src",
    "crates/host/src",
    "crates/kernel/bpf/build/src",
    "crates/kernel/bpf/face/src",
    "crates/kernel/bpf/shim",
    "crates/schemes/src",
];

/// The hash of all code of the sources. Tests, comments and empty lines do not count.
pub(crate) fn hash(repository: &Path) -> io::Result<String> {
    let mut files = vec![];
    for source in SOURCES {
        collect(&repository.join(source), &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    for path in files {
        hash.update(code(&fs::read_to_string(path)?));
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let test = path.file_stem().is_some_and(|name| name == "tests" || name == "test_sender");
        match path.extension().and_then(|extension| extension.to_str()) {
            _ if test => {}
            None if path.is_dir() => collect(&path, files)?,
            Some("rs" | "c" | "h") => files.push(path),
            _ => {}
        }
    }
    Ok(())
}

/// The lines of code before the module of tests.
fn code(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).peekable();
    let mut code = String::new();
    while let Some(line) = lines.next() {
        if line == "#[cfg(test)]" {
            // A module of tests in another file, or all that follows.
            match lines.next_if(|next| next.ends_with(';')) {
                Some(_) => continue,
                None => break,
            }
        }
        if !line.is_empty() && !line.starts_with("//") {
            code.push_str(line);
            code.push('\n');
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_is_not_older_than_its_sources() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../..");
        let built =
            fs::read_to_string(repository.join(crate::BUILT_FROM)).expect("the hash beside the object");
        let present = hash(&repository).expect("the sources");
        assert_eq!(built.trim(), present, "the eBPF object is stale: run `make kernel`");
    }

    #[test]
    fn only_code_counts() {
        let text = "//! Title\n\n#[cfg(test)]\nmod helper;\nfn f() {\n    // why\n    g()\n}\n#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(code(text), "fn f() {\ng()\n}\n");
    }
}
