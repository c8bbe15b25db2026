//! The layers of ARCHITECTURE.md: no crate depends on a crate above it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

/// Crates of this workspace, each with those on which it may depend.
const LAYERS: [(&str, &[&str]); 34] = [
    ("contract", &[]),
    ("quantile", &[]),
    ("host", &["contract"]),
    ("schemes", &["contract"]),
    ("document", &["contract"]),
    ("random", &["contract"]),
    ("net", &["contract", "random"]),
    ("capture", &["contract", "quantile"]),
    ("results", &["contract"]),
    ("paths", &["contract", "schemes"]),
    ("scenario", &["contract", "document", "host", "net", "random", "schemes"]),
    ("gateway", &["contract", "document", "paths", "random", "schemes"]),
    ("hooks", &["contract", "gateway", "paths"]),
    ("daemon", &["contract", "capture", "gateway", "hooks", "paths"]),
    ("anyscenario", &["contract", "schemes", "scenario"]),
    ("script", &[]),
    ("skip", &[]),
    ("bpf", &["contract", "document", "schemes"]),
    ("quic", &["contract", "host", "schemes", "scenario"]),
    // Its object's Rust side, bpf/face, is on contract, host and schemes alone.
    ("kernel", &["contract", "document", "host", "schemes", "kernel-face"]),
    ("sim", &["contract", "host", "schemes", "net", "paths", "random"]),
    (
        "hosts",
        &[
            "contract", "document", "quantile", "host", "schemes", "random", "net", "paths", "scenario",
            "script", "capture", "results", "sim",
        ],
    ),
    ("explain", &["contract", "document", "random", "net", "scenario", "capture", "hosts"]),
    ("sweep", &["contract", "document", "random", "scenario", "results", "hosts"]),
    (
        "compare",
        &[
            "contract", "document", "quantile", "random", "schemes", "paths", "gateway", "scenario",
            "capture", "results", "hosts", "explain", "sweep",
        ],
    ),
    (
        "lab",
        &[
            "contract", "document", "quantile", "host", "kernel", "net", "quic", "results", "scenario",
            "script", "sim", "hosts",
        ],
    ),
    (
        "firstflight",
        &[
            "contract", "document", "schemes", "net", "capture", "scenario", "results", "hosts", "sweep",
            "compare",
        ],
    ),
    ("accesslog", &["contract", "document", "paths", "quantile", "random"]),
    (
        "reproduce",
        &[
            "contract",
            "document",
            "quantile",
            "schemes",
            "scenario",
            "results",
            "accesslog",
            "hosts",
            "sweep",
        ],
    ),
    ("report", &["results", "hosts", "sweep", "reproduce"]),
    ("playground", &["firstflight", "report"]),
    ("python", &["firstflight", "bpf", "document", "results", "scenario", "report"]),
    (
        "cli",
        &[
            "firstflight",
            "contract",
            "document",
            "quantile",
            "schemes",
            "net",
            "paths",
            "scenario",
            "script",
            "capture",
            "results",
            "accesslog",
            "bpf",
            "sim",
            "hosts",
            "sweep",
            "compare",
            "kernel",
            "lab",
            "reproduce",
            "quic",
            "report",
            "gateway",
            "hooks",
            "daemon",
        ],
    ),
    // The generators; no crate depends on it.
    (
        "regenerate",
        &[
            "bpf",
            "cli",
            "compare",
            "contract",
            "document",
            "fuzz-targets",
            "gateway",
            "hosts",
            "report",
            "results",
            "scenario",
            "schemes",
            "sweep",
        ],
    ),
];

/// Crates of this workspace in the `[dependencies]` of a manifest, also in those of one target alone.
fn depends_on(manifest: &str) -> Vec<String> {
    fn table<'a>(of: &'a DeTable<'_>, key: &str) -> Option<&'a DeTable<'a>> {
        of.get(key).and_then(|value| value.get_ref().as_table())
    }
    let manifest = DeTable::parse(manifest).expect("a manifest is TOML");
    let manifest = manifest.get_ref();
    let targets = table(manifest, "target").into_iter().flat_map(|targets| targets.values());
    let targets = targets.filter_map(|target| target.get_ref().as_table());
    let dependencies = [manifest].into_iter().chain(targets).filter_map(|of| table(of, "dependencies"));
    let names = dependencies.flat_map(|table| table.keys()).map(|name| name.get_ref().to_string());
    // The library's package has no suffix.
    names
        .filter_map(|name| match name.as_str() {
            "firstflight" => Some(name),
            _ => Some(name.strip_prefix("firstflight-")?.to_owned()),
        })
        .collect()
}

fn manifests() -> BTreeMap<String, String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = std::fs::read_dir(crates).expect("the crates' folder").flatten();
    let manifest = |folder: &Path| std::fs::read_to_string(folder.join("Cargo.toml")).ok();
    entries
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, manifest(&entry.path())?)))
        .collect()
}

#[test]
fn dependencies_follow_the_layers() {
    let manifests = manifests();
    for (name, manifest) in &manifests {
        let (_, allowed) = LAYERS
            .iter()
            .find(|(layer, _)| layer == name)
            .unwrap_or_else(|| panic!("{name} is not in LAYERS"));
        for dependency in depends_on(manifest) {
            assert!(allowed.contains(&dependency.as_str()), "{name} must not depend on {dependency}");
        }
    }
    assert_eq!(manifests.len(), LAYERS.len(), "every crate in LAYERS exists");
}

#[test]
fn workspace_dependencies_are_found_in_a_manifest() {
    let manifest = "[dependencies]\nfirstflight-hosts.workspace = true\nserde = \"1\"\n\
                    [target.'cfg(target_os = \"linux\")'.dependencies]\nfirstflight-lab.workspace = true\n";
    assert_eq!(depends_on(manifest), ["hosts", "lab"]);
}

/// A public function or constant that nothing names outside the sources of its crate belongs to the crate alone. The search is one of
/// words: it passes over an item whose name another file has for something else. Types are exempt: signatures need them without a name.
#[test]
fn every_public_function_and_constant_has_a_user_outside_its_crate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["crates", "examples", "fuzz", "research"].map(|folder| sources(&root.join(folder)));
    let read = |path: PathBuf| (std::fs::read_to_string(&path).expect("a source is readable"), path);
    let files: Vec<_> = folders.into_iter().flatten().map(read).collect();
    let mut users: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
    for (text, path) in &files {
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
            users.entry(word).or_default().push(path);
        }
    }
    let mut alone = vec![];
    for name in manifests().keys() {
        let own = root.join("crates").join(name).join("src");
        for (text, path) in files.iter().filter(|(_, path)| path.starts_with(&own)) {
            let items = text.lines().filter_map(|line| public(line.trim_start()));
            let unused = items.filter(|item| users[item].iter().all(|user| user.starts_with(&own)));
            alone.extend(unused.map(|item| format!("{}: {item}", path.display())));
        }
    }
    assert!(alone.is_empty(), "make these private:\n{}", alone.join("\n"));
}

/// The name of the public function, constant or static that begins on this line.
fn public(line: &str) -> Option<&str> {
    let mut words = line.strip_prefix("pub ")?.split(|c: char| !c.is_alphanumeric() && c != '_');
    let mut name = words.next()?;
    if !["const", "static", "fn", "async", "unsafe"].contains(&name) {
        return None;
    }
    while ["const", "static", "fn", "async", "unsafe"].contains(&name) {
        name = words.next()?;
    }
    Some(name)
}

/// A file of tests that no program has would never run.
#[test]
fn every_file_of_tests_is_a_part_of_a_program() {
    for (name, manifest) in manifests() {
        if !manifest.contains("\nautotests = false\n") {
            continue;
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../{name}/tests"));
        let all = std::fs::read_to_string(folder.join("all.rs")).expect("the program of all tests");
        for entry in std::fs::read_dir(&folder).expect("the tests' folder").flatten() {
            let path = entry.path();
            let file = path.extension().is_some_and(|end| end == "rs");
            if !file && !path.join("main.rs").exists() {
                continue;
            }
            let stem = path.file_stem().expect("a name").to_string_lossy();
            let part = all.contains(&format!("\nmod {stem};\n"));
            let program = manifest.contains(&format!("[[test]]\nname = \"{stem}\"\n"))
                || manifest.contains(&format!("\npath = \"tests/{stem}.rs\"\n"));
            assert!(part != program, "crates/{name}/tests/{stem}: neither in all.rs nor a [[test]], or both");
        }
    }
}

/// Cargo builds a program for the tests of a library or command even if it has none.
#[test]
fn targets_without_a_program_of_tests_have_no_tests() {
    let mut without = 0;
    for folder in packages() {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        if !manifest.contains("\ntest = false\n") {
            continue;
        }
        without += 1;
        let source = folder.join("src");
        // The library beside a command has tests, and the command is one file.
        let command = ["lib.rs", "main.rs"].iter().all(|file| source.join(file).exists());
        let files = if command { vec![source.join("main.rs")] } else { sources(&source) };
        for file in files {
            let text = std::fs::read_to_string(&file).expect("a source is readable");
            assert!(!text.contains("#[test]"), "{}: cargo does not run this test", file.display());
            assert!(!command || !text.contains("\nmod "), "{}: it has a file of its own", file.display());
        }
    }
    assert!(without > 0, "no target is without tests");
}

/// Folders of the workspace's packages.
fn packages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders =
        ["crates", "crates/kernel/bpf", "examples", "fuzz", "research"].map(|folder| root.join(folder));
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder").flatten());
    entries.map(|entry| entry.path()).filter(|folder| folder.join("Cargo.toml").exists()).collect()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of sources").flatten();
    let of = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    entries
        .flat_map(|entry| of(entry.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}
