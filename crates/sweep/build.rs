//! Names the sources that results depend on by the hash of their contents: builds with the same sources give the same
//! results, and use each other's stored runs.

use std::collections::BTreeSet;

include!("sources.rs");

fn main() {
    let mut names = BTreeSet::new();
    below("sweep", &mut names);
    assert!(names.len() > 5, "{names:?}: the workspace's crates were not found in the manifests");
    let folders: Vec<PathBuf> = names.iter().map(|name| Path::new("..").join(name).join("src")).collect();
    println!("cargo:rustc-env=FIRSTFLIGHT_SOURCES={}", digest_of(&folders));
}

/// Adds a crate of the workspace and those on which it depends.
fn below(name: &str, names: &mut BTreeSet<String>) {
    if !names.insert(name.to_owned()) {
        return;
    }
    let path = Path::new("..").join(name).join("Cargo.toml");
    println!("cargo:rerun-if-changed={}", path.display());
    let manifest =
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (_, dependencies) = manifest.split_once("\n[dependencies]").unwrap_or_default();
    let dependencies = dependencies.split("\n[").next().unwrap_or_default().lines();
    let of_workspace =
        dependencies.filter_map(|line| line.strip_prefix("firstflight-")?.split(['.', ' ']).next());
    of_workspace.for_each(|name| below(name, names));
}
