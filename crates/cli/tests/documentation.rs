//! The documentation as a whole: its order of pages, and its links.

use std::collections::BTreeSet;
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
