//! The documentation as a whole: its order of pages, and its links.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The pages below a folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut all = vec![];
    for entry in entries {
        match entry.is_dir() {
            true => all.extend(pages(&entry)),
            false if entry.extension().is_some_and(|extension| extension == "md") => all.push(entry),
            false => {}
        }
    }
    all
}

/// Targets of the relative links of a page, without their fragments.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let local = targets.filter(|target| !target.contains("://") && !target.contains(char::is_whitespace));
    local.filter_map(|target| target.split('#').next()).filter(|target| !target.is_empty())
}

#[test]
fn every_page_of_the_documentation_has_its_place_in_the_summary() {
    let docs = root().join("docs");
    let summary = docs.join("SUMMARY.md");
    let text = fs::read_to_string(&summary).expect("the summary");
    let listed: BTreeSet<_> = links(&text).map(|link| docs.join(link).canonicalize().expect(link)).collect();
    for page in pages(&docs) {
        assert!(page == summary || listed.contains(&page), "docs/SUMMARY.md lacks {}", page.display());
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    let root = root();
    let mut all = pages(&root.join("docs"));
    all.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|page| root.join(page)),
    );
    let mut count = 0;
    for page in all {
        let text = fs::read_to_string(&page).expect("a page");
        for link in links(&text) {
            let target = page.parent().expect("a folder").join(link);
            assert!(target.exists(), "{}: there is no {link}", page.display());
            count += 1;
        }
    }
    assert!(count > 100, "{count} links");
}

/// A package of the workspace: its folder, by its name.
fn packages(root: &Path) -> BTreeMap<String, PathBuf> {
    let mut all = BTreeMap::new();
    let mut folders =
        vec![root.join("crates"), root.join("examples"), root.join("fuzz/targets"), root.join("research")];
    while let Some(folder) = folders.pop() {
        if let Ok(text) = fs::read_to_string(folder.join("Cargo.toml")) {
            let manifest: toml::Table = text.parse().expect("a manifest");
            all.insert(manifest["package"]["name"].as_str().expect("a name").to_owned(), folder.clone());
        }
        let below = fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        folders.extend(
            below.filter(|path| path.is_dir() && !path.ends_with("src") && !path.ends_with("testdata")),
        );
    }
    all
}

/// Whether a package has a target of this kind: `test`, `bin`, `example` or `bench`.
fn has_target(folder: &Path, kind: &str, name: &str) -> bool {
    let text = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
    let manifest: toml::Table = text.parse().expect("a manifest");
    let declared = manifest.get(kind).and_then(|it| it.as_array()).into_iter().flatten();
    let place = folder.join(match kind {
        "test" => "tests",
        "bin" => "src/bin",
        "example" => "examples",
        _ => "benches",
    });
    declared.filter_map(|it| it.get("name")?.as_str()).any(|it| it == name)
        || place.join(format!("{name}.rs")).exists()
        || place.join(name).join("main.rs").exists()
}

/// The sources of a package.
fn sources(folder: &Path) -> String {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.fold(String::new(), |all, entry| match entry.extension() {
        _ if entry.is_dir() => all + &sources(&entry),
        // The name of a file is that of its module.
        Some(extension) if extension == "rs" => {
            let module = entry.file_stem().expect("a name").to_string_lossy().into_owned();
            all + "mod " + &module + ";\n" + &fs::read_to_string(&entry).expect("a source")
        }
        _ => all,
    })
}

/// The commands of cargo in a page, each to the end of its line or of its code.
fn cargo_commands(text: &str) -> impl Iterator<Item = &str> {
    let commands = text.lines().flat_map(|line| line.match_indices("cargo ").map(|(at, _)| &line[at..]));
    commands.map(|rest| rest.split(['`', '|', '>', '#', ';', '&']).next().unwrap_or_default())
}

#[test]
fn commands_of_cargo_name_packages_targets_and_tests_that_exist() {
    let root = root();
    let packages = packages(&root);
    let mut all = pages(&root.join("docs"));
    all.extend(pages(&root.join("papers")));
    all.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|page| root.join(page)));
    let (mut targets, mut tests) = (0, 0);
    for page in all {
        let text = fs::read_to_string(&page).expect("a page");
        for command in cargo_commands(&text) {
            let at = format!("{}: {command}", page.display());
            let mut words = command.split_whitespace().skip(1);
            let is_test = words.next() == Some("test");
            let (mut folder, mut filters) = (None, vec![]);
            while let Some(word) = words.next() {
                match word {
                    "-p" | "--package" => {
                        let package = words.next().unwrap_or_default();
                        let found = packages.get(package);
                        folder = Some(found.unwrap_or_else(|| panic!("{at}: no package {package}")));
                    }
                    "--test" | "--bin" | "--example" | "--bench" => {
                        let (kind, target) = (&word[2..], words.next().unwrap_or_default());
                        let has = |folder: &PathBuf| has_target(folder, kind, target);
                        let found = folder.map_or_else(|| packages.values().any(has), has);
                        assert!(found, "{at}: no {kind} {target}");
                        targets += 1;
                    }
                    "--profile" | "--features" => _ = words.next(),
                    // The words after it are of the program.
                    "--" if !is_test => break,
                    _ if word.starts_with('-') => {}
                    _ => filters.push(word),
                }
            }
            let Some(folder) = folder.filter(|_| is_test && !filters.is_empty()) else { continue };
            let sources = sources(folder);
            for part in filters.iter().flat_map(|filter| filter.split("::")).filter(|part| !part.is_empty()) {
                let mut functions = sources.lines().filter(|line| line.trim_start().starts_with("fn "));
                let found =
                    sources.contains(&format!("mod {part}")) || functions.any(|line| line.contains(part));
                assert!(found, "{at}: no test has {part} in its name");
                tests += 1;
            }
        }
    }
    assert!(targets > 50 && tests > 30, "{targets} targets, {tests} tests");
}

#[test]
fn installations_with_pip_name_extras_that_the_package_has() {
    let root = root();
    let manifest = fs::read_to_string(root.join("crates/python/pyproject.toml")).expect("a manifest");
    let manifest: toml::Table = manifest.parse().expect("TOML");
    let extras = manifest["project"]["optional-dependencies"].as_table().expect("extras");
    let mut named = BTreeSet::new();
    for page in pages(&root.join("docs")).into_iter().chain([root.join("docs/notebooks/first-steps.ipynb")]) {
        let text = fs::read_to_string(&page).expect("a page");
        for rest in text.split("firstflight[").skip(1) {
            let list = rest.split(']').next().unwrap_or_default();
            for extra in list.split(',') {
                assert!(extras.contains_key(extra), "{}: no extra {extra}", page.display());
                named.insert(extra.to_owned());
            }
        }
    }
    assert!(named.contains("plot") && named.contains("dask"), "{named:?}");
}

/// Code in Rust of a page, each block with its lines without indentation.
fn rust_blocks(text: &str) -> impl Iterator<Item = String> {
    let blocks = text.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.map(|block| block.lines().map(|line| line.trim().to_owned() + "\n").collect())
}

#[test]
fn code_in_rust_stands_in_a_source_that_tests_compile() {
    let root = root();
    let all = sources(&root.join("crates")) + &sources(&root.join("examples"));
    // Examples of an item's documentation are compiled, too.
    let plain =
        |line: &str| line.trim().trim_start_matches("//!").trim_start_matches("///").trim().to_owned() + "\n";
    let all: String = all.lines().map(plain).collect();
    let mut count = 0;
    for page in pages(&root.join("docs")).into_iter().chain([root.join("README.md")]) {
        for block in rust_blocks(&fs::read_to_string(&page).expect("a page")) {
            assert!(all.contains(&block), "{}: no source has\n{block}", page.display());
            count += 1;
        }
    }
    assert!(count >= 2, "{count} blocks");
}
