//! The sources of the objects, and whether they changed since an object was built.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// An object that the repository ships.
pub(crate) struct Object {
    /// Its file, compressed.
    pub(crate) path: &'static str,
    /// The hash of the sources that it was built from.
    pub(crate) built_from: &'static str,
    /// Folders and files whose code it has, or that make it.
    sources: &'static [&'static str],
}

/// The schemes as congestion controls.
pub(crate) const SCHEMES: Object = Object {
    path: "crates/kernel/bpf/firstflight.bpf.o.gz",
    built_from: "crates/kernel/bpf/firstflight.bpf.sources",
    sources: &[
        "crates/contract/include",
        "crates/contract/src",
        "crates/host/src",
        "crates/kernel/bpf/build/src",
        "crates/kernel/bpf/face/src",
        "crates/kernel/bpf/shim",
        "crates/schemes/src",
    ],
};
/// The gateway's hooks.
pub(crate) const HOOKS: Object = Object {
    path: "crates/hooks/bpf/hooks.bpf.o.gz",
    built_from: "crates/hooks/bpf/hooks.bpf.sources",
    sources: &["crates/hooks/bpf", "crates/kernel/bpf/shim/kernel.h"],
};

impl Object {
    /// The hash of all code of the sources. Tests, comments and empty lines do not count.
    pub(crate) fn hash(&self, repository: &Path) -> io::Result<String> {
        let mut files = vec![];
        for source in self.sources {
            collect(&repository.join(source), &mut files)?;
        }
        files.sort();
        let mut hash = Sha256::new();
        for path in files {
            hash.update(code(&fs::read_to_string(path)?));
        }
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if folder.is_file() {
        files.push(folder.to_owned());
        return Ok(());
    }
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
    fn no_object_is_older_than_its_sources() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../..");
        for object in [SCHEMES, HOOKS] {
            let built = repository.join(object.built_from);
            let built = fs::read_to_string(built).expect("the hash beside the object");
            let present = object.hash(&repository).expect("the sources");
            assert_eq!(built.trim(), present, "{} is stale: run `make kernel`", object.path);
        }
    }

    #[test]
    fn only_code_counts() {
        let text = "//! Title\n\n#[cfg(test)]\nmod helper;\nfn f() {\n    // why\n    g()\n}\n#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(code(text), "fn f() {\ng()\n}\n");
    }
}
