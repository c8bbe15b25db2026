//! Names the sources that results depend on by the hash of their contents: builds with the same sources give the same
//! results, and use each other's stored runs.

include!("sources.rs");

fn main() {
    println!("cargo:rerun-if-changed=Cargo.toml");
    let manifest = std::fs::read_to_string("Cargo.toml").expect("the manifest of this crate");
    let (_, dependencies) = manifest.split_once("\n[dependencies]").expect("dependencies");
    let dependencies = dependencies.split("\n[").next().expect("a first part").lines();
    // This crate, and the crates of the workspace that it depends on.
    let names = dependencies.filter_map(|line| line.strip_prefix("firstflight-")?.split(['.', ' ']).next());
    let folder = |name: &str| Path::new("..").join(name).join("src");
    let folders: Vec<PathBuf> = names.chain(["study"]).map(folder).collect();
    assert!(folders.len() > 5, "{folders:?}: the workspace's crates were not found in the manifest");
    println!("cargo:rustc-env=FIRSTFLIGHT_SOURCES={}", digest_of(&folders));
}
