//! Puts the revision of the source, as `git describe` prints it, into the binary; the version if there is no repository.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    println!("cargo:rerun-if-changed=build.rs");
    let (revision, shown) = match revision(&root) {
        Some(revision) => (revision.clone(), format!("{version} ({revision})")),
        None => (version.to_owned(), version.to_owned()),
    };
    println!("cargo:rustc-env=FIRSTFLIGHT_REVISION={revision}");
    println!("cargo:rustc-env=FIRSTFLIGHT_VERSION={shown}");
}

fn revision(root: &Path) -> Option<String> {
    // A copy of the source inside another repository must not take the revision of that repository.
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    // Commits and checkouts change these files.
    for name in ["logs/HEAD", "HEAD"] {
        let file = root.join(git(root, &["rev-parse", "--git-path", name])?);
        if file.exists() {
            println!("cargo:rerun-if-changed={}", file.display());
        }
    }
    println!("cargo:rerun-if-changed={}", root.join("crates").display());
    git(root, &["describe", "--always", "--tags", "--dirty"])
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
