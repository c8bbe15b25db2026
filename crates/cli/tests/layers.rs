//! The layers of ARCHITECTURE.md: no crate depends on a crate above it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use toml::de::DeTable;

/// Crates of this workspace, each with those on which it may depend.
const LAYERS: [(&str, &[&str]); 38] = [
    ("contract", &[]),
    ("quantile", &[]),
    ("probe", &["contract", "quantile"]),
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
    ("identify", &["contract", "document", "random", "probe", "scenario", "capture", "results", "hosts"]),
    ("conform", &["contract", "document", "host", "schemes", "paths", "scenario", "results", "hosts"]),
    ("sweep", &["contract", "document", "random", "scenario", "results", "hosts"]),
    (
        "compare",
        &[
            "contract", "document", "quantile", "random", "schemes", "paths", "gateway", "scenario",
            "capture", "results", "hosts", "explain", "identify", "sweep",
        ],
    ),
    (
        "lab",
        &[
            "contract", "document", "quantile", "probe", "host", "kernel", "net", "quic", "results",
            "scenario", "script", "sim", "hosts",
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
    ("league", &["document", "quantile", "results", "hosts", "sweep"]),
    ("report", &["results", "hosts", "sweep", "reproduce", "league"]),
    ("playground", &["firstflight", "report"]),
    ("python", &["firstflight", "bpf", "document", "identify", "results", "scenario", "report"]),
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
            "identify",
            "conform",
            "sweep",
            "compare",
            "kernel",
            "lab",
            "probe",
            "reproduce",
            "league",
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

/// Modules in circles that are left to undo, by crate; `lib` is the root file. An entry whose modules form no circle fails the test, too.
const CIRCLES: &[(&str, &str)] = &[
    (
        "daemon",
        "api audit canary door engine exchange files foreign journal keys logs metrics orders others requests service store tls view",
    ),
    ("gateway", "gateway memory prefix serial settings share state table"),
    ("lab", "answers congestion_control host quic watch"),
    ("paths", "averages cluster intervals memory policy recent roster saved settings"),
    ("reproduce", "cell experiment judge library metric observe readings run sequential"),
    ("scenario", "build canonical draws format model read schema stack"),
];

/// A module that uses another one, which uses it, cannot be read without it. A module is a file directly below `src`, with the folder of its
/// name. Names that the root exports again belong to their modules. Unit tests may use every module.
#[test]
fn modules_of_a_crate_form_no_circle() {
    let mut wrong = vec![];
    for name in manifests().into_keys() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(&name).join("src");
        let uses = uses_of_modules(&source);
        let in_circle = uses.keys().filter(|module| reached(&uses, module).contains(module.as_str()));
        let found: BTreeSet<&str> = in_circle.map(String::as_str).collect();
        let left = CIRCLES.iter().find(|(other, _)| *other == name).map(|(_, modules)| *modules);
        let left: BTreeSet<&str> = left.unwrap_or_default().split_whitespace().collect();
        let new: Vec<_> = found.difference(&left).collect();
        if !new.is_empty() {
            wrong.push(format!("{name}: modules that use each other: {new:?}"));
        }
        let undone: Vec<_> = left.difference(&found).collect();
        if !undone.is_empty() {
            wrong.push(format!("{name}: take these from CIRCLES: {undone:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The modules that a module uses, and those that they use.
fn reached<'a>(uses: &'a BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'a str> {
    let (mut reached, mut open): (BTreeSet<&str>, _) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        let next = uses.get(module).into_iter().flatten().map(String::as_str);
        for next in next {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

/// The modules that each module of a crate uses, by the names of both.
fn uses_of_modules(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut files: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    for path in sources(source) {
        let inner = path.strip_prefix(source).expect("a file of the crate").with_extension("");
        let mut parts: Vec<String> = inner
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .filter(|part| part != "mod")
            .collect();
        if parts[0] == "main" || parts.last().is_some_and(|part| part == "tests") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source is readable");
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let code: String = text.lines().map(|line| line.split("//").next().unwrap_or_default()).fold(
            String::new(),
            |mut code, line| {
                code.push_str(line);
                code.push('\n');
                code
            },
        );
        let depth = if parts == ["lib"] { 0 } else { parts.len() };
        files.entry(parts.swap_remove(0)).or_default().push((depth, code));
    }
    let root = files.get("lib").map_or("", |root| root[0].1.as_str());
    // Statements of the root that export names of its modules, and its other code.
    let (exports, own): (Vec<&str>, Vec<&str>) =
        root.split_inclusive(';').partition(|statement| statement.contains("pub use "));
    let named = |text: &str, word: &str| text.split(|c: char| !is_name(c)).any(|other| other == word);
    let module = |word: &str| -> String {
        let export = || exports.iter().find(|export| named(export, word));
        let of = |export: &str| files.keys().find(|module| named(export, module)).cloned();
        match files.contains_key(word) {
            true => word.into(),
            false => export().and_then(|export| of(export)).unwrap_or_else(|| "lib".into()),
        }
    };
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, parts) in &files {
        let mut used: BTreeSet<String> = BTreeSet::new();
        for (depth, code) in parts {
            let roots = ["crate::".to_owned(), "super::".repeat(*depth)];
            let words =
                roots.iter().filter(|root| !root.is_empty()).flat_map(|root| words_behind(code, root));
            used.extend(words.map(module));
        }
        if from == "lib" {
            let own = own.concat();
            used = files.keys().filter(|it| own.contains(&format!("{it}::"))).cloned().collect();
            // Types that the root exports and names in its own code.
            let words = own.split(|c: char| !is_name(c)).filter(|word| word.starts_with(char::is_uppercase));
            used.extend(words.filter(|word| exports.iter().any(|export| named(export, word))).map(module));
        }
        used.remove(from);
        uses.insert(from.clone(), used);
    }
    uses
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The names that stand directly behind `prefix` in the code: one, or those of a group in braces.
fn words_behind<'a>(code: &'a str, prefix: &str) -> Vec<&'a str> {
    let mut words = vec![];
    for (at, _) in code.match_indices(prefix) {
        // The last `super::` of a longer chain, and a name that ends with the prefix, are others.
        if code[..at].ends_with(|c: char| is_name(c) || c == ':') {
            continue;
        }
        let behind = &code[at + prefix.len()..];
        let first = |text: &'a str| text.trim_start().split(|c: char| !is_name(c)).next().unwrap_or_default();
        let Some(group) = behind.strip_prefix('{') else {
            words.push(first(behind));
            continue;
        };
        let (mut depth, mut begin) = (0, 0);
        for (place, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => {
                    words.push(first(&group[begin..place]));
                    break;
                }
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    words.push(first(&group[begin..place]));
                    begin = place + 1;
                }
                _ => {}
            }
        }
    }
    words.retain(|word| !word.is_empty() && *word != "super");
    words
}

#[test]
fn names_behind_a_prefix_are_one_or_those_of_a_group() {
    let code =
        "use crate::one::{Two, Three};\nuse crate::{four::{Five, Six}, seven};\nuse super::super::eight;\n";
    assert_eq!(words_behind(code, "crate::"), ["one", "four", "seven"]);
    assert_eq!(words_behind(code, "super::super::"), ["eight"]);
    assert_eq!(words_behind(code, "super::"), [""; 0]);
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
